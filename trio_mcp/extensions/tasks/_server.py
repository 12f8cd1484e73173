"""Tasks on the server's side."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

from trio_mcp._checks import (
    check_callable,
    check_mapping,
    check_number,
    check_text,
    check_whole,
    check_word,
)
from trio_mcp._codec import excerpt
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import (
    Extension,
    MethodBinding,
    SubscriptionBinding,
    require_client_extension,
)
from trio_mcp.server import authenticated_principal
from trio_mcp.types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    MODERN_PROTOCOL_VERSIONS,
    EmptyResult,
    PaginatedRequestParams,
)
from trio_mcp.types._base import is_array

from ._answers import read_answer, read_question
from ._listening import telling
from ._run import TaskRun, TaskTimes, open_run
from ._wire import TASKS, TaskRequestParams, UpdateTaskRequestParams
from ._work import Work
from .older import _serving as older
from .older._result import result_of
from .older._words import VERSIONS, unknown
from .stores._memory_store import InMemoryTaskStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from trio_mcp.mcpserver import MCPServer
    from trio_mcp.server import CallNext, HandlerResult, ServerRequestContext, TellFnT
    from trio_mcp.types import (
        CallToolRequestParams,
        CallToolResult,
        CancelTaskResult,
        GetTaskResult,
        JsonObject,
        ListTasksResult,
        ServerCapabilities,
        Tool,
    )

    from .stores._store import TaskStore
    from .stores._stored import StoredTask

TaskSupport: TypeAlias = Literal["never", "optional", "required"]
"""Whether calls of a tool become tasks."""

_SUPPORT: Final = ("never", "optional", "required")
_VERSIONS: Final = frozenset(MODERN_PROTOCOL_VERSIONS)


class TasksExtension(Extension):
    """Answers calls of some tools with a task, for clients that know of tasks.

    These are clients that declare the extension (SEP-2663), and clients of 2025-11-25, whose core
    has tasks: they ask for one with the call.

    ::

        tasks = TasksExtension({"render": "optional", "train": "required"})
        mcp = MCPServer("studio", extensions=[tasks])

    The tools themselves are as others: a call runs on in the background, and what it comes to is
    kept. In a task ``ctx.elicit`` and its like, and questions of `Resolve`, reach clients of
    2026-07-28, too. What a tool asks by its result, or by `Resolve`, before its request has become
    a task is asked by that request.

    All of it ends with the run of the server: tasks that are not over by then fail.

    Args:
      tools: By name: ``"optional"`` where a call becomes a task if its client knows tasks and the
        tool takes its time; ``"required"`` where a client has to know them, and each result is
        that of a task. Other tools are ``"never"`` one.
      store: Where tasks are kept; an `InMemoryTaskStore` of its own if not given.
      ttl: Seconds for which a task is kept from its creation, over or not. One that is not over
        then is cancelled. Tell them to nobody who needs a result for longer.
      poll_interval: Seconds after which a client is told to ask again.
      patience: Seconds that a request waits for the tool before it becomes a task.
      max_running: How many calls of these tools go on at the same time, whoever made them; one
        principal has no more of them than one beyond what is left. More are refused where a task
        is required, and waited for like those of any other tool where it is not.
      clock: The time, in seconds since 1970.

    Raises:
      TypeError, ValueError: if an argument is of another kind, or out of its bounds.

    """

    identifier = TASKS
    protocol_versions = _VERSIONS
    result_types = frozenset(("task",))

    def __init__(
        self,
        tools: Mapping[str, TaskSupport],
        *,
        store: TaskStore | None = None,
        ttl: float = 3_600.0,
        poll_interval: float = 1.0,
        patience: float = 0.1,
        max_running: int = 500,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_mapping("tools", tools)
        for name, support in tools.items():
            check_text("tools", name)
            check_word(f"tools[{name!r}]", support, _SUPPORT)
        check_number("ttl", ttl, above=0)
        check_number("poll_interval", poll_interval, above=0)
        check_number("patience", patience, least=0)
        for name, seconds in (("ttl", ttl), ("poll_interval", poll_interval)):
            if seconds == float("inf"):
                raise ValueError(f"{name}: expected a finite number of seconds, got {seconds!r}")
        check_whole("max_running", max_running, least=1)
        check_callable("clock", clock)
        self._tools = dict(tools)
        self._store: TaskStore = InMemoryTaskStore() if store is None else store
        self._max_running = max_running
        self._times = TaskTimes(
            ttl=ttl, poll_interval=poll_interval, patience=patience, clock=clock
        )

    def methods(self) -> Sequence[MethodBinding]:
        """See `Extension.methods`."""
        both = _VERSIONS | VERSIONS
        bindings: list[tuple[str, Any, Any, frozenset[str]]] = [
            ("tasks/get", TaskRequestParams, self._get, both),
            ("tasks/update", UpdateTaskRequestParams, self._update, _VERSIONS),
            ("tasks/cancel", TaskRequestParams, self._cancel, both),
            ("tasks/result", TaskRequestParams, self._result, VERSIONS),
        ]
        return [
            *(
                MethodBinding(method, params_type, handler, versions, name_param="taskId")
                for method, params_type, handler, versions in bindings
            ),
            MethodBinding("tasks/list", PaginatedRequestParams, self._list, VERSIONS),
        ]

    def capabilities(
        self, announced: ServerCapabilities, ctx: ServerRequestContext[Any, Any]
    ) -> ServerCapabilities:
        """See `Extension.capabilities`."""
        if not older.has_tasks(ctx):
            return announced
        return announced.evolve(tasks=older.capability(self._store, ctx))

    def describe_tool(self, tool: Tool) -> Tool:
        """See `Extension.describe_tool`."""
        support = self._tools.get(tool.name)
        return tool if support is None else tool.evolve(execution=older.execution(support))

    def subscriptions(self) -> Sequence[SubscriptionBinding]:
        """See `Extension.subscriptions`."""
        return [SubscriptionBinding("taskIds", self._listen)]

    @asynccontextmanager
    async def _listen(
        self, ctx: ServerRequestContext[Any, Any], wanted: Any, tell: TellFnT
    ) -> AsyncGenerator[list[str] | None]:
        require_client_extension(ctx, TASKS)
        if not is_array(wanted) or not all(isinstance(each, str) for each in wanted):
            raise MCPError(
                INVALID_PARAMS, "params.notifications.taskIds: expected an array of strings"
            )
        own = [each for each in dict.fromkeys(wanted) if await self._find(ctx, each) is not None]
        async with telling(_run_of(ctx), own, tell):
            yield own or None

    @asynccontextmanager
    async def lifespan(self, server: MCPServer[Any]) -> AsyncGenerator[Any, None]:
        """See `Extension.lifespan`.

        Raises:
          ValueError: if one of the tools is none of the server's.

        """
        known = {tool.name for tool in await server.list_tools()}
        unknown = sorted(self._tools.keys() - known)
        if unknown:
            raise ValueError(
                f"TasksExtension: expected names of tools of the server {server.name!r}, got "
                f"{', '.join(map(repr, unknown))}"
            )
        async with open_run(self._store, self._times, max_running=self._max_running) as run:
            yield run

    # Calls of tools

    async def intercept_tool_call(
        self,
        params: CallToolRequestParams,
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
    ) -> HandlerResult:
        """See `Extension.intercept_tool_call`.

        Raises:
          MCPError: -32021 if the tool takes a client that knows tasks; at 2025-11-25 -32601 if it
            takes a call that asks for a task, or one that does not; -32600 before that, if it
            takes one.
          TooManyTasks: if it requires a task, and there is no room for one.

        """
        support = self._tools.get(params.name, "never")
        if older.has_tasks(ctx):
            return await older.call_tool(_run_of(ctx), support, params, ctx, call_next)
        if support == "never":
            return await call_next(ctx)
        if not _is_active(ctx):
            if support == "required":
                _refuse(params.name, ctx)
            return await call_next(ctx)
        run = _run_of(ctx)
        if support == "optional" and not run.places.has_one_for(authenticated_principal(ctx)):
            return await call_next(ctx)
        work = Work(run, ctx, call_next, always=support == "required")
        return await work.answer(ctx)

    # Requests about tasks

    async def _get(
        self, ctx: ServerRequestContext[Any, Any], params: TaskRequestParams
    ) -> JsonObject | GetTaskResult:
        task = await self._known(ctx, params.task_id)
        return older.describe(task) if older.has_tasks(ctx) else task.to_detailed()

    async def _result(
        self, ctx: ServerRequestContext[Any, Any], params: TaskRequestParams
    ) -> CallToolResult:
        return await result_of(_run_of(ctx), ctx, await self._known(ctx, params.task_id))

    async def _list(
        self, ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams
    ) -> ListTasksResult:
        return await older.list_tasks(_run_of(ctx), ctx, params.cursor)

    async def _update(
        self, ctx: ServerRequestContext[Any, Any], params: UpdateTaskRequestParams
    ) -> EmptyResult:
        await self._known(ctx, params.task_id)
        given = params.input_responses

        def answer(task: StoredTask, now: float) -> StoredTask | None:
            # What is not asked, or no longer, is ignored.
            answers = {key: each for key, each in given.items() if key in task.input_requests}
            for key, each in answers.items():
                _check_answer(key, task.input_requests[key], each)
            return task.answered(now, answers) if answers else None

        await _run_of(ctx).change(params.task_id, answer)
        return EmptyResult()

    async def _cancel(
        self, ctx: ServerRequestContext[Any, Any], params: TaskRequestParams
    ) -> EmptyResult | CancelTaskResult:
        await self._known(ctx, params.task_id)
        if older.has_tasks(ctx):
            return await older.cancel(_run_of(ctx), params.task_id)
        await _run_of(ctx).cancel(params.task_id)
        return EmptyResult()

    async def _known(self, ctx: ServerRequestContext[Any, Any], task_id: str) -> StoredTask:
        if not older.has_tasks(ctx):
            require_client_extension(ctx, TASKS)
        task = await self._find(ctx, task_id)
        if task is None:
            raise unknown(task_id)
        return task

    async def _find(self, ctx: ServerRequestContext[Any, Any], task_id: str) -> StoredTask | None:
        task = await self._store.get(task_id)
        if task is None or task.expires_at <= self._times.clock():
            return None
        # Whose tasks there are is nobody else's business.
        return task if task.owner == authenticated_principal(ctx) else None


def _run_of(ctx: ServerRequestContext[Any, Any]) -> TaskRun:
    run: TaskRun = ctx.lifespan_states[TASKS]
    return run


def _is_active(ctx: ServerRequestContext[Any, Any]) -> bool:
    declared = ctx.session.client_capabilities
    return (
        ctx.protocol_version in _VERSIONS
        and declared is not None
        and TASKS in (declared.extensions or {})
    )


def _refuse(tool: str, ctx: ServerRequestContext[Any, Any]) -> NoReturn:
    if ctx.protocol_version in _VERSIONS:
        require_client_extension(ctx, TASKS)
    # Of an older revision, where it means nothing to declare the extension.
    raise MCPError(
        INVALID_REQUEST,
        f"The tool {excerpt(tool)!r} has to be called as a task, which needs protocol 2025-11-25 "
        "or newer",
    )


def _check_answer(key: str, question: JsonObject, answer: JsonObject) -> None:
    try:
        read_answer(read_question(question), answer)
    except ValueError as exc:
        raise MCPError(
            INVALID_PARAMS, f"Invalid params: params.inputResponses.{excerpt(key)}: {exc}"
        ) from exc
