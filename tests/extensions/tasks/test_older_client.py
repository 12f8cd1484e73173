"""A client as the one who asks for the tasks of 2025-11-25."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from trio_mcp import MCPError
from trio_mcp.errors import InvalidResponse
from trio_mcp.extensions import (
    CreateTaskResult,
    Task,
    TaskCancelled,
    TasksClientExtension,
)

from ._older_server import ALL, DONE, QUESTION, RELATED, SILENCE, OlderServer, connect_older
from ._studio import answer_blue, error_of, settle

if TYPE_CHECKING:
    from trio_mcp.types import (
        ElicitResult,
    )


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


# Which calls become tasks


@pytest.mark.req("R-601", "R-605", "R-624")
async def test_a_tool_that_has_to_be_a_task_is_called_as_one():
    server = OlderServer("required")
    async with connect_older(server) as client:
        assert (await client.call_tool("work", {"a": 1})).content[0].text == "done"
    assert server.methods == ["tools/list", "tools/call", "tasks/get", "tasks/result"]
    [call] = server.all_params("tools/call")
    assert call == {"name": "work", "arguments": {"a": 1}, "task": {}}


@pytest.mark.req("R-601", "R-602", "R-603")
@pytest.mark.parametrize("allow_claimed", [False, True])
@pytest.mark.parametrize(
    ("support", "tasks"),
    [
        ("forbidden", ALL),
        (None, ALL),
        # What the tool says counts for nothing where the server declares no such thing.
        ("required", None),
        ("required", {"list": {}, "cancel": {}}),
        ("required", {"requests": {"tools": {}}}),
    ],
)
async def test_no_other_tool_and_no_other_server_is_asked_for_a_task(
    support, tasks, allow_claimed
):
    server = OlderServer(support)
    server.tasks = tasks
    async with connect_older(server) as client:
        result = await client.call_tool("work", allow_claimed=allow_claimed)
        assert result.content[0].text == "done"
    [call] = server.all_params("tools/call")
    assert "task" not in call
    assert "tasks/get" not in server.methods


async def test_who_waits_for_the_result_gets_it_from_the_call_where_a_task_is_optional():
    server = OlderServer("optional")
    async with connect_older(server) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
    assert server.methods == ["tools/list", "tools/call"]


async def test_who_is_ready_for_a_task_gets_one_where_it_is_optional():
    server = OlderServer("optional", ttl=60_000, pollInterval=2_000)
    async with connect_older(server) as client:
        created = await client.call_tool("work", allow_claimed=True)
        assert isinstance(created, CreateTaskResult)
        assert (created.task_id, created.status) == ("t", "working")
        assert (created.ttl_ms, created.poll_interval_ms) == (60_000, 2_000)
        assert created.created_at == created.last_updated_at == "2026-11-30T12:00:00Z"
        assert created.meta == {"com.example/hint": 1}
        assert (await Task(client, created).wait()).content[0].text == "done"
        # And by the hand of whoever has the session.
        created = await client.session.call_tool("work", allow_claimed=True)
        assert (await client.session.resolve_claimed(created, "work")).content[0].text == "done"


async def test_a_session_waits_for_a_task_that_has_to_be_one():
    server = OlderServer("required")
    async with connect_older(server) as client:
        assert (await client.session.call_tool("work")).content[0].text == "done"


async def test_the_list_of_tools_is_asked_for_once():
    server = OlderServer("required")
    async with connect_older(server) as client:
        for _ in range(2):
            await client.call_tool("work")
        server.support = "forbidden"
        await server.tell("notifications/tools/list_changed", {})
        await trio.testing.wait_all_tasks_blocked()
        await client.call_tool("work")
    assert server.methods.count("tools/list") == 2
    assert ["task" in each for each in server.all_params("tools/call")] == [True, True, False]


class Changing(OlderServer):
    """Refuses calls that are not made as it wants them by now."""

    wants = "required"

    async def respond(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/call" and ("task" in params) != (self.wants == "required"):
            return MCPError(-32601, "Not in this way")
        return await super().respond(method, params)


@pytest.mark.req("R-603", "R-605")
@pytest.mark.parametrize(("listed", "wants"), [("required", None), (None, "required")])
async def test_a_tool_that_has_changed_without_a_word_is_listed_again_and_called_as_it_is_now(
    listed, wants
):
    server = Changing(listed)
    server.wants = wants
    async with connect_older(server) as client:
        await client.list_tools()
        server.support = wants
        for _ in range(2):
            assert (await client.call_tool("work")).content[0].text == "done"
    assert server.methods.count("tools/list") == 2
    assert ["task" in each for each in server.all_params("tools/call")] == [
        listed is not None,
        wants is not None,
        wants is not None,
    ]


@pytest.mark.parametrize("listing", [None, MCPError(-32603, "no list"), SILENCE])
async def test_a_refusal_of_a_tool_that_has_not_changed_is_that_of_the_call(listing):
    server = Changing(None)
    async with connect_older(server) as client:
        await client.list_tools()
        server.answers["tools/list"] = listing
        error = await error_of(client.call_tool("work", read_timeout_seconds=2))
    assert (error.code, error.message) == (-32601, "Not in this way")
    assert server.methods.count("tools/call") == 1


async def test_a_request_about_a_task_that_is_not_served_is_no_refusal_of_the_call():
    server = OlderServer("required")
    server.answers["tasks/get"] = MCPError(-32601, "Method not found")
    async with connect_older(server) as client:
        assert (await error_of(client.call_tool("work"))).code == -32601
    assert (server.methods.count("tools/list"), server.methods.count("tools/call")) == (1, 1)


async def test_a_time_to_keep_tasks_is_asked_for():
    server = OlderServer("required")
    async with connect_older(server, extensions=[TasksClientExtension(ttl=2.5)]) as client:
        await client.call_tool("work")
    [call] = server.all_params("tools/call")
    assert call["task"] == {"ttl": 2_500}


async def test_a_very_long_time_to_keep_tasks_is_a_number_that_others_can_read():
    server = OlderServer("required")
    async with connect_older(server, extensions=[TasksClientExtension(ttl=1e300)]) as client:
        await client.call_tool("work")
    [call] = server.all_params("tools/call")
    assert call["task"] == {"ttl": 10**15}


@pytest.mark.parametrize(
    ("ttl", "kind"),
    [("1", TypeError), (0, ValueError), (-1, ValueError), (float("inf"), ValueError)],
)
def test_a_time_to_keep_tasks_is_a_time(ttl, kind):
    with pytest.raises(kind, match=r"ttl: expected a (number above 0|finite number)"):
        TasksClientExtension(ttl=ttl)


async def test_a_server_that_answers_at_once_all_the_same_is_taken_at_its_word():
    server = OlderServer("required")
    server.answers["tools/call"] = DONE
    async with connect_older(server) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
    assert "tasks/get" not in server.methods


# Waiting


@pytest.mark.req("R-607")
async def test_a_task_is_asked_for_as_often_as_its_server_wants():
    server = OlderServer("required", "working", "working", "completed", pollInterval=3_000)
    async with connect_older(server) as client:
        await client.call_tool("work")
    assert server.times("tools/call", "tasks/get", "tasks/result") == [0, 3, 6, 9, 9]


@pytest.mark.req("R-607", "R-620")
async def test_what_a_task_asks_comes_with_its_result_and_polling_goes_on_beside():
    server = OlderServer("required", "working", "input_required")
    server.asks = QUESTION

    async def think(context: Any, params: Any) -> ElicitResult:
        assert params.message == "Which colour?"
        assert context.meta[RELATED] == {"taskId": "t"}
        await trio.sleep(4.5)
        return await answer_blue(context, params)

    async with connect_older(server, elicitation_callback=think) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
    assert server.methods[1:4] == ["tools/call", "tasks/get", "tasks/get"]
    assert server.methods.count("tasks/result") == 1
    assert server.times("tasks/result", "tasks/get")[-1] > 4
    [answer] = server.answered
    assert answer.result["content"] == {"name": "blue"}


@pytest.mark.req("R-619")
async def test_the_answer_to_what_a_task_asks_says_to_which_task_it_belongs():
    server = OlderServer("required", "input_required")
    server.asks = QUESTION
    async with connect_older(server, elicitation_callback=answer_blue) as client:
        await client.call_tool("work")
        server.asks = {name: each for name, each in QUESTION.items() if name != "_meta"}
        server.statuses = ["input_required"]
        await client.call_tool("work")
    related, other = server.answered
    assert related.result["_meta"] == {RELATED: {"taskId": "t"}}
    assert "_meta" not in other.result


@pytest.mark.req("R-630")
async def test_what_is_asked_about_a_task_does_not_name_it_twice():
    server = OlderServer("required", "working", "input_required")
    server.asks = QUESTION
    async with connect_older(server, elicitation_callback=answer_blue) as client:
        await client.call_tool("work")
        await Task(client, "t").cancel()
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        for params in server.all_params(method):
            assert params == {"taskId": "t"}


@pytest.mark.req("R-608")
async def test_nothing_depends_on_being_told_the_status():
    server = OlderServer("required", "working", "working", "completed")
    async with connect_older(server) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.call_tool, "work")
        await settle(lambda: "tasks/get" in server.methods)
        # Neither what is true, nor what is not, nor what is about nothing.
        for status in ("completed", "cancelled"):
            await server.tell("notifications/tasks/status", server.state(status))
        await server.tell("notifications/tasks/status", {**server.state("failed"), "taskId": "u"})
    assert server.methods.count("tasks/get") == 3


async def test_an_error_of_a_task_is_that_of_the_call():
    server = OlderServer("required", "failed")
    server.result = MCPError(-31000, "broken", {"part": "wheel"})
    async with connect_older(server) as client:
        error = await error_of(client.call_tool("work"))
    assert (error.code, error.message, error.data) == (-31000, "broken", {"part": "wheel"})
    assert "tasks/cancel" not in server.methods


async def test_a_tool_that_failed_by_itself_is_a_result():
    server = OlderServer("required", "failed")
    server.result = {**DONE, "isError": True}
    async with connect_older(server) as client:
        assert (await client.call_tool("work")).is_error


async def test_a_task_that_somebody_cancelled_raises():
    server = OlderServer("required", "cancelled", statusMessage="by hand")
    async with connect_older(server) as client:
        with pytest.raises(TaskCancelled, match="The task was cancelled: by hand") as caught:
            await client.call_tool("work")
    assert caught.value.task.task_id == "t"


async def test_an_error_after_a_question_comes_without_the_pause_between_two_polls():
    server = OlderServer("required", "input_required", "failed", pollInterval=60_000)
    server.result = MCPError(-31000, "broken")
    async with connect_older(server) as client:
        assert (await error_of(client.call_tool("work"))).code == -31000
    assert server.times("tasks/get") == [0, 0.05]


async def test_a_server_that_never_gives_a_result_is_not_asked_for_ever():
    server = OlderServer("required", "input_required")
    server.answers["tasks/result"] = MCPError(-32603, "not now")
    async with connect_older(server) as client:
        assert (await error_of(client.call_tool("work"))).message == "not now"
    assert server.methods.count("tasks/result") == 5
    assert server.methods[-1] == "tasks/cancel"


async def test_a_result_that_gets_lost_on_its_way_is_asked_for_again():
    server = OlderServer("required", "completed")
    server.answers["tasks/result"] = [SILENCE, MCPError(-31503, "busy")]
    async with connect_older(server) as client:
        result = await client.call_tool("work", read_timeout_seconds=2)
        assert result.content[0].text == "done"
    assert server.methods.count("tasks/result") == 3


async def test_a_limit_for_each_request_does_not_limit_what_a_user_takes():
    server = OlderServer("required", "input_required")
    server.asks = QUESTION

    async def think(context: Any, params: Any) -> ElicitResult:
        await trio.sleep(600.5)
        return await answer_blue(context, params)

    async with connect_older(server, elicitation_callback=think) as client:
        result = await client.call_tool("work", read_timeout_seconds=2)
        assert result.content[0].text == "done"
    assert server.methods.count("tasks/result") == 1


@pytest.mark.parametrize(
    ("method", "answer", "fault"),
    [
        ("tools/call", {"task": {"taskId": "t"}}, "tools/call.*status|createdAt"),
        ("tools/call", {"task": 5}, "tools/call.*: result.task: "),
        ("tasks/get", {"taskId": "t", "status": "working"}, "tasks/get.*createdAt"),
        ("tasks/result", {"content": "done"}, "tasks/result.*content"),
    ],
)
async def test_what_is_no_answer_is_told_as_such(method, answer, fault):
    server = OlderServer("required")
    server.answers[method] = answer
    async with connect_older(server) as client:
        with pytest.raises(InvalidResponse, match=fault):
            await client.call_tool("work")


@pytest.mark.parametrize("named", ["pollInterval", "ttl"])
async def test_a_time_of_less_than_nothing_is_none(named):
    server = OlderServer("required", "working", "completed", **{named: -1})
    async with connect_older(server) as client:
        assert (await client.call_tool("work")).content[0].text == "done"


async def test_a_result_that_belongs_to_another_task_is_none():
    server = OlderServer("required")
    server.result = {**DONE, "_meta": {RELATED: {"taskId": "u"}}}
    async with connect_older(server) as client:
        with pytest.raises(InvalidResponse, match="another task"):
            await client.call_tool("work")


@pytest.mark.parametrize("meta", [{}, {RELATED: "t"}, {RELATED: {}}])
async def test_a_result_that_does_not_say_to_which_task_it_belongs_is_taken(meta):
    server = OlderServer("required")
    server.result = {**DONE, "_meta": meta}
    async with connect_older(server) as client:
        assert (await client.call_tool("work")).content[0].text == "done"


async def test_an_answer_about_another_task_is_none():
    server = OlderServer("required")
    server.answers["tasks/get"] = {**server.state("completed"), "taskId": "u"}
    async with connect_older(server) as client:
        with pytest.raises(InvalidResponse, match="another task"):
            await client.call_tool("work")


# Progress


@pytest.mark.req("R-581", "R-582", "R-583")
async def test_the_token_of_a_call_stays_valid_while_its_task_goes_on_and_no_longer():
    server = OlderServer("required", "working", "completed")
    heard: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with connect_older(server) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "work", None, None, note)
            await settle(lambda: "tasks/get" in server.methods)
            [call] = server.all_params("tools/call")
            token = call["_meta"]["progressToken"]
            for each in (1, 2):
                report = {
                    "progressToken": token,
                    "progress": each,
                    "_meta": {RELATED: {"taskId": "t"}},
                }
                await server.tell("notifications/progress", report)
            await server.tell("notifications/progress", {"progressToken": "other", "progress": 7})
            await server.tell("notifications/progress", {"progressToken": token, "progress": "x"})
        await server.tell("notifications/progress", {"progressToken": token, "progress": 3})
        await trio.testing.wait_all_tasks_blocked()
    assert heard == [(1, None, None), (2, None, None)]
