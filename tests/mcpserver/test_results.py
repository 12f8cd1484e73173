# ruff: noqa: UP007, UP045
# Hints are data here, in each spelling that authors use.
from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import logging
import re
import typing
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, Optional, TypedDict, Union

import attrs
import msgspec
import pydantic
import pytest

from trio_mcp import Client, MCPServer
from trio_mcp._codec._schema import compile_validator
from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver._media import Audio, File, Image
from trio_mcp.mcpserver._result_content import ResultError, reads_files, to_content
from trio_mcp.mcpserver._results import plan_result
from trio_mcp.mcpserver._signature import read_signature
from trio_mcp.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
)


@attrs.define
class Point:
    x: int
    when: dt.date | None = None


@attrs.define
class FarPoint(Point):
    label: str = "far"


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


class Trip(TypedDict):
    start: Point


class Pair(NamedTuple):
    left: int
    right: str


class Person(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    name: str = pydantic.Field(alias="Name")
    born: dt.date | None = None

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def loud(self) -> str:
        return self.name.upper()


class Struct(msgspec.Struct):
    size: int


class Annotated1:
    size: int

    def __init__(self, size: int) -> None:
        self.size = size


class Bare:
    pass


class Color(enum.Enum):
    RED = "red"


def plan(hint: Any, structured_output: bool | None = None) -> Any:
    def tool() -> None: ...

    tool.__annotations__["return"] = hint
    signature = read_signature(tool, is_context=lambda hint: False)
    return plan_result(signature, structured_output)


def wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "title": "toolOutput",
        "properties": {"result": schema},
        "required": ["result"],
    }


def texts(*lines: str) -> list[Any]:
    return [TextContent(text=line) for line in lines]


INT = {"type": "integer"}

