"""One call of a tool that may become a task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._codec._public import from_json, to_json
from trio_mcp._rpc._answer import error_for, without_failures
from trio_mcp._rpc._gather import run_all
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp.errors import (
    MCPError,
    NoBackChannelError,
)
from trio_mcp.mcpserver import failed_tool_call
from trio_mcp.server import authenticated_principal
from trio_mcp.types import (
    INTERNAL_ERROR,
    InputRequiredResult,
    WireModel,
)

from ._questions import AskedTooLate, Questions
from ._run import CANCELLED
from .older._words import related_to
from .stores._store import STORE_SECONDS, TooManyTasks

if TYPE_CHECKING:
    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp.server import CallNext, HandlerResult, ServerRequestContext
    from trio_mcp.types import InputRequest, InputResponse

    from ._run import TaskRun
    from .stores._stored import StoredTask

MAX_ROUNDS: Final = 10
"""How often a tool is called again with what it asked for by its result, within a task."""

_FIRST_DELAY: Final = 0.05
_LONGEST_DELAY: Final = 0.25
# Seconds before a tool that gave a state and asked nothing is called again, as clients do.


EXPIRED: Final = "the time of the task is over"
DELETED: Final = "the task was deleted"
STOPPED: Final = "the server was stopped"
"""Why work is cancelled, in the words of ``ctx.cancel_reason``."""


@attrs.frozen(eq=False)
class _Outcome:
    result: HandlerResult = None
    error: Exception | None = None

    @property
    def asks(self) -> bool:
        return self.error is None and _needs_input(self.result)

    def unwrap(self) -> HandlerResult:
        if self.error is None:
            return self.result
        try:
            raise self.error
        finally:
            # Its traceback holds this frame, which must not hold it in turn.
            del self


class Work:
    """A call that runs in the nursery of the server's run, and is waited for by its request.

    The request waits until the tool returns, asks something while it works, or has taken as long
    as its patience lasts. In the first case it is answered by that, as if there were no tasks;
    a question by the tool's result is one more round of the request. In the others it is answered
    by a task, to which the work belongs from then on.

    At 2025-11-25 the client asks for a task, and gets it before the work begins. What the work
    tells goes on in the session then.

    Args:
      run: Of the server.
      ctx: Of the request.
      call_next: Calls the tool.
      always: Whether a result that comes at once is that of a task, too.
      task: What the client gets at 2025-11-25.

    """

    def __init__(
        self,
        run: TaskRun,
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
        *,
        always: bool = True,
        task: StoredTask | None = None,
    ) -> None:
        self._run = run
        self._call_next = call_next
        self._always = always
        self._scope = trio.CancelScope()
        self._task = task
        meta = None if task is None else related_to(task.task_id)
        self._ctx = ctx.detach(self._scope, self._ask, meta=meta)
        # Of a session that cannot be asked, none of its requests asks for the task.
        self._can_ask = task is None or ctx.session.can_send_request
        self._outcome: _Outcome | None = None
        self._first = trio.Event()  # it is over, or asks
        self._decided = trio.Event()  # the request is answered
        self._task_id: str | None = None
        self._questions = Questions(run)
        self._woken = trio.Event()

    # In the request

    async def answer(self, ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
        """Wait for what the request is to be answered.

        Raises:
          MCPError: if the tool raised it at once.
          TooManyTasks: if there is no room for a task, and the tool requires one, or asks.

        Cancellation:
          The work is cancelled, too.

        """
        self._begin(ctx)
        try:
            with trio.move_on_after(self._run.times.patience):
                await self._first.wait()
            return await self._decide()
        finally:
            self._end_if_given_up(ctx)

    async def begin(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Store the task of 2025-11-25, and begin to work for it.

        Raises:
          TooManyTasks: if there is no room for it.

        Cancellation:
          Nothing has begun.

        """
        assert self._task is not None
        self._begin(ctx)
        try:
            await self._belong_to(self._task)
            self._decided.set()
        finally:
            self._end_if_given_up(ctx)

    def _begin(self, ctx: ServerRequestContext[Any, Any]) -> None:
        name = f"work of {ctx.method} #{ctx.request_id}"
        self._run.begin(self._work, authenticated_principal(ctx), name=name)

    def _end_if_given_up(self, ctx: ServerRequestContext[Any, Any]) -> None:
        if not self._decided.is_set():
            why = None if ctx.exchange is None else ctx.exchange.cancel_reason
            self._scope.cancel(reason=why or "its request was given up")

    async def _decide(self) -> HandlerResult:
        while True:
            outcome = self._outcome
            if outcome is not None and (outcome.error or outcome.asks or not self._always):
                self._decided.set()
                return outcome.unwrap()
            try:
                created = await self._become_task()
            except TooManyTasks:
                asks = self._first.is_set() and self._outcome is None
                if self._always or asks:
                    raise
                # What need not be a task is waited for, as if there were none.
                await self._first.wait()
            else:
                self._decided.set()
                return created

    async def _become_task(self) -> HandlerResult:
        task = self._run.new_task(authenticated_principal(self._ctx))
        await self._belong_to(task)
        # Neither progress nor log messages are sent for tasks.
        self._ctx.mute()
        return task.to_created()

    async def _belong_to(self, task: StoredTask) -> None:
        await self._run.keep(task, self)
        self._task_id = task.task_id
        self._scope.deadline = trio.current_time() + task.ttl

    # In the nursery

    async def _work(self) -> None:
        is_over = False
        try:
            with self._scope:
                async with open_background_nursery() as nursery:
                    nursery.start_soon(self._watch, name="watch of a task")
                    if self._task is not None:
                        await self._decided.wait()
                    outcome = await self._call()
                # Nothing more is reported for what is over.
                self._ctx.mute()
                if self._task_id is not None:
                    await self._end(self._task_id, outcome)
            # What was cancelled by its client or its time is written down by whoever did.
            is_over = True
        finally:
            if self._task_id is not None:
                self._run.forget(self._task_id)
                if not is_over:
                    with finish_within(STORE_SECONDS):
                        await self._fail(  # noqa: ASYNC102 - in finish_within
                            self._task_id, INTERNAL_ERROR, "The server was stopped"
                        )

    async def _call(self) -> _Outcome:
        ctx, delay = self._ctx, _FIRST_DELAY
        for _ in range(MAX_ROUNDS):
            try:
                outcome = _Outcome(await self._call_next(ctx))
            except Exception as exc:  # noqa: BLE001 - told where the request or the task ends
                outcome = _Outcome(error=exc)
            except BaseExceptionGroup as group:
                raise without_failures(group, self._exchange) from None
            if not self._decided.is_set():
                self._outcome = outcome
                self._first.set()
                await self._decided.wait()
            if self._task_id is None or not outcome.asks:
                return outcome
            try:
                asked = _read_questions(outcome.result)
                answers = await self._ask_all(asked)
            except Exception as exc:  # noqa: BLE001 - as above
                return _Outcome(error=exc)
            if not answers:
                await trio.sleep(delay)
                delay = min(2 * delay, _LONGEST_DELAY)
            ctx = _next_round(self._ctx, answers, asked.request_state)
        return _Outcome(
            error=MCPError(INTERNAL_ERROR, f"Input is still needed after {MAX_ROUNDS} rounds")
        )

    async def _end(self, task_id: str, outcome: _Outcome) -> None:
        ctx, exc = self._ctx, outcome.error
        name: str = (ctx.params or {})["name"]
        try:
            result = outcome.result if exc is None else failed_tool_call(name, exc, ctx)
            written = ctx.write_answer(result)
        except Exception as failure:  # noqa: BLE001 - told and logged as by the request itself
            error = to_json(error_for(failure, self._exchange))
            await self._run.end_at_last(
                task_id, "failed", error=error, status_message=error["message"]
            )
        else:
            await self._run.end_at_last(task_id, "completed", result=written)

    async def _fail(self, task_id: str, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        await self._run.end_at_last(task_id, "failed", error=error, status_message=message)

    @property
    def _exchange(self) -> Exchange:
        assert self._ctx.exchange is not None
        return self._ctx.exchange

    # Questions

    async def _ask(self, request: InputRequest) -> InputResponse:
        """Bring a question to the client by the task, which the call becomes if it is none."""
        if not self._can_ask:
            await trio.lowlevel.checkpoint()
            raise NoBackChannelError(request.method)
        self._first.set()
        await self._decided.wait()
        task_id = self._task_id
        assert task_id is not None
        written = to_json(request, self._ctx.protocol_version)
        try:
            return await self._questions.ask(task_id, request, written)
        except AskedTooLate as exc:
            over = exc.task
        raise await self._give_up(over)

    async def _give_up(self, task: StoredTask | None) -> MCPError:
        """End work whose task is over: nobody could answer it any more.

        Returns:
          What to raise where the tool does not let itself be cancelled.

        """
        reason = self._why_over(task)
        self.stop(reason)
        await trio.lowlevel.checkpoint_if_cancelled()
        return MCPError(INTERNAL_ERROR, f"Nobody can be asked: {reason}")

    async def _ask_all(self, asked: InputRequiredResult) -> dict[str, InputResponse]:
        requests = asked.input_requests or {}
        ask = self._ctx.session.ask
        return await run_all(
            {
                key: partial(ask, each, required_by=f"the question {key!r}")
                for key, each in requests.items()
            }
        )

    # What becomes of the task meanwhile

    def wake(self) -> None:
        """The task may have changed."""
        self._woken.set()

    def stop(self, reason: str) -> None:
        """End the work: its task is over, as somebody else has written down."""
        self._scope.cancel(reason=reason)

    def _why_over(self, task: StoredTask | None) -> str:
        if task is not None and task.is_over:
            return CANCELLED if task.status == "cancelled" else f"the task is {task.status}"
        if trio.current_time() >= self._scope.deadline:
            return EXPIRED
        if self._run.nursery.cancel_scope.cancel_called:
            return STOPPED
        return self._exchange.cancel_reason or DELETED

    async def _watch(self) -> None:
        task: StoredTask | None = None
        try:
            while task is None or not task.is_over:
                await self._woken.wait()
                self._woken = trio.Event()
                if self._task_id is None:
                    continue
                task = await self._run.read_at_last(self._task_id)
                if task is None:
                    break
                await self._take_answers(task)
            self.stop(self._why_over(task))
        finally:
            self._questions.end(task)

    async def _take_answers(self, task: StoredTask) -> None:
        self._questions.look(task)
        # All of these are taken now.
        answered = {*task.input_responses, *task.input_errors}
        if answered:
            await self._run.drop_answers(task.task_id, answered)


def _needs_input(result: HandlerResult) -> bool:
    mark: object = (
        result.get("resultType")
        if isinstance(result, dict)
        else getattr(result, "result_type", None)
    )
    return mark == "input_required"


def _read_questions(result: HandlerResult) -> InputRequiredResult:
    if isinstance(result, WireModel):
        result = to_json(result)
    return from_json(InputRequiredResult, result)


def _next_round(
    ctx: ServerRequestContext[Any, Any], answers: dict[str, InputResponse], state: str | None
) -> ServerRequestContext[Any, Any]:
    params = dict(ctx.params or {})
    params.pop("inputResponses", None)
    params.pop("requestState", None)
    if answers:
        params["inputResponses"] = {key: to_json(each) for key, each in answers.items()}
    if state is not None:
        params["requestState"] = state
    return attrs.evolve(ctx, params=params)
