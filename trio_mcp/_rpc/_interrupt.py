"""Programs that a person ends in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVarTuple

    Ts = TypeVarTuple("Ts")


def run_until_interrupt(fn: Callable[[*Ts], Awaitable[object]], *args: *Ts) -> bool:
    """Run Trio until a function returns, or until Ctrl-C.

    Ctrl-C is `KeyboardInterrupt` here and not a cancellation from outside: only that ends a
    handler that never comes to a checkpoint.

    Returns:
      Whether it was Ctrl-C. Blocks have been left by then, lifespans among them.

    """
    try:
        trio.run(fn, *args)
    except KeyboardInterrupt:
        return True
    except BaseExceptionGroup as group:
        _, others = group.split(KeyboardInterrupt)
        if others is not None:
            raise
        return True
    return False
