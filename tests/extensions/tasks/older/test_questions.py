"""What tasks ask a client of 2025-11-25: by requests that belong to its ``tasks/result``."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from tests.extensions.tasks._studio import (
    Colour,
    error_of,
    in_memory,
    on_every_road,
    settle,
    studio,
)
from tests.extensions.tasks._studio import connect as connect_modern
from trio_mcp import Context, MCPError, MCPServer
from trio_mcp.extensions import InMemoryTaskStore, Task, TasksExtension
from trio_mcp.extensions.tasks.older import _result
from trio_mcp.types import (
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
)

from ._raw import RELATED, connect


@pytest.fixture(autouse=True)
def clock(request):
    """Virtual time, unless bytes travel in real time."""
    road = request.node.callspec.params.get("road") if hasattr(request.node, "callspec") else None
    return None if road == "http" else request.getfixturevalue("autojump_clock")


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


def inquiry(ask: Any, **options: Any) -> tuple[MCPServer, list[Any]]:
    """A server whose tool asks by a function, and what came of that."""
    seen: list[Any] = []
    mcp = MCPServer("inquiry", extensions=[TasksExtension({"inquire": "required"}, **options)])

    @mcp.tool()
    async def inquire(ctx: Context) -> str:
        """Ask."""
        try:
            seen.append(await ask(ctx))
        except Exception as exc:
            seen.append(exc)
            raise
        return str(seen[-1])

    return mcp, seen


# Asking


@pytest.mark.req("R-616", "R-617", "R-618", "R-619", "R-614")
@on_every_road
async def test_a_question_is_asked_by_who_waits_for_the_result(road):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start("ask")
        asking = await raw.until(task_id, "input_required")
        assert asking["status"] == "input_required"
        # Not before somebody waits.
        assert not raw.asked
        result = await raw.result(task_id)
        assert text_of(result) == "accept blue"
        [asked] = raw.asked
        assert asked["message"] == "Which colour?"
        assert asked["_meta"] == {RELATED: {"taskId": task_id}}
        assert (await raw.get(task_id))["status"] == "completed"


@pytest.mark.req("R-617", "R-614")
@in_memory
async def test_a_task_works_again_when_all_is_answered(road):
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Which colour?", Colour)
        await trio.sleep(10)
        return answer.data.name

    mcp, _ = inquiry(ask)
    async with connect(mcp, road) as raw, trio.open_nursery() as nursery:
        task_id = await raw.start("inquire")
        await raw.until(task_id, "input_required")
        nursery.start_soon(raw.result, task_id)
        await raw.until(task_id, "working")
        assert len(raw.asked) == 1
        await raw.until(task_id, "completed")


@pytest.mark.req("R-618")
@in_memory
async def test_each_kind_of_question_reaches_the_client(road):
    async with connect(studio().mcp, road) as raw:
        result = await raw.result(await raw.start("ask_all_kinds"))
        assert text_of(result) == "blue: Marvellous file:///home"
        metas = [each["_meta"][RELATED] for each in raw.asked]
        assert len(metas) == 2


@in_memory
async def test_questions_at_the_same_time_are_all_asked(road):
    async with connect(studio().mcp, road) as raw:
        for each in ("wall", "door", "roof"):
            raw.answers[each] = ElicitResult(action="accept", content={"name": f"{each} grey"})
        raw.holds = trio.Event()
        async with trio.open_nursery() as nursery:
            found: list[Any] = []
            task_id = await raw.start("ask_twice")

            async def wait() -> None:
                found.append(text_of(await raw.result(task_id)))

            nursery.start_soon(wait)
            await settle(lambda: len(raw.asked) == 2)
            raw.holds.set()
        assert found == ["wall=wall grey door=door grey roof=roof grey"]
        assert sorted(each["message"] for each in raw.asked) == ["door", "roof", "wall"]


@in_memory
@pytest.mark.parametrize("tool", ["ask_by_result", "ask_late_by_result", "ask_by_resolver"])
async def test_what_a_tool_asks_by_its_result_or_a_resolver_is_asked_by_the_task(road, tool):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start(tool)
        assert (await raw.until(task_id, "input_required"))["status"] == "input_required"
        result = await raw.result(task_id)
        assert text_of(result).startswith("blue")
        assert len(raw.asked) == 1
        # Nothing of the rounds is left in it.
        assert not {"resultType", "inputRequests", "requestState"} & result.keys()


@in_memory
@pytest.mark.parametrize("named", [True, False])
async def test_a_url_to_visit_has_a_name(road, named):
    async def ask(ctx: Context) -> str:
        if named:
            return (await ctx.elicit_url("Log in", "https://example.com/login", "login-1")).action
        params = ElicitRequestURLParams(message="Log in", url="https://example.com/login")
        return (await ctx.session.ask(ElicitRequest(params=params))).action

    mcp, _ = inquiry(ask)
    async with connect(mcp, road) as raw:
        assert text_of(await raw.result(await raw.start("inquire"))) == "accept"
        [asked] = raw.asked
        assert asked["elicitationId"] == "login-1" if named else len(asked["elicitationId"]) == 36


async def test_a_url_to_visit_has_a_name_without_a_task_too():
    mcp = MCPServer("plain")

    @mcp.tool()
    async def log_in(ctx: Context) -> str:
        """Log in."""
        params = ElicitRequestURLParams(message="Log in", url="https://example.com/login")
        return (await ctx.session.ask(ElicitRequest(params=params))).action

    async with connect(mcp) as raw:
        assert text_of(await raw.call("log_in")) == "accept"
        assert len(raw.asked[0]["elicitationId"]) == 36


async def test_a_task_of_a_modern_client_may_ask_an_older_one_to_visit_a_url():
    async def ask(ctx: Context) -> str:
        params = ElicitRequestURLParams(message="Log in", url="https://example.com/login")
        return (await ctx.session.ask(ElicitRequest(params=params))).action

    mcp, _ = inquiry(ask, store=InMemoryTaskStore())
    async with (
        connect(mcp) as raw,
        connect_modern(mcp, "text", elicitation_callback=raw.elicit) as client,
    ):
        created = await client.call_tool("inquire", allow_claimed=True)
        assert text_of(await raw.result(created.task_id)) == "accept"
        assert len(raw.asked[0]["elicitationId"]) == 36


# What comes back


@in_memory
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_may_say_no(road, action):
    async with connect(studio().mcp, road) as raw:
        raw.answers["Which colour?"] = ElicitResult(action=action)
        assert text_of(await raw.result(await raw.start("ask"))).strip() == action


@in_memory
async def test_an_error_in_place_of_an_answer_is_raised_in_the_tool(road):
    async def ask(ctx: Context) -> Any:
        return await ctx.elicit("Which colour?", Colour)

    mcp, seen = inquiry(ask)
    async with connect(mcp, road) as raw:
        raw.answers["Which colour?"] = ErrorData(code=-4711, message="busy", data={"until": 5})
        error = await error_of(raw.result(await raw.start("inquire")))
        assert (error.code, error.message, error.data) == (-4711, "busy", {"until": 5})
    [raised] = seen
    assert type(raised) is MCPError
    assert len(raw.asked) == 1


async def test_a_client_that_cannot_answer_is_not_asked():
    mcp, seen = inquiry(lambda ctx: ctx.elicit("Which colour?", Colour))
    async with connect(mcp, asks=False) as raw:
        error = await error_of(raw.result(await raw.start("inquire")))
        assert error.code == -32021
        assert seen[0].code == -32021


async def test_another_request_of_a_client_that_can_answer_asks():
    store = InMemoryTaskStore()
    mcp, _ = inquiry(lambda ctx: ctx.elicit("Which colour?", Colour), store=store)
    async with (
        connect(mcp) as able,
        connect(mcp, asks=False) as unable,
        trio.open_nursery() as nursery,
    ):
        task_id = await able.start("inquire")
        found: list[str] = []

        async def wait(raw: Any) -> None:
            found.append(text_of(await raw.result(task_id)))

        nursery.start_soon(wait, able)
        await settle(lambda: able.asked)
        nursery.start_soon(wait, unable)
        await settle(lambda: len(found) == 2)
        assert not unable.asked
        assert len(able.asked) == 1


# Who asks


@in_memory
async def test_a_question_is_asked_once_however_many_wait(road):
    async with connect(studio().mcp, road) as raw, trio.open_nursery() as nursery:
        raw.holds = trio.Event()
        task_id = await raw.start("ask")
        found: list[str] = []

        async def wait() -> None:
            found.append(text_of(await raw.result(task_id)))

        nursery.start_soon(wait)
        await settle(lambda: raw.asked)
        nursery.start_soon(wait)
        # The one that came last takes over, since the one before may be of a client that is gone.
        await settle(lambda: len(raw.asked) == 2)
        await settle(lambda: raw.cancelled)
        raw.holds.set()
        await settle(lambda: len(found) == 2)
        assert found == ["accept blue"] * 2
        assert len(raw.asked) == 2
        assert len(raw.cancelled) == 1


@in_memory
async def test_a_question_is_asked_again_when_who_asked_it_no_longer_waits(road):
    async with connect(studio().mcp, road) as raw:
        task_id = await raw.start("ask")
        raw.holds = trio.Event()
        with trio.move_on_after(5):
            await raw.result(task_id)
        await settle(lambda: raw.cancelled)
        assert (await raw.get(task_id))["status"] == "input_required"
        raw.holds = None
        assert text_of(await raw.result(task_id)) == "accept blue"
        assert len(raw.asked) == 2


@in_memory
async def test_the_one_before_takes_over_from_one_that_no_longer_waits(road):
    async with connect(studio().mcp, road) as raw, trio.open_nursery() as nursery:
        raw.holds = trio.Event()
        task_id = await raw.start("ask")
        found: list[str] = []

        async def wait() -> None:
            found.append(text_of(await raw.result(task_id)))

        nursery.start_soon(wait)
        await settle(lambda: raw.asked)
        with trio.move_on_after(5):
            await raw.result(task_id)
        await settle(lambda: len(raw.asked) == 3)
        raw.holds.set()
        await settle(lambda: found)
        assert found == ["accept blue"]


@pytest.mark.req("R-615")
@in_memory
async def test_a_task_that_is_cancelled_while_it_asks_asks_no_longer(road):
    made = studio()
    async with connect(made.mcp, road) as raw, trio.open_nursery() as nursery:
        raw.holds = trio.Event()
        task_id = await raw.start("ask")
        errors: list[MCPError] = []

        async def wait() -> None:
            errors.append(await error_of(raw.result(task_id)))

        nursery.start_soon(wait)
        await settle(lambda: raw.asked)
        assert (await raw.cancel(task_id))["status"] == "cancelled"
        await settle(lambda: errors and raw.cancelled)
        assert (errors[0].code, errors[0].message) == (-32603, "The task was cancelled")
        assert (await raw.get(task_id))["status"] == "cancelled"


@in_memory
async def test_a_tool_that_stops_waiting_withdraws_its_question(road):
    async with connect(studio().mcp, road) as raw, trio.open_nursery() as nursery:
        raw.holds = trio.Event()
        task_id = await raw.start("ask_in_vain")
        found: list[str] = []

        async def wait() -> None:
            found.append(text_of(await raw.result(task_id)))

        nursery.start_soon(wait)
        await settle(lambda: raw.cancelled)
        assert (await raw.get(task_id))["status"] == "working"
        await settle(lambda: found)
        assert found == ["no answer"]


@in_memory
async def test_a_task_whose_time_is_over_while_it_asks_asks_no_longer(road):
    async with connect(studio().mcp, road) as raw:
        raw.holds = trio.Event()
        task_id = await raw.start("ask", task={"ttl": 5_000})
        assert (await error_of(raw.result(task_id))).code == -32602
        await settle(lambda: raw.cancelled)


async def test_a_store_that_is_away_for_a_while_loses_no_answer():
    class Away(InMemoryTaskStore):
        failures = 0

        async def replace(self, task):
            if self.failures and (task.input_responses or task.status == "completed"):
                self.failures -= 1
                raise OSError("away")
            return await super().replace(task)

    store = Away()
    async with connect(studio(store=store).mcp) as raw:
        task_id = await raw.start("ask")
        await raw.until(task_id, "input_required")
        store.failures = 3
        assert text_of(await raw.result(task_id)) == "accept blue"
        assert len(raw.asked) == 1


@pytest.mark.req("R-656")
async def test_many_who_wait_and_cannot_answer_cost_little():
    """What is asked is looked at by each of them once, and not by each for each."""
    looked: list[str] = []
    store = InMemoryTaskStore()
    mcp, _ = inquiry(lambda ctx: ctx.elicit("Which colour?", Colour), store=store)
    async with connect(mcp) as able, connect(mcp, asks=False) as unable:
        task_id = await able.start("inquire")
        await able.until(task_id, "input_required")
        with pytest.MonkeyPatch.context() as patch:
            inner = _result.ResultDesk._can_answer

            def look(self: Any, question: Any) -> bool:
                looked.append(question["method"])
                return inner(self, question)

            patch.setattr(_result.ResultDesk, "_can_answer", look)
            async with trio.open_nursery() as nursery:
                for _ in range(50):
                    nursery.start_soon(unable.result, task_id)
                await trio.sleep(5)
                assert text_of(await able.result(task_id))
        assert len(looked) == 51


# Both eras


async def test_a_task_of_one_era_is_answered_by_a_client_of_the_other():
    made = studio(store=InMemoryTaskStore(), patience=0)
    async with (
        connect(made.mcp) as raw,
        connect_modern(made.mcp, "text", elicitation_callback=raw.elicit) as client,
    ):
        older = await raw.start("ask")
        await raw.until(older, "input_required")
        found = await Task(client, older).get()
        assert found.status == "input_required"
        answer = ElicitResult(action="accept", content={"name": "red"})
        await Task(client, older).update(dict.fromkeys(found.input_requests, answer))
        assert text_of(await raw.result(older)) == "accept red"
        assert not raw.asked

        modern = await client.call_tool("ask", allow_claimed=True)
        assert text_of(await raw.result(modern.task_id)) == "accept blue"
        assert len(raw.asked) == 1
