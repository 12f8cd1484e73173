from __future__ import annotations

import enum
import pickle

import attrs
import pytest

from trio_mcp import types
from trio_mcp._codec import DecodeError, decode, encode
from trio_mcp._codec._converter import converter_for
from trio_mcp.types import (
    KNOWN_REVISIONS,
    LATEST_HANDSHAKE,
    LATEST_MODERN,
    WireModel,
    wire_field,
    wire_model,
)

EVERY_REVISION = pytest.mark.parametrize("revision", KNOWN_REVISIONS, ids=str)
OLDER = [each for each in KNOWN_REVISIONS if each.has_handshake]


def error_of(cls, value, revision=LATEST_MODERN, where="params"):
    with pytest.raises(DecodeError) as caught:
        decode(cls, value, revision, where=where)
    return caught.value


# Values are taken at their word.


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (types.CallToolRequestParams, [], "params: expected an object, got an array"),
        (types.CallToolRequestParams, {}, "params.name: expected a string, got nothing"),
        (
            types.CallToolRequestParams,
            {"name": 5},
            "params.name: expected a string, got an integer",
        ),
        (
            types.CallToolRequestParams,
            {"name": "add", "arguments": "a=1"},
            "params.arguments: expected an object, got a string",
        ),
        (
            types.CallToolRequestParams,
            {"name": "add", "_meta": {"progressToken": True}},
            "params._meta.progressToken: expected a string or an integer, got a boolean",
        ),
        (
            types.CreateMessageRequestParams,
            {"messages": [], "maxTokens": True},
            "params.maxTokens: expected an integer, got a boolean",
        ),
        (
            types.CreateMessageRequestParams,
            {"messages": [], "maxTokens": "5"},
            "params.maxTokens: expected an integer, got a string",
        ),
        (
            types.CreateMessageRequestParams,
            {"messages": [], "maxTokens": 1.5},
            "params.maxTokens: expected an integer, got a number",
        ),
        (
            types.CreateMessageRequestParams,
            {"messages": {}, "maxTokens": 1},
            "params.messages: expected an array, got an object",
        ),
        (
            types.CreateMessageRequestParams,
            {"messages": [], "maxTokens": 1, "stopSequences": ["a", None]},
            "params.stopSequences[1]: expected a string, got null",
        ),
        (
            types.ProgressNotificationParams,
            {"progressToken": 1.0, "progress": 1},
            "params.progressToken: expected a string or an integer, got a number",
        ),
        (
            types.ProgressNotificationParams,
            {"progressToken": 1, "progress": True},
            "params.progress: expected a number, got a boolean",
        ),
        (
            types.SetLevelRequestParams,
            {"level": "loud"},
            (
                'params.level: expected "debug", "info", "notice", "warning", "error", "critical", '
                '"alert" or "emergency", got \'loud\''
            ),
        ),
        (
            types.ElicitResult,
            {"action": "accept", "content": {"a": {"b": 1}}},
            (
                "params.content.a: expected a string, a number, a boolean or an array of strings, "
                "got an object"
            ),
        ),
        (
            types.ElicitResult,
            {"action": "accept", "content": {"a": ["x", 1]}},
            "params.content.a[1]: expected a string, got an integer",
        ),
        (
            types.GetPromptRequestParams,
            {"name": "p", "arguments": {"city": 5}},
            "params.arguments.city: expected a string, got an integer",
        ),
        (
            types.SubscriptionsListenRequestParams,
            {"notifications": {"toolsListChanged": 1}},
            "params.notifications.toolsListChanged: expected a boolean, got an integer",
        ),
        (
            types.EmbeddedResource,
            {"type": "resource", "resource": {"uri": "x:y"}},
            (
                "params.resource: expected TextResourceContents or BlobResourceContents, got an "
                "object that is none of them"
            ),
        ),
        (
            types.Annotations,
            {"priority": 2},
            "params.priority: expected a number from 0 to 1, got 2",
        ),
    ],
)
def test_what_does_not_fit_is_named(cls, value, message):
    error = error_of(cls, value)
    assert str(error) == message
    path, _, found = message.partition(": ")
    assert error.path == path
    assert found == f"expected {error.expected}, got {error.got}"


