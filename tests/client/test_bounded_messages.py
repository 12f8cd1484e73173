"""What a server sent is quoted in errors of the client, but never at length."""

from __future__ import annotations

import pytest

from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.types import JSONRPCResponse

MUCH = "x" * 100_000
LONGEST = 2_000

COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
TOOL = {"name": "x", "inputSchema": {"type": "object"}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
LISTED = {**COMPLETE, "tools": [{**TOOL, "outputSchema": SCHEMA}]}
TEXT = {"type": "text", "text": ""}

RESULTS = [
    {"resultType": MUCH},
    {**COMPLETE, "content": MUCH},
    {**COMPLETE, "content": [{"type": MUCH}]},
    {**COMPLETE, "content": [{**TEXT, "annotations": {"audience": [MUCH]}}]},
    {**COMPLETE, "content": [TEXT], "isError": MUCH},
    {**COMPLETE, "content": [TEXT], "structuredContent": {"a": MUCH}},
    {**COMPLETE, "content": [TEXT], "structuredContent": {"a": {MUCH: 1}}},
    {**COMPLETE, "content": [TEXT], "_meta": MUCH},
    {"resultType": "input_required", "inputRequests": {MUCH: {"method": MUCH}}},
    {"resultType": "input_required", "inputRequests": {MUCH: 1}},
    {"resultType": "input_required", "inputRequests": {MUCH: {"method": "roots/list"}}},
]


@pytest.mark.parametrize("result", RESULTS)
async def test_a_client_quotes_little_of_a_result(
    autojump_clock, script, connect, discovery, result
):
    server = script(server__discover=discovery, tools__list=LISTED, tools__call=result)
    async with connect(server) as client:
        await client.list_tools()
        with pytest.raises(MCPError) as caught:
            await client.call_tool("x")
    assert len(str(caught.value)) < LONGEST


LISTS = [
    {**COMPLETE, "tools": MUCH},
    {**COMPLETE, "tools": [MUCH]},
    {**COMPLETE, "tools": [{**TOOL, "name": [MUCH]}]},
    {**COMPLETE, "tools": [{"name": MUCH}]},
    {**COMPLETE, "tools": [TOOL], "ttlMs": MUCH},
    {**COMPLETE, "tools": [TOOL], "cacheScope": MUCH},
    {**COMPLETE, "tools": [TOOL], "nextCursor": [MUCH]},
    {**COMPLETE, "tools": [TOOL], "nextCursor": MUCH},
]


@pytest.mark.parametrize("result", LISTS)
async def test_a_client_quotes_little_of_a_list(
    autojump_clock, script, connect, discovery, result
):
    server = script(server__discover=discovery, tools__list=result)
    async with connect(server) as client:
        with pytest.raises(InvalidResponse) as caught:
            async for _ in client.iter_tools():
                pass
    assert len(str(caught.value)) < LONGEST


@pytest.mark.parametrize(
    "answer",
    [
        {"protocolVersion": MUCH},
        {"protocolVersion": [MUCH]},
        {"protocolVersion": "2025-11-25", "capabilities": MUCH},
        {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": [MUCH]}},
    ],
)
async def test_a_client_quotes_little_of_a_handshake(autojump_clock, script, connect, answer):
    with pytest.raises(MCPError) as caught:
        async with connect(script(initialize=answer), mode="legacy"):
            pytest.fail("that is no handshake")
    assert len(str(caught.value)) < LONGEST


async def test_a_client_logs_little_of_what_nobody_asked_for(
    autojump_clock, script, connect, discovery, caplog
):
    caplog.set_level("DEBUG", "trio_mcp")

    async def hear(message):
        pass

    server = script(server__discover=discovery, tools__call={**COMPLETE, "content": []})
    async with connect(server, message_handler=hear) as client:
        await server.ask(MUCH)
        await server.ask("ping", request_id=MUCH)
        await server.tell(MUCH)
        await server.tell("notifications/message", {"level": MUCH, "data": 1})
        await server.tell("notifications/cancelled", {"requestId": MUCH, "reason": MUCH})
        await server.tell("notifications/progress", {"progressToken": MUCH, "progress": 1})
        await server.report_error(-32603, MUCH)
        await server.channel.send([JSONRPCResponse(id=MUCH, result={})])
        await client.call_tool("x")
    assert caplog.messages
    assert max(map(len, caplog.messages)) < LONGEST
