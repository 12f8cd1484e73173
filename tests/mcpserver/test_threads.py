"""Plain functions run in threads: they hold up nobody, and are let go when cancelled."""

from __future__ import annotations

import contextvars
import os
import sys
import threading

import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.mcpserver import Context, Image, MCPServer
from trio_mcp.types import ResourceTemplateReference

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


TEMPLATE = ResourceTemplateReference(uri="work://by/{name}")
ARGUMENT = {"name": "name", "value": ""}
KINDS = {
    "tool": lambda client: client.call_tool("work"),
    "resource": lambda client: client.read_resource("work://fixed"),
    "template": lambda client: client.read_resource("work://by/name"),
    "prompt": lambda client: client.get_prompt("work"),
    "completion": lambda client: client.complete(TEMPLATE, ARGUMENT),
}


@pytest.mark.case("C025")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_is_let_go_at_once_while_its_function_blocks(mode, kind):
    started, go, returned = threading.Event(), threading.Event(), threading.Event()
    mcp = MCPServer("threads")

    def work() -> str:
        started.set()
        go.wait(5)
        returned.set()
        return "late"

    mcp.tool()(work)
    mcp.resource("work://fixed")(work)
    mcp.resource("work://by/{name}", name="by")(lambda name: work())
    mcp.prompt()(work)
    mcp.completion()(lambda ref, argument, context: [work()])

    async with Client(mcp, mode=mode) as client:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(KINDS[kind], client)
                await trio.to_thread.run_sync(started.wait, 5)
                scope.cancel()
        assert scope.cancelled_caught
        assert not returned.is_set()
        go.set()
        assert await trio.to_thread.run_sync(returned.wait, 5)


@pytest.mark.case("C025")
async def test_a_function_can_ask_whether_its_call_was_cancelled():
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


@pytest.mark.case("C025")
@pytest.mark.skipif(sys.platform == "win32", reason="made of a POSIX pipe with a name")
@pytest.mark.parametrize("kind", ["tool", "resource", "prompt"])
async def test_a_call_is_let_go_at_once_while_a_file_is_read(kind, tmp_path):
    path = tmp_path / "picture.png"
    os.mkfifo(path)
    mcp = MCPServer("threads")

    async def work() -> Image:
        return Image(path=path)

    mcp.tool()(work)
    mcp.resource("work://fixed")(work)
    mcp.prompt()(work)
    async with Client(mcp) as client:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(KINDS[kind], client)
                # It opens when somebody else opens the other end, so a thread reads it now.
                writing = await trio.to_thread.run_sync(os.open, path, os.O_WRONLY)
                closing = threading.Timer(5, os.close, [writing])
                closing.start()
                scope.cancel()
        assert scope.cancelled_caught
        assert closing.is_alive(), "it was waited for"
        closing.cancel()
        os.close(writing)
