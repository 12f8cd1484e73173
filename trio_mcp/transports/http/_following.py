"""Older sessions of other processes: their streams go on where their clients come back.

A session lives in the process that opened it, and so do its handlers. What its streams say is
kept in a store that other processes share, so each of them can carry on a stream: it sends what
its client has missed, and then what is kept meanwhile, until the answer is there. It does not
take part in the session otherwise: what a client posts belongs where the session is.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

import attrs
import trio

from trio_mcp.errors import InsufficientScopeError

from ._keeping import read_missed, within_store_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trio_mcp._rpc._exchange import Principal

    from ._event_store import SharedEventStore
    from ._keeping import Missed
    from ._outage import Outage
    from ._outgoing import Outgoing

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0
"""Seconds between two looks into the store for what has come meanwhile."""


def name_stream(
    session_id: str, principal: Principal | None, number: int, scopes: Iterable[str] = ()
) -> str:
    """Name a stream of a session, whose it is and what it takes: that is all others know of it.

    Args:
      session_id: The session.
      principal: Whose it is.
      number: Of the stream.
      scopes: What the requests took that it answers: so does who wants to have the answers.

    """
    taken = quote(" ".join(sorted(set(scopes))), safe=":")
    return f"{session_id}/{_owner(principal)}/{taken}/{number}"


def _owner(principal: Principal | None) -> str:
    if principal is None:
        return ""
    return hashlib.sha256(principal.key.encode()).hexdigest()[:32]


def belongs_to(stream_id: str, session_id: str, principal: Principal | None) -> bool:
    """Tell whether a stream is of a session, and of somebody.

    Raises:
      InsufficientScopeError: if it is, and he is not allowed (any more, or with this token) what
        the requests took that it answers.

    """
    parts = stream_id.split("/")
    if len(parts) != 4 or parts[:2] != [session_id, _owner(principal)]:
        return False
    scopes = unquote(parts[2]).split()
    if scopes and (principal is None or principal.lacks(scopes)):
        raise InsufficientScopeError(scopes)
    return True


@attrs.define(eq=False)
class Follower:
    """One stream of a session that another process has, on its way to the client.

    Args:
      store: Where that process keeps it.
      session_id: Its session.
      principal: Who asks for it.
      last_event_id: What the client has last.
      timeout: Seconds after which that process takes the client for gone; None for never.
      outage: Of the store.

    Attributes:
      stream_id: The stream, once it has begun.

    """

    _store: SharedEventStore
    _session_id: str
    _principal: Principal | None
    _last_event_id: str
    _timeout: float | None
    _outage: Outage
    stream_id: str | None = None
    _has_answer: bool = False
    _is_answered: bool = False

    async def begin(self, outgoing: Outgoing) -> bool:
        """Send what the client has missed, or the first part of it.

        Returns:
          Whether there is such a stream, of this session and this principal.

        Raises:
          InsufficientScopeError: if there is, and it takes more than the principal has.
          ConnectionError, TimeoutError: if the store is away, or takes too long.

        """
        with within_store_seconds():
            if await self._store.has_ended(self._session_id):
                return False
        missed = await self._read()
        if missed is None:
            return False
        outgoing.put_all(missed.events)
        return True

    async def go_on(self, outgoing: Outgoing) -> None:
        """Send what comes, until the stream is answered or nobody goes on with it."""
        try:
            with trio.move_on_after(math.inf if self._timeout is None else self._timeout):
                await self._go_on(outgoing)
        except (ConnectionError, TimeoutError) as exc:
            # The client comes back, and perhaps the store does so sooner.
            self._outage.tell("read", "A stream cannot be carried on now: %s", exc)
        finally:
            outgoing.end()

    async def _go_on(self, outgoing: Outgoing) -> None:
        pause = FIRST_PAUSE
        while not self._is_answered:
            await outgoing.wait_room()
            if not outgoing.takes_more:
                return
            # Asked before looking, so that nothing is missed that was kept until then.
            may_go_on = await self._may_go_on()
            missed = await self._read()
            if missed is None:
                return
            outgoing.put_all(missed.events)
            if not missed.is_all:
                continue
            if missed.events:
                pause = FIRST_PAUSE
            elif not may_go_on:
                return
            await trio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _may_go_on(self) -> bool:
        assert self.stream_id is not None
        with within_store_seconds():
            is_written = await self._store.is_written(self.stream_id)
            return is_written and not await self._store.has_ended(self._session_id)

    async def _read(self) -> Missed | None:
        with within_store_seconds():
            missed = await read_missed(self._store, self._last_event_id, self.stream_id)
        if missed is None or not belongs_to(missed.stream_id, self._session_id, self._principal):
            # What others were sent is for nobody else, whatever id is named.
            return None
        self.stream_id = missed.stream_id
        self._last_event_id = missed.last_event_id
        self._has_answer |= missed.is_answered
        self._is_answered = missed.is_all and self._has_answer
        return missed
