"""Calls of tools that become tasks, as a client sees them on the wire."""

from __future__ import annotations

import re
from functools import partial

import pytest
import trio

from trio_mcp import MCPServer, to_json
from trio_mcp.client import advertise
from trio_mcp.extensions import CreateTaskResult, InMemoryTaskStore, TasksExtension
from trio_mcp.types import CallToolResult, ElicitResult, InputRequiredResult

from ._stores import stored
from ._studio import (
    TASKS,
    answer_blue,
    ask_raw,
    connect,
    error_of,
    in_memory,
    on_every_road,
    settle,
    start,
    studio,
    until,
)

ISO_8601 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(autouse=True)
def clock(request, road):
    """Virtual time, unless bytes travel in real time."""
    return None if road == "http" else request.getfixturevalue("autojump_clock")


@pytest.mark.req("R-667", "R-670", "R-672", "R-674", "R-679")
@on_every_road
async def test_a_call_that_takes_long_is_answered_by_a_task(road):
    async with connect(studio(patience=0).mcp, road) as client:
        created = await client.call_tool("paint", {"seconds": 600}, allow_claimed=True)
        assert isinstance(created, CreateTaskResult)
        written = to_json(created)
        assert written["resultType"] == "task"
        assert written["status"] == "working"
        assert (written["ttlMs"], written["pollIntervalMs"]) == (3_600_000, 1_000)
        assert ISO_8601.fullmatch(written["createdAt"])
        assert ISO_8601.fullmatch(written["lastUpdatedAt"])
        assert not {"task", "result", "error", "inputRequests", "requestState"} & written.keys()

        found = await ask_raw(client, "tasks/get", taskId=created.task_id)
        assert found.pop("resultType") == "complete"
        assert {**found, "resultType": "task"} == {
            name: each for name, each in written.items() if name != "_meta"
        }


@pytest.mark.req("R-676", "R-671")
@on_every_road
async def test_a_completed_task_has_what_its_call_would_have_been_answered(road):
    made = studio(patience=0)
    async with connect(made.mcp, road) as client:
        task = await start(client, "paint", {"seconds": 0.2})
        await until(task.get, "completed")
        found = await ask_raw(client, "tasks/get", taskId=task.task_id)
        async with connect(made.mcp, road, knows_tasks=False) as other:
            plain = await other.call_tool("paint", {"seconds": 0.2})
        assert found["resultType"] == "complete"
        assert found["result"]["resultType"] == "complete"
        assert found["result"]["content"] == to_json(plain)["content"]
        assert found["result"]["structuredContent"] == plain.structured_content
        assert not {"error", "inputRequests"} & found.keys()


@in_memory
async def test_a_call_that_is_answered_at_once_is_no_task(road):
    async with connect(studio().mcp, road) as client:
        result = await client.call_tool("paint", {"seconds": 0.05}, allow_claimed=True)
        assert isinstance(result, CallToolResult)
        assert result.content[0].text == "painted for 0.05 s"
        greeted = await client.call_tool("greet", {"name": "Ada"}, allow_claimed=True)
        assert isinstance(greeted, CallToolResult)


@pytest.mark.req("R-699")
@in_memory
async def test_a_tool_that_fails_completes_its_task(road):
    async with connect(studio().mcp, road) as client:
        task = await start(client, "train")
        done = await until(task.get, "completed")
        assert done.result["isError"] is True
        assert "does not converge" in done.result["content"][0]["text"]


@in_memory
async def test_each_result_of_a_tool_that_requires_tasks_is_that_of_one(road):
    async with connect(studio().mcp, road) as client:
        task = await start(client, "train", {"seconds": 0})
        assert (await until(task.get, "completed")).result["isError"] is True


