from __future__ import annotations

import copy
from typing import Any

import pytest

from trio_mcp._codec._schema import compile_validator, plan_schema

FAST: dict[str, Any] = {
    "arguments": {
        "type": "object",
        "title": "add",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
        "additionalProperties": False,
    },
    "definitions in place": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"City": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "type": "array",
        "items": {"$ref": "#/$defs/City", "description": "where"},
    },
    "old definitions": {"definitions": {"A": {"type": "null"}}, "$ref": "#/definitions/A"},
    "annotations": {
        "format": "email",
        "x-mcp-header": "Region",
        "examples": [1],
        "type": "string",
    },
    "literals": {"enum": [1, "a", None, {"b": [True]}]},
    "constant": {"const": {"a": 1}},
    "simple pattern": {"pattern": "^[a-z0-9_-]{1,64}$"},
    "fixed pattern": {"pattern": "[0-9]{4}-[0-9]{2}-[0-9]{2}"},
    "alternatives": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "everything": True,
    "nothing": False,
}

FULL: dict[str, tuple[Any, str]] = {
    "prefixItems": ({"prefixItems": [{}]}, "prefixItems"),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, "dependentRequired"),
    "unevaluated": ({"unevaluatedProperties": False}, "unevaluatedProperties"),
    "uniqueItems": ({"uniqueItems": True}, "uniqueItems"),
    "not": ({"not": {"type": "string"}}, "not"),
    "recursion": (
        {"$defs": {"T": {"items": {"$ref": "#/$defs/T"}}}, "$ref": "#/$defs/T"},
        "recursive",
    ),
    "root recursion": ({"items": {"$ref": "#"}}, "$ref"),
    "siblings": ({"$defs": {"A": {}}, "$ref": "#/$defs/A", "minLength": 1}, "minLength"),
    "look-ahead": ({"pattern": "^(?=.*[A-Z]).*$"}, "pattern"),
    "long pattern": ({"pattern": "a" * 201}, "pattern"),
    "pattern that backtracks": ({"pattern": "^[a-z]*[a-z]*1$"}, "pattern"),
    "pattern that begins anywhere": ({"pattern": "[a-z]*1$"}, "pattern"),
    "unicode pattern": ({"pattern": "^é$"}, "pattern"),
    "older dialect": ({"$schema": "http://json-schema.org/draft-07/schema#"}, "older"),
    "anchor": ({"$anchor": "here"}, "$anchor"),
    "identifier": ({"$id": "https://example.com/s"}, "$id"),
    "key that the generator reads": ({"definition_rule": "x"}, "definition_rule"),
    "reference in a literal": ({"const": {"$ref": "http://localhost/"}}, "literal"),
    "enum and const": ({"enum": [1], "const": 1}, "enum beside const"),
    "impossible": ({"required": ["a"], "additionalProperties": False}, "not allowed"),
    "big number": ({"maximum": 2**53 + 1}, "2**53"),
    "big enum": ({"enum": list(range(201))}, "enum"),
    "deep": ({"items": {"items": {"items": {"items": {"items": {"items": {"items": {"items": {"items": {"items": {"items": {"items": {"items": True}}}}}}}}}}}}}, "deep"),
    "wide": ({"properties": {f"p{n}": {} for n in range(1_000)}}, "subschemas"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAST)
def test_a_schema_of_known_keywords_is_fast(name: str) -> None:
    plan = plan_schema(FAST[name])
    assert (plan.engine, plan.reason) == ("fast", None)
    assert compile_validator(FAST[name], trusted=True).engine == "fast"


@pytest.mark.parametrize("name", FULL)
def test_anything_else_is_full_and_says_why(name: str) -> None:
    schema, reason = FULL[name]
    plan = plan_schema(schema)
    assert plan.engine == "full"
    assert plan.reason is not None
    assert reason in plan.reason
    validator = compile_validator(schema, trusted=True)
    assert (validator.engine, validator.reason) == ("full", plan.reason)


@pytest.mark.parametrize("name", FAST)
def test_a_remote_schema_is_always_full(name: str) -> None:
    validator = compile_validator(FAST[name], trusted=False)
    assert (validator.engine, validator.reason) == ("full", "the schema came from a peer")


@pytest.mark.parametrize("name", [*FAST, *FULL])
def test_a_callers_schema_is_neither_changed_nor_kept(name: str) -> None:
    schema = copy.deepcopy(FAST[name] if name in FAST else FULL[name][0])
    before = copy.deepcopy(schema)
    validator = compile_validator(schema, trusted=True)
    validator.prepare()
    validator.violations({"a": "x"})
    assert schema == before
    if isinstance(schema, dict):
        schema.clear()
        assert validator.schema == before


def test_the_generator_sees_nothing_but_the_rebuilt_schema() -> None:
    rebuilt = plan_schema(FAST["definitions in place"]).rebuilt
    assert rebuilt == {
        "type": ["array"],
        "items": {"type": ["object"], "properties": {"name": {"type": ["string"]}}},
    }


def test_members_that_must_all_be_there_alone_are_counted() -> None:
    schema = {**FAST["arguments"], "required": ["a", "b"]}
    assert plan_schema(schema).rebuilt == {
        "type": ["object"],
        "properties": {"a": {"type": ["integer"]}, "b": {"type": ["integer"]}},
        "additionalProperties": False,
        "minProperties": 2,
    }


@pytest.mark.parametrize(
    "broken",
    [
        {"title": 5},
        {"deprecated": "yes"},
        {"type": "strnig"},
        {"type": []},
        {"type": ["string", "string"]},
        {"required": ["a", "a"]},
        {"required": "a"},
        {"minLength": -1},
        {"minLength": True},
        {"minimum": "1"},
        {"properties": []},
        {"allOf": []},
        {"items": 5},
        {"$defs": {"unused": {"type": 5}}},
        {"enum": 5},
        {"pattern": 5},
        7,
    ],
    ids=str,
)
def test_an_invalid_schema_is_never_fast(broken: Any) -> None:
    assert plan_schema(broken).engine == "full"


def test_planning_an_unknown_dialect_is_full() -> None:
    assert plan_schema({"$schema": "urn:x"}).reason == "an unknown dialect"


@pytest.mark.parametrize(
    "pattern", ["^[z-a]$", "^[a-z]{3,2}$", "[a--z]", "(", "[]", "^a{2}$", "a$b"]
)
def test_a_doubtful_pattern_is_never_fast(pattern: str) -> None:
    assert plan_schema({"pattern": pattern}).engine == "full"
