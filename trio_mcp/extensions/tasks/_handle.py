"""The handle for a task of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import trio

from trio_mcp._checks import check_flag, check_kind, check_number
from trio_mcp._codec._public import from_json, to_json
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.client import Client, ClientSession
from trio_mcp.errors import InvalidResponse, LocalError, MCPError
from trio_mcp.types import INVALID_PARAMS, CallToolResult, EmptyResult

from ._answering import Answering
from ._hearing import hearing
from ._hearing import listen as hear_on_stream
from ._polling import Polling
from ._task_errors import TaskCancelled, TasksNotSupported
from ._wire import (
    CancelTaskRequest,
    CreateTaskResult,
    DetailedTask,
    GetTaskRequest,
    TaskRequestParams,
    UpdateTaskRequest,
    UpdateTaskRequestParams,
)
from .older._requests import OlderRequests, wait_for_result
from .stores._stored import OVER

if TYPE_CHECKING:
    from trio_mcp.types import InputResponses, Request, ServerTasksCapability

T = TypeVar("T")


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
      is_left_alone: Whether the last `wait` ended since the server could not be asked: the task
        may go on there.

    Raises:
      TypeError, ValueError: if an argument is of the wrong kind, or the time none.

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
        if read_timeout_seconds is not None:
            check_number("read_timeout_seconds", read_timeout_seconds, least=0)
        self._session = client.session if isinstance(client, Client) else client
        self._timeout = read_timeout_seconds
        self._latest: CreateTaskResult | DetailedTask | None = (
            None if isinstance(task, str) else task
        )
        self._is_gone = False
        self._result: CallToolResult | None = None
        self._turn = trio.Lock()
        self.is_left_alone = False
        self.task_id: str = task if isinstance(task, str) else task.task_id

    @property
    def is_over(self) -> bool:
        """Whether the server said that it is over, or no longer known."""
        if self._is_gone or self._result is not None:
            return True
        return self._latest is not None and self._latest.status in OVER

    async def get(self) -> DetailedTask:
        """Ask how it is (``tasks/get``).

        At 2025-11-25 the answer has neither the result nor the questions in it, and a tool that
        failed by itself is a task that failed.

        Raises:
          MCPError: -32602 if the server knows no such task, or no longer.
          TasksNotSupported: if the revision has no tasks.

        """
        older = self._older()
        request = GetTaskRequest(params=TaskRequestParams(task_id=self.task_id))
        try:
            task = (
                await self._send(request, DetailedTask, self._timeout)
                if older is None
                else await older.get()
            )
        except MCPError as exc:
            if exc.code == INVALID_PARAMS and not isinstance(exc, LocalError):
                self._is_gone = True
            raise
        return self._learn("tasks/get", task)

    def _learn(self, method: str, task: DetailedTask) -> DetailedTask:
        if task.task_id != self.task_id:
            raise InvalidResponse(f"{method}: the server's answer is about another task")
        self._latest = task
        return task

    def _send(
        self, request: Request[Any, Any], result_type: type[T], seconds: float | None
    ) -> Any:
        return self._session.send_request(request, result_type, seconds)

    def _older(self) -> OlderRequests | None:
        """Give what is asked where the core has tasks; None where they are an extension."""
        revision = self._session.revision
        if revision is None or revision.is_modern:
            return None
        if not revision.has_tasks:
            raise TasksNotSupported(f"Protocol version {revision.version} has no tasks")
        return OlderRequests(self.task_id, self._send, self._timeout)

    async def update(self, input_responses: InputResponses) -> None:
        """Answer questions of the task (``tasks/update``); some of them, if need be.

        Args:
          input_responses: By the keys of its ``input_requests``. What is not asked, or no longer,
            is ignored.

        Raises:
          MCPError: -32602 if the server knows no such task, or takes an answer for none.
          TasksNotSupported: at 2025-11-25, where tasks ask by requests of the server, which the
            client's callbacks answer.

        """
        if self._older() is not None:
            raise TasksNotSupported(
                "tasks/update: at protocol version 2025-11-25 a task asks by requests of the "
                "server, which the client's callbacks answer while somebody waits for it"
            )
        answers = {key: to_json(each) for key, each in input_responses.items()}
        params = UpdateTaskRequestParams(task_id=self.task_id, input_responses=answers)
        await self._send(UpdateTaskRequest(params=params), EmptyResult, self._timeout)

    async def cancel(self) -> None:
        """Have the server stop it (``tasks/cancel``), if it is not over yet.

        It need not have stopped when this returns, and may still end otherwise. Get what you want
        to know of it before: the server may forget it at once.

        Raises:
          MCPError: -32602 if the server knows no such task, or no longer.
          TasksNotSupported: if an older server did not declare that tasks can be cancelled.

        """
        older = self._older()
        if older is None:
            request = CancelTaskRequest(params=TaskRequestParams(task_id=self.task_id))
            await self._send(request, EmptyResult, self._timeout)
            return
        tasks = tasks_of(self._session)
        if tasks is None or tasks.cancel is None:
            raise TasksNotSupported("tasks/cancel: the server did not declare tasks.cancel")
        self._learn("tasks/cancel", await older.cancel(self.get))

    async def wait(self, *, listen: bool = False) -> CallToolResult:
        """Wait until it is over, and have the client's callbacks answer what it asks meanwhile.

        Of several that wait by one handle one asks the server, and the others go on when it has
        the result, or in its place when it leaves: nothing is asked twice of the user.

        Args:
          listen: Have a server of 2026-07-28 tell what becomes of the task, by
            ``subscriptions/listen``, so that it is asked when there is something to know. It is
            asked as often as ever besides, as it need not tell. Worth a stream of its own where
            the server wants to be asked seldom. One of 2025-11-25 tells by itself, if at all.

        Returns:
          What the tool returned. It is not compared with the tool's output schema:
          `ClientSession.validate_tool_result` does that.

        Raises:
          TaskCancelled: if the task was cancelled.
          MCPError: what the call would have been answered with; -32602 if the server knows no
            such task, or no longer; what a callback answers with, or -32601 where none is there:
            the first of them. A server that does not say how the task is, or takes no answer, is
            asked up to five times, in 15 seconds.
          ConnectionLost: if the connection has ended for good.
          InvalidResponse: if an answer of the server is none.
          TasksNotSupported: if the revision has no tasks.

        Cancellation:
          The task goes on.

        """
        check_flag("listen", listen)
        async with self._turn:
            if self._result is None:
                self._result = await self._wait(listen)
            return self._result

    async def _wait(self, listen: bool) -> CallToolResult:
        polling = Polling(self.get, self._session.wait_lost, self._latest)
        older = self._older()
        try:
            if older is None:
                return await self._poll_and_answer(polling, listen)
            with hearing(self._session, self.task_id, polling.hurry):
                return await wait_for_result(older, CallToolResult, polling)
        finally:
            self.is_left_alone = polling.is_in_vain

    async def _poll_and_answer(self, polling: Polling, listen: bool) -> CallToolResult:
        async with open_background_nursery() as nursery:
            if listen:
                nursery.start_soon(
                    hear_on_stream, self._session, self.task_id, polling.hurry, name="listen"
                )
            answering = Answering(self, self._session, polling, nursery)
            while True:
                task = await polling.next()
                if task.status in OVER:
                    return _result_of(task)
                answering.take(task.input_requests or {})
        # Left by the answer that failed first; the others were cancelled.
        failure, answering.failure = answering.failure, None
        assert failure is not None
        try:
            raise failure
        finally:
            # Its traceback refers to this frame.
            del failure


def tasks_of(session: ClientSession) -> ServerTasksCapability | None:
    """Give what the server of a session declares of the tasks of 2025-11-25."""
    revision, said = session.revision, session.server_capabilities
    if revision is None or not revision.has_tasks or said is None:
        return None
    return said.tasks


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
