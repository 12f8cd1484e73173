from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

import attrs
import pydantic
import pytest
from pydantic import Field

from trio_mcp.mcpserver._signature import ArgumentsError, read_signature


@attrs.define
class Place:
    city: str
    since: dt.date | None = None


def use(
    text: str = "",
    number: int = 0,
    share: float = 0,
    flag: bool = False,
    items: list[int] = [],  # noqa: B006
    place: Place | None = None,
    either: str | list[int] = "",
    anything: Any = None,
) -> None: ...


SIGNATURE = read_signature(use, is_context=lambda hint: False)


def prepare(**arguments: Any) -> dict[str, Any]:
    return SIGNATURE.prepare(arguments)


def refused(**arguments: Any) -> str:
    with pytest.raises(ArgumentsError) as caught:
        SIGNATURE.prepare(arguments)
    return str(caught.value)


@pytest.mark.case("C059")
@pytest.mark.parametrize(
    "text", ["123", "1e5", "true", "null", '{"a": 1}', "[1]", "", "2020-01-01"]
)
@pytest.mark.parametrize("name", ["text", "either", "anything"])
def test_text_stays_text_whatever_it_looks_like(name: str, text: str) -> None:
    assert prepare(**{name: text})[name] is text


class Numbers(pydantic.RootModel[list[int]]):
    pass


class Tree(pydantic.RootModel["list[Tree] | int"]):
    pass


class Either(pydantic.RootModel[list[int] | str]):
    pass


@pytest.mark.parametrize(
    ("model", "text", "root"),
    [
        (Numbers, "[1, 2]", [1, 2]),
        (Numbers | None, "[1, 2]", [1, 2]),
        (Tree, "[1]", [Tree(1)]),
        (Either, "[1, 2]", "[1, 2]"),
    ],
)
def test_json_text_is_read_for_a_model_that_is_no_object(model: Any, text: str, root: Any) -> None:
    def take(model: Any) -> None: ...

    take.__annotations__["model"] = model
    prepared = read_signature(take, is_context=lambda hint: False).prepare({"model": text})
    assert prepared["model"].root == root


def test_json_text_is_read_where_no_text_is_possible() -> None:
    assert prepare(items="[1, 2]") == {"items": [1, 2]}
    assert prepare(items=" [1.0]\n", text="[1]") == {"items": [1.0], "text": "[1]"}
    made = prepare(place='{"city": "Rome", "since": "2020-01-02"}')
    assert made == {"place": Place("Rome", dt.date(2020, 1, 2))}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"number": "5"}, "number: expected integer, got string '5'"),
        ({"flag": "true"}, "flag: expected boolean, got string 'true'"),
        ({"share": "1.5"}, "share: expected number, got string '1.5'"),
        ({"number": 1.5}, "number: expected integer, got number 1.5"),
        ({"number": True}, "number: expected integer, got boolean true"),
        ({"text": 5}, "text: expected string, got integer 5"),
        ({"items": "[1"}, "items: expected array, got string '[1'"),
        ({"items": '["a"]'}, """items: expected array, got string '["a"]'"""),
        ({"items": [1, "a"]}, "items[1]: expected integer, got string 'a'"),
        ({"place": {"city": 1}}, "place.city: expected string, got integer 1"),
        ({"place": {}}, "place: expected property 'city', got empty object"),
        ({"place": {"city": "", "since": "x"}},
         "place.since: expected a date as YYYY-MM-DD, got string 'x'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_by_path_expected_and_got(
    arguments: dict[str, Any], text: str
) -> None:
    assert refused(**arguments) == text


def test_unknown_arguments_are_refused_with_the_nearest_name() -> None:
    assert refused(tekst="a") == "unknown argument 'tekst'; did you mean 'text'?"
    assert refused(zzz=1).startswith("unknown argument 'zzz'; the arguments are 'text', 'number'")
    assert refused(textt="", numbr=1) == (
        "unknown argument 'textt'; did you mean 'text'?; "
        "unknown argument 'numbr'; did you mean 'number'?"
    )


def test_unknown_and_missing_arguments_are_told_together() -> None:
    def convert(value: float) -> None: ...
    def nothing() -> None: ...

    signature = read_signature(convert, is_context=lambda hint: False)
    with pytest.raises(ArgumentsError) as caught:
        signature.prepare({"valeu": 1})
    assert str(caught.value) == (
        "missing argument 'value'; unknown argument 'valeu'; did you mean 'value'?"
    )
    signature = read_signature(nothing, is_context=lambda hint: False)
    with pytest.raises(ArgumentsError, match="unknown argument 'a'; there are no arguments"):
        signature.prepare({"a": 1})


def test_unknown_arguments_can_be_ignored() -> None:
    signature = read_signature(use, is_context=lambda hint: False, ignore_unknown=True)
    assert "additionalProperties" not in str(signature.schema)
    arguments = {"text": "a", "zzz": 1, "place": {"city": "Rome", "zzz": 1}}
    assert signature.prepare(arguments) == {"text": "a", "place": Place("Rome")}


def test_plain_arguments_are_passed_on_as_they_came() -> None:
    def plain(a: int, b: str, c: list[str], d: dict[str, Any] | None = None) -> None: ...

    signature = read_signature(plain, is_context=lambda hint: False)
    arguments = {"a": 1, "b": "x", "c": ["y"], "d": {"z": 1}}
    assert signature.prepare(arguments) is arguments


@pytest.mark.case("C059")
def test_numbers_get_the_type_of_their_hint() -> None:
    def plain(a: int, b: float, c: Annotated[float, Field(gt=0)], d: int = 5) -> None: ...

    signature = read_signature(plain, is_context=lambda hint: False)
    arguments = {"a": 2.0, "b": 3, "c": 4}
    made = signature.prepare(arguments)
    assert made == {"a": 2, "b": 3.0, "c": 4.0}
    assert [type(each) for each in made.values()] == [int, float, float]
    assert type(arguments["a"]) is float
    assert signature.prepare(made) is made


def test_the_validator_says_how_it_checks() -> None:
    assert SIGNATURE.validator.engine == "fast"

    def full(a: tuple[int, str]) -> None: ...

    validator = read_signature(full, is_context=lambda hint: False).validator
    assert validator.engine == "full"
    assert "prefixItems" in (validator.reason or "")
