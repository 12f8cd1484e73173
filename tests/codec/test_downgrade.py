from __future__ import annotations

import json

import pytest

from trio_mcp import types
from trio_mcp._codec import encode
from trio_mcp.types import KNOWN_REVISIONS, LATEST_HANDSHAKE, LATEST_MODERN, revision_for

EVERY_REVISION = pytest.mark.parametrize("revision", KNOWN_REVISIONS, ids=str)
OLDEST, V2025_03, V2025_06, V2025_11, MODERN = KNOWN_REVISIONS

TEXT = types.TextContent(text="hi")
AUDIO = types.AudioContent(
    data="AAAA", mime_type="audio/wav", annotations=types.Annotations(priority=1), meta={"a": 1}
)
LINK = types.ResourceLink(uri="file:///notes.txt", name="notes", title="My notes", icons=[])


def content_of(*blocks, revision, **arguments):
    return encode(types.CallToolResult(content=list(blocks), **arguments), revision)["content"]


@EVERY_REVISION
def test_audio_is_a_note_before_2025_03_26(revision):
    [block] = content_of(AUDIO, revision=revision)
    if revision.has_audio:
        assert block["type"] == "audio"
        assert block["data"] == "AAAA"
    else:
        assert block == {
            "type": "text",
            "text": "[audio: audio/wav]",
            "annotations": {"priority": 1},
        }


@EVERY_REVISION
def test_resource_link_is_a_text_with_the_uri_before_2025_06_18(revision):
    [block] = content_of(LINK, revision=revision)
    if revision.has_resource_links:
        assert block["type"] == "resource_link"
        assert block["uri"] == "file:///notes.txt"
        assert ("icons" in block) == revision.has_titled_enums
    else:
        assert block == {"type": "text", "text": "[My notes](file:///notes.txt)"}


@EVERY_REVISION
def test_prompts_are_downgraded_as_tools_are(revision):
    result = types.GetPromptResult(messages=[types.PromptMessage(role="user", content=AUDIO)])
    [message] = encode(result, revision)["messages"]
    assert message["content"]["type"] == ("audio" if revision.has_audio else "text")


# Structured content.


def structured(value, content):
    """Make a result with structured content, null included."""
    if value is None:
        return types.CallToolResult(content=content, extra={"structuredContent": None})
    return types.CallToolResult(content=content, structured_content=value)


@EVERY_REVISION
@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], "x", None, 0])
def test_structured_content_is_sent_where_it_can_be(revision, value):
    written = encode(structured(value, [TEXT]), revision)
    sayable = revision.has_structured_content and (
        revision.has_any_structured_content or isinstance(value, dict)
    )
    assert ("structuredContent" in written) == sayable
    if sayable:
        assert written["structuredContent"] == value
    # What the tool said itself is not added to.
    assert written["content"] == [{"type": "text", "text": "hi"}]


@EVERY_REVISION
@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], None])
def test_structured_content_that_cannot_be_sent_is_the_text_if_there_is_none(revision, value):
    written = encode(structured(value, []), revision)
    if "structuredContent" in written:
        assert written["content"] == []
    else:
        [block] = written["content"]
        assert json.loads(block["text"]) == value


@EVERY_REVISION
def test_a_result_without_structured_content_stays_as_it_is(revision):
    written = encode(types.CallToolResult(content=[]), revision)
    assert written["content"] == []
    assert "structuredContent" not in written


# Tools.


def tool_of(revision, **arguments):
    tool = types.Tool(**{"name": "add", "input_schema": {"type": "object"}, **arguments})
    return encode(tool, revision)


@EVERY_REVISION
@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"type": "array"}, {}, {"$ref": "#/$defs/a"}]
)
def test_output_schema_that_is_of_no_object_is_left_out(revision, schema):
    written = tool_of(revision, output_schema=schema)
    assert written.get("outputSchema") == (schema if revision.has_any_structured_content else None)


@EVERY_REVISION
def test_output_schema_of_an_object_is_sent_since_2025_06_18(revision):
    written = tool_of(revision, output_schema={"type": "object"})
    assert ("outputSchema" in written) == revision.has_structured_content


@EVERY_REVISION
def test_boolean_schemas_of_properties_are_spelled_as_objects(revision):
    schema = {"type": "object", "properties": {"a": True, "b": False, "c": {"type": "string"}}}
    written = tool_of(revision, input_schema=schema)["inputSchema"]
    if revision.is_modern:
        assert written == schema
    else:
        assert written["properties"] == {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}
    assert schema["properties"]["a"] is True


@EVERY_REVISION
def test_schemas_that_need_no_change_are_sent_as_they_are(revision):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert tool_of(revision, input_schema=schema)["inputSchema"] == schema


