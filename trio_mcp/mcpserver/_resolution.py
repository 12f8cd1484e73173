"""Running the resolvers of one request: one round of it."""

from __future__ import annotations

import enum
import functools
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs
import trio

from trio_mcp._codec import encode
from trio_mcp._rpc._gather import run_all
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.types import INVALID_PARAMS, InputRequiredResult
from trio_mcp.types._revisions import LATEST_MODERN

from ._elicitation import AcceptedElicitation
from ._managed import InThread
from ._questions import WrongAnswer, is_question
from ._resolution_state import Progress, Recorded, fingerprint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from trio_mcp.types import InputRequest

    from ._call_time import CallTime
    from ._context import Context
    from ._elicitation import ElicitationResult
    from ._questions import Question
    from ._resolver_plan import Need, Resolver, ResolverPlan


logger = logging.getLogger(__name__)


class _Pending(enum.Enum):
    PENDING = "waits for an answer of the client"


_PENDING: Final = _Pending.PENDING
_Outcome: TypeAlias = "ElicitationResult[Any] | Literal[_Pending.PENDING]"


async def call_resolved(
    plan: ResolverPlan,
    call: Callable[[dict[str, Any]], Awaitable[Any]],
    arguments: dict[str, Any],
    context_kwarg: str | None,
    context: Context[Any, Any],
    fail: Callable[[str], Exception],
    time: CallTime | None = None,
) -> Any:
    """Call a function with what its resolvers find, and let these clean up afterwards.

    Args:
      plan: Of the function.
      call: Calls it with keywords.
      arguments: What the client gave it, converted.
      context_kwarg: The parameter that gets the context, or None.
      context: The request.
      fail: Makes the error for a question to which the user said no.
      time: Told when only clean-up is left.

    Returns:
      What the function returned; or, if answers of a modern client are missing, all questions
      that can be asked by now. The function is not called then.

    Raises:
      MCPError: -32021 if the client did not declare that it can answer; -32602 if it answered
        something else than was asked; whatever else a resolver or the function raised.
      TypeError: if the function asks by hand, too: the state of a request is its resolvers'.

    """
    async with AsyncExitStack() as stack:
        try:
            found = await _Round(plan, arguments, context, fail).run(stack)
            if isinstance(found, InputRequiredResult):
                result: Any = found
            else:
                own = {} if context_kwarg is None else {context_kwarg: context}
                result = await call({**arguments, **own, **found})
                _refuse_other_questions(result)
        except Exception as exc:
            if time is not None:
                time.failed(exc)
            raise
        if time is not None:
            time.finished(result)
        return result


def _refuse_other_questions(result: Any) -> None:
    if isinstance(result, InputRequiredResult):
        raise TypeError(
            "A function with resolvers cannot return an InputRequiredResult of its own; "
            "ask in a resolver"
        )


