"""What is entered before the first connection of a server, and left after the last one."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

import trio

from trio_mcp._rpc._nursery import finish_within, open_background_nursery

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

logger: Final = logging.getLogger("trio_mcp")

SHUTDOWN_TIMEOUT: Final = 10.0
"""Seconds for a lifespan to end in, before that is cancelled."""

LifespanT = TypeVar("LifespanT", bound="Lifespan")


class Lifespan(ABC):
    """A lifespan in a task of its own, so that nobody who cancels the server cancels it first.

    What it raises is raised by who waits for its start or its end. If it ends unasked, so does
    what is served.
    """

    def __init__(self) -> None:
        self.settled = trio.Event()
        self.stopping = trio.Event()
        self.ended = trio.Event()
        self.error: Exception | None = None
        self.served = trio.CancelScope()
        self._scope = trio.CancelScope()

    @abstractmethod
    async def live(self) -> bool:
        """Be the lifespan: set `settled` when it has begun, and wait for `stopping` then.

        Returns:
          Whether its end is that of the server; an exception always is.

        """

    @abstractmethod
    async def wait_started(self) -> None:
        """Wait until it is `settled`, and raise what went wrong."""

    async def run(self) -> None:
        """Live.

        What is served is to have ended before its lifespan does, whoever cancels: it is kept from
        being cancelled until `stop` has set a deadline.
        """
        is_end = True
        with finish_within(math.inf) as self._scope:
            try:
                is_end = await self.live()
            except Exception as exc:  # noqa: BLE001 - raised by `wait_started` or `stop`
                self.error = exc
        self.settled.set()
        self.ended.set()
        if is_end and not self.stopping.is_set():
            if self.error is None:
                logger.info("The lifespan has ended, and the server ends with it")
            self.served.cancel(reason="the lifespan has ended")

    async def stop(self) -> None:
        """Have it end, also when cancelled, and cancel it after a while.

        Raises:
          Exception: what it raised.

        """
        self.stopping.set()
        self._scope.deadline = trio.current_time() + SHUTDOWN_TIMEOUT
        with finish_within(SHUTDOWN_TIMEOUT + 1):
            await self.ended.wait()
        self.raise_error()

    def give_up(self) -> None:
        """End it although it has not started."""
        self._scope.cancel(reason="the server was cancelled before it had started")

    def raise_error(self) -> None:
        """Raise what it raised, once."""
        error, self.error = self.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback refers to this frame


@asynccontextmanager
async def open_lifespan(lifespan: LifespanT) -> AsyncGenerator[LifespanT, None]:
    """Start a lifespan, and stop it when the block is left; its own end ends the block, too.

    Raises:
      Exception: what it raised.

    Cancellation:
      The lifespan is not cancelled before the block has ended, and has `SHUTDOWN_TIMEOUT`
      seconds then.

    """
    async with open_background_nursery() as nursery:
        nursery.start_soon(lifespan.run, name="lifespan")
        try:
            await lifespan.wait_started()
        except BaseException:
            lifespan.give_up()
            raise
        try:
            with lifespan.served:
                yield lifespan
        finally:
            await lifespan.stop()  # noqa: ASYNC102 - it shields itself, bounded
