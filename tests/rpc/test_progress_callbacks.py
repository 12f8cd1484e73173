"""When a progress callback runs: behind the handler, in order, before the call returns."""

from __future__ import annotations

import contextvars
import gc
import weakref

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPError, MCPServer
from trio_mcp._rpc import _calls, _reports
from trio_mcp.errors import RequestTimeout
from trio_mcp.testing import open_client

every_road = pytest.mark.parametrize("road", ["direct", "memory", "text", "lines"])
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


def make_server(told=None):
    mcp = MCPServer("reporting")
    told = [] if told is None else told

    @mcp.tool()
    async def count(to: int, ctx: Context) -> float:
        began = trio.current_time()
        for number in range(to):
            await ctx.report_progress(number + 1)
        return trio.current_time() - began

    @mcp.tool(timeout=0.5)
    async def hurry(to: int, ctx: Context) -> int:
        for number in range(to):
            await ctx.report_progress(number + 1)
        return to

    @mcp.tool()
    async def fail(ctx: Context) -> None:
        await ctx.report_progress(1)
        await ctx.report_progress(2)
        raise MCPError(-32000, "after two reports")

    @mcp.tool()
    async def leave_work_behind(ctx: Context) -> str:
        await ctx.report_progress(1)
        told.append(ctx)
        return "done"

    @mcp.tool()
    async def stay(ctx: Context) -> None:
        await ctx.report_progress(1)
        try:
            await trio.sleep_forever()
        finally:
            told.append("ended")

    return mcp


class Slow:
    """Takes a second for each report; ``seen`` is what it has heard."""

    def __init__(self):
        self.seen = []

    async def __call__(self, progress, total, message):
        try:
            await trio.sleep(1)
        except trio.Cancelled:
            self.seen.append("cancelled")
            raise
        self.seen.append(progress)


@every_road
@both_eras
async def test_a_slow_one_holds_up_the_call_and_not_its_handler(autojump_clock, road, mode):
    slow = Slow()
    async with open_client(make_server(), road, mode=mode) as client:
        began = trio.current_time()
        result = await client.call_tool("count", {"to": 4}, progress_callback=slow)
        assert slow.seen == [1, 2, 3, 4]
        assert result.structured_content == {"result": 0}
        assert trio.current_time() - began == pytest.approx(4)


@every_road
async def test_its_time_is_not_the_tools(autojump_clock, road):
    slow = Slow()
    async with open_client(make_server(), road) as client:
        result = await client.call_tool("hurry", {"to": 3}, progress_callback=slow)
        assert result.structured_content == {"result": 3}
        assert slow.seen == [1, 2, 3]


@every_road
async def test_an_error_comes_after_what_was_reported_before_it(autojump_clock, road):
    slow = Slow()
    async with open_client(make_server(), road) as client:
        with pytest.raises(MCPError, match="after two reports"):
            await client.call_tool("fail", progress_callback=slow)
        assert slow.seen == [1, 2]


@every_road
async def test_what_is_reported_after_the_answer_is_not_waited_for(autojump_clock, road):
    told, slow = [], Slow()

    async def report_late():
        await trio.sleep(0.5)
        await told[0].report_progress(2)

    async with open_client(make_server(told), road) as client, trio.open_nursery() as nursery:
        nursery.start_soon(report_late)
        await client.call_tool("leave_work_behind", progress_callback=slow)
        assert trio.current_time() == pytest.approx(1)
        await trio.sleep(5)
        assert slow.seen == [1]


@every_road
async def test_it_is_cancelled_with_its_call(autojump_clock, road):
    told, slow = [], Slow()
    async with open_client(make_server(told), road) as client:
        with trio.move_on_after(0.5) as scope:
            await client.call_tool("stay", progress_callback=slow)
        assert scope.cancelled_caught
        assert slow.seen == ["cancelled"]
        await trio.testing.wait_all_tasks_blocked()
        assert told == ["ended"]


@every_road
async def test_the_time_limit_of_a_call_counts_it(autojump_clock, road):
    slow = Slow()
    async with open_client(make_server(), road) as client:
        with pytest.raises(RequestTimeout, match=r"no answer within 1\.5 s"):
            await client.call_tool("count", {"to": 3}, 1.5, slow)
        assert slow.seen == [1, "cancelled"]


@every_road
async def test_it_may_call_the_server_itself(autojump_clock, road):
    seen = []

    async def ask(*report):
        result = await client.call_tool("count", {"to": 2}, progress_callback=Slow())
        seen.append(result.is_error)

    async with open_client(make_server(), road) as client:
        await client.call_tool("hurry", {"to": 3}, progress_callback=ask)
        assert seen == [False] * 3


@every_road
async def test_it_sees_the_callers_context(autojump_clock, road):
    variable, seen = contextvars.ContextVar("variable", default="none"), []

    async def look(*report):
        await trio.lowlevel.checkpoint()
        seen.append(variable.get())

    async with open_client(make_server(), road) as client:
        variable.set("the caller's")
        await client.call_tool("count", {"to": 1}, progress_callback=look)
        assert seen == ["the caller's"]


@every_road
async def test_what_it_could_not_hear_is_counted(autojump_clock, road, monkeypatch, caplog):
    for module in (_calls, _reports):
        monkeypatch.setattr(module, "MAX_LAG", 3)
    slow = Slow()
    async with open_client(make_server(), road) as client:
        await client.call_tool("count", {"to": 50}, progress_callback=slow)
    assert slow.seen[-1] == 50
    [lost] = [record.args[-1] for record in caplog.records if "were lost" in record.message]
    assert lost == 50 - len(slow.seen) > 0


@every_road
@pytest.mark.parametrize("ends", ["returns", "fails", "is cancelled"])
async def test_nothing_of_a_call_waits_for_the_garbage_collector(road, ends):
    class Listener:
        async def __call__(self, *report):
            await trio.lowlevel.checkpoint()

    async def use():
        listener = Listener()
        async with open_client(make_server(), road) as client:
            if ends == "returns":
                await client.call_tool("count", {"to": 2}, progress_callback=listener)
            elif ends == "is cancelled":
                with trio.move_on_after(0.01):
                    await client.call_tool("stay", progress_callback=listener)
            else:
                with pytest.raises(MCPError, match="two reports"):
                    await client.call_tool("fail", progress_callback=listener)
        return weakref.ref(listener)

    await use()
    gc.collect()
    gc.disable()
    try:
        listener = await use()
        assert listener() is None
    finally:
        gc.enable()
