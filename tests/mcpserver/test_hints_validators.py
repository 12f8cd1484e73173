# ruff: noqa: UP007, UP045
# Hints are data here, in each spelling that authors use.
"""Validators that authors write into their hints: they run, wherever the hint stands."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import sys
from decimal import Decimal
from typing import Annotated, Any, Generic, NamedTuple, Optional, TypedDict, TypeVar, Union

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
import typing_extensions
from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WrapValidator

from trio_mcp import Client, MCPServer
from trio_mcp.errors import InvalidSignature, MCPError
from trio_mcp.mcpserver import Elicit, Resolve
from trio_mcp.mcpserver._hints import HintError, Mismatch, Scope, Walker, to_json
from trio_mcp.mcpserver._signature import ArgumentsError, read_signature
from trio_mcp.testing import open_client
from trio_mcp.types import ElicitResult


def no_dots(text: str) -> str:
    if ".." in text:
        raise ValueError("climbs out")
    return text


Safe = Annotated[str, AfterValidator(no_dots)]


@dataclasses.dataclass
class Data:
    path: Safe


@attrs.frozen
class Attrs:
    path: Safe


class Typed(TypedDict):
    path: Safe


class Named(NamedTuple):
    path: Safe


class Struct(msgspec.Struct):
    path: Safe


class Model(pydantic.BaseModel):
    path: Safe


@pydantic.dataclasses.dataclass
class Ranged:
    size: int = Field(gt=0, description="How many.")
    names: list[str] = Field(default_factory=list)


@dataclasses.dataclass
class Plain:
    size: int = Field(gt=0, default=1)


@dataclasses.dataclass
class Decorated:
    path: str

    @pydantic.field_validator("path")
    @classmethod
    def _check(cls, value: str) -> str:
        return no_dots(value)


@pydantic.with_config(str_to_lower=True)
class Configured(typing_extensions.TypedDict):
    name: str


T = TypeVar("T")


@pydantic.dataclasses.dataclass
class Box(Generic[T]):
    item: T


class Slug(str):
    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(no_dots, core_schema.str_schema())


class Marker:
    """Metadata that is a class, as pydantic's documentation has it for the types of others."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(no_dots, handler(source))


def structure(hint: Any, value: Any) -> Any:
    shape = Walker(Scope({})).shape(hint)
    return value if shape.structure is None else shape.structure(value)


CLIMBING = [
    (Safe, "../x", ""),
    (list[Safe], ["a", "../x"], r"\[1\]"),
    (set[Safe], ["../x"], r"\[0\]"),
    (tuple[int, Safe], [1, "../x"], r"\[1\]"),
    (dict[str, Safe], {"a": "../x"}, "a"),
    (dict[Safe, int], {"../x": 1}, ""),
    (Safe | None, "../x", ""),
    (int | Safe, "../x", ""),
    (Annotated[Safe, "more"], "../x", ""),
    (Annotated[list[str], AfterValidator(lambda each: [no_dots(part) for part in each])],
     ["../x"], ""),
    (Data, {"path": "../x"}, "path"),
    (Attrs, {"path": "../x"}, "path"),
    (Typed, {"path": "../x"}, "path"),
    (Named, {"path": "../x"}, "path"),
    (Struct, {"path": "../x"}, "path"),
    (Model, {"path": "../x"}, "path"),
    (Decorated, {"path": "../x"}, "path"),
    (Slug, "../x", ""),
    (list[Slug], ["../x"], r"\[0\]"),
    (Annotated[str, Marker], "../x", ""),
    (Annotated[Attrs, AfterValidator(lambda it: no_dots(it.path))], {"path": "../x"}, "path"),
    (Annotated[str, WrapValidator(lambda value, then: no_dots(then(value)))], "../x", ""),
    (Annotated[str, PlainValidator(no_dots)], "../x", ""),
    (Annotated[str, BeforeValidator(no_dots)], "../x", ""),
    (Annotated[str, annotated_types.Predicate(no_dots)], "../x", ""),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "value", "where"), CLIMBING)
