"""What a program gave that cannot be written: the error says what, and how to find it."""

from __future__ import annotations

import pytest

from trio_mcp import types
from trio_mcp._codec import checked_copy, encode
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN

FINE = types.Tool(name="fine", input_schema={})


def tools(*tools):
    return types.ListToolsResult(tools=[FINE, *tools])


@pytest.mark.parametrize("revision", [LATEST_HANDSHAKE, LATEST_MODERN], ids=str)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            tools(types.Tool(name="x", input_schema=[])),
            "Tool.input_schema: expected dict, got list (at tools[1])",
        ),
        (
            tools(types.Tool(name="x", input_schema={}, output_schema=True)),
            "Tool.output_schema: expected dict, got bool (at tools[1])",
        ),
        (
            tools(types.Tool(name="x", input_schema={}, icons=[types.Icon(src=5)])),
            "Icon.src: expected str, got int (at tools[1].icons[0])",
        ),
        (
            tools(FINE, types.Tool(name="x", input_schema={"a": [{1}]})),
            "Tool.input_schema.a[0]: set has no JSON form (at tools[2])",
        ),
        (tools(5), "ListToolsResult.tools: expected Tool, got int (at tools[1])"),
        (
            types.ReadResourceResult(contents=[types.TextResourceContents(uri="a:b", text=5)]),
            "TextResourceContents.text: expected str, got int (at contents[0])",
        ),
        (
            types.GetPromptRequestParams(name="x", arguments={"a": "b", "c": 1}),
            "GetPromptRequestParams.arguments: expected str, got int (at arguments.c)",
        ),
        (types.TextContent(text=5), "TextContent.text: expected str, got int"),
        (
            types.EmbeddedResource(resource=types.TextResourceContents(uri="a:b", text=5)),
            "TextResourceContents.text: expected str, got int",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_found_by_the_message(value, message, revision):
    for _ in range(2):  # nothing is left behind in the objects
        with pytest.raises(TypeError) as caught:
            encode(value, revision)
        assert str(caught.value) == message


def test_a_json_object_that_stands_for_a_type_is_found_too():
    value = types.CallToolResult(content=[types.TextContent(text="a"), {"type": "text"}])
    with pytest.raises(ValueError, match=r"got nothing \(at content\[1\]\)$"):
        encode(value, LATEST_MODERN)


def test_a_long_way_is_told_by_its_ends():
    deep: object = 1
    for _ in range(120):
        deep = {"inner": [deep]}
    with pytest.raises(ValueError, match="nested deeper") as caught:
        checked_copy(deep, "schema")
    assert str(caught.value).startswith("schema.inner[0].inner[0]")
    assert "…(84)…" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_short_way_is_told_in_full():
    value: object = {1}
    for _ in range(8):
        value = {"b": [value]}
    with pytest.raises(TypeError, match=r"^a(\.b\[0\]){8}: set has no JSON form$"):
        checked_copy(value, "a")
