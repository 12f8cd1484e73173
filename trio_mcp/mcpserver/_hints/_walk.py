"""The walk from a hint to a shape."""

from __future__ import annotations

import enum
import types
import typing
from collections import abc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, ForwardRef, Literal, TypeVar, get_args

import attrs

from trio_mcp._codec._schema import compile_validator
from trio_mcp.types import WireModel

from . import _containers as containers
from ._adapted import adapted_shape, has_validators, is_adapted_class, validated_shape
from ._choices import Matcher, enum_shape, literal_shape, union_shape
from ._constraints import constrained
from ._errors import HintError, UnknownName, show
from ._openings import opened, without_marks
from ._pydantic import is_pydantic_model, pydantic_shape
from ._record_shape import RecordReader
from ._records import parameters_of, read_record
from ._recursion import MAX_DEPTH, PREFIX, Occurrence, Unfinished, types_of
from ._scalars import scalar_shape
from ._scope import Scope
from ._shape import ANY_TYPE, JsonType, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from trio_mcp._codec._schema import Validator
    from trio_mcp.types._base import JsonObject, JsonValue

# Qualifiers say something of a field or name, and nothing of its value.
_QUALIFIERS: Final = frozenset(("Required", "NotRequired", "ReadOnly", "Final", "ClassVar"))

# What is written out in place, however often it is used, may not grow beyond this many
# schemas: then every class goes to the definitions. The fast validator takes 2,000.
_MAX_INLINED: Final = 1000


