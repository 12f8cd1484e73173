"""``tasks/result`` of 2025-11-25: waits until a task is over, and asks its questions meanwhile.

A question is asked by a request of the server that belongs to the ``tasks/result``, so that it
travels on the same stream, and its answer goes into the store, where the work finds it, in
whichever process that is.
"""

from __future__ import annotations

import logging
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._codec._public import from_json, to_json
from trio_mcp._rpc._nursery import finish_begun, open_background_nursery
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.extensions.tasks._answers import read_question
from trio_mcp.extensions.tasks.stores._store import STORE_SECONDS
from trio_mcp.types import CallToolResult

from ._words import outcome_of, related_to, unknown

if TYPE_CHECKING:
    from trio_mcp.extensions.tasks._run import TaskRun
    from trio_mcp.extensions.tasks.stores._stored import StoredTask
    from trio_mcp.server import ServerRequestContext
    from trio_mcp.types import InputRequest, JsonObject

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")

LOOK_SECONDS: Final = 5.0
"""Seconds after which it is looked whether a client that was asked can still answer."""

LONGEST_LOOK_SECONDS: Final = 60.0
"""Seconds after which it is looked whether the task is still there: of what a store deletes by
itself it need not tell."""

_AS_IT_CAME: Final[Any] = dict


async def result_of(
    run: TaskRun, ctx: ServerRequestContext[Any, Any], task: StoredTask
) -> CallToolResult:
    """Wait until a task is over; give what its request would have been answered.

    Raises:
      MCPError: the error that it would have been answered with; -32603 if the task was cancelled;
        -32602 if it is gone.

    """
    if not task.is_over:
        task = await ResultDesk(run, ctx, task.task_id).wait_over()
    logger.info("The result of the task %.6s… is given out", task.task_id)
    return from_json(CallToolResult, outcome_of(task))


class ResultDesk:
    """One ``tasks/result``, and the questions that it asks.

    Args:
      run: Of the server.
      ctx: Of the request.
      task_id: Of the task.

    """

    def __init__(self, run: TaskRun, ctx: ServerRequestContext[Any, Any], task_id: str) -> None:
        self._run = run
        self._session = ctx.session
        self._version = ctx.protocol_version
        self._task_id = task_id
        exchange = ctx.exchange
        self._link = None if exchange is None else exchange.link
        self._is_left = False
        self._woken = trio.Event()
        self._takes: dict[str, bool] = {}
        self._asking: dict[str, trio.CancelScope] = {}

    async def wait_over(self) -> StoredTask:
        """Wait until the task is over.

        Raises:
          MCPError: -32602 if it is gone.

        """
        run, task_id = self._run, self._task_id
        with ExitStack() as stack:
            stack.callback(run.watch(task_id, self.wake))
            stack.enter_context(run.desks.open(task_id, self))
            async with open_background_nursery() as nursery:
                while True:
                    self._woken = trio.Event()
                    task = await run.read_at_last(task_id)
                    left = 0.0 if task is None else task.expires_at - run.times.clock()
                    if task is None or left <= 0:
                        raise unknown(task_id)
                    if task.is_over:
                        return task
                    self._settle(task, nursery)
                    # A client that was asked over HTTP may leave the stream without a word.
                    look = LOOK_SECONDS if self._asking else LONGEST_LOOK_SECONDS
                    with trio.move_on_after(min(left, look)):
                        await self._woken.wait()

    def wake(self) -> None:
        """The task may have changed, or who asks for it."""
        self._woken.set()

    # Questions

    def takes(self, key: str, question: JsonObject) -> bool:
        """See `Desk.takes`."""
        # Looked at but once, since many may wait for one task.
        takes = self._takes.get(key)
        if takes is None:
            takes = self._takes[key] = self._can_answer(question)
        return takes and self._can_ask

    @property
    def _can_ask(self) -> bool:
        return not self._is_left and self._link is not None and self._link.can_ask

    def _can_answer(self, question: JsonObject) -> bool:
        try:
            self._session.require_for(self._in_words(question))
        except (MCPError, ValueError):
            return False
        return True

    def _settle(self, task: StoredTask, nursery: trio.Nursery) -> None:
        desks, questions = self._run.desks, task.input_requests
        desks.know(task)
        own = {
            key: each
            for key, each in questions.items()
            if self.takes(key, each) and desks.asks(self._task_id, key, each) is self
        }
        for key, scope in self._asking.items():
            if key not in own:
                still = key in questions
                reason = "it is not asked here" if still else "the task asks no longer"
                scope.cancel(reason=reason)
        for key, question in own.items():
            if key not in self._asking:
                self._asking[key] = trio.CancelScope()
                nursery.start_soon(self._ask, key, question, name=f"{key} of a task")

    def _in_words(self, written: JsonObject) -> InputRequest:
        """Read a question as this revision says it, which gives the visit of a URL a name."""
        params: JsonObject = {**(written.get("params") or {})}
        if params.get("mode") == "url":
            params.setdefault("elicitationId", str(uuid.uuid4()))
        said: JsonObject = params.get("_meta") or {}
        meta = {**said, **related_to(self._task_id)}
        return read_question({**written, "params": {**params, "_meta": meta}}, self._version)

    async def _ask(self, key: str, written: JsonObject) -> None:
        try:
            with self._asking[key]:
                await self._pass_on(key, self._in_words(written))
        finally:
            del self._asking[key]
            self._run.desks.wake(self._task_id, key, written)

    async def _pass_on(self, key: str, question: InputRequest) -> None:
        """Ask a question, and store what comes back, whatever it is: the tool reads it."""
        answer: JsonObject = {}
        error: JsonObject | None = None
        try:
            answer = await self._session.send_request(question, _AS_IT_CAME)
        except ConnectionLost:
            # Its client may come with another request.
            self._is_left = True
            return
        except MCPError as exc:
            error = to_json(exc.error)

        def take(task: StoredTask, now: float) -> StoredTask | None:
            if key not in task.input_requests:
                return None
            if error is not None:
                return task.refused(now, key, error)
            return task.answered(now, {key: answer})

        # Nobody is to be asked again for what has been answered.
        async with finish_begun(STORE_SECONDS):
            await self._run.change_at_last(self._task_id, take)