def test_a_validator_refuses_what_it_refuses(hint: Any, value: Any, where: str) -> None:
    with pytest.raises(Mismatch, match=rf"^{where}.*\(climbs out\), got ") as caught:
        structure(hint, value)
    assert "pydantic" not in str(caught.value)


CONVERTED = [
    (Annotated[str, pydantic.StringConstraints(strip_whitespace=True, to_lower=True)], " A ", "a"),
    (Annotated[int, PlainValidator(lambda value: int(value) * 2)], "2", 4),
    (Annotated[int, WrapValidator(lambda value, then: then(value) * 2)], 2, 4),
    (Annotated[int, BeforeValidator(lambda value: value + 1)], 2, 3),
    (Annotated[int, BeforeValidator(len, json_schema_input_type=str)], "abc", 3),
    (Annotated[bytes, AfterValidator(bytes.lower)], "QQ==", b"a"),
    (Annotated[Data, AfterValidator(dataclasses.astuple)], {"path": "a"}, ("a",)),
    (Annotated[float, "text", Field(allow_inf_nan=False)], 1.5, 1.5),
    (dict[Annotated[int, AfterValidator(lambda value: value + 1)], str], {"1": "a"}, {2: "a"}),
    (dict[Annotated[Any, PlainValidator(str.upper)], int], {"a": 1}, {"A": 1}),
    (pydantic.AnyUrl, "https://example.com/", pydantic.AnyUrl("https://example.com/")),
    (pydantic.SecretStr, "x", pydantic.SecretStr("x")),
    (pydantic.ByteSize, "1KB", pydantic.ByteSize(1000)),
    (pydantic.Json, "[1]", [1]),
    (pydantic.Json[list[int]], "[1]", [1]),
    (Configured, {"name": "A"}, {"name": "a"}),
    (Ranged, {"size": 1}, Ranged(size=1)),
    (Box[int], {"item": 1}, Box(1)),
    (Plain, {}, Plain(size=1)),
]


@pytest.mark.parametrize(("hint", "value", "made"), CONVERTED)
def test_what_a_validator_makes_is_passed_on(hint: Any, value: Any, made: Any) -> None:
    found = structure(hint, value)
    assert found == made
    assert type(found) is type(made)


REFUSED = [
    (Annotated[Decimal, Field(max_digits=3)], "12.34", "no more than 3 digits"),
    (Annotated[Decimal, Field(decimal_places=0)], "1.5", "no more than 0 decimal places"),
    (pydantic.FilePath, "/nope", "does not point to a file"),
    (pydantic.DirectoryPath, "/nope", "does not point to a directory"),
    (pydantic.NewPath, "/", "already exists"),
    (pydantic.UUID4, "12345678-1234-1234-8234-567812345678", "version 4"),
    (pydantic.AwareDatetime, "2026-01-01T00:00:00", "timezone"),
    (pydantic.PastDate, "2999-01-01", "in the past"),
    (Annotated[str, AfterValidator(str.strip), Field(min_length=1)], "  ", "at least 1 char|"),
    (Ranged, {"size": 0}, "^size: .*greater than 0"),
    (Plain, {"size": 0}, "^size: .*greater than 0"),
    (Box[int], {"item": "a"}, "^item: "),
    (Annotated[str, annotated_types.Predicate(str.islower)], "A", "for which str.islower is true"),
    (annotated_types.LowerCase[str], "A", "for which str.islower is true"),
    (Annotated[str, annotated_types.Not(str.islower)], "a", "for which str.islower is false"),
    (Annotated[dt.datetime, annotated_types.Timezone(...)], "2026-01-01T00:00:00", "with a zone"),
    (Annotated[dt.datetime, annotated_types.Timezone(None)], "2026-01-01T00:00:00Z", "without"),
    (Annotated[dt.datetime, annotated_types.Timezone("Asia/Tokyo")], "2026-01-01T00:00:00Z",
     "in the zone Asia/Tokyo"),
    (Annotated[dt.datetime, msgspec.Meta(tz=True)], "2026-01-01T00:00:00", "with a zone"),
    (Annotated[dt.datetime, msgspec.Meta(tz=False)], "2026-01-01T00:00:00Z", "without a zone"),
    (Annotated[str, Field(pattern=re.compile("^a$", re.IGNORECASE))], "b", r"matches '\^a\$'"),
    (Annotated[dt.date, msgspec.Meta(extra={}), annotated_types.Ge(dt.date(2026, 1, 1)),
               BeforeValidator(lambda value: value)], "2020-01-01", "2026"),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "value", "reason"), REFUSED)
