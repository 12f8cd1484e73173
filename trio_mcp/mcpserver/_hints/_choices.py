"""Literal, Enum and unions: one of several."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from trio_mcp._codec._schema import describe_value

from ._errors import HintError, Mismatch
from ._scalars import NUMBERS, real, whole
from ._shape import Conversion, JsonType, Shape, json_type
from ._to_json import to_json

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

_LITERALS: Final = (str, int, float, bool, type(None))


def literal_shape(hint: Any, choices: tuple[Any, ...]) -> Shape:
    """Make the shape of a Literal; members of an Enum stand for their values.

    Raises:
      HintError: if a choice has no JSON form.

    """
    return _closed([(to_value(hint, each), each) for each in choices])


def to_value(hint: Any, choice: Any) -> Any:
    value = choice.value if isinstance(choice, enum.Enum) else choice
    for kind in _LITERALS:
        if isinstance(value, kind):
            return to_json(value)
    raise HintError(hint, f"{choice!r} has no JSON form that a client could send back")


def enum_shape(cls: type[enum.Enum]) -> Shape:
    """Make the shape of an Enum: its values.

    Raises:
      HintError: if it has no member, or one whose value is neither text nor number.

    """
    if issubclass(cls, enum.Flag):
        # Any combination is a value of its own.
        return Shape({"type": "integer"}, frozenset(("integer",)), _flag_reader(cls), to_json)
    members = list(cls.__members__.values())
    if not members:
        raise HintError(cls, "an Enum without members has no values")
    return _closed([(to_value(cls, each), each) for each in members])


def _flag_reader(cls: type[enum.Flag]) -> Conversion:
    def structure(value: Any) -> enum.Flag:
        try:
            return cls(whole(value))
        except ValueError as exc:
            raise Mismatch(f"a combination of {cls.__name__}", describe_value(value)) from exc

    return structure


def _closed(pairs: list[tuple[Any, Any]]) -> Shape:
    values = list({_key(value): value for value, _ in pairs}.values())
    types: set[JsonType] = {json_type(value) for value in values}
    schema: dict[str, Any] = {}
    if len(types) == 1:
        schema["type"] = next(iter(types))
    schema |= {"const": values[0]} if len(values) == 1 else {"enum": values}
    choices = {_key(value): choice for value, choice in reversed(pairs)}
    if all(type(value) is str and value is choice for value, choice in pairs):
        return Shape(schema, frozenset(types))

    def structure(value: Any) -> Any:
        try:
            return choices[_key(value)]
        except (KeyError, TypeError):
            raise Mismatch(f"one of {values}", describe_value(value)) from None

    return Shape(schema, _admitted(types), structure, to_json)


def _key(value: Any) -> Any:
    # JSON tells true from 1, and not 1 from 1.0; Python's dict tells neither.
    return (type(value) is bool, value)


def _admitted(types: set[JsonType]) -> frozenset[JsonType]:
    if "number" in types:
        types = {*types, "integer"}
    return frozenset(types)


class Matcher(Protocol):
    """Tells whether a JSON value fits a schema."""

    def __call__(self, value: Any) -> bool: ...


class MakeMatcher(Protocol):
    """Makes a `Matcher`; the schema is read when it is first asked."""

    def __call__(self, schema: JsonObject) -> Matcher: ...


def union_shape(arms: list[Shape], make_matcher: MakeMatcher) -> Shape:
    """Make the shape of a union: one list of types, or one flat ``anyOf``.

    A value goes to the first arm that takes it. Arms that leave a value as it is come first,
    so that text stays text in ``datetime | str``, and a whole number is one in ``float | int``.
    """
    schema = _either([each.schema for each in arms])
    types: set[JsonType] = set()
    for each in arms:
        types |= each.types
    return Shape(
        schema,
        frozenset(types),
        _union_structure(arms, make_matcher),
        _union_unstructure(arms),
        is_open=any(each.is_open for each in arms),
    )


def _either(schemas: list[JsonObject]) -> JsonObject:
    flat: list[JsonObject] = []
    for each in schemas:
        inner = each["anyOf"] if set(each) == {"anyOf"} else [each]
        flat += [schema for schema in inner if schema not in flat]
    if {} in flat:
        return {}
    if len(flat) == 1:
        return flat[0]
    if all(set(each) == {"type"} for each in flat):
        names: list[str] = []
        for each in flat:
            listed = each["type"]
            names += [listed] if isinstance(listed, str) else listed
        return {"type": list(dict.fromkeys(names))}
    return {"anyOf": flat}


@attrs.frozen(eq=False)
class _Arm:
    shape: Shape
    fits: Matcher


def _union_structure(arms: list[Shape], make_matcher: MakeMatcher) -> Conversion | None:
    makers = {each.structure for each in arms}
    if makers == {None}:
        return None
    if makers <= {None, whole} and not any("number" in each.types for each in arms):
        return whole
    if makers <= {None, real} and all(
        each.structure is real or "integer" not in each.types for each in arms
    ):
        return real
    ordered = sorted(
        arms, key=lambda each: not (each.structure is None or each.structure in NUMBERS)
    )
    listed = [_Arm(each, make_matcher(each.schema)) for each in ordered if not each.is_open]
    by_type = {name: [arm for arm in listed if name in arm.shape.types] for name in _JSON_TYPES}
    # An int is taken first by what takes no other number.
    by_type["integer"].sort(key=lambda arm: not _takes_integers_alone(arm.shape))
    # A float is taken by an arm for integers only if no arm for numbers is there.
    by_type["number"] = by_type["number"] or by_type["integer"]
    # Validators that come first may take anything: they get what no other arm has taken.
    last = [_Arm(each, _takes_anything) for each in ordered if each.is_open]
    by_type = {name: [*strict, *last] for name, strict in by_type.items()}

    def structure(value: Any) -> Any:
        candidates = by_type[json_type(value)]
        if len(candidates) == 1:
            make = candidates[0].shape.structure
            return value if make is None else make(value)
        return _first_taken(candidates, value)

    return structure


def _takes_integers_alone(shape: Shape) -> bool:
    return "integer" in shape.types and "number" not in shape.types


_JSON_TYPES: Final[tuple[JsonType, ...]] = (
    "null",
    "boolean",
    "integer",
    "number",
    "string",
    "array",
    "object",
)


def _takes_anything(value: Any) -> bool:
    del value
    return True


def _first_taken(candidates: list[_Arm], value: Any) -> Any:
    failure: Mismatch | None = None
    for arm in candidates:
        if not arm.fits(value):
            continue
        if arm.shape.structure is None:
            return value
        try:
            return arm.shape.structure(value)
        except Mismatch as mismatch:
            failure = failure or mismatch
    raise failure or Mismatch("a value of one of the kinds listed", describe_value(value))


def _union_unstructure(arms: list[Shape]) -> Conversion | None:
    if all(each.unstructure is None for each in arms):
        return None
    own = [each for each in arms if not each.takes_only("null")]
    write = own[0].unstructure if len(own) == 1 else to_json
    if write is None or write is to_json or len(own) == len(arms):
        return to_json
    return lambda value: None if value is None else write(value)
