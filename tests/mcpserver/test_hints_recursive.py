# ruff: noqa: F821, UP006, UP007, UP035, UP037, UP045
# Hints are data here, in each spelling that authors use.
from __future__ import annotations

import dataclasses
import datetime as dt
import json
import types
from typing import Annotated, Any, Dict, Generic, List, NewType, Optional, TypeVar, Union

import annotated_types
import pytest
import typing_extensions

from trio_mcp._codec._schema import compile_validator
from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver import MCPServer
from trio_mcp.mcpserver._elicitation_form import form_of
from trio_mcp.mcpserver._hints import HintError, Mismatch, Scope, UnknownName, Walker
from trio_mcp.mcpserver._tool import Tool

T = TypeVar("T")
Nested = TypeVar("Nested", bound="list[Nested]")

Rec = dict[str, "Rec"]
ListOf = list["ListOf"]
JSON = Union[dict[str, "JSON"], list["JSON"], str, int, float, bool, None]
OldJSON = Union[Dict[str, "OldJSON"], List["OldJSON"], str]
Dates = Union[dt.date, list["Dates"]]
Few = Annotated[list["Few"], annotated_types.MaxLen(2)]
Through = dict[str, "list[Through] | None"]
Pair = tuple[int, "Pair | None"]
Even = dict[str, "Odd"]
Odd = list["Even"]
Alias = typing_extensions.TypeAliasType("Alias", "dict[str, Alias] | list[Alias] | str")
New = NewType("New", "list[New]")


@dataclasses.dataclass
class Branch:
    leaves: Leaves


Leaves = dict[str, "Branch"]

Itself = Union["Itself", int]
First = Union["Second", int]
Second = Union["First", str]
Loop = "Pool"
Pool = "Loop"
LoopAlias = typing_extensions.TypeAliasType("LoopAlias", "LoopAlias")


@dataclasses.dataclass
class Growing(Generic[T]):
    inner: Optional[Growing[list[T]]] = None


def walk(hint: Any, **options: Any) -> Any:
    walker = Walker(Scope(globals()), **options)
    shape = walker.shape(hint)
    return shape, walker.document(shape.schema)


def takes(hint: Any, value: Any) -> bool:
    document = walk(hint)[1]
    return compile_validator(document, trusted=True).check(value) is None


def test_an_alias_that_contains_itself_is_a_definition() -> None:
    items = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Rec"}}
    assert walk(Rec)[1] == {**items, "$defs": {"Rec": items}}


JSON_ARMS = [
    {"type": "object", "additionalProperties": {"$ref": "#/$defs/JSON"}},
    {"type": "array", "items": {"$ref": "#/$defs/JSON"}},
    *({"type": each} for each in ("string", "integer", "number", "boolean", "null")),
]


@pytest.mark.parametrize("hint", [JSON, "JSON", Optional[JSON], Optional["JSON"]])
def test_the_usual_alias_of_json_has_one_definition(hint: Any) -> None:
    document = walk(hint)[1]
    assert document["$defs"] == {"JSON": {"anyOf": JSON_ARMS}}
    assert document["anyOf"] in (JSON_ARMS, [{"$ref": "#/$defs/JSON"}, {"type": "null"}])


def test_two_parameters_share_a_definition() -> None:
    def run(a: JSON, b: JSON, c: list[JSON]) -> None:
        raise NotImplementedError

    schema = Tool.from_function(run).parameters
    assert list(schema["$defs"]) == ["JSON"]
    assert schema["properties"]["a"] == schema["properties"]["b"] == {"$ref": "#/$defs/JSON"}


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (Rec, {"a": {"b": {}}}, {"a": {"b": 1}}),
        (ListOf, [[], [[[]]]], [[], [[1]]]),
        (JSON, {"a": [1, 2.5, None, {"b": "c", "d": True}]}, None),
        (OldJSON, {"a": ["b", {"c": "d"}]}, {"a": [1]}),
        (Few, [[], [[], []]], [[], [[], [], []]]),
        (Through, {"a": [{"b": None}]}, {"a": [{"b": 1}]}),
        (Pair, [1, [2, None]], [1, [2, 3]]),
        (Even, {"a": [{"b": []}]}, {"a": [[]]}),
        (Odd, [{"a": []}], [[]]),
        (Alias, {"a": ["b", {"c": "d"}]}, {"a": [1]}),
        (New, [[], [[]]], [[1]]),
        (Nested, [[], [[]]], [[1]]),
        (Branch, {"leaves": {"a": {"leaves": {}}}}, {"leaves": {"a": {"leaves": 1}}}),
        (Leaves, {"a": {"leaves": {}}}, {"a": {"leaves": {"b": {}}}}),
    ],
)
def test_values_are_checked_at_every_level(hint: Any, good: Any, bad: Any) -> None:
    assert takes(hint, good)
    assert bad is None or not takes(hint, bad)


