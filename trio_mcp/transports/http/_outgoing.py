"""What goes out in one HTTP answer: JSON if nothing comes before it, else a stream of events."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._codec._sse import KEEP_ALIVE, dump_event

from ._rules import EVENT_STREAM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._asgi import HttpResponse

MAX_UNSENT: Final = 64
"""Events that may wait for a client that reads slowly, before whoever sends has to wait, too."""

MAX_UNSENT_BYTES: Final = 1024 * 1024
"""Bytes that may wait likewise; one event may be larger."""

PART_SIZE: Final = 256 * 1024
"""Bytes of events that are written at once. What is being written cannot be handed over."""

EVENT_STREAM_HEADERS: Final = (
    ("content-type", EVENT_STREAM),
    ("cache-control", "no-cache, no-transform"),
    # Proxies are not to collect events before they hand them on.
    ("x-accel-buffering", "no"),
)


def _do_nothing() -> None:
    pass


@attrs.define(eq=False)
class Outgoing:
    """The messages of one HTTP answer, between those who send them and the one who writes.

    It stays open whether it is JSON or a stream until something comes that JSON has no place
    for. Then the status is 200 for good, so this is put off as long as possible.

    Args:
      on_stream: Called when it becomes a stream.

    """

    on_stream: Callable[[], None] = _do_nothing
    is_stream: bool = False
    ended: bool = False
    gone: bool = False
    """The client has gone: nothing is sent any more."""

    _size: int = 0
    # What is answered, while it may still be JSON, with the ids that it would have as events.
    _answers: list[tuple[bytes, str | None]] = attrs.Factory(list[Any])
    _events: deque[bytes] = attrs.Factory(deque[bytes])
    _changed: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)
    _room: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    # Those who send

    @property
    def takes_more(self) -> bool:
        """Whether what is put into it is sent, as long as its client is there."""
        return not self.ended and not self.gone

    def put(self, data: bytes, event_id: str | None = None) -> None:
        """Send a message, as one event."""
        if self.takes_more:
            self.become_stream()
            self._append(dump_event(data, id=event_id))

    def put_all(self, messages: Iterable[tuple[bytes, str | None]]) -> None:
        """Send messages with the ids of their events, as a stream."""
        self.become_stream()
        for data, event_id in messages:
            self.put(data, event_id)

    def put_raw(self, event: bytes) -> None:
        """Send an event that is no message."""
        if self.takes_more:
            self.become_stream()
            self._append(event)

    def _append(self, event: bytes) -> None:
        self._events.append(event)
        self._size += len(event)
        self._changed.unpark_all()

    def put_answer(self, data: bytes, event_id: str | None = None) -> None:
        """Send an answer: as JSON, if all that is sent are answers."""
        if self.is_stream:
            self.put(data, event_id)
        elif self.takes_more:
            self._answers.append((data, event_id))

    @property
    def answers(self) -> list[bytes]:
        """What is answered, while it may still be JSON."""
        return [data for data, _ in self._answers]

    async def wait_room(self) -> None:
        """Wait while too much waits for the client. Not a checkpoint."""
        while self._is_full and self.takes_more:
            await self._room.park()

    @property
    def _is_full(self) -> bool:
        return len(self._events) >= MAX_UNSENT or self._size >= MAX_UNSENT_BYTES

    def become_stream(self) -> None:
        """Be a stream from now on, with what was answered so far."""
        if self.is_stream or not self.takes_more:
            return
        self.is_stream = True
        for data, event_id in self._answers:
            self._append(dump_event(data, id=event_id))
        self._answers.clear()
        self._changed.unpark_all()
        self.on_stream()

    def end(self) -> None:
        """No more comes: what waits is still written."""
        self.ended = True
        self._changed.unpark_all()
        self._room.unpark_all()

    def hand_over(self) -> list[bytes]:
        """End, since another answer goes on; give what was not written yet."""
        unsent = list(self._events)
        self._clear()
        self.end()
        return unsent

    def give_up(self) -> None:
        """Nobody reads it any more."""
        self.gone = True
        self.on_stream = _do_nothing
        self._clear()
        self._changed.unpark_all()
        self._room.unpark_all()

    def _clear(self) -> None:
        self._events.clear()
        self._size = 0

    # The one who writes

    async def wait_decided(self) -> None:
        """Wait until it is a stream, or has ended. Not a checkpoint."""
        while not (self.is_stream or self.ended or self.gone):
            await self._changed.park()

    async def write(self, response: HttpResponse, keep_alive: float) -> None:
        """Write the stream, until it has ended or the client has gone.

        Args:
          response: Where to.
          keep_alive: Seconds of silence after which a comment is sent.

        """
        await response.start(200, EVENT_STREAM_HEADERS)
        first = True
        while not self.gone and not response.gone:
            data = self._take_part()
            last = self.ended and not self._events
            self._room.unpark_all()
            if data or last or first:
                # The head goes out with the first part, so there is one at once.
                await response.send_part(data or (b"" if last else KEEP_ALIVE), more=not last)
                first = False
            if last:
                return
            if not await self._wait_changed(keep_alive):
                self._append(KEEP_ALIVE)
        self.give_up()

    def _take_part(self) -> bytes:
        part: list[bytes] = []
        size = 0
        while self._events and (not part or size + len(self._events[0]) <= PART_SIZE):
            part.append(self._events.popleft())
            size += len(part[-1])
        self._size -= size
        return part[0] if len(part) == 1 else b"".join(part)

    async def _wait_changed(self, seconds: float) -> bool:
        with trio.move_on_after(seconds):
            while not (self._events or self.ended or self.gone):
                await self._changed.park()
            return True
        return False
