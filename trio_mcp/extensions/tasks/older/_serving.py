"""Tasks as revision 2025-11-25 has them, on the server's side.

The tasks are the same as those of later clients, in the same store, and the work is the same. What
differs is how a client gets one (by asking for it), what it sees of it, and how it is asked.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, NoReturn

from trio_mcp._codec import excerpt
from trio_mcp._rpc._answer import INTERNAL_ERROR_TEXT
from trio_mcp.errors import MCPError
from trio_mcp.extensions.tasks._work import Work
from trio_mcp.extensions.tasks.stores._store import ListingTaskStore
from trio_mcp.server import authenticated_principal
from trio_mcp.types import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    CancelTaskResult,
    CreateTaskResult,
    GetTaskResult,
    ListTasksResult,
    ServerTasksCapability,
    ServerTasksRequestsCapability,
    TasksCallCapability,
    TasksCancelCapability,
    TasksListCapability,
    TasksToolsCapability,
    ToolExecution,
)

from ._status import tell_status
from ._words import (
    PAGE,
    VERSIONS,
    members,
    no_cursor,
    over_already,
    related_to,
    seconds_wanted,
    unknown,
)

if TYPE_CHECKING:
    from trio_mcp.extensions.tasks._run import TaskRun
    from trio_mcp.extensions.tasks._server import TaskSupport
    from trio_mcp.extensions.tasks.stores._store import TaskStore
    from trio_mcp.extensions.tasks.stores._stored import StoredTask
    from trio_mcp.server import CallNext, HandlerResult, ServerRequestContext
    from trio_mcp.types import CallToolRequestParams

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")


def has_tasks(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether a request may be about such a task."""
    return ctx.protocol_version in VERSIONS


# What is said of them


def capability(store: TaskStore, ctx: ServerRequestContext[Any, Any]) -> ServerTasksCapability:
    """Say what there is for the client of a request."""
    calls = TasksToolsCapability(call=TasksCallCapability())
    return ServerTasksCapability(
        list=None if _owner_of_list(store, ctx) is None else TasksListCapability(),
        cancel=TasksCancelCapability(),
        requests=ServerTasksRequestsCapability(tools=calls),
    )


def execution(support: TaskSupport) -> ToolExecution:
    """Say of a tool whether its calls may be tasks."""
    return ToolExecution(task_support="forbidden" if support == "never" else support)


def _owner_of_list(store: TaskStore, ctx: ServerRequestContext[Any, Any]) -> str | None:
    # Where nobody says who asks, a list would tell the ids that keep tasks apart (task isolation).
    return authenticated_principal(ctx) if isinstance(store, ListingTaskStore) else None


# Calls of tools


async def call_tool(
    run: TaskRun,
    support: TaskSupport,
    params: CallToolRequestParams,
    ctx: ServerRequestContext[Any, Any],
    call_next: CallNext,
) -> HandlerResult:
    """Answer the call of a tool: with a task if that is asked for.

    Raises:
      MCPError: -32601 if the tool is never a task and this is to be one, or the other way round;
        -32602 if it cannot be kept for as long as is asked for; -32603 if it cannot be at all.
      TooManyTasks: if there is no room for one more.

    """
    wanted, name = params.task, params.name
    if not _is_known(ctx, name):
        return await call_next(ctx)
    if wanted is None:
        if support == "required":
            _refuse(f"The tool {excerpt(name)!r} has to be called as a task, with params.task")
        return await call_next(ctx)
    if support == "never":
        _refuse(
            f"The tool {excerpt(name)!r} cannot be called as a task, without params.task alone"
        )
    task = run.new_task(authenticated_principal(ctx), seconds_wanted(wanted))
    work = Work(run, ctx, call_next, task=task)
    try:
        await work.begin(ctx)
    except MCPError:
        raise
    except Exception:
        # Of the tool it would be a result, and there is none: the tool has not begun.
        logger.exception("A task could not be stored")
        raise MCPError(INTERNAL_ERROR, INTERNAL_ERROR_TEXT) from None
    run.nursery.start_soon(tell_status, run, ctx, task, name="status of a task")
    return CreateTaskResult(task=task.to_task(), meta=related_to(task.task_id))


def _is_known(ctx: ServerRequestContext[Any, Any], tool: str) -> bool:
    # What is no tool at all is not one of the wrong kind.
    find = ctx.server.get_tool_input_schema
    return find is None or find(tool) is not None


def _refuse(message: str) -> NoReturn:
    raise MCPError(METHOD_NOT_FOUND, message)


# Requests about tasks


def describe(task: StoredTask) -> GetTaskResult:
    """Answer ``tasks/get``."""
    return GetTaskResult(**members(task.to_task()))


async def cancel(run: TaskRun, task_id: str) -> CancelTaskResult:
    """Answer ``tasks/cancel``.

    Raises:
      MCPError: -32602 if the task is over, or gone.

    """
    cancelled = await run.cancel(task_id)
    if cancelled is not None:
        return CancelTaskResult(**members(cancelled.to_task()))
    task = await run.store.get(task_id)
    if task is None:
        raise unknown(task_id)
    raise over_already(task)


async def list_tasks(
    run: TaskRun, ctx: ServerRequestContext[Any, Any], cursor: str | None
) -> ListTasksResult:
    """Answer ``tasks/list``.

    Raises:
      MCPError: -32601 if nobody's tasks are listed here; -32602 if the cursor is none.

    """
    store, owner = run.store, _owner_of_list(run.store, ctx)
    if owner is None or not isinstance(store, ListingTaskStore):
        _refuse("tasks/list: tasks are listed for authenticated clients alone")
    try:
        page = await store.list_tasks(owner, position=cursor, limit=PAGE)
    except ValueError:
        raise no_cursor(cursor) from None
    now = run.times.clock()
    tasks = [each.to_task() for each in page.tasks if each.expires_at > now]
    return ListTasksResult(tasks=tasks, next_cursor=page.position)
