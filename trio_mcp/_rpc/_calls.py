"""One outgoing request: waiting for its answer, its progress and its time limit."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._checks import awaited
from trio_mcp._codec import printable

if TYPE_CHECKING:
    from trio_mcp.types import RequestId
    from trio_mcp.types._base import JsonObject

    from ._link import CallOptions, ProgressFn
    from ._outbox import Outgoing
    from ._time_limit import TimeLimit

logger: Final = logging.getLogger("trio_mcp")

MAX_LAG: Final = 10_000
"""Reports and notifications that may wait for a callback; beyond that the oldest are lost."""

Report = tuple[float, float | None, str | None]


@attrs.define(eq=False)
class Call:
    """The state of a request between being queued and its caller going on.

    The caller's own task waits here. It alone runs the progress callback, so reports come in
    order and before the call returns.
    """

    id: RequestId
    method: str
    options: CallOptions
    outgoing: Outgoing | None = None
    limit: TimeLimit | None = None
    _task: trio.lowlevel.Task | None = None
    _result: JsonObject | None = None
    _error: Exception | None = None
    _reports: deque[Report] = attrs.field(factory=lambda: deque(maxlen=MAX_LAG))
    _lost_reports: int = 0

    def reported(self, report: Report) -> None:
        """Take a progress report."""
        if len(self._reports) == MAX_LAG:
            self._lost_reports += 1
        self._reports.append(report)
        if self.limit is not None:
            self.limit.progressed()
        self._wake()

    def answered(self, result: JsonObject) -> None:
        self._result = result
        self._wake()

    def failed(self, error: Exception) -> None:
        self._error = error
        self._wake()

    def not_written(self, why: TypeError | ValueError) -> None:
        """Learn that the request is no JSON, so that nothing was sent."""
        self.failed(type(why)(f"{printable(self.method)}: {why}"))

    async def wait(self) -> JsonObject:
        """Wait for the answer, and run the progress callback meanwhile.

        Raises:
          MCPError: the error that answered, or that ended the connection.
          TypeError, ValueError: if the request cannot be written as JSON.

        """
        while True:
            while self._reports:
                await run_progress_callback(self.options.on_progress, self._reports.popleft())
            if self._result is not None:
                warn_of_lost(self.method, self.id, self._lost_reports)
                return self._result
            if self._error is not None:
                raise self._take_error()
            await self._park()

    def _take_error(self) -> Exception:
        # An error that was raised refers to the frames it passed, and they to this call: were
        # it kept here, only the garbage collector could free the caller and its client.
        assert self._error is not None
        error, self._error = self._error, None
        return error

    async def _park(self) -> None:
        def abort(_: object) -> trio.lowlevel.Abort:
            self._task = None
            return trio.lowlevel.Abort.SUCCEEDED

        self._task = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(abort)

    def _wake(self) -> None:
        if self._task is not None:
            task, self._task = self._task, None
            trio.lowlevel.reschedule(task)


async def run_progress_callback(callback: ProgressFn | None, report: Report) -> None:
    """Run a caller's progress callback; its failure is logged, and the call goes on."""
    if callback is None:
        return
    try:
        await awaited("progress_callback", callback(*report))
    except Exception:
        logger.exception("A progress callback failed")


def warn_of_lost(method: str, request_id: RequestId, reports: int) -> None:
    """Log how many reports of a call its callback was too slow for, if there were any."""
    if reports:
        logger.warning(
            "%s #%r: %d progress reports were lost, the callback is too slow",
            method,
            request_id,
            reports,
        )


def with_progress_token(params: JsonObject | None, token: RequestId) -> JsonObject:
    """Ask for reports of progress in the params of a request; they are the link's to change."""
    params = {} if params is None else params
    meta = params.get("_meta")
    params["_meta"] = {**meta, "progressToken": token} if meta else {"progressToken": token}
    return params


def read_progress(params: JsonObject) -> Report | None:
    """Read a progress notification; None when it is not one."""
    progress, total, message = (params.get(key) for key in ("progress", "total", "message"))
    if not _is_number(progress) or not (total is None or _is_number(total)):
        return None
    return progress, total, message if isinstance(message, str) else None  # type: ignore[return-value]


def _is_number(value: object) -> bool:
    return value.__class__ is int or value.__class__ is float
