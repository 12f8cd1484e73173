"""The comparison that `test_coming_from_mcp` stands on notices what callers would trip over."""

from __future__ import annotations

import dataclasses
from typing import Any

import attrs
import pydantic
import pytest

from ._signatures import differences


def theirs(a: int, b: str = "x", *, c: bool = False) -> None: ...


def same(a: int, b: str = "x", *, c: bool = False) -> None: ...
def more(a: int, b: str = "x", extra: int = 0, *, c: bool = False, d: int = 1) -> None: ...
def by_position(a: int, b: str = "x", c: bool = False) -> None: ...
def lacking(a: int, *, c: bool = False) -> None: ...
def by_keyword(a: int, *, b: str = "x", c: bool = False) -> None: ...
def elsewhere(b: str = "x", a: int = 0, *, c: bool = False) -> None: ...
def defaults(a: int = 1, b: str = "y", *, c: bool) -> None: ...
def needing(a: int, b: str = "x", *, c: bool = False, d: int) -> None: ...
async def waiting(a: int, b: str = "x", *, c: bool = False) -> None: ...


@pytest.mark.parametrize(
    ("ours", "found"),
    [
        (same, []),
        (more, []),
        (by_position, []),
        (lacking, ["no `b`"]),
        (by_keyword, ["`b` by keyword"]),
        (elsewhere, ["`a` elsewhere", "`b` elsewhere"]),
        (defaults, ["`b='y'`", "`c=required`"]),
        (needing, ["needs `d`"]),
        (waiting, ["async"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_differences_of_a_function(ours, found):
    assert list(differences("f", theirs, ours)) == [("f", what) for what in found]


class Model(pydantic.BaseModel):
    names: list[str] = pydantic.Field(default_factory=list)
    size: int = 1

    @property
    def length(self) -> int:
        return len(self.names)

    def find(self, name: str) -> bool:
        return name in self.names


@dataclasses.dataclass
class Data:
    names: list[str] = dataclasses.field(default_factory=list)
    size: int = 1
    length: int = 0

    def find(self, name: str) -> bool:
        return name in self.names


@attrs.frozen
class Frozen:
    names: list[str] = attrs.field(factory=list)
    size: int = 2

    def length(self) -> int:
        return len(self.names)


class Plain:
    def __init__(self, *, names: list[Any] = [], size: int = 1) -> None:  # noqa: B006 - shown as it is
        self.names = names
        self.size = size
        self.length = len(names)

    async def find(self, name: str) -> bool:
        return name in self.names


@pytest.mark.parametrize(
    ("ours", "found"),
    [
        (Data, []),
        (Frozen, [("Model", "`size=2`"), ("Model.find", "missing"), ("Model.length", "a method")]),
        (Plain, [("Model.find", "async")]),
    ],
)
def test_differences_of_a_class(ours, found):
    assert sorted(differences("Model", Model, ours)) == found


class Oops(ValueError): ...


class OopsBelowAnother(KeyError): ...


def test_an_exception_is_caught_by_the_same_names():
    assert list(differences("Oops", Oops, OopsBelowAnother)) == [
        ("Oops", "no `Oops`"),
        ("Oops", "no `ValueError`"),
    ]
