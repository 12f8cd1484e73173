"""What clients of 2025-11-25 do that no client of this package does."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from tests.extensions.tasks._studio import Colour, error_of, settle, studio
from trio_mcp import Context, InvalidResponse, MCPError, MCPServer
from trio_mcp.extensions import InMemoryTaskStore, TasksExtension
from trio_mcp.types import EmptyResult, Request

from ._raw import RELATED, connect
from ._scripted_client import SILENCE, ScriptedClient, connected

ANSWER = {"action": "accept", "content": {"name": "blue"}}


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


def inquiry(ask: Any = None, **options: Any) -> tuple[MCPServer, list[Any]]:
    """A server with one tool that asks, as a task or without."""
    seen: list[Any] = []
    mcp = MCPServer("inquiry", extensions=[TasksExtension({"inquire": "optional"}, **options)])

    @mcp.tool()
    async def inquire(ctx: Context) -> str:
        """Ask."""
        try:
            seen.append(await (ask or (lambda ctx: ctx.elicit("Which colour?", Colour)))(ctx))
        except Exception as exc:
            seen.append(exc)
            raise
        return "asked"

    return mcp, seen


CALL = {"name": "inquire", "arguments": {}}


async def create(client: ScriptedClient, **more: Any) -> str:
    created = await client.ask("tools/call", {**CALL, "task": {}, **more}, "create")
    return created["task"]["taskId"]


@pytest.mark.parametrize(
    "nonsense",
    [{}, {"action": "shrug"}, {"action": "accept", "content": 5}, {"action": ["accept"]}],
    ids=str,
)
async def test_an_answer_that_is_none_is_the_same_to_the_tool_with_a_task_and_without(nonsense):
    mcp, seen = inquiry()
    client = ScriptedClient(elicitation__create=nonsense)
    async with connected(client, mcp):
        plain = await client.ask("tools/call", CALL)
        task_id = await create(client)
        result = await client.ask("tasks/result", {"taskId": task_id}, 2)
    assert result.pop("_meta") == {RELATED: {"taskId": task_id}}
    assert result == plain
    assert [type(each) for each in seen] == [InvalidResponse, InvalidResponse]
    assert str(seen[0]) == str(seen[1]).replace("json", "result")
    assert len(client.asked) == 2


async def test_an_error_is_the_same_to_the_tool_with_a_task_and_without():
    mcp, seen = inquiry()
    client = ScriptedClient(elicitation__create=MCPError(-5, "not today", {"at": "noon"}))
    async with connected(client, mcp):
        plain = await error_of(client.ask("tools/call", CALL))
        task_id = await create(client)
        error = await error_of(client.ask("tasks/result", {"taskId": task_id}, 2))
    assert error.error == plain.error
    assert seen[0].error == seen[1].error


async def test_an_answer_that_comes_when_the_task_is_over_goes_nowhere():
    mcp, seen = inquiry()
    client = ScriptedClient(elicitation__create=SILENCE)
    async with connected(client, mcp):
        task_id = await create(client)
        await client.send("tasks/result", {"taskId": task_id}, "result")
        await settle(lambda: client.asked)
        # The answers to both come, in whichever order.
        await client.send("tasks/cancel", {"taskId": task_id}, "cancel")
        answers = {each.id: each for each in [await client.take(), await client.take()]}
        assert answers["cancel"].result["status"] == "cancelled"
        assert answers["result"].error.message == "The task was cancelled"
        await client.answer_last(ANSWER)
        await trio.sleep(1)
        found = await client.ask("tasks/get", {"taskId": task_id}, "get")
    assert found["status"] == "cancelled"
    assert not seen
    assert [method for method, _ in client.told].count("notifications/cancelled") == 1


@pytest.mark.req("R-577")
async def test_a_cancel_of_the_request_comes_too_late_for_its_task():
    made = studio()
    client = ScriptedClient()
    async with connected(client, made.mcp):
        params = {"name": "paint", "arguments": {"seconds": 5}, "task": {}}
        created = await client.ask("tools/call", params, "create")
        await client.tell("notifications/cancelled", {"requestId": "create"})
        task_id = created["task"]["taskId"]
        result = await client.ask("tasks/result", {"taskId": task_id}, 2)
    assert result["content"][0]["text"] == "painted for 5 s"
    assert made.seen == ["painted"]


@pytest.mark.req("R-618", "R-619")
async def test_whatever_a_tool_sends_by_itself_says_whose_it_is():
    class Unheard(Request):
        pass

    async def ask(ctx: Context) -> str:
        await ctx.session.send_ping()
        request = Unheard(method="com.example/hear", params={"_meta": {"com.example": 1}})
        await ctx.session.send_request(request, EmptyResult)
        await ctx.session.send_progress_notification("mine", 1)
        return "asked"

    mcp, seen = inquiry(ask)
    client = ScriptedClient(ping={}, **{"com.example__hear": {}})
    async with connected(client, mcp):
        task_id = await create(client)
        await client.ask("tasks/result", {"taskId": task_id}, 2)
    assert seen == ["asked"]
    related = {RELATED: {"taskId": task_id}}
    assert [(method, params["_meta"]) for _, method, params in client.asked] == [
        ("ping", related),
        ("com.example/hear", {"com.example": 1, **related}),
    ]
    [told] = [params for method, params in client.told if method == "notifications/progress"]
    assert told["_meta"] == related


async def test_who_goes_with_a_question_leaves_it_to_the_next():
    store = InMemoryTaskStore()
    mcp, _ = inquiry(store=store)
    async with connect(mcp) as raw:
        client = ScriptedClient(elicitation__create=SILENCE)
        task_id = await raw.start("inquire")
        async with connected(client, mcp):
            await client.send("tasks/result", {"taskId": task_id}, "result")
            await settle(lambda: client.asked)
        result = await raw.result(task_id)
    assert result["content"][0]["text"] == "asked"
    assert len(raw.asked) == 1


async def test_who_waits_when_the_server_stops_is_told_or_left():
    store = InMemoryTaskStore()
    mcp, seen = inquiry(store=store)
    client = ScriptedClient(elicitation__create=SILENCE)
    async with connected(client, mcp):
        task_id = await create(client)
        await client.send("tasks/result", {"taskId": task_id}, "result")
        await settle(lambda: client.asked)
    kept = await store.get(task_id)
    assert (kept.status, kept.error["message"]) == ("failed", "The server was stopped")
    assert not kept.input_requests
    assert not seen


async def test_the_time_of_a_tool_stands_still_while_its_task_asks():
    mcp = MCPServer("inquiry", extensions=[TasksExtension({"inquire": "required"})])

    @mcp.tool(timeout=10)
    async def inquire(ctx: Context) -> str:
        """Ask, and take longer than there is time for."""
        await ctx.elicit("Which colour?", Colour)
        await trio.sleep(20)
        return "asked"

    async with connect(mcp) as raw:
        raw.holds = trio.Event()
        task_id = await raw.start("inquire")
        async with trio.open_nursery() as nursery:
            found: list[Any] = []

            async def wait() -> None:
                found.append(await raw.result(task_id))

            nursery.start_soon(wait)
            await trio.sleep(100)
            assert (await raw.get(task_id))["status"] == "input_required"
            raw.holds.set()
        [result] = found
        assert result["isError"]
        assert (await raw.get(task_id))["status"] == "failed"
