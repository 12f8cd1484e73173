"""Arrays and objects without named fields."""

from __future__ import annotations

import collections
import re
from collections import abc, deque
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

from trio_mcp._codec._schema import describe_value

from ._errors import HintError, Mismatch
from ._openings import without_marks
from ._shape import Conversion, Shape
from ._to_json import is_unread, read_items, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ARRAYS: Final[dict[Any, Any]] = {
    list: list,
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Iterable: list,
    abc.Collection: list,
    abc.Reversible: list,
    deque: deque,
}
SETS: Final[dict[Any, Any]] = {
    set: set,
    frozenset: frozenset,
    abc.Set: set,
    abc.MutableSet: set,
}
MAPPINGS: Final[dict[Any, Any]] = {
    dict: dict,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
    collections.OrderedDict: collections.OrderedDict,
}

ARRAYS_OF_RESULTS: Final = frozenset(
    (abc.Iterator, abc.Generator, abc.KeysView, abc.ValuesView, abc.ItemsView)
)
"""What a function may return as an array, though none can be made of an argument."""

READ_ONCE: Final = frozenset((abc.Iterable, abc.Iterator, abc.Generator))

CONTAINERS: Final = frozenset((tuple, *ARRAYS, *SETS, *MAPPINGS))

_SEQUENCE: Final = (list, tuple, abc.Set, deque)


def array_shape(made: Any, item: Shape) -> Shape:
    """Make the shape of a list or deque of one kind of item."""
    schema: dict[str, Any] = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    structure = _each(item.structure)
    if made is not list:
        structure = _then(structure, made)
    return Shape(schema, frozenset(("array",)), structure, _write_each(item.unstructure))


def set_shape(made: Any, item: Shape) -> Shape:
    schema: dict[str, Any] = {"type": "array", "uniqueItems": True}
    if item.schema:
        schema["items"] = item.schema
    structure = _then(_each(item.structure), _set_maker(made))
    return Shape(schema, frozenset(("array",)), structure, _write_each(item.unstructure))


def _set_maker(made: Any) -> Conversion:
    def make(items: list[Any]) -> Any:
        try:
            return made(items)
        except TypeError as exc:
            msg = "items that can be members of a set"
            raise Mismatch(msg, describe_value(items)) from exc

    return make


def tuple_shape(items: list[Shape]) -> Shape:
    """Make the shape of a tuple with a place for each item."""
    if not items:
        return Shape({"type": "array", "maxItems": 0}, frozenset(("array",)), tuple, to_json)
    schema = {
        "type": "array",
        "prefixItems": [each.schema for each in items],
        "items": False,
        "minItems": len(items),
    }
    structures = [each.structure for each in items]

    def structure(value: list[Any]) -> tuple[Any, ...]:
        return tuple(
            converted(place, make, member)
            for place, (make, member) in enumerate(zip(structures, value, strict=True))
        )

    return Shape(schema, frozenset(("array",)), structure, to_json)


def uniform_tuple_shape(item: Shape) -> Shape:
    shape = array_shape(list, item)
    return Shape(shape.schema, shape.types, _then(shape.structure, tuple), shape.unstructure)


def mapping_shape(made: Any, hint: Any, name: Shape, member: Shape) -> Shape:
    """Make the shape of an object with members of one kind.

    Raises:
      HintError: if `name` is no shape of text.

    """
    schema: dict[str, Any] = {"type": "object"}
    names, read_name = _member_names(hint, name)
    if names:
        schema["propertyNames"] = names
    if member.schema:
        schema["additionalProperties"] = member.schema
    structure = _members(read_name, member.structure)
    if made is not dict:
        structure = _then(structure, made)
    unstructure = _write_members(member.unstructure) if read_name is None else to_json
    return Shape(schema, frozenset(("object",)), structure, unstructure)


def _member_names(hint: Any, name: Shape) -> tuple[dict[str, Any], Conversion | None]:
    """Return the schema of the names, and what makes keys of them."""
    if name.takes_only("string"):
        return ({} if name.schema == {"type": "string"} else name.schema), name.structure
    if name.takes_only("integer") and without_marks(name.schema) == {"type": "integer"}:
        return {"pattern": _INTEGER.pattern}, _then(int, name.structure)
    if not name.schema:
        return {}, name.structure
    raise HintError(hint, "the names of an object's members are text, so keys must be too")


_INTEGER: Final = re.compile("^-?[0-9]+$")


def converted(step: str | int, make: Conversion | None, value: Any) -> Any:
    """Convert a part of a value, and say where it is if that fails."""
    if make is None:
        return value
    try:
        return make(value)
    except Mismatch as mismatch:
        raise mismatch.under(step) from mismatch.__cause__


def _each(make: Conversion | None) -> Conversion | None:
    if make is None:
        return None

    def structure(value: list[Any]) -> list[Any]:
        try:
            return [make(each) for each in value]
        except Mismatch:
            return [converted(place, make, each) for place, each in enumerate(value)]

    return structure


def _members(read_name: Conversion | None, make: Conversion | None) -> Conversion | None:
    if read_name is None:
        if make is None:
            return None
        return lambda value: {
            name: converted(name, make, member) for name, member in value.items()
        }
    return lambda value: {
        converted(name, read_name, name): converted(name, make, member)
        for name, member in value.items()
    }


def _then(first: Conversion | None, second: Callable[[Any], Any] | None) -> Conversion:
    if first is None or second is None:
        found = first or second
        assert found is not None
        return found
    return lambda value: second(first(value))


def _write_each(write: Conversion | None) -> Conversion:
    def unstructure(value: Any) -> Any:
        if isinstance(value, _SEQUENCE):
            items = cast("Iterable[Any]", value)
        elif is_unread(value, as_array=True):
            items = read_items(value)
        else:
            return to_json(value)
        return list(items) if write is None else [write(each) for each in items]

    return unstructure


def _write_members(write: Conversion | None) -> Conversion:
    if write is to_json:
        return to_json

    def unstructure(value: Any) -> Any:
        if not is_mapping(value):
            return to_json(value)
        if write is None:
            return dict(value)
        return {name: write(member) for name, member in value.items()}

    return unstructure


def is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, abc.Mapping)
