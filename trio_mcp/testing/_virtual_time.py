"""Stepping through time by hand, for tests that take the fixture ``mock_clock``."""

from __future__ import annotations

import trio
import trio.testing


async def advance(seconds: float) -> None:
    """Let virtual time pass, and everything happen that it brings about.

    Waits until every other task is blocked, moves the clock, and waits for that again:
    whatever the passed time caused has been done when this returns, and what was going on
    before did not see the clock move in mid-step.

    Args:
      seconds: How far the clock is moved, at once: a task that sleeps for one second in
        a loop wakes up once during ``advance(10)``, late.

    Raises:
      RuntimeError: if this run does not use a `trio.testing.MockClock`.

    """
    clock = trio.lowlevel.current_clock()
    if not isinstance(clock, trio.testing.MockClock):
        raise RuntimeError(  # noqa: TRY004 - no argument has a wrong type
            "advance() moves a MockClock, and this run has a real one: take the fixture "
            "mock_clock in the test, or pass clock=MockClock() to trio.run()"
        )
    await trio.testing.wait_all_tasks_blocked()
    clock.jump(seconds)
    await trio.testing.wait_all_tasks_blocked()