@pytest.mark.req("R-678", "R-698")
@in_memory
async def test_an_error_of_the_protocol_fails_the_task(road):
    async with connect(studio().mcp, road) as client:
        task = await start(client, "break_down")
        failed = await until(task.get, "failed")
        found = await ask_raw(client, "tasks/get", taskId=task.task_id)
        error = {"code": -31000, "message": "broken", "data": {"part": "wheel"}}
        assert found["error"] == error
        assert failed.status_message == "broken"
        assert "result" not in found


@pytest.mark.req("R-677", "R-681", "R-689")
@on_every_road
async def test_a_cancelled_task_is_over_at_once_and_its_tool_is_cancelled(road):
    made = studio()
    async with connect(made.mcp, road) as client:
        task = await start(client, "paint", {"seconds": 60})
        assert await ask_raw(client, "tasks/cancel", taskId=task.task_id) == {
            "resultType": "complete"
        }
        assert (await task.get()).status == "cancelled"
        await settle(lambda: made.seen)
        assert made.seen == ["the client cancelled the task"]
        # What is over stays so.
        await task.cancel()
        assert (await task.get()).status == "cancelled"


@in_memory
async def test_a_finished_task_cannot_be_cancelled(road):
    async with connect(studio().mcp, road) as client:
        task = await start(client, "paint", {"seconds": 1})
        await until(task.get, "completed")
        await task.cancel()
        assert (await task.get()).status == "completed"


# Who knows of tasks


@pytest.mark.req("R-666", "R-669")
@on_every_road
async def test_whoever_does_not_declare_the_extension_gets_no_task(road):
    async with connect(studio().mcp, road, knows_tasks=False) as client:
        assert not (await client.call_tool("paint", {"seconds": 0.2})).is_error
        error = await error_of(client.call_tool("train"))
        assert error.code == -32021
        assert error.data == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


@in_memory
@pytest.mark.parametrize("mode", ["2024-11-05", "2025-03-26", "2025-06-18"])
async def test_an_older_client_gets_no_task(road, mode):
    async with connect(studio().mcp, road, mode=mode) as client:
        assert not (await client.call_tool("paint", {"seconds": 5})).is_error
        error = await error_of(client.call_tool("train"))
        assert error.code == -32600
        assert error.message == (
            "The tool 'train' has to be called as a task, which needs protocol 2025-11-25 or newer"
        )
        assert (await error_of(ask_raw(client, "tasks/get", taskId="x"))).code == -32601
        assert client.server_capabilities.tasks is None
        assert client.server_capabilities.extensions is None


@pytest.mark.req("R-697")
@on_every_road
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_requests_about_tasks_take_the_extension_before_the_id_is_looked_up(road, method):
    more = {"inputResponses": {}} if method == "tasks/update" else {}
    async with connect(studio().mcp, road, knows_tasks=False) as client:
        error = await error_of(ask_raw(client, method, taskId="unknown", **more))
        assert error.code == -32021
        assert error.data == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


@pytest.mark.req("R-690", "R-696")
@on_every_road
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_an_unknown_task_is_an_error(road, method):
    more = {"inputResponses": {}} if method == "tasks/update" else {}
    async with connect(studio().mcp, road) as client:
        error = await error_of(ask_raw(client, method, taskId="unknown", **more))
        assert (error.code, error.message) == (-32602, "Unknown task: unknown")


@pytest.mark.req("R-700", "R-702")
@on_every_road
async def test_nothing_is_left_of_the_experimental_tasks(road):
    async with connect(studio().mcp, road) as client:
        assert (await error_of(ask_raw(client, "tasks/result", taskId="x"))).code == -32601
        assert (await error_of(ask_raw(client, "tasks/list"))).code == -32601
        capabilities = client.server_capabilities
        assert capabilities.tasks is None
        assert "tasks" not in to_json(capabilities)
        assert capabilities.extensions == {TASKS: {}}


