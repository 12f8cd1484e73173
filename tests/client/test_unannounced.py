"""A server has none of what it did not announce, and is not asked for it."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from trio_mcp.client import CacheConfig, Client
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.server import Server
from trio_mcp.types import ListPromptsResult

LISTS = ["tools", "resources", "resource_templates", "prompts"]


@pytest.fixture
def bare(script, discovery, initialized):
    """A server that has nothing."""

    def bare():
        return script(
            server__discover={**discovery, "capabilities": {}},
            initialize={**initialized(), "capabilities": {}},
        )

    return bare


@pytest.mark.case("C018")
@pytest.mark.parametrize("cache", [None, CacheConfig(default_ttl_ms=1000)])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("name", LISTS)
async def test_a_list_that_was_not_announced_is_empty_without_a_request(
    autojump_clock, connect, bare, name, mode, cache
):
    server = bare()
    async with connect(server, mode=mode, cache=cache) as client:
        await trio.testing.wait_all_tasks_blocked()
        before = list(server.methods)
        verb = getattr(client, f"list_{name}")
        for options in {}, {"cursor": "x"}, {"cache_mode": "refresh"}, {"meta": {"a": 1}}:
            with trio.testing.assert_checkpoints():
                page = await verb(**options)
            assert (getattr(page, name), page.next_cursor) == ([], None)
        assert [each async for each in getattr(client, f"iter_{name}")()] == []
        assert server.methods == before
        # The session below sends what it is told to.
        with pytest.raises(MCPError, match="Method not found"):
            await getattr(client.session, f"list_{name}")()


async def test_each_list_depends_on_its_own_capability(autojump_clock):
    async def on_list_prompts(ctx, params):
        return ListPromptsResult(prompts=[])

    async with Client(Server("s", on_list_prompts=on_list_prompts)) as client:
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_tools()).tools == []


async def test_who_was_not_asked_what_they_have_is_asked_for_it(autojump_clock, connect, bare):
    server = bare()
    async with connect(server, mode="2026-07-28") as client:
        with pytest.raises(MCPError, match="Method not found"):
            await client.list_prompts()


async def test_a_lost_connection_is_no_empty_list(autojump_clock, connect, bare):
    server = bare()
    async with connect(server) as client:
        await server.channel.aclose()
        await client.session.wait_lost()
        with pytest.raises(ConnectionLost):
            await client.list_prompts()
