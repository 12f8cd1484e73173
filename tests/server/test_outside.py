"""Work that outlives its request, and its way to the session of the older era."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from trio_mcp import Client, MCPServer
from trio_mcp.errors import ConnectionLost, NoBackChannelError
from trio_mcp.mcpserver import Extension
from trio_mcp.testing import open_client
from trio_mcp.types import CallToolResult, TextContent

META = {"com.example/work": "w-1"}


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


class Outliving(Extension):
    """Answers calls at once, and has them go on in a nursery of the test."""

    identifier = "com.example/outliving"

    def __init__(self, nursery: trio.Nursery, work: Any, meta: Any = META) -> None:
        self.nursery, self.work, self.meta = nursery, work, meta
        self.scope = trio.CancelScope()

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        detached = ctx.detach(self.scope, self.ask, meta=self.meta)
        await detached.session.send_log_message("info", "within")
        self.nursery.start_soon(self.work, detached)
        return CallToolResult(content=[TextContent(text="later")])

    async def ask(self, request: Any) -> Any:
        raise NotImplementedError


def server_of(extension: Extension) -> MCPServer:
    mcp = MCPServer("outliving", extensions=[extension])

    @mcp.tool()
    def go() -> str:
        """Go on."""
        raise NotImplementedError

    return mcp


def listener(told: list[Any]) -> Any:
    async def hear(message: Any) -> None:
        told.append((message.params.data, message.params.meta))

    return hear


@pytest.mark.parametrize("road", ["direct", "text"])
async def test_what_is_told_says_where_it_belongs_before_the_answer_and_after_it(road):
    told: list[Any] = []

    async def work(ctx: Any) -> None:
        await trio.sleep(5)
        await ctx.session.send_log_message("info", "outside")

    async with trio.open_nursery() as nursery:
        mcp = server_of(Outliving(nursery, work))
        hear = listener(told)
        async with open_client(mcp, road, mode="2025-11-25", message_handler=hear) as client:
            await client.call_tool("go")
            await trio.sleep(10)
    assert told == [("within", META), ("outside", META)]


@pytest.mark.parametrize("road", ["direct", "text"])
async def test_nothing_is_told_once_the_work_is_cancelled_or_muted(road):
    told: list[Any] = []

    async def work(ctx: Any) -> None:
        await trio.sleep(1)
        ctx.mute()
        await ctx.session.send_log_message("info", "muted")

    async def cancelled(ctx: Any) -> None:
        await trio.sleep(1)
        extension.scope.cancel()
        await ctx.session.send_log_message("info", "cancelled")

    async with trio.open_nursery() as nursery:
        for kind in (work, cancelled):
            extension = Outliving(nursery, kind)
            hear = listener(told)
            async with open_client(
                server_of(extension), road, mode="2025-11-25", message_handler=hear
            ) as client:
                await client.call_tool("go")
                await trio.sleep(10)
    assert told == [("within", META)] * 2


async def test_work_without_something_to_say_adds_nothing():
    told: list[Any] = []

    async def work(ctx: Any) -> None:
        await trio.sleep(1)
        await ctx.session.send_log_message("info", "outside")

    async with trio.open_nursery() as nursery:
        mcp = server_of(Outliving(nursery, work, meta={}))
        async with Client(mcp, mode="2025-11-25", message_handler=listener(told)) as client:
            await client.call_tool("go")
            await trio.sleep(10)
    assert told == [("within", None), ("outside", None)]


@pytest.mark.parametrize("road", ["direct", "text"])
async def test_work_whose_session_has_ended_tells_nobody_and_cannot_ask(road):
    seen: list[Any] = []
    goes = trio.Event()

    async def work(ctx: Any) -> None:
        await ctx.session.send_ping()
        link = ctx.exchange.link
        assert (link.can_ask, link.lost) == (True, False)
        await goes.wait()
        assert (link.can_ask, link.lost) == (False, True)
        await ctx.session.send_log_message("info", "outside")
        try:
            await ctx.session.send_ping()
        except ConnectionLost as exc:
            seen.append(exc)

    async with trio.open_nursery() as nursery:
        told: list[Any] = []
        mcp = server_of(Outliving(nursery, work))
        hear = listener(told)
        async with open_client(mcp, road, mode="2025-11-25", message_handler=hear) as client:
            await client.call_tool("go")
            await trio.sleep(1)
        goes.set()
    assert len(seen) == 1
    assert told == [("within", META)]


async def test_the_modern_era_has_no_session_to_tell():
    seen: list[Any] = []

    async def work(ctx: Any) -> None:
        await trio.sleep(1)
        await ctx.session.send_log_message("info", "outside")
        try:
            await ctx.session.send_ping()
        except NoBackChannelError as exc:
            seen.append(exc)

    async with trio.open_nursery() as nursery:
        mcp = server_of(Outliving(nursery, work))
        async with Client(mcp, mode="2026-07-28") as client:
            await client.call_tool("go")
            await trio.sleep(10)
    assert len(seen) == 1
