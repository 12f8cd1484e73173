"""Types of the protocol can be kept as JSON, and taken up again."""

from __future__ import annotations

import json
from typing import Any, Union

import pytest

from trio_mcp import Client, ElicitResult, MCPServer, from_json, to_json
from trio_mcp.types import (
    CacheableResult,
    CallToolResult,
    ClientRequest,
    ContentBlock,
    CreateMessageResult,
    DiscoverResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    EmptyResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    PaginatedResult,
    PingRequest,
    Request,
    Result,
    TextContent,
    Tool,
    wire_model,
)
from trio_mcp.types.version import KNOWN_PROTOCOL_VERSIONS

NOTE = {"jsonrpc": "2.0", "method": "x"}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
ASKED = InputRequiredResult(
    input_requests={
        "q": ElicitRequest(params=ElicitRequestFormParams(message="m", requested_schema=FORM))
    },
    request_state="s",
)


@pytest.mark.parametrize(
    "value",
    [
        ASKED,
        CallToolResult(content=[TextContent(text="ü")], structured_content={"a": [1, None]}),
        ElicitResult(action="accept", content={"name": "Ann"}),
        Tool(name="x", input_schema={"type": "object"}),
        EmptyResult(),
        EmptyResult(meta={"a": 1}),
        Result(),
        Result(extra={"a": 1}),
        CacheableResult(),
        PaginatedResult(next_cursor="x"),
        CreateMessageResult(role="user", content=TextContent(text="x"), model="m"),
        JSONRPCRequest(id="a", method="x/y", params={"a": [None]}),
        JSONRPCNotification(method="x/y"),
        JSONRPCResponse(id=1, result={"a": 1}),
        JSONRPCError(id=None, error=ErrorData(code=-1, message="m")),
        ErrorData(code=-1, message="m", data=[1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_was_written_is_read_as_the_same(value: Any) -> None:
    text = json.dumps(to_json(value))
    assert from_json(type(value), text) == value
    assert from_json(type(value), text.encode()) == value
    assert from_json(type(value), json.loads(text)) == value


@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
def test_what_says_nothing_is_the_same_in_every_revision(version: str) -> None:
    assert from_json(EmptyResult, to_json(EmptyResult(), version), version) == EmptyResult()


def test_another_word_for_a_result_stays() -> None:
    read = from_json(Result, {"resultType": "com.example/late"})
    assert read.extra == {"resultType": "com.example/late"}
    assert to_json(read) == {"resultType": "com.example/late"}


@pytest.mark.parametrize(
    ("union", "value"),
    [
        (ContentBlock, TextContent(text="x")),
        (ElicitRequestParams, ElicitRequestFormParams(message="m", requested_schema=FORM)),
        (ClientRequest, PingRequest()),
        (JSONRPCMessage, JSONRPCResponse(id=1, result={})),
        (Union[Tool, InputRequiredResult], ASKED),  # noqa: UP007 - the older spelling, too
    ],
)
def test_a_union_finds_out_what_it_is(union: Any, value: Any) -> None:
    read = from_json(union, json.dumps(to_json(value)))
    assert (type(read), read) == (type(value), value)


def test_it_is_what_goes_over_the_wire() -> None:
    written = to_json(ASKED)
    assert written["resultType"] == "input_required"
    assert written["inputRequests"]["q"]["method"] == "elicitation/create"  # type: ignore[index, call-overload]
    tool = Tool(name="x", title="X", input_schema={"type": "object"})
    assert "title" not in to_json(tool, "2024-11-05")


def test_nothing_is_shared() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    written = to_json(Tool(name="x", input_schema=schema))
    schema["properties"]["late"] = {}
    assert written["inputSchema"] == {"type": "object", "properties": {}}
    read = from_json(Tool, written)
    written["inputSchema"]["properties"]["late"] = {}  # type: ignore[index, call-overload]
    assert read.input_schema == {"type": "object", "properties": {}}


def test_types_of_ones_own_too() -> None:
    @wire_model
    class Order(Request):
        number: int

    order = Order(method="com.example/order", params=None, number=7)
    assert from_json(Order, to_json(order)) == order


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: to_json({"a": 1}), TypeError, "value: expected WireModel, a .* got dict"),  # type: ignore[arg-type]
        (lambda: from_json(dict, {}), TypeError, "cls: expected "),  # type: ignore[type-var]
        (lambda: from_json(Tool | int, {}), TypeError, "cls: expected .* got UnionType"),
        (lambda: from_json(ContentBlock, {"type": "x"}), ValueError, "json.type: expected "),
        (lambda: from_json(JSONRPCRequest, {"jsonrpc": "2.0"}), ValueError, "json: .*message"),
        (lambda: from_json(JSONRPCRequest, NOTE), ValueError, "got a JSONRPCNotification"),
        (lambda: from_json(ErrorData, {"code": "x"}), ValueError, "json: expected an object with"),
        (lambda: from_json(ErrorData, None), ValueError, "json: expected an object with"),
        (lambda: to_json(JSONRPCRequest(id=1.5, method="x")), TypeError, "JSONRPCRequest: .* id"),  # type: ignore[arg-type]
        (lambda: to_json(ErrorData(code="x", message="m")), TypeError, "ErrorData: .* code"),  # type: ignore[arg-type]
        (lambda: to_json(ErrorData(code=1, message="m", data={1})), TypeError, "set has no JSON"),
        (lambda: from_json(Tool, "{"), ValueError, "json: the text ends too early"),
        (lambda: from_json(Tool, {"name": 5}), ValueError, "json.name: expected a string"),
        (lambda: from_json(Tool, {}, "2099-01-01"), ValueError, "protocol_version: expected one"),
        (lambda: from_json(Tool, {"name": object()}), TypeError, "json.name: "),  # type: ignore[dict-item]
    ],
)
def test_bad_input_is_told(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


async def test_what_a_server_said_of_itself_saves_asking_it_again() -> None:
    mcp = MCPServer("me")
    async with Client(mcp) as client:
        found = client.session.discover_result
        assert found is not None
        kept = json.dumps(to_json(found))
    known = from_json(DiscoverResult, kept)
    async with Client(mcp, mode="2026-07-28", prior_discover=known) as client:
        assert client.session.discover_result == found
