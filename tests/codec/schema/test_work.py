"""A check is as long as its schema and its value make it, so that both together are bounded."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp._codec._json import length_of
from trio_mcp._codec._schema import _work, compile_validator
from trio_mcp._codec._schema._pattern_cost import pattern_cost
from trio_mcp._codec._schema._size import measure
from trio_mcp._codec._schema._work import MAX_WORK

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1024 * 1024
# Seconds of the processor, generous; what is not bounded takes half a minute and more here.
SOON = 2.0


def limits(count: int) -> dict[str, Any]:
    return {"allOf": [{"minimum": -limit} for limit in range(count)]}


def multiplied(times: int) -> dict[str, Any]:
    return {
        "$defs": {"a": limits(times), "b": {"allOf": [{"$ref": "#/$defs/a"}] * times}},
        "properties": {"x": {"items": {"$ref": "#/$defs/b"}}},
    }


def within(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = [value]
    return value


RECURSIVE = {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, **limits(100)}}}
AMBIGUOUS = "[ab]*a[ab]{2000}c"
LOOKS_FAR = "(?=[ab]*a[ab]{500}c)x"
GOES_ASTRAY = "(?:(?=a)a|a)*c"

# Each takes many seconds, if it is let.
TOO_MUCH: dict[str, tuple[Any, Any]] = {
    "places by evaluations": (multiplied(90), {"x": [1] * 500_000}),
    "a line": ({"items": limits(4_000)}, [1] * 500_000),
    "names": ({"propertyNames": limits(4_000)}, {f"{n}": 1 for n in range(50_000)}),
    "members": ({"additionalProperties": limits(4_000)}, {f"{n}": 1 for n in range(50_000)}),
    "further down": ({"items": {"items": {"items": limits(4_000)}}}, [[[1] * 1_000] * 10] * 10),
    "recursive": (RECURSIVE, [[[1] * 1_000] * 10] * 50),
    "recursive and doubled": ({"$defs": {"a": {"items": {"allOf": [{"$ref": "#/$defs/a"}] * 90}, **limits(90)}}, "$ref": "#/$defs/a"}, list(range(100_000))),
    "evaluated twice": ({"items": {"unevaluatedItems": False, "items": limits(4_000)}}, [[1] * 100] * 1_000),
    "many properties": ({"items": {"properties": {f"p{n}": {} for n in range(9_000)}}}, [{}] * 100_000),
    "many names": ({"items": {"not": {"required": [f"p{n}" for n in range(9_000)]}}}, [{}] * 100_000),
    "fractions": ({"items": {"not": {"enum": [n + 0.5 for n in range(1_000)]}}}, [1] * 100_000),
    "kinds of literals": ({"items": {"not": {"enum": ["", *range(1_000)]}}}, [1.5] * 100_000),
    "tiny steps": ({"items": {"multipleOf": 1e-300}}, [1e-5] * 100_000),
    "long numbers": ({"items": limits(100)}, [10**4_000] * 200),
    "long limits": ({"items": {"allOf": [{"minimum": -(10**4_000) - n} for n in range(100)]}}, [0.5] * 100_000),
    "long numbers that differ": ({"uniqueItems": True}, [10**4_000 + n for n in range(200)]),
    "numbers that differ": ({"uniqueItems": True}, [10**30 + n for n in range(20_000)]),
    "nested arrays that differ": ({"$defs": {"a": {"uniqueItems": True, "items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, within(90, list(range(100_000)))),
    "long texts that differ": ({"allOf": [{"uniqueItems": True}] * 300}, ["a" * 400_000 + f"{n}" for n in range(14)]),
    "long texts that differ, many": ({"allOf": [{"uniqueItems": True}] * 300}, ["a" * 400_000 + f"{n}" for n in range(20)]),
    "long texts in objects that differ": ({"allOf": [{"uniqueItems": True}] * 300}, [{"a": "a" * 400_000, "b": n} for n in range(14)]),
    "long names that differ": ({"allOf": [{"uniqueItems": True}] * 300}, [{"a" * 400_000: n} for n in range(14)]),
    "numbers that differ, many times": ({"allOf": [{"uniqueItems": True}] * 20}, [10**30 + n for n in range(300)]),
    "a long literal": ({"$defs": {"a": {"const": "a" * MIB}}, "not": {"anyOf": [{"$ref": "#/$defs/a"}] * 3_000}}, "a" * (MIB - 1) + "b"),
    "a long name": ({"$defs": {"a": {"properties": {"a" * MIB: {}}}}, "allOf": [{"$ref": "#/$defs/a"}] * 3_000}, {"a" * (MIB - 1) + "b": 1}),
    "a long text among literals": ({"$defs": {"a": {"enum": [f"{n}" for n in range(20)]}}, "not": {"anyOf": [{"$ref": "#/$defs/a"}] * 3_000}}, "a" * MIB),
    "a long name among many": ({"$defs": {"a": {"properties": {f"{n}": {} for n in range(20)}}}, "allOf": [{"$ref": "#/$defs/a"}] * 3_000}, {"a" * MIB: 1}),
    "an ambiguous pattern": ({"items": {"not": {"pattern": AMBIGUOUS}}}, ["abbab" * 100_000]),
    "patterns": ({"items": {"allOf": [{"not": {"pattern": f"{n}[ab]*c"}} for n in range(400)]}}, ["ab" * 250_000]),
    "patterns for names": ({"patternProperties": {AMBIGUOUS: {}}}, {"abbab" * 100_000: 1}),
    "a pattern for names": ({"propertyNames": {"not": {"pattern": AMBIGUOUS}}}, {"abbab" * 100_000: 1}),
    "a far look": ({"items": {"not": {"pattern": LOOKS_FAR}}}, ["abbab" * 199] * 200),
    "backtracking": ({"items": {"not": {"pattern": GOES_ASTRAY}}}, ["a" * 20] * 50_000),
    "the metaschema": ({"items": {"allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}] * 1_000}}, [{"items": {}}] * 50_000),
}  # fmt: skip


@pytest.mark.req("R-044")
@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_takes_too_long_with_a_peers_schema_is_refused_before_it_begins(name: str) -> None:
    schema, value = TOO_MUCH[name]
    validator = compile_validator(schema, trusted=False)
    begun = time.process_time()
    violation = validator.check(value)
    everything = validator.violations(value)
    assert time.process_time() - begun < SOON
    assert violation is not None
    assert violation.path == ""
    assert violation.expected == "a value whose check is bounded in time"
    assert violation.got.endswith("which is too big for this schema")
    assert everything == [violation]


@pytest.mark.req("R-044")
@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_small_value_is_checked_by_the_same_schema(name: str) -> None:
    schema, _ = TOO_MUCH[name]
    validator = compile_validator(schema, trusted=False)
    for value in ([], {}, 1, [1], {"x": [1, 2]}):
        violation = validator.check(value)
        assert violation is None or "bounded" not in violation.expected


RECORD_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
        "score": {"type": "number", "minimum": 0.5},
        "mail": {"type": "string", "pattern": r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$"},
        "uuid": {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "kind": {"enum": ["a", "b", None]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["id", "name"],
    "additionalProperties": False,
}
RECORD: dict[str, Any] = {
    "id": 17,
    "name": "a name of somebody",
    "score": 2.5,
    "mail": "somebody@example.org",
    "uuid": "01234567-89ab-0123456789ab",
    "tags": ["x", "y"],
    "kind": "b",
    "note": None,
}
TREE: dict[str, Any] = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}


def filled(item: Any, size: int = MIB) -> list[Any]:
    """As many items as fit in so many bytes of JSON, none of them shared."""
    text = json.dumps(item)
    return [json.loads(text) for _ in range(size // (len(text) + 2))]


HONEST: dict[str, tuple[Any, Callable[[], Any]]] = {
    "records": ({"items": RECORD_SCHEMA}, lambda: filled(RECORD)),
    "8 MiB of records": ({"items": RECORD_SCHEMA}, lambda: filled(RECORD, 8 * MIB)),
    "records of four kinds": (
        {"items": {"anyOf": [{**RECORD_SCHEMA, "title": f"{n}"} for n in range(8)]}},
        lambda: filled(RECORD),
    ),
    "prices": (
        {"items": {"properties": {"name": {"type": "string"}, "price": {"multipleOf": 0.01}}}},
        lambda: filled({"name": "a name of something", "price": 12.34}),
    ),
    "short records": (
        {"items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        lambda: filled({"a": 1}),
    ),
    "200 columns": (
        {"items": {"properties": {f"c{n}": {"type": ["number", "null"]} for n in range(200)}, "additionalProperties": False}},
        lambda: filled({f"c{n}": 1.25 for n in range(200)}),
    ),
    "numbers": ({"items": {"type": "number", "minimum": 0, "maximum": 1e9}}, lambda: [1] * 500_000),
    "a matrix": ({"items": {"items": {"type": "number"}}}, lambda: [[1.5] * 500] * 500),
    "a tree": (
        TREE,
        lambda: {"name": "root", "children": filled({"name": "a", "children": [{"name": "b"}] * 20})},
    ),
    "a text": ({"properties": {"text": {"type": "string", "pattern": r"\S"}}}, lambda: {"text": "some text " * 100_000}),
    "a map": (
        {"additionalProperties": {"type": "integer"}, "propertyNames": {"pattern": "^[a-z][a-z0-9_]*$"}},
        lambda: {f"name_{n}": n for n in range(60_000)},
    ),
    "names of two kinds": (
        {"patternProperties": {"^x-": {"type": "string"}, "^[a-z]+$": {"type": "integer"}}, "additionalProperties": False},
        lambda: {f"x-{n}": "a" for n in range(60_000)},
    ),
    "one of 250": (
        {"items": {"properties": {"country": {"enum": [f"C{n}" for n in range(250)]}}}},
        lambda: filled({"country": "C17"}),
    ),
    "texts that differ": ({"uniqueItems": True, "items": {"type": "string"}}, lambda: [f"item {n}" for n in range(80_000)]),
    "a big text in one of many kinds": (
        {"anyOf": [{"properties": {**{f"c{n}": {"type": "string"} for n in range(30)}, "kind": {"enum": [f"{kind}{n}" for n in range(20)]}}} for kind in range(40)]},
        lambda: {"c0": "ab" * (MIB // 2), "kind": "397"},
    ),
    "big integers": ({"items": {"type": "integer", "minimum": 0}}, lambda: [2**64 + n for n in range(40_000)]),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_ordinary_values_are_checked_however_many(name: str) -> None:
    schema, value = HONEST[name]
    assert compile_validator(schema, trusted=False).check(value()) is None


def test_a_fault_in_ordinary_records_is_told_with_its_place() -> None:
    records = filled(RECORD)
    records[-1]["tags"] = ["x", 1]
    plain = {name: hint for name, hint in RECORD_SCHEMA["properties"].items() if name != "note"}
    schema = {"items": {"type": "object", "properties": plain}}
    violation = compile_validator(schema, trusted=False).check(records)
    assert violation is not None
    assert violation.path == f"[{len(records) - 1}].tags[1]"


def test_a_huge_schema_is_not_worked_out_for_deep_values() -> None:
    count = 1_500
    definitions = {
        f"a{n}": {
            "allOf": [{"items": {"$ref": f"#/$defs/a{(7 * n + 1) % count}"}}],
            **({"minimum": 0} if n % 5 else {}),
        }
        for n in range(count)
    }
    schema = {"$defs": definitions, "$ref": "#/$defs/a0"}
    validator = compile_validator(schema, trusted=False)
    begun = time.process_time()
    assert validator.check(within(10, 1)) is None
    assert validator.check(within(95, 1)) is not None
    assert time.process_time() - begun < SOON


def test_dynamic_references_cost_more_the_deeper_they_apply() -> None:
    schema = {"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}}
    engine = compile_validator(schema, trusted=False)._full
    assert engine is not None
    assert engine._work is not None
    table = engine._work._tables["within"]
    added = [table.at(depth + 1) - table.at(depth) for depth in range(3, 120)]
    assert {*added} == {50}
    assert table.greatest >= table.at(120)


@pytest.mark.parametrize("long", [[1, ["a" * MIB]], [{"a" * MIB: 1}]], ids=["text", "name"])
def test_a_long_literal_counts_for_its_length(long: Any) -> None:
    many = {"$defs": {"a": {"enum": long}}, "not": {"anyOf": [{"$ref": "#/$defs/a"}] * 3_000}}
    violation = compile_validator(many, trusted=False).check(["a" * MIB])
    assert violation is not None
    assert violation.expected == "a value whose check is bounded in time"
    assert compile_validator({"not": {"enum": long}}, trusted=False).check(["a" * 9]) is None


def test_what_took_long_is_not_done_again_to_describe_a_fault() -> None:
    validator = compile_validator({"items": limits(100)}, trusted=False)
    few, many = validator.check([*[1] * 1_000, -1_000]), validator.check([*[1] * 40_000, -1_000])
    assert few is not None
    assert many is not None
    assert (few.path, many.path) == ("[1000]", "")
    assert many.message == "expected a value that fits the schema, got array of 40001 items"


@pytest.mark.parametrize("trusted", [True, False])
def test_comparing_long_numbers_is_bounded_whoever_wrote_the_schema(*, trusted: bool) -> None:
    validator = compile_validator({"uniqueItems": True}, trusted=trusted)
    assert validator.check([2**64 + n for n in range(500)]) is None
    assert validator.check({"a": [{"b": list(range(100_000))}]}) is None
    violation = validator.check([10**30 + n for n in range(30_000)])
    assert violation is not None
    assert violation.expected == "a value whose check is bounded in time"


def test_our_own_schemas_may_take_as_long_as_their_author_likes() -> None:
    schema, value = {"items": limits(500)}, [1] * 100_000
    assert compile_validator(schema, trusted=False).check(value) is not None
    assert compile_validator({**schema, "contains": {}}, trusted=True).check(value) is None


def test_a_big_value_meets_alternatives_in_the_full_engine() -> None:
    options = [
        {"type": "object", "properties": {f"k{n}": {"type": "integer"}}, "required": [f"k{n}"]}
        for n in range(5)
    ]
    schema: dict[str, Any] = {
        "type": "array",
        "items": {"anyOf": [*options, {"type": "object", "properties": {}}]},
    }
    validator = compile_validator(schema, trusted=True)
    assert validator.engine == "fast"
    begun = time.process_time()
    assert validator.check([{}] * 300_000) is None  # 7 s in the fast one
    violation = validator.check([*[{}] * 300_000, 5])
    assert violation is not None
    assert time.process_time() - begun < SOON
    small = validator.check([{}, 5])
    assert small is not None
    assert small.path == "[1]"


@pytest.mark.parametrize(
    ("pattern", "costs"),
    [
        ("x", (2, 1, 0, 0)),
        ("^[a-z]{1,64}$", (2, 1, 0, 0)),  # wherever it is, there is one place to be
        (r"^[\w.]{1,64}@[\w.]{1,255}$", (2, 64, 0, 0)),
        (r"^a?b{3}[)\](]+\x41$", (2, 1, 0, 0)),
        ("a{20}", (2, 20, 0, 0)),
        ("a{20,}", (2, 20, 0, 0)),
        ("(?:a{10}b{0,10}){10}", (2, 200, 0, 0)),
        ("((a{10}){10}){10}", (2, 1_000, 0, 0)),
        ("[ab]*a[ab]{100}c", (2, 103, 0, 0)),
        ("^[ab]*a[ab]{100}c", (2, 103, 0, 0)),
        ("^a{9}|b", (2, 10, 0, 0)),
        (r"^(?=.*\d).{8,64}$", (8, 0, 2, 4)),
        (r"^(?!foo)[a-z]+$", (8, 0, 2, 1)),
        (r"(a)\1", (8, 0, 2, 1)),
        (LOOKS_FAR, (8, 0, 2, 31)),
        (GOES_ASTRAY, (40_000, 0, 5_000, 0)),
        (r"^(a+)+\1$", (40_000, 0, 0, 0)),
        (r"a*a*(?=b)", (40_000, 0, 3_750, 0)),
        (r"(?:a|a)(?:a|a)(?=b)", (40_000, 0, 6_250, 0)),
        (r"(?=(?=a))b", (40_000, 0, 2_500, 0)),
    ],
)
def test_what_a_pattern_costs(pattern: str, costs: tuple[int, int, int, int]) -> None:
    cost = pattern_cost(pattern)
    assert (cost.text, cost.character, cost.short, cost.square) == costs


@pytest.mark.parametrize("pattern", ["(", ")", "*", "a{3", "[", "\\", "(?", "(a", "a)*", "|*"])
def test_what_is_no_pattern_costs_something_too(pattern: str) -> None:
    assert pattern_cost(pattern).text > 0


def test_most_of_the_bound_is_for_the_schema() -> None:
    # What the documents say: 30 million evaluations.
    assert MAX_WORK == 30_000_000


LITTLE: dict[str, Any] = {
    "one": {"result": 1},
    "texts": {f"p{n}": "ab" * 32 for n in range(32)},
    "numbers": {f"p{n}": 2**53 - 1 for n in range(32)},
    "a long name": {"x" * 10_000: None, "y": True},
    "nothing": {},
    "many of nothing": [[], {}] * 50,
    "records": [RECORD] * 3,
    "deep": within(90, "ab"),
    "a tiny number": 1e-7,
    "tiny numbers": [-1e-7, 1e16, 5e-324] * 20,
    "long integers": [2**63, -(2**64), 10**4_000],
    "long names": {f"{n}" * 300: "aa" for n in range(9)},
    "a map of lists": {"x": [1] * 100, "items": [["a"] * 5] * 9},
}


@pytest.mark.parametrize("value", LITTLE.values(), ids=LITTLE)
@pytest.mark.parametrize(
    "schema",
    [schema for schema, _ in [*TOO_MUCH.values(), *HONEST.values(), (TREE, None)]],
    ids=[*TOO_MUCH, *HONEST, "TREE"],
)
def test_the_length_of_a_value_bounds_what_counting_it_finds(
    monkeypatch: pytest.MonkeyPatch, schema: Any, value: Any
) -> None:
    monkeypatch.setattr(_work, "_FREE_PER_PLACE", 0)
    engine = compile_validator(schema, trusted=False)._full
    assert engine is not None
    assert engine._work is not None
    length = length_of(value)
    assert length is not None
    assert engine._work._count(value) <= engine._work.at_most(length)


TEXTS = st.text(st.characters(codec="utf-8"))
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@given(ANY_JSON)
def test_it_does_so_for_any_value(value: Any) -> None:
    schema: dict[str, Any] = {
        "items": {"$ref": "#"},
        "additionalProperties": {"$ref": "#"},
        "propertyNames": {"pattern": GOES_ASTRAY},
        "uniqueItems": True,
        "anyOf": [{"minimum": 0.5}, {"pattern": "a{20}"}, {"enum": [1.5, "a"]}],
    }
    engine = compile_validator(schema, trusted=False)._full
    assert engine is not None
    assert engine._work is not None
    free = _work._FREE_PER_PLACE * measure(value, 10**6)[0]
    length = length_of(value)
    assert length is not None
    assert engine._work._count(value) + free <= engine._work.at_most(length)


def test_values_of_some_kilobytes_are_seldom_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    hints = {**RECORD_SCHEMA["properties"], "tags": {"items": {"type": "string"}}}
    for schema, few in ((RECORD_SCHEMA, 2), ({**RECORD_SCHEMA, "properties": hints}, 100)):
        validator = compile_validator({"items": schema}, trusted=False)
        assert validator._full is not None
        monkeypatch.setattr(validator._full._work, "_count", None)
        assert validator.check([RECORD] * few) is None
        with pytest.raises(TypeError):
            validator.check([RECORD] * 50_000)
