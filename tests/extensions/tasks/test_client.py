"""A client that waits for tasks, and one that takes the handle."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from trio_mcp import (
    Client,
    InvalidResponse,
    MCPError,
    MCPServer,
    RequestTimeout,
    from_json,
    to_json,
)
from trio_mcp.extensions import (
    CreateTaskResult,
    DetailedTask,
    Task,
    TaskCancelled,
    TasksClientExtension,
)
from trio_mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
    TextContent,
)

from ._scripted import DONE, Scripted, scripted, task
from ._studio import (
    TASKS,
    answer_blue,
    connect,
    error_of,
    in_memory,
    on_every_road,
    settle,
    start,
    studio,
    until,
)


@pytest.fixture(autouse=True)
def clock(request, road):
    """Virtual time, unless bytes travel in real time."""
    return None if road == "http" else request.getfixturevalue("autojump_clock")


directly = pytest.mark.parametrize("road", ["direct"])


@pytest.mark.req("R-667", "R-683")
@on_every_road
async def test_a_call_returns_the_result_of_its_task(road):
    made = studio(poll_interval=0.1, patience=0)
    async with connect(made.mcp, road) as client:
        result = await client.call_tool("paint", {"seconds": 0.3})
        assert result.content[0].text == "painted for 0.3 s"
        assert result.structured_content == {"result": "painted for 0.3 s"}


@in_memory
async def test_a_call_fails_as_its_task_does(road):
    async with connect(studio().mcp, road) as client:
        assert (await client.call_tool("train")).is_error
        error = await error_of(client.call_tool("break_down"))
        assert (error.code, error.message, error.data) == (-31000, "broken", {"part": "wheel"})


@pytest.mark.req("R-685", "R-686")
@on_every_road
async def test_the_callbacks_of_the_client_answer_what_a_task_asks(road):
    asked = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append((context.request_id, params.message))
        return ElicitResult(action="accept", content={"name": "blue"})

    made = studio(poll_interval=0.1)
    async with connect(made.mcp, road, elicitation_callback=elicit) as client:
        result = await client.call_tool("ask_twice")
    assert result.content[0].text == "wall=blue door=blue roof=blue"
    # Each question once.
    assert len({key for key, _ in asked}) == len(asked) == 3


@pytest.mark.req("R-686")
@in_memory
async def test_a_task_may_ask_whatever_a_server_may(road):
    async def sample(context: Any, params: Any) -> CreateMessageResult:
        said = TextContent(text=f"{params.messages[0].content.text}!")
        return CreateMessageResult(role="assistant", content=said, model="m")

    async def list_roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///studio")])

    callbacks = {
        "elicitation_callback": answer_blue,
        "sampling_callback": sample,
        "list_roots_callback": list_roots,
    }
    async with connect(studio().mcp, road, **callbacks) as client:
        result = await client.call_tool("ask_all_kinds")
    assert result.content[0].text == "blue: Praise it! file:///studio"


@in_memory
async def test_an_error_of_a_callback_is_that_of_the_call_and_cancels_the_task(road):
    async def refuse(context: Any, params: Any) -> ErrorData:
        return ErrorData(code=-1, message="no user is here")

    made = studio()
    async with connect(made.mcp, road, elicitation_callback=refuse) as client:
        error = await error_of(client.call_tool("ask"))
        assert (error.code, error.message) == (-1, "no user is here")
        [status] = [each.status for each in made.tasks._store._tasks.values()]
        assert status == "cancelled"


@in_memory
async def test_a_callback_whose_question_is_withdrawn_is_cancelled(road):
    ended = []

    async def think(context: Any, params: Any) -> ElicitResult:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time() - began)
        raise AssertionError

    async with connect(studio().mcp, road, elicitation_callback=think) as client:
        began = trio.current_time()
        result = await client.call_tool("ask_in_vain")
        assert result.content[0].text == "no answer"
    [seconds] = ended
    assert 5 <= seconds < 7


# Leaving


@pytest.mark.req("R-692")
@on_every_road
async def test_whoever_cancels_the_call_cancels_the_task(road, monkeypatch):
    # A busy machine may stand still for longer than a second.
    monkeypatch.setattr("trio_mcp.extensions.tasks._giving_up.CANCEL_SECONDS", 20)
    made = studio(patience=0, poll_interval=0.1)
    async with connect(made.mcp, road) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "paint", {"seconds": 60})
            await settle(lambda: "tasks/get" in made.methods)
            nursery.cancel_scope.cancel()
        await settle(lambda: made.seen)
        assert made.seen == ["the client cancelled the task"]
    # A request about the task may be under way, and is given up as any other.
    assert made.called
    assert not {*made.called} & {*made.given_up}


@in_memory
async def test_a_time_limit_for_all_of_a_call_ends_its_task(road):
    made = studio()
    async with connect(made.mcp, road) as client:
        with pytest.raises(RequestTimeout):
            await client.call_tool("paint", {"seconds": 60}, max_total_timeout=5)
        await trio.sleep(0.1)
        assert made.seen == ["the client cancelled the task"]


@in_memory
async def test_a_limit_for_each_request_lets_a_task_take_longer(road):
    async with connect(studio().mcp, road) as client:
        result = await client.call_tool("paint", {"seconds": 60}, read_timeout_seconds=2)
        assert result.content[0].text == "painted for 60 s"


# The handle


@on_every_road
async def test_a_handle_waits_as_the_call_does(road):
    made = studio(poll_interval=0.1, patience=0)
    async with connect(made.mcp, road) as client:
        created = await client.call_tool("paint", {"seconds": 0.3}, allow_claimed=True)
        assert isinstance(created, CreateTaskResult)
        task = Task(client, created)
        assert not task.is_over
        result = await task.wait()
        assert result.content[0].text == "painted for 0.3 s"
        assert task.is_over
        await client.session.validate_tool_result("paint", result)


@pytest.mark.req("R-684")
@in_memory
async def test_a_task_is_found_again_by_its_id(road):
    made = studio()
    async with connect(made.mcp, road) as first, connect(made.mcp, road) as second:
        kept = (await start(first, "paint", {"seconds": 5})).task_id
        with trio.move_on_after(1):
            # To stop waiting is not to cancel the task.
            await Task(first, kept).wait()
        task = Task(second.session, kept)
        assert (await task.get()).status == "working"
        assert (await task.wait()).content[0].text == "painted for 5 s"


@in_memory
async def test_a_task_that_somebody_cancels_raises(road):
    async with connect(studio().mcp, road) as client:
        task = await start(client, "paint", {"seconds": 60})
        await Task(client, task.task_id).cancel()
        with pytest.raises(TaskCancelled, match="The task was cancelled") as caught:
            await task.wait()
        assert caught.value.task.status == "cancelled"


@in_memory
async def test_questions_can_be_answered_by_hand(road):
    async with connect(studio().mcp, road, elicitation_callback=answer_blue) as client:
        task = await start(client, "ask")
        [key] = (await until(task.get, "input_required")).input_requests
        await task.update({key: ElicitResult(action="decline")})
        done = await until(task.get, "completed")
        assert done.result["content"][0]["text"] == "decline "


@directly
async def test_a_handle_says_what_it_is_made_of(road):
    async with connect(studio().mcp, road) as client:
        with pytest.raises(TypeError, match="client"):
            Task("studio", "id")
        with pytest.raises(TypeError, match="task"):
            Task(client, 7)
        with pytest.raises(ValueError, match=r"^read_timeout_seconds: .*, got -1$"):
            Task(client, "id", read_timeout_seconds=-1)


# A server that says odd things


@pytest.mark.req("R-682")
@directly
@pytest.mark.parametrize(
    ("created", "answers", "pauses"),
    [
        ({"pollIntervalMs": 2_000}, [task("working", pollIntervalMs=2_000), DONE], [2, 2]),
        # It may change.
        ({"pollIntervalMs": 2_000}, [task("working", pollIntervalMs=500), DONE], [2, 0.5]),
        # Where none is given, and where it would keep a server busy.
        ({}, [task("working"), DONE], [1, 1]),
        ({"pollIntervalMs": 0}, [DONE], [0.05]),
        # A server that lets the task go sooner is asked then.
        ({"pollIntervalMs": 3_600_000, "ttlMs": 5_000}, [DONE], [5]),
    ],
)
async def test_the_server_says_when_to_ask_again(road, created, answers, pauses):
    server = Scripted(created, *answers)
    async with connect(scripted(server), road) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
    assert server.pauses == pauses


@pytest.mark.req("R-665")
@directly
@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (task("completed"), "without a result"),
        (task("completed", result={"content": "done"}), "result.content|content"),
        (task("failed"), "without an error"),
        (task("failed", error={"code": "x", "message": "y"}), "error.code"),
        ({**DONE, "taskId": "other"}, "another task"),
        ({**DONE, "status": "perhaps"}, "status"),
        ({"taskId": "t", "status": "completed"}, "createdAt|lastUpdatedAt|ttlMs"),
    ],
    ids=str,
)
async def test_what_is_no_answer_is_told_as_such(road, answer, fault):
    async with connect(scripted(Scripted({}, answer)), road) as client:
        with pytest.raises(InvalidResponse, match=fault):
            await client.call_tool("work")


@directly
@pytest.mark.parametrize("code", [-32603, -31503])
@pytest.mark.parametrize(("failures", "outcome"), [(4, "done"), (5, "error")])
async def test_a_server_may_fail_to_say_how_a_task_is_a_few_times(road, code, failures, outcome):
    server = Scripted({}, *[MCPError(code, "not now")] * failures, DONE)
    async with connect(scripted(server), road) as client:
        if outcome == "done":
            assert (await client.call_tool("work")).content[0].text == "done"
        else:
            assert (await error_of(client.call_tool("work"))).code == code


@directly
async def test_times_beyond_all_reason_are_waited_for_as_a_day_is(road):
    server = Scripted({"pollIntervalMs": 10**400, "ttlMs": 10**400}, DONE)
    async with connect(scripted(server), road) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
    assert server.pauses == [24 * 3600]


@in_memory
async def test_the_first_of_several_answers_that_fail_is_the_one_error(road):
    async def refuse(context, params):
        await trio.sleep(0.1 if params.message == "wall" else 0.2)
        raise MCPError(-31000, f"no {params.message}")

    async with connect(studio().mcp, road, elicitation_callback=refuse) as client:
        error = await error_of(client.call_tool("ask_twice"))
    assert (error.code, error.message) == (-31000, "no wall")


@directly
async def test_a_task_that_the_server_forgot_is_not_cancelled(road):
    server = Scripted({})
    async with connect(scripted(server), road) as client:
        error = await error_of(client.call_tool("work"))
        assert (error.code, error.message) == (-32602, "Unknown task: t")
    assert server.cancelled == []


@directly
async def test_a_task_without_an_end_can_be_left(road):
    server = Scripted({}, *[task("working")] * 100)
    async with connect(scripted(server), road) as client:
        with trio.move_on_after(10):
            await client.call_tool("work")
    assert server.cancelled == ["t"]


@directly
async def test_a_server_that_asks_without_end_is_not_taken_seriously(road):
    questions = {
        f"q{n}": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}
        for n in range(1_001)
    }  # fmt: skip
    server = Scripted({}, task("input_required", inputRequests=questions))

    async def think(context: Any, params: Any) -> ElicitResult:
        return await trio.sleep_forever()

    async with connect(scripted(server), road, elicitation_callback=think) as client:
        with pytest.raises(InvalidResponse, match="more than 1000 questions"):
            await client.call_tool("work")


@pytest.mark.req("R-666")
@directly
async def test_a_task_is_not_sent_to_a_client_that_declared_nothing(road, caplog):
    async with connect(scripted(Scripted({})), road, knows_tasks=False) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("work")
        assert caught.value.code == -32603
    assert f"the resultType 'task' is of the extension {TASKS}, which the client" in caplog.text


@directly
async def test_an_older_server_is_not_told_of_tasks(road):
    extension = TasksClientExtension()
    async with Client(MCPServer("old"), extensions=[extension], mode="2025-11-25") as client:
        assert client.session.protocol_version == "2025-11-25"


@directly
def test_the_unlimited_time_of_a_task_survives_being_written(road):
    written = {"resultType": "complete", **task("working")}
    assert to_json(from_json(DetailedTask, written)) == written
    assert written["ttlMs"] is None
