"""What becomes of a task of 2025-11-25, and what its result is."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio

from tests.extensions.tasks._studio import (
    connect as connect_modern,
)
from tests.extensions.tasks._studio import (
    error_of,
    in_memory,
    on_every_road,
    studio,
)
from trio_mcp import Context, MCPError, MCPServer, ToolError
from trio_mcp.extensions import InMemoryTaskStore, Task, TasksExtension
from trio_mcp.mcpserver import Extension
from trio_mcp.types import CallToolResult, ImageContent, TextContent

from ._raw import RELATED, connect


@pytest.fixture(autouse=True)
def clock(request):
    """Virtual time, unless bytes travel in real time."""
    road = request.node.callspec.params.get("road") if hasattr(request.node, "callspec") else None
    return None if road == "http" else request.getfixturevalue("autojump_clock")


def workshop(**options: Any) -> MCPServer:
    """A server whose tools end in every way there is; each may be a task, and need not."""
    ways = ["say", "show", "count", "lie", "fail", "burst", "refuse", "refuse_oddly", "hurry"]
    tasks = TasksExtension(dict.fromkeys(ways, "optional"), **options)
    mcp = MCPServer("workshop", extensions=[tasks])

    @mcp.tool()
    async def say(text: str) -> str:
        """Say something."""
        await trio.sleep(1)
        return text

    @mcp.tool()
    async def show() -> CallToolResult:
        """Show more than text."""
        await trio.sleep(1)
        return CallToolResult(
            content=[
                TextContent(text="Look", meta={"com.example": 1}),
                ImageContent(data="AAAA", mime_type="image/png"),
            ],
            structured_content={"seen": None},
            meta={"com.example/price": 3},
            extra={"com.example/more": [1]},
        )

    @mcp.tool()
    async def count(upto: int) -> list[int]:
        """Return structured content that is no object."""
        await trio.sleep(1)
        return [*range(upto)]

    @mcp.tool()
    async def lie() -> int:
        """Return what its schema does not allow."""
        return "three"  # type: ignore[return-value]

    @mcp.tool()
    async def fail() -> str:
        """Fail on purpose."""
        await trio.sleep(1)
        raise ToolError("the paint is dry")

    @mcp.tool()
    async def burst() -> str:
        """Fail as a defect does."""
        raise KeyError("secret of the house")

    @mcp.tool()
    async def refuse() -> str:
        """Fail by an error of the protocol."""
        await trio.sleep(1)
        raise MCPError(-32602, "no such colour", {"colours": ["red"]})

    @mcp.tool()
    async def refuse_oddly() -> str:
        """Fail by one of no number that is known, with what is no JSON."""
        raise MCPError(7, "seven", {7})

    @mcp.tool()
    async def hurry(ctx: Context) -> str:
        """Be done before anybody can ask."""
        return "done"

    return mcp


# The same as without a task


@pytest.mark.req("R-626", "R-627", "R-628", "R-633", "R-649")
@on_every_road
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("say", {"text": "Hello"}),
        ("show", {}),
        ("count", {"upto": 3}),
        ("lie", {}),
        ("fail", {}),
        ("burst", {}),
        ("hurry", {}),
        ("say", {"texts": "wrong"}),
    ],
    ids=str,
)
async def test_the_result_of_a_task_is_what_its_call_would_have_been_answered(
    road, tool, arguments
):
    async with connect(workshop(), road) as raw:
        plain = await raw.call(tool, arguments)
        task_id = await raw.start(tool, arguments)
        # Asked at once, it waits; asked again, it is the same.
        for _ in range(2):
            result = await raw.result(task_id)
            assert result["_meta"].pop(RELATED) == {"taskId": task_id}
            if not result["_meta"]:
                del result["_meta"]
            assert result == plain
        task = await raw.get(task_id)
        assert task["status"] == ("failed" if plain.get("isError") else "completed")


@pytest.mark.req("R-626", "R-649")
@on_every_road
@pytest.mark.parametrize("tool", ["refuse", "refuse_oddly"])
async def test_the_error_of_a_task_is_that_which_its_call_would_have_been_answered(road, tool):
    async with connect(workshop(), road) as raw:
        plain = await error_of(raw.call(tool))
        task_id = await raw.start(tool)
        for _ in range(2):
            assert (await error_of(raw.result(task_id))).error == plain.error
        task = await raw.get(task_id)
        assert (task["status"], task["statusMessage"]) == ("failed", plain.message)


@pytest.mark.req("R-648", "R-623")
@in_memory
async def test_a_tool_that_fails_is_a_failed_task_that_says_why(road):
    async with connect(workshop(), road) as raw:
        task = await raw.until(await raw.start("fail"))
        assert task["status"] == "failed"
        assert task["statusMessage"] == "Error executing tool fail: the paint is dry"
        assert task["ttl"] == 3_600_000
        # Neither the result nor the error is part of the task.
        assert not {"result", "error", "isError"} & task.keys()


@in_memory
async def test_a_long_reason_is_told_in_short(road):
    async with connect(workshop(), road) as raw:
        plain = await raw.call("say", {"text": "x", "y" * 5_000: 1})
        task = await raw.until(await raw.start("say", {"text": "x", "y" * 5_000: 1}))
        said = plain["content"][0]["text"]
        assert task["statusMessage"].startswith(said[:50])
        assert len(task["statusMessage"]) < 1_000


async def test_what_another_extension_refuses_is_the_same_with_a_task_and_without():
    class Closing(Extension):
        identifier = "com.example/closing"

        async def intercept_tool_call(self, params, ctx, call_next):
            raise ToolError("closed for today")

    tasks = TasksExtension({"greet": "optional"})
    mcp = MCPServer("shop", extensions=[tasks, Closing()])

    @mcp.tool()
    def greet() -> str:
        """Greet."""
        return "Hello!"

    async with connect(mcp) as raw:
        plain = await raw.call("greet")
        result = await raw.result(await raw.start("greet"))
        del result["_meta"]
        assert result == plain
        assert plain["isError"]


@pytest.mark.req("R-646")
@in_memory
async def test_a_result_that_is_none_is_an_internal_error(road):
    class Confusing(Extension):
        identifier = "com.example/confusing"

        async def intercept_tool_call(self, params, ctx, call_next):
            return {"content": "nothing of the kind"}

    mcp = MCPServer("shop", extensions=[TasksExtension({"greet": "optional"}), Confusing()])

    @mcp.tool()
    def greet() -> str:
        """Greet."""
        return "Hello!"

    async with connect(mcp, road) as raw:
        plain = await error_of(raw.call("greet"))
        error = await error_of(raw.result(await raw.start("greet")))
        assert error.error == plain.error
        assert (error.code, error.message) == (-32603, "Internal server error")


# Waiting


@pytest.mark.req("R-627")
@in_memory
async def test_a_result_is_waited_for_until_the_task_is_over(road):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 30})
        began = trio.current_time()
        found: list[Any] = []

        async def wait() -> None:
            found.append((await raw.result(task_id))["content"][0]["text"])
            found.append(round(trio.current_time() - began))

        async with trio.open_nursery() as nursery:
            # By two requests, and beside them the task is polled.
            nursery.start_soon(wait)
            nursery.start_soon(wait)
            await trio.sleep(10)
            assert (await raw.get(task_id))["status"] == "working"
            assert not found
        assert sorted(found, key=str) == [30, 30, "painted for 30 s", "painted for 30 s"]


@in_memory
async def test_who_stops_waiting_for_a_result_does_not_stop_the_task(road):
    made = studio()
    async with connect(made.mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 30})
        with trio.move_on_after(5):
            await raw.result(task_id)
        assert (await raw.get(task_id))["status"] == "working"
        assert (await raw.result(task_id))["content"]
    assert made.seen == ["painted"]


@pytest.mark.req("R-644")
@in_memory
async def test_a_result_is_waited_for_as_long_as_the_task_is_kept(road):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 600}, task={"ttl": 5_000})
        error = await error_of(raw.result(task_id))
        assert (error.code, error.message) == (-32602, f"Unknown task: {task_id}")


async def test_a_task_that_a_store_forgot_without_a_word_is_not_waited_for_for_ever():
    class Forgetful(InMemoryTaskStore):
        def subscribe(self, listener):
            return lambda: None

    now = 1_000_000.0
    store = Forgetful()
    made = studio(store=store, clock=lambda: now + trio.current_time())
    async with connect(made.mcp) as raw, trio.open_nursery() as nursery:
        task_id = await raw.start("paint", {"seconds": 6_000})

        async def forget() -> None:
            await trio.sleep(5)
            await store.delete(task_id)

        nursery.start_soon(forget)
        assert (await error_of(raw.result(task_id))).code == -32602
        # Long before its time is over.
        assert trio.current_time() < 120


@pytest.mark.req("R-646")
@in_memory
@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
async def test_a_store_that_is_away_is_an_internal_error(road, method):
    class Away(InMemoryTaskStore):
        is_away = False

        async def get(self, task_id):
            if self.is_away:
                raise OSError("away")
            return await super().get(task_id)

    store = Away()
    async with connect(studio(store=store).mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 1})
        await raw.until(task_id)
        store.is_away = True
        error = await error_of(raw.ask(method, taskId=task_id))
        assert (error.code, error.message) == (-32603, "Internal server error")


# Whose task is meant


@pytest.mark.req("R-629", "R-631", "R-632", "R-633")
@on_every_road
async def test_the_id_in_the_params_is_the_one_that_counts(road):
    async with connect(studio().mcp, road) as raw:
        mine = await raw.start("paint", {"seconds": 0.1})
        other = await raw.start("paint", {"seconds": 600})
        conflicting = {RELATED: {"taskId": other}}
        result = await raw.ask("tasks/result", taskId=mine, _meta=conflicting)
        assert result["_meta"] == {RELATED: {"taskId": mine}}
        found = await raw.ask("tasks/get", taskId=mine, _meta=conflicting)
        assert (found["taskId"], found["status"]) == (mine, "completed")
        cancelled = await raw.ask("tasks/cancel", taskId=other, _meta={RELATED: {"taskId": mine}})
        assert (cancelled["taskId"], cancelled["status"]) == (other, "cancelled")
        assert "_meta" not in found
        assert "_meta" not in cancelled


@pytest.mark.req("R-644", "R-647")
@on_every_road
@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
async def test_a_wrong_id_is_refused(road, method):
    async with connect(studio().mcp, road) as raw:
        error = await error_of(raw.ask(method, taskId="unknown"))
        assert (error.code, error.message) == (-32602, "Unknown task: unknown")
        for wrong in (5, None, [], {}):
            error = await error_of(raw.ask(method, taskId=wrong))
            assert error.code == -32602
            assert "params.taskId" in error.message
        assert (await error_of(raw.ask(method))).code == -32602


# Both eras


@pytest.mark.req("R-700")
@in_memory
@pytest.mark.parametrize("tool", ["say", "show", "count", "fail", "refuse"])
async def test_a_task_of_one_era_is_the_same_to_a_client_of_the_other(road, tool):
    arguments = {"say": {"text": "Hello"}, "count": {"upto": 3}}.get(tool, {})
    mcp = workshop(patience=0, store=InMemoryTaskStore())
    async with connect(mcp, road) as raw, connect_modern(mcp, road) as client:
        older = await raw.start(tool, arguments)
        created = await client.call_tool(tool, arguments, allow_claimed=True)
        await raw.until(older)
        await raw.until(created.task_id)
        by_older = await _seen(raw, older), await _seen(raw, created.task_id)
        by_modern = await _waited(client, older), await _waited(client, created.task_id)
    assert by_older[0] == by_older[1]
    assert by_modern[0] == by_modern[1]


async def _seen(raw: Any, task_id: str) -> Any:
    task = await raw.get(task_id)
    try:
        result = await raw.result(task_id)
    except MCPError as exc:
        return task["status"], task.get("statusMessage"), exc.error
    assert result.pop("_meta")[RELATED] == {"taskId": task_id}
    assert "resultType" not in result
    return task["status"], task.get("statusMessage"), result


async def _waited(client: Any, task_id: str) -> Any:
    task = Task(client, task_id)
    try:
        result = await task.wait()
    except MCPError as exc:
        return (await task.get()).status, exc.error
    found = (await task.get()).result
    assert found["resultType"] == "complete"
    return (await task.get()).status, result.content, result.is_error


# The server stops


@in_memory
async def test_a_task_fails_when_its_server_stops(road):
    store = InMemoryTaskStore()
    made = studio(store=store)
    async with connect(made.mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 600})
    kept = await store.get(task_id)
    assert kept.to_task().status == "failed"
    assert kept.to_task().status_message == "The server was stopped"
    # Another run of it still knows that, and its error.
    async with connect(studio(store=store).mcp, road) as raw:
        error = await error_of(raw.result(task_id))
        assert (error.code, error.message) == (-32603, "The server was stopped")


# Logs


@pytest.mark.req("R-658")
@in_memory
async def test_the_life_of_a_task_is_logged(road, caplog):
    caplog.set_level(logging.INFO, logger="trio_mcp.extensions.tasks")
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start("paint", {"seconds": 1})
        await raw.result(task_id)
        other = await raw.start("paint", {"seconds": 60})
        await raw.cancel(other)
    short, other_short = f"{task_id[:6]}…", f"{other[:6]}…"
    said = [each.getMessage() for each in caplog.records]
    assert any(short in each and "has begun" in each for each in said)
    assert any(short in each and "is over: completed" in each for each in said)
    assert any(short in each and "is given out" in each for each in said)
    assert any(other_short in each and "is over: cancelled" in each for each in said)
    # Whoever reads logs cannot use it.
    assert not any(task_id in each for each in said)
