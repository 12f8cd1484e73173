# ruff: noqa: UP045
# Hints are data here, in each spelling that authors use.
from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
import typing_extensions

from trio_mcp.mcpserver._hints import Mismatch, Scope, Walker, to_json
from trio_mcp.types import TextContent


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@attrs.define
class Point:
    x: int
    _y: float = 0.0
    when: dt.date | None = None


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


class Trip(TypedDict, total=False):
    start: Point
    days: int


class Plain(TypedDict):
    a: int
    b: str


class Pair(NamedTuple):
    left: dt.date
    right: str = "r"


class Person(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)

    name: str = pydantic.Field(alias="Name")
    born: dt.date | None = None


class Shape(msgspec.Struct, tag=True, rename="camel"):
    line_width: int
    color: Color = Color.RED


class Circle(msgspec.Struct, tag=True):
    radius: float


class Name(str):
    __slots__ = ()


Tree = typing_extensions.TypeAliasType("Tree", "dict[str, Tree] | dt.date")


def walk(hint: Any, **options: Any) -> Any:
    return Walker(Scope(globals()), **options).shape(hint)


def structure(hint: Any, value: Any) -> Any:
    make = walk(hint).structure
    return value if make is None else make(value)


@pytest.mark.parametrize(
    ("hint", "value", "made"),
    [
        (int, 1.0, 1),
        (float, 1, 1.0),
        (float, 2**53 + 1, 2**53 + 1),
        (float, 10**400, 10**400),
        (float, True, True),
        (dt.datetime, "2020-01-02T03:04:05Z", dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        (dt.date, "2020-01-02", dt.date(2020, 1, 2)),
        (dt.time, "03:04:05", dt.time(3, 4, 5)),
        (dt.timedelta, "P1DT2S", dt.timedelta(days=1, seconds=2)),
        (uuid.UUID, "0" * 32, uuid.UUID(int=0)),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
        (decimal.Decimal, 0.1, decimal.Decimal("0.1")),
        (decimal.Decimal, 3, decimal.Decimal(3)),
        (bytes, "+/8=", b"\xfb\xff"),
        (bytes, "-_8", b"\xfb\xff"),
        (bytearray, "", bytearray()),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (Name, "n", Name("n")),
        (Color, "green", Color.GREEN),
        (Level, 1.0, Level.LOW),
        (Access, 3, Access.READ | Access.WRITE),
        (Literal[Color.RED, "x"], "red", Color.RED),
        (Literal[1, True], True, True),
        (Literal[1, True], 1, 1),
        (list[Color], ["red"], [Color.RED]),
        (Sequence[int], [1], [1]),
        (collections.deque[int], [1], collections.deque([1])),
        (set[int], [1, 2.0], {1, 2}),
        (frozenset[Color], ["red"], frozenset([Color.RED])),
        (tuple[int, ...], [1], (1,)),
        (tuple[int, Color], [1, "red"], (1, Color.RED)),
        (tuple[()], [], ()),
        (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
        (dict[int, int], {"1": 2}, {1: 2}),
        (Mapping[Color, int], {"red": 2}, {Color.RED: 2}),
        (collections.OrderedDict[str, int], {"a": 1}, collections.OrderedDict(a=1)),
        (Point, {"x": 1}, Point(1)),
        (Point, {"x": 1, "y": 2.5, "when": "2020-01-02"}, Point(1, 2.5, dt.date(2020, 1, 2))),
        (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
        (Trip, {"start": {"x": 1}, "days": 2}, {"start": Point(1), "days": 2}),
        (Trip, {}, {}),
        (Pair, {"left": "2020-01-02"}, Pair(dt.date(2020, 1, 2))),
        (Shape, {"type": "Shape", "lineWidth": 1, "color": "green"}, Shape(1, Color.GREEN)),
        (Tree, {"a": {"b": "2020-01-02"}}, {"a": {"b": dt.date(2020, 1, 2)}}),
        (Optional[Point], None, None),
        (Optional[Point], {"x": 1}, Point(1)),
        (Optional[int], 1.0, 1),
    ],
)
def test_structure(hint: Any, value: Any, made: Any) -> None:
    assert structure(hint, value) == made
    assert type(structure(hint, value)) is type(made)


def test_structure_of_a_strict_pydantic_model() -> None:
    person = structure(Person, {"Name": "a", "born": "2020-01-02"})
    assert person == Person(Name="a", born=dt.date(2020, 1, 2))


@pytest.mark.parametrize(
    "hint",
    [
        str, bool, None, Any, object, list, dict, list[str], dict[str, bool],
        Literal["a", "b"], Optional[str], str | bool | None, dict[str, list[dict[str, bool]]],
        Annotated[str, annotated_types.Len(1)],
    ],
)  # fmt: skip
def test_plain_json_needs_no_conversion(hint: Any) -> None:
    assert walk(hint).structure is None


@pytest.mark.parametrize(
    ("hint", "value", "made"),
    [
        # A whole number is a float where nothing takes it as an int.
        (str | float | None, 1, 1.0),
        (float | list[int], 1, 1.0),
        (float | int, 1, 1),
        (float | int, 1.0, 1.0),
        (float | Literal[1], 1, 1),
        (float | Literal[1], 2, 2.0),
        (float | decimal.Decimal, 1.5, 1.5),
        (decimal.Decimal | float, 2, 2.0),
        (Any | float, 1, 1),
        # Text that may stay as it is does so, whatever else it could be read as.
        (dt.date | str, "2020-01-02", "2020-01-02"),
        (str | dt.date, "2020-01-02", "2020-01-02"),
        (dt.date | int, "2020-01-02", dt.date(2020, 1, 2)),
        (dt.date | int, 1.0, 1),
        (dt.date | Color, "red", Color.RED),
        (Color | dt.date, "2020-01-02", dt.date(2020, 1, 2)),
        (int | float, 1.0, 1.0),
        (Point | Node, {"value": 1}, Node(1)),
        (Point | Node, {"x": 1}, Point(1)),
        (Shape | Circle, {"type": "Circle", "radius": 1}, Circle(1)),
        (list[int] | dict[str, Color], {"a": "red"}, {"a": Color.RED}),
        (Annotated[str, annotated_types.Len(1, 3)] | dt.date, "2020-01-02", dt.date(2020, 1, 2)),
    ],
)
def test_a_union_goes_to_the_arm_that_takes_the_value(hint: Any, value: Any, made: Any) -> None:
    assert structure(hint, value) == made
    assert type(structure(hint, value)) is type(made)


@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        (dt.date, "2020-13-01", "expected a date as YYYY-MM-DD, got string '2020-13-01'"),
        (dt.datetime, "x", "expected a date and time as of RFC 3339"),
        (uuid.UUID, "x", "expected a UUID"),
        (decimal.Decimal, "NaN", "expected a decimal number"),
        (decimal.Decimal, "x", "expected a decimal number"),
        (bytes, "?", "expected Base64"),
        (Access, 8, "expected a combination of Access"),
        (list[dt.date], ["2020-01-01", "x"], "[1]: expected a date"),
        (dict[str, list[dt.date]], {"a": ["x"]}, "a[0]: expected a date"),
        (dict[dt.date, int], {"x": 1}, "x: expected a date"),
        (tuple[int, dt.date], [1, "x"], "[1]: expected a date"),
        (Point, {"x": 1, "when": "x"}, "when: expected a date"),
        (Trip, {"start": {"x": 1, "when": "x"}}, "start.when: expected a date"),
        (Node | dt.date, "x", "expected a date"),
        (set[Any], [{}], "expected items that can be members of a set"),
        (Person, {"Name": "a", "born": "x"}, "born: expected a Person ("),
        (Annotated[dt.date, annotated_types.Ge(dt.date(2020, 1, 1))], "2019-01-01",
         "expected at least 2020-01-01, got string '2019-01-01'"),
        (Annotated[decimal.Decimal, annotated_types.Lt(1)], "1", "expected less than 1"),
        (Annotated[decimal.Decimal, annotated_types.MultipleOf(2)], "1", "a multiple of 2"),
        (Annotated[bytes, annotated_types.MinLen(2)], "AA==", "expected at least 2 bytes"),
        (Annotated[dt.datetime, annotated_types.Ge(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))],
         "2020-01-01T00:00:00", "expected something comparable with"),
    ],
)  # fmt: skip
def test_mismatch_tells_path_expected_and_got(hint: Any, value: Any, text: str) -> None:
    with pytest.raises(Mismatch) as caught:
        structure(hint, value)
    assert text in str(caught.value)


