"""What each keyword costs at one place of a value, in evaluations of some 5 ns.

Measured, and rounded up: a `minimum` takes one, comparing a fraction 25, a literal with another
kind of number 250, a look at each of some items that have to differ 50.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import attrs

from trio_mcp.types._base import is_array, is_object

from ._pattern_cost import pattern_cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from trio_mcp.types._base import JsonObject, JsonValue

# What is counted in a value, level by level.
Kind = Literal[
    "place",
    "container",
    "plain",
    "number",
    "text",
    "character",
    "short",
    "square",
    "hashed",
    "compared",
    "within",
]
KINDS: Final[tuple[Kind, ...]] = (
    "place",
    "container",
    "plain",  # numbers
    "number",  # that is no plain one; counted by its own weight
    "text",  # names of properties are texts, too
    "character",
    "short",  # characters of texts that a backtracking pattern may see
    "square",  # of the lengths of these
    "hashed",  # so many characters of texts and names as are hashed in the time of an evaluation
    "compared",  # all that is in an array, and some of the characters there
    "within",  # a place, once for each place around it and for itself
)

_FREE: Final = frozenset(
    {
        *("title", "description", "$comment", "default", "examples", "deprecated", "format"),
        *("readOnly", "writeOnly", "contentEncoding", "contentMediaType"),
        *("$schema", "$id", "$anchor", "$defs", "definitions"),
    }
)
_LIMITS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)
_OF_CONTAINERS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "properties")
_OF_NAMES: Final = ("required", "dependentRequired", "dependentSchemas", "dependencies")
_OF_CHILDREN: Final = frozenset(
    {"items", "additionalItems", "additionalProperties", "contains", "propertyNames"}
)

_UNEVALUATED: Final = ("unevaluatedItems", "unevaluatedProperties")
_DYNAMIC: Final = ("$dynamicRef", "$recursiveRef")
_LITERALS: Final = ("enum", "const")

# A number is plain if a machine word holds it, or it is a usual fraction.
_PLAIN: Final = 2**63
_LOW, _HIGH = 1e-6, 1e15
_OF_A_FRACTION: Final = 2_000
# Characters of a text that are compared with another one, or hashed, in the time of an evaluation.
_COMPARED_AT_ONCE: Final = 50
HASHED_AT_ONCE: Final = 40
# Among more texts than so many the one that a value is is found by its hash.
_FEW_TEXTS: Final = 8
# Of each thing in an array whose items have to differ.
OF_COMPARING: Final = 50


@attrs.define
class Weights:
    """What a subschema costs."""

    here: dict[Kind, int] = attrs.Factory(dict[Kind, int])
    """At each place that it applies to."""
    beneath: dict[Kind, int] = attrs.Factory(dict[Kind, int])
    """At the children of each such place."""


def weights_of(schema: JsonObject, *, is_recursive: bool) -> Weights:
    """What one subschema costs by itself, without the ones in it."""
    here: dict[Kind, int] = {"place": 1 + len(schema.keys() - _FREE)}
    for part in (
        _of_references(schema, is_recursive=is_recursive),
        _of_literals(schema),
        _of_limits(schema),
        _of_containers(schema),
        _of_patterns([schema.get("pattern")]),
    ):
        for kind, weight in part:
            here[kind] = here.get(kind, 0) + weight
    by_name = schema.get("patternProperties")
    patterns: list[JsonValue] = [*by_name] if is_object(by_name) else []
    place = 4 * (len(schema.keys() & _OF_CHILDREN) + len(patterns))
    place += 10 * any(keyword in schema for keyword in _UNEVALUATED)
    # Once for the members, and once to find which are left.
    beneath: dict[Kind, int] = dict(_of_patterns(2 * patterns))
    if place:
        beneath["place"] = place
    names = schema.get("properties")
    if is_object(names) and (len(names) > _FEW_TEXTS or _are_long(names)):
        beneath["hashed"] = 1
    return Weights(here, beneath)


def _are_long(texts: Iterable[str]) -> bool:
    """Whether it takes long to compare some texts with others of the same length."""
    return max(map(len, texts), default=0) > _COMPARED_AT_ONCE


def _of_references(schema: JsonObject, *, is_recursive: bool) -> Iterator[tuple[Kind, int]]:
    if "$ref" in schema:
        # What recursive ones find is remembered.
        yield "place", 20 if is_recursive else 3
        if str(schema["$ref"]).startswith(("http:", "https:")):
            yield "within", 50  # a metaschema, perhaps
    if any(keyword in schema for keyword in _DYNAMIC):
        yield "place", 20
        yield "within", 50


def _of_literals(schema: JsonObject) -> Iterator[tuple[Kind, int]]:
    for keyword in _LITERALS:
        if keyword not in schema:
            continue
        value = schema[keyword]
        options = value if is_array(value) and keyword == "enum" else [value]
        size, numbers, characters = _size(options)
        texts = [option for option in options if isinstance(option, str)]
        if len(texts) > _FEW_TEXTS or _are_long(texts):
            yield "hashed", 1
        if len(texts) == len(options):
            yield "place", 4
            continue
        yield "place", size + (characters - sum(map(len, texts))) // _COMPARED_AT_ONCE
        if numbers:
            whole = all(option.__class__ is int and not is_unusual(option) for option in options)
            yield "plain", 250 * numbers if not whole else 4
            yield "number", numbers


def _size(value: JsonValue) -> tuple[int, int, int]:
    """How many values there are in literals, how many are numbers, and how many characters."""
    size, numbers, characters, pending = 0, 0, 0, [value]
    while pending:
        literal = pending.pop()
        size += 1
        numbers += isinstance(literal, (int, float))
        if isinstance(literal, str):
            characters += len(literal)
        elif is_object(literal):
            characters += sum(map(len, literal))
            pending += literal.values()
        elif is_array(literal):
            pending += literal
    return size, numbers, characters


def _of_limits(schema: JsonObject) -> Iterator[tuple[Kind, int]]:
    for keyword in _LIMITS & schema.keys():
        limit = schema[keyword]
        is_step = keyword == "multipleOf" and isinstance(limit, float)
        if is_unusual(limit):
            yield "plain", 4_000 if is_step else weight_of_number(limit)
        elif isinstance(limit, float):
            yield "plain", 250 if is_step else 25
        else:
            yield "plain", 3
        yield "number", 1


def _of_containers(schema: JsonObject) -> Iterator[tuple[Kind, int]]:
    for keyword in _OF_CONTAINERS:
        members = schema.get(keyword)
        if is_object(members) or is_array(members):
            yield "container", len(members)
    for keyword in _OF_NAMES:
        names = schema.get(keyword)
        if is_object(names):
            more = sum(len(member) for member in names.values() if is_array(member))
            yield "container", 4 * (len(names) + more)
        elif is_array(names):
            yield "container", 4 * len(names)
    if schema.get("uniqueItems"):
        # Few items are compared with each other, many by their hashes.
        yield "compared", OF_COMPARING


def _of_patterns(patterns: list[JsonValue]) -> Iterator[tuple[Kind, int]]:
    costs = [pattern_cost(pattern) for pattern in patterns if isinstance(pattern, str)]
    if costs:
        yield "text", sum(cost.text for cost in costs)
        yield "character", sum(cost.character for cost in costs)
    if any(cost.short or cost.square for cost in costs):
        yield "short", sum(cost.short for cost in costs)
        yield "square", sum(cost.square for cost in costs)


def is_unusual(value: JsonValue) -> bool:
    """Whether a number is compared by its digits, however many."""
    if value.__class__ is int:
        return not -_PLAIN <= value < _PLAIN
    if value.__class__ is float:
        return value != 0 and not _LOW <= abs(value) <= _HIGH
    return False


def weight_of_number(value: JsonValue) -> int:
    """What comparing an unusual number takes. Reading its digits grows with their square."""
    return _OF_A_FRACTION if isinstance(value, float) else 120 + value.bit_length() ** 2 // 1_500


def weights_of_unusual(numbers: list[JsonValue]) -> list[int]:
    """The weights of those among some values that are unusual numbers."""
    found: list[JsonValue] = []
    whole = [v for v in numbers if v.__class__ is int]
    # Nearly always there is none, which these two tell fastest.
    if whole and (max(whole) >= _PLAIN or min(whole) < -_PLAIN):
        found += filter(is_unusual, whole)
    found += [v for v in numbers if v.__class__ is float and is_unusual(v)]
    return [weight_of_number(number) for number in found]


# How many there may be for each byte of a value's JSON, and one more for the whole: a value takes
# a byte and one that separates it from the next, a name a quote on each side and a colon. The
# shortest number that is no plain one is 1e-7, and counts by its own weight.
_FOR_EACH_BYTE: Final[dict[Kind, float]] = {
    "place": 1 / 2,
    "container": 1 / 2,
    "plain": 1 / 2,
    "number": _OF_A_FRACTION / 5,
    "text": 1 / 2,
    "character": 1,
    "short": 1,
    "hashed": 1 / HASHED_AT_ONCE,
    "compared": 1 / 2,
    "within": 1 / 2,
}


def most_of(weights: Mapping[Kind, int]) -> tuple[float, float]:
    """What the greatest weights of all kinds come to in any value.

    Returns:
      How many evaluations for each byte of its JSON at most, and how many for each pair of bytes.

    """
    each = sum(weight * _FOR_EACH_BYTE.get(kind, 0) for kind, weight in weights.items())
    pair = float(weights.get("square", 0))
    if "compared" in weights:
        # Numbers without a hash are compared each with each.
        pair += weights["compared"] / OF_COMPARING * _OF_A_FRACTION / 5 / 5 / 2
    return each, pair
