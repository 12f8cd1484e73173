"""A function's parameters: into an input schema, and arguments into keywords.

`read_signature` makes a `Signature` of anything that can be called. What the model supplies
is in the schema; the context, what resolvers fill in, and what a ``functools.partial`` has
bound are not.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, get_args, get_origin

import attrs

from trio_mcp.errors import InvalidSignature

from ._arguments import ArgumentsError, Parameter, Resolved, Signature
from ._callables import callable_docstring, callable_name
from ._docstring import parse_docstring
from ._hints import HintError, Scope, UnknownName, Walker
from ._hints._adapted import runs_functions
from ._hints._constraints import alias_of
from ._hints._defaults import default_fits, show_default
from ._hints._errors import show
from ._resolve import Resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from trio_mcp.types._base import JsonObject

    from ._hints import Shape

__all__ = [
    "ArgumentsError",
    "Parameter",
    "Signature",
    "callable_docstring",
    "callable_name",
    "find_context_parameter",
    "find_resolved_parameters",
    "read_needs",
    "read_signature",
    "read_signature_for",
]


class IsContext(Protocol):
    """Tells whether a resolved hint, without ``Annotated`` and ``None``, asks for the context."""

    def __call__(self, hint: Any, /) -> bool: ...


def read_signature(
    fn: Callable[..., Any],
    *,
    is_context: IsContext,
    context_kwarg: str | None = None,
    skip: Collection[str] = (),
    ignore_unknown: bool = False,
    name: str | None = None,
) -> Signature:
    """Read what a callable takes.

    Args:
      fn: A function, method, partial, callable object or class.
      is_context: Recognises the hint of the context.
      context_kwarg: The parameter that gets the context, where the hint does not say so.
      skip: Parameters that are filled in by someone else.
      ignore_unknown: Let arguments pass that no parameter takes.
      name: What to call the function in messages; its own name if None.

    Raises:
      InvalidSignature: if a parameter cannot be published; names it, its hint, and why.
      UnknownName: if a hint needs a name that the function's module does not define; it may
          do so later.

    """
    reader = _Reader(fn, name or callable_name(fn), is_context, context_kwarg, ignore_unknown)
    return reader.read(frozenset(skip))


def read_signature_for(
    schema: JsonObject,
    fn: Callable[..., Any],
    *,
    is_context: IsContext,
    context_kwarg: str | None = None,
    name: str | None = None,
) -> Signature:
    """Make a signature of a JSON Schema that the author wrote.

    Arguments that fit it are passed on by name, as they came: the function's own hints are
    not looked at, and it may take ``**kwargs``.

    Args:
      schema: Its root is an object.
      fn: A function, method, partial, callable object or class.
      is_context: Recognises the hint of the context.
      context_kwarg: The parameter that gets the context, where the hint does not say so.
      name: What to call the function in messages; its own name if None.

    Raises:
      InvalidSignature: if the function could not be called with what the schema admits.
      UnknownName: if a hint cannot be evaluated.

    """
    reader = _Reader(fn, name or callable_name(fn), is_context, context_kwarg, False)
    return reader.read_for(schema)


@attrs.frozen(eq=False)
class Needs:
    """What a resolver wants to be called with.

    Attributes:
      context_kwarg: The parameter that gets the context, or None.
      resolved: Parameters that other resolvers fill in.
      by_name: The other parameters, and whether each has a default.
      scope: Where the names of its hints are looked up.

    """

    context_kwarg: str | None
    resolved: dict[str, Resolved]
    by_name: dict[str, bool]
    scope: Scope


def read_needs(fn: Callable[..., Any], *, is_context: IsContext, name: str) -> Needs:
    """Read what a resolver takes.

    Raises:
      InvalidSignature: if it takes what cannot be passed by name.
      UnknownName: if a hint cannot be evaluated.

    """
    return _Reader(fn, name, is_context, None, False).read_needs()


def find_context_parameter(fn: Callable[..., Any], is_context: IsContext) -> str | None:
    """Return the parameter that takes the context; hints that cannot be read do not count."""
    reader = _Reader(fn, callable_name(fn), is_context, None, False)
    try:
        declared = inspect.signature(fn)
    except (TypeError, ValueError, NameError):
        return None
    for each in declared.parameters.values():
        try:
            if reader.takes_context(each, reader.hint(each)):
                return each.name
        except UnknownName:
            continue
    return None


def find_resolved_parameters(fn: Callable[..., Any]) -> set[str]:
    """Return the parameters that resolvers fill in; hints that cannot be read do not count."""
    scope = Scope.of_callable(fn)
    found: set[str] = set()
    for name, each in inspect.signature(fn).parameters.items():
        hint = each.annotation
        try:
            if resolve_in(scope.evaluate(hint) if isinstance(hint, str) else hint):
                found.add(name)
        except UnknownName:
            continue
    return found


@attrs.define(eq=False)
class _Reader:
    fn: Any
    name: str
    is_context: IsContext
    context_kwarg: str | None
    ignore_unknown: bool
    scope: Scope = attrs.field(init=False)
    walker: Walker = attrs.field(init=False)
    resolved: dict[str, Resolved] = attrs.field(factory=dict[str, Resolved], init=False)

    def __attrs_post_init__(self) -> None:
        self.scope = Scope.of_callable(self.fn)
        self.walker = Walker(self.scope, is_open=self.ignore_unknown)

    def read(self, skip: frozenset[str]) -> Signature:
        declared = self._inspect()
        told = parse_docstring(callable_docstring(self.fn)).params
        bound = _bound_by_partials(self.fn)
        parameters: list[Parameter] = []
        for each in declared.parameters.values():
            if each.name in skip or each.name in bound or each.name == self.context_kwarg:
                continue
            hint = self.hint(each)
            if self.takes_context(each, hint) or self._is_resolved(each, hint):
                continue
            self._refuse_kind(each)
            parameters.append(self._parameter(each, hint, told))
        schema = self._schema(parameters)
        made = self._signature(declared, self.walker.document(schema), tuple(parameters))
        if self.walker.has_openings:
            made.opened = self.walker.opened(schema)
        return made

    def read_for(self, schema: JsonObject) -> Signature:
        declared = self._inspect()
        listed = schema.get("properties", {})
        accepted: set[str] | None = set()
        for each in declared.parameters.values():
            hint = self.hint(each)
            if each.name == self.context_kwarg or self.takes_context(each, hint):
                continue
            if each.kind is each.VAR_KEYWORD:
                accepted = None
            elif each.kind in (each.VAR_POSITIONAL, each.POSITIONAL_ONLY):
                raise self._refused(each, "arguments are passed by name")
            elif not self._is_resolved(each, hint):
                if each.default is each.empty and each.name not in schema.get("required", ()):
                    raise self._refused(
                        each, "it has no default, and the schema does not require it"
                    )
                if accepted is not None:
                    accepted.add(each.name)
        for name in listed:
            if accepted is not None and name not in accepted:
                raise InvalidSignature(
                    f"{self.name}: the schema lists {name!r}, which the function does not take"
                )
        made = self._signature(declared, schema, ())
        made.accepted = None if accepted is None else frozenset(accepted)
        return made

    def read_needs(self) -> Needs:
        bound = _bound_by_partials(self.fn)
        by_name: dict[str, bool] = {}
        for each in self._inspect().parameters.values():
            hint = self.hint(each)
            if each.name in bound or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                continue
            if self.takes_context(each, hint):
                continue
            if each.kind is each.POSITIONAL_ONLY:
                raise self._refused(each, "a resolver is called with names")
            if not self._is_resolved(each, hint):
                by_name[each.name] = each.default is not each.empty
        return Needs(self.context_kwarg, self.resolved, by_name, self.scope)

    def _signature(
        self, declared: inspect.Signature, schema: JsonObject, parameters: tuple[Parameter, ...]
    ) -> Signature:
        return Signature(
            name=self.name,
            title=callable_name(self.fn),
            schema=schema,
            parameters=parameters,
            context_kwarg=self.context_kwarg,
            resolved=self.resolved,
            returns=declared.return_annotation,
            scope=self.scope,
            ignore_unknown=self.ignore_unknown,
        )

    def _inspect(self) -> inspect.Signature:
        declared = self._declared()
        if self.context_kwarg is not None and not _takes(declared, self.context_kwarg):
            raise InvalidSignature(
                f"{self.name}: context_kwarg is {self.context_kwarg!r}, which is no parameter"
            )
        return declared

    def _declared(self) -> inspect.Signature:
        try:
            return inspect.signature(self.fn)
        except NameError as exc:  # annotations that are evaluated when asked for (3.14)
            raise UnknownName(self.name, f"the name {exc.name!r} is not known", exc.name) from exc
        except (TypeError, ValueError) as exc:
            raise InvalidSignature(
                f"{self.name} has no signature that can be read: {exc}"
            ) from exc

    def hint(self, parameter: inspect.Parameter) -> Any:
        hint = parameter.annotation
        if hint is inspect.Parameter.empty:
            return Any
        try:
            return self.scope.evaluate(hint) if isinstance(hint, str) else hint
        except UnknownName as exc:
            raise _about(parameter, exc) from exc

    def takes_context(self, parameter: inspect.Parameter, hint: Any) -> bool:
        if not any(self.is_context(each) for each in self._alternatives(parameter, hint)):
            return False
        if self.context_kwarg is not None:
            raise InvalidSignature(
                f"{self.name}: the parameters {self.context_kwarg!r} and {parameter.name!r} "
                "both take the context; one is enough"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise self._refused(parameter, "the context is passed by name")
        self.context_kwarg = parameter.name
        return True

    def _alternatives(
        self, parameter: inspect.Parameter, hint: Any, within: tuple[Any, ...] = ()
    ) -> Iterator[Any]:
        """Yield what a hint may be, without ``Annotated`` and the other arms of a union."""
        if isinstance(hint, str) or hasattr(hint, "__forward_arg__"):
            try:
                hint = self.scope.evaluate(hint)
            except UnknownName as exc:
                raise _about(parameter, exc) from exc
        if any(each is hint for each in within):
            return  # a union of itself and others: refused where the schema is made
        within = (*within, hint)
        if get_origin(hint) is Annotated:
            yield from self._alternatives(parameter, get_args(hint)[0], within)
        elif _is_union(hint):
            for each in get_args(hint):
                yield from self._alternatives(parameter, each, within)
        else:
            yield hint

    def _is_resolved(self, parameter: inspect.Parameter, hint: Any) -> bool:
        found = resolve_in(hint)
        if found is not None:
            self.resolved[parameter.name] = Resolved(found, get_args(hint)[0])
            return True
        if _is_union(hint) and any(resolve_in(each) is not None for each in get_args(hint)):
            raise self._refused(
                parameter,
                "Resolve(…) is for the whole parameter: write Annotated[A | B, Resolve(…)]",
            )
        return False

    def _refuse_kind(self, parameter: inspect.Parameter) -> None:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise InvalidSignature(
                f"{self.name}: {stars}{parameter.name} cannot be published; "
                "give each argument a parameter of its own"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise self._refused(
                parameter, "arguments are passed by name, so it cannot be positional-only"
            )
        if parameter.name.startswith("_"):
            raise self._refused(parameter, "a name that begins with '_' is private")

    def _refused(self, parameter: inspect.Parameter, reason: str) -> InvalidSignature:
        return InvalidSignature(f"{self.name}: parameter {parameter.name!r}: {reason}")

    def _parameter(
        self, parameter: inspect.Parameter, hint: Any, told: dict[str, str]
    ) -> Parameter:
        default = parameter.default
        if _is_pydantic_field(default):
            hint, default = Annotated[hint, default], parameter.empty
        metadata: tuple[Any, ...] = getattr(hint, "__metadata__", ())
        field = _field_with_default(metadata) if default is parameter.empty else None
        if field is not None:
            default = _field_default(field)
        taken = _nullable(hint) if default is None else hint
        try:
            shape = self.walker.shape(taken)
        except UnknownName as exc:
            raise _about(parameter, exc) from exc
        except HintError as exc:
            text = _shown(parameter.annotation)
            whole_hint = f" with the hint {text}" if show(exc.hint) != text else ""
            raise InvalidSignature(
                f"{self.name}: parameter {parameter.name!r}{whole_hint}: {exc}"
            ) from exc
        keywords = dict(shape.schema)
        if taken is not hint and runs_functions(metadata):
            text = keywords["anyOf"][0].get("description")
            if text is not None:
                keywords["description"] = text
        if parameter.name in told:
            keywords.setdefault("description", told[parameter.name])
        self._show_default(parameter, taken, shape, keywords, default)
        return Parameter(
            name=parameter.name,
            wire=alias_of(metadata) or parameter.name,
            shape=attrs.evolve(shape, schema=keywords),
            required=default is inspect.Parameter.empty,
            default=None if field is None else _default_maker(field),
        )

    def _show_default(
        self,
        parameter: inspect.Parameter,
        hint: Any,
        shape: Shape,
        keywords: JsonObject,
        default: Any,
    ) -> None:
        given = keywords.pop("default", _NONE) if default is parameter.empty else default
        if given is _NONE:
            return
        fits, can_be_sent = default_fits(self.walker, shape, hint, given)
        if not fits:
            raise self._refused(
                parameter,
                f"the default {given!r:.80} does not fit the hint {_shown(parameter.annotation)}",
            )
        if can_be_sent:
            show_default(shape, keywords, given)

    def _schema(self, parameters: list[Parameter]) -> JsonObject:
        schema: JsonObject = {
            "type": "object",
            "title": f"{callable_name(self.fn)}Arguments",
            "properties": {each.wire: each.shape.schema for each in parameters},
        }
        required = [each.wire for each in parameters if each.required]
        if required:
            schema["required"] = required
        if not self.ignore_unknown:
            schema["additionalProperties"] = False
        return schema


def _takes(declared: inspect.Signature, name: str) -> bool:
    found = declared.parameters.get(name)
    if found is not None and found.kind in (found.KEYWORD_ONLY, found.POSITIONAL_OR_KEYWORD):
        return True
    return any(each.kind is each.VAR_KEYWORD for each in declared.parameters.values())


def _about(parameter: inspect.Parameter, error: UnknownName) -> UnknownName:
    text = f"parameter {parameter.name!r} with the hint {error.hint}"
    return UnknownName(text, error.reason, error.name)


def _shown(hint: Any) -> str:
    return hint if isinstance(hint, str) else inspect.formatannotation(hint)


def _bound_by_partials(fn: Any) -> set[str]:
    """Return what partials pass by name: fixed by the author, and perhaps secret."""
    bound: set[str] = set()
    while isinstance(fn, functools.partial):
        bound |= fn.keywords.keys()
        fn = fn.func
    return bound


def resolve_in(hint: Any) -> Resolve | None:
    """Find the `Resolve` in the metadata of an ``Annotated``."""
    found = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Resolve)]
    return found[0] if found else None


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in _UNIONS


_UNIONS: Final = (typing.Union, types.UnionType)


def _nullable(hint: Any) -> Any:
    # A default of None says that None is taken, whatever the hint forgot.
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        if runs_functions(hint.__metadata__):
            return typing.Optional[hint]  # noqa: UP045 - they do not expect None
        return Annotated[(_nullable(inner), *metadata)]
    return typing.Optional[hint]  # noqa: UP045 - a value: the hint may be a string


_NONE: Final = object()


def _is_pydantic_field(default: Any) -> bool:
    return all(hasattr(default, name) for name in ("is_required", "get_default", "metadata"))


def _field_with_default(metadata: tuple[Any, ...]) -> Any:
    found = [each for each in metadata if _is_pydantic_field(each) and not each.is_required()]
    return found[-1] if found else None


def _field_default(field: Any) -> Any:
    return field.get_default(call_default_factory=True)


def _default_maker(field: Any) -> Callable[[], Any]:
    return lambda: field.get_default(call_default_factory=True)
