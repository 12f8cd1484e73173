"""Completing arguments of an `MCPServer`'s prompts and templates."""

from __future__ import annotations

from collections import abc
from typing import TYPE_CHECKING, Any, Final, overload

from trio_mcp import types
from trio_mcp._checks import check_callable
from trio_mcp._codec import check_wire, excerpt
from trio_mcp.errors import MCPError
from trio_mcp.types import INVALID_PARAMS

from ._answers import completion_failure, is_answer
from ._serving_base import CallableT, ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.server import ServerRequestContext

    from ._prompts import Prompt
    from ._registry import Registry
    from ._resource_template import ResourceTemplate
    from ._resources import Resource

MAX_VALUES: Final = 100
"""How many values an answer may hold (schema of `CompleteResult`)."""


class ServesCompletions(ServingBase[LifespanResultT]):
    """One function that knows what may come next."""

    _prompts: Registry[Prompt]
    _resources: Registry[Resource]
    _templates: Registry[ResourceTemplate]

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
        Anything else, a single string too, is a defect: answered -32603, and logged. Only the
        first 100 values are sent. It is called for prompts and templates of this
        server and their arguments alone; the client of another one is answered -32602.
        ``@mcp.completion`` does the same as ``@mcp.completion()``.
        """

        def decorate(fn: CallableT) -> CallableT:
            check_callable("fn", fn)

            async def handle(
                ctx: ServerRequestContext[Any, Any], params: types.CompleteRequestParams
            ) -> types.CompleteResult:
                self._check_completable(params)
                arguments = (params.ref, params.argument, params.context)
                try:
                    found = await self.workers.call_to_the_end(fn, *arguments)
                    return types.CompleteResult(completion=_completion_of(found))
                except Exception as exc:
                    if is_answer(exc):
                        raise
                    name = params.argument.name
                    raise completion_failure(name, exc, self._context(ctx)) from exc

            self._lowlevel_server.add_request_handler(
                "completion/complete", types.CompleteRequestParams, handle
            )
            return fn

        return decorate if fn is None else decorate(fn)

    # Completion, error handling: a prompt, a reference or an argument that is not there.

    def _check_completable(self, params: types.CompleteRequestParams) -> None:
        if isinstance(params.ref, types.PromptReference):
            known = self._arguments_of_prompt(params.ref.name)
            whose = f"prompt {params.ref.name}"
        else:
            known = self._variables_of(params.ref.uri)
            whose = f"resource {excerpt(params.ref.uri)}"
        if params.argument.name not in known:
            name = excerpt(params.argument.name)
            raise MCPError(INVALID_PARAMS, f"Unknown argument of {whose}: {name}")

    def _arguments_of_prompt(self, name: str) -> list[str]:
        prompt = self._prompts.get(name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {excerpt(name)}")
        return [argument.name for argument in prompt.arguments]

    def _variables_of(self, uri: str) -> list[str]:
        # "The URI or URI template of the resource."
        template = self._templates.get(uri)
        if template is not None:
            return template.parsed_template.variable_names
        if self._resources.get(uri) is not None:
            return []
        for each in self._templates.items():
            if each.parsed_template.match(uri) is not None:
                return each.parsed_template.variable_names
        raise MCPError(INVALID_PARAMS, f"Unknown resource or template: {excerpt(uri)}")


def _completion_of(found: Any) -> types.Completion:
    """Make the answer of what the function returned.

    Raises:
      TypeError: if it is none.
      ValueError: if its total is negative.

    """
    if found is None:
        return types.Completion(values=[])
    completion = (
        found if isinstance(found, types.Completion) else types.Completion(values=_listed(found))
    )
    check_wire(completion)
    if completion.total is not None and completion.total < 0:
        raise ValueError(f"total: expected at least 0, got {completion.total}")
    if len(completion.values) <= MAX_VALUES:
        return completion
    return types.Completion(
        values=completion.values[:MAX_VALUES],
        total=completion.total if completion.total is not None else len(completion.values),
        has_more=True,
    )


def _listed(found: Any) -> list[str]:
    # A string is a row of strings to Python, and the keys of a dict are one, too.
    cls: type[Any] = found.__class__
    if issubclass(cls, _NO_LISTS) or not issubclass(cls, abc.Iterable):
        raise TypeError(f"expected a Completion, a list of str, or None, got {cls.__name__}")
    return list(found)


_NO_LISTS: Final = (str, bytes, bytearray, abc.Mapping)
