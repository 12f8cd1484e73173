"""Which resolvers a function needs, and in what order: fixed when it is registered."""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

import attrs

from trio_mcp.errors import InvalidSignature

from ._callables import callable_name
from ._elicitation import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    ElicitationResult,
)
from ._elicitation_form import form_of
from ._hints import UnknownName
from ._hints._errors import show
from ._managed import in_thread
from ._questions import Elicit
from ._signature import read_needs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ._arguments import Resolved, Signature
    from ._hints import Scope
    from ._signature import IsContext, Needs


@attrs.frozen(eq=False)
class Need:
    """A parameter that takes what a resolver found.

    Attributes:
      parameter: Its name.
      resolver: Who fills it in.
      whole: It takes the `ElicitationResult`, and not just what was accepted.

    """

    parameter: str
    resolver: Resolver
    whole: bool


@attrs.frozen(eq=False)
class Resolver:
    """A function of the author that finds a value.

    Attributes:
      key: What its question is called on the wire: ``module:qualname``. It says the same in
          every process that runs this code.
      call: The function; where it yields, what makes an async context manager.
      yields: It cleans up, and so is entered instead of called.
      context_kwarg: The parameter that gets the context, or None.
      arguments: Parameters that get arguments of the tool.
      needs: Parameters that get what other resolvers found.

    """

    key: str
    call: Callable[..., Any]
    yields: bool
    context_kwarg: str | None
    arguments: tuple[str, ...]
    needs: tuple[Need, ...]


@attrs.frozen(eq=False)
class ResolverPlan:
    """All resolvers of one function.

    Attributes:
      resolvers: Each after those that it needs.
      fills: The parameters of the function itself.
      defaults: Of its published parameters, for resolvers that take them.

    """

    resolvers: tuple[Resolver, ...]
    fills: tuple[Need, ...]
    defaults: Mapping[str, Any]


def plan_resolvers(
    fn: Callable[..., Any], signature: Signature, is_context: IsContext
) -> ResolverPlan:
    """Plan the resolvers of a function.

    Raises:
      InvalidSignature: if resolvers need each other in a circle, if one has a parameter that
        nothing fills in, or asks with a class that cannot be a form.
      UnknownName: if a hint cannot be evaluated.

    """
    defaults = {
        each.name: each.default
        for each in inspect.signature(fn).parameters.values()
        if each.default is not each.empty
    }
    planner = _Planner(signature, is_context, frozenset(defaults))
    fills = planner.needs(signature.resolved, signature.scope)
    return ResolverPlan(tuple(planner.made.values()), fills, defaults)


