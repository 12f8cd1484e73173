"""The same client and the same server, at the revision of either kind of tasks."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from tests._limits import SOON
from trio_mcp import BearerAuth, Client
from trio_mcp.client import ClientSessionGroup, ClientSessionParameters
from trio_mcp.extensions import (
    CreateTaskResult,
    Task,
    TaskCancelled,
    TasksClientExtension,
    TasksNotSupported,
    list_tasks,
)
from trio_mcp.testing import cancel_everywhere
from trio_mcp.transports import StdioServerParameters
from trio_mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
    TextContent,
)

from ._studio import (
    answer_blue,
    connect,
    error_of,
    in_memory,
    on_every_road,
    serve,
    settle,
    studio,
)
from .test_http import PROTECTED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

OLDER, MODERN = "2025-11-25", "2026-07-28"
both_eras = pytest.mark.parametrize("mode", [MODERN, OLDER])


@pytest.fixture(autouse=True)
def clock(request):
    """Virtual time, unless bytes travel in real time."""
    params = (
        request.node.callspec.params if hasattr(request.node, "callspec") else {"road": "http"}
    )
    return None if params["road"] == "http" else request.getfixturevalue("autojump_clock")


@both_eras
@on_every_road
async def test_a_call_returns_the_result_of_its_task(road, mode):
    made = studio({"paint": "required"}, poll_interval=0.1, patience=0)
    async with connect(made.mcp, road, mode=mode) as client:
        result = await client.call_tool("paint", {"seconds": 0.3})
        assert result.structured_content == {"result": "painted for 0.3 s"}
    assert "tasks/get" in made.methods


@both_eras
@on_every_road
async def test_whoever_is_ready_for_a_task_gets_the_same_kind_of_thing(road, mode):
    made = studio(poll_interval=0.1, patience=0, ttl=60)
    async with connect(made.mcp, road, mode=mode) as client:
        created = await client.call_tool("paint", {"seconds": 0.3}, allow_claimed=True)
        assert isinstance(created, CreateTaskResult)
        assert (created.ttl_ms, created.poll_interval_ms) == (60_000, 100)
        task = Task(client, created.task_id)
        now = await task.get()
        assert (now.status, now.ttl_ms) == ("working", 60_000)
        assert (await task.wait()).structured_content == {"result": "painted for 0.3 s"}
        assert task.is_over
        # What is over may be asked for again, by another handle, too.
        assert (await Task(client, created).wait()).structured_content is not None


@both_eras
@on_every_road
async def test_the_callbacks_of_the_client_answer_what_a_task_asks(road, mode):
    asked = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"name": "blue"})

    made = studio({"ask_twice": "required"}, poll_interval=0.1)
    async with connect(made.mcp, road, mode=mode, elicitation_callback=elicit) as client:
        result = await client.call_tool("ask_twice")
    assert result.content[0].text == "wall=blue door=blue roof=blue"
    assert sorted(asked) == ["door", "roof", "wall"]


@both_eras
@in_memory
async def test_a_task_may_ask_whatever_a_server_may(road, mode):
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
    made = studio({"ask_all_kinds": "required"})
    async with connect(made.mcp, road, mode=mode, **callbacks) as client:
        result = await client.call_tool("ask_all_kinds")
    assert result.content[0].text == "blue: Praise it! file:///studio"


@both_eras
@in_memory
async def test_a_call_fails_as_its_task_does(road, mode):
    made = studio({"train": "required", "break_down": "required"})
    async with connect(made.mcp, road, mode=mode) as client:
        assert (await client.call_tool("train")).is_error
        error = await error_of(client.call_tool("break_down"))
        assert (error.code, error.message, error.data) == (-31000, "broken", {"part": "wheel"})


@both_eras
@in_memory
async def test_a_callback_that_refuses_fails_the_call(road, mode):
    async def refuse(context: Any, params: Any) -> ErrorData:
        return ErrorData(code=-1, message="no user is here")

    made = studio({"ask": "required"})
    async with connect(made.mcp, road, mode=mode, elicitation_callback=refuse) as client:
        error = await error_of(client.call_tool("ask"))
        assert (error.code, error.message) == (-1, "no user is here")
        assert all(each.is_over for each in made.tasks._store._tasks.values())


@pytest.mark.req("R-577")
@both_eras
@on_every_road
async def test_whoever_cancels_the_call_cancels_the_task(road, mode, monkeypatch):
    # A busy machine may stand still for longer than a second.
    monkeypatch.setattr("trio_mcp.extensions.tasks._giving_up.CANCEL_SECONDS", SOON)
    made = studio({"paint": "required"}, patience=0, poll_interval=0.1)
    async with connect(made.mcp, road, mode=mode) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "paint", {"seconds": 60})
            await settle(lambda: "tasks/get" in made.methods)
            nursery.cancel_scope.cancel()
        await settle(lambda: made.seen)
        assert made.seen == ["the client cancelled the task"]
    # A request about the task may be under way, and is given up as any other.
    assert made.called
    assert not {*made.called} & {*made.given_up}


@both_eras
@in_memory
async def test_a_task_that_somebody_cancels_raises(road, mode):
    made = studio()
    async with connect(made.mcp, road, mode=mode) as client:
        created = await client.call_tool("paint", {"seconds": 60}, allow_claimed=True)
        task = Task(client, created)
        await Task(client, created.task_id).cancel()
        with pytest.raises(TaskCancelled):
            await task.wait()
        # Twice is no error.
        await task.cancel()


@pytest.mark.req("R-581", "R-582", "R-583")
@on_every_road
async def test_progress_of_a_task_reaches_the_callback_of_its_call(road):
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    made = studio({"report": "required"}, poll_interval=0.1)
    async with connect(made.mcp, road, mode=OLDER) as client:
        await client.call_tool("report", progress_callback=hear)
    assert heard == [0, 1, 2, 3, 4]


@both_eras
@pytest.mark.parametrize("road", ["direct"])
async def test_a_group_waits_for_tasks_as_a_client_does(road, mode):
    made = studio({"ask": "required"}, patience=0)
    parameters = ClientSessionParameters(
        mode=mode, extensions=[TasksClientExtension()], elicitation_callback=answer_blue
    )
    async with ClientSessionGroup() as group:
        await group.connect_to_server(made.mcp, parameters)
        name = next(each for each in group.tools if group.tools[each].name == "ask")
        assert (await group.call_tool(name)).content[0].text == "accept blue"
    assert "tasks/get" in made.methods


@both_eras
@in_memory
async def test_a_call_may_be_cancelled_anywhere_and_leaves_no_task_at_work(road, mode):
    made: list[Any] = []

    @asynccontextmanager
    async def open_studio() -> AsyncGenerator[Any]:
        made.append(studio({"ask": "required"}, patience=0, poll_interval=0.1))
        callbacks = {"elicitation_callback": answer_blue}
        async with connect(made[-1].mcp, road, mode=mode, **callbacks) as client:
            yield client

    async def call_again(client: Any) -> None:
        assert (await client.call_tool("ask")).content[0].text == "accept blue"
        statuses = {each.status for each in made[-1].tasks._store._tasks.values()}
        assert statuses <= {"completed", "cancelled"}

    await cancel_everywhere(open_studio, lambda client: client.call_tool("ask"), call_again)


async def test_a_principal_lists_its_own_tasks_and_no_others():
    made = studio(patience=0, server=PROTECTED)

    def connect_as(who: str) -> Client:
        auth = BearerAuth(f"secret-of-{who}")
        return Client(url, auth=auth, mode=OLDER, extensions=[TasksClientExtension()])

    async with (
        serve(made.mcp) as url,
        connect_as("ada") as ada,
        connect_as("bob") as bob,
    ):
        created = await ada.call_tool("paint", {"seconds": 60}, allow_claimed=True)
        assert [each.task_id async for each in list_tasks(ada)] == [created.task_id]
        assert [each async for each in list_tasks(bob)] == []
        await Task(ada, created).cancel()
    async with (
        serve(made.mcp) as url,
        Client(url, auth=BearerAuth("secret-of-ada"), extensions=[TasksClientExtension()]) as ada,
    ):
        with pytest.raises(TasksNotSupported):
            await anext(list_tasks(ada))


PROCESS = """
import trio
from trio_mcp import Context, MCPServer
from trio_mcp.extensions import TasksExtension
import attrs

@attrs.frozen
class Colour:
    name: str

mcp = MCPServer("studio", extensions=[TasksExtension({"paint": "required"}, poll_interval=0.05)])

@mcp.tool()
async def paint(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    answer = await ctx.elicit("Which colour?", Colour)
    return f"painted in {answer.data.name}"

mcp.run("stdio")
"""


@both_eras
@pytest.mark.parametrize("road", ["http"])
async def test_a_process_is_asked_for_tasks_over_its_pipes(road, mode):
    server = StdioServerParameters(command=sys.executable, args=["-c", PROCESS])
    options = {"mode": mode, "elicitation_callback": answer_blue}
    with trio.fail_after(SOON):
        async with Client(server, extensions=[TasksClientExtension()], **options) as client:
            assert (await client.call_tool("paint")).content[0].text == "painted in blue"
