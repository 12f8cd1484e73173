from __future__ import annotations

from typing import Annotated, Any

import attrs
import pydantic
import pytest

from trio_mcp._protocol._header_faults import header_fault
from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver._tool import Tool

Region = Annotated[str, {"x-mcp-header": "Region"}]


@attrs.define
class Place:
    region: Region


def test_annotated_arguments_are_published() -> None:
    def use(
        region: Region,
        count: Annotated[int, pydantic.Field(json_schema_extra={"x-mcp-header": "Count"})],
        dry: Annotated[bool, {"x-mcp-header": "Method"}],
    ) -> None: ...

    properties = Tool.from_function(use).parameters["properties"]
    assert properties["region"] == {"type": "string", "x-mcp-header": "Region"}
    assert properties["count"] == {"type": "integer", "x-mcp-header": "Count"}
    assert properties["dry"] == {"type": "boolean", "x-mcp-header": "Method"}


@pytest.mark.req("R-136")
def test_properties_of_objects_can_be_annotated() -> None:
    def use(place: Place) -> None: ...

    assert Tool.from_function(use).parameters["properties"]["place"]["properties"]["region"]


@pytest.mark.req("R-130", "R-131", "R-132")
@pytest.mark.parametrize("name", ["", "My Region", "a:b", "Région", "a\tb", "a\r\nb", "a\n"])
def test_the_name_is_a_token(name: str) -> None:
    def use(region: Annotated[str, {"x-mcp-header": name}]) -> None: ...

    with pytest.raises(
        InvalidSignature, match=r"use: x-mcp-header of 'region': .* cannot be part"
    ):
        Tool.from_function(use)


def test_the_name_is_a_string() -> None:
    def use(region: Annotated[str, {"x-mcp-header": 3}]) -> None: ...

    with pytest.raises(InvalidSignature, match="'region': a string is wanted, not int"):
        Tool.from_function(use)


@pytest.mark.req("R-133")
def test_names_differ_by_more_than_case() -> None:
    def use(
        one: Annotated[str, {"x-mcp-header": "Region"}],
        two: Annotated[str, {"x-mcp-header": "REGION"}],
    ) -> None: ...

    with pytest.raises(InvalidSignature, match="'REGION' is on 'one' and 'two'"):
        Tool.from_function(use)


@pytest.mark.req("R-134")
@pytest.mark.parametrize("hint", [float, list[str], dict[str, str], None, str | None, Any, Place])
def test_only_strings_integers_and_booleans_can_be_repeated(hint: Any) -> None:
    def use(value: Any) -> None: ...

    use.__annotations__["value"] = Annotated[hint, {"x-mcp-header": "Value"}]
    with pytest.raises(InvalidSignature, match="only a string, an integer or a boolean"):
        Tool.from_function(use)


@pytest.mark.req("R-136", "R-137")
@pytest.mark.parametrize("hint", [list[Region], dict[str, Region], list[Place], Place | int])
def test_only_what_is_always_there_can_be_repeated(hint: Any) -> None:
    def use(value: Any) -> None: ...

    use.__annotations__["value"] = hint
    with pytest.raises(InvalidSignature, match="not on a property that is reached"):
        Tool.from_function(use)


ANNOTATED = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.req("R-136", "R-137")
@pytest.mark.parametrize(
    "schema",
    [
        ANNOTATED,
        {"$defs": {"a": ANNOTATED}},
        {"allOf": [{"properties": {"a": ANNOTATED}}]},
        {"if": {"properties": {"a": ANNOTATED}}},
        {"then": {"properties": {"a": ANNOTATED}}},
        {"else": {"properties": {"a": ANNOTATED}}},
        {"not": {"properties": {"a": ANNOTATED}}},
        {"patternProperties": {"a": ANNOTATED}},
        {"additionalProperties": ANNOTATED},
        {"properties": {"a": {"type": "array", "prefixItems": [ANNOTATED]}}},
        {"properties": {"a": {"type": "array", "items": {"properties": {"b": ANNOTATED}}}}},
    ],
)
def test_positions_that_clients_cannot_read(schema: dict[str, Any]) -> None:
    assert "is not on a property that is reached" in (header_fault(schema) or "")


def test_data_in_a_schema_is_no_annotation() -> None:
    schema = {
        "properties": {"x-mcp-header": {"type": "object"}, "a": {"default": ANNOTATED}},
        "examples": [ANNOTATED],
        "const": ANNOTATED,
    }
    assert header_fault(schema) is None
