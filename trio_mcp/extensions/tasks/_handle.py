"""The handle for a task of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._checks import check_kind
from trio_mcp._codec._public import from_json, to_json
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.client import Client, ClientRequestContext, ClientSession
from trio_mcp.errors import InvalidResponse, LocalError, MCPError, RequestTimeout
from trio_mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    SERVER_BUSY,
    CallToolResult,
    EmptyResult,
    ErrorData,
)

from ._stored import OVER
from ._wire import (
    CancelTaskRequest,
    CreateTaskResult,
    DetailedTask,
    GetTaskRequest,
    TaskRequestParams,
    UpdateTaskRequest,
    UpdateTaskRequestParams,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.types import InputRequest, InputResponse, InputResponses

DEFAULT_POLL_SECONDS: Final = 1.0
"""Seconds after which to ask again, where the server does not say it."""

LEAST_POLL_SECONDS: Final = 0.05
"""The same, where it says less."""

MAX_FAILURES: Final = 5
"""Times in a row that the server may fail to say how a task is, before that is an error."""

_LONGEST_MS: Final = 24 * 3600 * 1000
# A day between two questions is as good as never, and a number that floats can hold.

MAX_QUESTIONS: Final = 1_000
"""Questions of one task that are answered; a server that asks more is not taken seriously."""


class TaskCancelled(MCPError):
    """A task was cancelled, by whomever, before it came to a result.

    Attributes:
      task: The task as it is now.

    """

    __module__ = "trio_mcp.extensions"

    def __init__(self, task: DetailedTask) -> None:
        said = task.status_message
        super().__init__(INTERNAL_ERROR, "The task was cancelled" + (f": {said}" if said else ""))
        self.task = task
        self.args = (task,)


class Task:
    """A task of a server that a client knows.

    It is no block and holds nothing: a task goes on whether or not there is a handle, until it is
    over or its time is. Its id may be stored, and a handle be made of it in another program.

    Args:
      client: Asks the server; its callbacks answer what the task asks.
      task: The id, or what the call of a tool returned for ``allow_claimed=True``.
      read_timeout_seconds: How long each request about it may wait for its answer, in seconds; as
        the client does when None.

    Attributes:
      task_id: The id.

    Raises:
      TypeError: if an argument is of the wrong kind.

    """

    def __init__(
        self,
        client: Client | ClientSession,
        task: CreateTaskResult | str,
        *,
        read_timeout_seconds: float | None = None,
    ) -> None:
        check_kind("client", client, (Client, ClientSession))
        check_kind("task", task, (CreateTaskResult, str), "CreateTaskResult or the id of a task")
        self._session = client.session if isinstance(client, Client) else client
        self._timeout = read_timeout_seconds
        self._latest: CreateTaskResult | DetailedTask | None = (
            None if isinstance(task, str) else task
        )
        self._is_gone = False
        self.task_id: str = task if isinstance(task, str) else task.task_id

    @property
    def is_over(self) -> bool:
        """Whether the server said that it is over, or no longer known."""
        return self._is_gone or (self._latest is not None and self._latest.status in OVER)

    async def get(self) -> DetailedTask:
        """Ask how it is (``tasks/get``).

        Raises:
          MCPError: -32602 if the server knows no such task, or no longer.

        """
        request = GetTaskRequest(params=TaskRequestParams(task_id=self.task_id))
        try:
            task = await self._session.send_request(request, DetailedTask, self._timeout)
        except MCPError as exc:
            if exc.code == INVALID_PARAMS and not isinstance(exc, LocalError):
                self._is_gone = True
            raise
        if task.task_id != self.task_id:
            raise InvalidResponse("tasks/get: the server's answer is about another task")
        self._latest = task
        return task

    async def update(self, input_responses: InputResponses) -> None:
        """Answer questions of the task (``tasks/update``); some of them, if need be.

        Args:
          input_responses: By the keys of its ``input_requests``. What is not asked, or no longer,
            is ignored.

        Raises:
          MCPError: -32602 if the server knows no such task, or takes an answer for none.

        """
        answers = {key: to_json(each) for key, each in input_responses.items()}
        params = UpdateTaskRequestParams(task_id=self.task_id, input_responses=answers)
        request = UpdateTaskRequest(params=params)
        await self._session.send_request(request, EmptyResult, self._timeout)

    async def cancel(self) -> None:
        """Have the server stop it (``tasks/cancel``), if it is not over yet.

        It need not have stopped when this returns, and may still end otherwise.

        Raises:
          MCPError: -32602 if the server knows no such task, or no longer.

        """
        request = CancelTaskRequest(params=TaskRequestParams(task_id=self.task_id))
        await self._session.send_request(request, EmptyResult, self._timeout)

    async def wait(self) -> CallToolResult:
        """Wait until it is over, and have the client's callbacks answer what it asks meanwhile.

        Returns:
          What the tool returned. It is not compared with the tool's output schema:
          `ClientSession.validate_tool_result` does that.

        Raises:
          TaskCancelled: if the task was cancelled.
          MCPError: what the call would have been answered with; -32602 if the server knows no
            such task, or no longer; what a callback answers with, or -32601 where none is there:
            the first of them. A server that does not say how the task is, is asked up to five
            times.
          InvalidResponse: if an answer of the server is none.

        Cancellation:
          The task goes on.

        """
        async with open_background_nursery() as nursery:
            answering = _Answering(self, self._session, nursery)
            heard = trio.current_time()
            failures = 0
            while True:
                if self._latest is not None:
                    await trio.sleep(_pause(self._latest, trio.current_time() - heard))
                try:
                    task = await self.get()
                except MCPError as exc:
                    # The task goes on, whatever becomes of one question how it is.
                    failures += 1
                    if failures == MAX_FAILURES or not _may_pass(exc):
                        raise
                    await trio.sleep(DEFAULT_POLL_SECONDS)
                    continue
                failures = 0
                if task.status in OVER:
                    return _result_of(task)
                answering.take(task.input_requests or {})
        # Left by the answer that failed first; the others were cancelled.
        assert answering.failure is not None
        raise answering.failure


def _may_pass(error: MCPError) -> bool:
    """Tell whether the same question may be answered another time."""
    if isinstance(error, LocalError):
        return isinstance(error, RequestTimeout)
    return error.code in {INTERNAL_ERROR, SERVER_BUSY}


def _pause(task: CreateTaskResult | DetailedTask, known: float) -> float:
    """Say for how long to leave a server alone that has said this of its task.

    Args:
      task: As it was said.
      known: Seconds for which the task has been known.

    """
    interval = DEFAULT_POLL_SECONDS
    if task.poll_interval_ms is not None:
        asked = min(task.poll_interval_ms, _LONGEST_MS) / 1000
        interval = max(LEAST_POLL_SECONDS, asked)
    if task.ttl_ms is None:
        return interval
    # Whatever the interval is, a server that has let the task go is asked then.
    left = min(task.ttl_ms, _LONGEST_MS) / 1000 - known
    return interval if left <= 0 else min(interval, max(LEAST_POLL_SECONDS, left))


def _result_of(task: DetailedTask) -> CallToolResult:
    if task.status == "cancelled":
        raise TaskCancelled(task)
    if task.status == "failed":
        if task.error is None:
            raise InvalidResponse("tasks/get: a task that failed came without an error")
        raise MCPError(task.error.code, task.error.message, task.error.data)
    if task.result is None:
        raise InvalidResponse("tasks/get: a task that is completed came without a result")
    try:
        return from_json(CallToolResult, task.result)
    except ValueError as exc:
        raise InvalidResponse(f"tasks/get: the task's result is invalid: {exc}") from exc


class _Answering:
    """Answers the questions of a task, each once, by the client's callbacks."""

    def __init__(self, task: Task, session: ClientSession, nursery: trio.Nursery) -> None:
        self._task = task
        self._session = session
        self._nursery = nursery
        self._scopes: dict[str, trio.CancelScope] = {}
        self.failure: Exception | None = None

    def take(self, requests: Mapping[str, InputRequest]) -> None:
        """Begin to answer what is new, and leave what is no longer asked."""
        for key, scope in self._scopes.items():
            if key not in requests:
                scope.cancel(reason="the server does not ask any longer")
        for key, request in requests.items():
            if key in self._scopes:
                continue
            if len(self._scopes) >= MAX_QUESTIONS:
                raise InvalidResponse(f"tasks/get: more than {MAX_QUESTIONS} questions came")
            self._scopes[key] = trio.CancelScope()
            self._nursery.start_soon(self._answer, key, request, name=f"answer {key}")

    async def _answer(self, key: str, request: InputRequest) -> None:
        with self._scopes[key]:
            try:
                context = ClientRequestContext(session=self._session, request_id=key)
                answer = await self._session.dispatch_input_request(context, request)
                if isinstance(answer, ErrorData):
                    raise MCPError.from_error_data(answer)
                await self._update(key, answer)
            except Exception as exc:  # noqa: BLE001 - raised by whoever waits for the task
                self.failure = self.failure or exc
                self._nursery.cancel_scope.cancel(reason="a question could not be answered")

    async def _update(self, key: str, answer: InputResponse) -> None:
        refusal: MCPError | None = None
        try:
            await self._task.update({key: answer})
        except MCPError as exc:
            if exc.code != INVALID_PARAMS or isinstance(exc, LocalError):
                raise
            refusal = exc
        # Where the task has ended meanwhile, nothing was wrong with the answer.
        if refusal is not None and (await self._task.get()).status not in OVER:
            raise refusal
