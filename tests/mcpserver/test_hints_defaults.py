# ruff: noqa: UP007, UP045
# Defaults are data here, among them those that type checkers would refuse.
from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import annotated_types
import attrs
import msgspec
import pydantic
import pytest

from trio_mcp._codec._schema import compile_validator
from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver import MCPServer
from trio_mcp.mcpserver._prompts import Prompt
from trio_mcp.mcpserver._tool import Tool


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    seen: int = dataclasses.field(default=0, init=False)


class Size(TypedDict):
    width: int


JSON = Union[dict[str, "JSON"], list["JSON"], int, None]

NOT_SHOWN = object()
NO_DEFAULT = object()


def tool_with(hint: Any, default: Any) -> Tool:
    def use(a: Any = default) -> str:
        return repr(a)

    if default is NO_DEFAULT:
        use.__defaults__ = None
    use.__annotations__["a"] = hint
    return Tool.from_function(use)


@pytest.mark.parametrize(
    ("hint", "default", "shown"),
    [
        (int, 3, 3),
        (int, 3.0, 3.0),
        (float, 3, 3),
        (bool, False, False),
        (str, "", ""),
        (Optional[int], None, None),
        (int, None, None),
        (Annotated[int, "A number."], None, None),
        (list[int], [], []),
        (list[int], (1, 2), [1, 2]),
        (Sequence[str], ["a"], ["a"]),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Mapping[str, int], {}, {}),
        (Literal["a", "b"], "b", "b"),
        (Color, Color.RED, "red"),
        (Color, "red", "red"),
        (dt.date, dt.date(2020, 1, 1), "2020-01-01"),
        (dt.date, "2020-01-01", "2020-01-01"),
        (pathlib.Path, pathlib.Path("a"), "a"),
        (pathlib.Path, ".", "."),
        (decimal.Decimal, decimal.Decimal("1.5"), "1.5"),
        (Size, {"width": 1}, {"width": 1}),
        (JSON, {"a": [1]}, {"a": [1]}),
        (Annotated[int, annotated_types.Ge(1)], 1, 1),
        (Any, "x", "x"),
        # What fits, and could not be sent.
        (Any, object(), NOT_SHOWN),
        (float, math.inf, NOT_SHOWN),
        (Optional[float], math.nan, NOT_SHOWN),
        (str, "\ud800", NOT_SHOWN),
        (int, True, NOT_SHOWN),
        (list, [object()], NOT_SHOWN),
        (Point, Point(1), NOT_SHOWN),  # a client could not set `seen`
        (Annotated[int, annotated_types.Ge(1)], 0, NOT_SHOWN),
        (Annotated[str, pydantic.Field(min_length=1)], "", NOT_SHOWN),
        (str, pydantic.Field(default="", min_length=1), NOT_SHOWN),
        # Declared elsewhere than behind the equals sign.
        (int, pydantic.Field(default=5), 5),
        (list[int], pydantic.Field(default_factory=list), []),
        (Annotated[int, pydantic.Field(default=5)], NO_DEFAULT, 5),
    ],
)
def test_a_default_that_fits_is_shown_if_a_client_could_send_it(
    hint: Any, default: Any, shown: Any
) -> None:
    tool = tool_with(hint, default)
    assert "required" not in tool.parameters
    schema = tool.parameters["properties"]["a"]
    assert schema.get("default", NOT_SHOWN) == shown
    if shown is not NOT_SHOWN:
        document = {**schema, "$defs": tool.parameters.get("$defs", {})}
        assert compile_validator(document, trusted=True).check(shown) is None


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, "x"),
        (int, object()),
        (int, 1.5),
        (int, math.inf),
        (float, "1"),
        (str, 5),
        (str, b"x"),
        (bool, 1),
        (Optional[int], "x"),
        (Union[int, list[str]], [1]),
        (list[int], ["x"]),
        (list[int], "x"),
        (dict[str, int], {"a": "x"}),
        (dict[str, int], []),
        (Literal["a", "b"], "c"),
        (Color, "blue"),
        (dt.date, "tomorrow"),
        (dt.date, 5),
        (bytes, "not Base64!"),
        (Point, {"y": 1}),
        (Size, {"width": "x"}),
        (Size, 5),
        (JSON, {"a": "x"}),
        (Annotated[int, annotated_types.Ge(1)], "x"),
        (Annotated[int, {"default": "x"}], NO_DEFAULT),
        (int, pydantic.Field(default="x")),
        (int, pydantic.Field(default_factory=list)),
        (Annotated[int, pydantic.Field(default="x")], NO_DEFAULT),
    ],
)
def test_a_default_that_does_not_fit_its_hint_is_refused(hint: Any, default: Any) -> None:
    with pytest.raises(InvalidSignature) as caught:
        tool_with(hint, default)
    message = str(caught.value)
    assert message.startswith("use: parameter 'a': the default ")
    assert " does not fit the hint " in message


