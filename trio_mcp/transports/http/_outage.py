"""What is told of an event store that is away: once, and not with each message."""

from __future__ import annotations

import logging
from typing import Any, Final, Literal, TypeAlias, final

import attrs

from trio_mcp._rpc._trouble import CALM_SECONDS, Trouble

Action: TypeAlias = Literal["keep", "read", "end"]

logger: Final = logging.getLogger("trio_mcp.http")

_COMES_AND_GOES: Final = (
    f"; it comes and goes, and is told again when there was none of it for {CALM_SECONDS:g} s"
)


@final
@attrs.define(eq=False)
class Outage:
    """Tells what goes wrong with an event store: the first time, until that works again.

    What is told of each action is independent: a store that is full can still be read. What goes
    wrong after the first time is logged at the level DEBUG; see `Trouble`.
    """

    _troubles: dict[Action, Trouble] = attrs.Factory(dict[Any, Any])

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
        trouble = self._troubles.setdefault(action, Trouble())
        is_told = trouble.fails()
        if is_told and trouble.comes_and_goes:
            message += _COMES_AND_GOES
        level = logging.ERROR if defect else logging.WARNING
        logger.log(level if is_told else logging.DEBUG, message, *args, exc_info=defect)

    def is_over(self, action: Action) -> None:
        """Know that an action works (again)."""
        trouble = self._troubles.get(action)
        if trouble is not None and trouble.works() and action == "keep":
            logger.info("The event store keeps what is sent again")
