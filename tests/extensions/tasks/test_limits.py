"""How many calls may be tasks at the same time, and what becomes of more."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio

from trio_mcp import Context, MCPError, MCPServer
from trio_mcp.extensions import CreateTaskResult, InMemoryTaskStore, Task, TasksExtension
from trio_mcp.types import SERVER_BUSY, CallToolResult, InputRequiredResult

from ._studio import (
    TOOLS,
    Colour,
    answer_blue,
    ask_raw,
    connect,
    error_of,
    in_memory,
    on_every_road,
    start,
    studio,
    until,
)

BUSY = (SERVER_BUSY, {"retryAfter": 5.0})


@pytest.fixture(autouse=True)
def clock(request, road):
    """Virtual time, unless bytes travel in real time."""
    return None if road == "http" else request.getfixturevalue("autojump_clock")


def strict_studio(**options):
    """A studio where painting requires a task."""
    return studio({**TOOLS, "paint": "required"}, **options)


@pytest.mark.req("R-656", "R-657")
@on_every_road
async def test_only_so_many_works_go_on_and_more_are_refused_before_they_begin(road):
    made = strict_studio(max_running=2)
    async with connect(made.mcp, road) as client:
        first, _ = [await start(client, "paint", {"seconds": 3_600}) for _ in range(2)]
        error = await error_of(start(client, "paint", {"seconds": 0}))
        assert (error.code, error.data) == BUSY
        assert made.seen == []
        await first.cancel()
        last = None
        while last is None:
            # The work ends a moment after its task.
            await trio.sleep(0.01)
            with suppress(MCPError):
                last = await start(client, "paint", {"seconds": 0})
        await until(last.get, "completed")
        assert made.seen == ["the client cancelled the task", "painted"]


@pytest.mark.req("R-657")
@in_memory
async def test_what_waits_for_an_answer_goes_on(road):
    made = strict_studio(max_running=1)
    async with connect(made.mcp, road, elicitation_callback=answer_blue) as client:
        task = await start(client, "ask")
        await until(task.get, "input_required")
        assert (await error_of(start(client, "paint", {"seconds": 0}))).code == SERVER_BUSY


@pytest.mark.req("R-657")
@in_memory
async def test_work_that_is_over_makes_room_however_it_ended(road):
    made = strict_studio(max_running=1, ttl=10)
    async with connect(made.mcp, road, elicitation_callback=answer_blue) as client:
        for tool, more in (
            ("paint", {"seconds": 1}),
            ("train", {}),
            ("break_down", {}),
            ("paint", {"seconds": 3_600}),
        ):
            await start(client, tool, more)
            assert (await error_of(start(client, "paint", {"seconds": 0}))).code == SERVER_BUSY
            await trio.sleep(20)
        # One more round of a request is no task.
        asked = await client.session.call_tool("ask_by_result", allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        await trio.sleep(1)
        await start(client, "paint", {"seconds": 0})


@pytest.mark.req("R-657")
@on_every_road
async def test_where_a_task_is_optional_more_calls_are_waited_for(road):
    made = studio(max_running=1, patience=0)
    async with connect(made.mcp, road) as client:
        task = await start(client, "paint", {"seconds": 3_600})
        result = await client.call_tool("paint", {"seconds": 0.2}, allow_claimed=True)
        assert isinstance(result, CallToolResult)
        assert result.content[0].text == "painted for 0.2 s"
        await task.cancel()


@pytest.mark.req("R-657")
@in_memory
async def test_a_store_without_room_refuses_what_has_to_be_a_task(road):
    made = strict_studio(store=InMemoryTaskStore(max_tasks=2), ttl=10)
    async with connect(made.mcp, road) as client:
        for _ in range(2):
            await start(client, "paint", {"seconds": 60})
        error = await error_of(start(client, "paint", {"seconds": 60}))
        assert (error.code, error.data) == BUSY
        await trio.sleep(0.1)
        # The work of who was refused is given up.
        assert made.seen == ["its request was given up"]
        await trio.sleep(10)
        await start(client, "paint", {"seconds": 1})


@pytest.mark.req("R-657")
@in_memory
async def test_what_need_not_be_a_task_is_waited_for_while_a_store_has_no_room(road):
    made = studio(store=InMemoryTaskStore(max_tasks=1))
    async with connect(made.mcp, road, elicitation_callback=answer_blue) as client:
        await start(client, "paint", {"seconds": 3_600})
        result = await client.call_tool("paint", {"seconds": 60}, allow_claimed=True)
        assert isinstance(result, CallToolResult)
        error = await error_of(client.call_tool("break_down"))
        assert error.code == -31000
        # Nothing but a task could bring the question to the client.
        error = await error_of(client.call_tool("ask"))
        assert (error.code, error.data) == BUSY


@pytest.mark.parametrize("road", ["direct"])
async def test_a_call_that_asks_when_there_is_room_again_becomes_a_task(road):
    store, go_on, results = InMemoryTaskStore(max_tasks=1), trio.Event(), []
    tasks = TasksExtension({"wait": "optional", "ask_later": "optional"}, store=store)
    mcp = MCPServer("studio", extensions=[tasks])

    @mcp.tool()
    async def wait() -> None:
        """Take for ever."""
        await trio.sleep_forever()

    @mcp.tool()
    async def ask_later(ctx: Context) -> str:
        """Ask when it is told to."""
        await go_on.wait()
        return (await ctx.elicit("Which colour?", Colour)).data.name

    async def call(client):
        results.append(await client.call_tool("ask_later", allow_claimed=True))

    async with connect(mcp, road, elicitation_callback=answer_blue) as client:
        first = await start(client, "wait")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call, client)
            await trio.sleep(10)
            assert results == []
            await store.delete(first.task_id)
            go_on.set()
        [created] = results
        assert isinstance(created, CreateTaskResult)
        assert (await Task(client, created).wait()).content[0].text == "blue"


@pytest.mark.req("R-656")
@in_memory
@pytest.mark.parametrize("mode", ["2026-07-28", "2025-11-25"])
async def test_middleware_may_limit_how_often_clients_ask_about_tasks(road, mode):
    made, asked = studio(), []

    async def limit(ctx, call_next):
        if ctx.method.startswith("tasks/"):
            now = trio.current_time()
            asked[:] = [when for when in asked if when > now - 60]
            if len(asked) == 3:
                raise MCPError(SERVER_BUSY, "Too many requests", {"retryAfter": 60.0})
            asked.append(now)
        return await call_next(ctx)

    made.mcp.middleware.append(limit)
    more = {"tasks/update": {"inputResponses": {}}}
    methods = {
        "2026-07-28": ["tasks/get", "tasks/update", "tasks/cancel"],
        "2025-11-25": ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"],
    }[mode]
    async with connect(made.mcp, road, mode=mode) as client:
        for method in methods:
            params = {} if method == "tasks/list" else {"taskId": "x", **more.get(method, {})}
            for _ in range(3):
                error = await error_of(ask_raw(client, method, **params))
                assert error.code != SERVER_BUSY
            assert (await error_of(ask_raw(client, method, **params))).code == SERVER_BUSY
            await trio.sleep(61)
