"""Making a peer's schema ready is work as well, and it is bounded before it is done.

Nothing here looks at a clock: what is counted is what was done, or that it was refused.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp._codec._schema import (
    SchemaError,
    UnsupportedPattern,
    _cost,
    _graph,
    _patterns,
    compile_validator,
)
from trio_mcp._codec._schema._budget import MAX_STEPS, Budget
from trio_mcp._codec._schema._cost import Costs
from trio_mcp._codec._schema._dialects import DIALECTS, DRAFT_2020_12
from trio_mcp._codec._schema._graph import SchemaGraph
from trio_mcp._codec._schema._pattern_cost import _Reading, spend_on_patterns

if TYPE_CHECKING:
    from types import FrameType

TOO_MUCH_WORK = "is too much work: it takes more than 2250000 steps to make it ready"
LONG = [10**30 + n for n in range(2_000)]


def refused(schema: Any) -> str:
    with pytest.raises(SchemaError) as caught:
        compile_validator(schema, trusted=False, where="outputSchema")
    return caught.value.reason


def spent_on_pattern(pattern: str) -> float:
    budget = Budget("schema", 10**12)
    spend_on_patterns([pattern], budget)
    return 10**12 - budget.left


@pytest.mark.req("R-044")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "schema",
    [
        {"required": LONG},
        {"type": LONG},
        {"enum": LONG},
        {"dependentRequired": {"a": LONG}},
        {"dependencies": {"a": LONG}},
        {"properties": {"a": {"anyOf": [{"required": [[n] for n in LONG]}]}}},
        {"required": [{"a": n} for n in LONG]},
        {"required": [10**4_000 + n for n in range(100)]},
    ],
    ids=lambda schema: next(iter(schema)),
)
def test_a_metaschema_compares_no_thousands_of_long_numbers(
    dialect: str, schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonschema_rs.meta, "is_valid", None)
    assert refused({"$schema": dialect, **schema}) == TOO_MUCH_WORK


def test_long_numbers_that_no_metaschema_compares_are_welcome() -> None:
    unsigned = {"type": "integer", "minimum": 0, "maximum": 2**64 - 1}
    schema = {"allOf": [{"properties": {f"p{n}": unsigned}} for n in range(1_000)]}
    assert compile_validator(schema, trusted=False).check({"p1": 2**64}) is not None


def dynamic(count: int) -> dict[str, Any]:
    named = {f"a{n}": {"$dynamicAnchor": "a"} for n in range(count)}
    return {"$defs": {**named, **{f"r{n}": {"$dynamicRef": "#a"} for n in range(count)}}}


@pytest.mark.req("R-044")
@pytest.mark.parametrize("count", [10, 2_000])
def test_dynamic_references_share_what_they_may_mean(count: int) -> None:
    graph = SchemaGraph(dynamic(count), DRAFT_2020_12, where="schema", budget=Budget("schema"))
    shared = {target for node in graph.nodes for target in node.dynamic}
    edges = sum(len([*node.applied()]) for node in {*graph.nodes, *shared})
    assert edges <= 3 * count
    assert compile_validator(dynamic(count), trusted=False).check({}) is None


def test_a_dynamic_reference_means_all_that_bear_its_name_wherever_they_are() -> None:
    # The second is no subschema before something refers to it.
    schema = {
        "$defs": {"a": {"$dynamicAnchor": "n"}},
        "properties": {"x": {"$dynamicRef": "#%6e"}},
        "allOf": [{"$ref": "#/elsewhere/b"}],
        "elsewhere": {"b": {"$dynamicAnchor": "n"}},
    }
    graph = SchemaGraph(schema, DRAFT_2020_12, where="schema", budget=Budget("schema"))
    referring = next(node for node in graph.nodes if node.dynamic)
    assert [node.path for node in referring.dynamic[0].dynamic] == [
        ("$defs", "a"),
        ("elsewhere", "b"),
    ]


WIDE = "(?i)[\0-\U0010ffff]"


@pytest.mark.req("R-044")
@pytest.mark.parametrize(
    "patterns",
    [
        [rf"(?i)[\p{{L}}]{n}" for n in range(500)],
        [r"\p{L}" * 9 + f"x{n}" for n in range(500)],
        ["(?i)[a-zA-Z\u0400-\u0fff]" * 200 + f"x{n}" for n in range(10)],
        ["ab" * 2_000 + f"x{n}" for n in range(400)],
        ["(?:" * 240 + "a" + ")?" * 240 + f"x{n}" for n in range(500)],
        [r"\cA" * 1_500 + f"{n}" for n in range(20)],
        [WIDE * 100],
        ["(?ix)[\0- \U0010ffff]" * 100],
        ["(?xi)[\0-#\n\U0010ffff]" * 100],
    ],
    ids=lambda patterns: ascii(patterns[0][:20]),
)
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_all_patterns_of_a_schema_come_out_of_one_budget(
    patterns: list[str], keyword: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_patterns, "_compiles", None)
    if keyword == "pattern":
        assert refused({"anyOf": [{"pattern": each} for each in patterns]}) == TOO_MUCH_WORK
    else:
        assert refused({"patternProperties": {each: {} for each in patterns}}) == TOO_MUCH_WORK


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$",
        r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$",
        r"^(?!\s)[^\r\n]{1,255}$",
    ],
)
def test_200_ordinary_patterns_take_a_part_of_it(pattern: str) -> None:
    assert 200 * spent_on_pattern(pattern) < MAX_STEPS


def test_a_pattern_that_is_repeated_is_made_ready_once() -> None:
    once, budget = spent_on_pattern("a" * 1_000), Budget("schema", 10**12)
    spend_on_patterns(["a" * 1_000] * 100, budget)
    assert 10**12 - budget.left < 2 * once


@pytest.mark.parametrize("pattern", ["[" * 5_000, "[" * 4_999 + "\\", "[^\\" * 1_600])
def test_a_class_that_is_not_closed_is_read_once(pattern: str) -> None:
    assert _Reading(pattern).places == 1
    with pytest.raises(UnsupportedPattern):
        compile_validator({"pattern": pattern}, trusted=False)


@pytest.mark.parametrize("repeated", ["{%s}", "{%s,}", "{1,%s}"])
def test_a_repetition_of_thousands_of_digits_is_a_pattern_that_cannot_be_used(
    repeated: str,
) -> None:
    with pytest.raises(UnsupportedPattern):
        compile_validator({"pattern": "a" + repeated % ("9" * 4_500)}, trusted=False)
    assert _Reading("a" + repeated % ("0" * 4_500 + "7")).places == 7


def lines_of(module: Any, schema: dict[str, Any]) -> int:
    """How many lines of a module run when a schema is made ready."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename != module.__file__:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        compile_validator(schema, trusted=False)
    except SchemaError:
        pass
    finally:
        sys.settrace(before)
    return count


