"""The client as the one who has tasks: a server of 2025-11-25 asks it something in one."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from trio_mcp._checks import check_kind
from trio_mcp.client import ClientExtension, RequestBinding
from trio_mcp.errors import MCPError
from trio_mcp.extensions.tasks._wire import TASKS
from trio_mcp.types import (
    METHOD_NOT_FOUND,
    RELATED_TASK_META_KEY,
    CancelTaskRequestParams,
    CancelTaskResult,
    ClientTasksCapability,
    ClientTasksRequestsCapability,
    GetTaskPayloadRequestParams,
    GetTaskRequestParams,
    GetTaskResult,
    ListRootsRequest,
    PaginatedRequestParams,
    Result,
    TasksCancelCapability,
    TasksCreateElicitationCapability,
    TasksCreateMessageCapability,
    TasksElicitationCapability,
    TasksListCapability,
    TasksSamplingCapability,
)

from ._accepted import AcceptedTasks
from ._asked import open_asked
from ._words import VERSIONS, members

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.client import ClientRequestContext, ClientSession, RequestAnswer, RequestNext
    from trio_mcp.types import ClientCapabilities, InputRequest, JsonObject, ListTasksResult

    from ._asked import AskedTasks


class TaskReceiver(ClientExtension):
    """Answers questions of servers with tasks, where they ask for that; see its subclass."""

    identifier = TASKS

    def __init__(self, accepts: AcceptedTasks | None) -> None:
        if accepts is not None:
            check_kind("accepts", accepts, AcceptedTasks)
        self._accepts = accepts

    def capabilities(self, declared: ClientCapabilities) -> ClientCapabilities:
        """See `ClientExtension.capabilities`."""
        if self._accepts is None or (declared.sampling is None and declared.elicitation is None):
            return declared
        sampling = TasksSamplingCapability(create_message=TasksCreateMessageCapability())
        elicitation = TasksElicitationCapability(create=TasksCreateElicitationCapability())
        requests = ClientTasksRequestsCapability(
            sampling=None if declared.sampling is None else sampling,
            elicitation=None if declared.elicitation is None else elicitation,
        )
        # A session has one server, so whoever lists tasks sees no others than its own.
        tasks = ClientTasksCapability(
            list=TasksListCapability(), cancel=TasksCancelCapability(), requests=requests
        )
        return declared.evolve(tasks=tasks)

    def requests(self) -> Sequence[RequestBinding[Any]]:
        """See `ClientExtension.requests`."""
        if self._accepts is None:
            return ()
        bindings: list[tuple[str, Any, Any]] = [
            ("tasks/get", GetTaskRequestParams, self._get),
            ("tasks/result", GetTaskPayloadRequestParams, self._result),
            ("tasks/cancel", CancelTaskRequestParams, self._cancel),
            ("tasks/list", PaginatedRequestParams, self._list),
        ]
        return [
            RequestBinding(
                method=method, params_type=params_type, handler=handler, protocol_versions=VERSIONS
            )
            for method, params_type, handler in bindings
        ]

    def lifespan(self, session: ClientSession) -> AbstractAsyncContextManager[Any]:
        """See `ClientExtension.lifespan`."""
        return nullcontext() if self._accepts is None else open_asked(session, self._accepts)

    async def intercept_request(
        self, request: InputRequest, context: ClientRequestContext, call_next: RequestNext
    ) -> RequestAnswer:
        """See `ClientExtension.intercept_request`."""
        if context.session.protocol_version not in VERSIONS:
            return await call_next(request)
        if self._accepts is not None and not isinstance(request, ListRootsRequest):
            wanted = request.params.task
            if wanted is not None:
                return _tasks_of(context).begin(request, wanted, context, call_next)
        answer = await call_next(request)
        related = (context.meta or {}).get(RELATED_TASK_META_KEY)
        if related is None or not isinstance(answer, Result):
            return answer
        # What answers a question of a task says that it belongs to that, too.
        return answer.evolve(meta={**(answer.meta or {}), RELATED_TASK_META_KEY: related})

    # Requests about tasks

    async def _get(
        self, context: ClientRequestContext, params: GetTaskRequestParams
    ) -> GetTaskResult:
        return GetTaskResult(**members(_tasks_of(context).get(params.task_id)))

    async def _result(
        self, context: ClientRequestContext, params: GetTaskPayloadRequestParams
    ) -> JsonObject:
        return await _tasks_of(context).result(params.task_id)

    async def _cancel(
        self, context: ClientRequestContext, params: CancelTaskRequestParams
    ) -> CancelTaskResult:
        return CancelTaskResult(**members(_tasks_of(context).cancel(params.task_id)))

    async def _list(
        self, context: ClientRequestContext, params: PaginatedRequestParams
    ) -> ListTasksResult:
        return _tasks_of(context).list(params.cursor)


def _tasks_of(context: ClientRequestContext) -> AskedTasks:
    if context.session.client_capabilities.tasks is None:
        raise MCPError(METHOD_NOT_FOUND, "This client answers nothing with tasks")
    tasks: AskedTasks = context.session.lifespan_states[TASKS]
    return tasks