def test_what_pydantic_and_annotated_types_know_is_checked(
    hint: Any, value: Any, reason: str
) -> None:
    with pytest.raises(Mismatch, match=reason) as caught:
        structure(hint, value)
    assert "http" not in str(caught.value)


def test_a_pattern_with_flags_is_matched_with_them() -> None:
    hint = Annotated[str, Field(pattern=re.compile("^a$", re.IGNORECASE))]
    assert Walker(Scope({})).shape(hint).schema == {"type": "string"}
    assert structure(hint, "A") == "A"


@pytest.mark.parametrize(
    "hint",
    [
        Annotated[Attrs, BeforeValidator(no_dots)],
        Annotated[Attrs, pydantic.StringConstraints(to_lower=True)],
        Annotated[str, pydantic.WithJsonSchema({"type": "string"}), Field(pattern="(?=a)")],
    ],
)
def test_a_validator_that_pydantic_cannot_run_is_refused(hint: Any) -> None:
    with pytest.raises(HintError, match="pydantic cannot read it"):
        Walker(Scope({})).shape(hint)


def test_without_pydantic_its_validators_are_refused_and_others_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(HintError, match="for pydantic, which is not installed"):
        Walker(Scope({})).shape(Annotated[str, Marker()])
    assert structure(Slug, "a") == Slug("a")
    assert type(structure(Slug, "a")) is Slug
    with pytest.raises(Mismatch, match=r"for which str\.islower is true"):
        structure(annotated_types.LowerCase[str], "A")


def test_a_validator_that_nothing_here_runs_is_refused() -> None:
    foreign = type("Is", (), {"__module__": "beartype.vale._core"})
    with pytest.raises(HintError, match=r"nothing here runs .*annotated_types.Predicate does"):
        Walker(Scope({})).shape(Annotated[str, foreign()])


def test_the_schema_of_a_dataclass_is_that_of_pydantic() -> None:
    shape = Walker(Scope({})).shape(Ranged)
    assert shape.schema["required"] == ["size"]
    assert shape.schema["properties"]["size"] == {
        "description": "How many.",
        "exclusiveMinimum": 0,
        "title": "Size",
        "type": "integer",
    }


def test_texts_stay_with_a_validator() -> None:
    hint = Annotated[int, "How many.", {"examples": [1]}, BeforeValidator(lambda value: value)]
    walker = Walker(Scope({}))
    assert walker.document(walker.shape(hint).schema) == {
        "type": "integer",
        "description": "How many.",
        "examples": [1],
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Ranged(size=1, names=["a"]), {"size": 1, "names": ["a"]}),
        (pydantic.AnyUrl("https://example.com/"), "https://example.com/"),
        (pydantic.SecretStr("x"), "**********"),
    ],
)
def test_what_pydantic_has_made_is_written(value: Any, written: Any) -> None:
    assert to_json([value]) == [written]
    shape = Walker(Scope({}), is_result=True).shape(type(value))
    assert shape.unstructure is not None
    assert shape.unstructure(value) == written


def test_a_result_of_another_type_than_pydantic_has_made_is_left_to_the_schema() -> None:
    shape = Walker(Scope({}), is_result=True).shape(pydantic.AnyUrl)
    assert shape.unstructure is not None
    assert shape.unstructure("nowhere") == "nowhere"
    assert shape.unstructure(5) == 5


def test_a_dict_in_place_of_a_dataclass_is_held_to_its_rules() -> None:
    shape = Walker(Scope({}), is_result=True).shape(Ranged)
    assert shape.unstructure is not None
    assert shape.unstructure({"size": 1}) == {"size": 1, "names": []}
    with pytest.raises(Mismatch, match=r"size: expected a Ranged .*greater than 0"):
        shape.unstructure({"size": 0})


