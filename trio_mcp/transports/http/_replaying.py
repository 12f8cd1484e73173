"""A stream of an older session that a client resumes: what it has missed, and then the rest.

What is kept of a stream may be much more than its client reads soon, and many may ask for it
at the same time. So it is read in parts, each when there is room for it, and who comes back
once more ends the answer before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ._keeping import read_missed, within_store_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    import trio

    from ._event_store import EventStore
    from ._keeping import Missed
    from ._outage import Outage
    from ._outgoing import Outgoing
    from ._session_streams import SessionStream


@attrs.define(eq=False)
class Replay:
    """One client on its way through what it has missed.

    Args:
      store: Where that is kept.
      order: Of the session.
      find: Gives the stream of a name; None where it is none of the session.
      last_event_id: What the client has last.
      outgoing: The answer that carries the stream on.

    Attributes:
      is_done: Whether the client has all but what is still to come.

    """

    _store: EventStore
    _order: trio.Lock
    _find: Callable[[str], SessionStream | None]
    _last_event_id: str
    _outgoing: Outgoing
    is_done: bool = False
    _stream: SessionStream | None = None

    @property
    def stream(self) -> SessionStream:
        """The stream, once it has begun."""
        assert self._stream is not None
        return self._stream

    async def begin(self) -> bool:
        """Send the first part of it.

        Returns:
          Whether there is such a stream, of which nothing is lost.

        Raises:
          InsufficientScopeError: if it takes more than who asks may.
          ConnectionError, TimeoutError: if the store is away, or takes too long.

        """
        async with self._order:
            missed = await self._read(None)
            stream = None if missed is None else self._find(missed.stream_id)
            if missed is None or stream is None or stream.has_gap:
                # What another session was sent is for nobody else, whatever id is named.
                return False
            self._stream = stream
            stream.begin_replay(self._outgoing)
            self._put(stream, missed)
        return True

    async def go_on(self, outage: Outage) -> None:
        """Send the other parts, each when there is room for it."""
        try:
            while not self.is_done:
                await self._outgoing.wait_room()
                if not await self._put_more():
                    return
        except (ConnectionError, TimeoutError) as exc:
            # The client comes back, and perhaps the store does so sooner.
            outage.tell("read", "A stream cannot be carried on now: %s", exc)
        finally:
            if not self.is_done:
                self._outgoing.end()

    async def _put_more(self) -> bool:
        stream = self.stream
        async with self._order:
            if not stream.is_replayed_to(self._outgoing):
                return False
            missed = await self._read(stream.id)
            if missed is None or stream.has_gap or not stream.is_replayed_to(self._outgoing):
                return False
            self._put(stream, missed)
        return True

    async def _read(self, stream_id: str | None) -> Missed | None:
        with within_store_seconds():
            return await read_missed(self._store, self._last_event_id, stream_id)

    def _put(self, stream: SessionStream, missed: Missed) -> None:
        self._last_event_id = missed.last_event_id
        self._outgoing.put_all(missed.events)
        if missed.is_all:
            self.is_done = True
            stream.resume(self._outgoing)
