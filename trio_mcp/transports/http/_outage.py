"""What is told of an event store that is away: once, and not with each message."""

from __future__ import annotations

import logging
from typing import Final, Literal, TypeAlias, final

import attrs

Action: TypeAlias = Literal["keep", "read", "end"]

logger: Final = logging.getLogger("trio_mcp.http")


@final
@attrs.define(eq=False)
class Outage:
    """Tells what goes wrong with an event store: the first time, until that works again.

    What is told of each action is independent: a store that is full can still be read. What goes
    wrong after the first time is logged at the level DEBUG.
    """

    _failing: set[str] = attrs.Factory(set[str])

    def tell(
        self,
        action: Action,
        message: str,
        *args: object,
        defect: Exception | None = None,
    ) -> None:
        """Tell that an action failed.

        Args:
          action: Which one.
          message: For the log, with its `args`.
          *args: What is put into it.
          defect: If it is no failure that is to be expected: the exception, to show from where.

        """
        is_first = action not in self._failing
        self._failing.add(action)
        level = logging.ERROR if defect else logging.WARNING
        logger.log(level if is_first else logging.DEBUG, message, *args, exc_info=defect)

    def is_over(self, action: Action) -> None:
        """Know that an action works (again)."""
        if action in self._failing:
            self._failing.discard(action)
            if action == "keep":
                logger.info("The event store keeps what is sent again")
