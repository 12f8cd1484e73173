"""What a server says of itself, and who the client says it is."""

from __future__ import annotations

from trio_mcp.types import Implementation

from ._roads import in_memory, where_it_is_remembered


@where_it_is_remembered
async def test_both_sides_say_who_they_are(features):
    revision = features.revision
    me = Implementation(name="tester", version="1")
    async with features.open(client_info=me) as client:
        assert client.protocol_version == revision.version
        info = client.server_info
        assert (info.name, info.version) == ("features", "3")
        assert info.title == ("Features" if revision.at_least("2025-06-18") else None)
        newer = revision.at_least("2025-11-25")
        assert info.website_url == ("https://example.com/features" if newer else None)
        assert bool(info.icons) == newer
        assert client.instructions == "Try them all."
        seen = (await client.call_tool("client_of")).content[0].text
        assert '"tester"' in seen
        assert revision.version in seen


@in_memory
async def test_capabilities_are_announced_for_what_is_there(features):
    async with features.open() as client:
        capabilities = client.server_capabilities
        assert capabilities.tools.list_changed
        assert capabilities.prompts.list_changed
        assert capabilities.resources.list_changed
        assert capabilities.resources.subscribe
        assert capabilities.logging is not None
        announced = capabilities.completions is not None
        assert announced == features.revision.has_completions_capability
        assert capabilities.extensions == {"com.example/receipts": {"paper": "A4"}}
