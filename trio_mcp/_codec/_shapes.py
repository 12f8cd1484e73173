"""What annotations say, read without loading the classes they name.

A field's annotation becomes a *shape*: a plain kind, a set of words, a list or a map of
shapes, a choice, or the name of a class that is looked up when the first value of it comes.
So decoding a tool call does not load the classes of sampling, which its type mentions.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias, TypeVar

import attrs

from trio_mcp._late_hints import LateHints
from trio_mcp.types import _literals

__all__ = ["Choice", "Field", "Items", "Members", "Named", "Plain", "Shape", "Words"]
__all__ += ["fields_of", "shape_of"]

Kind: TypeAlias = Literal[
    "any", "model", "string", "integer", "number", "boolean", "id", "object", "meta", "form value"
]


@attrs.frozen
class Plain:
    """A value that is checked and passed on."""

    kind: Kind


@attrs.frozen
class Words:
    """One of some strings."""

    words: tuple[str, ...]


@attrs.frozen
class Items:
    """A JSON array of one shape."""

    of: Shape


@attrs.frozen
class Members:
    """A JSON object whose members have one shape."""

    of: Shape


@attrs.frozen
class Named:
    """A class or a union, perhaps not loaded yet."""

    name: str
    module: str = "trio_mcp.types"
    """Where to look for it, after ``trio_mcp.types``."""
    target: Any = None
    """What it stands for, where that is known already."""

    def load(self) -> Any:
        """Return what the name stands for."""
        if self.target is not None:
            return self.target
        for module in ("trio_mcp.types", self.module):
            found = getattr(import_module(module), self.name, None)
            if found is not None:
                return found
        msg = f"{self.name} is neither in trio_mcp.types nor in {self.module}"
        raise NameError(msg)

    # Annotations are evaluated with this in place of the class.
    def __or__(self, other: object) -> _Union:
        return _Union((self, other))

    def __ror__(self, other: object) -> _Union:
        return _Union((other, self))


@attrs.frozen
class Choice:
    """One of several shapes; there are at least two."""

    of: tuple[Shape, ...]


Shape: TypeAlias = Plain | Words | Items | Members | Named | Choice

ANY: Final = Plain("any")


@attrs.frozen(eq=False, repr=False)
class Field:
    """One field of a wire type, as all revisions together know it."""

    name: str
    wire: str
    shape: Shape
    nullable: bool
    """None is a value of it."""
    default: Any
    """attrs.NOTHING where it must be given; an `attrs.Factory` perhaps."""
    since: str | None = None
    until: str | None = None
    always: bool = False
    required: tuple[str, ...] = ()
    bounds: tuple[float, float | None] | None = None
    foreign: str = "read"


def fields_of(cls: type) -> list[Field]:
    """Describe the fields of a wire type, without ``extra``."""
    return [_field(cls, attribute) for attribute in attrs.fields(cls) if attribute.name != "extra"]


def _field(cls: type, attribute: attrs.Attribute[Any]) -> Field:
    metadata = attribute.metadata
    shape, nullable = _shape_in(cls, attribute)
    described = {
        key: metadata[key]
        for key in ("since", "until", "always", "required", "bounds", "foreign")
        if key in metadata
    }
    return Field(
        name=attribute.name,
        wire=metadata.get("wire") or (camel if is_camel(cls) else str)(attribute.name),
        shape=shape,
        nullable=nullable,
        default=attribute.default,
        **described,
    )


def is_camel(cls: type) -> bool:
    """Tell whether the names on the wire are in camelCase; those of OAuth are not."""
    return not getattr(cls, "wire_is_snake_case", False)


def camel(name: str) -> str:
    """Write a snake_case name as the wire does."""
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)


def _shape_in(cls: type, attribute: attrs.Attribute[Any]) -> tuple[Shape, bool]:
    """Read an annotation: its shape, and whether None is a value."""
    # Inherited fields are evaluated where they were written.
    owner = next((each for each in cls.__mro__ if _declares(each, attribute.name)), cls)
    annotation: Any = attribute.type
    hints = vars(owner).get("__annotations__")
    if isinstance(hints, LateHints):
        # `attrs.resolve_types` may have changed the attribute: unions have no name then.
        annotation = hints.written.get(attribute.name, annotation)
    if not isinstance(annotation, str):
        return _nullable_shape(annotation)
    if owner.__module__ == "trio_mcp.types":
        return _shape_of_ours(annotation)
    return _nullable_shape(_evaluated(annotation, owner.__module__))


@cache
def _shape_of_ours(annotation: str) -> tuple[Shape, bool]:
    # A few are those of most fields.
    return _nullable_shape(_evaluated(annotation, "trio_mcp.types"))


def _evaluated(annotation: str, module: str) -> Any:
    return eval(annotation, {}, _Names(module))  # noqa: S307 - source of a class


def _nullable_shape(annotation: Any) -> tuple[Shape, bool]:
    parts = _parts(annotation)
    shape = _choice([each for each in parts if each is not type(None)])
    return shape, type(None) in parts


def _declares(cls: type, name: str) -> bool:
    own: Any = vars(cls).get("__attrs_attrs__", ())
    return any(each.name == name and not each.inherited for each in own)


class _Names(Mapping[str, Any]):
    """The names that an annotation may use; classes that are not loaded are `Named`."""

    _FIXED: Final[dict[str, Any]] = {
        **{name: getattr(_literals, name) for name in _literals.__all__},
        **{each: getattr(typing, each) for each in ("Any", "Literal", "Union", "Optional")},
        "JsonObject": dict[str, Any],
        "JsonValue": Any,
        "MethodT": str,
        "RequestParamsT": TypeVar("RequestParamsT"),
        "NotificationParamsT": TypeVar("NotificationParamsT"),
        "str": str,
        "int": int,
        "float": float,
        "bool": bool,
        "list": list,
        "dict": dict,
        "None": None,
    }

    def __init__(self, module: str) -> None:
        self._module = module

    def __getitem__(self, name: str) -> Any:
        if name in self._FIXED:
            return self._FIXED[name]
        if self._module != "trio_mcp.types":
            found = vars(import_module(self._module)).get(name)
            if found is not None:
                return found
        return Named(name, self._module)

    def __iter__(self) -> Iterator[str]:
        return iter(self._FIXED)

    def __len__(self) -> int:
        return len(self._FIXED)


@attrs.frozen(eq=False, repr=False)
class _Union:
    """What ``Named | something`` evaluates to."""

    members: tuple[Any, ...]

    def __or__(self, other: object) -> _Union:
        return _Union((*self.members, other))

    def __ror__(self, other: object) -> _Union:
        return _Union((other, *self.members))


def _parts(annotation: Any) -> list[Any]:
    """Return the members of a union, or the one thing it is."""
    if isinstance(annotation, _Union):
        members: tuple[Any, ...] = annotation.members
    elif typing.get_origin(annotation) in (types.UnionType, typing.Union):
        members = typing.get_args(annotation)
    else:
        return [type(None) if annotation is None else annotation]
    return [part for member in members for part in _parts(member)]


def shape_of(annotation: Any) -> Shape:
    """Return the shape of a type that is not nullable."""
    return _choice(_parts(annotation))


def _choice(parts: list[Any]) -> Shape:
    if set(parts) == {str, int}:
        return Plain("id")
    if set(parts) >= {str, int, float, bool, list[str]}:
        return Plain("form value")
    if str in parts and all(each is str or typing.get_origin(each) is Literal for each in parts):
        # An open set of words.
        return Plain("string")
    shapes = tuple(dict.fromkeys(_single(each) for each in parts))
    return shapes[0] if len(shapes) == 1 else Choice(shapes)


_PLAIN: Final[dict[Any, Plain]] = {
    Any: ANY,
    str: Plain("string"),
    int: Plain("integer"),
    float: Plain("number"),
    bool: Plain("boolean"),
    dict: Plain("object"),
    dict[str, Any]: Plain("object"),
}


def _single(annotation: Any) -> Shape:
    if isinstance(annotation, Named):
        return Plain("meta") if annotation.name == "RequestParamsMeta" else annotation
    if isinstance(annotation, TypeVar):
        return Plain("model")
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin = typing.get_origin(annotation)
    if origin is Literal:
        return Words(typing.get_args(annotation))
    if origin is list:
        return Items(shape_of(typing.get_args(annotation)[0]))
    if origin is dict:
        return Members(shape_of(typing.get_args(annotation)[1]))
    if typing.is_typeddict(annotation):
        return Plain("meta")
    if isinstance(annotation, type):
        return Named(annotation.__name__, annotation.__module__, annotation)
    msg = f"{annotation!r} has no place in a wire type"
    raise TypeError(msg)