@dataclasses.dataclass
class Started:
    a: int
    b: dataclasses.InitVar[int]
    c: dataclasses.InitVar[str] = "c"
    total: int = dataclasses.field(init=False, default=0)

    def __post_init__(self, b: int, c: str) -> None:
        self.total = self.a + b


def test_an_init_variable_is_an_argument_and_no_result() -> None:
    shape = Walker(Scope.of_class(Started)).shape(Started)
    assert shape.schema["required"] == ["a", "b"]
    assert list(shape.schema["properties"]) == ["a", "b", "c"]
    assert shape.structure is not None
    assert shape.structure({"a": 1, "b": 2}).total == 3
    result = Walker(Scope.of_class(Started), is_result=True).shape(Started)
    assert list(result.schema["properties"]) == ["a", "total"]
    assert to_json(Started(1, 2)) == {"a": 1, "total": 3}


def split(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


Tags = Annotated[list[str], BeforeValidator(split)]
Number = Annotated[
    int,
    WrapValidator(lambda value, then: then(value.strip("#") if isinstance(value, str) else value)),
]
Code = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, max_length=3)]


@attrs.frozen
class Tagged:
    tags: Tags
    code: Code = ""


def prepare(hint: Any, value: Any) -> Any:
    def take(it: Any) -> None: ...

    take.__annotations__["it"] = hint
    signature = read_signature(take, is_context=lambda hint: False)
    assert "x-trio" not in json.dumps(signature.schema)
    return signature.prepare({"it": value})["it"]


@pytest.mark.parametrize(
    ("hint", "value", "made"),
    [
        (Tags, "a,b", ["a", "b"]),
        (Tags, ["a"], ["a"]),
        (Tags, '["a", "b"]', ["a", "b"]),
        (Tags | None, "a,b", ["a", "b"]),
        (Tags | None, None, None),
        (Tags | int, "a,b", ["a", "b"]),
        (Tags | int, 1.0, 1),
        (Tags | str, "a,b", "a,b"),
        (Optional[Union[Tags, int]], "a,b", ["a", "b"]),
        (list[Tags], ["a,b", ["c"]], [["a", "b"], ["c"]]),
        (list[Tags], '["a,b"]', [["a", "b"]]),
        (dict[str, Number], {"a": "#1", "b": 2}, {"a": 1, "b": 2}),
        (dict[Annotated[int, BeforeValidator(lambda value: value)], int], {"1": 1}, {1: 1}),
        (tuple[Number, str], ["#1", "a"], (1, "a")),
        (Code, "  abc  ", "abc"),
        (Tagged, {"tags": "a", "code": " abc "}, Tagged(["a"], "abc")),
        (list[Tagged], [{"tags": "a"}], [Tagged(["a"])]),
        (Annotated[Tags, "Words."], "a,b", ["a", "b"]),
    ],
)
def test_a_validator_that_comes_first_sees_what_does_not_fit_the_schema(
    hint: Any, value: Any, made: Any
) -> None:
    assert prepare(hint, value) == made


@pytest.mark.parametrize(
    ("hint", "value", "reason"),
    [
        (Tags, 5, r"it: expected list\[str\] \(Input should be a valid array\), got integer 5"),
        (list[Tags], 5, "it: expected array, got integer 5"),
        (list[Number], ["#1", "x"], r"it\[1\]: expected an integer \(.*\), got string 'x'"),
        (Code, " abcd ", "at most 3 characters"),
        (Tagged, {"tags": "a", "kode": ""}, "no property 'kode'"),
        (Tags | int, {}, "valid array"),
        # What only the schema knows is checked there, and so comes first.
        (Annotated[Number, msgspec.Meta(ge=5)], "#9", "it: expected integer, got string '#9'"),
        (Annotated[Number, {"minimum": 5}], 4, "it: expected at least 5, got integer 4"),
        (
            Annotated[int, BeforeValidator(len, json_schema_input_type=str)],
            [],
            "it: expected string, got empty array",
        ),
    ],
)
def test_what_no_validator_takes_is_refused(hint: Any, value: Any, reason: str) -> None:
    with pytest.raises(ArgumentsError, match=reason):
        prepare(hint, value)


