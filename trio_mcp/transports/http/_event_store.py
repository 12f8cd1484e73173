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

from ._ranking import Ranking

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

    A session has many streams, and what it may take of the store should be bounded, so that no
    client pushes out what others may want to resume: the id of a stream begins with that of its
    session, and a slash.

    What is sent without being kept is no business of the store: a notification ``trio_mcp/lost``
    is given to it before the next message of that stream, and nothing is resumed across that.
    """

    def open(self) -> AbstractAsyncContextManager[None]:
        """Run what the store needs, as long as the block lasts; most need nothing.

        Each server that uses the store enters it before its first request, and leaves it after
        its last one.
        """
        return nullcontext()

    @abstractmethod
    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Keep a message as the next event of a stream.

        Nothing else is sent in the session meanwhile. So it is cancelled if it takes more than
        15 seconds, and the message is sent without an id.

        Args:
          stream_id: Names the stream: unique, and secret as the id of a session is, with which
              it begins: ``SESSION/…``.
          message: What is sent; None for an event that does no more than to tell its id, so
              that there is one to resume after. It is not replayed.

        Returns:
          The event's id: some text without line ends, null characters and lone surrogates.

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

        Of much, a part is taken at a time, as the client reads it: then this is called again,
        with the id of the last event that was.

        Args:
          last_event_id: What the client says: any text.
          send_callback: Called with each message. It may be cancelled when it has enough.

        Returns:
          The stream; None if there is no such event (any more), or if some that came after it
          are lost.

        """

    async def stream_of(self, event_id: EventId) -> StreamId | None:  # noqa: ARG002 - as below
        """Tell on which stream an event is, so that no more is read of it than is sent at once.

        Unless it is overridden, nobody knows, and whoever resumes has all of the stream read for
        the first part of it.

        Args:
          event_id: What the client says: any text.

        Returns:
          The stream; None if that is not known, or if there is no such event (any more).

        Raises:
          Exception: as `replay_events_after`.

        """
        await trio.lowlevel.checkpoint()
        return None

    async def end_session(self, session_id: str) -> None:  # noqa: ARG002 - for those who override
        """Forget the streams of a session that has ended; does nothing unless it is overridden.

        Called when its client has ended a session, or was gone for too long: nobody will ask
        for its streams again, so what its client was answered need not be kept any longer. Not
        called when the server stops.

        Args:
          session_id: A secret. The ids of its streams begin with it, and a slash.

        Raises:
          Exception: is logged.

        Cancellation:
          Some may have been forgotten. It is cancelled if it takes more than 15 seconds.

        """
        await trio.lowlevel.checkpoint()


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
        """Forget the streams of a session, and know that it has ended: see `has_ended`.

        Args:
          session_id: A secret.

        """

    @abstractmethod
    async def has_ended(self, session_id: str) -> bool:
        """Tell whether a session is known to have ended."""


@attrs.define(eq=False)
class _KeptSession:
    id: str
    streams: OrderedDict[StreamId, _KeptStream] = attrs.Factory(OrderedDict[str, Any])
    """Those written longest ago first."""

    size: int = 0


@attrs.define(eq=False)
class _KeptStream:
    id: StreamId
    key: int
    session: _KeptSession
    first: int = 1
    """The number of the oldest event that is kept."""
    events: deque[bytes | None] = attrs.Factory(deque[Any])
    size: int = 0


