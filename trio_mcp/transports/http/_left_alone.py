"""Requests without a session whose clients have gone: they run on for a while, within bounds."""

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
    """The requests of one run that nobody waits for any more.

    A client of the older era that goes has not cancelled what it asked for, which may do
    something. But without a session nobody can fetch the answer, and clients that come and go
    must not leave handlers behind without end.
    """

    # In the order in which they were left.
    _scopes: dict[trio.CancelScope, None] = attrs.Factory(dict[Any, None])

    def __len__(self) -> int:
        return len(self._scopes)

    def _cancel_first(self) -> None:
        first = next(iter(self._scopes))
        # At once, so that the next one to leave cancels another.
        del self._scopes[first]
        first.cancel(reason="too many clients have gone")

    async def wait_answered(self, session: Session) -> bool:
        """Wait until the requests of a session have their answers; not for ever.

        Returns:
          Whether they have.

        """
        if session.is_answered:
            return True
        with trio.move_on_after(GRACE_SECONDS) as scope:
            self._scopes[scope] = None
            try:
                if len(self._scopes) > MAX_LEFT:
                    self._cancel_first()
                await session.wait_answered()
            finally:
                self._scopes.pop(scope, None)
        if scope.cancelled_caught:
            logger.info("A request is given up: its client has gone, and has no session")
        return not scope.cancelled_caught
