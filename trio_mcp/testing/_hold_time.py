"""Virtual time that stands still while a thread works."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final, final

import attrs
import trio
import trio.testing

if TYPE_CHECKING:
    from types import CodeType

_TO_THREAD: Final[CodeType] = trio.to_thread.run_sync.__code__
_PARKED: Final[CodeType] = trio.lowlevel.wait_task_rescheduled.__code__


@final
@attrs.define(eq=False)
class HoldTime(trio.abc.Instrument):
    """Keeps a clock from jumping by itself while a thread works for a task.

    Autojump takes it that nothing can happen while every task is blocked. A task that waits
    for its thread is blocked, too: the deadlines of the others would pass while the thread
    has done nothing yet, and a run without deadlines would poll until it has, at the
    thread's expense. Plain functions of a server run in threads.

    A thread that calls back by `trio.from_thread` waits itself, perhaps for time to pass:
    the clock may jump then.
    """

    _clock: trio.testing.MockClock
    _waiting: set[trio.lowlevel.Task] = attrs.Factory(set["trio.lowlevel.Task"])
    _called_back: set[trio.lowlevel.Task] = attrs.Factory(set["trio.lowlevel.Task"])
    _threshold: float | None = None  # what the clock's was, while it is held

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        """Note a system task that a thread waits for."""
        code = getattr(task.coro, "cr_code", None)
        if code is not None and code.co_filename == _TO_THREAD.co_filename:
            self._called_back.add(task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Look whether the task waits for a thread from now on, or no longer does."""
        if not self._waiting and not trio.testing.active_thread_count():
            return
        if _waits_for_thread(task):
            self._waiting.add(task)
        else:
            self._waiting.discard(task)
        self._update()

    def task_exited(self, task: trio.lowlevel.Task) -> None:
        """Forget a task."""
        if task in self._called_back:
            self._called_back.remove(task)
            self._update()

    def _update(self) -> None:
        works = len(self._waiting) > len(self._called_back)
        if works and self._threshold is None:
            self._threshold = self._clock.autojump_threshold
            self._clock.autojump_threshold = math.inf
        elif not works and self._threshold is not None:
            self._clock.autojump_threshold = self._threshold
            self._threshold = None


def _waits_for_thread(task: trio.lowlevel.Task) -> bool:
    codes = (frame.f_code for frame, _ in task.iter_await_frames())
    return (_TO_THREAD, _PARKED) in itertools.pairwise(codes)
