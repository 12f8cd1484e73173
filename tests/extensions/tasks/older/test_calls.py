"""Calls that a client of 2025-11-25 makes as tasks."""

from __future__ import annotations

import re
from functools import partial

import pytest
import trio

from tests.extensions.tasks._studio import error_of, in_memory, on_every_road, settle, studio
from trio_mcp import MCPServer
from trio_mcp.extensions import InMemoryTaskStore
from trio_mcp.types import CancelledNotification, CancelledNotificationParams

from ._raw import RELATED, connect

ISO_8601 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(autouse=True)
def clock(request):
    """Virtual time, unless bytes travel in real time."""
    road = request.node.callspec.params.get("road") if hasattr(request.node, "callspec") else None
    return None if road == "http" else request.getfixturevalue("autojump_clock")


# What is announced


@pytest.mark.req("R-600", "R-655")
@on_every_road
async def test_a_server_declares_which_calls_may_be_tasks(road):
    async with connect(studio().mcp, road) as raw:
        tasks = raw.client.server_capabilities.tasks
        assert tasks.requests.tools.call is not None
        assert tasks.cancel is not None
        # Nobody says who asks: a list would tell everybody's ids.
        assert tasks.list is None
        # What the modern extension declares is not for this revision.
        assert raw.client.server_capabilities.extensions is None
        assert (await error_of(raw.ask("tasks/list"))).code == -32601
        assert (await error_of(raw.ask("tasks/update", taskId="x"))).code == -32601


@pytest.mark.req("R-600")
@on_every_road
async def test_the_list_of_tools_says_of_each_whether_it_is_a_task(road):
    made = studio({"paint": "optional", "train": "required", "ask": "never"})
    async with connect(made.mcp, road) as raw:
        listed = (await raw.ask("tools/list"))["tools"]
        said = {each["name"]: each.get("execution") for each in listed}
        assert said["paint"] == {"taskSupport": "optional"}
        assert said["train"] == {"taskSupport": "required"}
        assert said["ask"] == {"taskSupport": "forbidden"}
        assert said["greet"] is None


# Which calls become tasks


@pytest.mark.req("R-610", "R-613", "R-623", "R-624", "R-625")
@on_every_road
async def test_a_call_that_asks_for_a_task_gets_one_at_once(road):
    async with connect(studio(patience=60).mcp, road) as raw:
        created = await raw.call("paint", {"seconds": 600}, task={"ttl": 60_000})
        task = created["task"]
        assert created["_meta"] == {RELATED: {"taskId": task["taskId"]}}
        assert task["status"] == "working"
        assert (task["ttl"], task["pollInterval"]) == (60_000, 1_000)
        assert ISO_8601.fullmatch(task["createdAt"])
        assert task["lastUpdatedAt"] == task["createdAt"]
        assert isinstance(task["taskId"], str)
        assert await raw.get(task["taskId"]) == task


@pytest.mark.req("R-621", "R-622", "R-623")
@in_memory
async def test_each_answer_about_a_task_says_since_when_it_is_so(road):
    made = studio(clock=lambda: 1_000_000 + trio.current_time())
    async with connect(made.mcp, road) as raw:
        created = await raw.create("paint", {"seconds": 10})
        working = await raw.get(created["taskId"])
        done = await raw.until(created["taskId"])
        assert created["createdAt"] == working["createdAt"] == done["createdAt"]
        assert created["lastUpdatedAt"] == working["lastUpdatedAt"] < done["lastUpdatedAt"]
        for each in (created, working, done):
            assert ISO_8601.fullmatch(each["createdAt"])
            assert ISO_8601.fullmatch(each["lastUpdatedAt"])
            assert each["ttl"] == 3_600_000


@pytest.mark.req("R-611", "R-612", "R-653")
@in_memory
async def test_ids_are_unique_and_cannot_be_guessed(road):
    async with connect(studio().mcp, road) as raw:
        ids = {await raw.start("paint", {"seconds": 60}) for _ in range(50)}
    assert len(ids) == 50
    # 192 bits, in 64 characters.
    assert all(re.fullmatch(r"[\w-]{32}", each) for each in ids)


