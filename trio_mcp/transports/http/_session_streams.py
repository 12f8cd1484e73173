"""The streams of an older session: each answers a POST, or carries what belongs to no request."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._codec import dump_message
from trio_mcp._codec._sse import dump_event
from trio_mcp.types import JSONRPCError, JSONRPCResponse

from ._keeping import GAP

if TYPE_CHECKING:
    from trio_mcp.types import JSONRPCMessage

    from ._keeping import StreamOptions
    from ._outgoing import Outgoing

MAX_BACKLOG: Final = 64
"""Messages that wait for a client to open a stream for them; beyond that the oldest are lost."""

DEFAULT_RETRY_MS: Final = 1_000
"""Milliseconds until a client comes back that was asked to, if the server does not say more."""


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
    # What will carry it once its client has what it has missed.
    _replaying: Outgoing | None = None
    _ended: bool = False
    # Requests without an answer: a batch may give one id to several.
    _pending: int = 0
    _finished: trio.Event = attrs.field(factory=trio.Event)
    # What is to be kept before anything else, in this order, and then sent, if it is written.
    _waiting: deque[tuple[JSONRPCMessage, bytes | None]] = attrs.Factory(deque[Any])
    _backlog: deque[tuple[bytes, str | None]] = attrs.field(
        factory=lambda: deque(maxlen=MAX_BACKLOG)
    )
    # From then on a client that has missed something can say what it had before.
    _has_told_id: bool = False
    _has_kept: bool = False
    _has_gap: bool = False
    # What was being kept when that was given up.
    _in_doubt: JSONRPCMessage | None = None

    @property
    def can_ask(self) -> bool:
        """Whether something sent now may reach the client."""
        carried = self._outgoing is not None and self._outgoing.takes_more
        return not self._ended and (carried or self.keeps_backlog or self._may_come_back)

    @property
    def has_gap(self) -> bool:
        """Whether something was sent without being kept, after all that is kept."""
        return self._has_gap

    @property
    def _may_come_back(self) -> bool:
        return self._has_told_id and not self._has_gap

    def may_have_kept(self, message: JSONRPCMessage) -> bool:
        """Tell whether a message whose sender was cancelled may be kept all the same."""
        return self._in_doubt is message

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

        Cancellation:
          It is not sent. It may have been kept, and then who resumes the stream gets it: see
          `may_have_kept`.

        """
        # Also while a client is sent what it has missed, or more would be pushed out meanwhile.
        carrier = self._replaying if self._outgoing is None else self._outgoing
        if carrier is not None:
            await carrier.wait_room()
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

    def send_nowait(self, message: JSONRPCMessage, *, is_sent: bool = True) -> bool:
        """Send a message for which nobody waits, before whatever is sent after it.

        Args:
          message: The message.
          is_sent: Otherwise it is only for who resumes the stream.

        Returns:
          Whether it still waits to be kept, for which `keep_waiting` has to be called.

        """
        data = dump_message(message)
        if self._options.store is None:
            self._put(data, None, is_answer=False)
            return False
        self._waiting.append((message, data if is_sent else None))
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
            waiting: tuple[JSONRPCMessage, bytes | None] = (message, data)
            self._waiting.append(waiting)
            try:
                await self._keep_waiting()
            finally:
                if self._waiting:
                    # Cancelled: nobody is to hear it now.
                    left = [each for each in self._waiting if each is not waiting]
                    self._waiting = deque(left)

    async def _keep_waiting(self) -> None:
        while self._waiting:
            message, data = self._waiting[0]
            event_id = await self._keep(message)
            self._waiting.popleft()
            if data is None:
                self._lose(event_id)
                continue
            is_answer = isinstance(message, (JSONRPCResponse, JSONRPCError))
            self._put(data, event_id, is_answer=is_answer)

    async def _keep(self, message: JSONRPCMessage | None) -> str | None:
        if self._has_gap:
            if await self._options.keep(self.id, GAP) is None:
                return None
            self._has_gap = False
        self._in_doubt = message
        event_id = await self._options.keep(self.id, message)
        self._in_doubt = None
        self._has_kept |= event_id is not None
        return event_id

    def _put(self, data: bytes, event_id: str | None, *, is_answer: bool) -> None:
        outgoing = self._outgoing
        if outgoing is None or not outgoing.takes_more:
            # One that has ended still has what was not written, for the next answer to take over.
            self._put_aside(data, event_id)
            return
        if is_answer:
            outgoing.put_answer(data, event_id)
        else:
            outgoing.put(data, event_id)
        self._has_told_id |= event_id is not None and outgoing.is_stream
        self._lose(event_id)

    def _put_aside(self, data: bytes, event_id: str | None) -> None:
        if not self.keeps_backlog:
            self._lose(event_id)
            return
        if len(self._backlog) == MAX_BACKLOG:
            self._lose(self._backlog[0][1])
        self._backlog.append((data, event_id))

    def _lose(self, event_id: str | None) -> None:
        # Of what is not kept: a client that resumes by an id from before would miss it.
        if event_id is None and self._has_kept:
            self._has_gap = True

    # Its answers over HTTP

    async def carry(self, outgoing: Outgoing) -> None:
        """Have an HTTP answer carry it from the beginning, or from now on.

        Whoever resumes by an id has all that came before it, so what waited goes first.
        """
        if not self._options.are_primed:
            self._go_on(outgoing)
            return
        async with self._order:
            event_id = await self._keep(None)
            self._go_on(outgoing)
            if event_id is not None:
                retry_ms = self._options.retry_ms
                outgoing.put_raw(dump_event(b"", id=event_id, retry_ms=retry_ms))
                self._has_told_id = True

    def _go_on(self, outgoing: Outgoing) -> None:
        for event in self._take_over(outgoing):
            outgoing.put_raw(event)
        self._put_backlog()

    def _put_backlog(self) -> None:
        backlog = list(self._backlog)
        self._backlog.clear()
        for data, event_id in backlog:
            self._put(data, event_id, is_answer=False)

    def begin_replay(self, outgoing: Outgoing) -> None:
        """Have an HTTP answer send what its client has missed; whoever did so before ends."""
        self._has_told_id = True
        outgoing.become_stream()
        # What was not written yet is kept, and so among what the client has missed.
        self._leave_before()
        self._replaying = outgoing

    def is_replayed_to(self, outgoing: Outgoing) -> bool:
        """Tell whether an HTTP answer still is the one that sends what was missed."""
        return self._replaying is outgoing and outgoing.takes_more

    def resume(self, outgoing: Outgoing) -> None:
        """Have an HTTP answer carry it on, now that its client has what it has missed.

        The order of the session is kept by the caller.
        """
        # Of what waited, the client has missed nothing but what could not be kept.
        kept = [each for each in self._backlog if each[1] is None]
        self._backlog.clear()
        self._backlog.extend(kept)
        self._take_over(outgoing)
        self._put_backlog()

    def _take_over(self, outgoing: Outgoing) -> list[bytes]:
        # The answer before may go to nobody: its client comes back sooner than that is seen.
        unsent = self._leave_before(but=outgoing)
        self._outgoing = outgoing
        if self._ended:
            outgoing.end()
        return unsent

    def _leave_before(self, but: Outgoing | None = None) -> list[bytes]:
        replaying, self._replaying = self._replaying, None
        if replaying is not None and replaying is not but:
            replaying.hand_over()
        before, self._outgoing = self._outgoing, None
        return [] if before is None else before.hand_over()

    def let_go(self, outgoing: Outgoing) -> None:
        """An HTTP answer is over: it carries the stream no more."""
        if self._outgoing is outgoing:
            self._outgoing = None
        if self._replaying is outgoing:
            self._replaying = None

    @property
    def is_carried(self) -> bool:
        """Whether an HTTP answer carries it, or will."""
        return self._outgoing is not None or self._replaying is not None

    async def close_for_now(self) -> None:
        """End the HTTP answer, but not the stream: its client comes back for the rest.

        One that was told no id, since the store took none, could not, nor one that would miss
        what was not kept: its answer goes on.
        """
        await trio.lowlevel.checkpoint()
        if not self._may_come_back:
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