def test_what_is_published_is_what_a_validator_makes_its_value_of() -> None:
    walker = Walker(Scope({}))
    shape = walker.shape(Tags | int)
    assert walker.document(shape.schema) == {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "integer"}]
    }


# On a server


async def test_a_refused_argument_is_a_failed_call_that_names_it() -> None:
    mcp = MCPServer("files")
    called: list[Any] = []

    @mcp.tool()
    def read(path: Safe, size: Annotated[int, Field(gt=0)] = 1) -> str:
        called.append(path)
        return path

    async with Client(mcp) as client:
        result = await client.call_tool("read", {"path": "../x"})
        assert (await client.call_tool("read", {"path": "x"})).structured_content == {
            "result": "x"
        }
    assert result.is_error
    text = result.content[0].text
    assert text == (
        "Error executing tool read: path: expected a string (climbs out), got string '../x'"
    )
    assert called == ["x"]


async def test_a_default_of_none_goes_round_the_validator() -> None:
    mcp = MCPServer("files")

    @mcp.tool()
    def read(
        path: Annotated[str, Field(description="Where."), AfterValidator(no_dots)] = None,  # type: ignore[assignment]  # noqa: RUF013 - as people write it
    ) -> str:
        return str(path)

    async with Client(mcp) as client:
        (tool,) = (await client.list_tools()).tools
        assert tool.input_schema["properties"]["path"]["description"] == "Where."
        for arguments in ({}, {"path": None}):
            result = await client.call_tool("read", arguments)
            assert result.structured_content == {"result": "None"}
        assert (await client.call_tool("read", {"path": ".."})).is_error


async def test_a_default_is_not_given_to_validators_that_cannot_take_it() -> None:
    def measured(value: Any) -> int:
        return {"a": 1}[value]

    mcp = MCPServer("sizes")

    @mcp.tool()
    def size(of: Annotated[str, PlainValidator(measured)] = "b") -> str:
        return of

    async with Client(mcp) as client:
        assert (await client.call_tool("size")).structured_content == {"result": "b"}


async def test_prompts_and_templates_run_validators_too() -> None:
    mcp = MCPServer("files")

    @mcp.prompt()
    def ask(path: Safe) -> str:
        return path

    @mcp.prompt()
    def tag(tags: Tags) -> str:
        return " ".join(tags)

    @mcp.resource("f://{name}")
    def read(
        name: Annotated[str, AfterValidator(str.strip), annotated_types.Predicate(str.isalpha)],
    ) -> str:
        return name

    async with Client(mcp) as client:
        assert (await client.get_prompt("tag", {"tags": "a,b"})).messages[0].content.text == "a b"
        with pytest.raises(MCPError, match=r"path: expected a string \(climbs out\)"):
            await client.get_prompt("ask", {"path": "../x"})
        with pytest.raises(MCPError, match=r"name: expected a string \(Predicate"):
            await client.read_resource("f://a.b")
        (contents,) = (await client.read_resource("f://%20ab%20")).contents
    assert contents.text == "ab"


async def test_an_answer_to_a_form_is_validated() -> None:
    def ask() -> Elicit[Data]:
        return Elicit("Which file?", Data)

    mcp = MCPServer("files")

    @mcp.tool()
    def read(file: Annotated[Data, Resolve(ask)]) -> str:
        return file.path

    async def answer(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"path": "../x"})

    async with open_client(mcp, elicitation_callback=answer) as client:
        with pytest.raises(MCPError, match="climbs out"):
            await client.call_tool("read")


def test_a_hint_that_cannot_be_read_is_refused_when_it_is_registered() -> None:
    mcp = MCPServer("files")

    def read(file: Annotated[Attrs, BeforeValidator(no_dots)]) -> None: ...

    with pytest.raises(InvalidSignature, match=r"read: parameter 'file'.*pydantic cannot read it"):
        mcp.add_tool(read)