def test_error_names_the_place_in_a_list():
    tool = {"name": "add", "inputSchema": {}}
    error = error_of(
        types.ListToolsResult,
        {"tools": [tool, tool, tool, {**tool, "inputSchema": None}]},
        where="result",
    )
    assert error.path == "result.tools[3].inputSchema"
    assert error.expected == "an object"
    assert error.got == "null"


def test_error_quotes_names_that_are_no_words():
    error = error_of(
        types.CallToolRequestParams,
        {"name": "x", "inputResponses": {"your name?": {"action": "maybe"}}},
    )
    assert error.path == "params.inputResponses['your name?'].action"


def test_error_of_a_key_that_only_looks_like_an_index():
    assert error_of(dict[str, types.Icon], {"0": {}}, where="icons").path == "icons['0'].src"


def test_error_pickles():
    error = error_of(types.CallToolRequestParams, {"name": 5})
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.path, copy.expected, copy.got) == (
        str(error),
        "params.name",
        "a string",
        "an integer",
    )


def test_a_number_without_a_fraction_is_an_integer():
    params = decode(
        types.CreateMessageRequestParams, {"messages": [], "maxTokens": 5.0}, LATEST_MODERN
    )
    assert params.max_tokens == 5
    assert type(params.max_tokens) is int


def test_numbers_keep_their_kind():
    value = {"progressToken": "1", "progress": 1, "total": 2.5}
    params = decode(types.ProgressNotificationParams, value, LATEST_MODERN)
    assert (type(params.progress), type(params.total)) == (int, float)
    assert params.progress_token == "1"
    assert encode(params, LATEST_MODERN) == value


def test_integers_of_any_size_pass():
    value = {"progressToken": 2**70, "progress": 2**80}
    assert (
        encode(decode(types.ProgressNotificationParams, value, LATEST_MODERN), LATEST_MODERN)
        == value
    )


def test_null_is_read_as_absent_where_absent_is_allowed():
    tool = decode(
        types.Tool,
        {"name": "add", "inputSchema": {}, "description": None, "annotations": None},
        LATEST_MODERN,
    )
    assert tool == types.Tool(name="add", input_schema={})


def test_raw_json_is_passed_on_when_read_and_copied_when_written():
    arguments = {"deep": [{"a": 1.0, "b": None}]}
    params = decode(
        types.CallToolRequestParams, {"name": "x", "arguments": arguments}, LATEST_MODERN
    )
    assert params.arguments is arguments
    written = encode(params, LATEST_MODERN)["arguments"]
    assert written == arguments
    assert written["deep"][0] is not arguments["deep"][0]


@pytest.mark.parametrize("value", [b"x", {1}, float("inf"), {1: 2}, object(), "\udc80"])
def test_raw_json_that_is_none_is_refused_with_its_path(value):
    result = types.CallToolResult(content=[], structured_content={"a": [value]})
    with pytest.raises((TypeError, ValueError), match=r"structured_content\.a\[0\]"):
        encode(result, LATEST_MODERN)
    result = types.CallToolResult(content=[], meta={"com.example/x": value})
    with pytest.raises((TypeError, ValueError)):
        encode(result, LATEST_MODERN)


# Unknown members.


@EVERY_REVISION
def test_unknown_members_are_kept_and_written_back(revision):
    value = {
        "tools": [
            {
                "name": "add",
                "inputSchema": {"type": "object"},
                "com.example/colour": "red",
                "annotations": {"readOnlyHint": True, "mood": ["calm"]},
            }
        ],
        "total": 1,
    }
    result = decode(types.ListToolsResult, value, revision)
    assert result.extra == {"total": 1}
    assert result.tools[0].extra == {"com.example/colour": "red"}
    written = encode(result, revision)
    for name in ("resultType", "ttlMs", "cacheScope"):
        written.pop(name, None)
    expected = value
    if not revision.has_tool_annotations:
        expected = {
            **value,
            "tools": [{k: w for k, w in value["tools"][0].items() if k != "annotations"}],
        }
    assert written == expected


def test_known_members_win_over_extra():
    text = types.TextContent(text="hi", extra={"text": "ho", "x": 1})
    assert encode(text, LATEST_MODERN) == {"type": "text", "text": "hi", "x": 1}


def test_objects_do_not_share_their_extra():
    first, second = decode(list[types.Icon], [{"src": "a"}, {"src": "b"}], LATEST_MODERN)
    assert first.extra == second.extra == {}
    assert first.extra is not second.extra


# Absent and null.

