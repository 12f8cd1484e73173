# ruff: noqa: PYI024, PYI061, UP006, UP045
# Hints are data here, in each spelling that authors use.
from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import typing
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
import typing_extensions

from trio_mcp._codec._schema import compile_validator
from trio_mcp.mcpserver._hints import HintError, Scope, Walker
from trio_mcp.types import TextContent

T = TypeVar("T")
B = TypeVar("B", bound=int)
C = TypeVar("C", int, str)


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Mixed(enum.Enum):
    ONE = 1
    TEXT = "text"
    NONE = None


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@attrs.define
class Point:
    """A place.

    On a plane.

    Attributes:
      x: Across.
    """

    x: int
    _y: float = 0.0
    tags: list[str] = attrs.Factory(list)
    made: int = attrs.field(init=False, default=1)


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)
    made: int = dataclasses.field(init=False, default=1)


class Options(TypedDict, total=False):
    name: Required[str]
    color: NotRequired[Color]
    read: typing_extensions.ReadOnly[int]


class MoreOptions(Options):
    size: int


class Pair(NamedTuple):
    """Two things."""

    left: int
    right: str = "r"


class Person(pydantic.BaseModel):
    name: str
    home: Address
    friends: list[Person] = []


class Address(pydantic.BaseModel):
    city: str = pydantic.Field(description="Where.", alias="City")


class Shape(msgspec.Struct, tag=True, rename="camel"):
    line_width: int
    fill_color: Color = Color.RED
    line_dashes: list[int] = []


@attrs.define
class Box(Generic[T]):
    content: T


@attrs.define
class Labelled(Box[int], Generic[T]):
    label: T


@attrs.define
class Chicken:
    egg: Egg | None = None


@attrs.define
class Egg:
    chicken: Chicken | None = None


Tree = typing_extensions.TypeAliasType("Tree", "dict[str, Tree] | int")
Listing = typing_extensions.TypeAliasType("Listing", list[T], type_params=(T,))
UserId = NewType("UserId", int)


def schema_of(hint: Any, **options: Any) -> dict[str, Any]:
    walker = Walker(Scope.of_module(__name__, Scope(globals())), **options)
    document = walker.document(walker.shape(hint).schema)
    compile_validator(document, trusted=True)
    return document


