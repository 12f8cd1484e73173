"""One task asks for what many want at the same time, and they wait for its outcome.

Nothing is held while it asks: whoever waits does so in a scope of its own, and goes on as soon as
there is an outcome. A task that is cancelled leaves none, and another takes over.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import trio

from trio_mcp.errors import ConnectionLost

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

T = TypeVar("T")


class Flight(Generic[T]):
    """Something under way, by the task that is in its block.

    Attributes:
      outcome: What came of it, for those who wait. None if nothing did: then one of them has to
          do it.

    """

    __slots__ = ("_error", "_landed", "outcome")

    def __init__(self) -> None:
        self._landed = trio.Event()
        self._error: Exception | None = None
        self.outcome: T | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be waited for any more."""
        return self._landed.is_set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if isinstance(exc_val, Exception):
            # A copy: the traceback of the error holds the frames that hold this.
            self._error = _again(exc_val)
        self._landed.set()

    async def wait(self) -> T | None:
        """Wait until it is over, and return its outcome.

        Raises:
          Exception: one of the caller's own like that which ended it.

        """
        await self._landed.wait()
        if self._error is not None:
            raise _again(self._error)
        return self.outcome


class Together:
    """Has one task at a time do what many want."""

    __slots__ = ("_flight",)

    def __init__(self) -> None:
        self._flight: Flight[None] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether some task is at it."""
        return self._flight is not None

    async def do(self, job: Callable[[], Awaitable[Any]], is_wanted: Callable[[], bool]) -> None:
        """Do something, unless another task does, or it has been done.

        Args:
          job: What to do.
          is_wanted: Asked before, and after each wait: whether that is still to be done.

        Raises:
          Exception: what the job raises, here or where another task did it meanwhile.

        Cancellation:
          The job is cancelled, and one of those who wait does theirs.

        """
        while is_wanted():
            flight = self._flight
            if flight is not None:
                await flight.wait()
                continue
            try:
                with Flight[None]() as self._flight:
                    await job()
            finally:
                self._flight = None
            return
        await trio.lowlevel.checkpoint()


def _again(error: Exception) -> Exception:
    """Make a copy of an error, for another task that raises it."""
    if isinstance(error, ConnectionLost):
        return error.again()
    try:
        made = copy.copy(error)
    except Exception:  # noqa: BLE001 - of a class that cannot be copied: all raise the one
        return error
    made.__cause__ = error.__cause__
    return made