@pytest.mark.parametrize(
    ("hint", "value", "made"),
    [
        (Dates, ["2020-01-01", ["2020-01-02"]], [dt.date(2020, 1, 1), [dt.date(2020, 1, 2)]]),
        (Pair, [1, [2, None]], (1, (2, None))),
        (Leaves, {"a": {"leaves": {}}}, {"a": Branch({})}),
        (JSON, {"a": [1.0, 1, None]}, {"a": [1.0, 1, None]}),
    ],
)
def test_values_are_converted_at_every_level(hint: Any, value: Any, made: Any) -> None:
    converted = walk(hint)[0].structure(value)
    assert converted == made
    written = walk(hint, is_result=True)[0].unstructure(converted)
    assert json.loads(json.dumps(written)) == value


def test_a_value_that_does_not_convert_is_named_with_its_path() -> None:
    with pytest.raises(Mismatch, match=r"\[1\]\[0\]: expected a date"):
        walk(Dates)[0].structure(["2020-01-01", ["2020-13-01"]])


def test_an_alias_of_a_function_is_found_by_its_name() -> None:
    Local = dict[str, "Local"]  # noqa: N806 - a type

    def run(a: "Local") -> "Local":
        raise NotImplementedError

    tool = Tool.from_function(run)
    assert list(tool.parameters["$defs"]) == ["Local"]
    assert tool.output_schema is not None
    assert list(tool.output_schema["$defs"]) == ["Local"]


def test_what_has_no_name_where_it_is_mentioned_is_read_all_the_same() -> None:
    tree = dict[str, "elsewhere.Tree"]
    walker = Walker(Scope({"elsewhere": types.SimpleNamespace(Tree=tree)}))
    document = walker.document(walker.shape(tree).schema)
    validator = compile_validator(document, trusted=True)
    assert validator.check({"a": {"b": {"c": {}}}}) is None
    assert validator.check({"a": {"b": {"c": 1}}}) is not None


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (Itself, "Itself: it stands for itself"),
        (First, "First: it stands for itself"),
        (LoopAlias, "LoopAlias: it stands for itself"),
        ("Loop", "or has no end"),
        (Growing[int], "or has no end"),
    ],
)
def test_what_stands_for_no_value_is_refused_by_name(hint: Any, reason: str) -> None:
    with pytest.raises(HintError, match=reason):
        walk(hint)

    def run(value: Any) -> None:
        raise NotImplementedError

    run.__annotations__["value"] = hint
    with pytest.raises(InvalidSignature, match=f"run: parameter 'value'.*{reason}"):
        Tool.from_function(run)

    def give() -> Any:
        raise NotImplementedError

    give.__annotations__["return"] = hint
    with pytest.raises(InvalidSignature, match=f"give: structured output of .*{reason}"):
        Tool.from_function(give, structured_output=True)


def test_a_form_cannot_ask_for_what_contains_itself() -> None:
    @dataclasses.dataclass
    class Asked:
        tree: Rec

    with pytest.raises(TypeError, match=r"Asked.tree cannot be asked in a form"):
        form_of(Asked)


def test_an_alias_that_is_evaluated_when_asked_for_may_lack_a_name() -> None:
    class TypeAliasType:
        __name__ = "Late"

        @property
        def __value__(self) -> Any:
            raise NameError("name 'Missing' is not defined", name="Missing")

    with pytest.raises(UnknownName, match="the name 'Missing' is not known"):
        walk(TypeAliasType())


async def test_a_tool_takes_and_returns_json_of_any_depth() -> None:
    mcp = MCPServer()

    @mcp.tool()
    def echo(value: JSON) -> JSON:
        return value

    deep: Any = 1
    for _ in range(45):
        deep = {"a": [deep]}
    result = await mcp.call_tool("echo", {"value": deep})
    assert result.structured_content == {"result": deep}