@pytest.mark.req("R-609", "R-701")
@in_memory
@pytest.mark.parametrize("mode", ["2026-07-28", "2025-06-18"])
async def test_a_param_of_the_experimental_tasks_is_ignored(road, mode):
    async with connect(studio().mcp, road, mode=mode) as client:
        task = {"ttl": 60_000, "pollInterval": 100}
        result = await ask_raw(
            client, "tools/call", name="greet", arguments={"name": "Ada"}, task=task
        )
        assert result["content"] == [{"type": "text", "text": "Hello, Ada!"}]
        assert "taskId" not in result


# Questions


@pytest.mark.req("R-675", "R-680", "R-687", "R-688")
@on_every_road
async def test_questions_that_wait_are_told_until_each_is_answered(road):
    async with connect(studio().mcp, road, elicitation_callback=answer_blue) as client:
        task = await start(client, "ask_twice")

        asked = await until(task.get, "input_required")
        while len(asked.input_requests) < 2:
            asked = await task.get()
        assert asked.status == "input_required"
        first, second = asked.input_requests
        words = {key: each.params.message for key, each in asked.input_requests.items()}
        assert sorted(words.values()) == ["door", "wall"]

        answer = {"action": "accept", "content": {"name": "red"}}
        given = {first: answer, "never asked": {}}
        acknowledged = await ask_raw(
            client, "tasks/update", taskId=task.task_id, inputResponses=given
        )
        assert acknowledged == {"resultType": "complete"}
        asked = await task.get()
        assert (asked.status, [*asked.input_requests]) == ("input_required", [second])

        await task.update({second: ElicitResult(action="accept", content={"name": "green"})})
        asked = await until(task.get, "input_required")
        [third] = asked.input_requests
        assert third not in (first, second)
        await task.update({third: ElicitResult(action="accept", content={"name": "blue"})})
        done = await until(task.get, "completed")
        colours = {words[first]: "red", words[second]: "green", "roof": "blue"}
        told = " ".join(f"{what}={colours[what]}" for what in ("wall", "door", "roof"))
        assert done.result["content"][0]["text"] == told


@pytest.mark.req("R-691")
@in_memory
async def test_answers_that_nobody_waits_for_are_ignored(road):
    async with connect(studio().mcp, road, elicitation_callback=answer_blue) as client:
        task = await start(client, "ask_in_vain")
        [key] = (await until(task.get, "input_required")).input_requests
        blue = {key: ElicitResult(action="accept", content={"name": "blue"})}
        await trio.sleep(5)
        asked = await task.get()
        assert (asked.status, asked.input_requests) == ("working", None)
        await task.update(blue)
        done = await until(task.get, "completed")
        assert done.result["content"][0]["text"] == "no answer"
        await task.update(blue)
        assert (await task.get()).status == "completed"


@in_memory
async def test_an_answer_of_another_kind_is_refused_and_the_question_stays(road):
    async with connect(studio().mcp, road, elicitation_callback=answer_blue) as client:
        task = await start(client, "ask")
        [key] = (await until(task.get, "input_required")).input_requests
        answers = {key: {"roots": []}}
        error = await error_of(
            ask_raw(client, "tasks/update", taskId=task.task_id, inputResponses=answers)
        )
        assert error.code == -32602
        assert f"params.inputResponses.{key}" in error.message
        assert [*(await task.get()).input_requests] == [key]


@in_memory
async def test_a_question_that_a_client_cannot_answer_is_no_task(road):
    async with connect(studio().mcp, road) as client:
        error = await error_of(client.call_tool("ask"))
        assert error.code == -32021
        assert error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


