"""Answering what a task of 2026-07-28 asks while somebody waits for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp.client import ClientRequestContext
from trio_mcp.errors import InvalidResponse, LocalError, MCPError
from trio_mcp.types import INVALID_PARAMS, ErrorData

from ._polling import may_pass
from .stores._stored import OVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.client import ClientSession
    from trio_mcp.types import InputRequest, InputResponse

    from ._handle import Task
    from ._polling import Polling

MAX_QUESTIONS: Final = 1_000
"""Questions of one task that are answered; a server that asks more is not taken seriously."""


class Answering:
    """Answers the questions of a task, each once, by the client's callbacks.

    Attributes:
      failure: Why one of them could not be answered: the first reason.

    """

    def __init__(
        self, task: Task, session: ClientSession, polling: Polling, nursery: trio.Nursery
    ) -> None:
        self._task = task
        self._session = session
        self._polling = polling
        self._nursery = nursery
        self._scopes: dict[str, trio.CancelScope] = {}
        self.failure: Exception | None = None

    def take(self, requests: Mapping[str, InputRequest]) -> None:
        """Begin to answer what is new, and leave what is no longer asked.

        Raises:
          InvalidResponse: if there have been more questions than can be meant.

        """
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
        try:
            answer: InputResponse | ErrorData | None = None
            # What is being sent is not given up: that it is asked no longer may be its effect.
            with self._scopes[key]:
                context = ClientRequestContext(session=self._session, request_id=key)
                answer = await self._session.dispatch_input_request(context, request)
            if isinstance(answer, ErrorData):
                raise MCPError.from_error_data(answer)
            if answer is not None:
                await self._update(key, answer)
        except Exception as exc:  # noqa: BLE001 - raised by whoever waits for the task
            self.failure = self.failure or exc
            self._nursery.cancel_scope.cancel(reason="a question could not be answered")

    async def _update(self, key: str, answer: InputResponse) -> None:
        refusal: MCPError | None = None
        try:
            # The user has answered: that is not thrown away since one request failed. A key that
            # is answered twice does no harm (tasks/update: what is not outstanding is ignored).
            await self._polling.patiently(partial(self._task.update, {key: answer}), may_pass)
        except MCPError as exc:
            if exc.code != INVALID_PARAMS or isinstance(exc, LocalError):
                raise
            refusal = exc
        # Where the task has ended meanwhile, nothing was wrong with the answer.
        if refusal is None:
            return
        task = await self._polling.patiently(self._task.get, may_pass)
        try:
            if task.status not in OVER:
                raise refusal
        finally:
            # Its traceback refers to this frame.
            del refusal