@attrs.define(eq=False)
class Walker:
    """Reads the hints of one published schema.

    Args:
      scope: Where the names of string hints are looked up.
      is_result: The schema is for values that go out: no unknown member is refused, and all
          that is written is shown.
      is_open: Unknown members of an object that comes in are ignored instead of refused.

    Attributes:
      definitions: What ``#/$defs/…`` in the shapes refers to: only what is recursive.
      holds_iterators: What is in values that are read may be there only once.
      has_openings: Somewhere a validator sees values before the schema is checked.

    """

    scope: Scope
    is_result: bool = attrs.field(default=False, kw_only=True)
    is_open: bool = attrs.field(default=False, kw_only=True)
    definitions: JsonObject = attrs.field(factory=dict[str, Any], init=False)
    holds_iterators: bool = attrs.field(default=False, init=False)
    has_openings: bool = attrs.field(default=False, init=False)
    # Schemas written out so far, and how many of them each finished thing is.
    _inlined: int = attrs.field(default=0, init=False)
    _sizes: dict[Any, int] = attrs.field(factory=dict[Any, int], init=False)
    _finished: dict[Any, Shape] = attrs.field(factory=dict[Any, Shape], init=False)
    _unfinished: dict[Any, Unfinished] = attrs.field(factory=dict[Any, Any], init=False)
    _taken_names: set[str] = attrs.field(factory=set[str], init=False)
    # Where the walk is: how deep in hints, and in how many arrays and objects.
    _depth: int = attrs.field(default=0, init=False)
    _level: int = attrs.field(default=0, init=False)

    @property
    def is_closed(self) -> bool:
        """Whether objects refuse members that are not theirs."""
        return not (self.is_result or self.is_open)

    def shape(self, hint: Any) -> Shape:
        """Read one hint.

        Raises:
          HintError: if it has no JSON Schema.
          UnknownName: if a string in it cannot be evaluated.

        """
        self._inlined += 1
        if self._depth >= MAX_DEPTH:
            reason = f"it nests deeper than {MAX_DEPTH} levels, or has no end"
            raise HintError(_shortened(show(hint)), reason)
        self._depth += 1
        try:
            return self._read(hint)
        finally:
            self._depth -= 1

    def _read(self, hint: Any) -> Shape:
        if isinstance(hint, (str, ForwardRef)):
            return self._forward(hint)
        origin = typing.get_origin(hint)
        if is_adapted_class(hint if origin is None else origin):
            return self.define(
                hint,
                lambda: getattr(hint, "__name__", None),
                ANY_TYPE,
                lambda: adapted_shape(self, hint),
            )
        scalar = scalar_shape(hint)
        if scalar is not None:
            return scalar
        if origin is None:
            return self._plain(hint)
        if origin is Literal:
            return literal_shape(hint, get_args(hint))
        place = Occurrence(hint, self.scope)
        return self.define(
            place,
            place.name,
            types_of(hint),
            lambda: self._subscripted(hint, origin, get_args(hint)),
            in_place=True,
        )

    def document(self, schema: JsonObject) -> JsonObject:
        """Make a self-contained schema: a reference at the root is written out."""
        document = self._document(schema)
        return without_marks(document) if self.has_openings else document

    def opened(self, schema: JsonObject) -> JsonObject:
        """Make the schema of what validators may see first, and of everything that fits."""
        document = self._document(schema)
        return opened(document) if self.has_openings else document

    def _document(self, schema: JsonObject) -> JsonObject:
        target = schema.get("$ref")
        if isinstance(target, str):
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self.definitions[target.removeprefix(PREFIX)], **rest}
        return {**schema, "$defs": dict(self.definitions)} if self.definitions else schema

    def matcher(self, schema: JsonObject) -> Matcher:
        """Make a test for values of a union's arm, compiled when it is first needed."""
        compiled: list[Validator] = []

        def fits(value: JsonValue) -> bool:
            if not compiled:
                compiled.append(
                    compile_validator(self.opened(schema), trusted=True, where="value")
                )
            return compiled[0].check(value) is None

        return fits

    def unique_name(self, wanted: str) -> str:
        """Return a name for the definitions that nothing else has."""
        base = "".join(each if each.isalnum() else "_" for each in wanted).strip("_") or "Type"
        name, count = base, 1
        # Names that differ only in case look the same to some validators.
        while name.lower() in self._taken_names:
            count += 1
            name = f"{base}_{count}"
        self._taken_names.add(name.lower())
        return name

    def define(
        self,
        key: Any,
        name: Callable[[], str | None],
        of_types: frozenset[JsonType],
        build: Callable[[], Shape],
        *,
        in_place: bool = False,
    ) -> Shape:
        """Build the shape of something that may contain itself.

        Args:
          key: What it is.
          name: Says what to call it in the definitions; None for what has no name.
          of_types: The JSON types of its values.
          build: Called once, with mentions of `key` inside answered by a reference.
          in_place: It goes to the definitions only if it does contain itself.

        Raises:
          HintError: if it is itself, without an array or object in between.

        """
        if key in self._finished:
            self._inlined += self._sizes[key]
            return self._finished[key]
        outer = self._unfinished.get(key)
        if outer is not None and outer.is_cut(name):
            if outer.level == self._level:
                raise HintError(name() or show(key), "it stands for itself, and so for no value")
            return outer.mention(lambda: self.unique_name(name() or "Recursive"))
        pending = self._unfinished[key] = Unfinished(of_types, self._level, outer)
        before = self._inlined
        try:
            built = build()
        finally:
            self._restore(key, outer)
        if pending.name is None:
            if in_place:
                return pending.finish(built, self.definitions)
            if self._inlined > _MAX_INLINED:
                pending.name = self.unique_name(name() or "")
        self._sizes[key] = self._inlined - before if pending.name is None else 1
        self._finished[key] = pending.finish(built, self.definitions)
        return self._finished[key]

    def _restore(self, key: Any, outer: Unfinished | None) -> None:
        if outer is None:
            del self._unfinished[key]
        else:
            self._unfinished[key] = outer

    @contextmanager
    def _inside(self) -> Generator[None]:
        """Read what is in an array or object."""
        self._level += 1
        try:
            yield
        finally:
            self._level -= 1

    def _forward(self, hint: str | ForwardRef) -> Shape:
        module: Any = getattr(hint, "__forward_module__", None)
        if isinstance(module, types.ModuleType):
            module = module.__name__
        if module is None:
            return self.shape(self.scope.evaluate(hint))
        return self.within(Scope.of_module(module, self.scope), hint)

    def within(self, scope: Scope, hint: Any) -> Shape:
        """Read a hint that was written somewhere else."""
        before, self.scope = self.scope, scope
        try:
            return self.shape(
                scope.evaluate(hint) if isinstance(hint, (str, ForwardRef)) else hint
            )
        finally:
            self.scope = before

    def _plain(self, hint: Any) -> Shape:
        if isinstance(hint, TypeVar):
            return self._type_variable(hint)
        supertype = getattr(hint, "__supertype__", None)
        if supertype is not None:
            return self.define(
                hint,
                lambda: str(hint.__name__),
                types_of(supertype),
                lambda: self.shape(supertype),
                in_place=True,
            )
        if _is_alias(hint):
            return self._alias(hint, hint, {})
        if isinstance(hint, type):
            return self._class(hint, {})
        raise HintError(hint, "it has no JSON Schema")

    def _class(self, cls: type[Any], arguments: dict[Any, Any]) -> Shape:
        if issubclass(cls, enum.Enum):
            return enum_shape(cls)
        if self._is_container(cls):
            return self._container(cls, cls, ())
        if is_pydantic_model(cls):
            return self.define(cls, lambda: cls.__name__, ANY_TYPE, lambda: self._pydantic(cls))
        if issubclass(cls, WireModel):
            raise HintError(cls, "it is a type of the protocol, and not data of a tool")
        record = read_record(cls)
        if record is None or (record.kind == "annotated" and not self.is_result):
            raise HintError(
                cls,
                "it has no JSON Schema; use an attrs class, a dataclass, a TypedDict, "
                "a NamedTuple, a pydantic model or a msgspec struct",
            )
        reader = RecordReader(self, record, arguments)
        key = (cls, tuple(arguments.items()))
        with self._inside():
            return self.define(key, lambda: reader.name, frozenset(("object",)), reader.build)

    def _pydantic(self, cls: type) -> Shape:
        return pydantic_shape(
            cls,
            is_result=self.is_result,
            definitions=self.definitions,
            unique_name=self.unique_name,
        )

    def _subscripted(self, hint: Any, origin: Any, given: tuple[Any, ...]) -> Shape:
        if origin is Annotated:
            if not self.is_result and has_validators(hint.__metadata__):
                return validated_shape(self, hint, given[0])
            return constrained(self.shape(given[0]), hint.__metadata__, hint)
        if origin is typing.Union or origin is types.UnionType:
            return union_shape([self.shape(each) for each in given], self.matcher)
        if getattr(origin, "_name", None) in _QUALIFIERS:
            return self.shape(given[0])
        if _is_alias(origin):
            return self._alias(hint, origin, parameters_of(origin, given))
        if self._is_container(origin):
            return self._container(hint, origin, given)
        if isinstance(origin, type):
            return self._class(origin, parameters_of(origin, given))
        raise HintError(hint, "it has no JSON Schema")

    def _is_container(self, cls: Any) -> bool:
        return cls in containers.CONTAINERS or (
            self.is_result and cls in containers.ARRAYS_OF_RESULTS
        )

    def _container(self, hint: Any, origin: Any, given: tuple[Any, ...]) -> Shape:
        with self._inside():
            return self._items(hint, origin, given)

    def _items(self, hint: Any, origin: Any, given: tuple[Any, ...]) -> Shape:
        if origin is tuple:
            return self._tuple(hint, given)
        if origin in containers.MAPPINGS:
            name, member = given or (str, Any)
            return containers.mapping_shape(
                containers.MAPPINGS[origin], hint, self.shape(name), self.shape(member)
            )
        if origin in containers.READ_ONCE and self._level > 1:
            self.holds_iterators = True
        if origin is abc.ItemsView and given:
            pair: Any = tuple
            given = (pair[given],)
        item = self.shape(given[0] if given else Any)
        if origin in containers.SETS:
            return containers.set_shape(containers.SETS[origin], item)
        return containers.array_shape(containers.ARRAYS.get(origin, list), item)

    def _tuple(self, hint: Any, given: tuple[Any, ...]) -> Shape:
        if hint is tuple or hint is typing.Tuple:  # noqa: UP006 - users may write it
            return containers.uniform_tuple_shape(self.shape(Any))
        if len(given) == 2 and given[1] is ...:
            return containers.uniform_tuple_shape(self.shape(given[0]))
        return containers.tuple_shape([self.shape(each) for each in given])

    def _type_variable(self, hint: Any) -> Shape:
        def build() -> Shape:
            bound = _evaluated(hint, "__bound__")
            if bound is not None:
                return self.shape(bound)
            choices = _evaluated(hint, "__constraints__")
            if choices:
                return union_shape([self.shape(each) for each in choices], self.matcher)
            return self.shape(Any)

        return self.define(hint, lambda: str(hint.__name__), ANY_TYPE, build, in_place=True)

    def _alias(self, hint: Any, alias: Any, arguments: dict[Any, Any]) -> Shape:
        def build() -> Shape:
            value = _evaluated(alias, "__value__")
            if arguments:
                value = value[tuple(arguments.get(each, each) for each in value.__parameters__)]
            return self.within(Scope.of_module(alias.__module__, self.scope), value)

        return self.define((alias, show(hint)), lambda: str(alias.__name__), ANY_TYPE, build)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text:.59}…"


def _evaluated(hint: Any, name: str) -> Any:
    # What `type X = …` and `def f[T: …]` say is evaluated when it is asked for (3.12).
    try:
        return getattr(hint, name)
    except NameError as exc:
        reason = f"the name {exc.name!r} is not known in its module"
        raise UnknownName(show(hint), reason, exc.name) from exc


def _is_alias(hint: Any) -> bool:
    # typing's from 3.12 on, or the one of typing_extensions.
    return type(hint).__name__ == "TypeAliasType"
