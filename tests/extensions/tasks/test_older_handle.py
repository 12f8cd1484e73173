"""A client that leaves a task of 2025-11-25, or takes the handle, or meets another server."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from tests.client.test_restart import Mortal
from trio_mcp import Client, MCPError
from trio_mcp.client import RestartPolicy
from trio_mcp.errors import RequestTimeout
from trio_mcp.extensions import (
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

from ._older_server import QUESTION, SILENCE, OlderServer, connect_older
from ._studio import answer_blue, error_of, settle


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


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
