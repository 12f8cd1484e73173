"""A client as the one who asks for the tasks of 2025-11-25."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from tests.client.test_restart import Mortal
from trio_mcp import Client, MCPError
from trio_mcp.client import RestartPolicy
from trio_mcp.errors import InvalidResponse, RequestTimeout
from trio_mcp.extensions import (
    CreateTaskResult,
    Task,
    TaskCancelled,
    TasksClientExtension,
    TasksNotSupported,
    list_tasks,
)
from trio_mcp.server import Server
from trio_mcp.testing import cancel_everywhere, open_client
from trio_mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ErrorData,
    TaskMetadata,
)

from ._older_server import ALL, DONE, QUESTION, RELATED, SILENCE, OlderServer, connect_older
from ._studio import error_of, settle


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


async def answer_blue(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "blue"})


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


async def test_a_time_to_keep_tasks_is_asked_for():
    server = OlderServer("required")
    async with connect_older(server, extensions=[TasksClientExtension(ttl=2.5)]) as client:
        await client.call_tool("work")
    [call] = server.all_params("tools/call")
    assert call["task"] == {"ttl": 2_500}


@pytest.mark.parametrize(("ttl", "kind"), [("1", TypeError), (0, ValueError), (-1, ValueError)])
def test_a_time_to_keep_tasks_is_a_time(ttl, kind):
    with pytest.raises(kind, match="ttl: expected a number above 0"):
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
        ("tools/call", {"task": 5}, "tools/call.*task"),
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


# Leaving


@pytest.mark.req("R-577")
async def test_whoever_cancels_the_call_cancels_the_task():
    server = OlderServer("required", "working")
    async with connect_older(server) as client:
        with trio.move_on_after(5):
            await client.call_tool("work")
        assert server.cancelled
    assert server.methods[-1] == "tasks/cancel"
    assert "notifications/cancelled" not in server.methods


@pytest.mark.req("R-577")
async def test_a_call_that_is_cancelled_before_there_is_a_task_cancels_it_when_it_is_known():
    class Slow(OlderServer):
        async def respond(self, method: str, params: Any) -> Any:
            if method == "tools/call":
                await trio.sleep(0.5)
            return await super().respond(method, params)

    server = Slow("required", "working")
    async with connect_older(server) as client:
        await client.list_tools()
        with trio.move_on_after(0.2) as scope:
            await client.call_tool("work")
        assert scope.cancelled_caught
        assert trio.current_time() == pytest.approx(0.5, abs=0.1)
    assert server.methods == ["tools/list", "tools/call", "tasks/cancel"]


@pytest.mark.req("R-577")
async def test_a_server_has_a_second_to_say_which_task_it_was():
    server = OlderServer("required", "working")
    server.answers["tools/call"] = SILENCE
    async with connect_older(server) as client:
        await client.list_tools()
        with trio.move_on_after(5):
            await client.call_tool("work")
        assert trio.current_time() == pytest.approx(6, abs=0.1)
    # What cancels requests does not cancel tasks.
    assert server.methods == ["tools/list", "tools/call"]


@pytest.mark.req("R-577")
@pytest.mark.parametrize("is_task", [True, False])
async def test_a_request_by_hand_that_asks_for_a_task_is_not_cancelled_as_a_request(is_task):
    server = OlderServer("required", "working")
    server.answers["tools/call"] = SILENCE
    params = CallToolRequestParams(name="work", task=TaskMetadata() if is_task else None)
    async with connect_older(server) as client:
        with trio.move_on_after(5):
            await client.session.send_request(CallToolRequest(params=params), dict)
        await trio.testing.wait_all_tasks_blocked()
    assert ("notifications/cancelled" in server.methods) is not is_task


@pytest.mark.req("R-577")
@pytest.mark.parametrize("is_task", [True, False])
async def test_a_question_by_hand_that_asks_for_a_task_is_not_cancelled_as_a_request(is_task):
    outcomes: list[str] = []

    async def ask(ctx: Any, params: Any) -> CallToolResult:
        task = TaskMetadata() if is_task else None
        asked = ElicitRequestFormParams(
            message="?", requested_schema={"type": "object"}, task=task
        )
        with trio.move_on_after(1):
            await ctx.session.send_request(ElicitRequest(params=asked), dict)
        await trio.sleep(5)
        return CallToolResult(content=[])

    async def think(context: Any, params: Any) -> ElicitResult:
        outcomes.append("cancelled")
        await trio.sleep(3)
        outcomes[:] = ["answered"]
        return ElicitResult(action="decline")

    server = Server("asking", on_call_tool=ask)
    async with open_client(server, mode="2025-11-25", elicitation_callback=think) as client:
        await client.call_tool("any")
    assert outcomes == ["answered" if is_task else "cancelled"]


async def test_a_server_that_cancels_no_tasks_is_not_asked_to():
    server = OlderServer("required", "working")
    server.tasks = {"requests": {"tools": {"call": {}}}}
    async with connect_older(server) as client:
        with trio.move_on_after(5):
            await client.call_tool("work")
        with pytest.raises(TasksNotSupported, match=r"did not declare tasks\.cancel"):
            await Task(client, "t").cancel()
    assert "tasks/cancel" not in server.methods


async def test_a_limit_for_all_of_a_call_ends_its_task():
    server = OlderServer("required", "working")
    async with connect_older(server) as client:
        with pytest.raises(RequestTimeout, match="5 s in all"):
            await client.call_tool("work", max_total_timeout=5)
        assert server.cancelled


async def hear(progress: float, total: float | None, message: str | None) -> None:
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"progress_callback": hear}, {"allow_claimed": True}, {"max_total_timeout": 50}],
)
async def test_a_call_may_be_cancelled_anywhere_and_leaves_no_task_at_work(options, asks):
    servers: list[OlderServer] = []
    has_returned: list[OlderServer] = []

    def open_server() -> Any:
        server = OlderServer("required", "working", "input_required" if asks else "completed")
        server.asks = QUESTION if asks else None
        servers.append(server)
        return connect_older(server, elicitation_callback=answer_blue)

    async def call(client: Any) -> Any:
        result = await client.call_tool("work", **options)
        has_returned.append(servers[-1])
        return result

    async def call_again(client: Any) -> None:
        server = servers[-1]
        # Of what was called before nothing goes on: it has its result, or was cancelled.
        if "tools/call" in server.methods and server not in has_returned:
            assert server.cancelled or server.statuses == ["completed"]
        server.cancelled, server.asks, server.statuses = False, None, ["completed"]
        await client.call_tool("work")

    await cancel_everywhere(open_server, call, call_again)


# The handle


@pytest.mark.req("R-643")
async def test_nothing_depends_on_what_a_server_keeps_of_a_cancelled_task():
    server = OlderServer("required", "working")
    async with connect_older(server) as client:
        task = Task(client, "t")
        await task.cancel()
        server.answers["tasks/get"] = MCPError(-32602, "Unknown task: t")
        with pytest.raises(TaskCancelled):
            await task.wait()
        assert server.methods == ["tasks/cancel"]
        del server.answers["tasks/get"]
        server.cancelled = False
        with trio.move_on_after(5):
            await client.call_tool("work")
    # Nor does a call that is cancelled ask what has become of it.
    assert server.methods[-1] == "tasks/cancel"


async def test_a_handle_asks_cancels_and_tells_who_is_to_answer():
    server = OlderServer("required", "working")
    async with connect_older(server) as client:
        task = Task(client, "t")
        now = await task.get()
        assert (now.status, now.result, now.input_requests) == ("working", None, None)
        with pytest.raises(TasksNotSupported, match="requests of the server"):
            await task.update({"q": ElicitResult(action="decline")})
        await task.cancel()
        assert task.is_over
        with pytest.raises(TaskCancelled):
            await task.wait()
    assert "tasks/update" not in server.methods


async def test_to_cancel_what_is_over_changes_nothing():
    server = OlderServer("required", "completed")
    server.answers["tasks/cancel"] = MCPError(-32602, "it is completed already")
    async with connect_older(server) as client:
        await Task(client, "t").cancel()
        server.answers["tasks/get"] = MCPError(-32602, "Unknown task: t")
        assert (await error_of(Task(client, "t").cancel())).message == "Unknown task: t"


async def test_a_revision_without_tasks_is_told_apart():
    server = OlderServer("required")
    server.answers["initialize"] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "older", "version": "1"},
    }
    async with connect_older(server) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
        with pytest.raises(TasksNotSupported, match="2025-06-18 has no tasks"):
            await Task(client, "t").get()
    assert server.methods == ["tools/call"]


async def test_a_callback_that_refuses_is_told_to_the_server():
    async def refuse(context: Any, params: Any) -> ErrorData:
        return ErrorData(code=-1, message="no user is here")

    server = OlderServer("required", "input_required")
    server.asks = QUESTION
    async with connect_older(server, elicitation_callback=refuse) as client:
        # What becomes of the task then is the server's to say.
        await client.call_tool("work")
    [answer] = server.answered
    assert (answer.error.code, answer.error.message) == (-1, "no user is here")


# The list


@pytest.mark.req("R-637")
async def test_all_tasks_of_a_client_are_listed_page_after_page():
    server = OlderServer("required")
    # Cursors are the server's business, whatever they look like.
    cursors = ["", '{"page": 2}', None]
    server.answers["tasks/list"] = [
        {
            "tasks": [{**server.state("working"), "taskId": f"{n}-{each}"} for each in "ab"],
            **({} if cursor is None else {"nextCursor": cursor}),
        }
        for n, cursor in enumerate(cursors)
    ]
    async with connect_older(server) as client:
        listed = [each async for each in list_tasks(client)]
    assert [each.task_id for each in listed] == ["0-a", "0-b", "1-a", "1-b", "2-a", "2-b"]
    assert {each.status for each in listed} == {"working"}
    assert server.all_params("tasks/list") == [{}, {"cursor": ""}, {"cursor": '{"page": 2}'}]


async def test_a_server_that_lists_no_tasks_is_not_asked_to():
    server = OlderServer("required")
    server.tasks = {"cancel": {}}
    async with connect_older(server) as client:
        with pytest.raises(TasksNotSupported, match=r"did not declare tasks\.list"):
            await anext(list_tasks(client))
        with pytest.raises(TypeError, match="client: expected"):
            list_tasks("client")
    assert "tasks/list" not in server.methods


# Other ways to a server


async def test_a_server_that_is_started_again_knows_no_task_and_makes_new_ones():
    first, second = OlderServer("required", "working"), OlderServer("required", "completed")
    second.answers["tasks/get"] = [MCPError(-32602, "Unknown task: t")]
    mortal = Mortal(first, second)
    options = {"mode": "legacy", "restart": RestartPolicy(initial_delay=0)}
    async with Client(mortal, extensions=[TasksClientExtension()], **options) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_unknown, client)
            await settle(lambda: "tasks/get" in first.methods)
            await mortal.die()
        # It is another server: what it lists is asked for anew.
        assert (await client.call_tool("work")).content[0].text == "done"
    assert "tasks/cancel" not in second.methods
    assert second.methods.count("tools/list") == 1


async def _unknown(client: Client) -> None:
    assert (await error_of(client.call_tool("work"))).message == "Unknown task: t"
