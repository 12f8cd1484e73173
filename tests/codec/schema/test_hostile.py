"""Schemas made to harm: nothing runs, nothing is fetched, everything ends soon."""

from __future__ import annotations

import math
import socket
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import fastjsonschema
import pytest

from trio_mcp._codec._schema import SchemaError, compile_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trio_mcp._codec._schema import Validator

# Seconds of the processor, generous. What is not bounded takes minutes, or for ever.
SOON = 5.0

ROOT: dict[str, Any] = {"$ref": "#"}


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"something was fetched: {args}")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < SOON


def nested(levels: int, leaf: Any, keyword: str = "items") -> Any:
    for _ in range(levels):
        leaf = {keyword: leaf}
    return leaf


def deep(levels: int, leaf: Any = 1) -> Any:
    for _ in range(levels):
        leaf = [leaf]
    return leaf


def two_way(levels: int, keyword: str) -> Any:
    if levels == 0:
        return {"type": "integer"}
    return {keyword: [two_way(levels - 1, keyword), two_way(levels - 1, keyword)]}


def ladder(levels: int, step: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Few lines of references that stand for 2**levels subschemas."""
    definitions: dict[str, Any] = {
        f"d{level}": {"allOf": [step({"$ref": f"#/$defs/d{level + 1}"})] * 2}
        for level in range(levels)
    }
    return {"$defs": {**definitions, f"d{levels}": {"type": "integer"}}, "$ref": "#/$defs/d0"}


def refused_or_checked(schema: Any, value: Any, *, trusted: bool) -> Validator | None:
    """Go all the way; at any step a clear error will do."""
    try:
        validator = compile_validator(schema, trusted=trusted)
    except SchemaError:
        return None
    validator.prepare()
    first = validator.check(value)
    everything = validator.violations(value)
    assert everything[:1] == ([] if first is None else [first])
    return validator


both = pytest.mark.parametrize("trusted", [True, False], ids=["own", "remote"])


@both
@pytest.mark.parametrize(
    "code", ['"+ran()+"', "'''\nran()\n'''", "{ran()}", "\\\nran()", '"""+ran()#']
)
@pytest.mark.parametrize(
    "place",
    [
        lambda code: {"const": 1, "definition_rule": code},
        lambda code: {"const": 1, code: code},
        lambda code: {"const": code},
        lambda code: {"enum": [code, {code: code}]},
        lambda code: {"properties": {code: {"type": "null"}}, "required": [code]},
        lambda code: {"properties": {"a": {"title": code, "description": code, "type": "null"}}},
        lambda code: {"$defs": {code: {"type": "null"}}, "type": "null"},
        lambda code: {"$comment": code, "x-" + code: code, "format": code, "type": "null"},
        lambda code: {"required": [code], "additionalProperties": False},
        lambda code: {"pattern": code},
        lambda code: {"patternProperties": {code: False}},
        lambda code: {"dependentRequired": {code: [code]}},
        lambda code: {"$id": code, "$anchor": code},
        lambda code: {"$ref": code},
        lambda code: {"$schema": code},
        lambda code: {"type": code},
    ],
)
def test_no_part_of_a_schema_runs(
    code: str, place: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, *, trusted: bool
) -> None:
    ran: list[bool] = []
    monkeypatch.setattr("builtins.ran", lambda: ran.append(True), raising=False)
    for value in (1, "x", code, {}, {code: 1}, {"a": 1}, None, [], {code: None}):
        refused_or_checked(place(code), value, trusted=trusted)
    assert ran == []


def test_a_remote_schema_never_reaches_the_code_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastjsonschema, "compile", None)
    validator = compile_validator({"type": "string"}, trusted=False)
    validator.prepare()
    assert validator.check("x") is None
    assert validator.check(1) is not None


ELSEWHERE = [
    "http://localhost:1/schema.json",
    "https://example.com/s#/$defs/a",
    "file:///etc/passwd",
    "data:application/json,true",
    "other.json",
    "//localhost:1/s",
    "ftp://localhost:1/s",
]


@pytest.mark.req("R-040", "R-041", "R-043")
@both
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("uri", ELSEWHERE)
def test_a_reference_to_elsewhere_is_refused(uri: str, keyword: str, *, trusted: bool) -> None:
    with pytest.raises(SchemaError, match="leads out of the schema") as caught:
        compile_validator({"properties": {"a": {keyword: uri}}}, trusted=trusted)
    assert caught.value.path == f"properties.a.{keyword}"


