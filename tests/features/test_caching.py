"""How long results may be kept: said by modern servers, and kept to by the client."""

from __future__ import annotations

from ._roads import in_memory
from ._story import text_of


@in_memory
async def test_results_say_how_long_they_stay_fresh(features):
    async with features.open(cache=None) as client:
        hints = {
            "tools": await client.list_tools(),
            "resources": await client.list_resources(),
            "templates": await client.list_resource_templates(),
            "prompts": await client.list_prompts(),
            "contents": await client.read_resource("text://motto"),
        }
    if features.revision.has_cache_hints:
        expected = {
            "tools": (60_000, "private"),
            "resources": (60_000, "public"),
            "templates": (0, "private"),
            "prompts": (0, "private"),
            "contents": (60_000, "private"),
        }
    else:
        expected = dict.fromkeys(hints, (0, "private"))
    assert {key: (each.ttl_ms, each.cache_scope) for key, each in hints.items()} == expected


async def test_what_is_fresh_is_not_asked_for_again(features):
    async def asked(client, method):
        return int(text_of(await client.call_tool("requests", {"method": method})))

    async with features.open() as client:
        for _ in range(3):
            await client.list_resources()
            await client.list_prompts()
            await client.read_resource("text://motto")
        fresh = 1 if features.revision.has_cache_hints else 3
        assert await asked(client, "resources/list") == fresh
        assert await asked(client, "resources/read") == fresh
        assert await asked(client, "prompts/list") == 3
        await client.list_resources(cache_mode="bypass")
        assert await asked(client, "resources/list") == fresh + 1