POINT = {
    "type": "object",
    "title": "Point",
    "description": "A place.\n\nOn a plane.",
    "properties": {
        "x": {"type": "integer", "description": "Across."},
        "y": {"type": "number", "default": 0.0},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    },
    "required": ["x"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (bytearray, {"type": "string", "contentEncoding": "base64"}),
        (dt.datetime, {"type": "string", "format": "date-time"}),
        (dt.date, {"type": "string", "format": "date"}),
        (dt.time, {"type": "string", "format": "time"}),
        (dt.timedelta, {"type": "string", "format": "duration"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (decimal.Decimal, {"type": ["string", "number"]}),
        (pathlib.Path, {"type": "string"}),
        (pathlib.PurePosixPath, {"type": "string"}),
        (UserId, {"type": "integer"}),
        (typing.Final[int], {"type": "integer"}),
        (T, {}),
        (B, {"type": "integer"}),
        (C, {"type": ["integer", "string"]}),
    ],
)
def test_scalars(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


INTS = {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (list, {"type": "array"}),
        (list[Any], {"type": "array"}),
        (list[int], INTS),
        (typing.List[int], INTS),
        (Sequence[int], INTS),
        (Iterable[int], INTS),
        (Collection[int], INTS),
        (collections.deque[int], INTS),
        (set[int], {**INTS, "uniqueItems": True}),
        (frozenset[int], {**INTS, "uniqueItems": True}),
        (AbstractSet[int], {**INTS, "uniqueItems": True}),
        (set, {"type": "array", "uniqueItems": True}),
        (tuple, {"type": "array"}),
        (tuple[int, ...], INTS),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
            },
        ),
        (tuple[()], {"type": "array", "maxItems": 0}),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (dict[Any, Any], {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            dict[Color, int],
            {
                "type": "object",
                "propertyNames": {"type": "string", "enum": ["red", "green"]},
                "additionalProperties": {"type": "integer"},
            },
        ),
        (dict[int, Any], {"type": "object", "propertyNames": {"pattern": "^-?[0-9]+$"}}),
        (Listing[int], INTS),
    ],
)
def test_containers(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (Literal["a"], {"type": "string", "const": "a"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Literal["a", 1, None, True], {"enum": ["a", 1, None, True]}),
        (Literal[Color.RED], {"type": "string", "const": "red"}),
        (Color, {"type": "string", "enum": ["red", "green"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Mixed, {"enum": [1, "text", None]}),
        (Access, {"type": "integer"}),
    ],
)
def test_literals_and_enums(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


@pytest.mark.case("C061")
@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (Optional[int], {"type": ["integer", "null"]}),
        ("int | None", {"type": ["integer", "null"]}),
        (int | str | None, {"type": ["integer", "string", "null"]}),
        (Union[int, "str | None"], {"type": ["integer", "string", "null"]}),
        (Annotated[str | None, "Who."], {"type": ["string", "null"], "description": "Who."}),
        (
            Optional[Annotated[str, "Who."]],
            {"anyOf": [{"type": "string", "description": "Who."}, {"type": "null"}]},
        ),
        (
            Color | None,
            {"anyOf": [{"type": "string", "enum": ["red", "green"]}, {"type": "null"}]},
        ),
        (
            Union["Color | None", list[int] | None],
            {
                "anyOf": [
                    {"type": "string", "enum": ["red", "green"]},
                    {"type": "null"},
                    INTS,
                ]
            },
        ),
        (int | Any, {}),
        ("int", {"type": "integer"}),
    ],
)
def test_unions_are_flat(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def test_attrs_class() -> None:
    assert schema_of(Point) == POINT


def test_objects_that_come_in_are_closed_unless_asked() -> None:
    open_point = {key: value for key, value in POINT.items() if key != "additionalProperties"}
    assert schema_of(Point, is_open=True) == open_point


def test_objects_that_go_out_are_open_and_show_every_field() -> None:
    schema = schema_of(Point, is_result=True)
    assert "additionalProperties" not in schema
    assert schema["properties"]["made"] == {"type": "integer", "default": 1}


def test_typed_dict_with_string_hints() -> None:
    assert schema_of(MoreOptions) == {
        "type": "object",
        "title": "MoreOptions",
        "properties": {
            "name": {"type": "string"},
            "color": {"type": "string", "enum": ["red", "green"]},
            "read": {"type": "integer"},
            "size": {"type": "integer"},
        },
        "required": ["name", "size"],
        "additionalProperties": False,
    }


def test_named_tuple_is_an_object() -> None:
    assert schema_of(Pair) == {
        "type": "object",
        "title": "Pair",
        "description": "Two things.",
        "properties": {
            "left": {"type": "integer"},
            "right": {"type": "string", "default": "r"},
        },
        "required": ["left"],
        "additionalProperties": False,
    }
    assert schema_of(collections.namedtuple("Bare", "a b"))["properties"] == {"a": {}, "b": {}}


def test_generated_docstrings_are_no_description() -> None:
    assert "description" not in schema_of(dataclasses.make_dataclass("Made", [("a", int)]))
    assert "description" not in schema_of(collections.namedtuple("Made", "a"))


def test_msgspec_struct() -> None:
    assert schema_of(Shape) == {
        "type": "object",
        "title": "Shape",
        "properties": {
            "type": {"const": "Shape"},
            "lineWidth": {"type": "integer"},
            "fillColor": {"type": "string", "enum": ["red", "green"], "default": "red"},
            "lineDashes": {"type": "array", "items": {"type": "integer"}, "default": []},
        },
        "required": ["type", "lineWidth"],
        "additionalProperties": False,
    }


def test_generic_classes() -> None:
    assert schema_of(Box[int])["properties"] == {"content": {"type": "integer"}}
    assert schema_of(Box[Point])["properties"] == {"content": POINT}
    assert schema_of(Box)["properties"] == {"content": {}}
    assert schema_of(Labelled[str])["properties"] == {
        "content": {"type": "integer"},
        "label": {"type": "string"},
    }


@pytest.mark.case("C060")
def test_what_is_not_recursive_is_written_in_place() -> None:
    for hint in (Color, Point, list[Point], dict[str, Point], Point | Pair):
        assert "$defs" not in schema_of(hint)
    twice = dataclasses.make_dataclass("Twice", [("a", Point), ("b", Point)])
    assert schema_of(twice)["properties"] == {"a": POINT, "b": POINT}


@pytest.mark.case("C060")
@pytest.mark.parametrize("hint", [Node, Chicken, Egg, Tree, Person, list[Node], Node | Person])
def test_references_resolve_inside_the_schema(hint: Any) -> None:
    document = schema_of(hint)
    references = list(_references(document))
    assert references
    for each in references:
        assert each.startswith("#/$defs/")
        assert each.removeprefix("#/$defs/") in document["$defs"]


def _references(node: Any) -> Iterable[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def test_recursive_class_is_written_out_at_the_root() -> None:
    document = schema_of(Node)
    assert document["type"] == "object"
    assert document["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}


def test_classes_of_one_name_get_definitions_of_their_own() -> None:
    def make() -> Any:
        @attrs.define
        class Link:
            following: Link | None = None

        return Link

    one, other = make(), make()
    pair = dataclasses.make_dataclass("Both", [("a", one), ("b", other)])
    assert list(schema_of(pair)["$defs"]) == ["Link", "Link_2"]


def test_a_class_used_very_often_is_not_written_out_each_time() -> None:
    hint: Any = Point
    for level in range(20):  # written out: a million points
        hint = dataclasses.make_dataclass(f"Level{level}", [("a", hint), ("b", hint)])
    document = schema_of(hint)
    assert document["$defs"]
    assert len(str(document)) < 500_000


def test_pydantic_model_brings_its_definitions_in() -> None:
    document = schema_of(Person)
    assert document["properties"]["home"]["properties"]["City"]["description"] == "Where."
    assert list(document["$defs"]) == ["Person"]
    assert schema_of(Address)["title"] == "Address"


def test_pydantic_union_keeps_no_reference_to_definitions_that_are_gone() -> None:
    class Cat(pydantic.BaseModel):
        kind: Literal["cat"]

    class Dog(pydantic.BaseModel):
        kind: Literal["dog"]
        default: Cat | None = None

    class Home(pydantic.BaseModel):
        pet: Cat | Dog = pydantic.Field(discriminator="kind")

    document = schema_of(Home)
    assert not list(_references(document))
    assert "discriminator" not in document["properties"]["pet"]


def test_class_variables_are_no_fields() -> None:
    class Plain:
        limit: ClassVar[int] = 3
        size: int
        _hidden: int

    assert schema_of(Plain, is_result=True)["properties"] == {"size": {"type": "integer"}}


@pytest.mark.parametrize(
    ("metadata", "keywords"),
    [
        ((annotated_types.Ge(1), annotated_types.Lt(5)), {"minimum": 1, "exclusiveMaximum": 5}),
        ((annotated_types.Interval(gt=0, le=9),), {"exclusiveMinimum": 0, "maximum": 9}),
        ((annotated_types.MultipleOf(3),), {"multipleOf": 3}),
        ((msgspec.Meta(ge=1, title="T", description="D", examples=[2]),),
         {"minimum": 1, "title": "T", "description": "D", "examples": [2]}),
        ((msgspec.Meta(extra_json_schema={"x-a": 1}),), {"x-a": 1}),
        ((pydantic.Field(ge=1, le=2, description="D", title="T"),),
         {"minimum": 1, "maximum": 2, "description": "D", "title": "T"}),
        ((pydantic.Field(json_schema_extra={"x-mcp-header": "Region"}),),
         {"x-mcp-header": "Region"}),
        ((pydantic.Field(json_schema_extra=lambda schema: schema.update(a=1)),), {"a": 1}),
        ((pydantic.Field(deprecated=True),), {"deprecated": True}),
        (("Said.",), {"description": "Said."}),
        ((typing_extensions.Doc("Said."),), {"description": "Said."}),
        (({"x-mcp-header": "Region"},), {"x-mcp-header": "Region"}),
        ((decimal.Decimal(1), object(), int), {}),
    ],
)  # fmt: skip
def test_annotated_numbers(metadata: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    assert schema_of(Annotated[(int, *metadata)]) == {"type": "integer", **keywords}


@pytest.mark.parametrize(
    ("hint", "keywords"),
    [
        (str, {"minLength": 1, "maxLength": 3}),
        (list[int], {"minItems": 1, "maxItems": 3}),
        (set[int], {"minItems": 1, "maxItems": 3}),
        (dict[str, int], {"minProperties": 1, "maxProperties": 3}),
        (str | list[int], {"minLength": 1, "minItems": 1, "maxLength": 3, "maxItems": 3}),
        (str | None, {"minLength": 1, "maxLength": 3}),
    ],
)
def test_annotated_lengths(hint: Any, keywords: dict[str, Any]) -> None:
    schema = schema_of(Annotated[hint, annotated_types.Len(1, 3)])
    assert {key: schema[key] for key in schema if key.startswith(("min", "max"))} == keywords


def test_annotated_pattern() -> None:
    assert schema_of(Annotated[str, msgspec.Meta(pattern="^a")])["pattern"] == "^a"
    assert schema_of(Annotated[str, pydantic.Field(pattern="^a")])["pattern"] == "^a"


def test_bounds_that_text_cannot_have_stay_out_of_the_schema() -> None:
    after = annotated_types.Ge(dt.date(2020, 1, 1))
    assert schema_of(Annotated[dt.date, after]) == {"type": "string", "format": "date"}
    assert "minLength" not in schema_of(Annotated[bytes, annotated_types.MinLen(3)])


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (complex, "complex: it has no JSON Schema; use an attrs class"),
        (Callable[[int], int], "it has no JSON Schema"),
        (type, "type: it has no JSON Schema"),
        (dict[Point, int], "keys must be too"),
        (dict[float, int], "keys must be too"),
        (list[complex], "complex: it has no JSON Schema"),
        (Literal[b"a"], "has no JSON form"),
        (enum.Enum("Empty", []), "without members"),
        (enum.Enum("Odd", {"A": (1, 2)}), "has no JSON form"),
        (Annotated[int, annotated_types.Ge(object())], "is no number"),
        (TextContent, "it is a type of the protocol"),
        (..., "it has no JSON Schema"),
        (3, "it has no JSON Schema"),
    ],
)
def test_hints_without_a_schema(hint: Any, reason: str) -> None:
    with pytest.raises(HintError) as caught:
        schema_of(hint)
    assert reason in str(caught.value)


def test_plain_class_can_go_out_and_not_come_in() -> None:
    class Plain:
        size: int = 1

    assert schema_of(Plain, is_result=True)["properties"] == {"size": {"type": "integer"}}
    with pytest.raises(HintError, match="use an attrs class"):
        schema_of(Plain)