class InMemoryEventStore(EventStore):
    """Keeps events in this process, within bounds.

    Where something has to be forgotten, it is of the session that takes the most, the stream
    that it used longest ago: no client pushes out what others want to resume.

    Args:
      max_events_per_stream: More push out the oldest of their stream.
      max_streams: More push out one of the session that has the most.
      max_bytes: Of all messages together, likewise. A message that is larger is not kept.

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
        self._sessions: dict[str, _KeptSession] = {}
        self._by_key: dict[int, _KeptStream] = {}
        self._by_count: Ranking[_KeptSession] = Ranking()
        self._by_size: Ranking[_KeptSession] = Ranking()
        self._last_key = 0
        self._size = 0

    def __len__(self) -> int:
        """Count the events that are kept."""
        return sum(len(each.events) for each in self._by_key.values())

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """See `EventStore.store_event`."""
        await trio.lowlevel.checkpoint()
        data = None if message is None else dump_message(message)
        stream = self._stream(stream_id)
        stream.events.append(data)
        self._count(stream, data, +1)
        number = stream.first + len(stream.events) - 1
        if len(stream.events) > self._max_events_per_stream:
            self._forget_first(stream)
        self._rank(stream.session)
        self._forget_some()
        return f"{stream.key}-{number}"

    def _stream(self, stream_id: StreamId) -> _KeptStream:
        session_id = stream_id.partition("/")[0]
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _KeptSession(session_id)
        stream = session.streams.get(stream_id)
        if stream is None:
            self._last_key += 1
            stream = _KeptStream(stream_id, self._last_key, session)
            session.streams[stream_id] = self._by_key[stream.key] = stream
        session.streams.move_to_end(stream_id)
        return stream

    def _count(self, stream: _KeptStream, data: bytes | None, sign: int) -> None:
        size = sign * (_OVERHEAD + len(data or b""))
        stream.size += size
        stream.session.size += size
        self._size += size

    def _rank(self, session: _KeptSession) -> None:
        self._by_count.put(session, len(session.streams))
        self._by_size.put(session, session.size)

    # What is forgotten

    def _forget_some(self) -> None:
        while len(self._by_key) > self._max_streams:
            self._forget(next(iter(self._by_count.largest().streams.values())))
        while self._size > self._max_bytes:
            session = self._by_size.largest()
            stream = next(iter(session.streams.values()))
            if len(session.streams) > 1:
                self._forget(stream)
            else:
                # It may be the one just written, which goes on.
                self._forget_first(stream)
                self._rank(session)

    def _forget_first(self, stream: _KeptStream) -> None:
        self._count(stream, stream.events.popleft(), -1)
        stream.first += 1

    def _forget(self, stream: _KeptStream) -> None:
        session = stream.session
        del session.streams[stream.id], self._by_key[stream.key]
        session.size -= stream.size
        self._size -= stream.size
        self._rank(session)
        if not session.streams:
            del self._sessions[session.id]

    async def end_session(self, session_id: str) -> None:
        """See `EventStore.end_session`."""
        await trio.lowlevel.checkpoint()
        session = self._sessions.get(session_id)
        if session is not None:
            for stream in list(session.streams.values()):
                self._forget(stream)

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        """See `EventStore.replay_events_after`."""
        await trio.lowlevel.checkpoint()
        stream, number = self._find(last_event_id)
        if stream is None:
            return None
        passed = number + 1 - stream.first
        for place, data in enumerate(list(islice(stream.events, passed, None)), number + 1):
            if data is not None:
                message: Any = parse_frame(data)
                await send_callback(EventMessage(message, f"{stream.key}-{place}"))
        return stream.id

    async def stream_of(self, event_id: EventId) -> StreamId | None:
        """See `EventStore.stream_of`."""
        await trio.lowlevel.checkpoint()
        stream, _ = self._find(event_id)
        return None if stream is None else stream.id

    def _find(self, event_id: EventId) -> tuple[_KeptStream | None, int]:
        """Find the stream of an event of which nothing behind that event is lost."""
        key, _, number = event_id.partition("-")
        if not (_is_number(key) and _is_number(number)):
            return None, 0
        stream = self._by_key.get(int(key))
        if stream is None or not 0 <= int(number) + 1 - stream.first <= len(stream.events):
            return None, 0
        return stream, int(number)


_OVERHEAD: Final = 100
# Bytes that an event takes beside its message, about.

_MOST_DIGITS: Final = 18


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
