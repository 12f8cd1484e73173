"""Progress and log messages of tasks of 2025-11-25: they go on when the call is answered."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from tests.extensions.tasks._studio import in_memory, settle, studio
from trio_mcp import Context, MCPServer
from trio_mcp.extensions import InMemoryTaskStore, TasksExtension

from ._raw import RELATED, connect


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


def told_of(raw: Any, method: str) -> list[dict[str, Any]]:
    return [params for said, params in raw.told if said == method]


PROGRESS, LOG = "notifications/progress", "notifications/message"


@pytest.mark.req("R-581", "R-582", "R-619")
@in_memory
async def test_progress_goes_on_under_the_token_of_the_call(road):
    async with connect(studio().mcp, road) as raw:
        meta = {"progressToken": "token-7"}
        task_id = await raw.start("report", _meta=meta)
        await raw.until(task_id)
        reports = told_of(raw, PROGRESS)
        assert [each["progress"] for each in reports] == [0, 1, 2, 3, 4]
        for each in reports:
            assert each["progressToken"] == "token-7"
            assert each["_meta"] == {RELATED: {"taskId": task_id}}


@pytest.mark.req("R-619")
@in_memory
async def test_log_messages_go_on_and_say_whose_they_are(road):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start("report")
        await raw.until(task_id)
        messages = told_of(raw, LOG)
        assert [each["data"] for each in messages] == [f"step {each}" for each in range(5)]
        assert all(each["_meta"] == {RELATED: {"taskId": task_id}} for each in messages)
        # Nobody asked for progress.
        assert not told_of(raw, PROGRESS)


@in_memory
async def test_log_messages_are_sent_from_the_level_on_that_is_asked_for(road):
    async with connect(studio().mcp, road) as raw:
        await raw.ask("logging/setLevel", level="error")
        await raw.until(await raw.start("report"))
        assert not told_of(raw, LOG)


def reporter(**options: Any) -> tuple[MCPServer, list[str]]:
    seen: list[str] = []
    tasks = TasksExtension({"last_words": "required", "too_late": "required"}, **options)
    mcp = MCPServer("reporter", extensions=[tasks])

    @mcp.tool()
    async def last_words(ctx: Context) -> str:
        """Report when it is cancelled."""
        await ctx.report_progress(1, 3)
        try:
            await trio.sleep(600)
        finally:
            with trio.CancelScope(shield=True):
                await ctx.report_progress(2, 3)
                await ctx.session.send_log_message("info", "goodbye")
                seen.append("reported")
        return ""

    @mcp.tool()
    async def too_late(ctx: Context) -> str:
        """Report when it has returned."""

        async def later() -> None:
            await trio.sleep(5)
            await ctx.report_progress(2, 3)
            seen.append("reported")

        await ctx.report_progress(1, 3)
        trio.lowlevel.spawn_system_task(later)
        return "returned"

    return mcp, seen


@pytest.mark.req("R-583")
@in_memory
@pytest.mark.parametrize("how", ["cancelled", "expired"])
async def test_nothing_is_reported_for_a_task_that_is_over(road, how):
    mcp, seen = reporter()
    async with connect(mcp, road) as raw:
        task = {"ttl": 5_000} if how == "expired" else {}
        task_id = await raw.start("last_words", task=task, _meta={"progressToken": 1})
        await settle(lambda: told_of(raw, PROGRESS))
        if how == "cancelled":
            await raw.cancel(task_id)
        await settle(lambda: seen)
        await trio.sleep(5)
        assert len(told_of(raw, PROGRESS)) == 1
        assert not told_of(raw, LOG)


@pytest.mark.req("R-583")
@in_memory
async def test_what_is_left_of_a_call_reports_nothing_for_its_task(road):
    mcp, seen = reporter()
    async with connect(mcp, road) as raw:
        task_id = await raw.start("too_late", _meta={"progressToken": 1})
        assert (await raw.until(task_id))["status"] == "completed"
        await settle(lambda: seen)
        await trio.sleep(5)
        assert len(told_of(raw, PROGRESS)) == 1


STATUS = "notifications/tasks/status"


@pytest.mark.req("R-634", "R-619")
@in_memory
async def test_the_session_is_told_how_a_task_is(road):
    made = studio()
    async with connect(made.mcp, road) as raw:
        task_id = await raw.start("ask")
        await raw.result(task_id)
        await settle(
            lambda: told_of(raw, STATUS)[-1:] and raw.told[-1][1]["status"] == "completed"
        )
        told = told_of(raw, STATUS)
        statuses = [each["status"] for each in told]
        assert statuses[0] == "input_required"
        assert statuses[-1] == "completed"
        # The last is what is found, and none says again by its metadata which task that is.
        assert told[-1] == await raw.get(task_id)
        assert all("_meta" not in each for each in told)


@pytest.mark.req("R-634")
@in_memory
@pytest.mark.parametrize(
    ("tool", "status", "message"),
    [
        ("train", "failed", "Error executing tool train: the model does not converge"),
        ("break_down", "failed", "broken"),
        ("paint", "cancelled", None),
    ],
)
async def test_the_session_is_told_how_a_task_ended(road, tool, status, message):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start(tool, {"seconds": 600} if tool == "paint" else {})
        if tool == "paint":
            await raw.cancel(task_id)
        await settle(lambda: told_of(raw, STATUS))
        await trio.sleep(10)
        [told] = told_of(raw, STATUS)
        assert (told["status"], told.get("statusMessage")) == (status, message)


@in_memory
async def test_what_is_answered_directly_is_told_of_nobody(road):
    async with connect(studio().mcp, road) as raw:
        await raw.call("paint", {"seconds": 1})
        await trio.sleep(10)
        assert not told_of(raw, STATUS)


async def test_of_a_task_whose_time_is_over_nothing_more_is_told():
    made = studio()
    async with connect(made.mcp) as raw:
        await raw.start("ask", task={"ttl": 5_000})
        await trio.sleep(60)
        assert [each["status"] for each in told_of(raw, STATUS)] == ["input_required"]


async def test_what_a_client_does_not_read_keeps_nothing_of_its_tasks(monkeypatch):
    waiting: list[str] = []

    async def never(session: Any, notification: Any) -> None:
        waiting.append(notification.method)
        try:
            await trio.sleep_forever()
        finally:
            waiting.pop()

    monkeypatch.setattr("trio_mcp.server.ServerSession.send_notification", never)
    store = InMemoryTaskStore(max_tasks=5)
    made = studio(store=store, poll_interval=0.1, clock=trio.current_time)
    async with connect(made.mcp) as raw:
        for _ in range(100):
            await raw.until(await raw.start("paint", {"seconds": 0.1}))
            await trio.sleep(0.5)
        # Of the last ones, not of all that there were.
        assert len(waiting) < 20
        await trio.sleep(10)
        assert not waiting
