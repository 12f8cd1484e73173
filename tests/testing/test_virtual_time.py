from __future__ import annotations

import pytest
import trio
import trio.testing

from trio_mcp.testing import advance


async def test_advance_wakes_what_became_due_and_no_more(mock_clock):
    woken = []

    async def sleep(seconds: float) -> None:
        await trio.sleep(seconds)
        woken.append(seconds)

    async with trio.open_nursery() as nursery:
        for seconds in (1, 2, 3):
            nursery.start_soon(sleep, seconds)
        await advance(2)
        assert sorted(woken) == [1, 2]
        await advance(1)
        assert sorted(woken) == [1, 2, 3]


async def test_advance_waits_for_what_the_passed_time_caused(mock_clock):
    steps = []

    async def work() -> None:
        await trio.sleep(5)
        for step in range(10):
            await trio.lowlevel.checkpoint()
            steps.append(step)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        await advance(5)
        assert steps == list(range(10))


async def test_advance_on_a_real_clock_is_an_error_that_teaches():
    with pytest.raises(RuntimeError, match="mock_clock"):
        await advance(1)


async def test_advance_is_a_checkpoint_and_can_be_cancelled(mock_clock):
    with trio.testing.assert_checkpoints():
        await advance(0)
    with trio.CancelScope() as scope:
        scope.cancel()
        await advance(1)
    assert scope.cancelled_caught
