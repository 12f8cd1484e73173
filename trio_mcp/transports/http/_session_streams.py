"""The streams of an older session: each answers a POST, or carries what belongs to no request."""

from __future__ import annotations

import logging
import math
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._codec import dump_message
from trio_mcp._codec._sse import dump_event
from trio_mcp.types import JSONRPCError, JSONRPCResponse

from ._outage import Outage

if TYPE_CHECKING:
    from trio_mcp.types import JSONRPCMessage

    from ._event_store import EventMessage, EventStore
    from ._outgoing import Outgoing

logger: Final = logging.getLogger("trio_mcp.http")

MAX_BACKLOG: Final = 64
"""Messages that wait for a client to open a stream for them; beyond that the oldest are lost."""

DEFAULT_RETRY_MS: Final = 1_000
"""Milliseconds until a client comes back that was asked to, if the server does not say more."""


STORE_SECONDS: Final = 15.0
"""Seconds that an event store may take for one message, and for giving a stream again. What
the session sends next waits that long."""

PAUSE_SECONDS: Final = 30.0
"""Seconds in which a session does without an event store that has taken too long."""


@attrs.define(eq=False)
class Patience:
    """How long a session waits for an event store: for one that hangs, once in a while."""

    _resumes_at: float = -math.inf

    @property
    def is_lost(self) -> bool:
        """Whether the store took too long just now."""
        return trio.current_time() < self._resumes_at

    def lose(self) -> None:
        """The store has taken too long."""
        self._resumes_at = trio.current_time() + PAUSE_SECONDS


@attrs.frozen
class StreamOptions:
    """How the streams of a session can be resumed.

    Attributes:
      store: Keeps what was sent; None if they cannot.
      polls: Whether the revision knows streams that are closed for a while.
      retry_ms: How long clients are to wait then, if that was said.
      patience: With the store.
      outage: Of the store, for all who use it.

    """

    store: EventStore | None
    polls: bool
    retry_ms: int | None
    patience: Patience = attrs.Factory(Patience)
    outage: Outage = attrs.Factory(Outage)

    @property
    def are_primed(self) -> bool:
        """Whether a stream begins with an event that no more than tells its id."""
        return self.store is not None and self.polls


NOT_RESUMABLE: Final = StreamOptions(None, polls=False, retry_ms=None)


