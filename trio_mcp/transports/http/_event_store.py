"""What was sent on the streams of older sessions, kept so that they can be resumed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import trio

from trio_mcp._checks import check_whole
from trio_mcp._codec import dump_message, parse_frame

if TYPE_CHECKING:
    from trio_mcp.types import JSONRPCMessage

StreamId: TypeAlias = str
EventId: TypeAlias = str


@attrs.frozen
class EventMessage:
    """A message that was sent, and the id of its event."""

    message: JSONRPCMessage
    event_id: EventId | None = None


EventCallback: TypeAlias = Callable[[EventMessage], Awaitable[None]]


class EventStore(ABC):
    """Keeps the events of streams, so that a client which lost one can have what it missed.

    Ids of events are unique in the whole store, and a client that has one can learn nothing
    of another stream by it. The messages hold what servers answer; whoever can read the store
    can read that. One store may serve several servers.

    Streams are resumed in sessions of the older era alone (2025-03-26 to 2025-11-25).
    """

    def open(self) -> AbstractAsyncContextManager[None]:
        """Run what the store needs, as long as the block lasts; most need nothing.

        Each server that uses the store enters it before its first request, and leaves it after
        its last one.
        """
        return nullcontext()

    @abstractmethod
    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Keep a message as the next event of a stream, and return the event's id.

        Args:
          stream_id: Names the stream: unique, and secret as the id of a session is.
          message: What is sent; None for an event that does no more than to tell its id, so
              that there is one to resume after. It is not replayed.

        Raises:
          Exception: if it is not kept. It is sent all the same, without an id.

        Cancellation:
          The event may have been kept.

        """

    @abstractmethod
    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        """Give what came after an event on its stream, in order.

        Args:
          last_event_id: What the client says: any text.
          send_callback: Called with each message.

        Returns:
          The stream; None if there is no such event (any more), or if some that came after it
          are lost.

        """


class SharedEventStore(EventStore):
    """An event store of several processes: a client may come back to any of them.

    A session lives in one process. Another one sends its client what is kept of a stream, also
    when the first one is no more, and what is kept later.
    """

    @abstractmethod
    async def is_written(self, stream_id: StreamId) -> bool:
        """Tell whether the process lives that has written a stream last."""

    @abstractmethod
    async def end_session(self, session_id: str) -> None:
        """Know that a session has ended: nobody goes on with its streams.

        Args:
          session_id: A secret.

        """

    @abstractmethod
    async def has_ended(self, session_id: str) -> bool:
        """Tell whether a session is known to have ended."""


@attrs.define(eq=False)
class _KeptStream:
    id: StreamId
    key: int
    first: int = 1
    """The number of the oldest event that is kept."""
    events: deque[bytes | None] = attrs.Factory(deque[Any])
    size: int = 0


class InMemoryEventStore(EventStore):
    """Keeps events in this process, within bounds: the streams used longest ago are forgotten.

    Args:
      max_events_per_stream: More push out the oldest of their stream.
      max_streams: More push out the stream that was written longest ago.
      max_bytes: Of all messages together, likewise.

    """

    def __init__(
        self,
        *,
        max_events_per_stream: int = 1_000,
        max_streams: int = 10_000,
        max_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        check_whole("max_events_per_stream", max_events_per_stream, least=1)
        check_whole("max_streams", max_streams, least=1)
        check_whole("max_bytes", max_bytes, least=1)
        self._max_events_per_stream = max_events_per_stream
        self._max_streams = max_streams
        self._max_bytes = max_bytes
        self._streams: OrderedDict[StreamId, _KeptStream] = OrderedDict()
        self._by_key: dict[int, _KeptStream] = {}
        self._last_key = 0
        self._size = 0

    def __len__(self) -> int:
        """Count the events that are kept."""
        return sum(len(each.events) for each in self._streams.values())

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """See `EventStore.store_event`."""
        await trio.lowlevel.checkpoint()
        stream = self._streams.get(stream_id)
        if stream is None:
            self._last_key += 1
            stream = _KeptStream(stream_id, self._last_key)
            self._streams[stream_id] = self._by_key[stream.key] = stream
        self._streams.move_to_end(stream_id)
        data = None if message is None else dump_message(message)
        stream.events.append(data)
        self._count(stream, data, +1)
        if len(stream.events) > self._max_events_per_stream:
            self._count(stream, stream.events.popleft(), -1)
            stream.first += 1
        self._forget_some()
        return f"{stream.key}-{stream.first + len(stream.events) - 1}"

    def _count(self, stream: _KeptStream, data: bytes | None, sign: int) -> None:
        size = sign * (_OVERHEAD + len(data or b""))
        stream.size += size
        self._size += size

    def _forget_some(self) -> None:
        # The stream just written is the last one, and stays.
        while len(self._streams) > 1 and (
            self._size > self._max_bytes or len(self._streams) > self._max_streams
        ):
            _, stream = self._streams.popitem(last=False)
            del self._by_key[stream.key]
            self._size -= stream.size

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        """See `EventStore.replay_events_after`."""
        await trio.lowlevel.checkpoint()
        key, _, number = last_event_id.partition("-")
        if not (_is_number(key) and _is_number(number)):
            return None
        stream = self._by_key.get(int(key))
        if stream is None:
            return None
        passed = int(number) + 1 - stream.first
        if not 0 <= passed <= len(stream.events):
            return None
        for place, data in enumerate(list(islice(stream.events, passed, None)), int(number) + 1):
            if data is not None:
                message: Any = parse_frame(data)
                await send_callback(EventMessage(message, f"{stream.key}-{place}"))
        return stream.id


_OVERHEAD: Final = 100
# Bytes that an event takes beside its message, about.

_MOST_DIGITS: Final = 18


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