WRAPPED: list[tuple[Any, Any, dict[str, Any], Any, list[str]]] = [
    (int, 3, INT, 3, ["3"]),
    (float, 1.5, {"type": "number"}, 1.5, ["1.5"]),
    (str, "hi", {"type": "string"}, "hi", ["hi"]),
    (bool, True, {"type": "boolean"}, True, ["true"]),
    (None, None, {"type": "null"}, None, []),
    (Optional[int], None, {"type": ["integer", "null"]}, None, []),
    (Union[int, str], "x", {"type": ["integer", "string"]}, "x", ["x"]),
    (list[int], [1, 2], {"type": "array", "items": INT}, [1, 2], ["1", "2"]),
    (list[int], (1, 2), {"type": "array", "items": INT}, [1, 2], ["1", "2"]),
    (Sequence[str], ["a"], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (
        tuple[int, str],
        (1, "x"),
        {"type": "array", "prefixItems": [INT, {"type": "string"}], "items": False, "minItems": 2},
        [1, "x"],
        ["1", "x"],
    ),
    (set[int], {1}, {"type": "array", "items": INT, "uniqueItems": True}, [1], ["[\n  1\n]"]),
    (Literal["a"], "a", {"type": "string", "const": "a"}, "a", ["a"]),
    (Color, Color.RED, {"type": "string", "const": "red"}, "red", ['"red"']),
    (
        dt.date,
        dt.date(2020, 1, 2),
        {"type": "string", "format": "date"},
        "2020-01-02",
        ['"2020-01-02"'],
    ),
    (
        uuid.UUID,
        uuid.UUID(int=0),
        {"type": "string", "format": "uuid"},
        "00000000-0000-0000-0000-000000000000",
        ['"00000000-0000-0000-0000-000000000000"'],
    ),
    (
        decimal.Decimal,
        decimal.Decimal("1.50"),
        {"type": ["string", "number"]},
        "1.50",
        ['"1.50"'],
    ),
    (bytes, b"\xfb\xff", {"type": "string", "contentEncoding": "base64"}, "+/8=", ['"+/8="']),
    (Annotated[int, "Sum."], 3, {**INT, "description": "Sum."}, 3, ["3"]),
    (
        Optional[Struct],
        Struct(1),
        {
            "anyOf": [
                {
                    "type": "object",
                    "title": "Struct",
                    "properties": {"size": INT},
                    "required": ["size"],
                },
                {"type": "null"},
            ]
        },
        {"size": 1},
        ['{\n  "size": 1\n}'],
    ),
]


@pytest.mark.case("C062")
@pytest.mark.req("R-251")
@pytest.mark.parametrize(("hint", "value", "schema", "structured", "text"), WRAPPED)
def test_what_is_no_object_is_wrapped(
    hint: Any, value: Any, schema: dict[str, Any], structured: Any, text: list[str]
) -> None:
    made = plan(hint)
    assert made.output_schema == wrapped(schema)
    assert made.wraps
    assert made.convert(value) == CallToolResult(
        content=texts(*text), structured_content={"result": structured}
    )


OBJECTS: list[tuple[Any, Any, str, Any]] = [
    (Point, Point(1), "Point", {"x": 1, "when": None}),
    (Point, Point(1, dt.date(2020, 1, 2)), "Point", {"x": 1, "when": "2020-01-02"}),
    (Point, FarPoint(1), "Point", {"x": 1, "when": None, "label": "far"}),
    (Point, {"x": 1}, "Point", {"x": 1}),
    (
        Node,
        Node(1, [Node(2)]),
        "Node",
        {"value": 1, "children": [{"value": 2, "children": []}]},
    ),
    (Trip, {"start": Point(1)}, "Trip", {"start": {"x": 1, "when": None}}),
    (Pair, Pair(1, "r"), "Pair", {"left": 1, "right": "r"}),
    (Struct, Struct(1), "Struct", {"size": 1}),
    (Annotated1, Annotated1(1), "Annotated1", {"size": 1}),
    (Person, Person(Name="a"), "Person", {"Name": "a", "born": None, "loud": "A"}),
    (Person, {"Name": "a"}, "Person", {"Name": "a", "born": None, "loud": "A"}),
    (dict[str, int], {"a": 1}, "toolDictOutput", {"a": 1}),
    (dict[str, Any], {"a": [dt.date(2020, 1, 2)]}, "toolDictOutput", {"a": ["2020-01-02"]}),
    (Mapping[str, int], {"a": 1}, "toolDictOutput", {"a": 1}),
    (Annotated[Point, "Where."], Point(1), "Point", {"x": 1, "when": None}),
]


@pytest.mark.case("C062")
@pytest.mark.req("R-251")
@pytest.mark.parametrize(("hint", "value", "title", "structured"), OBJECTS)
def test_objects_are_not_wrapped(hint: Any, value: Any, title: str, structured: Any) -> None:
    made = plan(hint)
    assert made.output_schema["type"] == "object"
    assert made.output_schema["title"] == title
    assert not made.wraps
    result = made.convert(value)
    assert result.structured_content == structured
    assert compile_validator(made.output_schema, trusted=False).check(structured) is None
    (block,) = result.content
    assert msgspec.json.decode(block.text) == structured


def test_the_text_of_an_object_is_indented() -> None:
    (block,) = plan(Point).convert(Point(1)).content
    assert block.text == '{\n  "x": 1,\n  "when": null\n}'


@pytest.mark.parametrize(
    "hint",
    [
        Any, object, dict, list, tuple, set, Iterator, Sequence, Mapping, Bare, complex, NoReturn, typing.Never,
        TextContent, Image, Audio, File, ResourceLink, EmbeddedResource, ImageContent,
        AudioContent, list[Image], list[TextContent | Image], tuple[Image, str],
        Sequence[Image], Iterator[Image], Optional[Image], Image | str, Annotated[Image, "A picture."],
        CallToolResult, InputRequiredResult, dict[str, Image],
    ],
)  # fmt: skip
def test_what_has_no_structured_content(hint: Any) -> None:
    made = plan(hint)
    assert made.output_schema is None
    assert made.validator is None
    assert made.convert("x").structured_content is None


def test_a_function_without_a_hint_has_no_structured_content() -> None:
    signature = read_signature(lambda: 0, is_context=lambda hint: False)
    assert plan_result(signature, None).output_schema is None
    with pytest.raises(InvalidSignature, match="needs a hint of the result"):
        plan_result(signature, True)


def test_structured_output_can_be_declined() -> None:
    made = plan(int, structured_output=False)
    assert made.output_schema is None
    assert made.convert(3) == CallToolResult(content=texts("3"))


def test_structured_output_can_be_insisted_on() -> None:
    assert plan(dict, structured_output=True).output_schema["type"] == "object"
    assert plan(list, structured_output=True).output_schema == wrapped({"type": "array"})
    assert plan(Any, structured_output=True).output_schema == wrapped({})


@pytest.mark.parametrize("hint", [Bare, complex, Image, TextContent, list[Image], dict[str, Bare]])
def test_structured_output_that_is_impossible_is_refused(hint: Any) -> None:
    with pytest.raises(InvalidSignature, match="tool: structured output of "):
        plan(hint, structured_output=True)


def test_a_hint_without_a_schema_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "trio_mcp"):
        plan(dict[str, Bare])
    assert "tool has no structured output: Bare" in caplog.text


