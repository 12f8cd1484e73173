"""All sessions of the older era in one run, and when they are forgotten."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs
import trio

from ._sessions import Session

if TYPE_CHECKING:
    from collections.abc import Generator

    from trio_mcp._rpc._exchange import Principal

logger: Final = logging.getLogger("trio_mcp.http")

UNUSED_SECONDS: Final = 60.0
"""Seconds that a session is kept whose client has sent nothing since its handshake."""


SOON_SECONDS: Final = 5.0
"""Seconds after which that session may make room for another one."""


@attrs.define(eq=False)
class Sessions:
    """All sessions of a run. One whose client is not connected for long is ended.

    Args:
      idle_timeout: In seconds; None for never.
      limit: How many there may be; None for any number.

    """

    _idle_timeout: float | None
    _limit: int | None
    _by_id: dict[str, Session] = attrs.Factory(dict[str, Session])
    # Those whose clients are not connected, by the time from when on, oldest first.
    _idle: dict[Session, float] = attrs.Factory(dict[Session, float])
    # Likewise, those that were not used since their handshake.
    _unused: dict[Session, float] = attrs.Factory(dict[Session, float])
    _changed: trio.Event = attrs.field(factory=trio.Event)

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def all(self) -> list[Session]:
        """All of them, as they are now."""
        return list(self._by_id.values())

    @property
    def are_full(self) -> bool:
        """Whether there may be no more."""
        return self._limit is not None and len(self._by_id) >= self._limit

    @property
    def may_have_room(self) -> bool:
        """Whether there may be one more once there is room for it."""
        return not self.are_full or self._dispensable() is not None

    def make_room(self) -> None:
        """Where there are too many, end one whose client did not go on after its handshake.

        Else whoever shakes hands and never comes back would keep others out.
        """
        if self.are_full:
            session = self._dispensable()
            if session is not None:
                self.end(session, "its client did not go on, and there are many")

    def _dispensable(self) -> Session | None:
        for session, since in self._unused.items():
            return session if since + SOON_SECONDS <= trio.current_time() else None
        return None

    def add(self, session: Session) -> None:
        """Know a session from now on."""
        self._by_id[session.id] = session
        self._unused[session] = trio.current_time()
        self._changed.set()

    def find(self, session_id: str, principal: Principal | None) -> Session | None:
        """Find a session; None for one of somebody else, too."""
        session = self._by_id.get(session_id)
        return session if session is not None and session.belongs_to(principal) else None

    @contextmanager
    def using(self, session: Session) -> Generator[None]:
        """Know that the client of a session is connected, as long as the block lasts."""
        session.open_requests += 1
        self._idle.pop(session, None)
        self._unused.pop(session, None)
        try:
            yield
        finally:
            session.open_requests -= 1
            if not session.open_requests and session.id in self._by_id:
                self._idle[session] = trio.current_time()
                self._changed.set()

    def end(self, session: Session, reason: str, *, may_be_resumed: bool = False) -> None:
        """End a session, and forget it; see `Session.end`."""
        self._by_id.pop(session.id, None)
        self._idle.pop(session, None)
        self._unused.pop(session, None)
        session.end(reason, may_be_resumed=may_be_resumed)

    def end_all(self, reason: str) -> None:
        """End every session, since the server stops; others may serve on."""
        for session in self.all:
            self.end(session, reason, may_be_resumed=True)

    def close_streams(self) -> None:
        """Let streams end that wait for what may come, and not for answers."""
        for session in self._by_id.values():
            session.standalone.end()

    async def expire(self) -> None:
        """End sessions that are idle for too long, until cancelled."""
        if self._idle_timeout is None:
            await trio.sleep_forever()
            return
        unused_timeout = min(self._idle_timeout, UNUSED_SECONDS)
        while True:
            self._changed = trio.Event()
            self._end_some(self._idle, self._idle_timeout)
            self._end_some(self._unused, unused_timeout)
            due = [
                next(iter(each.values())) + seconds
                for each, seconds in (
                    (self._idle, self._idle_timeout),
                    (self._unused, unused_timeout),
                )
                if each
            ]
            if due:
                # One that was not used may have come meanwhile.
                await trio.sleep_until(min(*due, trio.current_time() + unused_timeout))
            else:
                await self._changed.wait()

    def _end_some(self, sessions: dict[Session, float], seconds: float) -> None:
        while sessions:
            session, since = next(iter(sessions.items()))
            if since + seconds > trio.current_time():
                return
            logger.debug("A session was idle for %g s, and is ended", seconds)
            self.end(session, f"its client was gone for {seconds:g} s")