def test_rules_of_a_class_are_told() -> None:
    @attrs.define
    class Even:
        value: int = attrs.field()

        @value.validator
        def check(self, attribute: Any, value: int) -> None:
            if value % 2:
                raise ValueError("must be even")

    with pytest.raises(Mismatch, match=r"value: expected a Even \(must be even\)"):
        Walker(Scope.of_class(Even)).shape(dict[str, Even]).structure({"value": {"value": 3}})


def test_structuring_changes_nothing_it_is_given() -> None:
    value = {"start": {"x": 1.0}, "days": 2.0}
    structure(Trip, value)
    assert value == {"start": {"x": 1.0}, "days": 2.0}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Point(1, 2, dt.date(2020, 1, 2)), {"x": 1, "y": 2, "when": "2020-01-02"}),
        (Node(1, [Node(2)]), {"value": 1, "children": [{"value": 2, "children": []}]}),
        (Pair(dt.date(2020, 1, 2)), {"left": "2020-01-02", "right": "r"}),
        (Shape(1), {"type": "Shape", "lineWidth": 1, "color": "red"}),
        (Person(Name="a"), {"Name": "a", "born": None}),
        ({Color.RED: {1: b"\xfb\xff"}}, {"red": {"1": "+/8="}}),
        ((1, {2}, frozenset([3]), collections.deque([4])), [1, [2], [3], [4]]),
        (collections.OrderedDict(a=Level.LOW), {"a": 1}),
        (dt.datetime(2020, 1, 2, tzinfo=dt.UTC), "2020-01-02T00:00:00Z"),
        (dt.datetime(2020, 1, 2), "2020-01-02T00:00:00"),  # noqa: DTZ001
        (dt.timedelta(days=1), "P1D"),
        (decimal.Decimal("1.50"), "1.50"),
        (uuid.UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (Name("n"), "n"),
        (Access.READ, 1),
        (TextContent(text="t"), {"type": "text", "text": "t"}),
    ],
)
def test_to_json(value: Any, written: Any) -> None:
    assert to_json(value) == written


