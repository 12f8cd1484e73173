"""Clients that one task opens, others use, and yet another closes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.client import connect
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.mcpserver import MCPServer
from trio_mcp.transports import StdioServerParameters, open_memory_channel_pair

SERVER = """
import os
from trio_mcp.mcpserver import MCPServer
mcp = MCPServer("child")

@mcp.tool()
def pid() -> int:
    return os.getpid()

@mcp.tool()
def die(status: int) -> str:
    os._exit(status)

mcp.run("stdio")
"""


@pytest.fixture
def server():
    mcp = MCPServer("adder")

    @mcp.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @mcp.tool()
    async def wait() -> str:
        await trio.sleep_forever()

    return mcp


@pytest.mark.case("C013")
async def test_opened_used_and_closed_in_four_tasks(server, recwarn, capsys):
    handed = []
    ready, used = trio.Event(), trio.Event()
    sums = []

    async def opening(nursery):
        handed.append(await connect(nursery, server))
        ready.set()

    async def using(number):
        await ready.wait()
        result = await handed[0].call_tool("add", {"a": number, "b": 1})
        sums.append(result.structured_content["result"])
        if len(sums) == 2:
            used.set()

    async def closing():
        await used.wait()
        await handed[0].aclose()

    async with trio.open_nursery() as owner:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opening, owner)
            nursery.start_soon(using, 1)
            nursery.start_soon(using, 2)
            nursery.start_soon(closing)
        assert handed[0].closed
        assert not owner.child_tasks
    gc.collect()
    assert sorted(sums) == [2, 3]
    assert not recwarn.list
    assert capsys.readouterr().err == ""


async def test_calls_that_wait_and_calls_that_follow_fail_with_one_clear_error(server):
    async with trio.open_nursery() as nursery:
        client = await connect(nursery, server)
        errors = []

        async def call():
            with pytest.raises(ConnectionLost) as caught:
                await client.call_tool("wait")
            errors.append(str(caught.value))

        for _ in range(25):
            nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        await client.aclose()
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ConnectionLost, match="closed on this side"):
            await client.call_tool("add", {"a": 1, "b": 1})
    assert errors == ["The connection was closed on this side"] * 25


async def test_closing_twice_at_once_and_when_cancelled(server):
    async with trio.open_nursery() as nursery:
        client = await connect(nursery, server)
        with trio.CancelScope() as scope:
            scope.cancel()
            await client.aclose()
        assert scope.cancelled_caught
        assert client.closed
        await client.aclose()
        other = await connect(nursery, server)
        async with trio.open_nursery() as closers:
            closers.start_soon(other.aclose)
            closers.start_soon(other.aclose)
        assert isinstance(await other.wait_closed(), ConnectionLost)


async def test_a_failure_to_connect_is_raised_here_and_leaves_the_nursery_alone(
    autojump_clock, script
):
    near, far = open_memory_channel_pair()
    answering = script(server__discover=MCPError(-32020, "not you"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering.run, far)
        with pytest.raises(MCPError, match="not you") as caught:
            await connect(nursery, near)
        assert caught.value.code == -32020
        with pytest.raises(ConnectionLost, match="command not found"):
            await connect(nursery, StdioServerParameters(command="no-such-command-here"))
        with pytest.raises(TypeError, match="expects"):
            await connect(nursery, 5)
        await trio.testing.wait_all_tasks_blocked()
        assert not nursery.cancel_scope.cancel_called
        nursery.cancel_scope.cancel()


async def test_a_nursery_comes_first(server):
    with pytest.raises(TypeError, match="nursery: expected Nursery, got MCPServer"):
        await connect(server, server)


async def test_a_cancelled_connect_leaves_nothing(autojump_clock, script):
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(script(server__discover=script.SILENCE).run, far)
        with trio.move_on_after(1) as scope:
            await connect(nursery, near)
        assert scope.cancelled_caught
        # Only the script is left.
        assert len(nursery.child_tasks) == 1
        nursery.cancel_scope.cancel()


async def test_a_connection_that_dies_closes_the_handle_and_crashes_nobody():
    async with trio.open_nursery() as nursery:
        client = await connect(
            nursery, StdioServerParameters(command=sys.executable, args=["-c", SERVER])
        )
        pid = (await client.call_tool("pid")).structured_content["result"]
        with pytest.raises(ConnectionLost, match="exited with status 7"):
            await client.call_tool("die", {"status": 7})
        lost = await client.wait_closed()
        assert lost.exit_status == 7
        with pytest.raises(ConnectionLost, match="exited with status 7"):
            await client.call_tool("pid")
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        await client.aclose()
    assert not nursery.child_tasks


async def test_the_nursery_owns_it(server):
    async with trio.open_nursery() as nursery:
        client = await connect(nursery, server)
        nursery.cancel_scope.cancel()
    assert client.closed
    with pytest.raises(ConnectionLost):
        await client.list_tools()


async def test_async_with_closes_it(server):
    async with trio.open_nursery() as nursery:
        async with await connect(nursery, server) as client:
            assert len((await client.list_tools()).tools) == 2
        assert client.closed


@pytest.mark.parametrize("somebody_waits", [True, False])
async def test_what_fails_on_leaving_is_told_to_who_closes_or_else_logged(somebody_waits, caplog):
    @asynccontextmanager
    async def lifespan(server):
        try:
            yield {}
        finally:
            raise OSError("disk full")

    mcp = MCPServer("leaving", lifespan=lifespan)
    async with trio.open_nursery() as nursery:
        client = await connect(nursery, mcp)
        if somebody_waits:
            with pytest.raises(OSError, match="disk full"):
                await client.aclose()
        else:
            nursery.cancel_scope.cancel()
    assert ("Closing a connection failed" in caplog.text) is not somebody_waits


async def test_closing_is_bounded(autojump_clock):
    @asynccontextmanager
    async def lifespan(server):
        yield {}
        await trio.sleep_forever()

    mcp = MCPServer("clinging", lifespan=lifespan)
    async with trio.open_nursery() as nursery:
        client = await connect(nursery, mcp)
        began = trio.current_time()
        await client.aclose()
        assert trio.current_time() - began == pytest.approx(10)
        assert client.closed


@pytest.mark.parametrize("how", ["aclose", "cancelled connect"])
async def test_clean_up_that_resists_is_waited_for_by_the_nursery_alone(
    autojump_clock, how, caplog
):
    entered = trio.Event()

    @asynccontextmanager
    async def lifespan(server):
        try:
            yield {}
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(100)

    class Slow:
        async def __aenter__(self):
            entered.set()
            with trio.CancelScope(shield=True):
                await trio.sleep(100)

        async def __aexit__(self, *exc_info):
            pass

    async with trio.open_nursery() as nursery:
        if how == "aclose":
            client = await connect(nursery, MCPServer("clinging", lifespan=lifespan))
            await client.aclose()
            assert not client.closed
            assert trio.current_time() == pytest.approx(17)
            with pytest.raises(ConnectionLost):
                await client.list_tools()
        else:
            with trio.move_on_after(1) as scope:
                await connect(nursery, Slow())
            assert scope.cancelled_caught
            assert trio.current_time() == pytest.approx(8)
        assert "its nursery goes on waiting" in caplog.text
    assert trio.current_time() >= 100


async def test_a_nursery_that_is_cancelled_does_not_wait_for_a_silent_server(
    autojump_clock, script
):
    near, far = open_memory_channel_pair()
    errors = []

    async def connect_elsewhere(owner):
        with pytest.raises(ConnectionLost, match="The nursery was cancelled before") as caught:
            await connect(owner, near)
        errors.append(caught.value)

    async with trio.open_nursery() as outer:
        outer.start_soon(script(server__discover=script.SILENCE).run, far)
        async with trio.open_nursery() as owner:
            outer.start_soon(connect_elsewhere, owner)
            await trio.sleep(1)
            owner.cancel_scope.cancel()
        assert trio.current_time() == pytest.approx(1)
        await trio.testing.wait_all_tasks_blocked()
        assert len(errors) == 1
        with pytest.raises(RuntimeError, match="closed"):
            await connect(owner, near)
        outer.cancel_scope.cancel()


def counting(opened):
    @asynccontextmanager
    async def lifespan(server):
        opened.append(server)
        try:
            yield {}
        finally:
            opened.remove(server)

    mcp = MCPServer("counted", lifespan=lifespan)
    mcp.add_tool(lambda: "done", name="do")
    return mcp


@asynccontextmanager
async def over_channel(server):
    near, far = open_memory_channel_pair(as_text=True)
    async with open_background_nursery() as nursery:
        nursery.start_soon(server._lowlevel_server.run, far)
        yield near


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("road", ["direct", "channel"])
async def test_everything_may_be_cancelled_at_every_step(
    autojump_clock, cancel_at_each_step, mode, road, caplog
):
    opened = []
    server = counting(opened)

    async def run():
        way = server if road == "direct" else over_channel(server)
        client = await connect(nursery, way, mode=mode)
        try:
            await client.call_tool("do")
        finally:
            await client.aclose()
            assert client.closed
        return "done"

    async def check(result):
        assert opened == []
        await trio.testing.wait_all_tasks_blocked()
        assert not nursery.child_tasks
        assert not nursery.cancel_scope.cancel_called

    async with trio.open_nursery() as nursery:
        assert await cancel_at_each_step(run, check) > (5 if road == "direct" else 40)
    assert caplog.text == ""


async def test_one_of_those_who_close_hears_what_failed(autojump_clock, caplog):
    @asynccontextmanager
    async def lifespan(server):
        yield {}
        await trio.sleep(1)
        raise OSError("disk full")

    results = []

    async def close(client):
        try:
            await client.aclose()
            results.append("closed")
        except OSError as exc:
            results.append(str(exc))

    async with trio.open_nursery() as nursery:
        client = await connect(nursery, MCPServer("leaving", lifespan=lifespan))
        async with trio.open_nursery() as closers:
            for _ in range(3):
                closers.start_soon(close, client)
        assert client.closed
    assert sorted(results) == ["closed", "closed", "disk full"]
    assert caplog.text == ""


async def test_what_fails_while_a_cancelled_connect_is_taken_back_is_logged(
    autojump_clock, script, caplog
):
    class Leaving:
        async def __aenter__(self):
            self.near, self.far = open_memory_channel_pair()
            return self.near

        async def __aexit__(self, *exc_info):
            raise OSError("disk full")

    async with trio.open_nursery() as nursery:
        with trio.move_on_after(1) as scope:
            await connect(nursery, Leaving())
        assert scope.cancelled_caught
        assert "Closing a connection failed" in caplog.text
        assert not nursery.child_tasks


async def test_nothing_of_a_closed_or_failed_handle_is_left_for_the_garbage_collector(script):
    async def use():
        async with trio.open_nursery() as nursery:
            client = await connect(nursery, counting([]))
            await client.call_tool("do")
            await client.aclose()
            with pytest.raises(ConnectionLost):
                await client.call_tool("do")
            with pytest.raises(ConnectionLost, match="command not found"):
                await connect(nursery, StdioServerParameters(command="no-such-command-here"))
        return weakref.ref(client)

    await use()
    gc.collect()
    gc.disable()
    try:
        assert (await use())() is None
    finally:
        gc.enable()


def test_guarded_from_a_program_no_traceback_at_the_end():
    program = f"""
import sys, trio
from trio_mcp import StdioServerParameters, connect

async def main():
    async with trio.open_nursery() as nursery:
        client = await connect(
            nursery, StdioServerParameters(command=sys.executable, args=["-c", {SERVER!r}])
        )
        async def close():
            await client.aclose()
        async with trio.open_nursery() as other:
            other.start_soon(close)
    print("done")

trio.run(main)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
