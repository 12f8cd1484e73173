"""Classes as forms: what is asked, and what becomes of an answer."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import attrs
import msgspec
import pydantic
import pytest

from trio_mcp.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    Elicit,
    render_elicitation_schema,
)
from trio_mcp.mcpserver._elicitation import result_of
from trio_mcp.mcpserver._elicitation_form import form_of
from trio_mcp.types import ElicitResult


class Size(enum.Enum):
    """With words for people."""

    SMALL = "s"
    LARGE = "l"

    @property
    def title(self) -> str:
        return f"{self.name.capitalize()} one"


class Color(str, enum.Enum):  # noqa: UP042 - how many wrote it; `title` is a method here
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Order:
    """An order.

    Attributes:
      name: Whose it is.
    """

    name: str
    count: Annotated[int, {"minimum": 1, "maximum": 9}]
    price: float = 1.5
    gift: bool = False
    size: Size = Size.SMALL
    color: Color | None = None
    extras: list[Literal["milk", "sugar"]] = attrs.Factory(list)
    sizes: frozenset[Size] = frozenset()
    when: dt.date | None = None


@pytest.mark.req("R-345")
def test_every_kind_of_field() -> None:
    assert render_elicitation_schema(Order) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whose it is."},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "price": {"type": "number", "default": 1.5},
            "gift": {"type": "boolean", "default": False},
            "size": {
                "type": "string",
                "oneOf": [
                    {"const": "s", "title": "Small one"},
                    {"const": "l", "title": "Large one"},
                ],
                "default": "s",
            },
            "color": {"type": "string", "enum": ["red", "blue"]},
            "extras": {
                "type": "array",
                "items": {"type": "string", "enum": ["milk", "sugar"]},
                "default": [],
            },
            "sizes": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"const": "s", "title": "Small one"},
                        {"const": "l", "title": "Large one"},
                    ]
                },
                "default": [],
            },
            "when": {"type": "string", "format": "date"},
        },
        "required": ["name", "count"],
    }


def test_an_answer_is_an_object_of_the_class() -> None:
    content: dict[str, Any] = {
        "name": "Ann",
        "count": 2,
        "size": "l",
        "color": "red",
        "extras": ["milk"],
        "sizes": ["s", "l"],
        "when": "2026-11-30",
    }
    assert form_of(Order).read(content) == Order(
        "Ann",
        2,
        size=Size.LARGE,
        color=Color.RED,
        extras=["milk"],
        sizes=frozenset(Size),
        when=dt.date(2026, 11, 30),
    )


def test_what_is_left_empty_has_its_default() -> None:
    content = {"name": "Ann", "count": 1, "price": None, "when": None}
    assert form_of(Order).read(content) == Order("Ann", 1)


def test_what_the_form_does_not_ask_is_ignored() -> None:
    assert form_of(Order).read({"name": "Ann", "count": 1, "more": 1}) == Order("Ann", 1)


@pytest.mark.req("R-377")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"name": "Ann"}, "count"),
        ({"name": "Ann", "count": "2"}, "count: expected integer, got string"),
        ({"name": "Ann", "count": 0}, "count"),
        ({"name": None, "count": 1}, "name: expected string"),
        ({"name": "Ann", "count": 1, "size": "m"}, "size"),
        ({"name": "Ann", "count": 1, "extras": ["salt"]}, "extras"),
        ({"name": "Ann", "count": 1, "when": "2026-02-30"}, "when: expected a date"),
    ],
)
def test_answers_that_do_not_fit(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        form_of(Order).read(content)


@dataclasses.dataclass
class AsDataclass:
    sure: bool
    why: str = "because"


class AsTypedDict(TypedDict):
    sure: bool
    why: str


class AsNamedTuple(NamedTuple):
    sure: bool
    why: str = "because"


class AsStruct(msgspec.Struct):
    sure: bool
    why: str = "because"


class AsModel(pydantic.BaseModel):
    sure: bool
    why: str = "because"


T = TypeVar("T")


@attrs.frozen
class Generically(Generic[T]):
    sure: T
    why: str = "because"


@pytest.mark.parametrize(
    "cls", [AsDataclass, AsTypedDict, AsNamedTuple, AsStruct, AsModel, Generically[bool]]
)
def test_any_class_with_fields_will_do(cls: Any) -> None:
    properties = render_elicitation_schema(cls)["properties"]
    assert {name: field["type"] for name, field in properties.items()} == {
        "sure": "boolean",
        "why": "string",
    }
    read: Any = form_of(cls).read({"sure": True, "why": "x"})
    as_dict = read if isinstance(read, dict) else {"sure": read.sure, "why": read.why}
    assert as_dict == {"sure": True, "why": "x"}
    with pytest.raises(ValueError, match="sure"):
        form_of(cls).read({"sure": "yes", "why": "x"})


def test_pydantic_models_say_more() -> None:
    class Model(pydantic.BaseModel):
        size: Size = pydantic.Field(title="How big", default=Size.LARGE)
        sizes: list[Size] = pydantic.Field(min_length=1, max_length=2, alias="allSizes")
        mail: Annotated[str, pydantic.Field(json_schema_extra={"format": "email"})]
        note: str | None = pydantic.Field(default=None, max_length=9, pattern="^a")
        age: int = pydantic.Field(gt=17, lt=100)
        flavour: Literal["a", "b"] = pydantic.Field(
            json_schema_extra={"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}
        )

    titled = [{"const": "s", "title": "Small one"}, {"const": "l", "title": "Large one"}]
    assert render_elicitation_schema(Model)["properties"] == {
        "size": {
            "type": "string",
            "oneOf": titled,
            "title": "How big",
            "description": "With words for people.",
            "default": "l",
        },
        "allSizes": {
            "type": "array",
            "items": {"anyOf": titled},
            "title": "Allsizes",
            "minItems": 1,
            "maxItems": 2,
        },
        "mail": {"type": "string", "title": "Mail", "format": "email"},
        "note": {"type": "string", "title": "Note", "maxLength": 9},
        "age": {"type": "integer", "title": "Age", "minimum": 18, "maximum": 99},
        "flavour": {
            "type": "string",
            "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "b"}],
            "title": "Flavour",
        },
    }
    # What a form cannot say is checked all the same.
    given = {"allSizes": ["s"], "mail": "a@b", "age": 18, "flavour": "a"}
    assert form_of(Model).read(given).age == 18
    with pytest.raises(ValueError, match="note"):
        form_of(Model).read({**given, "note": "b"})


@attrs.frozen
class Nested:
    inner: AsDataclass


@attrs.frozen
class Lists:
    names: list[str]


@attrs.frozen
class Pairs:
    values: dict[str, str]


@attrs.frozen
class Either:
    value: int | str


@attrs.frozen
class Numbers:
    choice: Literal[1, 2]


@attrs.frozen
class Whatever:
    value: Any


@attrs.frozen
class Unpublishable:
    value: range


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Nested, r"Nested\.inner cannot be asked in a form.*an object is none"),
        (Lists, r"Lists\.names cannot be asked.*an array"),
        (Pairs, r"Pairs\.values cannot be asked"),
        (Either, r"Either\.value cannot be asked.*one of several types"),
        (Numbers, r"Numbers\.choice cannot be asked"),
        (Whatever, r"Whatever\.value cannot be asked.*anything"),
        (Unpublishable, "Unpublishable cannot be a form.*range"),
        (int, "int cannot be a form: it has no fields"),
        (list[str], "cannot be a form"),
    ],
)
def test_what_is_more_than_a_form_is_refused_before_anything_is_sent(
    cls: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        render_elicitation_schema(cls)
    with pytest.raises(TypeError, match=message):
        Elicit("Well?", cls)


def test_a_form_is_made_once() -> None:
    assert form_of(Order) is form_of(Order)


@pytest.mark.req("R-359")
def test_what_a_user_may_do() -> None:
    assert result_of(ElicitResult(action="decline"), Order) == DeclinedElicitation()
    assert result_of(ElicitResult(action="cancel"), Order) == CancelledElicitation()
    accepted = result_of(ElicitResult(action="accept", content={"name": "Ann", "count": 1}), Order)
    assert accepted == AcceptedElicitation(data=Order("Ann", 1))
    assert accepted.action == "accept"
    with pytest.raises(ValueError, match="without content"):
        result_of(ElicitResult(action="accept"), Order)