@pytest.mark.req("R-040")
def test_a_base_uri_does_not_make_it_here() -> None:
    schema = {"$id": "http://localhost:1/base/", "$ref": "other"}
    with pytest.raises(SchemaError, match="leads out"):
        compile_validator(schema, trusted=True)
    known = {
        "$id": "http://localhost:1/base/",
        "$ref": "other",
        "$defs": {"o": {"$id": "other", "type": "null"}},
    }
    assert compile_validator(known, trusted=True).check(1) is not None


@pytest.mark.req("R-040")
@both
@pytest.mark.parametrize("keyword", ["const", "enum", "default", "examples", "x-more", "unheard"])
def test_what_looks_like_a_reference_in_data_is_data(keyword: str, *, trusted: bool) -> None:
    reference = {"$ref": "http://localhost:1/s", "$id": "file:///etc/passwd"}
    value = [reference] if keyword in ("enum", "examples") else reference
    validator = refused_or_checked({keyword: value}, reference, trusted=trusted)
    assert validator is not None
    assert validator.check(reference) is None


@pytest.mark.req("R-043")
@both
@pytest.mark.parametrize(
    "reference",
    ["#/$defs/missing", "#missing", "#/properties/a/0", "#/type", "#/allOf/9", "#/allOf/x"],
)
def test_a_reference_to_nothing_is_refused(reference: str, *, trusted: bool) -> None:
    schema = {"type": "object", "allOf": [True], "properties": {"a": {"$ref": reference}}}
    with pytest.raises(SchemaError, match="leads to no") as caught:
        compile_validator(schema, trusted=trusted)
    assert caught.value.path == "properties.a.$ref"


TOO_MUCH: dict[str, Any] = {
    "levels": nested(101, True),
    "levels far beyond": nested(50_000, True),
    "levels of a literal": {"const": deep(200)},
    "values": {"enum": list(range(20_001))},
    "two-way oneOf": two_way(13, "oneOf"),
    "two-way anyOf": two_way(16, "anyOf"),
    "subschemas": {"properties": {f"p{n}": {} for n in range(10_001)}},
    "multiplied": ladder(30, lambda target: target),
    "multiplied below": ladder(30, lambda target: {"items": target}),
    "multiplied by evaluation": {"properties": {"a": True}},
    "itself": ROOT,
    "itself in a circle": {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
        "$ref": "#/$defs/a",
    },
    "dynamic doubling": {"$dynamicAnchor": "n", "allOf": [{"items": {"$dynamicRef": "#n"}}] * 2},
    "long pattern": {"pattern": "a" * 5_001},
    "big pattern": {"pattern": "a{100000}"},
    "bigger pattern": {"pattern": "((a{100}){100}){100}"},
    "patterns": {"patternProperties": {f"^{n}$": {} for n in range(501)}},
    "twice": {"$defs": {"a": {"$id": "x:a"}, "b": {"$id": "x:a"}}},
    "no JSON number": {"minimum": math.nan},
    "endless number": {"maximum": math.inf},
    "no JSON value": {"const": {1, 2}},
    "no JSON name": {"properties": {5: {}}},
    "no text": {"title": "\ud800"},
    "no text as name": {"properties": {"\ud800": {}}},
}
for _ in range(20):
    TOO_MUCH["multiplied by evaluation"] = {
        "unevaluatedProperties": False,
        "allOf": [TOO_MUCH["multiplied by evaluation"]],
    }


@pytest.mark.req("R-044")
@both
@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_exceeds_a_bound_is_refused(name: str, *, trusted: bool) -> None:
    with pytest.raises(SchemaError):
        compile_validator(TOO_MUCH[name], trusted=trusted)


def kinds(count: int) -> dict[str, Any]:
    """A tree whose nodes are of one of many kinds."""
    return {
        "anyOf": [
            {"type": "object", "properties": {"child": ROOT, "kind": {"const": kind}}}
            for kind in range(count)
        ]
    }


def family(levels: int, leaf: Any) -> Any:
    for level in range(levels):
        leaf = {"child": leaf, "kind": level % 20}
    return leaf