@attrs.define(eq=False)
class SessionStream:
    """One stream, whichever HTTP answers carry it.

    Args:
      id: Unique, and secret as the id of the session is, of which it is a part.
      options: How it can be resumed.
      order: Of the session: what is kept of its streams is sent in the same order.

    """

    id: str
    _options: StreamOptions
    _order: trio.Lock
    keeps_backlog: bool = False
    """What is sent while no answer carries it waits for one."""

    _outgoing: Outgoing | None = None
    _ended: bool = False
    # Requests without an answer: a batch may give one id to several.
    _pending: int = 0
    _finished: trio.Event = attrs.field(factory=trio.Event)
    # What is to be kept before anything else, in this order.
    _waiting: deque[tuple[JSONRPCMessage, bytes]] = attrs.Factory(deque[Any])
    _backlog: deque[tuple[bytes, str | None]] = attrs.field(
        factory=lambda: deque(maxlen=MAX_BACKLOG)
    )
    # From then on a client that has missed something can say what it had before.
    _has_told_id: bool = False

    @property
    def can_ask(self) -> bool:
        """Whether something sent now may reach the client."""
        carried = self._outgoing is not None and not self._outgoing.gone
        return not self._ended and (carried or self.keeps_backlog or self._has_told_id)

    @property
    def is_primed(self) -> bool:
        """Whether its client knows to come back when it is closed for a while."""
        return self._options.are_primed

    def use(self, options: StreamOptions) -> None:
        """Know how it can be resumed, now that the handshake has told."""
        self._options = options

    # What is sent

    async def send(self, message: JSONRPCMessage, data: bytes) -> None:
        """Send a message that is no answer; waits while too much waits for the client.

        Args:
          message: The message.
          data: The same as it is written.

        """
        if self._outgoing is not None:
            await self._outgoing.wait_room()
        await self._keep_and_put(data, message)

    async def answer(self, message: JSONRPCResponse | JSONRPCError, data: bytes) -> None:
        """Send the answer to one of its requests. The stream ends with the last of them.

        Args:
          message: The answer.
          data: The same as it is written.

        """
        await self._keep_and_put(data, message)
        self.drop()

    def drop(self) -> None:
        """One of its requests needs no answer any more."""
        self._pending -= 1
        if self._pending <= 0:
            self.end()

    def send_nowait(self, message: JSONRPCMessage) -> bool:
        """Send a message for which nobody waits, before whatever is sent after it.

        Returns:
          Whether it still waits to be kept, for which `keep_waiting` has to be called.

        """
        data = dump_message(message)
        if self._options.store is None:
            self._put(data, None, is_answer=False)
            return False
        self._waiting.append((message, data))
        return True

    async def keep_waiting(self) -> None:
        """Keep, and so send, what `send_nowait` has left, unless that was done meanwhile."""
        async with self._order:
            await self._keep_waiting()

    async def _keep_and_put(self, data: bytes, message: JSONRPCMessage) -> None:
        if self._ended:
            return  # what is kept of a session that has ended would stay
        if self._options.store is None:
            is_answer = isinstance(message, (JSONRPCResponse, JSONRPCError))
            self._put(data, None, is_answer=is_answer)
            return
        async with self._order:
            self._waiting.append((message, data))
            await self._keep_waiting()

    async def _keep_waiting(self) -> None:
        while self._waiting:
            message, data = self._waiting[0]
            event_id = await self._store_event(message)
            self._waiting.popleft()
            is_answer = isinstance(message, (JSONRPCResponse, JSONRPCError))
            self._put(data, event_id, is_answer=is_answer)

    async def _store_event(self, message: JSONRPCMessage | None) -> str | None:
        store, patience, outage = (
            self._options.store,
            self._options.patience,
            self._options.outage,
        )
        assert store is not None
        if patience.is_lost:
            return None
        try:
            with trio.move_on_after(STORE_SECONDS):
                event_id = await store.store_event(self.id, message)
                outage.is_over("keep")
                return event_id
            patience.lose()
            outage.tell(
                "keep",
                "An event store took more than %g s: for %g s, nothing is kept of what is sent",
                STORE_SECONDS,
                PAUSE_SECONDS,
            )
            return None
        except ConnectionError as exc:
            outage.tell("keep", "A message is sent without being kept: %s", exc)
            return None
        except Exception as exc:  # noqa: BLE001 - told, with its traceback
            what = "An event store failed: a message is sent without being kept"
            outage.tell("keep", what, defect=exc)
            return None

    def _put(self, data: bytes, event_id: str | None, *, is_answer: bool) -> None:
        outgoing = self._outgoing
        if outgoing is None or outgoing.gone:
            if self.keeps_backlog:
                self._backlog.append((data, event_id))
            return
        if is_answer:
            outgoing.put_answer(data, event_id)
        else:
            outgoing.put(data, event_id)
        self._has_told_id |= event_id is not None and outgoing.is_stream

    # Its answers over HTTP

    async def carry(self, outgoing: Outgoing) -> None:
        """Have an HTTP answer carry it from the beginning, or from now on."""
        if self._options.are_primed:
            async with self._order:
                event_id = await self._store_event(None)
                unsent = self._take_over(outgoing)
                if event_id is not None:
                    retry_ms = self._options.retry_ms
                    outgoing.put_raw(dump_event(b"", id=event_id, retry_ms=retry_ms))
                    self._has_told_id = True
        else:
            unsent = self._take_over(outgoing)
        for event in unsent:
            outgoing.put_raw(event)
        self._put_backlog()

    def _put_backlog(self) -> None:
        backlog = list(self._backlog)
        self._backlog.clear()
        for data, event_id in backlog:
            self._put(data, event_id, is_answer=False)

    def resume(self, outgoing: Outgoing, missed: list[EventMessage]) -> None:
        """Have an HTTP answer carry it on, after what its client has missed.

        The order of the session is kept by the caller.
        """
        put_missed(outgoing, missed)
        self._has_told_id = True
        # Of what waited, the client has missed nothing but what could not be kept.
        kept = [each for each in self._backlog if each[1] is None]
        self._backlog.clear()
        self._backlog.extend(kept)
        self._take_over(outgoing)
        self._put_backlog()

    def _take_over(self, outgoing: Outgoing) -> list[bytes]:
        # The answer before may go to nobody: its client comes back sooner than that is seen.
        before, self._outgoing = self._outgoing, outgoing
        unsent = [] if before is None else before.hand_over()
        if self._ended:
            outgoing.end()
        return unsent

    def let_go(self, outgoing: Outgoing) -> None:
        """An HTTP answer is over: it carries the stream no more."""
        if self._outgoing is outgoing:
            self._outgoing = None

    async def close_for_now(self) -> None:
        """End the HTTP answer, but not the stream: its client comes back for the rest.

        One that was told no id, since the store took none, could not: its answer goes on.
        """
        await trio.lowlevel.checkpoint()
        if not self._has_told_id:
            return
        outgoing, self._outgoing = self._outgoing, None
        if outgoing is not None:
            retry_ms = self._options.retry_ms
            retry_ms = DEFAULT_RETRY_MS if retry_ms is None else retry_ms
            outgoing.put_raw(b"retry: %d\n\n" % retry_ms)
            outgoing.end()

    def expect(self, requests: int) -> None:
        """It does not end before so many requests have their answers."""
        self._pending += requests

    def end(self) -> None:
        """No more comes."""
        self._ended = True
        self._finished.set()
        if self._outgoing is not None:
            self._outgoing.end()

    @property
    def ended(self) -> bool:
        return self._ended

    async def wait_ended(self) -> None:
        """Wait until all requests have their answers."""
        await self._finished.wait()


def put_missed(outgoing: Outgoing, missed: list[EventMessage]) -> None:
    """Send what a client has missed."""
    outgoing.become_stream()
    for each in missed:
        outgoing.put(dump_message(each.message), each.event_id)
