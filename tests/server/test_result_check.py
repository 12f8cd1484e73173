"""What handlers and middleware return is checked against the method before it is sent."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from trio_mcp.client import Client, ClientSession
from trio_mcp.errors import MCPDeprecationWarning, MCPError
from trio_mcp.server import Server
from trio_mcp.testing import open_client
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    INTERNAL_ERROR,
    CallToolResult,
    EmptyResult,
    InputRequiredResult,
    ListToolsResult,
    Request,
    Result,
    SubscribeRequestParams,
    TextContent,
)

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
ROADS = pytest.mark.parametrize("road", ["direct", "memory", "text"])
TEXT = {"type": "text", "text": "hi"}


class PydanticLike:
    def model_dump(self, **_options: Any) -> dict[str, Any]:
        return {"content": [{"type": "text"}]}


class OwnCallToolResult(CallToolResult):
    """A subclass, as authors make them."""


def server_that_returns(value: Any) -> Server[Any]:
    async def call(_ctx: Any, _params: Any) -> Any:
        return value

    async def tools(_ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[])

    return Server("x", on_call_tool=call, on_list_tools=tools)


WRONG = [
    pytest.param(None, "it is None", id="none"),
    pytest.param({"a": 1}, "result.content: expected an array, got nothing", id="dict"),
    pytest.param(
        ListToolsResult(tools=[]), "result.content: expected an array, got nothing", id="other"
    ),
    pytest.param(EmptyResult(), "result.content: expected an array, got nothing", id="empty"),
    pytest.param({"content": "hi"}, "result.content: expected an array, got a string", id="text"),
    pytest.param(
        {"content": [TEXT, {"type": "text"}]},
        "result.content[1].text: expected a string, got nothing",
        id="block",
    ),
    pytest.param(
        {"content": [], "isError": "no"},
        "result.isError: expected a boolean, got a string",
        id="flag",
    ),
    pytest.param(
        PydanticLike(), "result.content[0].text: expected a string, got nothing", id="model"
    ),
]


@ROADS
@BOTH_ERAS
@pytest.mark.parametrize(("value", "said"), WRONG)
async def test_what_is_no_result_of_the_method_is_not_sent(
    value: Any, said: str, mode: Any, road: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_client(server_that_returns(value), road, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("t")
        assert (caught.value.code, caught.value.message) == (-32603, "Internal server error")
        assert (await client.list_tools()).tools == []
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert f"tools/call: what was returned is no CallToolResult: {said}" in caplog.text


@BOTH_ERAS
@pytest.mark.parametrize(
    "value",
    [
        {"content": [TEXT]},
        {"content": [TEXT], "com.example/more": 1, "_meta": {"com.example/a": 1}},
        CallToolResult(content=[TextContent(text="hi")]),
        OwnCallToolResult(content=[TextContent(text="hi")]),
    ],
)
async def test_what_is_one_is_sent(value: Any, mode: Any) -> None:
    async with Client(server_that_returns(value), mode=mode) as client:
        assert (await client.call_tool("t")).content == [TextContent(text="hi")]


@BOTH_ERAS
async def test_what_middleware_returns_is_checked_too(
    mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def instead(ctx: Any, call_next: Any) -> Any:
        return {"tools": 5} if ctx.method == "tools/list" else await call_next(ctx)

    server = server_that_returns(None)
    server.middleware.append(instead)
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.list_tools()
    assert "no ListToolsResult: result.tools: expected an array, got an integer" in caplog.text


@pytest.mark.req("R-178")
@pytest.mark.parametrize(
    "value", [InputRequiredResult(request_state="s"), {"resultType": "input_required"}]
)
async def test_only_some_methods_may_need_input(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = server_that_returns(None)

    async def instead(ctx: Any, call_next: Any) -> Any:
        return value if ctx.method == "tools/list" else await call_next(ctx)

    server.middleware.append(instead)
    async with Client(server) as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.list_tools()
    assert "tools/list: its result cannot be an InputRequiredResult" in caplog.text


async def test_what_belongs_to_extensions_is_theirs_to_check() -> None:
    async def serve(_ctx: Any, _params: Any) -> Any:
        return {"content": 5}

    server = server_that_returns(None)
    server.add_request_handler("com.example/own", dict, serve)
    async with Client(server) as client:
        found = await client.session.send_request(
            Request(method="com.example/own", params={}), Result
        )
        assert found.extra["content"] == 5


async def test_a_mark_of_no_extension_is_refused_by_every_method(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def serve(_ctx: Any, _params: Any) -> Any:
        return {"resultType": "com.example/receipt", "number": 5}

    server = server_that_returns({"resultType": "com.example/receipt", "number": 5})
    server.add_request_handler("com.example/own", dict, serve)
    async with Client(server) as client:
        for call in (
            client.session.send_request(Request(method="com.example/own", params={}), Result),
            client.call_tool("t"),
        ):
            with pytest.raises(MCPError) as caught:
                await call
            assert caught.value.code == INTERNAL_ERROR
    for method in ("com.example/own", "tools/call"):
        assert f"{method}: no extension of this server brings the resultType" in caplog.text


async def test_none_is_an_empty_result_where_that_is_the_methods() -> None:
    asked: list[str] = []

    async def subscribe(_ctx: Any, params: SubscribeRequestParams) -> None:
        asked.append(params.uri)

    server = Server("x", on_subscribe_resource=subscribe)
    async with Client(server, mode="legacy") as client:
        with pytest.warns(MCPDeprecationWarning):
            await client.session.subscribe_resource("a:b")
    assert asked == ["a:b"]


@pytest.mark.parametrize("task", [None, {"ttl": 1}])
async def test_a_tool_of_2025_11_25_may_make_a_task_when_it_is_asked_to(task: Any) -> None:
    made = {
        "taskId": "1",
        "status": "working",
        "createdAt": "2025-11-25T10:30:00Z",
        "lastUpdatedAt": "2025-11-25T10:30:00Z",
        "ttl": 1,
    }
    async with Client(server_that_returns({"task": made}), mode="legacy") as client:
        params: dict[str, Any] = {"name": "t"} | ({"task": task} if task else {})
        request = Request(method="tools/call", params=params)
        if task:
            assert (await client.session.send_request(request, Result)).extra["task"] == made
        else:
            with pytest.raises(MCPError, match="Internal server error"):
                await client.session.send_request(request, Result)


async def test_the_ends_of_a_channel_are_given_apart() -> None:
    near, far = open_memory_channel_pair()
    pair: Any = tuple(far)
    said = r"^read_stream: expected a Channel, got a tuple: unpack it \(read, write\)$"
    with pytest.raises(TypeError, match=said):
        await Server("x").run(pair)
    with pytest.raises(TypeError, match=said):
        ClientSession(pair)
    with pytest.raises(TypeError, match=r"^write_stream: expected Channel, got int$"):
        await Server("x").run(far, 5)  # type: ignore[arg-type]
    await near.aclose()
    await far.aclose()
