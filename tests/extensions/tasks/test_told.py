"""A client that waits for a task, and whose server tells how that is without being asked."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from trio_mcp.extensions import Task, TasksClientExtension

from ._older_server import OlderServer, connect_older
from ._scripted import DONE, Scripted, scripted, task
from ._studio import answer_blue, connect, in_memory, on_every_road, settle, start, studio


@pytest.fixture(autouse=True)
def clock(request):
    """Virtual time, unless bytes travel in real time."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    return None if params.get("road") == "http" else request.getfixturevalue("autojump_clock")


@on_every_road
async def test_whoever_listens_hears_of_the_end_though_the_server_wants_to_be_asked_seldom(road):
    made = studio(patience=0, poll_interval=3_600)
    async with connect(made.mcp, road) as client:
        task = await start(client, "paint", {"seconds": 0.5})
        with trio.fail_after(60):
            assert (await task.wait(listen=True)).content[0].text == "painted for 0.5 s"


@on_every_road
async def test_a_client_may_be_told_to_listen_for_all_its_tasks(road):
    made = studio(patience=0, poll_interval=3_600)
    options = {
        "extensions": [TasksClientExtension(listen=True)],
        "elicitation_callback": answer_blue,
    }
    async with connect(made.mcp, road, **options) as client:
        with trio.fail_after(60):
            assert (await client.call_tool("ask_twice")).content[0].text.endswith("roof=blue")


@in_memory
async def test_a_server_that_tells_nothing_is_asked_as_ever(road):
    server = Scripted({}, task("working"), task("working"), DONE)
    async with connect(scripted(server), road) as client:
        handle = Task(client, await client.call_tool("work", allow_claimed=True))
        assert (await handle.wait(listen=True)).content[0].text == "done"
    assert server.pauses == [1, 1, 1]


@pytest.mark.req("R-608")
async def test_an_older_server_that_tells_of_the_end_is_asked_for_it_at_once():
    server = OlderServer("required", "working", pollInterval=3_600_000)
    async with connect_older(server) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.call_tool, "work")
        await settle(lambda: "tools/call" in server.methods)
        # What is told is a reason to ask, and not believed.
        await server.tell("notifications/tasks/status", server.state("completed"))
        await settle(lambda: "tasks/get" in server.methods)
        await trio.sleep(60)
        assert server.methods.count("tasks/get") == 1
        server.statuses = ["completed"]
        await server.tell(
            "notifications/tasks/status", {**server.state("completed"), "taskId": "u"}
        )
        await trio.sleep(60)
        assert server.methods.count("tasks/get") == 1
        await server.tell("notifications/tasks/status", server.state("completed"))
        await settle(lambda: "tasks/result" in server.methods)
        assert trio.current_time() < 200


async def test_a_server_that_tells_without_end_is_not_asked_without_end():
    server = OlderServer("required", "working", pollInterval=3_600_000)
    async with connect_older(server) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.call_tool, "work")
        await settle(lambda: "tools/call" in server.methods)
        for _ in range(100):
            await server.tell("notifications/tasks/status", server.state("working"))
            await trio.sleep(0.001)
        await trio.sleep(1)
        assert server.methods.count("tasks/get") <= 4
        nursery.cancel_scope.cancel()


@in_memory
async def test_whether_to_listen_is_yes_or_no(road):
    async with connect(studio().mcp, road) as client:
        wrong: Any = "yes"
        with pytest.raises(TypeError, match="listen: expected"):
            await Task(client, "t").wait(listen=wrong)
    with pytest.raises(TypeError, match="listen: expected"):
        TasksClientExtension(listen=wrong)
