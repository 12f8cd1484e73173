"""What a server of 2025-11-25 asks of a client in tasks, while one session lasts."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._codec import checked_copy, excerpt
from trio_mcp._codec._public import to_json
from trio_mcp._rpc._answer import INTERNAL_ERROR_TEXT
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.client import ClientRequestContext
from trio_mcp.errors import ConnectionLost, LocalError, MCPError
from trio_mcp.extensions.tasks.stores._store import TooManyTasks, read_position, tell_forgotten
from trio_mcp.extensions.tasks.stores._stored import new_task
from trio_mcp.types import (
    INTERNAL_ERROR,
    CreateTaskResult,
    ErrorData,
    ListTasksResult,
    TaskStatusNotification,
    TaskStatusNotificationParams,
    WireModel,
)

from ._words import (
    PAGE,
    REVISION,
    members,
    no_cursor,
    outcome_of,
    over_already,
    related_to,
    seconds_wanted,
    unknown,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from trio_mcp.client import ClientSession, RequestNext
    from trio_mcp.extensions.tasks.stores._stored import StoredTask
    from trio_mcp.types import (
        CreateMessageRequest,
        ElicitRequest,
        JsonObject,
        Task,
        TaskMetadata,
    )

    from ._accepted import AcceptedTasks

    AnswerFnT = Callable[[], Awaitable[WireModel | JsonObject | ErrorData]]

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")

_INTERNAL: Final = ErrorData(code=INTERNAL_ERROR, message=INTERNAL_ERROR_TEXT)
# What a question is answered whose callback has a defect.

_CANCELLED: Final = "The task was cancelled by request"
_EXPIRED: Final = "The time of the task was over before there was an answer"


@attrs.define(eq=False)
class _Asked:
    """One of the tasks: how it is, and what it runs in."""

    task: StoredTask
    place: int
    scope: trio.CancelScope
    kept: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    over: trio.Event = attrs.field(factory=trio.Event, init=False)


@attrs.define(eq=False, kw_only=True)
class _TaskContext(ClientRequestContext):
    """What the callback knows whose answer is for a task: all that it reports belongs to that."""

    asked: _Asked

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """See `ClientRequestContext.report_progress`. It ends with the task (task progress)."""
        if self.asked.task.is_over:
            await trio.lowlevel.checkpoint()
        else:
            await ClientRequestContext.report_progress(self, progress, total, message)


class AskedTasks:
    """The tasks that the server of one session has made.

    Args:
      session: With that server.
      nursery: Runs them, until the session ends.
      bounds: How many there may be.

    """

    def __init__(
        self, session: ClientSession, nursery: trio.Nursery, bounds: AcceptedTasks
    ) -> None:
        self._session = session
        self._nursery = nursery
        self._bounds = bounds
        self._tasks: dict[str, _Asked] = {}
        self._running = 0
        self._made = 0

    # What becomes of them

    def begin(
        self,
        request: ElicitRequest | CreateMessageRequest,
        wanted: TaskMetadata,
        context: ClientRequestContext,
        call_next: RequestNext,
    ) -> CreateTaskResult:
        """Have a question answered in a task of its own.

        Args:
          request: The question.
          wanted: What the server wants of the task.
          context: What the callback is told of the question.
          call_next: Has the callback answer it.

        Raises:
          MCPError: -32602 if that cannot be had.
          TooManyTasks: if there are as many as there may be.

        """
        method, seconds, bounds = request.method, seconds_wanted(wanted), self._bounds
        ttl = bounds.ttl if seconds is None else min(seconds, bounds.ttl)
        self._make_room(method)
        task = new_task(None, now=bounds.clock(), ttl=ttl, poll_interval=bounds.poll_interval)
        self._made += 1
        scope = trio.CancelScope(deadline=trio.current_time() + ttl)
        asked = self._tasks[task.task_id] = _Asked(task, self._made, scope)
        self._running += 1
        told = _TaskContext(
            session=context.session,
            request_id=context.request_id,
            meta={**(context.meta or {}), **related_to(task.task_id)},
            asked=asked,
        )
        self._nursery.start_soon(
            self._live, asked, lambda: call_next(request, told), name=f"task for {method}"
        )
        logger.info("The task %.6s… for %s has begun", task.task_id, method)
        return CreateTaskResult(task=task.to_task(), meta=related_to(task.task_id))

    def _make_room(self, method: str) -> None:
        bounds, kept = self._bounds, self._tasks
        if self._running < bounds.max_running and len(kept) < bounds.max_tasks:
            return
        over = [each for each in kept.values() if each.task.is_over]
        if self._running >= bounds.max_running or not over:
            logger.info("A task for %s was refused: %d are going on", method, self._running)
            raise TooManyTasks("This client has too many tasks; try again later")
        first = min(over, key=_by_change)
        self._forget(first)
        tell_forgotten(first.task.task_id)

    async def _live(self, asked: _Asked, answer: AnswerFnT) -> None:
        asked.kept.deadline = asked.scope.deadline
        try:
            with asked.scope:
                self._end(asked, **await _outcome_of(answer, asked.task.task_id))
        finally:
            self._running -= 1
        # It does nothing where there was an end before that of its time.
        self._end(asked, status="cancelled", status_message=_EXPIRED)
        with asked.kept:
            if not asked.scope.cancel_called:
                await self._tell(asked.task.to_task())
            await trio.sleep_forever()
        self._forget(asked)

    async def _tell(self, task: Task) -> None:
        """Tell the server that a task has come to its end by itself: it may ask for it sooner."""
        # The params name the task, so that the metadata need not (task notifications).
        params = TaskStatusNotificationParams(**members(task))
        with suppress(ConnectionLost):
            await self._session.send_notification(TaskStatusNotification(params=params))

    def _end(self, asked: _Asked, **changes: Any) -> None:
        if asked.task.is_over:
            return
        asked.task = asked.task.ended(self._bounds.clock(), **changes)
        asked.over.set()
        logger.info("The task %.6s… is over: %s", asked.task.task_id, asked.task.status)

    def _forget(self, asked: _Asked) -> None:
        self._tasks.pop(asked.task.task_id, None)
        asked.kept.cancel(reason="the task is forgotten")

    def forget_all(self) -> None:
        """Stop and forget them all: nobody is there any longer who could ask for them."""
        for asked in [*self._tasks.values()]:
            self._forget(asked)
            self._end(asked, status="cancelled", status_message=_CANCELLED)
            asked.scope.cancel(reason="the server that asked is gone")

    # What the server may ask about them

    def get(self, task_id: str) -> Task:
        """Say how one is (``tasks/get``).

        Raises:
          MCPError: -32602 if there is none of this id, or no longer.

        """
        return self._find(task_id).task.to_task()

    async def result(self, task_id: str) -> JsonObject:
        """Wait until one is over, and give what its question would have been answered.

        Raises:
          MCPError: what it would have been answered with; -32603 if the task was cancelled;
            -32602 if there is none of this id, or no longer.

        """
        asked = self._find(task_id)
        await asked.over.wait()
        logger.info("The result of the task %.6s… is fetched", task_id)
        return outcome_of(asked.task)

    def cancel(self, task_id: str) -> Task:
        """Stop one (``tasks/cancel``).

        Raises:
          MCPError: -32602 if there is none of this id, or it is over.

        """
        asked = self._find(task_id)
        if asked.task.is_over:
            raise over_already(asked.task)
        self._end(asked, status="cancelled", status_message=_CANCELLED)
        asked.scope.cancel(reason="the server cancelled the task")
        return asked.task.to_task()

    def list(self, cursor: str | None) -> ListTasksResult:
        """Give a page of them, in the order in which they were made (``tasks/list``).

        Raises:
          MCPError: -32602 if the cursor is none that a page has.

        """
        try:
            after = read_position(cursor)
        except ValueError:
            raise no_cursor(cursor) from None
        found = [each for each in self._tasks.values() if each.place > after]
        page = found[:PAGE]
        return ListTasksResult(
            tasks=[each.task.to_task() for each in page],
            next_cursor=str(page[-1].place) if len(found) > PAGE else None,
        )

    def _find(self, task_id: str) -> _Asked:
        asked = self._tasks.get(task_id)
        if asked is None:
            logger.info("A task was asked for that is not there")
            raise unknown(task_id)
        return asked


def _by_change(asked: _Asked) -> float:
    return asked.task.updated_at


async def _outcome_of(answer: AnswerFnT, task_id: str) -> dict[str, Any]:
    """Have a question answered, and say how its task has ended thereby."""
    try:
        given = await answer()
        if isinstance(given, ErrorData):
            return _failed(given)
        written = _written(given)
    except Exception as exc:
        if isinstance(exc, MCPError) and not isinstance(exc, LocalError):
            return _failed(exc.error)
        logger.exception("The task %.6s… failed", task_id)
        return _failed(_INTERNAL)
    except BaseExceptionGroup as group:
        # Failing while it is cancelled ends nothing else.
        failures, rest = group.split(Exception)
        what = "The task %.6s… failed while it was cancelled"
        logger.log(logging.ERROR, what, task_id, exc_info=failures)
        raise (group if rest is None else rest) from None
    return {"status": "completed", "result": written}


def _written(given: WireModel | JsonObject) -> JsonObject:
    if isinstance(given, WireModel):
        return to_json(given, REVISION.version)
    copied: JsonObject = checked_copy(given, "result")
    return copied


def _failed(error: ErrorData) -> dict[str, Any]:
    try:
        written = to_json(error)
    except (TypeError, ValueError):
        # Its data are none of JSON; whoever answers errors leaves them out, too.
        written = {"code": error.code, "message": error.message}
    return {"status": "failed", "error": written, "status_message": excerpt(error.message)}


@asynccontextmanager
async def open_asked(
    session: ClientSession, bounds: AcceptedTasks
) -> AsyncGenerator[AskedTasks, None]:
    """Keep the tasks of a server, until its session ends or it is gone."""
    async with open_background_nursery() as nursery:
        asked = AskedTasks(session, nursery, bounds)
        nursery.start_soon(_forget_when_lost, session, asked, name="end of a server with tasks")
        forget_listener = session.on_reconnect(asked.forget_all)
        try:
            yield asked
        finally:
            forget_listener()


async def _forget_when_lost(session: ClientSession, asked: AskedTasks) -> None:
    await session.wait_lost()
    asked.forget_all()