STRUCTURED = [
    (types.CallToolResult, {"content": [], "resultType": "complete"}),
    (types.ToolResultContent, {"type": "tool_result", "toolUseId": "1", "content": []}),
]


@pytest.mark.parametrize(("cls", "rest"), STRUCTURED)
@pytest.mark.parametrize("value", [None, [], 0, False, "", {"a": 1}])
def test_structured_content_may_be_any_value(cls, rest, value):
    wire = {**rest, "structuredContent": value, "x-more": 1}
    result = decode(cls, wire, LATEST_MODERN)
    assert result.structured_content == value
    assert type(result.structured_content) is type(value)
    assert encode(result, LATEST_MODERN) == wire
    # A null is remembered where None, which stands for absent, cannot say it.
    null = {"structuredContent": None} if value is None else {}
    assert result.extra == {"x-more": 1, **null}


@pytest.mark.parametrize(("cls", "rest"), STRUCTURED)
def test_absent_structured_content_is_none_and_stays_absent(cls, rest):
    result = decode(cls, rest, LATEST_MODERN)
    assert result.structured_content is None
    assert result.extra == {}
    assert encode(result, LATEST_MODERN) == rest


@pytest.mark.parametrize(("cls", "rest"), STRUCTURED)
def test_structured_content_set_later_takes_the_place_of_a_null(cls, rest):
    result = decode(cls, {**rest, "structuredContent": None}, LATEST_MODERN)
    changed = result.evolve(structured_content=[1])
    assert encode(changed, LATEST_MODERN) == {**rest, "structuredContent": [1]}


def test_time_to_live_of_a_task_is_written_as_null():
    wire = {
        "taskId": "1",
        "status": "working",
        "createdAt": "t",
        "lastUpdatedAt": "t",
        "ttl": None,
    }
    task = decode(types.Task, wire, LATEST_HANDSHAKE)
    assert task.ttl is None
    assert encode(task, LATEST_HANDSHAKE) == wire
    del wire["ttl"]
    assert error_of(types.Task, wire, LATEST_HANDSHAKE).path == "params.ttl"


# Eras.


@pytest.mark.req("R-008", "R-295")
def test_modern_results_say_what_they_are_and_how_long_they_last():
    assert encode(types.ListToolsResult(tools=[]), LATEST_MODERN) == {
        "tools": [],
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
    }
    assert encode(types.EmptyResult(), LATEST_MODERN) == {"resultType": "complete"}
    assert encode(types.Result(), LATEST_MODERN) == {"resultType": "complete"}
    assert encode(types.Result(extra={"resultType": "task"}), LATEST_MODERN) == {
        "resultType": "task"
    }


CACHEABLE = {
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
}


@pytest.mark.req("R-008", "R-295")
@pytest.mark.parametrize("method", [m for m in types.METHODS.values() if not m.is_notification])
def test_every_modern_answer_has_a_result_type(method):
    if not method.exists_in(LATEST_MODERN):
        return
    cls = method.result_type()
    needed = [each.name for each in attrs.fields(cls) if each.default is attrs.NOTHING]
    made = {
        "capabilities": types.ServerCapabilities(),
        "completion": types.Completion(values=[]),
    }
    result = cls(**{name: made.get(name, []) for name in needed})
    written = encode(result, LATEST_MODERN)
    assert written["resultType"] == "complete"
    has_hints = method.name in CACHEABLE
    assert ("ttlMs" in written, "cacheScope" in written) == (has_hints, has_hints)


def test_results_of_other_packages_have_a_result_type_too():
    @wire_model
    class TicketResult(types.Result):
        ticket_id: str

    assert encode(TicketResult(ticket_id="7"), LATEST_MODERN) == {
        "ticketId": "7",
        "resultType": "complete",
    }
    assert encode(TicketResult(ticket_id="7"), LATEST_HANDSHAKE) == {"ticketId": "7"}


@pytest.mark.parametrize(
    "answer",
    [
        types.ElicitResult(action="decline"),
        types.ListRootsResult(roots=[]),
        types.CreateMessageResult(
            role="assistant", content=types.TextContent(text="hi"), model="m"
        ),
    ],
    ids=lambda answer: type(answer).__name__,
)
@EVERY_REVISION
def test_answers_to_input_requests_have_no_result_type(answer, revision):
    assert "resultType" not in encode(answer, revision)


