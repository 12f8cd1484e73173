"""Jobs side by side: their results in order, and the same error each time."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from trio_mcp._rpc._gather import TIE_SECONDS, run_all


def failing(message, after=0.0, on_cancel=None):
    async def job():
        cancelled = True
        try:
            if after:
                await trio.sleep(after)
            cancelled = False
        finally:
            if cancelled and on_cancel is not None:
                raise on_cancel
        raise ValueError(message)

    return job


def returning(value, after=0.0):
    async def job():
        await trio.sleep(after)
        return value

    return job


async def test_results_come_in_the_order_of_the_jobs(autojump_clock):
    found = await run_all({"a": returning(1, after=2), "b": returning(2), "c": returning(3, 1)})
    assert list(found.items()) == [("a", 1), ("b", 2), ("c", 3)]
    assert trio.current_time() == 2
    assert await run_all({}) == {}


async def test_of_jobs_that_fail_at_the_same_time_the_first_in_the_order_is_told(autojump_clock):
    # Trio shuffles the tasks of each step.
    for _ in range(30):
        for after in (0, 1):
            jobs = {name: failing(name, after) for name in ("a", "b", "c")}
            with pytest.raises(ValueError, match="a"):
                await run_all({"ok": returning(0), **jobs})


async def test_at_the_same_time_is_not_to_the_microsecond(autojump_clock):
    jobs = {"a": failing("a", 1 + TIE_SECONDS / 2), "b": failing("b", 1)}
    with pytest.raises(ValueError, match="a"):
        await run_all(jobs)
    assert trio.current_time() == pytest.approx(1 + TIE_SECONDS / 2)


async def test_a_failure_ends_what_comes_after_it_at_once(autojump_clock):
    with pytest.raises(ValueError, match="a"):
        await run_all({"a": failing("a", 1), "b": failing("b", 1.01), "c": trio.sleep_forever})
    assert trio.current_time() == pytest.approx(1)


async def test_a_failure_ends_what_comes_before_it_soon(autojump_clock):
    jobs = {"a": trio.sleep_forever, "b": failing("b", 9), "c": failing("c", 1)}
    with pytest.raises(ValueError, match="c"):
        await run_all(jobs)
    assert trio.current_time() == pytest.approx(1 + TIE_SECONDS)


async def test_what_fails_by_being_cancelled_is_not_told(autojump_clock):
    late = failing("late", 9, on_cancel=OSError("clean-up failed"))
    with pytest.raises(ValueError, match="b"):
        await run_all({"a": late, "b": failing("b", 1), "c": late})


async def test_it_can_be_cancelled(autojump_clock):
    with trio.move_on_after(1) as scope:
        await run_all({"a": trio.sleep_forever, "b": trio.sleep_forever})
    assert scope.cancelled_caught


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_a_cancellation_is_one_exception_however_many_jobs_there_are(autojump_clock, count):
    seen = []
    with trio.move_on_after(1) as scope:
        try:
            await run_all(dict.fromkeys(range(count), trio.sleep_forever))
        except BaseException as exc:
            seen.append(type(exc))
            raise
    assert scope.cancelled_caught
    assert seen == [trio.Cancelled]


async def test_what_is_no_failure_of_a_job_leaves_as_it_is(autojump_clock):
    async def press_ctrl_c():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await run_all({"a": press_ctrl_c, "b": trio.sleep_forever})
