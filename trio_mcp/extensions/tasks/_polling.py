"""Asking how a task is, until it is over: in both eras, and for whoever asked for the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import attrs
import trio

from trio_mcp.errors import ConnectionLost, LocalError, MCPError, RequestTimeout
from trio_mcp.types import INTERNAL_ERROR, SERVER_BUSY

from ._wire import DetailedTask
from .stores._stored import OVER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._wire import CreateTaskResult

T = TypeVar("T")

DEFAULT_POLL_SECONDS: Final = 1.0
"""Seconds after which to ask again, where the peer does not say it."""

LEAST_POLL_SECONDS: Final = 0.05
"""The same, where it says less."""

MAX_FAILURES: Final = 5
"""Times in a row that the peer may fail to say how a task is, before that is an error."""

_LONGEST_MS: Final = 24 * 3600 * 1000
# A day between two questions is as good as never, and a number that floats can hold.


@attrs.define(eq=False)
class Polling:
    """Asks how one task is, as often as its peer wants, and again where one question fails.

    Args:
      ask: Asks once.
      wait_lost: Waits until nothing can be asked any more.
      latest: What is known of the task already.

    Attributes:
      is_in_vain: Whether it was asked for the last time without an answer: the task may go on.

    """

    _ask: Callable[[], Awaitable[DetailedTask]]
    _wait_lost: Callable[[], Awaitable[ConnectionLost]]
    latest: CreateTaskResult | DetailedTask | None
    is_in_vain: bool = attrs.field(default=False, init=False)
    _hurried: trio.Event = attrs.field(factory=trio.Event, init=False)
    _heard: float = attrs.field(factory=trio.current_time, init=False)

    async def next(self) -> DetailedTask:
        """Ask when it is time to; what is over is known, and not asked for again.

        Raises:
          MCPError: as `patiently`.

        """
        if isinstance(self.latest, DetailedTask) and self.latest.status in OVER:
            return self.latest
        if self.latest is not None:
            pause = _pause(self.latest, trio.current_time() - self._heard)
            # However much there is to hurry for, it leaves the peer room to breathe.
            await trio.sleep(min(pause, LEAST_POLL_SECONDS))
            with trio.move_on_after(pause - LEAST_POLL_SECONDS):
                await self._hurried.wait()
            self._hurried = trio.Event()
        self.latest = await self.patiently(self._ask, may_pass)
        return self.latest

    async def patiently(
        self, ask: Callable[[], Awaitable[T]], may_pass: Callable[[MCPError], bool]
    ) -> T:
        """Ask something, and again where that fails: the task goes on meanwhile.

        Args:
          ask: Asks once.
          may_pass: Tells whether the same question may be answered another time.

        Raises:
          MCPError: what it failed with, if it is not worth asking again, or failed for
            `MAX_FAILURES` times in a row.

        """
        failures = 0
        while True:
            try:
                return await ask()
            except MCPError as exc:
                if not may_pass(exc):
                    raise
                failure = exc
            failures += 1
            if failures == MAX_FAILURES or await self._is_lost(failures):
                self.is_in_vain = True
                try:
                    raise failure
                finally:
                    # Its traceback refers to this frame.
                    del failure

    def hurry(self) -> None:
        """Ask soon: something has happened."""
        self._hurried.set()

    async def _is_lost(self, failures: int) -> bool:
        """Leave the peer alone for a while, longer each time; tell whether that is for ever."""
        with trio.move_on_after(DEFAULT_POLL_SECONDS * 2 ** (failures - 1)):
            await self._wait_lost()
            return True
        return False


def may_pass(error: MCPError) -> bool:
    """Tell whether how a task is may be answered another time."""
    if isinstance(error, LocalError):
        return isinstance(error, (RequestTimeout, ConnectionLost))
    return error.code in {INTERNAL_ERROR, SERVER_BUSY}


def _pause(task: CreateTaskResult | DetailedTask, known: float) -> float:
    """Say for how long to leave a peer alone that has said this of its task.

    Args:
      task: As it was said.
      known: Seconds for which the task has been known.

    """
    interval = DEFAULT_POLL_SECONDS
    if task.poll_interval_ms is not None:
        asked = min(task.poll_interval_ms, _LONGEST_MS) / 1000
        interval = max(LEAST_POLL_SECONDS, asked)
    if task.ttl_ms is None:
        return interval
    # Whatever the interval is, a peer that has let the task go is asked then.
    left = min(task.ttl_ms, _LONGEST_MS) / 1000 - known
    return interval if left <= 0 else min(interval, max(LEAST_POLL_SECONDS, left))