@pytest.mark.req("R-539")
@pytest.mark.parametrize("revision", OLDER, ids=str)
def test_older_results_have_nothing_of_the_modern_ones(revision):
    result = types.ListToolsResult(tools=[], ttl_ms=5, cache_scope="public")
    assert encode(result, revision) == {"tools": []}
    assert encode(types.EmptyResult(result_type="complete"), revision) == {}


@pytest.mark.req("R-011")
def test_absent_result_type_is_read_as_complete():
    assert decode(types.CallToolResult, {"content": []}, LATEST_MODERN).result_type == "complete"
    assert decode(types.EmptyResult, {}, LATEST_MODERN).result_type == "complete"


@pytest.mark.req("R-300", "R-301")
def test_absent_or_negative_time_to_live_is_0():
    assert decode(types.ListToolsResult, {"tools": []}, LATEST_MODERN).ttl_ms == 0
    assert decode(types.ListToolsResult, {"tools": [], "ttlMs": -5}, LATEST_MODERN).ttl_ms == 0
    assert decode(types.ListToolsResult, {"tools": [], "ttlMs": 5.0}, LATEST_MODERN).ttl_ms == 5


@pytest.mark.parametrize("revision", OLDER, ids=str)
def test_modern_words_of_an_older_peer_mean_nothing(revision):
    value = {"tools": [], "resultType": "odd", "ttlMs": 60_000, "cacheScope": 7}
    result = decode(types.ListToolsResult, value, revision)
    assert (result.result_type, result.ttl_ms, result.cache_scope) == ("complete", 0, "private")
    assert result.extra == {"resultType": "odd", "ttlMs": 60_000, "cacheScope": 7}


def test_field_of_another_revision_is_read_if_it_fits():
    value = {"name": "add", "inputSchema": {}, "icons": [{"src": "https://x/y.png"}]}
    oldest = KNOWN_REVISIONS[0]
    tool = decode(types.Tool, value, oldest)
    assert tool.icons == [types.Icon(src="https://x/y.png")]
    assert tool.extra == {}
    assert encode(tool, oldest) == {"name": "add", "inputSchema": {}}


def test_field_of_another_revision_is_kept_aside_if_it_does_not_fit():
    value = {"name": "add", "inputSchema": {}, "icons": "none", "title": "Add"}
    oldest = KNOWN_REVISIONS[0]
    tool = decode(types.Tool, value, oldest)
    assert tool.icons is None
    assert tool.title == "Add"
    assert tool.extra == {"icons": "none"}
    assert error_of(types.Tool, value).path == "params.icons"


@pytest.mark.parametrize("revision", KNOWN_REVISIONS, ids=str)
def test_some_revisions_demand_what_others_leave_open(revision):
    if revision.has_tasks:
        assert decode(types.CancelledNotificationParams, {}, revision).request_id is None
        assert encode(types.CancelledNotificationParams(), revision) == {}
        params = types.ElicitRequestURLParams(message="m", url="https://x")
        with pytest.raises(ValueError, match=r"elicitation_id is needed in revision 2025-11-25"):
            encode(params, revision)
        assert (
            error_of(
                types.ElicitRequestURLParams, {"mode": "url", "message": "m", "url": "u"}, revision
            ).path
            == "params.elicitationId"
        )
    else:
        assert error_of(types.CancelledNotificationParams, {}, revision).path == "params.requestId"
        assert (
            error_of(types.CancelledNotificationParams, {"requestId": None}, revision).got
            == "null"
        )
        with pytest.raises(ValueError, match=f"request_id is needed in revision {revision}"):
            encode(types.CancelledNotificationParams(), revision)


# Unions.


def test_content_blocks_are_told_apart_by_type():
    blocks = [
        types.TextContent(text="hi"),
        types.ImageContent(data="", mime_type="image/png"),
        types.AudioContent(data="", mime_type="audio/wav"),
        types.ResourceLink(uri="x:y", name="n"),
        types.EmbeddedResource(resource=types.TextResourceContents(uri="x:y", text="t")),
        types.EmbeddedResource(resource=types.BlobResourceContents(uri="x:y", blob="")),
    ]
    for block in blocks:
        assert decode(types.ContentBlock, encode(block, LATEST_MODERN), LATEST_MODERN) == block
    error = error_of(types.ContentBlock, {"type": "tool_use"}, where="result.content[0]")
    assert error.path == "result.content[0].type"
    assert error_of(types.ContentBlock, {"text": "hi"}).got == "nothing"
    assert error_of(types.ContentBlock, {"type": []}).got == "an array"
    assert error_of(types.ContentBlock, "text").got == "a string"
    assert error_of(types.ContentBlock, None).got == "null"


