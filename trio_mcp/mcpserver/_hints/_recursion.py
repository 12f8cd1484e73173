"""Hints that contain themselves: ``Tree = dict[str, "Tree"]``, classes, type variables."""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import attrs

from . import _containers as containers
from ._scalars import scalar_shape
from ._shape import ANY_TYPE, JsonType, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types._base import JsonObject

    from ._scope import Scope

PREFIX: Final = "#/$defs/"

MAX_DEPTH: Final = 60
"""How deep a hint may nest. A generic class that holds itself with ever longer arguments
(``Node[list[T]]`` in ``Node[T]``) has no end; what people write is far from this."""

_ARRAY: Final[frozenset[JsonType]] = frozenset(("array",))
_OBJECT: Final[frozenset[JsonType]] = frozenset(("object",))


@attrs.frozen(eq=False)
class Occurrence:
    """A hint at a place: itself, since equal ones may hold strings that mean something else.

    Two of one object are equal where names are looked up in the same place.
    """

    hint: Any
    scope: Scope

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Occurrence)
            and self.hint is other.hint
            and self.scope.module is other.scope.module
            and self.scope.qualname == other.scope.qualname
        )

    def __hash__(self) -> int:
        return hash((id(self.hint), id(self.scope.module), self.scope.qualname))

    def name(self) -> str | None:
        """Say what the hint is called where its names are looked up, if it has a name there."""
        return self.scope.name_of(self.hint)


@attrs.define(eq=False)
class Unfinished:
    """Something that is being read, and may turn out to contain itself.

    Attributes:
      types: The JSON types of its values.
      level: How many arrays and objects it is in.
      outer: Another reading of it that this one is a part of.

    """

    types: frozenset[JsonType]
    level: int
    outer: Unfinished | None = None
    name: str | None = None
    built: Shape | None = None

    def is_cut(self, name: Callable[[], str | None]) -> bool:
        """Tell whether a mention inside of it becomes a reference.

        What has no name is read a second time: what it is a part of most often has one, and
        reads better as the definition.
        """
        return self.outer is not None or self.name is not None or name() is not None

    def mention(self, name: Callable[[], str]) -> Shape:
        """Return the shape of a mention of itself."""
        if self.name is None:
            self.name = name()
        return Shape({"$ref": PREFIX + self.name}, self.types, self._structure, self._unstructure)

    def finish(self, built: Shape, definitions: JsonObject) -> Shape:
        self.built = built
        if self.name is None:
            return built
        definitions[self.name] = built.schema
        return attrs.evolve(built, schema={"$ref": PREFIX + self.name})

    def _structure(self, value: Any) -> Any:
        assert self.built is not None
        return value if self.built.structure is None else self.built.structure(value)

    def _unstructure(self, value: Any) -> Any:
        assert self.built is not None
        return value if self.built.unstructure is None else self.built.unstructure(value)


def types_of(hint: Any) -> frozenset[JsonType]:
    """Tell what JSON types a hint admits as far as that shows without reading what is in it."""
    scalar = scalar_shape(hint)
    if scalar is not None:
        return scalar.types
    origin = typing.get_origin(hint) or hint
    if origin is Annotated:
        return types_of(get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return frozenset[JsonType]().union(*map(types_of, get_args(hint)))
    if origin in containers.MAPPINGS:
        return _OBJECT
    if origin is tuple or origin in containers.ARRAYS or origin in containers.SETS:
        return _ARRAY
    return ANY_TYPE
