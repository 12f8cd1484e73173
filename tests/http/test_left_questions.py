"""Clients that leave while a handler is about to ask them something."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer, Server
from trio_mcp.errors import ConnectionLost
from trio_mcp.types import CallToolResult

from ._asgi import open_session

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def make_server(kind, fail) -> Any:
    if kind == "low":

        async def call(ctx, params):
            await fail(ctx.session)
            return CallToolResult(content=[])

        return Server("tests", on_call_tool=call)
    mcp = MCPServer("tests")

    @mcp.tool()
    async def ask(ctx: Context) -> str:
        await fail(ctx.session)
        return ""

    @mcp.tool()
    async def ask_by_another(ctx: Context) -> str:
        await mcp.call_tool("ask", {}, context=ctx)
        return ""

    @mcp.prompt()
    async def prompt(ctx: Context) -> str:
        await fail(ctx.session)
        return ""

    @mcp.resource("a://one")
    async def one(ctx: Context) -> str:
        await fail(ctx.session)
        return ""

    return mcp


ASKED = [
    ("low", "tools/call", {"name": "ask"}),
    ("high", "tools/call", {"name": "ask"}),
    ("high", "tools/call", {"name": "ask_by_another"}),
    ("high", "prompts/get", {"name": "prompt"}),
    ("high", "resources/read", {"uri": "a://one"}),
]


@pytest.mark.parametrize(("kind", "method", "params"), ASKED)
async def test_a_client_that_leaves_before_it_is_asked_is_no_defect(kind, method, params, caplog):
    async def ask(session):
        await trio.sleep(1)
        await session.list_roots()

    caplog.set_level(logging.INFO)
    app = make_server(kind, ask).streamable_http_app()
    async with open_session(app, capabilities={"roots": {}}) as older:
        answer = older.ask(method, params)
        await trio.testing.wait_all_tasks_blocked()
        answer.leave()
        await trio.sleep(2)
    assert caplog.records == []


@pytest.mark.parametrize(("kind", "method", "params"), ASKED)
async def test_another_connection_that_is_lost_is_told(kind, method, params, caplog):
    async def lose(session):
        raise ConnectionLost("a server that the handler asked is gone")

    app = make_server(kind, lose).streamable_http_app()
    async with open_session(app, capabilities={"roots": {}}) as older:
        await older.ask(method, params).wait_complete()
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
