"""Runs what notifications ask of user code: in order, behind the reader, never in its way."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import attrs
import trio

from ._calls import MAX_LAG, logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@attrs.define(eq=False)
class Pump:
    """A queue of callbacks and the one task that runs them.

    A callback that lags `MAX_LAG` notifications behind loses the oldest, which are counted,
    and slows nobody else.
    """

    lost: int = 0
    is_fresh: bool = False
    """What waits was put in since the task last looked, and may have to begin at once."""
    _is_busy: bool = False
    _has_ended: bool = False
    _waiting: deque[Callable[[], Awaitable[None]]] = attrs.field(
        factory=lambda: deque(maxlen=MAX_LAG)
    )
    _wakeup: trio.Event = attrs.field(factory=trio.Event)
    _idle: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    def put(self, callback: Callable[[], Awaitable[None]]) -> None:
        if len(self._waiting) == MAX_LAG:
            if not self.lost:
                logger.warning("Notifications are lost: a callback lags %d behind", MAX_LAG)
            self.lost += 1
        self._waiting.append(callback)
        self._wakeup.set()
        self.is_fresh = not self._is_busy

    async def let_begin(self) -> None:
        """Let what waits begin before anything that comes after it.

        The task is runnable by now, or has just been started; two turns of the event loop later
        it has begun. This never waits for user code: behind a callback that lags, what waits is
        overtaken.
        """
        self.is_fresh = False
        for _ in range(2):
            await trio.lowlevel.checkpoint()

    @property
    def is_idle(self) -> bool:
        """Whether all that was put in has run, or nothing runs any more."""
        return self._has_ended or not (self._waiting or self._is_busy)

    async def wait_idle(self) -> None:
        """Wait until all that was put in has run. Not a checkpoint."""
        while not self.is_idle:
            await self._idle.park()

    async def run(self) -> None:
        """Run callbacks until cancelled. One that fails is logged, and the next one runs."""
        try:
            while True:
                await self._wakeup.wait()
                self._wakeup = trio.Event()
                self._is_busy, self.is_fresh = True, False
                while self._waiting:
                    await run_logged(self._waiting.popleft())
                self._is_busy = False
                self._idle.unpark_all()
        finally:
            self._has_ended = True
            self._idle.unpark_all()


async def run_logged(callback: Callable[[], Awaitable[None]]) -> None:
    """Run a callback for a notification; its failure is logged with its traceback."""
    try:
        await callback()
    except Exception:  # noqa: BLE001 - nobody waits for it who could be told
        logger.exception("The handler of a notification failed")
