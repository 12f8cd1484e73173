from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest

from trio_mcp._codec._schema import (
    EngineDisagreement,
    SchemaError,
    Violation,
    _fast,
    compile_validator,
)

ORDER: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "Item": {
            "type": "object",
            "properties": {
                "sku": {"type": "string", "minLength": 1},
                "size": {"enum": ["s", "m"]},
                "odd key": {"type": "integer"},
            },
            "required": ["sku"],
            "additionalProperties": False,
        }
    },
    "properties": {
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}, "maxItems": 2},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "gift": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]},
        "total": {"type": "number", "exclusiveMinimum": 0, "default": 1},
        "code": {"type": "string", "pattern": "^[A-Z]+$"},
        "kind": {"const": "order"},
    },
    "required": ["items"],
}

FAULTS: list[tuple[Any, str, str]] = [
    ([], "type", "expected object, got empty array"),
    ({}, "required", "expected property 'items', got empty object"),
    ({"items": [{"sku": 5}]}, "type", "items[0].sku: expected string, got integer 5"),
    ({"items": [{"sku": True}]}, "type", "items[0].sku: expected string, got boolean true"),
    ({"items": [{"sku": None}]}, "type", "items[0].sku: expected string, got null"),
    ({"items": [{"sku": ""}]}, "minLength", "items[0].sku: expected at least 1 character, got string of 0 characters"),
    ({"items": [{"sku": "a", "size": "l"}]}, "enum", "items[0].size: expected one of 's', 'm', got string 'l'"),
    ({"items": [{"sku": "a", "odd key": "x"}]}, "type", "items[0]['odd key']: expected integer, got string 'x'"),
    ({"items": [{"sku": "a", "x": 1}]}, "additionalProperties", "items[0]: expected no property 'x', got object with 'sku', 'x'"),
    ({"items": [{"sku": "a"}] * 3}, "maxItems", "items: expected at most 2 items, got array of 3 items"),
    ({"items": [], "note": 1.5}, "anyOf", "note: expected null or string, got number 1.5"),
    ({"items": [], "gift": {"sku": 5}}, "type", "gift.sku: expected string, got integer 5"),
    ({"items": [], "total": 0}, "exclusiveMinimum", "total: expected more than 0, got integer 0"),
    ({"items": [], "code": "a"}, "pattern", "code: expected a string that matches '^[A-Z]+$', got string 'a'"),
    ({"items": [], "kind": "x"}, "const", "kind: expected 'order', got string 'x'"),
]  # fmt: skip


@pytest.mark.parametrize("trusted", [True, False], ids=["fast", "full"])
@pytest.mark.parametrize(("value", "keyword", "message"), FAULTS, ids=[m for *_, m in FAULTS])
def test_a_fault_is_told_by_place_wanted_and_found(
    value: Any, keyword: str, message: str, *, trusted: bool
) -> None:
    validator = compile_validator(ORDER, trusted=trusted)
    assert validator.engine == ("fast" if trusted else "full")
    violation = validator.check(value)
    assert violation is not None
    assert violation.message == str(violation) == message
    assert violation.keyword == keyword


MORE: list[tuple[dict[str, Any], Any, str]] = [
    ({"maximum": 3}, 4, "expected at most 3, got integer 4"),
    ({"minimum": 3}, 2, "expected at least 3, got integer 2"),
    ({"exclusiveMaximum": 3}, 3, "expected less than 3, got integer 3"),
    ({"multipleOf": 3}, 4, "expected a multiple of 3, got integer 4"),
    ({"minItems": 1}, [], "expected at least 1 item, got array of 0 items"),
    ({"uniqueItems": True}, [1, 1], "expected items that all differ, got array of 2 items"),
    ({"contains": {"type": "null"}}, [1], "expected another number of items that fit 'contains', got array of 1 item"),
    ({"minProperties": 2}, {"a": 1}, "expected at least 2 properties, got object of 1 property"),
    ({"maxProperties": 0}, {"a": 1}, "expected at most 0 properties, got object of 1 property"),
    ({"maxLength": 1}, "ab", "expected at most 1 character, got string of 2 characters"),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "expected names of properties to be at most 1 character, not string of 2 characters, got object with 'ab'"),
    ({"properties": {"a": False}}, {"a": 1}, "a: expected nothing here, got integer 1"),
    ({"not": {"type": "null"}}, None, "expected a value that does not fit 'not', got null"),
    ({"oneOf": [{}, {}]}, 1, "expected a value that fits exactly one alternative, got integer 1, which fits more"),
    ({"anyOf": [{"minimum": 5}, {"multipleOf": 2}]}, 1, "expected a value that fits one of 2 alternatives, got integer 1"),
    ({"properties": {"a": {}}, "unevaluatedProperties": False}, {"b": 1, "c": 2}, "expected no properties 'b', 'c', got object with 'b', 'c'"),
    ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "expected no further items (at 2), got array of 2 items"),
    ({"const": {"a": [1]}}, "x", "expected {\"a\": [1]}, got string 'x'"),
    ({"type": "null"}, 10**70, "expected null, got integer of many digits"),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "expected property 'b', got object with 'a'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "value", "message"), MORE, ids=[next(iter(s)) for s, *_ in MORE]
)
def test_every_keyword_has_words(schema: dict[str, Any], value: Any, message: str) -> None:
    violation = compile_validator(schema, trusted=True).check(value)
    assert violation is not None
    if "unevaluatedItems" in schema:  # the engine tells positions or items, as it likes
        assert violation.expected.startswith("no further items")
    else:
        assert violation.message == message


