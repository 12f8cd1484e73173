from __future__ import annotations

import threading
import time

import pytest
import trio
import trio.testing

from trio_mcp.mcpserver import MCPServer
from trio_mcp.testing import open_client


async def until_a_minute_has_passed(passed: threading.Event) -> None:
    await trio.sleep(60)
    passed.set()


@pytest.mark.parametrize("abandon", [False, True])
async def test_time_stands_still_while_a_thread_works(autojump_clock, abandon):
    passed = threading.Event()

    def work() -> bool:
        return passed.wait(0.05)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_a_minute_has_passed, passed)
        assert not await trio.to_thread.run_sync(work, abandon_on_cancel=abandon)
        assert trio.current_time() < 1
    assert passed.is_set()


@pytest.mark.parametrize("road", ["direct", "memory", "text", "lines"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_time_stands_still_while_a_plain_function_of_a_server_works(
    autojump_clock, road, mode
):
    mcp = MCPServer("plain")
    passed = threading.Event()

    @mcp.tool()
    def work() -> bool:
        return passed.wait(0.05)

    @mcp.tool()
    def call_back() -> None:
        trio.from_thread.run(trio.sleep, 60)

    async with open_client(mcp, road, mode=mode) as client, trio.open_nursery() as nursery:
        nursery.start_soon(until_a_minute_has_passed, passed)
        result = await client.call_tool("work")
        assert result.structured_content == {"result": False}
        began = trio.current_time()
        await client.call_tool("call_back")
        assert trio.current_time() - began >= 60


async def test_the_run_does_not_poll_beside_the_thread(autojump_clock):
    def work() -> float:
        time.sleep(0.2)  # noqa: ASYNC251 - in a thread
        return time.thread_time()

    began = time.thread_time()
    await trio.to_thread.run_sync(work)
    assert time.thread_time() - began < 0.1


async def test_time_passes_when_the_last_of_several_threads_is_done(autojump_clock):
    release = threading.Event()
    passed = threading.Event()

    def work() -> bool:
        release.wait(5)
        return passed.wait(0.02)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_a_minute_has_passed, passed)

        @nursery.start_soon
        async def other() -> None:
            assert not await trio.to_thread.run_sync(work)

        await trio.to_thread.run_sync(lambda: None)
        await trio.testing.wait_all_tasks_blocked()
        assert not passed.is_set()
        release.set()
    assert passed.is_set()


async def test_time_passes_for_a_function_that_was_let_go(autojump_clock):
    release = threading.Event()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def let_go() -> None:
                await trio.to_thread.run_sync(release.wait, 5, abandon_on_cancel=True)

            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    await trio.sleep(60)
    release.set()


@pytest.mark.parametrize("abandon", [False, True])
async def test_time_passes_for_a_thread_that_calls_back(autojump_clock, abandon):
    def work() -> None:
        trio.from_thread.run(trio.sleep, 60)

    await trio.to_thread.run_sync(work, abandon_on_cancel=abandon)
    assert trio.current_time() >= 60


async def test_a_threshold_of_the_tests_own_comes_back(autojump_clock):
    autojump_clock.autojump_threshold = 0.01
    await trio.to_thread.run_sync(lambda: None)
    await trio.lowlevel.checkpoint()
    assert autojump_clock.autojump_threshold == 0.01
