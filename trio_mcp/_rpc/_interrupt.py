"""Programs that a person ends in a terminal: a signal is a cancellation.

Left to itself, Trio raises `KeyboardInterrupt` in whatever code of a task is running when the
signal comes, between making a coroutine and running it as well as anywhere else; what is left
lying about is then reported as a defect ("coroutine … was never awaited"). Here a signal is
noted, and cancels at the next checkpoint. Only code of a task that keeps the event loop busy for
longer than `BUSY_TIMEOUT` gets a `KeyboardInterrupt`, where it is.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import attrs
import trio

from ._late_signals import take_late_signals, take_signals_as_ever

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from types import FrameType
    from typing import TypeVarTuple

    Ts = TypeVarTuple("Ts")

T = TypeVar("T")

BUSY_TIMEOUT: Final = 0.5
"""Seconds after a signal in which a program has to come to a checkpoint by itself."""


def run_until_interrupt(
    fn: Callable[[*Ts], Awaitable[object]],
    *args: *Ts,
    signals: Iterable[signal.Signals] = (signal.SIGINT,),
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Run Trio for a whole program: until a function returns, or until Ctrl-C, which cancels it.

    Args:
      fn: The function.
      *args: Its arguments.
      signals: Which signals.
      stop: As for `run_until_signal`.

    Returns:
      Whether it was Ctrl-C. Blocks have been left by then, lifespans among them.

    """
    try:
        ended = run_until_signal(fn, *args, signals=signals, stop=stop, ends_program=True)
        return ended.number is not None
    except KeyboardInterrupt:
        return True  # it came when all was over


@attrs.frozen
class Ended(Generic[T]):
    """How `run_until_signal` ended: with a value, or by a signal."""

    value: T | None = None
    number: int | None = None


def run_until_signal(
    fn: Callable[[*Ts], Awaitable[T]],
    *args: *Ts,
    signals: Iterable[signal.Signals] = (signal.SIGINT,),
    on_signal: Callable[[int], object] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
    ends_program: bool = False,
) -> Ended[T]:
    """Run Trio until a function returns, or until a signal stops or cancels it.

    Signals after the cancellation do not shorten what it still does then, unless that keeps the
    event loop busy. A signal that comes when the function is just about to return takes effect
    after it. Signals that are ignored, or that the program handles itself, stay so.

    Args:
      fn: The function.
      *args: Its arguments.
      signals: Which signals.
      on_signal: Called with the number of the first one, when it comes; must not raise.
      stop: Called in Trio when the first one comes, to have the function end by itself in good
          order and in bounded time; returns whether it will. If not, and at the next signal,
          the function is cancelled.
      ends_program: Whether the function is all that the program does: a signal that has ended it
          is followed by no other one, see `take_late_signals`.

    """
    if threading.current_thread() is threading.main_thread():
        take_signals_as_ever()
    interruption = _Interruption(on_signal, stop)
    came_too_late = False
    previous = {each: signal.getsignal(each) for each in signals if _is_ours(each)}
    try:
        for each in previous:
            signal.signal(each, interruption.receive)
        value = trio.run(interruption.run, fn, args)
        came_too_late = not interruption.took_effect
    except KeyboardInterrupt:
        return Ended(number=interruption.tell())
    except BaseExceptionGroup as group:
        if group.split(KeyboardInterrupt)[1] is not None:
            raise
        return Ended(number=interruption.tell())
    finally:
        interruption.close()
        if ends_program and interruption.number is not None and not came_too_late:
            take_late_signals(previous)
        else:
            for each, handler in previous.items():
                signal.signal(each, handler)
    if interruption.number is None:
        return Ended(value)
    if interruption.took_effect:
        return Ended(number=interruption.tell())
    signal.raise_signal(interruption.number)
    return Ended(value)


def _is_ours(number: signal.Signals) -> bool:
    # A signal that whoever started us had ignored (nohup, `&` in a script) stays ignored.
    is_default = signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    return is_default and threading.current_thread() is threading.main_thread()


@attrs.define(eq=False)
class _Interruption:
    """What signals do to one run."""

    _on_signal: Callable[[int], object]
    _stop: Callable[[], bool]
    number: int | None = None
    """Of the first signal."""

    took_effect: bool = False
    """The function was cancelled, or told to stop."""

    _told: bool = False
    _scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    _token: trio.lowlevel.TrioToken | None = None
    # The event loop has seen the last signal.
    _seen: bool = True
    # The next signal is our own, for code that keeps the event loop busy.
    _impatient: bool = False
    _closed: bool = False
    # Guards the last two. The handler of a signal must not take it.
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    async def run(self, fn: Callable[..., Awaitable[T]], args: tuple[object, ...]) -> T | None:
        """Run the function in a scope that signals cancel."""
        value: T | None = None
        self._token = trio.lowlevel.current_trio_token()
        if self.number is not None:
            self._cancel()  # it came before there was anything to cancel
        with self._scope:
            value = await fn(*args)
        self._token = None
        self.took_effect = self.took_effect or self._scope.cancelled_caught
        return value

    def receive(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal; Python calls this between any two instructions of the main thread."""
        if self._impatient:
            self._impatient = False
            if self._strikes_users_code():
                raise KeyboardInterrupt
            if not self._seen:
                _thread.start_new_thread(self._watch, ())
            return
        if self.number is None:
            self.number = number
        self._seen = False
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._cancel)
        # Not threading.Thread, whose locks the main thread may be holding right now.
        _thread.start_new_thread(self._watch, ())

    def _strikes_users_code(self) -> bool:
        # Elsewhere, in Trio itself or before and after its run, it would leave things broken; and
        # a machine that is slow is no program that is busy.
        is_running = not self._closed and self._token is not None
        return is_running and not self._seen and not trio.lowlevel.currently_ki_protected()

    def tell(self) -> int:
        """Tell that a signal ended the run, if that was not done yet; return which."""
        number = self.number or signal.SIGINT
        if not self._told:
            self._told = True
            self._on_signal(number)
        return number

    def close(self) -> None:
        """Let no more signals be sent."""
        with self._lock:
            self._closed = True

    def _cancel(self) -> None:
        self._seen = True
        self.tell()
        if not self.took_effect and self._stop():
            self.took_effect = True
        else:
            self._scope.cancel(reason="interrupted")

    def _watch(self) -> None:
        time.sleep(BUSY_TIMEOUT)
        with self._lock:
            if self._seen or self._closed:
                return
            self._impatient = True
            if sys.platform == "win32":
                _thread.interrupt_main()
            else:
                # A real signal, since it also ends a system call that blocks.
                main = threading.main_thread().ident
                assert main is not None
                signal.pthread_kill(main, signal.SIGINT)