def test_the_message_shows_default_and_hint() -> None:
    def use(count: int = "x" * 200) -> None: ...  # type: ignore[assignment]

    with pytest.raises(InvalidSignature) as caught:
        Tool.from_function(use)
    assert str(caught.value) == (
        f"use: parameter 'count': the default '{'x' * 79} does not fit the hint int"
    )


@pytest.mark.parametrize("kind", ["prompt", "resource"])
def test_prompts_and_templates_are_held_to_it_too(kind: str) -> None:
    mcp = MCPServer()

    def use(count: int = "x") -> str: ...  # type: ignore[assignment]

    with pytest.raises(InvalidSignature, match="use: parameter 'count': the default 'x' does not"):
        (mcp.prompt() if kind == "prompt" else mcp.resource("a://b{?count}"))(use)


async def test_a_default_within_annotated_is_what_the_function_gets() -> None:
    mcp = MCPServer()

    @mcp.tool()
    def use(
        a: Annotated[int, pydantic.Field(default=5)],
        b: Annotated[list[int], pydantic.Field(default_factory=list)],
        c: Annotated[int, pydantic.Field(default=5)] = 6,
        d: Annotated[int, annotated_types.Ge(1)] = 0,
    ) -> str:
        return repr((a, b, c, d))

    [tool] = await mcp.list_tools()
    assert "required" not in tool.input_schema
    assert tool.input_schema["properties"]["c"]["default"] == 6
    result: Any = await mcp.call_tool("use", {})
    assert result.content[0].text == "(5, [], 6, 0)"


def test_a_prompt_shows_which_arguments_have_a_default_in_annotated() -> None:
    def ask(a: Annotated[str, pydantic.Field(default="x")], b: str) -> str: ...

    assert [each.required for each in Prompt.from_function(ask).arguments] == [False, True]


def test_of_the_defaults_in_a_class_those_that_fit_are_shown() -> None:
    @attrs.frozen
    class Options:
        a: int = 1
        b: int = attrs.field(default="2", converter=int)
        c: float = math.inf
        d: int = None  # type: ignore[assignment]
        e: Annotated[int, annotated_types.Ge(1)] = 0
        f: list[int] = attrs.field(factory=list)

    def use(options: Options) -> None: ...

    fields = Tool.from_function(use).parameters["properties"]["options"]["properties"]
    assert {name: each.get("default", NOT_SHOWN) for name, each in fields.items()} == {
        "a": 1,
        "b": NOT_SHOWN,
        "c": NOT_SHOWN,
        "d": None,
        "e": NOT_SHOWN,
        "f": [],
    }


@attrs.frozen
class WrongAttrs:
    count: int = "x"  # type: ignore[assignment]


@dataclasses.dataclass
class WrongDataclass:
    count: int = "x"  # type: ignore[assignment]


class WrongTuple(NamedTuple):
    count: int = "x"  # type: ignore[assignment]


class WrongStruct(msgspec.Struct):
    count: int = "x"  # type: ignore[assignment]


WRONG = [WrongAttrs, WrongDataclass, WrongTuple, WrongStruct]


@pytest.mark.parametrize("cls", WRONG)
@pytest.mark.parametrize(
    "inside", [lambda cls: cls, lambda cls: list[cls], lambda cls: cls | None]
)
def test_a_default_in_a_class_that_does_not_fit_is_refused(cls: Any, inside: Any) -> None:
    def use(options: Any) -> None: ...

    use.__annotations__["options"] = inside(cls)
    with pytest.raises(InvalidSignature) as caught:
        Tool.from_function(use)
    told = f"{cls.__name__}: the default 'x' of 'count' does not fit the hint int"
    assert told in str(caught.value)
    assert str(caught.value).startswith("use: parameter 'options'")


@pytest.mark.parametrize("cls", WRONG)
def test_results_are_made_by_their_author_whatever_the_defaults(cls: Any) -> None:
    def give() -> Any: ...

    give.__annotations__["return"] = cls
    schema: Any = Tool.from_function(give).output_schema
    assert schema["properties"]["count"] == {"type": "integer"}


def test_a_class_may_convert_its_defaults_itself() -> None:
    @dataclasses.dataclass
    class Options:
        where: pathlib.Path = "here"  # type: ignore[assignment]

        def __post_init__(self) -> None:
            self.where = pathlib.Path(self.where)

    @attrs.define
    class Others:
        count: int = "3"  # type: ignore[assignment]

        def __attrs_post_init__(self) -> None:
            self.count = int(self.count)

    def use(options: Options, others: Others) -> None: ...

    fields = Tool.from_function(use).parameters["properties"]
    assert "default" not in fields["others"]["properties"]["count"]


def test_a_class_that_contains_itself_may_have_defaults() -> None:
    @attrs.frozen
    class Node:
        size: int = 1
        inner: list[Node] = attrs.field(factory=list)
        named: dict[str, Node] = attrs.field(factory=dict)
        above: Node | None = None

    def use(node: Node) -> None: ...

    assert "$defs" in Tool.from_function(use).parameters