@pytest.mark.req("R-253")
@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        (int, "x", "result: expected integer, got string 'x'"),
        (int, None, "result: expected integer, got null"),
        (list[int], [1, "x"], "result[1]: expected integer, got string 'x'"),
        (Point, {"x": "y"}, "x: expected integer, got string 'y'"),
        (Point, 3, "expected object, got integer 3"),
        (Person, {"Name": 1}, "Name: expected a Person (Input should be a valid string), got"),
        (int, object(), "result: object has no JSON form"),
        (float, float("nan"), "result: JSON has no nan"),
        (dict[str, Any], {"a": float("inf")}, "result.a: JSON has no inf"),
        (dict[str, Any], {(1, 2): 1}, "the name of an object's member is text"),
        (Color, "blue", "result: expected 'red', got string 'blue'"),
    ],
)
def test_what_does_not_fit_the_published_schema_is_refused(
    hint: Any, value: Any, text: str
) -> None:
    with pytest.raises(ResultError) as caught:
        plan(hint).convert(value)
    assert str(caught.value).startswith("the result does not fit the output schema: ")
    assert text in str(caught.value)


def test_structured_content_is_a_copy() -> None:
    own = [1]
    result = plan(list[int]).convert(own)
    own.append(2)
    assert result.structured_content == {"result": [1]}


def test_a_call_tool_result_is_passed_on() -> None:
    result = CallToolResult(content=texts("x"), structured_content=[1])
    assert plan(CallToolResult).convert(result) is result
    assert plan(None).convert(CallToolResult(content=[], is_error=True)).is_error


def test_structured_content_of_a_call_tool_result_is_checked() -> None:
    made = plan(Annotated[CallToolResult, Point])
    assert made.output_schema["title"] == "Point"
    good = CallToolResult(content=[], structured_content={"x": 1})
    assert made.convert(good) is good
    failed = CallToolResult(content=[], is_error=True)
    assert made.convert(failed) is failed
    with pytest.raises(ResultError, match="x: expected integer, got string 'y'"):
        made.convert(CallToolResult(content=[], structured_content={"x": "y"}))
    with pytest.raises(ResultError, match="no structured content"):
        made.convert(CallToolResult(content=[]))
    assert made.convert(Point(1)).structured_content == {"x": 1, "when": None}


def test_the_model_of_a_call_tool_result_may_have_constraints() -> None:
    made = plan(Annotated[CallToolResult, dict[str, int], "Counts."])
    assert made.output_schema["description"] == "Counts."


@pytest.mark.parametrize(
    "hint",
    [
        Optional[CallToolResult],
        CallToolResult | str,
        Union[Annotated[CallToolResult, Point], int],
        Union["CallToolResult", int],
    ],
)
def test_a_call_tool_result_cannot_be_one_of_several(hint: Any) -> None:
    with pytest.raises(InvalidSignature, match="CallToolResult cannot be one of several results"):
        plan(hint)


def test_a_question_to_the_client_is_no_data() -> None:
    made = plan(Union["InputRequiredResult", int])
    assert made.output_schema == wrapped(INT)
    question = InputRequiredResult(request_state="s")
    assert made.convert(question) is question
    assert plan(InputRequiredResult | CallToolResult).output_schema is None
    assert plan(InputRequiredResult | Annotated[CallToolResult, Point]).output_schema is not None
    assert plan(InputRequiredResult).convert(question) is question