def test_long_values_and_names_are_shortened() -> None:
    validator = compile_validator({"additionalProperties": {"type": "null"}}, trusted=False)
    secret = "s" * 100_000
    violation = validator.check({"k" * 100_000: secret})
    assert violation is not None
    assert len(violation.message) < 200
    assert len(violation.got) < 75
    violation = compile_validator({"type": "null"}, trusted=False).check({"token": "hunter2"})
    assert violation is not None
    assert violation.got == "object with 'token'"  # names only, of what no one complained about
    violation = compile_validator({"type": "null"}, trusted=False).check(
        dict.fromkeys("n" * 30 + str(n) for n in range(9))
    )
    assert violation is not None
    assert len(violation.got) <= len("object with ") + 60


@pytest.mark.parametrize("trusted", [True, False], ids=["fast", "full"])
def test_many_faults_are_told_up_to_the_limit(*, trusted: bool) -> None:
    validator = compile_validator({"items": {"type": "string"}}, trusted=trusted)
    assert validator.violations(["a"]) == []
    assert [fault.path for fault in validator.violations([1, "a", 2])] == ["[0]", "[2]"]
    assert len(validator.violations([1] * 30)) == 10
    assert len(validator.violations([1] * 30, limit=3)) == 3
    first = validator.check([1] * 30)
    assert validator.violations([1] * 30, limit=1) == [first]
    # A big value: only the first, found without collecting the others.
    assert validator.violations([1] * 300_000) == [first]


def test_a_big_value_of_alternatives_is_refused_without_collecting() -> None:
    validator = compile_validator(
        {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, trusted=True
    )
    violation = validator.check([1] * 300_000)
    assert violation is not None
    assert violation.got == "array of 300000 items"


@pytest.mark.parametrize("trusted", [True, False], ids=["fast", "full"])
def test_no_default_is_filled_in_and_no_format_asserted(*, trusted: bool) -> None:
    schema = {
        "properties": {
            "a": {"type": "integer", "default": 5},
            "mail": {"type": "string", "format": "email"},
            "data": {"contentEncoding": "base64", "contentMediaType": "application/json"},
        }
    }
    value = {"mail": "no mail", "data": "%%%"}
    before = copy.deepcopy(value)
    validator = compile_validator(schema, trusted=trusted)
    assert validator.check(value) is None
    assert value == before


@pytest.mark.parametrize("trusted", [True, False], ids=["fast", "full"])
def test_types_are_those_of_json(*, trusted: bool) -> None:
    integer = compile_validator({"type": "integer"}, trusted=trusted)
    assert integer.check(1.0) is None
    assert integer.check(10**400) is None
    assert integer.check(True) is not None
    assert integer.check("1") is not None
    one = compile_validator({"enum": [1]}, trusted=trusted)
    assert one.check(1.0) is None
    assert one.check(True) is not None


def test_code_is_generated_at_the_first_check_and_once_for_equal_plans() -> None:
    schema = {"type": "object", "properties": {"only here": {"type": "integer"}}}
    before = set(_fast._generated)
    first = compile_validator(schema, trusted=True)
    assert set(_fast._generated) == before
    first.prepare()
    assert len(set(_fast._generated) - before) == 1
    second = compile_validator({**schema, "title": "says nothing"}, trusted=True)
    second.prepare()
    assert first._accepts is second._accepts
    first.prepare()
    assert first.check({"only here": 1}) is None


def test_the_cache_of_generated_code_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fast, "_generated", {})
    monkeypatch.setattr(_fast, "_MAX_CACHED", 3)
    for limit in range(5):
        _fast.accepting_function({"minimum": limit})
    assert len(_fast._generated) == 3
    assert not _fast.accepting_function({"minimum": 4})(3)


def test_engines_that_disagree_are_a_bug_that_shows() -> None:
    validator = compile_validator({"type": "string"}, trusted=True)
    validator._accepts = lambda value: False
    with pytest.raises(EngineDisagreement):
        validator.check("fits")


def test_a_validator_tells_what_it_is() -> None:
    assert repr(compile_validator({}, trusted=True)) == "<Validator: fast>"
    assert "came from a peer" in repr(compile_validator({}, trusted=False))


def test_no_engine_is_loaded_before_it_is_needed() -> None:
    program = (
        "import sys\n"
        "from trio_mcp._codec._schema import compile_validator\n"
        "loaded = lambda: {'jsonschema_rs', 'fastjsonschema'} & set(sys.modules)\n"
        "v = compile_validator({'type': 'object'}, trusted=True)\n"
        "assert loaded() == set(), loaded()\n"
        "v.prepare()\n"
        "assert v.check({}) is None\n"
        "assert loaded() == {'fastjsonschema'}, loaded()\n"
        "assert v.check([]) is not None\n"
        "assert 'jsonschema_rs' in loaded()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_violation_is_a_value() -> None:
    assert Violation("a", "null", "integer 1", "type") == Violation(
        "a", "null", "integer 1", "type"
    )


@pytest.mark.parametrize("trusted", [True, False], ids=["fast", "full"])
def test_properties_without_a_name_are_part_of_the_path(*, trusted: bool) -> None:
    number = {"type": "integer"}
    schema = {"properties": {"": {"properties": {"a": number, "": number}}, "a": {}}}
    validator = compile_validator(schema, trusted=trusted)
    for value, path in [
        ({"": {"a": "x"}}, "[''].a"),
        ({"": {"a": "x"}, "a": 1}, "[''].a"),
        ({"": {"": "x"}, "a": 1}, "['']['']"),
    ]:
        violation = validator.check(value)
        assert violation is not None
        assert violation.message == f"{path}: expected integer, got string 'x'"
    with pytest.raises(SchemaError) as caught:
        compile_validator(
            {"properties": {"": {"properties": {"a": {"pattern": "("}}}}}, trusted=True
        )
    assert caught.value.path == "properties[''].properties.a.pattern"
