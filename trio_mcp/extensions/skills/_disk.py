"""Threads in which a server's skills are looked at, and read.

They are the extension's own: a file system that hangs takes no place of what an application does
in threads, and whoever waits for it can be cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import attrs
import trio

from trio_mcp._rpc._flight import Together

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

READERS: Final = 8
"""How many files are read at the same time. One that hangs keeps its place until it ends, even if
nobody waits for it any more."""


@attrs.define(eq=False)
class _Places:
    """Those of one run of Trio; a server may be served in several, in several threads."""

    # One that was given up has to end before the next one begins.
    looker: trio.CapacityLimiter = attrs.field(factory=lambda: trio.CapacityLimiter(1))
    readers: trio.CapacityLimiter = attrs.field(factory=lambda: trio.CapacityLimiter(READERS))
    together: Together = attrs.field(factory=Together)
    begun: int = 0
    done: int = 0


class Disk:
    """Looks at a disk, for many at once, and reads from it.

    Args:
      look: Looks; it is called in a thread, and in several runs of Trio at the same time.

    """

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._places: trio.lowlevel.RunVar[_Places] = trio.lowlevel.RunVar("skills")

    async def look(self) -> None:
        """Look at what there is now. Those who ask at the same time share one look.

        It has begun after it was asked for: who comes while another one is under way gets the
        next, with all who came meanwhile.

        Raises:
          Exception: what the look raises.

        Cancellation:
          The look is let go, and the next of those who wait begins another when it has ended.

        """
        places = self._places_here()
        came = places.begun
        # Counted by their beginning: what began before may have missed what was written since.
        await places.together.do(self._look_here, lambda: places.done <= came)

    async def _look_here(self) -> None:
        places = self._places_here()
        places.begun += 1
        this = places.begun
        await trio.to_thread.run_sync(self._look, abandon_on_cancel=True, limiter=places.looker)
        places.done = this

    async def read(self, read: Callable[[], T]) -> T:
        """Call a function that reads from the disk, in a thread.

        Raises:
          Exception: what the function raises.

        Cancellation:
          It is let go, and its result is dropped.

        """
        return await trio.to_thread.run_sync(
            read, abandon_on_cancel=True, limiter=self._places_here().readers
        )

    def _places_here(self) -> _Places:
        try:
            return self._places.get()
        except LookupError:
            places = _Places()
            self._places.set(places)
            return places
