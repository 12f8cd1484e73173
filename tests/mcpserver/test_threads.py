"""Plain functions run in threads: they hold up nobody, and are let go when cancelled."""

from __future__ import annotations

import contextvars
import threading

import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.mcpserver import Context, MCPServer

VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")


@pytest.mark.case("C025")
async def test_plain_functions_hold_up_nobody_and_run_side_by_side():
    go, all_in = threading.Event(), threading.Barrier(11)
    mcp = MCPServer("threads")

    @mcp.tool()
    def wait() -> str:
        all_in.wait(5)
        go.wait(5)
        return VARIABLE.get()

    @mcp.tool()
    async def quick() -> str:
        return threading.current_thread().name

    async with Client(mcp) as client, trio.open_nursery() as nursery:
        answers = []

        async def call() -> None:
            VARIABLE.set("the caller's")
            result = await client.call_tool("wait")
            answers.append(result.structured_content["result"])

        for _ in range(10):
            nursery.start_soon(call)
        await trio.to_thread.run_sync(all_in.wait, 5)  # all ten run now
        here = threading.current_thread().name
        assert (await client.call_tool("quick")).structured_content == {"result": here}
        assert answers == []
        go.set()
    assert answers == ["the caller's"] * 10


@pytest.mark.case("C025")
async def test_a_cancelled_call_is_let_go_at_once_and_its_function_told():
    started, told = threading.Event(), threading.Event()
    mcp = MCPServer("threads")

    @mcp.tool()
    def work(ctx: Context) -> str:
        started.set()
        try:
            while True:
                ctx.check_cancelled()
                threading.Event().wait(0.001)
        finally:
            told.set()

    async with Client(mcp) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "work")
            await trio.to_thread.run_sync(started.wait, 5)
            nursery.cancel_scope.cancel()
        assert await trio.to_thread.run_sync(told.wait, 5)