def test_to_json_gives_plain_types() -> None:
    assert type(to_json(Name("n"))) is str
    assert type(to_json(Level.LOW)) is int


@pytest.mark.parametrize("value", [object(), 1j, {"a": object()}, {(1, 2): 3}, print])
def test_to_json_refuses_what_has_no_form(value: Any) -> None:
    with pytest.raises(TypeError):
        to_json(value)


def test_a_field_without_a_value_is_left_out() -> None:
    class Plain:
        size: int
        name: str

        def __init__(self) -> None:
            self.size = 1

    class Holder(msgspec.Struct):
        value: int | msgspec.UnsetType = msgspec.UNSET

    assert to_json(Plain()) == {"size": 1}
    assert to_json(Holder()) == {}


def test_unstructure_takes_a_dict_for_a_pydantic_model() -> None:
    write = walk(Person, is_result=True).unstructure
    assert write({"Name": "a"}) == {"Name": "a", "born": None}
    with pytest.raises(Mismatch, match="Name: expected a Person"):
        write({})
    many = walk(dict[str, list[Person]], is_result=True).unstructure
    assert many({"a": [{"Name": "b"}]}) == {"a": [{"Name": "b", "born": None}]}
    maybe = walk(Person | None, is_result=True).unstructure
    assert maybe(None) is None
    assert maybe({"Name": "a"}) == {"Name": "a", "born": None}


@pytest.mark.parametrize(
    ("hint", "value", "written"),
    [
        (list[int], (1, 2), [1, 2]),
        (list[int], "text", "text"),
        (Sequence[Person], 3, 3),
        (dict[str, int], collections.OrderedDict(a=1), {"a": 1}),
        (dict[str, int], [1], [1]),
        (dict[str, Person], [1], [1]),
        (set[int], {1}, [1]),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (Point, {"x": 1}, {"x": 1}),
        (Trip, {"start": Point(1)}, {"start": {"x": 1, "y": 0.0, "when": None}}),
        (int | dt.date, dt.date(2020, 1, 2), "2020-01-02"),
    ],
)
def test_unstructure_lets_other_values_through(hint: Any, value: Any, written: Any) -> None:
    assert walk(hint, is_result=True).unstructure(value) == written
