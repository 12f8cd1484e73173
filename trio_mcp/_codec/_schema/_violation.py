"""What is wrong with a value, in words."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from trio_mcp.types._base import is_array, is_object

from ._paths import path_text, quote, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jsonschema_rs import ValidationError

    from trio_mcp.types._base import JsonValue

_SHOWN: Final = 60
_MAX_OPTIONS: Final = 10
# Of guesses about what a path of the engine means, and of steps in one.
_MAX_PLACES: Final = 100
_MAX_STEPS: Final = 256


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
    if is_object(value):
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
    import json  # noqa: PLC0415 - loads for such an error alone

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
    path, place = locate(error, value)
    kind = type(error.kind).__name__
    expected = _EXPECTED.get(kind, "another value")
    return Violation(
        path=path_text(path),
        expected=expected if isinstance(expected, str) else expected(error.kind),
        got=_GOT.get(kind, describe_value)(place),
        keyword=error.kind.name,
    )


def locate(error: ValidationError, value: JsonValue) -> tuple[list[str | int], JsonValue]:
    """Where in a value an error is, and what is there.

    The engine leaves properties named ``""`` out of its paths, so that these have to be guessed:
    of the places that a path may mean, the first counts that holds what the error is about.
    """
    steps = error.instance_path
    places = list(itertools.islice(_places(value, steps, []), _MAX_PLACES))
    if len(places) == 1:
        return places[0]
    instance = error.instance
    for path, place in places:
        if place == instance:
            return path, place
    return steps, instance


def _places(
    value: JsonValue, steps: list[str | int], before: list[str | int]
) -> Iterator[tuple[list[str | int], JsonValue]]:
    """All places that a path may mean when a step into ``""`` may be missing anywhere."""
    if len(before) > _MAX_STEPS:
        return
    if not steps:
        yield before, value
    elif is_array(value):
        if isinstance(steps[0], int) and steps[0] < len(value):
            yield from _places(value[steps[0]], steps[1:], [*before, steps[0]])
    elif is_object(value) and steps[0] in value:
        yield from _places(value[steps[0]], steps[1:], [*before, steps[0]])
    if is_object(value) and "" in value:
        yield from _places(value[""], steps, [*before, ""])


def _telling(error: ValidationError) -> ValidationError:
    """Of alternatives that failed, the fault in the only one that can have been meant.

    In ``Model | None`` an object with a wrong member fits neither, yet only the first is of its
    type, so that the member is what to tell about.
    """
    while type(error.kind).__name__ in ("AnyOf", "OneOfNotValid"):
        alternatives: list[list[ValidationError]] = cast("Any", error.kind).context
        meant = [
            faults[0] for faults in alternatives if faults and not _is_other_type(faults[0], error)
        ]
        if len(meant) != 1:
            break
        error = meant[0]
    return error


def _is_other_type(fault: ValidationError, error: ValidationError) -> bool:
    of_type = type(fault.kind).__name__ == "Type"
    return of_type and len(fault.instance_path) == len(error.instance_path)


def _types(kind: Any) -> str:
    # The engine names the types of one keyword in no fixed order.
    return " or ".join(sorted(kind.types))


def _alternatives(kind: Any) -> str:
    types: set[str] = set()
    for faults in kind.context:
        if not faults or type(faults[0].kind).__name__ != "Type":
            return f"a value that fits one of {len(kind.context)} alternatives"
        types.update(faults[0].kind.types)
    return " or ".join(sorted(types))


def _unexpected(kind: Any) -> str:
    names = sorted(kind.unexpected)
    return f"no {'property' if len(names) == 1 else 'properties'} {_any_of(names)}"


def _property_names(kind: Any) -> str:
    inner = violation_of(kind.error, kind.error.instance)
    return f"names of properties to be {inner.expected}, not {inner.got}"


def _counted(container: str, noun: str) -> Callable[[Any], str]:
    return lambda value: f"{container} of {_count(len(value), noun)}"


# {kind of error of the engine: what was expected}
_EXPECTED: Final[dict[str, str | Callable[[Any], str]]] = {
    "Type": _types,
    "Enum": lambda kind: f"one of {_any_of(kind.options)}",
    "Constant": lambda kind: _literal(kind.expected_value),
    "Required": lambda kind: f"property {quote(kind.property)}",
    "AdditionalProperties": _unexpected,
    "UnevaluatedProperties": _unexpected,
    "AdditionalItems": lambda kind: f"at most {_count(kind.limit, 'item')}",
    "UnevaluatedItems": lambda kind: f"no further items (at {_any_of(kind.unexpected)})",
    "MinLength": lambda kind: f"at least {_count(kind.limit, 'character')}",
    "MaxLength": lambda kind: f"at most {_count(kind.limit, 'character')}",
    "MinItems": lambda kind: f"at least {_count(kind.limit, 'item')}",
    "MaxItems": lambda kind: f"at most {_count(kind.limit, 'item')}",
    "MinProperties": lambda kind: f"at least {_count(kind.limit, 'property')}",
    "MaxProperties": lambda kind: f"at most {_count(kind.limit, 'property')}",
    "Minimum": lambda kind: f"at least {_literal(kind.limit)}",
    "Maximum": lambda kind: f"at most {_literal(kind.limit)}",
    "ExclusiveMinimum": lambda kind: f"more than {_literal(kind.limit)}",
    "ExclusiveMaximum": lambda kind: f"less than {_literal(kind.limit)}",
    "MultipleOf": lambda kind: f"a multiple of {_literal(kind.multiple_of)}",
    "Pattern": lambda kind: f"a string that matches {quote(kind.pattern)}",
    "BacktrackLimitExceeded": "a string that can be matched in a bounded number of steps",
    "Contains": "another number of items that fit 'contains'",
    "UniqueItems": "items that all differ",
    "Not": "a value that does not fit 'not'",
    "FalseSchema": "nothing here",
    "PropertyNames": _property_names,
    "AnyOf": _alternatives,
    "OneOfNotValid": _alternatives,
    "OneOfMultipleValid": "a value that fits exactly one alternative",
}

# {kind of error: how to tell what was there, where the value alone would not show the fault}
_GOT: Final[dict[str, Callable[[Any], str]]] = {
    "MinLength": _counted("string", "character"),
    "MaxLength": _counted("string", "character"),
    "MinItems": _counted("array", "item"),
    "MaxItems": _counted("array", "item"),
    "MinProperties": _counted("object", "property"),
    "MaxProperties": _counted("object", "property"),
    "OneOfMultipleValid": lambda value: f"{describe_value(value)}, which fits more",
}
