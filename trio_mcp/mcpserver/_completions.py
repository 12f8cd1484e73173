"""Completing arguments of an `MCPServer`'s prompts and templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, overload

from trio_mcp._checks import check_callable
from trio_mcp.types import CompleteRequestParams, CompleteResult, Completion

from ._answers import completion_failure, is_answer
from ._serving_base import CallableT, ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.server import ServerRequestContext

MAX_VALUES: Final = 100
"""How many values an answer may hold (schema of `CompleteResult`)."""


class ServesCompletions(ServingBase[LifespanResultT]):
    """One function that knows what may come next."""

    @overload
    def completion(self, fn: CallableT) -> CallableT: ...

    @overload
    def completion(self) -> Callable[[CallableT], CallableT]: ...

    def completion(
        self, fn: CallableT | None = None
    ) -> CallableT | Callable[[CallableT], CallableT]:
        """Make the decorated function complete arguments.

        It is called with the `PromptReference` or `ResourceTemplateReference`, the
        `CompletionArgument` that is being typed, and the `CompletionContext` with the arguments
        known so far, or None. It returns a `Completion`, a list of values, or None for nothing.
        Only the first 100 values are sent. ``@mcp.completion`` does the same as
        ``@mcp.completion()``.
        """

        def decorate(fn: CallableT) -> CallableT:
            check_callable("fn", fn)

            async def handle(
                ctx: ServerRequestContext[Any, Any], params: CompleteRequestParams
            ) -> CompleteResult:
                arguments = (params.ref, params.argument, params.context)
                try:
                    found = await self.workers.call(fn, *arguments)
                    return CompleteResult(completion=_completion_of(found))
                except Exception as exc:
                    if is_answer(exc):
                        raise
                    name = params.argument.name
                    raise completion_failure(name, exc, self._context(ctx)) from exc

            self._lowlevel_server.add_request_handler(
                "completion/complete", CompleteRequestParams, handle
            )
            return fn

        return decorate if fn is None else decorate(fn)


def _completion_of(found: Any) -> Completion:
    if found is None:
        return Completion(values=[])
    completion = found if isinstance(found, Completion) else Completion(values=list(found))
    if len(completion.values) <= MAX_VALUES:
        return completion
    return Completion(
        values=completion.values[:MAX_VALUES],
        total=completion.total if completion.total is not None else len(completion.values),
        has_more=True,
    )