BEARABLE: dict[str, tuple[Any, Any]] = {
    "21 nested items": (nested(21, {"type": "string"}), deep(21)),
    "99 nested items": (nested(98, {"type": "string"}), deep(98)),
    "20 nested anyOf": (nested(20, {"type": "string"}, "not"), 1),
    "49 nested properties": ({"properties": {"a": nested(30, {"type": "string"}, "additionalProperties")}}, {"a": 1}),
    "400 allOf": ({"allOf": [{"type": "string"}] * 400}, 1),
    "1000 properties": ({"properties": {f"p{n}": {"type": "string"} for n in range(1_000)}}, {"p7": 1}),
    "two-way oneOf": (two_way(11, "oneOf"), 1),
    "doubling": ({"type": ["array", "string"], "allOf": [{"items": ROOT}] * 2}, deep(90)),
    "doubling, fits": ({"allOf": [{"items": ROOT}] * 2}, deep(90)),
    "doubling anyOf": ({"anyOf": [{"items": ROOT, "minItems": 1, "type": "array"}, {"items": ROOT, "maxItems": 4, "type": "array"}]}, deep(90)),
    "doubling oneOf": ({"oneOf": [{"items": ROOT, "minItems": 1, "type": "array"}, {"items": ROOT, "maxItems": 4, "type": "array"}]}, deep(90)),
    "kinds": (kinds(20), family(40, 1)),
    "deep value": ({"items": ROOT}, deep(100_000)),
    "deep value, dynamic": ({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}}, deep(100_000)),
    "deep value, simple schema": ({"type": "string"}, deep(100_000)),
    "deep value, literal": ({"const": [1]}, deep(100_000)),
    "deep value, differing items": ({"uniqueItems": True}, [deep(100_000), deep(100_000)]),
    "metaschema": ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, nested(100, {"type": "x"})),
    "regular pattern": ({"pattern": "^(a+)+$"}, "a" * 100_000 + "!"),
    "regular alternatives": ({"pattern": "^(a|a)*$"}, "a" * 100_000 + "!"),
    "optional parts": ({"pattern": "(?:a?){300}a{300}b"}, "a" * 100_000),
    "many faults": ({"items": {"type": "string"}}, [1] * 200_000),
    "faults of alternatives": ({"items": {"anyOf": [{"type": "string"}, {"minimum": 5}]}}, [1] * 200_000),
    "names that differ little": ({"$defs": {"Foo": {"type": "null"}, "foo": {"type": "string"}, "a-b": {}, "a_b": False}, "properties": {"x": {"$ref": "#/$defs/Foo"}}}, {"x": "s"}),
    "limits at the end of numbers": ({"maximum": 1e308, "minimum": -(10**30), "multipleOf": 1e-300}, 1e308),
}  # fmt: skip


@pytest.mark.req("R-044")
@both
@pytest.mark.parametrize("name", BEARABLE)
def test_what_is_within_bounds_ends_soon(name: str, *, trusted: bool) -> None:
    schema, value = BEARABLE[name]
    assert refused_or_checked(schema, value, trusted=trusted) is not None


@pytest.mark.req("R-044")
@pytest.mark.parametrize(
    "pattern", [r"(?!x)((a*)*)*b", r"^((a+)+)\1b$", r"(?=a)(?:a?){50}b\b(?!x)", r"^(a|aa)+\1$"]
)
def test_a_peers_backtracking_pattern_sees_short_strings_only(pattern: str) -> None:
    validator = compile_validator({"items": {"pattern": pattern}}, trusted=False)
    violation = validator.check(["a" * 100_000])
    assert violation is not None
    assert (
        violation.message
        == "[0]: expected at most 1000 characters, got string of 100000 characters"
    )
    validator.check(["a" * 999] * 10)
    assert validator.check([1, None]) is None


def test_a_peers_ordinary_look_ahead_works() -> None:
    validator = compile_validator(
        {
            "type": "object",
            "properties": {"mail": {"type": "string", "pattern": r"^(?!\.)(?!.*\.\.)[\w.]+@\w+$"}},
        },
        trusted=False,
    )
    assert validator.check({"mail": "a.b@c"}) is None
    violation = validator.check({"mail": "a..b@c"})
    assert violation is not None
    assert (violation.path, violation.keyword) == ("mail", "pattern")
    assert "pattern" in validator.schema["properties"]["mail"]


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {"^(?!a)": {}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "pattern": "^(?!a)"},
    ],
)
def test_a_peers_backtracking_pattern_that_cannot_be_guarded_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match="no regular expression that can be used here"):
        compile_validator(schema, trusted=False)
    assert compile_validator(schema, trusted=True).check({}) is None


def test_definitions_whose_names_differ_little_are_different() -> None:
    schema, _ = BEARABLE["names that differ little"]
    validator = compile_validator(schema, trusted=True)
    assert validator.engine == "fast"
    assert validator.check({"x": None}) is None
    assert validator.check({"x": "s"}) is not None


def test_a_value_too_deep_for_a_recursive_schema_is_a_violation() -> None:
    validator = compile_validator({"items": ROOT}, trusted=True)
    assert validator.check(deep(100)) is None
    violation = validator.check(deep(200))
    assert violation is not None
    assert violation.message == "expected at most 128 levels of nesting, got a deeper value"