def test_requests_are_told_apart_by_method():
    request = types.CallToolRequest(params=types.CallToolRequestParams(name="add"))
    wire = {"method": "tools/call", "params": {"name": "add"}}
    assert encode(request, LATEST_MODERN) == wire
    assert decode(types.ClientRequest, wire, LATEST_MODERN) == request
    assert error_of(types.ServerRequest, wire).path == "params.method"


def test_elicitation_without_a_mode_is_a_form():
    wire = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
    params = decode(types.ElicitRequestParams, wire, LATEST_MODERN)
    assert isinstance(params, types.ElicitRequestFormParams)
    url = {"mode": "url", "message": "m", "url": "https://x"}
    assert isinstance(
        decode(types.ElicitRequestParams, url, LATEST_MODERN), types.ElicitRequestURLParams
    )
    assert error_of(types.ElicitRequestParams, {"mode": "voice"}).path == "params.mode"


def test_interim_results_are_told_apart_only_where_they_exist():
    answer = types.CallToolResult | types.InputRequiredResult
    wire = {"resultType": "input_required", "requestState": "s", "content": []}
    assert isinstance(decode(answer, wire, LATEST_MODERN), types.InputRequiredResult)
    assert isinstance(decode(answer, wire, LATEST_HANDSHAKE), types.CallToolResult)
    assert isinstance(decode(answer, {"content": []}, LATEST_MODERN), types.CallToolResult)


@pytest.mark.req("R-186")
def test_interim_result_without_questions_and_state_is_refused():
    error = error_of(types.InputRequiredResult, {"resultType": "input_required"})
    assert "needs input_requests, request_state or both" in str(error)


def test_input_responses_are_told_apart_by_their_members():
    text = {"type": "text", "text": "hi"}
    said = {"role": "assistant", "model": "m"}
    responses = decode(
        types.InputResponses,
        {
            "form": {"action": "accept", "content": {"a": 1, "b": ["x"]}},
            "roots": {"roots": [{"uri": "file:///x"}]},
            "one": {**said, "content": text},
            "many": {**said, "content": [text, text]},
            "tool": {**said, "content": {"type": "tool_use", "name": "n", "id": "1", "input": {}}},
        },
        LATEST_MODERN,
    )
    assert {key: type(each).__name__ for key, each in responses.items()} == {
        "form": "ElicitResult",
        "roots": "ListRootsResult",
        "one": "CreateMessageResult",
        "many": "CreateMessageResultWithTools",
        "tool": "CreateMessageResultWithTools",
    }


