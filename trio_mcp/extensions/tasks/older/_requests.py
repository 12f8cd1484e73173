"""What whoever asked for a task of 2025-11-25 asks of its receiver; it may be either side."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import attrs

from trio_mcp._codec import DecodeError, decode
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.errors import InvalidResponse, LocalError, MCPError
from trio_mcp.extensions.tasks._polling import MAX_FAILURES, may_pass
from trio_mcp.extensions.tasks._task_errors import TaskCancelled
from trio_mcp.extensions.tasks._wire import CreateTaskResult, DetailedTask
from trio_mcp.extensions.tasks.stores._stored import OVER
from trio_mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RELATED_TASK_META_KEY,
    CancelTaskRequest,
    CancelTaskRequestParams,
    CancelTaskResult,
    GetTaskPayloadRequest,
    GetTaskPayloadRequestParams,
    GetTaskRequest,
    GetTaskRequestParams,
    GetTaskResult,
)
from trio_mcp.types import CreateTaskResult as OlderCreateTaskResult

from ._words import REVISION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import trio

    from trio_mcp.extensions.tasks._polling import Polling
    from trio_mcp.types import JsonObject, Request, Result
    from trio_mcp.types import Task as OlderTask

T = TypeVar("T")
ResultT = TypeVar("ResultT", bound="Result")


class SendFn(Protocol):
    """Sends a request to the receiver, and reads its result into a type."""

    async def __call__(
        self, request: Request[Any, Any], result_type: type[T], seconds: float | None, /
    ) -> T:
        """Wait for at most so many seconds; as ever where that is None."""
        ...


@attrs.frozen(eq=False)
class OlderRequests:
    """What can be asked about one task."""

    task_id: str
    _send: SendFn
    _seconds: float | None = None

    async def get(self) -> DetailedTask:
        """Ask how it is."""
        request = GetTaskRequest(params=GetTaskRequestParams(task_id=self.task_id))
        return detailed(await self._send(request, GetTaskResult, self._seconds))

    async def result(self, result_type: type[ResultT], *, limited: bool = True) -> ResultT:
        """Wait until it is over, and get what its request would have been answered.

        Args:
          result_type: Of the request.
          limited: Whether it is as limited in time as the other requests.

        """
        request = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=self.task_id))
        seconds = self._seconds if limited else math.inf
        found = await self._send(request, result_type, seconds)
        self._check_related(found.meta)
        return found

    def _check_related(self, meta: Mapping[str, Any] | None) -> None:
        """Refuse what says that it belongs to another task (associating task-related messages)."""
        related: Any = (meta or {}).get(RELATED_TASK_META_KEY)
        if not isinstance(related, dict):
            # Nothing else says it, and whoever leaves it out is taken at its word.
            return
        if cast("JsonObject", related).get("taskId", self.task_id) != self.task_id:
            raise InvalidResponse("tasks/result: the answer is about another task")

    async def cancel(self, get: Callable[[], Awaitable[DetailedTask]]) -> DetailedTask:
        """Have it cancelled; one that is over already is as it should be.

        Args:
          get: Asks how it is, where the receiver does not cancel it.

        Raises:
          MCPError: what the receiver refused with, if the task goes on; what `get` raises.

        """
        request = CancelTaskRequest(params=CancelTaskRequestParams(task_id=self.task_id))
        try:
            return detailed(await self._send(request, CancelTaskResult, self._seconds))
        except MCPError as exc:
            if exc.code != INVALID_PARAMS or isinstance(exc, LocalError):
                raise
            refusal = exc.error
        task = await get()
        if task.status not in OVER:
            raise MCPError.from_error_data(refusal)
        return task


def read_created(answer: JsonObject) -> CreateTaskResult:
    """Read what a receiver answered that has accepted to run a task.

    Raises:
      InvalidResponse: if it is no such answer.

    """
    try:
        read = decode(OlderCreateTaskResult, answer, REVISION, where="result")
    except DecodeError as exc:
        raise InvalidResponse(f"tools/call: the server's answer is invalid: {exc}") from exc
    return CreateTaskResult(**_members(read.task), meta=read.meta)


def detailed(task: OlderTask) -> DetailedTask:
    """Say of a task of 2025-11-25 what is said of those of later revisions."""
    return DetailedTask(**_members(task))


def _members(task: OlderTask) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "status": task.status,
        "status_message": task.status_message,
        "created_at": task.created_at,
        "last_updated_at": task.last_updated_at,
        "ttl_ms": _time(task.ttl),
        "poll_interval_ms": _time(task.poll_interval),
    }


def _time(milliseconds: int | None) -> int | None:
    # That revision sets no bounds; less than none is none.
    return None if milliseconds is None else max(0, milliseconds)


async def wait_for_result(
    requests: OlderRequests, result_type: type[ResultT], polling: Polling
) -> ResultT:
    """Wait until a task is over, and get what its request would have been answered.

    The receiver may send what it asks of this side on the stream of a ``tasks/result`` alone, so
    one is sent when the task wants input. Asking how it is goes on beside it.

    Args:
      requests: About the task.
      result_type: Of the request that became the task.
      polling: Asks how the task is.

    Raises:
      TaskCancelled: if it was cancelled.
      MCPError: what the request would have been answered with, or why that cannot be known.

    """
    async with open_background_nursery() as nursery:
        early = _EarlyResult(requests, result_type, polling, nursery)
        while True:
            task = await polling.next()
            if task.status == "cancelled":
                raise TaskCancelled(task)
            if task.status in OVER:
                return await polling.patiently(
                    partial(requests.result, result_type), _is_no_result
                )
            if task.status == "input_required":
                early.ask()
    # Left by the request that had waited.
    assert early.result is not None
    return early.result


def _is_no_result(error: MCPError) -> bool:
    # Any other error is what the request would have been answered with.
    return may_pass(error) and error.code != INTERNAL_ERROR


@attrs.define(eq=False)
class _EarlyResult(Generic[ResultT]):
    """Asks for the result of a task that is not over, in the background.

    Attributes:
      result: What it is.

    """

    _requests: OlderRequests
    _result_type: type[ResultT]
    _polling: Polling
    _nursery: trio.Nursery
    result: ResultT | None = attrs.field(default=None, init=False)
    _is_asked: bool = attrs.field(default=False, init=False)
    _failures: int = attrs.field(default=0, init=False)
    _failure: MCPError | None = attrs.field(default=None, init=False)

    def ask(self) -> None:
        """Send a ``tasks/result``, unless one waits already.

        Raises:
          MCPError: what it was answered with, if that was often, and the task still not over.

        """
        if self._is_asked:
            return
        if self._failure is not None and self._failures >= MAX_FAILURES:
            failure, self._failure = self._failure, None
            try:
                raise failure
            finally:
                # Its traceback refers to this frame.
                del failure
        self._is_asked = True
        self._nursery.start_soon(self._wait, name="tasks/result")

    async def _wait(self) -> None:
        try:
            self.result = await self._requests.result(self._result_type, limited=False)
        except MCPError as exc:
            # If the task is over, it is what that has come to, and the next answer, too.
            self._failures += 1
            self._failure = exc.with_traceback(None)
            if self._failures == 1:
                self._polling.hurry()
        else:
            self._nursery.cancel_scope.cancel(reason="the result is there")
        finally:
            self._is_asked = False
