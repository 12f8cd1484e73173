"""Signals that come when a program that one of them has ended is on its way out.

People press Ctrl-C twice, and service managers signal a process and then its group. The first one
ends the program in good order; the next one may come when all is over, and what Python does with
signals by default would turn that good end into a failure: a traceback, or a process that was
killed. So they are taken for the same one, for a while, and at the exit for good.
"""

from __future__ import annotations

import atexit
import signal
import time
from typing import TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

LATE_SECONDS: Final = 1.0
"""Seconds after the end in which a signal is taken for the one that has ended the program. One
that goes on nevertheless is interrupted by those that come later, as ever."""


@final
class _LateSignals:
    def __init__(self, handlers: Mapping[Any, Any]) -> None:
        self._handlers = handlers
        self._until = time.monotonic() + LATE_SECONDS

    def begin(self) -> None:
        for each in self._handlers:
            signal.signal(each, self._receive)
        atexit.register(self._ignore)

    def end(self) -> None:
        atexit.unregister(self._ignore)
        for each, handler in self._handlers.items():
            if signal.getsignal(each) == self._receive:
                signal.signal(each, handler)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if time.monotonic() >= self._until:
            self.end()
            signal.raise_signal(number)

    def _ignore(self) -> None:
        # What is ignored stays so to the very end; handlers do not.
        for each in self._handlers:
            if signal.getsignal(each) == self._receive:
                signal.signal(each, signal.SIG_IGN)


def is_default(number: int, handler: Any) -> bool:
    """Tell whether this signal ends a program, if that does nothing about it."""
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    return number != signal.SIGCHLD and handler in defaults


_late: list[_LateSignals] = []


def take_late_signals(handlers: Mapping[Any, Any]) -> None:
    """Take further signals for the one that has ended this program.

    Args:
      handlers: Which signals, with what the program does with them if it goes on.

    """
    take_signals_as_ever()
    _late.append(_LateSignals(handlers))
    _late[0].begin()


def take_signals_as_ever() -> None:
    """Have signals do what they did before `take_late_signals`."""
    while _late:
        _late.pop().end()
