"""The compile plan: which engine a schema gets, decided by looking at it.

fastjsonschema turns a schema into Python source. It knows the drafts up to 7 and reads 2020-12 as
if it were one of them, silently wrong where they differ, and it formats keys of the schema into
the source. So it never sees a schema that somebody wrote. The plan walks the schema with a list of
the keywords (and of the values of these keywords) that it does exactly right, and *rebuilds* a
schema from them: annotations dropped, local references put in place, nothing else taken over. Meet
anything that is not on the list, and the plan is ``full``, which is always right; the reason says
what was met. A plan that is ``fast`` also proves that the schema is valid in its dialect, since
each keyword's value was checked here.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, Literal

import attrs

from trio_mcp.types._base import is_array, is_object

from ._dialects import DRAFT_2020_12, dialect_of
from ._errors import SchemaError
from ._paths import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types._base import JsonObject, JsonValue

_TYPES: Final = frozenset({"null", "boolean", "number", "integer", "string", "array", "object"})

# Keywords that say nothing about validity, and what their values must be for a valid schema.
_ANNOTATIONS: Final[dict[str, type | None]] = {
    "title": str,
    "description": str,
    "$comment": str,
    "format": str,
    "contentEncoding": str,
    "contentMediaType": str,
    "deprecated": bool,
    "readOnly": bool,
    "writeOnly": bool,
    "examples": list,
    "default": None,
}
_DEFINITIONS: Final = ("$defs", "definitions")

# ASCII only, and the same in ECMA-262 and in Python. Linear in Python's backtracking engine: at
# most one repetition of variable length, and that only where the match can begin at one place.
_CLASS: Final = r"\[(?:a-z|A-Z|0-9|a-f|A-F|[A-Za-z0-9_ ])+-?\]"
_ATOMS: Final = rf"(?:[A-Za-z0-9 _:/@,#=~!-]|\\[.\-/]|{_CLASS}(?:\{{\d{{1,3}}\}})?)*"
_SIMPLE_PATTERN: Final = (  # compiled for the first pattern there is
    rf"\^{_ATOMS}(?:{_CLASS}(?:\{{(\d{{1,3}}),(\d{{0,3}})\}}|[+*?]){_ATOMS})?\$?\Z"
    rf"|{_ATOMS}\$?\Z"
)
_MAX_PATTERN_LENGTH: Final = 200
_LOCAL_REFERENCE: Final = re.compile(r"#/(\$defs|definitions)/([A-Za-z0-9_.-]+)\Z")

# Generated code nests as the schema does; CPython allows 20 blocks and 100 indents.
_MAX_DEPTH: Final = 12
# 1,000 properties take 270 ms to generate and 1.8 MB of code: beyond that, full is the better one.
_MAX_NODES: Final = 1_000
_MAX_ENUM: Final = 200
_MAX_LITERAL_DEPTH: Final = 4
# The integers that a float holds exactly.
_MAX_NUMBER: Final = 2**53


@attrs.frozen
class Plan:
    """How a schema will be compiled."""

    engine: Literal["fast", "full"]
    reason: str | None = None
    """Why not ``fast``."""
    rebuilt: JsonValue = None
    """What the code generator gets, when ``fast``."""
    has_alternatives: bool = False
    """Whether that has any ``anyOf`` or ``oneOf``."""


class _NotFast(Exception):
    """The schema holds something that is not on the list."""


def plan_schema(schema: JsonValue) -> Plan:
    """Decide which engine does this schema exactly right.

    The schema is not changed, and no engine is loaded.

    Args:
      schema: Any JSON value; one that is no valid schema gets the plan ``full``.

    """
    try:
        if dialect_of(schema) is not DRAFT_2020_12:
            return Plan("full", "an older dialect")
        rebuilder = _Rebuilder(schema)
        rebuilt = rebuilder.rebuild()
    except SchemaError:
        return Plan("full", "an unknown dialect")
    except _NotFast as why:
        return Plan("full", str(why))
    return Plan("fast", rebuilt=rebuilt, has_alternatives=rebuilder.has_alternatives)


class _Rebuilder:
    """Builds the whitelisted copy of one schema."""

    def __init__(self, root: JsonValue) -> None:
        self._root = root
        self._nodes = 0
        self._seen: set[tuple[str, str]] = set()
        self.has_alternatives = False

    def rebuild(self) -> JsonValue:
        rebuilt = self._subschema(self._root, 0, frozenset())
        if is_object(self._root):
            # A definition that nothing refers to must be valid all the same.
            for keyword in _DEFINITIONS:
                for name, definition in _members(self._root.get(keyword, {}), keyword):
                    if (keyword, name) not in self._seen:
                        self._subschema(definition, 1, frozenset())
        return rebuilt

    def _subschema(
        self, schema: JsonValue, depth: int, inside: frozenset[tuple[str, str]]
    ) -> JsonValue:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise _NotFast(f"more than {_MAX_NODES} subschemas")
        if depth > _MAX_DEPTH:
            raise _NotFast(f"more than {_MAX_DEPTH} levels deep")
        if schema is True or schema is False:
            return schema
        if schema.__class__ is not dict:
            raise _NotFast("a subschema that is no object or boolean")
        assert is_object(schema)
        if "$ref" in schema:
            return self._reference(schema, depth, inside)
        rebuilt: JsonObject = {}
        for keyword, value in schema.items():
            if keyword in _ANNOTATIONS or keyword[:2] == "x-":
                _check_annotation(keyword, value)
            elif keyword == "$schema" and depth == 0:
                pass  # `plan_schema` has looked at it
            elif keyword in _DEFINITIONS and depth == 0:
                pass  # reached through `$ref`, or at the end by `rebuild`
            else:
                self._keyword(rebuilt, keyword, value, depth, inside)
        return _consistent(rebuilt)

    def _reference(
        self, schema: JsonObject, depth: int, inside: frozenset[tuple[str, str]]
    ) -> JsonValue:
        for keyword, value in schema.items():
            if keyword == "$ref" or (depth == 0 and keyword in (*_DEFINITIONS, "$schema")):
                continue
            if keyword not in _ANNOTATIONS:
                raise _NotFast(f"$ref beside {quote(keyword)}")
            _check_annotation(keyword, value)
        reference = schema["$ref"]
        match = _LOCAL_REFERENCE.match(reference) if isinstance(reference, str) else None
        if match is None:
            raise _NotFast("a $ref that is not to #/$defs/…")
        target = (match[1], match[2])
        if target in inside:
            raise _NotFast("a recursive $ref")
        assert is_object(self._root)
        definitions = self._root.get(match[1])
        if not is_object(definitions) or match[2] not in definitions:
            raise _NotFast("a $ref to nothing")
        self._seen.add(target)
        return self._subschema(definitions[match[2]], depth + 1, inside | {target})

    def _keyword(
        self,
        rebuilt: JsonObject,
        keyword: str,
        value: JsonValue,
        depth: int,
        inside: frozenset[tuple[str, str]],
    ) -> None:
        if keyword in _VALUES:
            rebuilt[keyword] = _VALUES[keyword](keyword, value)
        elif keyword == "properties":
            rebuilt["properties"] = {
                name: self._subschema(member, depth + 1, inside)
                for name, member in _members(value, keyword)
            }
        elif keyword in ("additionalProperties", "items"):
            subschema = self._subschema(value, depth + 1, inside)
            # `{}` would be taken for `false` in one place; left out it means the same as `true`.
            if subschema is not True and subschema != {}:
                rebuilt[keyword] = subschema
        elif keyword in ("allOf", "anyOf", "oneOf"):
            if not is_array(value) or not value:
                raise _NotFast(f"{keyword} that is no list of schemas")
            self.has_alternatives = self.has_alternatives or keyword != "allOf"
            rebuilt[keyword] = [self._subschema(item, depth + 1, inside) for item in value]
        else:
            raise _NotFast(f"the keyword {quote(keyword)}")


def _consistent(rebuilt: JsonObject) -> JsonObject:
    """Settle what the generator gets wrong in combination, or takes more steps for."""
    if "const" in rebuilt:
        # The generator's own `const` is not needed: an enum of one says the same.
        if "enum" in rebuilt:
            raise _NotFast("enum beside const")
        rebuilt["enum"] = [rebuilt.pop("const")]
    if rebuilt.get("additionalProperties") is False:
        properties, required = rebuilt.get("properties", {}), rebuilt.get("required", [])
        assert is_object(properties)
        assert is_array(required)
        if any(name not in properties for name in required):
            raise _NotFast("a required property that is not allowed")
        if required and len(required) == len(properties):
            # None may be there but those that must be: to count them takes fewer steps.
            del rebuilt["required"]
            rebuilt["minProperties"] = max(len(required), rebuilt.get("minProperties", 0))
    return rebuilt


def _check_annotation(keyword: str, value: JsonValue) -> None:
    wanted = _ANNOTATIONS.get(keyword)
    if wanted is not None and value.__class__ is not wanted:
        raise _NotFast(f"{keyword} that is no {wanted.__name__}")


def _members(value: JsonValue, keyword: str) -> list[tuple[str, JsonValue]]:
    if not is_object(value):
        raise _NotFast(f"{keyword} that is no object")
    return list(value.items())


def _types(_: str, value: JsonValue) -> list[JsonValue]:
    names = value if is_array(value) else [value]
    known = [name for name in names if isinstance(name, str) and name in _TYPES]
    if not known or len(known) != len(names) or len(set(known)) != len(known):
        raise _NotFast("type that names no JSON type")
    return list(names)


def _enum(_: str, value: JsonValue) -> list[JsonValue]:
    if not is_array(value) or not value:
        raise _NotFast("enum that is no list of values")
    if len(value) > _MAX_ENUM:
        raise _NotFast(f"enum of more than {_MAX_ENUM} values")
    return [_literal(item) for item in value]


def _names(_: str, value: JsonValue) -> list[JsonValue]:
    if not is_array(value):
        raise _NotFast("required that is no list")
    names = {name for name in value if isinstance(name, str)}
    if len(names) != len(value):
        raise _NotFast("required that is no list of different names")
    return list(value)


def _number(keyword: str, value: JsonValue) -> int | float:
    if value.__class__ is bool or not isinstance(value, (int, float)):
        raise _NotFast(f"{keyword} that is no number")
    if not math.isfinite(value) or abs(value) > _MAX_NUMBER:
        raise _NotFast(f"{keyword} beyond 2**53")
    return value


def _count(keyword: str, value: JsonValue) -> int:
    number = _number(keyword, value)
    if number < 0 or number != int(number):
        raise _NotFast(f"{keyword} that is no natural number")
    return int(number)


def _literal(value: JsonValue, depth: int = 0) -> JsonValue:
    """A value of `enum` or `const`; the generator would act on `$ref` and `id` inside it."""
    if depth > _MAX_LITERAL_DEPTH:
        raise _NotFast("a literal that nests deeply")
    if is_object(value):
        if any(key == "id" or key.startswith("$") for key in value):
            raise _NotFast("a literal with a key such as $ref")
        return {key: _literal(member, depth + 1) for key, member in value.items()}
    if is_array(value):
        return [_literal(item, depth + 1) for item in value]
    if isinstance(value, (int, float)) and value.__class__ is not bool:
        return _number("a literal", value)
    return value


def _const(_: str, value: JsonValue) -> JsonValue:
    return _literal(value)


def _pattern(_: str, value: JsonValue) -> str:
    if not isinstance(value, str) or len(value) > _MAX_PATTERN_LENGTH:
        raise _NotFast("a long pattern")
    match = re.match(_SIMPLE_PATTERN, value)
    if match is None or (match[2] and int(match[1]) > int(match[2])):
        raise _NotFast("a pattern that is not simple")
    return value


# What a keyword's value must be, for those that hold no subschemas.
_VALUES: Final[dict[str, Callable[[str, JsonValue], JsonValue]]] = {
    "type": _types,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "required": _names,
    "minLength": _count,
    "maxLength": _count,
    "minItems": _count,
    "maxItems": _count,
    "minProperties": _count,
    "maxProperties": _count,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _number,
    "exclusiveMaximum": _number,
}
