# ruff: noqa: UP007, UP045
# Hints are data here, in each spelling that authors use.
"""What `mcp` 2.3 makes of an argument by the validators of its hint, and whether it takes it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import re
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Optional, Union

import annotated_types
import pydantic
import pytest
import typing_extensions
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    SkipValidation,
    StringConstraints,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.json_schema import SkipJsonSchema

from trio_mcp.mcpserver._signature import ArgumentsError, read_signature

REFUSED = "refused"


def no_dots(text: str) -> str:
    if ".." in text:
        raise ValueError("climbs out")
    return text


def told(text: str, info: ValidationInfo) -> str:
    assert info.mode in ("json", "python")
    assert text != "bad", "it is bad"
    return text


def only_a(letter: Letter) -> Letter:
    if letter is not Letter.A:
        raise ValueError("not A")
    return letter


def split(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


def kind_of(value: Any) -> Any:
    return value.get("kind") if isinstance(value, dict) else value.kind


class Letter(enum.Enum):
    A = "a"
    B = "b"


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: str


Safe = Annotated[str, AfterValidator(no_dots)]
SafeName = NewType("SafeName", Safe)
SafeNames = typing_extensions.TypeAliasType("SafeNames", list[Safe])


@dataclasses.dataclass
class Inner:
    path: Safe
    size: Annotated[int, Field(gt=0)] = 1


@dataclasses.dataclass
class Outer:
    inner: Inner
    many: list[Inner] = dataclasses.field(default_factory=list)


@pydantic.dataclasses.dataclass
class Checked:
    path: Safe
    size: int = Field(default=1, gt=0)


class Keys(typing_extensions.TypedDict, total=False):
    path: typing_extensions.Required[Safe]
    size: Annotated[int, Field(lt=3)]


CASES: list[tuple[Any, list[Any]]] = [
    (Safe, ["a", "..", 5, None]),
    (SafeName, ["a", ".."]),
    (SafeNames, [["a"], [".."]]),
    (Annotated[str, AfterValidator(told)], ["ok", "bad"]),
    (Annotated[Letter, AfterValidator(only_a)], ["a", "b", "c"]),
    (Annotated[Literal["a", "b"], AfterValidator(str.upper)], ["a", "c"]),
    (Annotated[dt.date, AfterValidator(lambda date: date.year)], ["2020-01-02", "x"]),
    (Outer, [{"inner": {"path": "a"}}, {"inner": {"path": ".."}},
             {"inner": {"path": "a", "size": 0}},
             {"inner": {"path": "a"}, "many": [{"path": ".."}]}]),
    (Checked, [{"path": "a"}, {"path": ".."}, {"path": "a", "size": 0}, {"size": 1}]),
    (Optional[Checked], [None, {"path": "a"}, {"path": ".."}]),
    (Keys, [{"path": "a"}, {"path": ".."}, {"path": "a", "size": 3}, {}]),
    (Union[Safe, int], ["a", "..", 1, 1.5]),
    (Union[Checked, Safe], [{"path": ".."}, "..", "a"]),
    (Annotated[Union[Cat, Dog], Field(discriminator="kind")],
     [{"kind": "cat", "lives": 1}, {"kind": "dog", "name": "x"}, {"kind": "dog", "name": 1}, {}]),
    (Annotated[Union[Annotated[Cat, Tag("cat")], Annotated[Dog, Tag("dog")]],
               Discriminator(kind_of)],
     [{"kind": "cat", "lives": 1}, {"kind": "dog", "name": "x"}, {"kind": "cow"}]),
    (Union[int, SkipJsonSchema[None]], [1, None, "x"]),
    (Annotated[int, WithJsonSchema({"type": "integer"})], [3]),
    (Annotated[str, AfterValidator(str.strip), Field(min_length=2)], ["  ", " a ", "ab "]),
    (Annotated[str, Field(max_length=2), AfterValidator(lambda text: text * 3)], ["ab", "abc"]),
    (Annotated[str, AfterValidator(str.strip), annotated_types.Predicate(str.isalpha)],
     [" ab ", " a1 "]),
    (Annotated[str, annotated_types.Not(str.isalpha)], ["ab", "a1"]),
    (annotated_types.LowerCase[str], ["a", "A"]),
    (Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, max_length=3)],
     [" ab ", "abcd", " abc  "]),
    (Annotated[str, StringConstraints(pattern="^[a-z]+$", to_lower=True)], ["ABC", "abc", "a1"]),
    (dict[Safe, int], [{"a": 1}, {"..": 1}]),
    (dict[str, Safe], [{"a": "a"}, {"a": ".."}]),
    (set[Safe], [["a"], [".."]]),
    (frozenset[Annotated[int, Field(gt=0)]], [[1], [0]]),
    (tuple[Safe, ...], [["a"], ["a", ".."]]),
    (Annotated[Decimal, Field(max_digits=3, decimal_places=1, gt=0)],
     ["12.3", "12.34", "0", "-1", 1.5]),
    (pydantic.FilePath, [__file__, "/nope"]),
    (pydantic.NewPath, ["/", "/new"]),
    (pydantic.UUID1, ["12345678-1234-4234-8234-567812345678"]),
    (pydantic.AwareDatetime, ["2026-01-01T00:00:00", "2026-01-01T00:00:00Z"]),
    (pydantic.NaiveDatetime, ["2026-01-01T00:00:00", "2026-01-01T00:00:00Z"]),
    (pydantic.PastDate, ["2020-01-01", "2999-01-01"]),
    (pydantic.ByteSize, ["1KB", 5]),
    (pydantic.Base64Str, ["YQ==", "!"]),
    (pydantic.HttpUrl, ["http://x", "ftp://x"]),
    (pydantic.SecretStr, ["x"]),
    (Annotated[list[int], Field(min_length=1), AfterValidator(sorted)], [[3, 1], []]),
    (Annotated[list[str], BeforeValidator(split)], ["a,b", ["x"], 5, '["a"]']),
    (Annotated[int, WrapValidator(lambda value, then: then(value) + 1)], [1, "x"]),
    (Annotated[Any, PlainValidator(lambda value: [value])], [1, "x"]),
    (Annotated[str, SkipValidation()], ["a"]),
    (Annotated[Any, Field(min_length=2)], ["a", "ab", [1], [1, 2]]),
    (Annotated[str, Field(pattern=re.compile("^a$", re.IGNORECASE))], ["A", "b"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("hint", "value"), [(hint, value) for hint, values in CASES for value in values]
)
def test_an_argument_is_taken_and_made_as_by_the_peer(hint: Any, value: Any) -> None:
    def take(it: Any) -> None: ...

    take.__annotations__["it"] = hint
    assert ours(take, value) == theirs(take, value)


def ours(take: Any, value: Any) -> Any:
    try:
        return read_signature(take, is_context=lambda hint: False).prepare({"it": value})["it"]
    except ArgumentsError as refused:
        text = str(refused)
    assert text.startswith("it")
    assert "errors.pydantic.dev" not in text
    return REFUSED


def theirs(take: Any, value: Any) -> Any:
    known = func_metadata(take)
    try:
        model = known.arg_model.model_validate(known.pre_parse_json({"it": value}))
    except pydantic.ValidationError:
        return REFUSED
    return model.model_dump_one_level()["it"]
