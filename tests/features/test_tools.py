"""Tools: lists, results, content, errors."""

from __future__ import annotations

import json

from trio_mcp.types import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

from ._roads import in_memory
from ._story import error_of, failure_of, text_of


@in_memory
async def test_tools_are_listed_with_their_schemas(features):
    revision = features.revision
    async with features.open() as client:
        tools = {tool.name: tool async for tool in client.iter_tools()}
    add, measure = tools["add"], tools["measure"]
    assert add.description == "Add two numbers."
    assert set(add.input_schema["properties"]) == {"a", "b"}
    assert add.input_schema["required"] == ["a"]
    assert set(tools["nap"].input_schema["properties"]) == {"name"}
    hint = add.annotations.read_only_hint if add.annotations else None
    assert hint == (True if revision.has_tool_annotations else None)
    if revision.has_structured_content:
        assert set(measure.output_schema["properties"]) == {"value", "unit"}
        assert set(add.output_schema["properties"]) == {"result"}
    else:
        assert measure.output_schema is add.output_schema is None


async def test_results_are_text_and_structure(features):
    structured = features.revision.has_structured_content
    async with features.open() as client:
        await client.list_tools()
        added = await client.call_tool("add", {"a": 20, "b": 22})
        assert text_of(added) == "42"
        assert added.structured_content == ({"result": 42} if structured else None)
        measured = await client.call_tool("measure", {"value": 8.5})
        assert json.loads(text_of(measured)) == {"value": 8.5, "unit": "m"}
        expected = {"value": 8.5, "unit": "m"} if structured else None
        assert measured.structured_content == expected


@in_memory
async def test_content_of_every_kind(features):
    revision = features.revision
    async with features.open() as client:
        text, image, audio, file, link = (await client.call_tool("kinds")).content
    assert text == TextContent(text="text")
    assert isinstance(image, ImageContent)
    assert image.mime_type == "image/png"
    assert isinstance(file, EmbeddedResource)
    # What a revision cannot say is told in words.
    assert isinstance(audio, AudioContent if revision.has_audio else TextContent)
    assert isinstance(link, ResourceLink if revision.has_resource_links else TextContent)
    assert "note://first" in (link.uri if revision.has_resource_links else link.text)


async def test_failures_are_results_and_refusals_are_errors(features):
    async with features.open() as client:
        failed = await client.call_tool("fail", {"text": "no luck"})
        assert failure_of(failed) == "Error executing tool fail: no luck"
        assert failure_of(await client.call_tool("crash")) == "Error executing tool crash"
        wrong = failure_of(await client.call_tool("add", {"a": "one"}))
        assert "a: expected integer" in wrong
        assert "'c'" in failure_of(await client.call_tool("add", {"a": 1, "c": 2}))
        assert "0.05" in failure_of(await client.call_tool("slow"))
        unknown = await error_of(client.call_tool("nope"))
        assert (unknown.code, unknown.message) == (-32602, "Unknown tool: nope")
        refused = await error_of(client.call_tool("refuse"))
        assert (refused.code, refused.message) == (-31000, "not today")
        assert refused.data == {"until": "monday"}