@pytest.mark.req("R-539")
@EVERY_REVISION
def test_tool_has_the_fields_of_its_revision(revision):
    written = tool_of(
        revision,
        title="Add",
        description="adds",
        icons=[types.Icon(src="https://x/y.png")],
        annotations=types.ToolAnnotations(read_only_hint=True),
        execution=types.ToolExecution(task_support="optional"),
        meta={"a": 1},
    )
    since = {
        "annotations": revision.has_tool_annotations,
        "title": revision.has_structured_content,
        "_meta": revision.has_structured_content,
        "icons": revision.has_titled_enums,
        "execution": revision.has_tasks,
    }
    assert {name: name in written for name in since} == since


# Sampling.


SAMPLING = types.CreateMessageRequestParams(
    max_tokens=9,
    messages=[
        types.SamplingMessage(role="user", content=[TEXT, AUDIO]),
        types.SamplingMessage(
            role="assistant",
            content=[types.ToolUseContent(name="add", id="1", input={"a": 1})],
        ),
        types.SamplingMessage(
            role="user",
            content=[
                types.ToolResultContent(
                    tool_use_id="1", content=[TEXT, LINK], structured_content=[3]
                )
            ],
        ),
        types.SamplingMessage(role="user", content=TEXT, meta={"a": 1}),
    ],
    tools=[],
    tool_choice=types.ToolChoice(mode="none"),
)


@pytest.mark.parametrize("revision", [OLDEST, V2025_03, V2025_06], ids=str)
def test_each_block_is_a_message_of_its_own_before_2025_11_25(revision):
    written = encode(SAMPLING, revision)
    assert "tools" not in written
    assert "toolChoice" not in written
    audio = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
    blocks = [each["content"] for each in written["messages"]]
    assert [each["role"] for each in written["messages"]] == [
        "user",
        "user",
        "assistant",
        "user",
        "user",
    ]
    assert blocks[0] == {"type": "text", "text": "hi"}
    if revision.has_audio:
        assert audio.items() <= blocks[1].items()
    else:
        assert blocks[1]["text"] == "[audio: audio/wav]"
    assert blocks[2]["text"] == '[call of the tool add: {"a":1}]'
    assert blocks[3]["text"] == "hi\n\n[My notes](file:///notes.txt)"
    assert written["messages"][4] == {"role": "user", "content": {"type": "text", "text": "hi"}}


def test_blocks_stay_together_since_2025_11_25():
    written = encode(SAMPLING, V2025_11)
    assert [len(each["content"]) for each in written["messages"][:3]] == [2, 1, 1]
    [result] = written["messages"][2]["content"]
    assert result["type"] == "tool_result"
    assert "structuredContent" not in result
    [modern] = encode(SAMPLING, MODERN)["messages"][2]["content"]
    assert modern["structuredContent"] == [3]


def test_a_result_of_several_blocks_is_one_text_before_2025_11_25():
    picture = types.ImageContent(data="", mime_type="image/png")
    text = types.TextResourceContents(uri="x:y", text="inside")
    blob = types.BlobResourceContents(uri="x:z", blob="")
    result = types.CreateMessageResultWithTools(
        role="assistant",
        model="m",
        content=[
            TEXT,
            picture,
            AUDIO,
            types.ToolUseContent(name="add", id="1", input={}),
            types.ToolResultContent(
                tool_use_id="1",
                content=[
                    types.EmbeddedResource(resource=text),
                    types.EmbeddedResource(resource=blob),
                ],
            ),
        ],
    )
    assert encode(result, V2025_06)["content"] == {
        "type": "text",
        "text": "hi\n\n[image: image/png]\n\n[audio: audio/wav]\n\n[call of the tool add: {}]"
        "\n\ninside\n\n[binary: x:z]",
    }
    assert len(encode(result, V2025_11)["content"]) == 5
    single = result.evolve(content=[picture])
    assert encode(single, V2025_06)["content"]["type"] == "image"
    message = types.SamplingMessage(role="user", content=[{"type": "text", "text": "raw"}, TEXT])
    assert encode(message, V2025_06)["content"]["text"] == '{"type":"text","text":"raw"}\n\nhi'


def test_what_was_given_as_json_is_downgraded_too():
    params = types.CreateMessageRequestParams(
        max_tokens=9,
        messages=[{"role": "user", "content": [{"type": "text", "text": "a"}]}],
    )
    [message] = encode(params, OLDEST)["messages"]
    assert message == {"role": "user", "content": {"type": "text", "text": "a"}}
    audio = {"type": "audio", "data": "", "mimeType": "audio/wav"}
    assert content_of(audio, revision=OLDEST) == [{"type": "text", "text": "[audio: audio/wav]"}]
    capabilities = types.ClientCapabilities(elicitation={"url": {}, "form": {}})
    assert encode(capabilities, V2025_06) == {"elicitation": {}}