@pytest.mark.case("C060")
def test_recursive_results_have_an_object_at_the_root() -> None:
    schema = plan(Node).output_schema
    assert schema["type"] == "object"
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert list(schema["$defs"]) == ["Node"]
    assert list(plan(list[Node]).output_schema["$defs"]) == ["Node"]


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", texts("text")),
        (None, []),
        ([], []),
        ([1, "a", None, [2, (3,)]], texts("1", "a", "2", "3")),
        (3.5, texts("3.5")),
        (2**70, texts("1180591620717411303424")),
        (True, texts("true")),
        ({"a": {"é": []}}, texts('{\n  "a": {\n    "é": []\n  }\n}')),
        (Point(1), texts('{\n  "x": 1,\n  "when": null\n}')),
        (Pair(1, "r"), texts('{\n  "left": 1,\n  "right": "r"\n}')),
        (b"\xfb\xff", texts('"+/8="')),
        (1j, texts('"1j"')),
        (Image(data=b"x"), [ImageContent(data="eA==", mime_type="image/png")]),
        (Audio(data=b"x"), [AudioContent(data="eA==", mime_type="audio/wav")]),
        (File(data=b"x"), [File(data=b"x").to_resource_content()]),
        (
            ["A picture:", Image(data=b"x")],
            [TextContent(text="A picture:"), ImageContent(data="eA==", mime_type="image/png")],
        ),
        (ResourceLink(name="n", uri="a://b"), [ResourceLink(name="n", uri="a://b")]),
    ],
)
def test_content_of_a_value(value: Any, content: list[Any]) -> None:
    assert to_content(value) == content


def test_content_of_numbers_that_json_lacks() -> None:
    with pytest.raises(ResultError, match="JSON has no nan"):
        to_content({"a": float("nan")})
    with pytest.raises(ResultError, match="too many digits"):
        to_content(10**5000)


class Loud(str):
    __slots__ = ()


MALFORMED: list[tuple[Any, str]] = [
    (CallToolResult(content="x"), r"CallToolResult.content: expected list, got str"),  # type: ignore[arg-type]
    (CallToolResult(content=None), "content: expected list, got NoneType"),  # type: ignore[arg-type]
    (CallToolResult(content=["x"]), r"content: .*TextContent, got str \(at content\[0\]\)"),  # type: ignore[list-item]
    (CallToolResult(content=[{"type": "nope"}]), "content.type: .*got 'nope'"),  # type: ignore[list-item]
    (CallToolResult(content=[TextContent(text=5)]), r"text: expected str, got int"),  # type: ignore[arg-type]
    (CallToolResult(content=texts("\ud800")), "lone surrogate"),
    (CallToolResult(content=[], structured_content={"a": {1}}), "a: set has no JSON form"),
    (CallToolResult(content=[], is_error="yes"), "is_error: expected bool, got str"),  # type: ignore[arg-type]
    (CallToolResult(content=[], meta=5), "meta: expected dict, got int"),  # type: ignore[arg-type]
    (InputRequiredResult(input_requests=5), "input_requests: expected dict, got int"),  # type: ignore[arg-type]
    (TextContent(text=5), "TextContent.text: expected str, got int"),  # type: ignore[arg-type]
    (["a", TextContent(text=5)], "TextContent.text: expected str, got int"),  # type: ignore[arg-type]
    ("\ud800", "lone surrogate"),
    (Loud("\ud800"), "lone surrogate"),
]


@pytest.mark.parametrize(("value", "reason"), MALFORMED)
async def test_what_cannot_be_sent_is_a_failure_of_its_tool(value: Any, reason: str) -> None:
    mcp = MCPServer("wrong")

    @mcp.tool()
    def give():  # type: ignore[no-untyped-def]  # without a hint
        return value

    @mcp.tool()
    def fine() -> str:
        return "ok"

    with pytest.raises(ResultError, match=reason):
        plan(Any).convert(value)
    async with Client(mcp) as client:
        result = await client.call_tool("give")
        assert result.is_error
        assert re.search(f"Error executing tool give: .*{reason}", result.content[0].text)
        assert not (await client.call_tool("fine")).is_error


def test_text_of_a_subclass_is_plain_text() -> None:
    class Shout(str):
        __slots__ = ()

    (block,) = to_content(Shout("x"))
    assert isinstance(block, TextContent)
    assert type(block.text) is str


def test_only_media_with_a_path_read_files() -> None:
    assert reads_files(Image("a.png"))
    assert reads_files(["x", [File("a")]])
    assert not reads_files(["x", Image(data=b"")])
    assert not reads_files("x")
