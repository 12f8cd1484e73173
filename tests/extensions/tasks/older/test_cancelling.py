"""Cancelling tasks of 2025-11-25."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from tests.extensions.tasks._studio import error_of, in_memory, on_every_road, settle, studio
from trio_mcp import Context, MCPServer
from trio_mcp.extensions import InMemoryTaskStore, TasksExtension

from ._raw import connect


@pytest.fixture(autouse=True)
def clock(request):
    """Virtual time, unless bytes travel in real time."""
    road = request.node.callspec.params.get("road") if hasattr(request.node, "callspec") else None
    return None if road == "http" else request.getfixturevalue("autojump_clock")


@pytest.mark.req("R-577", "R-640", "R-641", "R-621", "R-632")
@on_every_road
async def test_a_cancelled_task_is_over_before_the_answer_and_its_tool_is_cancelled(road):
    made = studio()
    async with connect(made.mcp, road) as raw:
        task = await raw.create("paint", {"seconds": 600})
        cancelled = await raw.cancel(task["taskId"])
        assert cancelled["status"] == "cancelled"
        assert cancelled.keys() - {"statusMessage"} == task.keys()
        assert cancelled["createdAt"] == task["createdAt"]
        assert (await raw.get(task["taskId"])) == cancelled
        await settle(lambda: made.seen)
        assert made.seen == ["the client cancelled the task"]


@pytest.mark.req("R-577")
@in_memory
async def test_the_request_that_made_a_task_cannot_cancel_it_any_more(road):
    made = studio()
    async with connect(made.mcp, road) as raw:
        with trio.CancelScope() as scope:
            task_id = await raw.start("paint", {"seconds": 5})
            scope.cancel()
        assert (await raw.until(task_id))["status"] == "completed"
    assert made.seen == ["painted"]


@pytest.mark.req("R-639", "R-647", "R-615")
@in_memory
@pytest.mark.parametrize(
    ("tool", "status"), [("paint", "completed"), ("train", "failed"), ("break_down", "failed")]
)
async def test_a_task_that_is_over_cannot_be_cancelled(road, tool, status):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start(tool, {"seconds": 1} if tool != "break_down" else {})
        before = await raw.until(task_id)
        assert before["status"] == status
        error = await error_of(raw.cancel(task_id))
        assert error.code == -32602
        assert error.message == f"The task cannot be cancelled: it is {status} already"
        assert await raw.get(task_id) == before


@pytest.mark.req("R-639", "R-642", "R-615", "R-626")
@on_every_road
async def test_a_cancelled_task_stays_cancelled(road):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 600})
        cancelled = await raw.cancel(task_id)
        error = await error_of(raw.cancel(task_id))
        assert (error.code, error.message) == (
            -32602,
            "The task cannot be cancelled: it is cancelled already",
        )
        for _ in range(2):
            error = await error_of(raw.result(task_id))
            assert (error.code, error.message) == (-32603, "The task was cancelled")
        assert await raw.get(task_id) == cancelled


def stubborn(seen: list[Any], **options: Any) -> MCPServer:
    """A server whose tool finishes what it has begun."""
    mcp = MCPServer("stubborn", extensions=[TasksExtension({"work": "required"}, **options)])

    @mcp.tool()
    async def work(ctx: Context) -> str:
        """Work on, whoever cancels it."""
        with trio.CancelScope(shield=True):
            await trio.sleep(10)
        await ctx.report_progress(1, 1)
        seen.append("worked")
        return "worked"

    return mcp


@pytest.mark.req("R-642")
@in_memory
async def test_a_cancelled_task_stays_so_when_its_work_comes_to_an_end_all_the_same(road):
    seen: list[Any] = []
    async with connect(stubborn(seen), road) as raw:
        task_id = await raw.start("work")
        assert (await raw.cancel(task_id))["status"] == "cancelled"
        await trio.sleep(60)
        assert (await raw.get(task_id))["status"] == "cancelled"
        assert (await error_of(raw.result(task_id))).message == "The task was cancelled"


@pytest.mark.req("R-615", "R-639", "R-641")
async def test_of_a_cancel_and_an_end_at_the_same_time_one_counts():
    class Slow(InMemoryTaskStore):
        """Lets another change come between reading a task and replacing it."""

        async def replace(self, task):
            await trio.sleep(1)
            return await super().replace(task)

    outcomes = set()
    for seconds in (8.5, 9.5):
        made = studio(store=Slow())
        async with connect(made.mcp) as raw:
            task_id = await raw.start("paint", {"seconds": 10})
            await trio.sleep(seconds)
            try:
                status = (await raw.cancel(task_id))["status"]
            except Exception as exc:  # noqa: BLE001 - one of two outcomes
                status = exc.error.code
            found = (await raw.until(task_id))["status"]
            outcomes.add((status, found))
            assert (status, found) in {("cancelled", "cancelled"), (-32602, "completed")}
            # And it stays so.
            await trio.sleep(30)
            assert (await raw.get(task_id))["status"] == found
    assert outcomes


@pytest.mark.req("R-644")
async def test_a_task_that_goes_while_it_is_cancelled_is_unknown():
    class Going(InMemoryTaskStore):
        async def replace(self, task):
            await self.delete(task.task_id)
            return await super().replace(task)

    async with connect(studio(store=Going()).mcp) as raw:
        task_id = await raw.start("paint", {"seconds": 600})
        error = await error_of(raw.cancel(task_id))
        assert (error.code, error.message) == (-32602, f"Unknown task: {task_id}")


@in_memory
async def test_two_who_cancel_at_the_same_time_do_it_once(road):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 600})
        found: list[Any] = []

        async def cancel() -> None:
            try:
                found.append((await raw.cancel(task_id))["status"])
            except Exception as exc:  # noqa: BLE001 - one of two outcomes
                found.append(exc.error.code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(cancel)
            nursery.start_soon(cancel)
        assert sorted(found, key=str) == [-32602, "cancelled"]


@in_memory
async def test_who_waits_for_the_result_hears_of_the_cancel(road):
    async with connect(studio().mcp, road) as raw, trio.open_nursery() as nursery:
        task_id = await raw.start("paint", {"seconds": 600})
        errors: list[Any] = []

        async def wait() -> None:
            errors.append((await error_of(raw.result(task_id))).message)

        nursery.start_soon(wait)
        nursery.start_soon(wait)
        await trio.sleep(5)
        await raw.cancel(task_id)
        await settle(lambda: len(errors) == 2)
        assert errors == ["The task was cancelled"] * 2


async def test_work_of_another_run_is_cancelled_too():
    store = InMemoryTaskStore()
    made = studio(store=store)
    async with connect(made.mcp) as raw, connect(made.mcp) as other:
        task_id = await raw.start("paint", {"seconds": 600})
        assert (await other.cancel(task_id))["status"] == "cancelled"
        await settle(lambda: made.seen)
        assert made.seen == ["the client cancelled the task"]
