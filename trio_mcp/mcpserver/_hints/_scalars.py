"""Hints of single values: text, numbers, times, identifiers, paths, bytes."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import functools
import pathlib
import uuid
from typing import Any, Final

import msgspec

from trio_mcp._codec._base64 import decode_base64
from trio_mcp._codec._schema import describe_value

from ._errors import Mismatch
from ._shape import ANY_TYPE, Conversion, JsonType, Shape
from ._to_json import to_json


def whole(value: Any) -> Any:
    """Make an int of a whole float: JSON has one kind of number, and 1.0 is an integer."""
    return int(value) if type(value) is float else value


def real(value: Any) -> Any:
    """Make a float of an int that is equal to one: JSON has one kind of number, and 1 is 1.0.

    An int that no float is equal to stays as it is: nothing of it is lost.
    """
    if type(value) is not int:
        return value
    try:
        made = float(value)
    except OverflowError:
        return value
    return made if made == value else value


NUMBERS: Final[dict[Any, type[int | float]]] = {whole: float, real: int}
"""What gives a number the type of its hint, and the other type that it is given at times."""


def scalar_shape(hint: Any) -> Shape | None:
    """Return the shape of a scalar hint, or None if it is something else."""
    try:
        found = _SCALARS.get(hint)
    except TypeError:  # not hashable: an Annotated with a dict
        return None
    if found is not None:
        return found
    if isinstance(hint, type):
        return _derived(hint)
    return None


def _derived(cls: type) -> Shape | None:
    if issubclass(cls, enum.Enum):
        return None
    if issubclass(cls, pathlib.PurePath):
        return Shape({"type": "string"}, frozenset(("string",)), cls, str)
    for base in (str, int, float):
        if issubclass(cls, base):
            shape = _SCALARS[base]
            return Shape(shape.schema, shape.types, _or_mismatch(cls, cls.__name__), to_json)
    return None


def _or_mismatch(make: Conversion, expected: str) -> Conversion:
    def structure(value: Any) -> Any:
        try:
            return make(value)
        except (ValueError, ArithmeticError) as exc:
            raise Mismatch(expected, describe_value(value)) from exc

    return structure


def _parsed_as(cls: type, expected: str) -> Conversion:
    return _or_mismatch(functools.partial(msgspec.convert, type=cls), expected)


def _decimal(value: Any) -> decimal.Decimal:
    # The shortest text that reads back as the float is what the peer wrote.
    made = decimal.Decimal(str(value) if isinstance(value, float) else value)
    if not made.is_finite():
        raise ValueError
    return made


def _text(
    structure: Conversion,
    bounded_by: Any = None,
    also: tuple[JsonType, ...] = (),
    **keywords: Any,
) -> Shape:
    schema: dict[str, Any] = {"type": ["string", *also] if also else "string", **keywords}
    return Shape(schema, frozenset(("string", *also)), structure, to_json, bounded_by)


def _plain(name: JsonType, structure: Conversion | None = None) -> Shape:
    names: tuple[JsonType, ...] = ("number", "integer") if name == "number" else (name,)
    return Shape({"type": name}, frozenset(names), structure)


_ANYTHING: Final = Shape({}, ANY_TYPE, None, to_json)

_SCALARS: Final[dict[Any, Shape]] = {
    str: _plain("string"),
    int: _plain("integer", whole),
    float: _plain("number", real),
    bool: _plain("boolean"),
    None: _plain("null"),
    type(None): _plain("null"),
    Any: _ANYTHING,
    object: _ANYTHING,
    bytes: _text(
        _or_mismatch(decode_base64, "Base64"), bounded_by="length", contentEncoding="base64"
    ),
    bytearray: _text(
        _or_mismatch(lambda text: bytearray(decode_base64(text)), "Base64"),
        bounded_by="length",
        contentEncoding="base64",
    ),
    dt.datetime: _text(
        _parsed_as(dt.datetime, "a date and time as of RFC 3339"),
        "value",
        format="date-time",
    ),
    dt.date: _text(_parsed_as(dt.date, "a date as YYYY-MM-DD"), "value", format="date"),
    dt.time: _text(_parsed_as(dt.time, "a time as HH:MM:SS"), "value", format="time"),
    dt.timedelta: _text(
        _parsed_as(dt.timedelta, "a duration as of ISO 8601"), "value", format="duration"
    ),
    uuid.UUID: _text(_parsed_as(uuid.UUID, "a UUID"), format="uuid"),
    decimal.Decimal: _text(_or_mismatch(_decimal, "a decimal number"), "value", also=("number",)),
}