# Elicitation.


def form_of(revision, **fields):
    params = types.ElicitRequestFormParams(
        message="m",
        requested_schema={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": fields,
        },
    )
    return encode(params, revision)


TITLED = {
    "type": "string",
    "title": "Colour",
    "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}],
    "default": "r",
}


def test_titled_choices_have_names_at_2025_06_18():
    written = form_of(
        V2025_06,
        colour=TITLED,
        age={"type": "integer", "default": 5},
        sure={"type": "boolean", "default": True},
    )
    assert written == {
        "message": "m",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "colour": {
                    "type": "string",
                    "title": "Colour",
                    "enum": ["r", "b"],
                    "enumNames": ["Red", "Blue"],
                },
                "age": {"type": "integer"},
                "sure": {"type": "boolean", "default": True},
            },
        },
    }
    assert "oneOf" in TITLED


@pytest.mark.parametrize("revision", [LATEST_HANDSHAKE, LATEST_MODERN], ids=str)
def test_forms_are_sent_as_they_are_since_2025_11_25(revision):
    written = form_of(revision, colour=TITLED)
    assert written["mode"] == "form"
    assert written["requestedSchema"]["properties"]["colour"] == TITLED
    assert "$schema" in written["requestedSchema"]


def test_multiple_choice_cannot_be_asked_at_2025_06_18():
    field = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
    with pytest.raises(ValueError, match="'which' is a multiple choice"):
        form_of(V2025_06, which=field)
    assert form_of(V2025_11, which=field)["requestedSchema"]["properties"]["which"] == field


def test_odd_forms_are_left_to_the_one_who_made_them():
    assert form_of(V2025_06, a=True)["requestedSchema"]["properties"] == {"a": True}
    params = types.ElicitRequestFormParams(message="m", requested_schema={"type": "object"})
    assert encode(params, V2025_06)["requestedSchema"] == {"type": "object"}


@pytest.mark.parametrize("revision", [OLDEST, V2025_03, V2025_06], ids=str)
def test_a_url_cannot_be_asked_for_before_2025_11_25(revision):
    params = types.ElicitRequestURLParams(message="m", url="https://x", elicitation_id="1")
    with pytest.raises(ValueError, match=f"revision {revision} has no ElicitRequestURLParams"):
        encode(params, revision)


@EVERY_REVISION
def test_interim_results_exist_since_2026_07_28(revision):
    result = types.InputRequiredResult(request_state="s")
    if revision.is_modern:
        assert encode(result, revision)["requestState"] == "s"
    else:
        with pytest.raises(ValueError, match="has no InputRequiredResult"):
            encode(result, revision)


# Capabilities.


@EVERY_REVISION
@pytest.mark.parametrize("form", [None, types.FormElicitationCapability()])
def test_elicitation_by_url_alone_does_not_promise_forms(revision, form):
    elicitation = types.ElicitationCapability(url=types.UrlElicitationCapability(), form=form)
    written = encode(types.ClientCapabilities(elicitation=elicitation), revision)
    if revision.has_url_elicitation:
        assert "url" in written["elicitation"]
    elif revision.has_elicitation and form is not None:
        assert written == {"elicitation": {}}
    else:
        assert written == {}


@EVERY_REVISION
def test_extensions_are_told_in_every_revision(revision):
    capabilities = types.ClientCapabilities(
        extensions={"io.modelcontextprotocol/ui": {}},
        tasks=types.ClientTasksCapability(list=types.TasksListCapability()),
        roots=types.RootsCapability(list_changed=True),
    )
    written = encode(capabilities, revision)
    assert written["extensions"] == {"io.modelcontextprotocol/ui": {}}
    assert ("tasks" in written) == revision.has_tasks
    assert written["roots"] == ({} if revision.is_modern else {"listChanged": True})


def test_completions_are_a_capability_since_2025_03_26():
    capabilities = types.ServerCapabilities(completions=types.CompletionsCapability())
    assert encode(capabilities, OLDEST) == {}
    assert encode(capabilities, V2025_03) == {"completions": {}}


def test_subclasses_are_downgraded_as_their_base():
    class MyLink(types.ResourceLink):
        pass

    [block] = content_of(MyLink(uri="x:y", name="n"), revision=revision_for("2025-03-26"))
    assert block == {"type": "text", "text": "[n](x:y)"}