def chain_with_ways_back(count: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{n}": {
            "allOf": [
                {"$ref": f"#/$defs/d{n + 1}"},
                {"properties": {"a": {"$ref": "#/$defs/d0"}}},
            ]
        }
        for n in range(count)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{count}": {}}}


def all_inside(count: int) -> dict[str, Any]:
    """Each alternative leads to the next one, and the last back to all of them."""
    last = {"items": {"$ref": "#/$defs/x"}}
    steps = [{"$ref": f"#/$defs/x/allOf/{n + 1}"} for n in range(count)]
    return {
        "$defs": {"x": {"allOf": [*steps, last]}},
        "properties": {"a": {"$ref": "#/$defs/x/allOf/0"}},
    }


@pytest.mark.req("R-044")
@pytest.mark.parametrize("family", [chain_with_ways_back, all_inside, dynamic])
@pytest.mark.parametrize("module", [_cost, _graph], ids=["cost", "graph"])
def test_twice_the_references_are_twice_the_work(family: Any, module: Any) -> None:
    few, many = (lines_of(module, family(count)) for count in (150, 300))
    assert few < many < 2.5 * few


def test_a_circle_is_found_wherever_it_begins() -> None:
    schema = chain_with_ways_back(300)
    assert compile_validator(schema, trusted=False).check({}) is None
    schema["$defs"]["d300"] = {"not": {"$ref": "#/$defs/d299"}}
    assert "never ends" in refused(schema)