@pytest.mark.req("R-673")
@on_every_road
@pytest.mark.parametrize("tool", ["ask_by_result", "ask_by_resolver"])
async def test_what_is_asked_at_once_is_asked_by_the_request_itself(road, tool):
    made = studio(patience=60, poll_interval=0.1)
    async with connect(made.mcp, road, elicitation_callback=answer_blue) as client:
        call = partial(client.session.call_tool, tool, allow_claimed=True)
        first = await call(allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        assert "taskId" not in first.extra
        [key] = first.input_requests
        answer = ElicitResult(action="accept", content={"name": "blue"})
        second = await call(input_responses={key: answer}, request_state=first.request_state)
        assert isinstance(second, CreateTaskResult)
        assert not {"requestState", "inputRequests"} & second.extra.keys()
        result = await client.call_tool(tool)
        assert result.content[0].text.startswith("blue")


@in_memory
async def test_what_is_asked_by_the_result_of_a_task_is_asked_by_the_task(road):
    async with connect(studio().mcp, road, elicitation_callback=answer_blue) as client:
        task = await start(client, "ask_late_by_result")
        asked = await until(task.get, "input_required")
        [(key, question)] = asked.input_requests.items()
        assert question.params.message == "Which colour?"
        await task.update({key: ElicitResult(action="accept", content={"name": "blue"})})
        done = await until(task.get, "completed")
        assert done.result["content"][0]["text"] == "blue, asked"


@pytest.mark.req("R-694")
@in_memory
async def test_nothing_is_reported_once_there_is_a_task(road):
    heard = []

    async def hear(progress, total, message):
        heard.append(progress)

    async def log(params):
        heard.append(params.data)

    options = {"logging_callback": log, "log_level": "debug"}
    async with connect(studio().mcp, road, **options) as client:
        result = await client.call_tool("report", progress_callback=hear)
        assert result.content[0].text == "reported"
    # Each comes in a task of its own.
    assert sorted(map(str, heard)) == ["0", "step 0"]


# How long it lives


@in_memory
async def test_a_task_is_cancelled_and_forgotten_when_its_time_is_over(road):
    made = studio(ttl=10)
    async with connect(made.mcp, road) as client:
        task = await start(client, "paint", {"seconds": 60})
        await trio.sleep(9)
        assert (await task.get()).status == "working"
        assert made.seen == []
        await trio.sleep(2)
        assert (await error_of(task.get())).code == -32602
        assert len(made.seen) == 1


@in_memory
async def test_a_result_is_kept_until_the_time_is_over(road):
    async with connect(studio(ttl=10).mcp, road) as client:
        task = await start(client, "paint", {"seconds": 1})
        await trio.sleep(9)
        assert (await task.get()).status == "completed"
        await trio.sleep(2)
        assert (await error_of(task.get())).code == -32602


@in_memory
async def test_the_end_of_the_server_is_the_end_of_its_tasks(road):
    store = InMemoryTaskStore()
    made = studio(store=store)
    async with connect(made.mcp, road) as client:
        task = await start(client, "paint", {"seconds": 60})
    assert len(made.seen) == 1
    kept = await store.get(task.task_id)
    assert (kept.status, kept.status_message) == ("failed", "The server was stopped")


@in_memory
async def test_a_request_that_is_given_up_before_it_is_a_task_takes_its_work_along(road):
    made = studio(patience=10)
    async with connect(made.mcp, road) as client:
        with trio.move_on_after(1):
            await client.call_tool("paint", {"seconds": 60})
        await trio.sleep(0.1)
        assert len(made.seen) == 1


@in_memory
async def test_a_second_client_in_the_same_program_reaches_the_task(road):
    made = studio()
    async with connect(made.mcp, road) as one, connect(made.mcp, road) as other:
        task = await start(one, "paint", {"seconds": 60})
        await ask_raw(other, "tasks/cancel", taskId=task.task_id)
        assert (await task.get()).status == "cancelled"
        await trio.sleep(0.1)
        assert made.seen == ["the client cancelled the task"]


# What is refused when a server is made


@pytest.mark.parametrize("road", ["direct"])
async def test_a_name_that_is_no_tool_is_found_when_the_server_starts(road):
    mcp = MCPServer("empty", extensions=[TasksExtension({"paint": "optional"})])
    with pytest.raises(ValueError, match=r"names of tools of the server 'empty', got 'paint'"):
        async with connect(mcp, road):
            pass


@pytest.mark.parametrize("road", ["direct"])
@pytest.mark.parametrize(
    "options",
    [
        {"tools": {"paint": "perhaps"}},
        {"tools": ["paint"]},
        {"ttl": 0},
        {"ttl": float("inf")},
        {"poll_interval": float("inf")},
        {"poll_interval": -1},
        {"patience": -1},
        {"clock": 7},
        {"max_running": 0},
        {"max_running": 1.5},
    ],
)
def test_an_option_that_cannot_be_is_refused(road, options):
    with pytest.raises((TypeError, ValueError)) as caught:
        TasksExtension(**{"tools": {}, **options})
    assert next(iter(options)) in str(caught.value)


@pytest.mark.req("R-663")
@pytest.mark.parametrize("road", ["direct"])
async def test_nothing_is_declared_by_a_server_that_was_not_given_the_extension(road):
    async with connect(MCPServer("plain"), road, extensions=[advertise(TASKS)]) as client:
        assert client.server_capabilities.extensions is None
        assert (await error_of(ask_raw(client, "tasks/get", taskId="x"))).code == -32601


class Flaky(InMemoryTaskStore):
    """Does not take how tasks end, at first."""

    refusals = 5

    async def replace(self, task):
        if task.is_over and self.refusals:
            self.refusals -= 1
            raise ConnectionError("the store is away")
        return await super().replace(task)


@in_memory
async def test_a_result_waits_for_a_store_that_is_away(road, caplog):
    store = Flaky()
    async with connect(studio(store=store).mcp, road) as client:
        task = await start(client, "paint", {"seconds": 1})
        await trio.sleep(2)
        assert (await task.get()).status == "working"
        done = await until(task.get, "completed")
        assert done.result["content"][0]["text"] == "painted for 1 s"
    assert store.refusals == 0
    [told] = [each for each in caplog.records if each.levelname == "ERROR"]
    assert "could not be stored; it is tried again" in told.getMessage()
    assert task.task_id not in caplog.text


@in_memory
async def test_a_client_that_cancels_hears_that_the_store_is_away(road):
    store = Flaky()
    async with connect(studio(store=store).mcp, road) as client:
        task = await start(client, "paint", {"seconds": 60})
        assert (await error_of(task.cancel())).code == -32603
        store.refusals = 0
        assert (await task.get()).status == "working"
        await task.cancel()
        assert (await task.get()).status == "cancelled"


class Forgetful(InMemoryTaskStore):
    """Cannot give a task, once, when it is told to."""

    fails = False

    async def get(self, task_id):
        if self.fails:
            self.fails = False
            raise ConnectionError("the store is away")
        return await super().get(task_id)

    async def replace(self, task):
        replaced = await super().replace(task)
        # Whoever looks at what has changed comes next.
        self.fails = replaced and task.status == "cancelled"
        return replaced


@in_memory
async def test_work_is_cancelled_though_the_store_is_away_just_then(road):
    made = studio(store=Forgetful())
    async with connect(made.mcp, road) as client:
        task = await start(client, "paint", {"seconds": 60})
        await task.cancel()
        await trio.sleep(1)
        assert made.seen == ["the client cancelled the task"]
        assert (await task.get()).status == "cancelled"


# The store


@pytest.mark.parametrize("road", ["direct"])
async def test_only_the_next_version_takes_the_place_of_a_task(road):
    store = InMemoryTaskStore()
    told = []
    stop = store.subscribe(told.append)
    task = stored("a")
    await store.create(task)
    one, other = task.changed(1.0, status_message="one"), task.changed(2.0)
    assert await store.replace(one)
    assert not await store.replace(other)
    assert await store.get("a") == one
    await store.delete("a")
    assert not await store.replace(one.changed(3.0))
    assert await store.get("a") is None
    assert told == ["a", "a", "a"]
    stop()
    await store.create(task)
    assert len(told) == 3