@in_memory
async def test_a_call_that_asks_for_none_gets_none(road):
    async with connect(studio(patience=0).mcp, road) as raw:
        plain = await raw.call("paint", {"seconds": 5})
        assert plain["content"][0]["text"] == "painted for 5 s"
        nothing = await raw.call("paint", {"seconds": 5}, task=None)
        assert nothing == plain


@pytest.mark.req("R-604")
@in_memory
@pytest.mark.parametrize("tool", ["ask", "greet"])
async def test_a_tool_that_is_no_task_is_not_called_as_one(road, tool):
    made = studio({"ask": "never"})
    async with connect(made.mcp, road) as raw:
        error = await error_of(raw.call(tool, {"name": "Ada"}, task={}))
        assert error.code == -32601
        assert f"The tool '{tool}' cannot be called as a task" in error.message
        assert not raw.asked


@pytest.mark.req("R-606", "R-647")
@on_every_road
async def test_a_tool_that_requires_a_task_is_not_called_without(road):
    async with connect(studio().mcp, road) as raw:
        error = await error_of(raw.call("train"))
        assert error.code == -32601
        assert error.message == "The tool 'train' has to be called as a task, with params.task"


@in_memory
@pytest.mark.parametrize("task", [None, {}])
async def test_no_tool_at_all_is_an_unknown_one_with_a_task_or_without(road, task):
    async with connect(studio().mcp, road) as raw:
        error = await error_of(raw.call("sculpt", task=task))
        assert (error.code, error.message) == (-32602, "Unknown tool: sculpt")


@in_memory
async def test_a_tool_that_was_taken_out_is_an_unknown_one(road):
    made = studio()
    async with connect(made.mcp, road) as raw:
        made.mcp.remove_tool("train")
        for task in (None, {}):
            error = await error_of(raw.call("train", task=task))
            assert (error.code, error.message) == (-32602, "Unknown tool: train")


@pytest.mark.req("R-609")
@in_memory
async def test_a_server_without_tasks_ignores_who_asks_for_one(road):
    mcp = MCPServer("plain")

    @mcp.tool()
    def greet(name: str) -> str:
        """Greet."""
        return f"Hello, {name}!"

    async with connect(mcp, road) as raw:
        assert raw.client.server_capabilities.tasks is None
        assert "execution" not in (await raw.ask("tools/list"))["tools"][0]
        plain = await raw.call("greet", {"name": "Ada"})
        assert await raw.call("greet", {"name": "Ada"}, task={"ttl": 60_000}) == plain
        for method in ("tasks/get", "tasks/result", "tasks/cancel", "tasks/list"):
            assert (await error_of(raw.ask(method, taskId="x"))).code == -32601


@pytest.mark.req("R-609")
@in_memory
async def test_a_request_that_cannot_be_a_task_ignores_who_asks_for_one(road):
    async with connect(studio().mcp, road) as raw:
        assert "tools" in await raw.ask("tools/list", task={"ttl": 60_000})


# What is asked for


@pytest.mark.req("R-657", "R-623")
@in_memory
@pytest.mark.parametrize(
    ("asked", "given"),
    [({}, 60_000), ({"ttl": 5}, 5), ({"ttl": 60_001}, 60_000), ({"ttl": 10**300}, 60_000)],
    ids=str,
)
async def test_a_task_is_kept_as_long_as_is_asked_for_and_no_longer_than_others(
    road, asked, given
):
    async with connect(studio(ttl=60).mcp, road) as raw:
        task = await raw.create("paint", {"seconds": 0}, task=asked)
        assert task["ttl"] == given


@pytest.mark.req("R-647")
@in_memory
@pytest.mark.parametrize(
    ("task", "where"),
    [
        ({"ttl": 0}, "params.task.ttl"),
        ({"ttl": -5}, "params.task.ttl"),
        ({"ttl": 0.5}, "params.task.ttl"),
        ({"ttl": "60000"}, "params.task.ttl"),
        ({"ttl": True}, "params.task.ttl"),
        ({"ttl": [1]}, "params.task.ttl"),
        (5, "params.task"),
        ("now", "params.task"),
        ([], "params.task"),
        (True, "params.task"),
    ],
    ids=str,
)
async def test_what_is_no_wish_for_a_task_is_refused_before_anything_begins(road, task, where):
    made = studio()
    async with connect(made.mcp, road) as raw:
        error = await error_of(raw.call("paint", {"seconds": 0}, task=task))
        assert error.code == -32602
        assert where in error.message
    assert not made.seen


