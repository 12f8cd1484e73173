"""What many want at the same time, one task does, and nothing is locked meanwhile."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from trio_mcp._rpc._flight import Flight, Together
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError, RequestTimeout


class Work:
    """Something to do once, that takes a second."""

    def __init__(self, error=None):
        self.together = Together()
        self.error = error
        self.begun = self.done = 0
        self.raised = []

    async def job(self):
        self.begun += 1
        await trio.sleep(1)
        if self.error is not None:
            raise self.error
        self.done += 1

    async def want(self):
        try:
            await self.together.do(self.job, lambda: not self.done)
        except Exception as exc:  # noqa: BLE001 - looked at by the test
            self.raised.append(exc)


async def test_one_does_it_for_all(autojump_clock):
    work = Work()
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(work.want)
        await trio.testing.wait_all_tasks_blocked()
        assert work.together.is_under_way
    assert (work.begun, work.done) == (1, 1)
    assert not work.together.is_under_way
    assert trio.current_time() == 1


async def test_what_is_done_is_not_done_again_and_is_a_checkpoint(autojump_clock):
    work = Work()
    await work.want()
    with trio.testing.assert_checkpoints():
        await work.want()
    assert work.begun == 1


async def test_another_takes_over_from_one_that_is_cancelled(autojump_clock):
    work = Work()
    first = trio.CancelScope()

    async def want_first():
        with first:
            await work.want()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(want_first)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            nursery.start_soon(work.want)
        await trio.testing.wait_all_tasks_blocked()
        first.cancel()
    assert (work.begun, work.done) == (2, 1)


async def test_who_waits_may_be_cancelled_alone(autojump_clock):
    work = Work()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work.want)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(0.5) as scope:
            await work.want()
        assert scope.cancelled_caught
    assert (work.begun, work.done) == (1, 1)


@pytest.mark.parametrize(
    "error",
    [
        MCPError(-32000, "no", {"a": 1}),
        RequestTimeout("late"),
        InvalidResponse("odd"),
        ConnectionLost("gone", exit_status=3, stderr="x", status=None),
        ValueError("a", 1),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_all_learn_why_it_failed_by_errors_of_their_own(autojump_clock, error):
    error.__cause__ = OSError("below")
    work = Work(error)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(work.want)
    assert work.begun == 1
    assert len({id(each) for each in work.raised}) == 3
    assert {(type(each), str(each)) for each in work.raised} == {(type(error), str(error))}
    assert all(each.__cause__ is error.__cause__ for each in work.raised)
    for each in work.raised:
        assert vars(each) == vars(error)


async def test_an_error_that_cannot_be_copied_is_raised_by_all(autojump_clock):
    class Odd(Exception):
        def __init__(self, *, code):
            super().__init__(f"code {code}")

    work = Work(Odd(code=1))
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(work.want)
    assert [str(each) for each in work.raised] == ["code 1", "code 1"]


async def test_a_flight_brings_its_outcome_to_all(autojump_clock):
    flight = Flight[str]()
    got = []

    async def wait():
        got.append(await flight.wait())

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(wait)
        with flight:
            await trio.sleep(1)
            flight.outcome = "done"
    assert got == ["done", "done"]
