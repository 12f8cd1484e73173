"""What runs on without a session, and nobody waits for: for a while, within bounds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

if TYPE_CHECKING:
    from ._sessions import Session

logger: Final = logging.getLogger("trio_mcp.http")

GRACE_SECONDS: Final = 60.0
"""Seconds that a handler runs on for a client that has gone and cannot come back."""

MAX_LEFT: Final = 1_000
"""How many of them there may be; beyond that the ones that were left first are cancelled."""


@attrs.define(eq=False)
class LeftAlone:
    """What handlers of one run do that nobody waits for any more, or ever did.

    A client of the older era that goes has not cancelled what it asked for, which may do
    something; and nobody waits for what a notification has a server do. But without a session
    nobody can fetch an answer, and clients that come and go must not leave handlers behind
    without end.
    """

    # In the order in which they were left.
    _scopes: dict[trio.CancelScope, None] = attrs.Factory(dict[Any, None])
    _idle: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    def __len__(self) -> int:
        return len(self._scopes)

    def _cancel_first(self) -> None:
        first = next(iter(self._scopes))
        # At once, so that the next one to leave cancels another.
        del self._scopes[first]
        first.cancel(reason="too many clients have gone")

    async def wait_idle(self) -> None:
        """Wait until there is none of it. Not a checkpoint."""
        while self._scopes:
            await self._idle.park()

    def finish(self, session: Session, nursery: trio.Nursery) -> None:
        """Have a task wait until all is done that came in a session, not for ever, and end it."""
        # Here, and not in the task: a stop that comes before that has begun waits for it, too.
        scope = trio.CancelScope(deadline=trio.current_time() + GRACE_SECONDS)
        self._scopes[scope] = None
        if len(self._scopes) > MAX_LEFT:
            self._cancel_first()
        nursery.start_soon(self._finish, session, scope, name="HTTP left alone")

    async def _finish(self, session: Session, scope: trio.CancelScope) -> None:
        reason = "its client has gone, and could not fetch an answer"
        try:
            with scope:
                await session.wait_done()
            if scope.cancelled_caught:
                logger.info("A handler is given up: its client has gone, and has no session")
            else:
                reason = "all that it asked for is done"
        finally:
            self._scopes.pop(scope, None)
            session.end(reason)
            if not self._scopes:
                self._idle.unpark_all()
