"""What Ctrl-C and SIGTERM do to a command."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from trio_mcp._rpc._interrupt import run_until_signal
from trio_mcp.cli._streams import say_interrupted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def run_until_interrupted(
    action: Callable[[], Awaitable[int]],
    *,
    tells_sigterm: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Run Trio until the action returns its status, or until Ctrl-C or SIGTERM.

    A signal cancels the action, and says so at once. The action still closes what it opened,
    in the bounded time that this takes; further signals do not shorten it.

    Args:
      action: What to do.
      tells_sigterm: Whether SIGTERM says so, too. It is how a client ends a server whose
          stderr may be its own: for the person in front of it, that is no second event.
      stop: As for `run_until_signal`.

    Returns:
      The action's status, or 128 and the number of the signal.

    """

    def tell(number: int) -> None:
        if tells_sigterm or number != signal.SIGTERM:
            say_interrupted()

    signals = (signal.SIGINT, signal.SIGTERM)
    ended = run_until_signal(action, signals=signals, on_signal=tell, stop=stop, ends_program=True)
    if ended.number is not None:
        return 128 + ended.number
    assert ended.value is not None
    return ended.value
