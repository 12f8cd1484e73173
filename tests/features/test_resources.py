"""Resources and resource templates: lists, contents, errors."""

from __future__ import annotations

import base64

import pytest

from trio_mcp.types import BlobResourceContents, TextResourceContents

from ._roads import in_memory
from ._story import error_of


@in_memory
async def test_resources_are_listed(features):
    async with features.open() as client:
        resources = {each.uri: each async for each in client.iter_resources()}
        templates = {each.uri_template: each async for each in client.iter_resource_templates()}
    assert set(resources) == {"text://motto", "bytes://all", "json://measure", "broken://disk"}
    assert resources["text://motto"].mime_type == "text/markdown"
    assert resources["text://motto"].description == "Tell the motto."
    expected = {"note://{name}", "file:///{+path}", "search://{topic}{?limit}", "asking://{what}"}
    assert set(templates) == expected
    assert templates["note://{name}"].name == "note"


async def test_contents_are_text_or_bytes(features):
    async with features.open() as client:

        async def read(uri):
            [contents] = (await client.read_resource(uri)).contents
            assert contents.uri == uri
            return contents

        motto = await read("text://motto")
        assert isinstance(motto, TextResourceContents)
        assert (motto.mime_type, motto.text) == ("text/markdown", "*Many* languages, ünd one.")
        every = await read("bytes://all")
        assert isinstance(every, BlobResourceContents)
        assert base64.b64decode(every.blob, validate=True) == bytes(range(256))
        measured = await read("json://measure")
        assert measured.mime_type == "application/json"
        assert '"unit": "m"' in measured.text
        assert (await read("note://first%20one")).text == "note of first one"
        assert (await read("file:///a/b.txt")).text == "file at a/b.txt"
        assert (await read("search://trees?limit=7")).text == "7 of trees"
        assert (await read("search://trees")).text == "3 of trees"


@in_memory
@pytest.mark.req("R-273", "R-276", "R-277", "R-598")
async def test_what_is_not_there_is_told_with_its_uri(features):
    not_found = -32602 if features.is_modern else -32002
    async with features.open() as client:
        for uri in ("note://missing", "other://x", "file:///../etc/passwd"):
            error = await error_of(client.read_resource(uri))
            assert error.code == not_found
            assert error.message.endswith(f": {uri}") or "missing" in uri
            assert error.data == {"uri": uri}
            assert error.is_resource_not_found
        broken = await error_of(client.read_resource("broken://disk"))
        assert (broken.code, broken.message) == (-32603, "Error reading resource broken://disk")
