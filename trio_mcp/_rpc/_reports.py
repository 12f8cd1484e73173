"""Runs a caller's progress callback where the handler has the caller's own task."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar, cast

import attrs
import trio

from ._calls import MAX_LAG, run_progress_callback, warn_of_lost
from ._nursery import open_background_nursery

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from trio_mcp.types import RequestId

    from ._calls import Report
    from ._link import ProgressFn

T = TypeVar("T")


@attrs.define(eq=False)
class Reports:
    """A queue of progress reports, and the task of one call that runs the callback for them.

    As over a wire: whoever reports does not wait for the callback, the callback hears in order,
    and the call ends after it has heard everything. It is cancelled with the call.
    """

    _callback: ProgressFn
    _method: str
    _id: RequestId
    _lost: int = 0
    _is_over: bool = False
    _waiting: deque[Report] = attrs.field(factory=lambda: deque(maxlen=MAX_LAG))
    _wakeup: trio.Event = attrs.field(factory=trio.Event)
    _all_heard: trio.Event = attrs.field(factory=trio.Event)

    def put(self, report: Report) -> None:
        """Take a report."""
        if len(self._waiting) == MAX_LAG:
            self._lost += 1
        self._waiting.append(report)
        self._wakeup.set()

    async def beside(self, handling: Awaitable[T]) -> T:
        """Await what reports, and then the callback for the last report.

        Raises:
          Exception: what it raises, after the callback has heard as much.

        """
        result: T | None = None
        error: Exception | None = None
        async with open_background_nursery() as nursery:
            nursery.start_soon(self._run, name="MCP progress")
            try:
                result = await handling
            except Exception as exc:  # noqa: BLE001 - raised below
                error = exc
            self._is_over = True
            self._wakeup.set()
            await self._all_heard.wait()
        warn_of_lost(self._method, self._id, self._lost)
        if error is None:
            return cast("T", result)
        try:
            raise error
        finally:
            # Its traceback refers to this frame.
            del error

    async def _run(self) -> None:
        while True:
            while self._waiting:
                await run_progress_callback(self._callback, self._waiting.popleft())
            if self._is_over:
                self._all_heard.set()
                return
            await self._wakeup.wait()
            self._wakeup = trio.Event()