@pytest.mark.req("R-007", "R-013", "R-014")
def test_json_rpc_messages_are_read_and_written():
    request = types.JSONRPCRequest(id=1, method="ping")
    error = types.JSONRPCError(id=None, error=types.ErrorData(code=-1, message="no", data=[1]))
    answer = types.JSONRPCResponse(id="1", result={})
    notification = types.JSONRPCNotification(method="x", params={"a": 1})
    for message in (request, error, answer, notification):
        wire = encode(message, LATEST_MODERN)
        assert wire["jsonrpc"] == "2.0"
        assert decode(types.JSONRPCMessage, wire, LATEST_MODERN) == message
        assert decode(type(message), wire, LATEST_MODERN) == message
    assert "a JSONRPCRequest" in str(error_of(types.JSONRPCRequest, encode(answer, LATEST_MODERN)))
    for broken in ({"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "id": 1, "error": {"message": "x"}},
                   {"jsonrpc": "2.0", "id": 1, "error": {"code": 1.5, "message": "x"}}):  # fmt: skip
        assert error_of(types.JSONRPCMessage, broken).expected == "a JSON-RPC message"


def test_lists_and_maps_of_types_can_be_decoded():
    assert decode(list[types.Icon], [{"src": "a"}], LATEST_MODERN) == [types.Icon(src="a")]
    assert error_of(list[types.Icon], [{"src": "a"}, {}], where="icons").path == "icons[1].src"
    assert error_of(dict[str, types.Icon], []).got == "an array"
    assert error_of(list[types.Role], ["user", "system"]).path == "params[1]"


# Progress tokens.


def test_progress_token_has_a_python_name():
    wire = {"name": "x", "_meta": {"progressToken": 5, "com.example/a": 1}}
    params = decode(types.CallToolRequestParams, wire, LATEST_MODERN)
    assert params.meta == {"progress_token": 5, "com.example/a": 1}
    assert encode(params, LATEST_MODERN) == wire
    raw = types.CallToolRequestParams(name="x", meta={"progressToken": 5, "com.example/a": 1})
    assert encode(raw, LATEST_MODERN) == wire
    untouched = {"com.example/a": 1}
    assert decode(types.RequestParams, {"_meta": untouched}, LATEST_MODERN).meta is untouched
    assert error_of(types.RequestParams, {"_meta": []}).path == "params._meta"


# What programs give.


class Level(enum.StrEnum):
    INFO = "info"


def test_strings_of_subclasses_are_written_as_strings():
    params = types.LoggingMessageNotificationParams(level=Level.INFO, data=None, logger=Level.INFO)
    written = encode(params, LATEST_MODERN)
    assert written == {"level": "info", "logger": "info", "data": None}
    assert type(written["level"]) is type(written["logger"]) is str


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (types.TextContent(text=5), "TextContent.text: expected str, got int"),
        (types.CallToolResult(content="hi"), "CallToolResult.content: expected list, got str"),
        (
            types.CallToolResult(content=["hi"]),
            (
                "CallToolResult.content: expected AudioContent or EmbeddedResource or ImageContent "
                "or ResourceLink or TextContent, got str"
            ),
        ),
        (
            types.CallToolResult(content=[types.Icon(src="x")]),
            (
                "CallToolResult.content: expected AudioContent or EmbeddedResource or ImageContent "
                "or ResourceLink or TextContent, got Icon"
            ),
        ),
        (types.CallToolResult(content=[], is_error=1), "CallToolResult.is_error: expected bool"),
        (types.Tool(name="x", input_schema=[]), "Tool.input_schema: expected dict, got list"),
        (
            types.Tool(name="x", input_schema={}, annotations=5),
            "Tool.annotations: expected ToolAnnotations, got int",
        ),
        (
            types.ProgressNotificationParams(progress_token=1.5, progress=1),
            "ProgressNotificationParams.progress_token: expected str or int, got float",
        ),
        (
            types.ProgressNotificationParams(progress_token=True, progress=1),
            "ProgressNotificationParams.progress_token: expected str or int, got bool",
        ),
        (
            types.ProgressNotificationParams(progress_token=1, progress="1"),
            "ProgressNotificationParams.progress: expected float, got str",
        ),
        (
            types.CreateMessageRequestParams(messages=[], max_tokens="5"),
            "CreateMessageRequestParams.max_tokens: expected int, got str",
        ),
        (
            types.GetPromptRequestParams(name="x", arguments={"a": 1}),
            "GetPromptRequestParams.arguments: expected str, got int",
        ),
        (
            types.ElicitResult(action="accept", content={"a": object()}),
            "ElicitResult.content: expected str, int, float, bool or list",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_a_type_error(value, message):
    with pytest.raises(TypeError) as caught:
        encode(value, LATEST_MODERN)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (types.SetLevelRequestParams(level="loud"), "SetLevelRequestParams.level: expected"),
        (
            types.ProgressNotificationParams(progress_token=1, progress=float("nan")),
            "ProgressNotificationParams.progress: nan does not exist in JSON",
        ),
        (
            types.CallToolResult(content=[{"type": "text"}]),
            "CallToolResult.content.text: expected a string, got nothing",
        ),
    ],
)
def test_a_value_that_cannot_be_is_a_value_error(value, message):
    with pytest.raises(ValueError) as caught:
        encode(value, LATEST_HANDSHAKE)
    assert str(caught.value).startswith(message)


def test_json_objects_may_stand_for_objects():
    result = types.CallToolResult(content=[{"type": "text", "text": "hi"}])
    assert encode(result, LATEST_MODERN)["content"] == [{"type": "text", "text": "hi"}]
    tool = types.Tool(name="x", input_schema={}, annotations={"readOnlyHint": True})
    assert encode(tool, LATEST_MODERN)["annotations"] == {"readOnlyHint": True}


