"""What a client does of a task that it cannot ask for, and of answers that take their time."""

from __future__ import annotations

import gc
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.lowlevel
import trio.testing

from trio_mcp import ConnectionLost, MCPError
from trio_mcp.extensions import Task
from trio_mcp.extensions.tasks._polling import Polling
from trio_mcp.testing import cancel_everywhere

from ._scripted import DONE, Scripted, scripted, task
from ._studio import answer_blue, connect, error_of, in_memory, settle, studio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.types import ElicitResult

QUESTION = {
    "method": "elicitation/create",
    "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}
ASKING = task("input_required", inputRequests={"q": QUESTION})


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


# A server that cannot be asked


@in_memory
async def test_a_task_goes_on_whose_server_cannot_say_how_it_is(road):
    server = Scripted({}, *[MCPError(-31503, "not now")] * 5)
    async with connect(scripted(server), road) as client:
        error = await error_of(client.call_tool("work"))
    assert error.code == -31503
    assert error.__notes__ == ["The task 't' may go on at the server"]
    # It may be asked for by its id when the server is there again.
    assert server.cancelled == []


@in_memory
async def test_a_server_that_cannot_be_asked_is_left_alone_longer_each_time(road):
    server = Scripted({}, *[MCPError(-32603, "not now")] * 4, DONE)
    async with connect(scripted(server), road) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
    assert server.pauses == [1, 1, 2, 4, 8]


@in_memory
async def test_a_task_of_a_server_that_talks_nonsense_is_cancelled(road):
    server = Scripted({}, {"taskId": "t", "status": "working"})
    async with connect(scripted(server), road) as client:
        await error_of(client.call_tool("work"))
    assert server.cancelled == ["t"]


async def test_one_connection_that_was_lost_is_no_reason_to_give_up():
    answers: list[Any] = [ConnectionLost("refused"), ConnectionLost("refused"), "done"]

    async def ask() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert await Polling(ask, trio.sleep_forever, None).next() == "done"
    assert trio.current_time() == pytest.approx(3)


async def test_a_connection_that_is_lost_for_good_is_told_at_once():
    async def ask() -> Any:
        raise ConnectionLost("gone")

    async def wait_lost() -> ConnectionLost:
        await trio.lowlevel.checkpoint()
        return ConnectionLost("gone")

    polling = Polling(ask, wait_lost, None)
    with pytest.raises(ConnectionLost):
        await polling.next()
    assert trio.current_time() == 0
    assert polling.is_in_vain


# Answers that take their time


class Slow(Scripted):
    """Takes half a minute for each answer, and asks no longer meanwhile."""

    async def update(self, ctx: Any, params: dict[str, Any]) -> None:
        with trio.CancelScope() as scope:
            await trio.sleep(30)
        assert not scope.cancelled_caught
        await super().update(ctx, params)


class Refusing(Slow):
    async def update(self, ctx: Any, params: dict[str, Any]) -> None:
        await super().update(ctx, params)
        raise MCPError(-32602, "no such colour")


@in_memory
async def test_an_answer_on_its_way_is_not_given_up_when_nobody_asks_for_it_any_more(road):
    server = Slow({}, ASKING, *[task("working")] * 40, DONE)
    async with connect(scripted(server), road, elicitation_callback=answer_blue) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
    assert [*server.updates[0]] == ["q"]


@in_memory
async def test_the_refusal_of_an_answer_is_told_though_nobody_asks_for_it_any_more(road):
    server = Refusing({}, ASKING, *[task("working")] * 60, DONE)
    async with connect(scripted(server), road, elicitation_callback=answer_blue) as client:
        error = await error_of(client.call_tool("work"))
    assert (error.code, error.message) == (-32602, "no such colour")


# Several who wait


class Asking(Scripted):
    """Asks until there is an answer."""

    def __init__(self) -> None:
        super().__init__({})

    async def get(self, ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
        return DONE if self.updates else ASKING


class User:
    """Thinks for a while before it answers."""

    def __init__(self, seconds: float = 5) -> None:
        self.seconds = seconds
        self.asked = 0

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked += 1
        await trio.sleep(self.seconds)
        return await answer_blue(context, params)


@in_memory
async def test_two_that_wait_by_one_handle_ask_the_user_once(road):
    user, server, results = User(), Asking(), []

    async with connect(scripted(server), road, elicitation_callback=user.__call__) as client:
        handle = Task(client, await client.call_tool("work", allow_claimed=True))

        async def wait() -> None:
            results.append((await handle.wait()).content[0].text)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            nursery.start_soon(wait)
        assert results == ["done", "done"]
        # And whoever comes later need not ask at all.
        server.created = {}
        assert (await handle.wait()).content[0].text == "done"
    assert (user.asked, len(server.updates)) == (1, 1)


@in_memory
async def test_when_the_one_that_asks_leaves_the_other_asks_in_its_place(road):
    user, server = User(), Asking()
    async with connect(scripted(server), road, elicitation_callback=user.__call__) as client:
        handle = Task(client, await client.call_tool("work", allow_claimed=True))
        async with trio.open_nursery() as nursery:
            first = trio.CancelScope()

            async def leave() -> None:
                with first:
                    await handle.wait()

            nursery.start_soon(leave)
            await settle(lambda: user.asked)
            with trio.fail_after(60):
                nursery.start_soon(_cancel_later, first)
                assert (await handle.wait()).content[0].text == "done"
        assert first.cancelled_caught
    assert (user.asked, len(server.updates)) == (2, 1)


async def _cancel_later(scope: trio.CancelScope) -> None:
    await trio.sleep(2)
    scope.cancel()


# Cancellation


@in_memory
async def test_a_call_may_be_cancelled_anywhere_and_leaves_no_task_at_work(road):
    made: list[Any] = []

    @asynccontextmanager
    async def open_studio() -> AsyncGenerator[Any]:
        made.append(studio(patience=0, poll_interval=0.1))
        async with connect(made[-1].mcp, road, elicitation_callback=answer_blue) as client:
            yield client

    async def call_again(client: Any) -> None:
        assert (await client.call_tool("ask")).content[0].text == "accept blue"
        # What was left behind is over, whether or not its client had heard of it.
        statuses = {each.status for each in made[-1].tasks._store._tasks.values()}
        assert statuses <= {"completed", "cancelled"}

    await cancel_everywhere(open_studio, lambda client: client.call_tool("ask"), call_again)


# Answers that get lost


class Losing(Scripted):
    """Cannot take an answer at first."""

    def __init__(self, losses: int, *answers: Any) -> None:
        super().__init__({}, *answers)
        self.losses = losses

    async def update(self, ctx: Any, params: dict[str, Any]) -> None:
        await super().update(ctx, params)
        if len(self.updates) <= self.losses:
            raise MCPError(-31503, "not now")


@in_memory
async def test_an_answer_that_a_server_could_not_take_is_sent_again(road):
    user, server = User(0), Losing(4, *[ASKING] * 20, DONE)
    async with connect(scripted(server), road, elicitation_callback=user.__call__) as client:
        assert (await client.call_tool("work")).content[0].text == "done"
    assert (user.asked, len(server.updates), server.cancelled) == (1, 5, [])


@in_memory
async def test_a_task_goes_on_whose_server_can_take_no_answer(road):
    server = Losing(100, *[ASKING] * 100)
    async with connect(scripted(server), road, elicitation_callback=answer_blue) as client:
        error = await error_of(client.call_tool("work"))
    assert error.code == -31503
    assert error.__notes__ == ["The task 't' may go on at the server"]
    assert (len(server.updates), server.cancelled) == (5, [])


async def fail_to_answer(context: Any, params: Any) -> ElicitResult:
    raise LookupError("nobody is there")


@in_memory
@pytest.mark.parametrize("answer", [fail_to_answer, answer_blue])
async def test_what_a_call_held_whose_task_could_not_be_answered_is_freed_at_once(road, answer):
    class Refusing(Scripted):
        async def update(self, ctx: Any, params: dict[str, Any]) -> None:
            raise MCPError(-32602, "no such colour")

    server = Refusing({}, *[ASKING] * 10)
    async with connect(scripted(server), road, elicitation_callback=answer) as client:
        gc.collect()
        gc.disable()
        try:
            with pytest.raises((LookupError, MCPError)):
                await client.call_tool("work")
            await trio.testing.wait_all_tasks_blocked()
            assert [each for each in gc.get_objects() if isinstance(each, (Task, Polling))] == []
        finally:
            gc.enable()
