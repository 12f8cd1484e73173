"""Running an async function for at most some real seconds, with a plain outcome.

The limit is kept by a thread, since the run's own clock may be virtual or stand still. It
strikes twice: first it cancels the function's scope; if that does not end the run within
`GRACE` seconds (a shield, or code that never reaches a checkpoint) it interrupts the main
thread, as Ctrl-C does.
"""

from __future__ import annotations

import _thread
import threading
from typing import TYPE_CHECKING, Final

import attrs
import outcome
import trio
import trio.testing

from trio_mcp._rpc._nursery import sole_exception
from trio_mcp.testing._hold_time import HoldTime
from trio_mcp.testing._task_tree import format_task_tree

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

GRACE: Final = 2.0
"""Seconds for a cancelled test to clean up: the longest bound on clean-up of one object."""


class LimitExceeded(Exception):
    """The function took longer than it may; the text shows the task tree at that moment."""


def run_within(
    limit: float,
    async_fn: Callable[[], Awaitable[object]],
    *,
    clock: trio.abc.Clock | None = None,
) -> None:
    """Run an async function under Trio, and end it when it takes too long.

    Args:
      limit: Real seconds.
      async_fn: What to run, as the main task.
      clock: The clock of the run; the real one when None. One that jumps by itself does not
          while a thread works.

    Raises:
      LimitExceeded: if it took longer, whatever it made of the cancellation.
      BaseException: what the function raised; a group of a single exception unwrapped.

    """
    __tracebackhide__ = True
    watch = _Watch(limit=limit)
    result = outcome.capture(
        watch.stop_after,
        trio.run,
        watch.guard,
        async_fn,
        clock=clock,
        instruments=[HoldTime(clock)] if isinstance(clock, trio.testing.MockClock) else [],
        strict_exception_groups=True,
    )
    if watch.report is not None:
        # What the test made of its end tells less than where it hung.
        raise LimitExceeded(watch.report)
    if isinstance(result, outcome.Error):
        try:
            # Outside of any handler, so that its context stays what it was.
            raise sole_exception(result.error)
        finally:
            del result  # the traceback holds this frame


@attrs.define(eq=False)
class _Watch:
    limit: float
    report: str | None = None
    _timer: threading.Timer | None = None
    _ended: bool = False
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    async def guard(self, async_fn: Callable[[], Awaitable[object]]) -> None:
        with trio.CancelScope() as scope:
            token = trio.lowlevel.current_trio_token()
            main_task = trio.lowlevel.current_task()
            self._start_timer(self.limit, lambda: self._cancel(token, main_task, scope))
            await async_fn()

    def stop_after(self, fn: Callable[..., object], *args: object, **kwargs: object) -> None:
        try:
            fn(*args, **kwargs)
        finally:
            self._stop()

    def _stop(self) -> None:
        with self._lock:
            self._ended = True
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            timer.join()

    def _start_timer(self, seconds: float, action: Callable[[], None]) -> None:
        with self._lock:
            if not self._ended:
                self._timer = threading.Timer(seconds, action)
                self._timer.name = "limit of a test"
                self._timer.daemon = True
                self._timer.start()

    def _cancel(
        self,
        token: trio.lowlevel.TrioToken,
        main_task: trio.lowlevel.Task,
        scope: trio.CancelScope,
    ) -> None:
        def cancel() -> None:
            self.report = self._describe(main_task)
            scope.cancel(reason=f"the test took more than {self.limit:g} s")

        try:
            token.run_sync_soon(cancel)
        except trio.RunFinishedError:
            return
        self._start_timer(GRACE, lambda: self._interrupt(main_task))

    def _interrupt(self, main_task: trio.lowlevel.Task) -> None:
        with self._lock:
            if self._ended:
                return
            if self.report is None:
                # The loop never ran the callback: some task is busy without a checkpoint.
                self.report = self._describe(main_task)
            _thread.interrupt_main()

    def _describe(self, main_task: trio.lowlevel.Task) -> str:
        return (
            f"the test took more than {self.limit:g} s; its tasks were then:\n"
            f"{format_task_tree(main_task)}"
        )
