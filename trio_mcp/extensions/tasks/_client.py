"""Tasks on the client's side."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp._checks import check_flag
from trio_mcp._rpc._reports import Reports
from trio_mcp.client import ResultClaim
from trio_mcp.errors import LocalError, MCPError
from trio_mcp.types import METHOD_NOT_FOUND

from ._giving_up import give_up, until_named
from ._handle import Task, tasks_of
from ._wire import CreateTaskResult
from .older._accepted import AS_USUAL
from .older._receiver import TaskReceiver
from .older._requests import read_created
from .older._words import wanted_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp._rpc._link import ProgressFn
    from trio_mcp.client import (
        ClaimContext,
        ToolCallAnswer,
        ToolCallContext,
        ToolCallNext,
    )
    from trio_mcp.types import (
        CallToolRequestParams,
        CallToolResult,
        RequestParamsMeta,
    )

    from .older._accepted import AcceptedTasks


class TasksClientExtension(TaskReceiver):
    """Understands servers that answer the call of a tool with a task (SEP-2663).

    ::

        async with Client(url, extensions=[TasksClientExtension()]) as client:
            result = await client.call_tool("render", {"scene": "forest"})

    `Client.call_tool` then waits for the task: it asks the server how it is as often as that
    wants, has the client's callbacks answer what the task asks, and returns the tool's result, or
    raises the error that it would have been answered with, or `TaskCancelled`. Whoever cancels the
    call cancels the task, and so does a question that cannot be answered; the server has a second
    to take note of that. A task whose server can no longer be asked goes on: the error has a note
    with its id.

    With ``allow_claimed=True`` the call returns the `CreateTaskResult` as it came; `Task` is the
    handle for it.

    A server of 2025-11-25 makes a task of a call where it is asked to. It is asked to for tools
    that are listed as ``required``, and for those that are ``optional`` by calls with
    ``allow_claimed=True``.

    A server of 2025-11-25 may also ask the client something in a task: the callbacks for sampling
    and elicitation then answer while the session goes on, and the server comes for the answer.
    Such a task ends with its session, and when the server has gone.

    Args:
      ttl: For how many seconds servers of 2025-11-25 are asked to keep a task; as long as they
        like when None.
      listen: Have servers of 2026-07-28 tell what becomes of tasks; see `Task.wait`.
      accepts: What servers may have of this client in tasks; None for nothing, so that they are
        answered as by clients without the extension.

    Raises:
      TypeError, ValueError: if an argument is none that it may be.

    """

    def __init__(
        self,
        *,
        ttl: float | None = None,
        listen: bool = False,
        accepts: AcceptedTasks | None = AS_USUAL,
    ) -> None:
        super().__init__(accepts)
        check_flag("listen", listen)
        self._listens = listen
        self._wanted = wanted_for(ttl)

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """See `ClientExtension.claims`."""
        return [ResultClaim(result_type="task", model=CreateTaskResult, resolve=self._resolve)]

    async def _resolve(self, created: CreateTaskResult, context: ClaimContext) -> CallToolResult:
        return await _finish(created, context, listen=self._listens)

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ToolCallContext, call_next: ToolCallNext
    ) -> ToolCallAnswer:
        """See `ClientExtension.intercept_tool_call`."""
        if params.task is not None or not _has_tasks(ctx):
            return await call_next(params)
        becomes_task = await _becomes_task(params.name, ctx)
        sent = _Sent(call_next)
        try:
            return await self._call(becomes_task, params, ctx, sent)
        except MCPError as exc:
            if not sent.is_refused:
                raise
            refusal = exc
        # Tool-level negotiation: a call that has to be a task is refused so, and one that must
        # not be. The server may have changed that without a word.
        if not await _has_changed(becomes_task, params.name, ctx):
            try:
                raise refusal
            finally:
                # Its traceback refers to this frame.
                del refusal
        return await self._call(not becomes_task, params, ctx, call_next)

    async def _call(
        self,
        becomes_task: bool,
        params: CallToolRequestParams,
        ctx: ToolCallContext,
        call_next: ToolCallNext,
    ) -> ToolCallAnswer:
        if not becomes_task:
            return await call_next(params)
        as_task = params.evolve(task=self._wanted)
        if ctx.allow_claimed:
            return await _create(as_task, ctx, call_next)
        if ctx.progress_callback is None:
            return await _create_and_finish(as_task, ctx, call_next)
        return await _report(ctx.progress_callback, as_task, ctx, call_next)


@attrs.define(eq=False)
class _Sent:
    """Sends a call on.

    Attributes:
      is_refused: Whether the server does not serve the call in that way; no task came of it then.

    """

    _call_next: ToolCallNext
    is_refused: bool = attrs.field(default=False, init=False)

    async def __call__(self, params: CallToolRequestParams) -> ToolCallAnswer:
        try:
            return await self._call_next(params)
        except MCPError as exc:
            self.is_refused = exc.code == METHOD_NOT_FOUND and not isinstance(exc, LocalError)
            raise


def _has_tasks(ctx: ToolCallContext) -> bool:
    """Whether the server makes tasks of calls at all."""
    tasks = tasks_of(ctx.session)
    requests = None if tasks is None else tasks.requests
    return requests is not None and requests.tools is not None and requests.tools.call is not None


async def _becomes_task(tool: str, ctx: ToolCallContext, *, anew: bool = False) -> bool:
    """Whether the server is to make a task of a call (tasks, tool-level negotiation)."""
    execution = await ctx.session.tool_execution(tool, ctx.read_timeout_seconds, anew=anew)
    support = None if execution is None else execution.task_support
    return support == "required" or (support == "optional" and ctx.allow_claimed)


async def _has_changed(becomes_task: bool, tool: str, ctx: ToolCallContext) -> bool:
    """Whether a call that was refused is to be made otherwise, as the tools are listed now."""
    try:
        return await _becomes_task(tool, ctx, anew=True) is not becomes_task
    except MCPError:
        return False


async def _create(
    params: CallToolRequestParams, ctx: ToolCallContext, call_next: ToolCallNext
) -> ToolCallAnswer:
    """Have a task created, and do not leave one behind that nobody knows of."""
    answer: ToolCallAnswer | None = None
    try:
        async with until_named():
            answer = await call_next(params)
            if isinstance(answer, dict) and "task" in answer:
                answer = read_created(answer)
    except BaseException:
        if isinstance(answer, CreateTaskResult):
            await give_up(Task(ctx.session, answer))  # noqa: ASYNC102 - bounded inside
        raise
    return answer


async def _create_and_finish(
    params: CallToolRequestParams, ctx: ToolCallContext, call_next: ToolCallNext
) -> ToolCallAnswer:
    answer = await _create(params, ctx, call_next)
    return await _finish(answer, ctx) if isinstance(answer, CreateTaskResult) else answer


async def _report(
    callback: ProgressFn,
    params: CallToolRequestParams,
    ctx: ToolCallContext,
    call_next: ToolCallNext,
) -> ToolCallAnswer:
    """Have the callback of a call hear of progress for as long as the task goes on."""
    # Task progress: the token stays valid when the request has been answered. One that the link
    # had given would not.
    token = uuid.uuid4().hex
    reports = Reports(callback, "tools/call", token)

    def take(progress: float, total: float | None, message: str | None) -> None:
        reports.put((progress, total, message))

    meta: RequestParamsMeta = {**(params.meta or {}), "progress_token": token}
    remove = ctx.session.on_progress(token, take)
    try:
        asking = params.evolve(meta=meta)
        return await reports.beside(_create_and_finish(asking, ctx, call_next))
    finally:
        remove()


async def _finish(
    created: CreateTaskResult, context: ClaimContext | ToolCallContext, *, listen: bool = False
) -> CallToolResult:
    task = Task(context.session, created, read_timeout_seconds=context.read_timeout_seconds)
    try:
        return await task.wait(listen=listen)
    except BaseException as exc:
        if task.is_left_alone:
            exc.add_note(f"The task {task.task_id!r} may go on at the server")
        elif not task.is_over:
            await give_up(task)  # noqa: ASYNC102 - bounded inside
        raise