@pytest.mark.req("R-044")
@pytest.mark.parametrize(
    "schema",
    [
        {
            "$id": "http://x/" + "a/" * 50_000,
            "properties": {f"p{n}": {"$ref": "./#/$defs/q"} for n in range(400)},
            "$defs": {"q": {}},
        },
        {
            "$id": "http://x/" + "a/" * 50_000,
            "$defs": {f"d{n}": {"$id": f"{n}"} for n in range(400)},
        },
        {"properties": {f"p{n}": {"$ref": "x:" + "a/" * 5_000} for n in range(400)}},
        {"properties": {f"p{n}": {"$ref": "#/$defs" + "/q" * 5_000} for n in range(400)}},
    ],
    ids=["references", "identifiers", "long references", "long pointers"],
)
def test_long_identifiers_are_not_joined_again_and_again(
    schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[int] = []
    join = _graph.urljoin

    def counted(base: str, reference: str) -> str:
        joined.append(len(base) + len(reference))
        return join(base, reference)

    monkeypatch.setattr(_graph, "urljoin", counted)
    assert refused(schema)  # for it, or since a reference leads to nothing
    assert sum(joined) <= 2 * MAX_STEPS


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("index", ["9" * 5_000, "0" * 5_000, "1000000000"])
def test_an_index_of_many_digits_leads_to_nothing(index: str, *, trusted: bool) -> None:
    schema: dict[str, Any] = {"allOf": [{}], "properties": {"a": {"$ref": f"#/allOf/{index}"}}}
    with pytest.raises(SchemaError, match="leads to nothing"):
        compile_validator(schema, trusted=trusted)


def test_levels_are_worked_out_as_long_as_there_are_steps_left() -> None:
    chain = {f"d{n}": {"items": {"$ref": f"#/$defs/d{n + 1}"}} for n in range(3_000)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**chain, "d3000": {"minimum": 0}}}
    budget = Budget("schema", MAX_STEPS)
    graph = SchemaGraph(schema, DRAFT_2020_12, where="schema", budget=budget)
    costs = Costs(graph, budget)
    costs.check(where="schema")
    # A fault in a deep value is not described, if that may take too long to know.
    assert costs.of_describing(1) < 100
    assert costs.of_describing(100) > 10**9
    validator = compile_validator(schema, trusted=False)
    value: Any = 1
    for _ in range(95):
        value = [value]
    violation = validator.check(value)
    assert violation is not None
    assert violation.expected == "a value whose check is bounded in time"
    assert validator.check([1]) is None


def record(members: int, number: int = 0) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"type": "string", "description": "Some words about it", "minLength": 1},
        {"type": "integer", "minimum": 0},
        {"$ref": f"#/$defs/M{number * 7 % 150}"},
        {"type": "array", "items": {"type": "number"}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "string", "pattern": "^[A-Z][a-z]+$"},
    ]
    return {
        "type": "object",
        "description": "A thing of the service that has some members.",
        "properties": {f"member_{n}": kinds[n % len(kinds)] for n in range(members)},
        "required": [f"member_{n}" for n in range(0, members, 3)],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("members", [12, 25])
def test_the_models_of_a_whole_service_are_no_matter(members: int) -> None:
    schema: dict[str, Any] = {
        "$defs": {f"M{n}": record(members, n) for n in range(150)},
        "type": "object",
        "properties": {"thing": {"$ref": "#/$defs/M0"}},
    }
    validator = compile_validator(schema, trusted=False)
    assert validator.check({"thing": {"member_0": "a", "member_3": [1.5]}}) is not None
    fits = {f"member_{n}": "a" if n % 6 == 0 else [1.5] for n in range(0, members, 3)}
    assert validator.check({"thing": fits}) is None


def test_a_tool_with_30_members_takes_a_hundredth_of_the_budget() -> None:
    budget = Budget("schema", MAX_STEPS)
    schema: dict[str, Any] = {**record(30), "$defs": {"M0": {}}}
    graph = SchemaGraph(schema, DRAFT_2020_12, where="schema", budget=budget)
    Costs(graph, budget).check(where="schema")
    assert MAX_STEPS - budget.left < MAX_STEPS / 100


def test_our_own_schemas_may_be_as_much_work_as_their_author_likes() -> None:
    patterns = {"anyOf": [{"pattern": "ab" * 1_000 + f"x{n}"} for n in range(100)]}
    assert refused(patterns) == TOO_MUCH_WORK
    assert compile_validator(patterns, trusted=True).check(1) is None


WORDS = st.sampled_from(
    [
        *("$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor", "$recursiveRef", "$defs"),
        *("$recursiveAnchor", "items", "properties", "patternProperties", "pattern", "allOf"),
        *("anyOf", "not", "required", "enum", "type", "minimum", "uniqueItems", "a", "$schema"),
    ]
)
ODDITIES = st.sampled_from(
    [
        *("#", "#a", "a", "#/$defs/a", "#/allOf/0", "#/allOf/" + "7" * 4_400, "x:a", "object"),
        *(2**80, -1e300, 0.5, True, "a{" + "8" * 4_400 + "}", "(?=a)", "[", r"\cA", WIDE),
        *DIALECTS,
    ]
)
SCHEMAS = st.recursive(
    ODDITIES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5)
)


@given(st.dictionaries(WORDS, SCHEMAS, max_size=6))
def test_whatever_a_schema_is_it_can_be_used_or_is_refused(schema: dict[str, Any]) -> None:
    for trusted in (True, False):
        try:
            validator = compile_validator(schema, trusted=trusted)
        except SchemaError:
            continue
        assert validator.violations([1, "a", {"a": [2**70]}], 3) is not None
