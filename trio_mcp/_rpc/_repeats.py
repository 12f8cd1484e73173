"""Log entries that a peer can bring about as often as it likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs

if TYPE_CHECKING:
    import logging


@final
@attrs.define(eq=False)
class Repeats:
    """Warns of what a peer does wrong: the first time, then the tenth, the hundredth and so on.

    So nobody fills a log by doing something wrong again and again, and it is told that it goes
    on. What lies between is logged at the level DEBUG. Keep one for each connection, or for all
    where it is about their number.
    """

    # By what is told, which is one of few: the rest is in the arguments.
    _counts: dict[str, int] = attrs.field(factory=dict[str, int], init=False)

    def warn(self, logger: logging.Logger, message: str, *args: object) -> None:
        """Tell of one more.

        Args:
          logger: Where to.
          message: What happened. It must not hold what the peer says, but name places for that.
          *args: What is put into these.

        """
        count = self._counts[message] = self._counts.get(message, 0) + 1
        if count == 1:
            logger.warning(message, *args, stacklevel=2)
        elif _is_power_of_ten(count):
            counted = f"{message} (%d times by now)"
            logger.warning(counted, *args, count, stacklevel=2)
        else:
            logger.debug(message, *args, stacklevel=2)


def _is_power_of_ten(number: int) -> bool:
    return str(number).rstrip("0") == "1"
