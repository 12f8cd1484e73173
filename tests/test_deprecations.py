"""What the specification has deprecated is marked, and warns where it is used."""

from __future__ import annotations

import inspect

import pytest

from trio_mcp.client import Client, ClientSession
from trio_mcp.errors import MCPDeprecationWarning
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import ServerSession

# Roots, sampling and logging (SEP-2577), and what came with them.
DEPRECATED = [
    (Context, "sample"), (Context, "list_roots"), (Context, "log"), (Context, "debug"),
    (Context, "info"), (Context, "warning"), (Context, "error"),
    (ServerSession, "create_message"), (ServerSession, "list_roots"),
    (Client, "set_logging_level"), (Client, "send_roots_list_changed"),
    (ClientSession, "set_logging_level"), (ClientSession, "send_roots_list_changed"),
]  # fmt: skip


@pytest.mark.req("R-381", "R-411")
@pytest.mark.parametrize(("owner", "name"), DEPRECATED)
def test_it_is_marked_for_type_checkers_and_editors(owner, name):
    method = inspect.getattr_static(owner, name)
    assert "2026-07-28" in method.__deprecated__


@pytest.mark.req("R-412")
async def test_it_warns_once_at_the_line_that_uses_it():
    mcp = MCPServer()

    @mcp.tool()
    async def old(ctx: Context) -> None:
        with pytest.warns(MCPDeprecationWarning) as told:
            await ctx.info("hello")
        assert [each.filename for each in told] == [__file__]

    async with Client(mcp, mode="legacy") as client:
        result = await client.call_tool("old")
        assert not result.is_error
        for method in (client.set_logging_level, client.session.set_logging_level):
            with pytest.warns(MCPDeprecationWarning, match="set_logging_level") as told:
                await method("error")
            assert [each.filename for each in told] == [__file__]
        for method in (client.send_roots_list_changed, client.session.send_roots_list_changed):
            with pytest.warns(MCPDeprecationWarning, match="send_roots_list_changed") as told:
                await method()
            assert [each.filename for each in told] == [__file__]
