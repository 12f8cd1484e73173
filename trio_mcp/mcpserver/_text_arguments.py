"""Functions whose arguments come as text: the variables of a URI, the arguments of a prompt."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp._checks import check_callable, check_text
from trio_mcp._codec import JsonError, loads
from trio_mcp.errors import InvalidSignature

from ._callables import callable_docstring, callable_name, refuse_async_generator
from ._hints import Scope, UnknownName, is_still_running
from ._signature import (
    find_context_parameter,
    find_resolved_parameters,
    read_signature,
)
from ._tool import is_context, resolvers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ._context import Context
    from ._hints import Shape
    from ._resolver_plan import ResolverPlan
    from ._signature import Signature


@attrs.define(eq=False)
class TextFunction:
    """A function that clients call with text.

    Its hints are read when it is made. Only where they name a class that the module, which is
    still being executed, has not defined yet, they are read when the server starts.

    Attributes:
      fn: The function.
      name: What it is called in messages.
      context_kwarg: The parameter that gets the context; found by its hint if not given.

    Raises:
      InvalidSignature: if a hint has no schema; it names the parameter.

    """

    fn: Callable[..., Any]
    name: str
    context_kwarg: str | None = None
    _signature: Signature | None = attrs.field(default=None, init=False)
    _resolvers: ResolverPlan | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        check_callable("fn", self.fn)
        if self.context_kwarg is not None:
            check_text("context_kwarg", self.context_kwarg)
        try:
            self._signature = self._read()
        except UnknownName as unknown:
            if not is_still_running(Scope.of_callable(self.fn)):
                raise InvalidSignature(f"{self.name}: {unknown}") from unknown
            if self.context_kwarg is None:
                self.context_kwarg = find_context_parameter(self.fn, is_context)
        else:
            self.context_kwarg = self._signature.context_kwarg

    @property
    def signature(self) -> Signature:
        """What the function takes."""
        if self._signature is None:
            try:
                self._signature = self._read()
            except UnknownName as unknown:
                raise InvalidSignature(f"{self.name}: {unknown}") from unknown
            self.context_kwarg = self._signature.context_kwarg
        return self._signature

    def _read(self) -> Signature:
        signature = read_signature(
            self.fn, is_context=is_context, context_kwarg=self.context_kwarg, name=self.name
        )
        self._resolvers = resolvers_of(self.fn, signature)
        return signature

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters that clients fill in, by name."""
        resolved = self._resolved()
        return {
            name: parameter
            for name, parameter in inspect.signature(self.fn).parameters.items()
            if name != self.context_kwarg and name not in resolved
        }

    def _resolved(self) -> Collection[str]:
        if self._signature is not None:
            return self._signature.resolved
        # Its hints are not known yet; those of resolvers have to be.
        return find_resolved_parameters(self.fn)

    async def call(
        self,
        texts: Mapping[str, str | list[str]],
        context: Context[Any, Any],
        fail: Callable[[str], Exception],
    ) -> Any:
        """Call the function with texts that are read by its hints.

        A parameter that takes no string gets what the text says in JSON: ``7``, ``true``.

        Args:
          texts: By the names of the parameters.
          context: The request.
          fail: Makes the error for a question of a resolver to which the user said no.

        Returns:
          What the function returned; an `InputRequiredResult` if its resolvers need answers of
          the client first.

        Raises:
          ArgumentsError: if the texts do not fit.

        """
        signature = self.signature
        shapes = {each.wire: each.shape for each in signature.parameters}
        arguments = {
            name: _read_text(text, shapes[name]) if name in shapes else text
            for name, text in texts.items()
        }
        kwargs = signature.prepare(arguments)
        if self._resolvers is not None:
            return await self._call_resolved(self._resolvers, kwargs, context, fail)
        if self.context_kwarg is not None:
            kwargs = {**kwargs, self.context_kwarg: context}
        return await context.workers.call_to_the_end(self.fn, **kwargs)

    async def _call_resolved(
        self,
        resolvers: ResolverPlan,
        kwargs: dict[str, Any],
        context: Context[Any, Any],
        fail: Callable[[str], Exception],
    ) -> Any:
        from ._resolution import call_resolved  # noqa: PLC0415 - loads what servers can ask

        async def call(filled_in: dict[str, Any]) -> Any:
            return await context.workers.call_to_the_end(self.fn, **filled_in)

        return await call_resolved(resolvers, call, kwargs, self.context_kwarg, context, fail)


def name_of(fn: Callable[..., Any], name: str | None) -> str:
    """Give the name under which a function is published.

    Raises:
      TypeError: if it is no function, or the name is none.
      ValueError: if it has none.
      InvalidSignature: if it is an async generator function.

    """
    check_callable("fn", fn)
    if name is not None:
        check_text("name", name)
    found = name or callable_name(fn)
    if found == "<lambda>":
        raise ValueError("A lambda has no name of its own: pass name=")
    refuse_async_generator(fn, found)
    return found


def description_of(fn: Callable[..., Any], description: str | None) -> str:
    """Give the description of a function: its docstring, if none is given."""
    return callable_docstring(fn) if description is None else description


def _read_text(text: str | list[str], shape: Shape) -> Any:
    if isinstance(text, list):
        items = shape.schema.get("items", {})
        return (
            text if items.get("type", "string") == "string" else [_json_in(each) for each in text]
        )
    return text if "string" in shape.types else _json_in(text)


def _json_in(text: str) -> Any:
    try:
        return loads(text)
    except JsonError:
        return text
