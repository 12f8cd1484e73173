"""The content blocks and structured content of `mcp` 2.3, for each kind of result it knows."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest
from mcp.server.mcpserver.utilities.func_metadata import func_metadata

from trio_mcp._codec._converter import encode
from trio_mcp.mcpserver._results import plan_result
from trio_mcp.mcpserver._signature import read_signature
from trio_mcp.types._revisions import LATEST_MODERN


class Model(pydantic.BaseModel):
    a: int
    b: str | None = None


class Listing(pydantic.RootModel[list[int]]):
    pass


@dataclasses.dataclass
class Data:
    x: int
    y: dt.date | None = None


class Keys(TypedDict):
    q: int


class Color(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, 3),
        (float, 1.5),
        (str, "hi"),
        (bool, True),
        (None, None),
        (int | None, None),
        (int | str, "x"),
        (list[int], [1, 2]),
        (list[str], ["a", "b"]),
        (list[Model], [Model(a=1)]),
        (tuple[int, str], (1, "x")),
        (set[int], {1}),
        (Sequence[int], [1]),
        (dict, {"a": 1}),
        (dict[str, int], {"a": 1}),
        (dict[str, Any], {"a": [None, 1.5, {"é": "x"}]}),
        (dict[int, int], {1: 2}),
        (dict[uuid.UUID, int], {uuid.UUID(int=0): 2}),
        (dict[Literal["a"], int], {"a": 2}),
        (Annotated[dict[int, str], "doc"], {1: "x"}),
        (Mapping[int, int], {1: 2}),
        (dict[int, int] | None, {1: 2}),
        (list, [1, "a", None, [2, 3], Model(a=1)]),
        (Any, {"a": 1}),
        (Model, Model(a=1)),
        (Model | None, Model(a=1)),
        (Data, Data(1, dt.date(2020, 1, 2))),
        (Keys, {"q": 1}),
        (Literal["a"], "a"),
        (Annotated[int, "doc"], 3),
    ],
)
def test_results_are_those_of_the_official_sdk(hint: Any, value: Any) -> None:
    ours, theirs, our_schema, their_schema = both(hint, value)
    assert ours == theirs
    assert (our_schema is None) == (their_schema is None)
    if our_schema is not None:
        assert our_schema.get("required", []) == their_schema.get("required", [])
        assert our_schema["title"] == their_schema["title"]


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (dt.datetime, dt.datetime(2020, 1, 2, tzinfo=dt.UTC)),
        (uuid.UUID, uuid.UUID(int=0)),
        (Color, Color.RED),
    ],
)
def test_content_is_the_same_where_only_we_have_a_schema(hint: Any, value: Any) -> None:
    ours, theirs, _, _ = both(hint, value)
    assert ours["content"] == theirs["content"]
    assert "structuredContent" not in theirs


@pytest.mark.case("C062")
@pytest.mark.parametrize(
    ("hint", "value", "structured"),
    [
        # An object, which they wrap.
        (Mapping[str, int], {"a": 1}, {"a": 1}),
        # No object, which they do not wrap.
        (Listing, Listing([1]), {"result": [1]}),
    ],
)
def test_what_is_wrapped_otherwise(hint: Any, value: Any, structured: Any) -> None:
    ours, theirs, _, _ = both(hint, value)
    assert ours["structuredContent"] == structured != theirs["structuredContent"]
    assert ours["content"] == theirs["content"]


def test_the_text_of_a_dict_for_a_model_shows_the_defaults_too() -> None:
    ours, theirs, _, _ = both(Model, {"a": 1})
    assert ours["structuredContent"] == theirs["structuredContent"] == {"a": 1, "b": None}
    assert ours["content"] == both(Model, Model(a=1))[0]["content"]


def both(hint: Any, value: Any) -> tuple[Any, Any, Any, Any]:
    def tool() -> None: ...

    tool.__annotations__["return"] = hint
    theirs = func_metadata(tool)
    signature = read_signature(tool, is_context=lambda hint: False)
    ours = plan_result(signature, None)
    their_result: Any = theirs.convert_result(value)
    their_json = their_result.model_dump(by_alias=True, exclude_none=True, mode="json")
    if their_result.structured_content is not None:
        # Not without the nulls inside it.
        their_json["structuredContent"] = their_result.structured_content
    if not their_json["isError"]:
        del their_json["isError"]
    our_json = encode(ours.convert(value), LATEST_MODERN)
    our_json.pop("isError", None)
    return our_json, their_json, ours.output_schema, theirs.output_schema