@in_memory
async def test_a_task_with_a_short_time_goes_before_one_with_a_long_one(road):
    async with connect(studio(ttl=60).mcp, road) as raw:
        long = await raw.start("paint", {"seconds": 600})
        short = await raw.start("paint", {"seconds": 600}, task={"ttl": 5_000})
        shorter = await raw.start("paint", {"seconds": 600}, task={"ttl": 1_000})
        gone = {}
        began = trio.current_time()
        while len(gone) < 3:
            for each in (long, short, shorter):
                if each not in gone:
                    try:
                        await raw.get(each)
                    except Exception:  # noqa: BLE001 - as the next test proves
                        gone[each] = round(trio.current_time() - began)
            await trio.sleep(0.1)
        assert gone == {shorter: 1, short: 5, long: 60}


@pytest.mark.req("R-644")
@in_memory
async def test_a_task_whose_time_is_over_is_unknown_and_its_work_ends(road):
    made = studio()
    async with connect(made.mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 600}, task={"ttl": 2_000})
        await settle(lambda: made.seen)
        assert made.seen == ["a deadline passed"]
        error = await error_of(raw.get(task_id))
        assert (error.code, error.message) == (-32602, f"Unknown task: {task_id}")


# Limits


@pytest.mark.req("R-657", "R-656")
@in_memory
async def test_there_are_only_so_many_tasks(road):
    made = studio(store=InMemoryTaskStore(max_tasks=2))
    async with connect(made.mcp, road) as raw:
        first = await raw.start("paint", {"seconds": 60})
        await raw.start("paint", {"seconds": 60})
        error = await error_of(raw.call("paint", {"seconds": 1}, task={}))
        assert error.code == -31503
        assert error.data["retryAfter"] > 0
        # What was refused never began.
        await raw.until(first)
        assert made.seen == ["painted", "painted"]


@pytest.mark.req("R-657", "R-656")
@in_memory
async def test_only_so_many_calls_go_on_as_tasks_at_the_same_time(road):
    made = studio(max_running=1)
    async with connect(made.mcp, road) as raw:
        first = await raw.start("paint", {"seconds": 5})
        assert (await error_of(raw.call("paint", {"seconds": 1}, task={}))).code == -31503
        # Nothing is kept of it.
        await raw.until(first)
        await raw.until(await raw.start("paint", {"seconds": 1}))


async def test_a_store_that_cannot_take_a_task_costs_the_call_alone():
    class Broken(InMemoryTaskStore):
        async def create(self, task):
            raise OSError("the disk is full")

    made = studio(store=Broken())
    async with connect(made.mcp) as raw:
        error = await error_of(raw.call("paint", {"seconds": 1}, task={}))
        assert (error.code, error.message) == (-32603, "Internal server error")
        assert (await raw.call("paint", {"seconds": 1}))["content"]
    assert made.seen == ["painted"]


async def test_a_call_that_is_cancelled_while_its_task_is_stored_never_begins():
    class Slow(InMemoryTaskStore):
        async def create(self, task):
            await trio.sleep(5)
            await super().create(task)

    made, ids = studio(store=Slow()), []

    async def note(ctx, call_next):
        ids.append(ctx.request_id)
        return await call_next(ctx)

    made.mcp.middleware.append(note)
    async with connect(made.mcp) as raw, trio.open_nursery() as nursery:
        nursery.start_soon(partial(raw.call, "paint", {"seconds": 1}, task={}))
        await trio.sleep(1)
        # As clients do that know no better: these here never cancel such a request.
        params = CancelledNotificationParams(request_id=ids[-1])
        await raw.client.session.send_notification(CancelledNotification(params=params))
        await trio.sleep(30)
        nursery.cancel_scope.cancel()
    assert not made.seen