@attrs.define(eq=False)
class _Round:
    plan: ResolverPlan
    arguments: Mapping[str, Any]
    context: Context[Any, Any]
    fail: Callable[[str], Exception]
    outcomes: dict[Resolver, _Outcome] = attrs.field(factory=dict[Any, Any], init=False)
    before: Progress = attrs.field(init=False)
    after: Progress = attrs.field(factory=Progress, init=False)
    questions: dict[str, InputRequest] = attrs.field(factory=dict[str, Any], init=False)
    done: dict[Resolver, trio.Event] = attrs.field(factory=dict[Any, Any], init=False)

    def __attrs_post_init__(self) -> None:
        self.before = Progress.read(self.context.request_state)

    async def run(self, stack: AsyncExitStack) -> dict[str, Any] | InputRequiredResult:
        while True:
            await self._run_together()
            resolver = self._next_to_enter()
            if resolver is None:
                break
            await self._enter(resolver, stack)
        # Someone who declined need not hear the other questions first.
        values = {
            need.parameter: self._value(need)
            for need in self.plan.fills
            if self.outcomes[need.resolver] is not _PENDING
        }
        if not self.questions:
            return values
        # In the order of the plan, and not that in which they happened to be asked.
        in_order = {
            each.key: self.questions[each.key]
            for each in self.plan.resolvers
            if each.key in self.questions
        }
        return InputRequiredResult(input_requests=in_order, request_state=self.after.write())

    # Who can run

    async def _run_together(self) -> None:
        """Run all that wait for nothing but each other, at the same time."""
        ready: dict[Resolver, None] = {}
        for each in self.plan.resolvers:
            if each.yields or each in self.outcomes:
                continue
            if all(
                need.resolver in self.outcomes or need.resolver in ready for need in each.needs
            ):
                ready[each] = None
        if ready:
            self.done = {each: trio.Event() for each in ready}
            await run_all({each.key: functools.partial(self._call, each) for each in ready})

    def _next_to_enter(self) -> Resolver | None:
        return next((each for each in self.plan.resolvers if each not in self.outcomes), None)

    async def _call(self, resolver: Resolver) -> None:
        for need in resolver.needs:
            if need.resolver in self.done:
                await self.done[need.resolver].wait()
        if self._waits(resolver):
            self.outcomes[resolver] = _PENDING
        else:
            value = await self.context.workers.call(resolver.call, **self._kwargs(resolver))
            self.outcomes[resolver] = await self._settle(resolver, value)
        self.done[resolver].set()

    async def _enter(self, resolver: Resolver, stack: AsyncExitStack) -> None:
        if self._waits(resolver):
            self.outcomes[resolver] = _PENDING
            return
        manager = resolver.call(**self._kwargs(resolver))
        if isinstance(manager, InThread):
            manager.limiter = self.context.workers.limiter
        value = await stack.enter_async_context(_Telling(manager, resolver.key))
        self.outcomes[resolver] = await self._settle(resolver, value)

    # What it gets

    def _waits(self, resolver: Resolver) -> bool:
        return any(self.outcomes[need.resolver] is _PENDING for need in resolver.needs)

    def _kwargs(self, resolver: Resolver) -> dict[str, Any]:
        kwargs = {need.parameter: self._value(need) for need in resolver.needs}
        if resolver.context_kwarg is not None:
            kwargs[resolver.context_kwarg] = self.context
        for name in resolver.arguments:
            if name in self.arguments:
                kwargs[name] = self.arguments[name]
            elif name in self.plan.defaults:
                kwargs[name] = self.plan.defaults[name]
        return kwargs

    def _value(self, need: Need) -> Any:
        outcome = self.outcomes[need.resolver]
        assert outcome is not _PENDING
        if need.whole:
            return outcome
        if isinstance(outcome, AcceptedElicitation):
            return outcome.data
        raise self.fail(
            f"Resolver for parameter {need.parameter!r} could not resolve: "
            f"elicitation was {outcome.action}"
        )

    # What it found

    async def _settle(self, resolver: Resolver, value: Any) -> _Outcome:
        if not is_question(value):
            return AcceptedElicitation(data=value)
        request = self.context.request_context
        assert request.exchange is not None
        if request.exchange.accepted.revision.has_server_requests:
            return await self._ask_now(resolver, value)
        return self._look_up(resolver, value)

    async def _ask_now(self, resolver: Resolver, question: Question) -> _Outcome:
        try:
            answer = await self.context.session.ask(
                question.request, required_by=f"resolver {resolver.key!r}"
            )
            return question.outcome(answer)
        except (WrongAnswer, InvalidResponse) as exc:
            raise _wrong_answer(resolver, exc) from exc

    def _look_up(self, resolver: Resolver, question: Question) -> _Outcome:
        """Find the answer in this round or an earlier one; else have the client asked."""
        key = resolver.key
        recorded = self.before.answered.get(key)
        if recorded is not None:
            known = recorded.outcome(question)
            if known is not None:
                self.after.answered[key] = recorded
                return known
        asked = fingerprint(question.request)
        answer = None
        # An answer that comes without being asked for, or to other words, does not count.
        if self.before.asked.get(key) == asked:
            answer = (self.context.input_responses or {}).get(key)
        if answer is None:
            self.context.session.require_for(question.request, f"resolver {key!r}")
            self.questions[key] = question.request
            self.after.asked[key] = asked
            return _PENDING
        try:
            outcome = question.outcome(answer)
        except WrongAnswer as exc:
            raise _wrong_answer(resolver, exc) from exc
        self.after.answered[key] = Recorded(asked, encode(answer, LATEST_MODERN))
        return outcome


@attrs.frozen(eq=False)
class _Telling:
    """A context manager of the author's that cannot keep a failure to itself.

    After it, a ``with`` block would go on behind its end; a call has nothing to go on with.
    """

    manager: AbstractAsyncContextManager[Any]
    key: str

    async def __aenter__(self) -> Any:
        return await self.manager.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        swallowed = await self.manager.__aexit__(kind, exc, traceback)  # noqa: ASYNC102 - as its author wrote it
        if swallowed and isinstance(exc, Exception):
            logger.warning(
                "The clean-up of resolver %r swallowed %r; the call fails by it all the same",
                self.key,
                exc,
            )


def _wrong_answer(resolver: Resolver, exc: Exception) -> MCPError:
    # Multi round-trip requests: malformed answers get an error. Nothing says how the request
    # ends that waits for them in the older era; to its client it is the same mistake.
    return MCPError(INVALID_PARAMS, f"Resolver {resolver.key!r} got a wrong answer: {exc}")
