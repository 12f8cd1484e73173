"""The server as the one who asks for tasks: of a client of 2025-11-25."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, overload

import trio

from trio_mcp._checks import check_kind, check_number
from trio_mcp.errors import InvalidResponse, LocalError, MCPError
from trio_mcp.extensions.tasks._answers import answer_type, without_content
from trio_mcp.extensions.tasks._giving_up import give_up, until_named
from trio_mcp.extensions.tasks._polling import Polling
from trio_mcp.extensions.tasks._task_errors import TasksNotSupported
from trio_mcp.extensions.tasks.stores._stored import OVER
from trio_mcp.types import (
    INVALID_PARAMS,
    CreateMessageRequest,
    CreateTaskResult,
    ElicitRequest,
    ElicitResult,
)

from ._requests import OlderRequests, detailed, wait_for_result
from ._words import VERSIONS, wanted_for

if TYPE_CHECKING:
    from types import TracebackType

    from trio_mcp.errors import ConnectionLost
    from trio_mcp.extensions.tasks._wire import DetailedTask
    from trio_mcp.mcpserver import Context
    from trio_mcp.server import ServerRequestContext, ServerSession
    from trio_mcp.types import (
        ClientTasksCapability,
        CreateMessageResult,
        CreateMessageResultWithTools,
    )

    AnyContext = Context[Any, Any] | ServerRequestContext[Any, Any]

T = TypeVar("T")
AnswerT = TypeVar("AnswerT")

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")


class ClientTask(Generic[AnswerT]):
    """A task of a client, in which that answers a question: see `ask_in_task`.

    It may be used as a block, which cancels the task at its end, if that is not over; the client
    has a second to say so::

        async with await ask_in_task(ctx, question) as task:
            with trio.move_on_after(600):
                answer = await task.wait()

    Attributes:
      task_id: The id.

    """

    def __init__(
        self,
        session: ServerSession,
        request: ElicitRequest | CreateMessageRequest,
        created: DetailedTask,
        seconds: float | None,
    ) -> None:
        self._session = session
        self._request = request
        self._latest = created
        self._is_settled = False
        self.task_id: str = created.task_id
        self._requests = OlderRequests(self.task_id, session.send_request, seconds)

    async def __aenter__(self) -> Self:
        # No checkpoint: cancelled here, it would not be left, and the task would go on.
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if not self.is_over:
            await give_up(self)  # noqa: ASYNC102 - bounded inside

    @property
    def is_over(self) -> bool:
        """Whether the client said that it is over, or no longer known."""
        return self._is_settled or self._latest.status in OVER

    async def get(self) -> DetailedTask:
        """Ask how it is (``tasks/get``); the answer is not among what that says.

        Raises:
          MCPError: -32602 if the client knows no such task, or no longer.
          ConnectionLost: if the client has gone.

        """
        try:
            task = await self._requests.get()
        except MCPError as exc:
            if exc.code == INVALID_PARAMS and not isinstance(exc, LocalError):
                self._is_settled = True
            raise
        return self._learn("tasks/get", task)

    async def wait(self) -> AnswerT:
        """Wait until it is over, and get the answer.

        Returns:
          What the question would have been answered directly.

        Raises:
          TaskCancelled: if the task was cancelled.
          MCPError: what the question would have been answered with; -32602 if the client knows no
            such task, or no longer.
          ConnectionLost: if the client has gone.
          InvalidResponse: if an answer of the client is none.

        Cancellation:
          The task goes on.

        """
        polling = Polling(self.get, _never_lost, self._latest)
        kind = answer_type(self._request)
        answer: AnswerT = await wait_for_result(self._requests, kind, polling)
        self._is_settled = True
        logger.info("The answer of the client's task %.6s… has come", self.task_id)
        return without_content(self._request, answer)

    async def cancel(self) -> None:
        """Have the client stop it, and ask nobody any longer, if it is not over yet.

        Get what you want to know of it before: the client may forget it at once.

        Raises:
          MCPError: -32602 if the client knows no such task, or no longer.
          TasksNotSupported: if the client did not declare that tasks can be cancelled.
          ConnectionLost: if the client has gone.

        """
        tasks = _declared(self._session)
        if tasks is None or tasks.cancel is None:
            raise TasksNotSupported("tasks/cancel: the client did not declare tasks.cancel")
        self._learn("tasks/cancel", await self._requests.cancel(self.get))

    def _learn(self, method: str, task: DetailedTask) -> DetailedTask:
        if task.task_id != self.task_id:
            raise InvalidResponse(f"{method}: the client's answer is about another task")
        self._latest = task
        return task


@overload
async def ask_in_task(
    ctx: AnyContext,
    request: ElicitRequest,
    *,
    ttl: float | None = None,
    read_timeout_seconds: float | None = None,
) -> ClientTask[ElicitResult]: ...
@overload
async def ask_in_task(
    ctx: AnyContext,
    request: CreateMessageRequest,
    *,
    ttl: float | None = None,
    read_timeout_seconds: float | None = None,
) -> ClientTask[CreateMessageResult | CreateMessageResultWithTools]: ...
async def ask_in_task(
    ctx: AnyContext,
    request: ElicitRequest | CreateMessageRequest,
    *,
    ttl: float | None = None,
    read_timeout_seconds: float | None = None,
) -> ClientTask[Any]:
    """Ask a client of 2025-11-25 something that it answers in a task of its own.

    The question then needs no request that stays open while a person thinks, and the answer can be
    fetched later, while the request lasts in which `ctx` is. Whether a client can do that is in
    ``ctx.session.client_capabilities.tasks``; ``ctx.elicit`` and the like ask directly.

    Args:
      ctx: Of a tool, or another handler of a request.
      request: The question.
      ttl: For how many seconds the client is asked to keep the task; it may decide otherwise. As
        long as it likes when None.
      read_timeout_seconds: How long each request about the task may wait for its answer, in
        seconds; without a limit when None.

    Returns:
      The task, which has begun.

    Raises:
      TasksNotSupported: if the client did not declare that it answers this in tasks, or the
        revision has none. Nothing has been sent then.
      MCPError: -32021 if the client did not declare that it answers such questions at all; what it
        refused with.
      InvalidResponse: if it answered with no task.

    Cancellation:
      A task that the client has made by then is cancelled; it has a second to say so.

    """
    check_kind("request", request, (ElicitRequest, CreateMessageRequest))
    wanted = wanted_for(ttl)
    if read_timeout_seconds is not None:
        check_number("read_timeout_seconds", read_timeout_seconds, least=0)
    session = ctx.session
    _require_tasks(session, request)
    session.require_for(request)
    asked = request.evolve(params=request.params.evolve(task=wanted))
    task: ClientTask[Any] | None = None
    try:
        async with until_named():
            created = await session.send_request(asked, CreateTaskResult, read_timeout_seconds)
            task = ClientTask(session, request, detailed(created.task), read_timeout_seconds)
    except BaseException:
        if task is not None:
            await give_up(task)  # noqa: ASYNC102 - bounded inside
        raise
    logger.info("A client has begun the task %.6s… for %s", task.task_id, request.method)
    return task


def _require_tasks(session: ServerSession, request: ElicitRequest | CreateMessageRequest) -> None:
    if session.protocol_version not in VERSIONS:
        raise TasksNotSupported(
            f"{request.method}: clients of protocol version {session.protocol_version} answer "
            "nothing in tasks"
        )
    tasks = _declared(session)
    kinds = None if tasks is None else tasks.requests
    if isinstance(request, ElicitRequest):
        elicitation = None if kinds is None else kinds.elicitation
        name = "tasks.requests.elicitation.create"
        has = elicitation is not None and elicitation.create is not None
    else:
        sampling = None if kinds is None else kinds.sampling
        name = "tasks.requests.sampling.createMessage"
        has = sampling is not None and sampling.create_message is not None
    if not has:
        raise TasksNotSupported(f"{request.method}: the client did not declare {name}")


def _declared(session: ServerSession) -> ClientTasksCapability | None:
    declared = session.client_capabilities
    return None if declared is None else declared.tasks


async def _never_lost() -> ConnectionLost:
    # Whoever asks within a request is cancelled when its client has gone.
    await trio.sleep_forever()