@attrs.define(eq=False)
class _Planner:
    signature: Signature
    is_context: IsContext
    defaulted: frozenset[str]
    made: dict[Any, Resolver] = attrs.field(factory=dict[Any, Resolver], init=False)
    _path: dict[Any, str] = attrs.field(factory=dict[Any, str], init=False)
    _keys: set[str] = attrs.field(factory=set[str], init=False)
    _arguments: dict[str, bool] = attrs.field(init=False)
    # Each argument that resolvers may ask for, and whether there is always a value for it.

    def __attrs_post_init__(self) -> None:
        published = {each.name: True for each in self.signature.parameters}
        schema = self.signature.schema
        if not published:  # a schema of the author's own
            required = schema.get("required", ())
            published = {
                name: name in required or name in self.defaulted
                for name in schema.get("properties", ())
            }
        self._arguments = published

    def needs(self, resolved: Mapping[str, Resolved], scope: Scope) -> tuple[Need, ...]:
        return tuple(
            Need(
                parameter=name,
                resolver=self.resolver(each.resolve.fn),
                whole=_takes_the_whole(each.hint, scope),
            )
            for name, each in resolved.items()
        )

    def resolver(self, fn: Callable[..., Any]) -> Resolver:
        identity = _identity(fn)
        if identity in self.made:
            return self.made[identity]
        name = callable_name(fn)
        if identity in self._path:
            names = [*self._path.values(), name]
            circle = " → ".join(names[names.index(name) :])
            raise self._refused(f"the resolvers need each other in a circle: {circle}")
        self._path[identity] = name
        try:
            made = self._read(fn, name)
        finally:
            del self._path[identity]
        self.made[identity] = made
        return made

    def _read(self, fn: Callable[..., Any], name: str) -> Resolver:
        try:
            needs = read_needs(fn, is_context=self.is_context, name=f"resolver {name}")
        except InvalidSignature as exc:
            raise self._refused(str(exc)) from exc
        except UnknownName as exc:
            text = f"the resolver {name}, {exc.hint}"
            raise UnknownName(text, exc.reason, exc.name) from exc
        call = _managed(fn)
        inner = self.needs(needs.resolved, needs.scope)
        self._check_arguments(name, needs)
        self._check_forms(fn, name, needs)
        return Resolver(
            key=self._key(fn),
            call=fn if call is None else call,
            yields=call is not None,
            context_kwarg=needs.context_kwarg,
            arguments=tuple(each for each in needs.by_name if each in self._arguments),
            needs=inner,
        )

    def _check_arguments(self, name: str, needs: Needs) -> None:
        for parameter, has_default in needs.by_name.items():
            if has_default or self._arguments.get(parameter, False):
                continue
            known = ", ".join(map(repr, self._arguments)) or "none"
            reason = (
                "which a client may leave out, and neither has a default"
                if parameter in self._arguments
                else f"which is no argument (there are: {known})"
            )
            raise self._refused(f"the resolver {name} takes {parameter!r}, {reason}")

    def _check_forms(self, fn: Callable[..., Any], name: str, needs: Needs) -> None:
        """Refuse a question that could never be asked, where the hint of the result tells."""
        hint = inspect.signature(fn).return_annotation
        try:
            told = needs.scope.evaluate(hint) if isinstance(hint, str) else hint
        except UnknownName:
            return  # only for type checkers
        for each in _parts(told):
            if get_origin(each) is Elicit and isinstance(get_args(each)[0], type):
                try:
                    form_of(get_args(each)[0])
                except TypeError as exc:
                    raise self._refused(f"the resolver {name} asks with {exc}") from exc

    def _key(self, fn: Callable[..., Any]) -> str:
        while isinstance(fn, functools.partial):
            fn = fn.func
        named: Any = fn if hasattr(fn, "__qualname__") else type(fn)
        base = key = f"{named.__module__}:{named.__qualname__}"
        count = 0
        while key in self._keys:  # of one factory, or methods of two objects
            count += 1
            key = f"{base}#{count}"
        self._keys.add(key)
        return key

    def _refused(self, reason: str) -> InvalidSignature:
        return InvalidSignature(f"{self.signature.name}: {reason}")


def _identity(fn: Callable[..., Any]) -> Any:
    try:
        hash(fn)
    except TypeError:
        return id(fn)
    return fn


def _managed(fn: Callable[..., Any]) -> Callable[..., Any] | None:
    """Give what makes an async context manager of a function that yields; None if it does not."""
    if _is(inspect.isasyncgenfunction, fn):
        return contextlib.asynccontextmanager(fn)
    if _is(inspect.isgeneratorfunction, fn):
        return in_thread(contextlib.contextmanager(fn))
    wrapped = getattr(fn, "__wrapped__", None)
    if wrapped is not None and inspect.isasyncgenfunction(wrapped):
        return fn
    if wrapped is not None and inspect.isgeneratorfunction(wrapped):
        return in_thread(fn)
    return None


def _is(kind: Callable[[Any], bool], fn: Any) -> bool:
    while isinstance(fn, functools.partial):
        fn = fn.func
    call: Any = getattr(fn.__class__, "__call__", None)  # noqa: B004 - the method is wanted
    return kind(fn) or kind(call)


_OUTCOMES: Final = (AcceptedElicitation, DeclinedElicitation, CancelledElicitation)


def _takes_the_whole(hint: Any, scope: Scope) -> bool:
    if isinstance(hint, str) or hasattr(hint, "__forward_arg__"):
        hint = scope.evaluate(hint)
    return any(
        each is ElicitationResult
        or get_origin(each) is ElicitationResult
        or (get_origin(each) or each) in _OUTCOMES
        for each in _parts(hint)
    )


def _parts(hint: Any) -> Iterator[Any]:
    """Yield a hint, and the arms of a union."""
    yield hint
    if show(get_origin(hint)) in {"Union", "UnionType"}:
        for each in get_args(hint):
            yield from _parts(each)
