"""What is wrong with a value, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import attrs

from ._paths import path_text, quote, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jsonschema_rs import ValidationError

    from trio_mcp.types._base import JsonValue

_SHOWN: Final = 60
_MAX_OPTIONS: Final = 10


@attrs.frozen
class Violation:
    """One place where a value does not fit its schema."""

    path: str
    """Where in the value (``items[0].city``), ``""`` for the value itself."""
    expected: str
    """What the schema wants there (``integer``, ``at least 1 character``, ``no property 'x'``)."""
    got: str
    """What is there, shortened (``string 'abc'``, ``object with 'a', 'b'``). Of an object it tells
    the names only, of an array only the length."""
    keyword: str
    """The keyword of the schema that was violated."""

    @property
    def message(self) -> str:
        """All of it in one sentence."""
        place = f"{self.path}: " if self.path else ""
        return f"{place}expected {self.expected}, got {self.got}"

    def __str__(self) -> str:
        return self.message


def describe_value(value: JsonValue) -> str:
    """A few words for a value, at most about 60 characters of it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean {str(value).lower()}"
    if isinstance(value, int):
        # Thousands of digits would be slow to write, and Python refuses to.
        return f"integer {value}" if abs(value) < 10**_SHOWN else "integer of many digits"
    if isinstance(value, float):
        return f"number {value!r}"
    if isinstance(value, str):
        return f"string {quote(value)}"
    if isinstance(value, dict):
        return _names(value) if value else "empty object"
    return f"array of {_count(len(value), 'item')}" if value else "empty array"


def _names(value: dict[str, Any]) -> str:
    text = ""
    for name in value:
        text += f", {quote(name)}" if text else quote(name)
        if len(text) > _SHOWN:
            break
    return f"object with {shorten(text)}"


def _count(number: Any, noun: str) -> str:
    plural = {"property": "properties"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"


def _literal(value: JsonValue) -> str:
    if isinstance(value, str):
        return quote(value)
    return shorten(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)


def _any_of(options: Sequence[JsonValue]) -> str:
    shown = ", ".join(_literal(option) for option in options[:_MAX_OPTIONS])
    return shown if len(options) <= _MAX_OPTIONS else f"{shown}, …"


def violation_of(error: ValidationError, value: JsonValue) -> Violation:
    """Say in our words what the engine found.

    Args:
      error: The engine's error.
      value: The whole value that was checked.

    """
    error = _telling(error)
    place = at(value, error.instance_path)
    words = _WORDS.get(type(error.kind).__name__)
    expected, got = words(error.kind, place) if words else ("another value", None)
    return Violation(
        path=path_text(error.instance_path),
        expected=expected,
        got=describe_value(place) if got is None else got,
        keyword=error.kind.name,
    )


def at(value: JsonValue, path: Sequence[str | int]) -> JsonValue:
    """The part of a value that a path leads to."""
    for step in path:
        value = value[step]
    return value


def _telling(error: ValidationError) -> ValidationError:
    """Of alternatives that failed, the fault in the only one that can have been meant.

    In ``Model | None`` an object with a wrong member fits neither, yet only the first is of its
    type, so that the member is what to tell about.
    """
    while type(error.kind).__name__ in ("AnyOf", "OneOfNotValid"):
        meant: list[ValidationError] = [
            faults[0]
            for faults in error.kind.context  # type: ignore[attr-defined] # of these two kinds
            if faults and not _is_other_type(faults[0], error)
        ]
        if len(meant) != 1:
            break
        error = meant[0]
    return error


def _is_other_type(fault: ValidationError, error: ValidationError) -> bool:
    of_type = type(fault.kind).__name__ == "Type"
    return of_type and len(fault.instance_path) == len(error.instance_path)


_Words = tuple[str, "str | None"]


def _types(kind: Any, place: JsonValue) -> _Words:
    # The engine names the types of one keyword in no fixed order.
    return " or ".join(sorted(kind.types)), None


def _alternatives(kind: Any, place: JsonValue) -> _Words:
    types: set[str] = set()
    for faults in kind.context:
        if not faults or type(faults[0].kind).__name__ != "Type":
            return f"a value that fits one of {len(kind.context)} alternatives", None
        types.update(faults[0].kind.types)
    return " or ".join(sorted(types)), None


def _only_one(kind: Any, place: JsonValue) -> _Words:
    return "a value that fits exactly one alternative", f"{describe_value(place)}, which fits more"


def _no_members(kind: Any, place: JsonValue) -> _Words:
    names = sorted(kind.unexpected)
    return f"no {'property' if len(names) == 1 else 'properties'} {_any_of(names)}", None


def _no_items(kind: Any, place: JsonValue) -> _Words:
    return f"no further items (at {_any_of(kind.unexpected)})", None


def _length(word: str, noun: str) -> Any:
    def words(kind: Any, place: Any) -> _Words:
        size = len(place)
        container = {"character": "string", "item": "array", "property": "object"}[noun]
        return f"{word} {_count(kind.limit, noun)}", f"{container} of {_count(size, noun)}"

    return words


def _limit(word: str) -> Any:
    return lambda kind, place: (f"{word} {_literal(kind.limit)}", None)


def _fixed(expected: str) -> Any:
    return lambda kind, place: (expected, None)


def _property_name(kind: Any, place: JsonValue) -> _Words:
    inner = violation_of(kind.error, kind.error.instance)
    return f"property names that are {inner.expected}", f"name {inner.got}"


_WORDS: Final[dict[str, Any]] = {
    "Type": _types,
    "Enum": lambda kind, place: (f"one of {_any_of(kind.options)}", None),
    "Constant": lambda kind, place: (_literal(kind.expected_value), None),
    "Required": lambda kind, place: (f"property {quote(kind.property)}", None),
    "AdditionalProperties": _no_members,
    "UnevaluatedProperties": _no_members,
    "AdditionalItems": lambda kind, place: (f"at most {_count(kind.limit, 'item')}", None),
    "UnevaluatedItems": _no_items,
    "MinLength": _length("at least", "character"),
    "MaxLength": _length("at most", "character"),
    "MinItems": _length("at least", "item"),
    "MaxItems": _length("at most", "item"),
    "MinProperties": _length("at least", "property"),
    "MaxProperties": _length("at most", "property"),
    "Minimum": _limit("at least"),
    "Maximum": _limit("at most"),
    "ExclusiveMinimum": _limit("more than"),
    "ExclusiveMaximum": _limit("less than"),
    "MultipleOf": lambda kind, place: (f"a multiple of {_literal(kind.multiple_of)}", None),
    "Pattern": lambda kind, place: (f"a string that matches {quote(kind.pattern)}", None),
    "BacktrackLimitExceeded": _fixed("a string that can be matched in a bounded number of steps"),
    "Contains": _fixed("more or fewer items that fit 'contains'"),
    "UniqueItems": _fixed("items that all differ"),
    "Not": _fixed("a value that does not fit 'not'"),
    "FalseSchema": _fixed("nothing here"),
    "PropertyNames": _property_name,
    "AnyOf": _alternatives,
    "OneOfNotValid": _alternatives,
    "OneOfMultipleValid": _only_one,
}