def test_tuples_and_mappings_are_taken_as_lists_and_dicts():
    result = types.CallToolResult(content=(types.TextContent(text="hi"),))
    assert encode(result, LATEST_MODERN)["content"] == [{"type": "text", "text": "hi"}]
    params = types.CompletionContext(
        arguments=attrs.asdict(types.Icon(src="x"), filter=lambda a, v: isinstance(v, str))
    )
    assert encode(params, LATEST_MODERN) == {"arguments": {"src": "x"}}


def test_values_that_are_none_are_not_sent_in_a_form():
    result = types.ElicitResult(action="accept", content={"a": None, "b": 1})
    assert encode(result, LATEST_MODERN) == {"action": "accept", "content": {"b": 1}}


def test_integers_of_subclasses_are_written_as_integers():
    class Colour(enum.IntEnum):
        RED = 1

    params = types.ProgressNotificationParams(progress_token=Colour.RED, progress=Colour.RED)
    written = encode(params, LATEST_MODERN)
    assert type(written["progressToken"]) is type(written["progress"]) is int
    sampling = types.CreateMessageRequestParams(messages=[], max_tokens=5.0)
    assert type(encode(sampling, LATEST_MODERN)["maxTokens"]) is int


# Other people's types.


@wire_model
class Leg(WireModel):
    from_city: str
    price: float | None = wire_field(default=None, wire="cost")


@wire_model
class Trip(types.CallToolRequestParams):
    legs: list[Leg] = wire_field(factory=list)
    best: Leg | None = None
    other: Leg | list[Leg] | None = None


def test_types_of_other_packages_are_spelled_the_same_way():
    wire = {
        "name": "book",
        "legs": [{"fromCity": "Oslo", "cost": 1.5}],
        "best": {"fromCity": "Rome"},
        "other": [{"fromCity": "Bonn"}],
    }
    trip = decode(Trip, wire, LATEST_MODERN)
    assert trip == Trip(
        name="book",
        legs=[Leg(from_city="Oslo", price=1.5)],
        best=Leg(from_city="Rome"),
        other=[Leg(from_city="Bonn")],
    )
    assert encode(trip, LATEST_MODERN) == wire
    assert error_of(Trip, {**wire, "legs": [{}]}).path == "params.legs[0].fromCity"


def test_subclass_stands_for_its_base():
    class MyText(types.TextContent):
        pass

    result = types.CallToolResult(content=[MyText(text="hi")])
    assert encode(result, LATEST_MODERN)["content"] == [{"type": "text", "text": "hi"}]
    assert type(decode(MyText, {"type": "text", "text": "hi"}, LATEST_MODERN)) is MyText


def test_generic_request_carries_any_params():
    request = types.Request(
        method="com.example/go", params=types.PaginatedRequestParams(cursor="c")
    )
    assert encode(request, LATEST_MODERN) == {
        "method": "com.example/go",
        "params": {"cursor": "c"},
    }
    assert encode(types.Request(method="x", params={"a": 1}), LATEST_MODERN)["params"] == {"a": 1}


@attrs.frozen
class Point:
    x: int


@wire_model
class Marked(WireModel):
    point: Point


@attrs.frozen
class Shelf:
    tools: list[types.Tool]
    notice: types.JSONRPCNotification


@wire_model
class Shelved(WireModel):
    shelf: Shelf


def test_hooks_for_foreign_classes_are_honoured():
    converter = converter_for(LATEST_MODERN)
    converter.register_structure_hook(Point, lambda value, _: Point(int(value.removeprefix("x="))))
    marked = decode(Marked, {"point": "x=5"}, LATEST_MODERN)
    assert marked.point == Point(5)
    error = error_of(Marked, {"point": "x=a"})
    assert error.path == "params.point"
    assert error.expected == "a Point"


def test_wire_types_in_a_foreign_class_are_read_and_written():
    told = {"jsonrpc": "2.0", "method": "com.example/told"}
    tool = {"name": "add", "inputSchema": {"type": "object"}}
    given = {"shelf": {"tools": [tool], "notice": told}}
    shelved = decode(Shelved, given, LATEST_MODERN)
    assert shelved.shelf.tools == [types.Tool(name="add", input_schema={"type": "object"})]
    assert shelved.shelf.notice.method == "com.example/told"
    assert encode(shelved, LATEST_MODERN) == given
