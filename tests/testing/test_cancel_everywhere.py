"""A call that is cancelled at each of its checkpoints in turn."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from trio_mcp import Client, MCPServer
from trio_mcp.testing import cancel_everywhere

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Counter:
    """Counts calls by their ends."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.is_free = trio.Event()
        self.is_free.set()


class Room:
    """Makes counters, and remembers them."""

    def __init__(self) -> None:
        self.counters: list[Counter] = []

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Counter, None]:
        self.counters.append(Counter())
        yield self.counters[-1]


async def test_each_checkpoint_is_cancelled_once_and_another_call_comes_then() -> None:
    async def call(counter: Counter) -> None:
        counter.begun += 1
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        counter.ended += 1

    room = Room()
    assert await cancel_everywhere(room.open, call) == 3
    # The last one was not cancelled: no checkpoint was left.
    assert [(each.begun, each.ended) for each in room.counters] == [(2, 1), (2, 1), (2, 1), (2, 2)]


async def test_the_call_that_comes_then_may_be_another_one() -> None:
    made: list[str] = []

    async def call(counter: Counter) -> None:
        made.append("call")
        await trio.lowlevel.checkpoint()

    async def then(counter: Counter) -> None:
        made.append("then")
        await trio.lowlevel.checkpoint()

    assert await cancel_everywhere(Room().open, call, then) == 1
    assert made == ["call", "then", "call", "then"]


async def test_what_is_shielded_is_cancelled_when_that_is_over() -> None:
    async def call(counter: Counter) -> None:
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
            counter.ended += 1

    room = Room()
    assert await cancel_everywhere(room.open, call) == 1
    assert [each.ended for each in room.counters] == [2, 2]


async def test_checkpoints_of_tasks_that_the_call_starts_count() -> None:
    async def work(counter: Counter) -> None:
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        counter.ended += 1

    async def call(counter: Counter) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work, counter)

    room = Room()
    assert await cancel_everywhere(room.open, call) >= 3
    assert room.counters[-1].ended == 2
    assert {each.ended for each in room.counters[:-1]} == {1}


async def test_checkpoints_of_others_do_not_count(autojump_clock: Any) -> None:
    async def others() -> None:
        while True:
            await trio.lowlevel.checkpoint()

    async def call(counter: Counter) -> None:
        await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        assert await cancel_everywhere(Room().open, call) == 1
        nursery.cancel_scope.cancel()


async def test_a_lock_that_stays_is_told_with_its_place(autojump_clock: Any) -> None:
    async def leaky(counter: Counter) -> None:
        await counter.is_free.wait()
        counter.is_free = trio.Event()
        await trio.lowlevel.checkpoint()
        counter.is_free.set()

    with pytest.raises(AssertionError) as caught:
        await cancel_everywhere(Room().open, leaky)
    assert "after a cancellation at checkpoint 2 (" in str(caught.value)
    assert "leaky, " in str(caught.value)
    assert "test_cancel_everywhere.py:" in str(caught.value)
    assert "the next call succeeds. It took more than 10 s" in str(caught.value)


async def test_a_call_that_does_not_end_when_it_is_cancelled_is_told(autojump_clock: Any) -> None:
    async def stubborn(counter: Counter) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(60)

    with pytest.raises(AssertionError, match=r"also when it is cancelled\. It took more"):
        await cancel_everywhere(Room().open, stubborn)


async def test_what_else_a_cancelled_call_raises_is_told() -> None:
    async def confused(counter: Counter) -> None:
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled:
            raise ValueError("what?") from None  # noqa: ASYNC104 - that is the mistake

    with pytest.raises(AssertionError, match=r"But there was ValueError\('what\?'\)") as caught:
        await cancel_everywhere(Room().open, confused)
    assert isinstance(caught.value.__cause__, ValueError)


async def test_a_call_without_an_end_is_given_up(autojump_clock: Any) -> None:
    async def endless(counter: Counter) -> None:
        while not counter.ended:
            await trio.lowlevel.checkpoint()

    async def then(counter: Counter) -> None:
        counter.ended = 1

    with pytest.raises(AssertionError, match="more than 5 checkpoints"):
        await cancel_everywhere(Room().open, endless, then, most=5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((1, print), "open_subject: expected"),
        ((print, 1), "call: expected"),
        ((print, print, 1), "then: expected"),
    ],
)
async def test_what_cannot_be_called_is_refused(wrong: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        await cancel_everywhere(*wrong)
    with pytest.raises(ValueError, match="most: expected"):
        await cancel_everywhere(Room().open, Room().open, most=0)  # type: ignore[arg-type]


async def test_a_client_survives_a_cancelled_call_at_any_point() -> None:
    mcp = MCPServer("patient")

    @mcp.tool()
    async def work() -> str:
        await trio.lowlevel.checkpoint()
        return "done"

    @asynccontextmanager
    async def open_client() -> AsyncGenerator[Client, None]:
        async with Client(mcp) as client:
            yield client

    assert await cancel_everywhere(open_client, lambda client: client.call_tool("work")) >= 1
