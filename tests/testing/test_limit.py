from __future__ import annotations

import threading

import pytest
import trio
import trio.testing

from trio_mcp.testing import _limit
from trio_mcp.testing._limit import LimitExceeded, run_within


def test_success_leaves_no_thread():
    before = threading.active_count()
    run_within(10, trio.lowlevel.checkpoint)
    assert threading.active_count() == before


def test_sole_exception_keeps_its_identity_cause_and_context():
    cause, context = KeyError("cause"), KeyError("context")

    async def fail() -> None:
        async with trio.open_nursery(), trio.open_nursery():
            try:
                raise context
            except KeyError:
                raise ValueError("it") from cause

    with pytest.raises(ValueError, match="it") as caught:
        run_within(10, fail)
    assert caught.value.__cause__ is cause
    assert caught.value.__context__ is context


def test_several_exceptions_stay_a_group():
    async def fail() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_raise, ValueError("one"))
            nursery.start_soon(_raise, KeyError("two"))

    with pytest.RaisesGroup(ValueError, KeyError):
        run_within(10, fail)


def test_limit_cancels_and_tells_why():
    seen: list[str] = []

    async def hang() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled as exc:
            seen.append(str(exc))
            raise

    with pytest.raises(LimitExceeded, match=r"took more than 0\.01 s"):
        run_within(0.01, hang)
    assert "took more than 0.01 s" in seen[0]


def test_clean_up_may_take_its_time_within_the_grace():
    cleaned: list[bool] = []

    async def hang() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.testing.wait_all_tasks_blocked()
                cleaned.append(True)

    with pytest.raises(LimitExceeded):
        run_within(0.01, hang)
    assert cleaned == [True]


def test_run_goes_on_after_an_interrupted_one(monkeypatch):
    monkeypatch.setattr(_limit, "GRACE", 0.01)

    async def hang() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()

    with pytest.raises(LimitExceeded):
        run_within(0.01, hang)
    run_within(10, trio.lowlevel.checkpoint)


def test_clock_is_that_of_the_run():
    clock = trio.testing.MockClock(autojump_threshold=0)

    async def sleep() -> None:
        await trio.sleep(1000)

    run_within(10, sleep, clock=clock)
    assert clock.current_time() >= 1000


async def _raise(exc: Exception) -> None:
    raise exc
