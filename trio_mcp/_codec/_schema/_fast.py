"""The fast engine: a Python function made of a rebuilt schema.

Straight-line code, without a loop over keywords or properties and without an error that says what
is wrong: the full engine does that. Nothing of a schema but its numbers gets into the source:
names, literals and patterns are values that the source refers to by names of its own.

Imported when the first validator is prepared, since most programs check little.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from trio_mcp._codec import _json
from trio_mcp.types._base import JsonObject, JsonValue, is_array, is_object

from ._fast_tests import MISSING, is_integer, is_number, is_one_of

if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Set as AbstractSet

Accepts: TypeAlias = Callable[[JsonValue], bool]

# Functions by digest, oldest first: servers that make the same tools again and again (one per
# session, one per test) make each once. An entry takes some 5 KiB.
_MAX_CACHED: Final = 512
_generated: dict[bytes, Accepts] = {}

# What a value is first is the commonest class; what follows takes subclasses of it, too.
_TYPES: Final[dict[str, str]] = {
    "null": "{0} is None",
    "boolean": "{0} is True or {0} is False",
    "string": "{0}.__class__ is str or isinstance({0}, str)",
    "integer": "{0}.__class__ is int or is_integer({0})",
    "number": "{0}.__class__ is int or {0}.__class__ is float or is_number({0})",
    "array": "{0}.__class__ is list or isinstance({0}, (list, tuple))",
    "object": "{0}.__class__ is dict or isinstance({0}, dict)",
}

# By the type of value that they are about: how a value does not fit.
_LIMITS: Final[dict[str, dict[str, str]]] = {
    "string": {"minLength": "len({0}) < {1}", "maxLength": "len({0}) > {1}"},
    "number": {
        "minimum": "{0} < {1}",
        "maximum": "{0} > {1}",
        "exclusiveMinimum": "{0} <= {1}",
        "exclusiveMaximum": "{0} >= {1}",
    },
    "array": {"minItems": "len({0}) < {1}", "maxItems": "len({0}) > {1}"},
    "object": {"minProperties": "len({0}) < {1}", "maxProperties": "len({0}) > {1}"},
}
_KEYWORDS: Final[dict[str, frozenset[str]]] = {
    "string": frozenset({*_LIMITS["string"], "pattern"}),
    "number": frozenset(_LIMITS["number"]),
    "array": frozenset({*_LIMITS["array"], "items"}),
    "object": frozenset({*_LIMITS["object"], "properties", "required", "additionalProperties"}),
}


def accepting_function(rebuilt: JsonValue) -> Accepts:
    """The function that says whether a value fits a rebuilt schema.

    Args:
      rebuilt: What a fast `Plan` holds. Never anything else.

    """
    digest = hashlib.sha256(_json.dumps(rebuilt)).digest()
    accepts = _generated.get(digest)
    if accepts is None:
        accepts = _Source().compiled(rebuilt)
        if len(_generated) >= _MAX_CACHED:
            _generated.pop(next(iter(_generated)), None)
        _generated[digest] = accepts
    return accepts


class _Source:
    """Functions, as lines, and the values that they refer to."""

    def __init__(self) -> None:
        self._functions: list[list[str]] = []
        self._lines: list[str] = []
        self._indent = 0
        self._made = 0
        self._values: dict[str, Any] = {
            "MISSING": MISSING,
            "is_integer": is_integer,
            "is_number": is_number,
            "is_one_of": is_one_of,
        }

    def compiled(self, schema: JsonValue) -> Accepts:
        name = self._function(schema)
        source = "\n".join(line for lines in self._functions for line in lines)
        exec(compile(source, "<trio_mcp schema>", "exec"), self._values)  # noqa: S102 - see above
        accepts: Accepts = self._values[name]
        return accepts

    def _function(self, schema: JsonValue) -> str:
        """Write a function that says whether its argument fits, and name it."""
        name, outer = self._new("fits"), (self._lines, self._indent)
        self._lines, self._indent = [f"def {name}(v):"], 1
        self._check(schema, "v")
        self._add("return True")
        self._functions.append(self._lines)
        self._lines, self._indent = outer
        return name

    def _new(self, kind: str) -> str:
        self._made += 1
        return f"{kind}{self._made}"

    def _value(self, kind: str, value: Any) -> str:
        name = self._new(kind)
        self._values[name] = value
        return name

    def _add(self, line: str) -> None:
        self._lines.append("    " * self._indent + line)

    @contextmanager
    def _block(self, head: str) -> Generator[None, None, None]:
        self._add(head)
        begun = len(self._lines)
        self._indent += 1
        yield
        if len(self._lines) == begun:
            self._add("pass")
        self._indent -= 1

    def _refuse_if(self, condition: str) -> None:
        self._add(f"if {condition}: return False")

    # Keywords

    def _check(self, schema: JsonValue, v: str) -> None:
        """Add the lines that return False if a variable's value does not fit."""
        if schema is False:
            self._add("return False")
        if not is_object(schema):
            return
        names = _strings(schema.get("type"))
        if names:
            self._refuse_if(f"not ({_is_any(names, v)})")
        if "enum" in schema:
            self._refuse_if(f"not ({self._is_literal(schema['enum'], v)})")
        if "const" in schema:
            self._refuse_if(f"not ({self._is_literal([schema['const']], v)})")
        for kind, keywords in _KEYWORDS.items():
            if keywords.isdisjoint(schema):
                continue
            own = [name for name in names if name == kind or (name, kind) == ("integer", "number")]
            if own and own == names:
                self._check_kind(kind, schema, v)
            elif own or not names:
                with self._block(f"if {_TYPES[kind].format(v)}:"):
                    self._check_kind(kind, schema, v)
        self._check_combined(schema, v)

    def _check_kind(self, kind: str, schema: JsonObject, v: str) -> None:
        for keyword, refused in _LIMITS[kind].items():
            if keyword in schema:
                self._refuse_if(refused.format(v, repr(schema[keyword])))
        if kind == "string" and "pattern" in schema:
            search = self._value("search", _compiled_pattern(schema["pattern"]).search)
            self._refuse_if(f"{search}({v}) is None")
        elif kind == "array" and "items" in schema:
            self._check_each(schema["items"], v)
        elif kind == "object":
            self._check_object(schema, v)

    def _check_each(self, schema: JsonValue, container: str) -> None:
        each = self._new("v")
        with self._block(f"for {each} in {container}:"):
            self._check(schema, each)

    def _check_object(self, schema: JsonObject, v: str) -> None:
        properties, required = schema.get("properties", {}), {*_strings(schema.get("required"))}
        assert is_object(properties)
        for name in required - properties.keys():
            self._refuse_if(f"{self._value('name', name)} not in {v}")
        more = schema.get("additionalProperties", True)
        if more is False:
            count = self._new("n")
            self._add(f"{count} = {len(properties.keys() & required)}")
            self._check_members(properties, required, v, count)
            self._refuse_if(f"{count} != len({v})")
            return
        self._check_members(properties, required, v, None)
        if more is True or more == {}:
            return
        if not properties:
            self._check_each(more, f"{v}.values()")
            return
        known, name, each = (
            self._value("known", frozenset(properties)),
            self._new("k"),
            self._new("v"),
        )
        with (
            self._block(f"for {name}, {each} in {v}.items():"),
            self._block(f"if {name} not in {known}:"),
        ):
            self._check(more, each)

    def _check_members(
        self, properties: JsonObject, required: AbstractSet[str], v: str, count: str | None
    ) -> None:
        """Check members that have a schema of their own; count those that may be absent."""
        for name, schema in properties.items():
            member = self._new("v")
            self._add(f"{member} = {v}.get({self._value('name', name)}, MISSING)")
            if name in required:
                self._refuse_if(f"{member} is MISSING")
                self._check(schema, member)
                continue
            with self._block(f"if {member} is not MISSING:"):
                if count is not None:
                    self._add(f"{count} += 1")
                self._check(schema, member)

    def _check_combined(self, schema: JsonObject, v: str) -> None:
        for each in _array(schema.get("allOf")):
            self._check(each, v)
        if "anyOf" in schema:
            fits = " or ".join(self._fitting(each, v) for each in _array(schema["anyOf"]))
            self._refuse_if(f"not ({fits})")
        if "oneOf" in schema:
            count = " + ".join(f"({self._fitting(each, v)})" for each in _array(schema["oneOf"]))
            self._refuse_if(f"{count} != 1")

    # Conditions

    def _fitting(self, schema: JsonValue, v: str) -> str:
        """Write the condition that a variable's value fits one of several alternatives."""
        if is_object(schema) and schema.keys() == {"type"}:
            return _is_any(_strings(schema["type"]), v)
        return f"{self._function(schema)}({v})"

    def _is_literal(self, literals: JsonValue, v: str) -> str:
        values = _array(literals)
        words = _strings(values)
        if len(words) == len(values):
            return f"isinstance({v}, str) and {v} in {self._value('words', frozenset(words))}"
        return f"is_one_of({v}, {self._value('literals', values)})"


def _is_any(names: list[str], v: str) -> str:
    return " or ".join(_TYPES[name].format(v) for name in names)


def _array(value: JsonValue) -> list[JsonValue]:
    return value if is_array(value) else []


def _strings(value: JsonValue) -> list[str]:
    return [each for each in _array(value) if isinstance(each, str)]


def _compiled_pattern(pattern: JsonValue) -> re.Pattern[str]:
    assert isinstance(pattern, str)
    # Python's own `$` matches before a last line feed, too. In a simple pattern it is the last.
    return re.compile(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern)
