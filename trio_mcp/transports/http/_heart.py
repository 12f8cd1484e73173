"""The one clock of a server's HTTP answers: after a while, an answer becomes a stream."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
import trio

if TYPE_CHECKING:
    from collections.abc import Generator

    from ._outgoing import Outgoing


@attrs.define(eq=False)
class Heart:
    """Makes each answer a stream that has not come in time, so that comments keep it alive.

    One task for all of them: most answers are quicker, and cost no more than two entries in a
    dictionary.

    Args:
      interval: In seconds.

    """

    interval: float
    # In the order of their times, since all have the same to go.
    _due: dict[Outgoing, float] = attrs.Factory(dict["Outgoing", float])
    _first: trio.Event = attrs.field(factory=trio.Event)

    @contextmanager
    def beating(self, outgoing: Outgoing) -> Generator[None]:
        """Watch an answer as long as the block lasts."""
        self._due[outgoing] = trio.current_time() + self.interval
        self._first.set()
        try:
            yield
        finally:
            self._due.pop(outgoing, None)

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            self._first = trio.Event()
            if self._due:
                wake_at = next(iter(self._due.values()))
            else:
                await self._first.wait()
                # Most have been answered by then: one awakening is enough for all of them.
                wake_at = trio.current_time() + self.interval
            await trio.sleep_until(wake_at)
            self._make_streams(trio.current_time())

    def _make_streams(self, now: float) -> None:
        while self._due:
            outgoing, due = next(iter(self._due.items()))
            if due > now:
                return
            del self._due[outgoing]
            outgoing.become_stream()
