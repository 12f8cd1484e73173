"""What a peer sends in megabytes does not come out as megabytes of our log."""

from __future__ import annotations

import json
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from trio_mcp import MCPServer, ResourceError, ToolError
from trio_mcp._codec import parse_frame
from trio_mcp.client import Client
from trio_mcp.transports import open_memory_channel_pair

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.transports import Channel

LONG = "x\n\x1b" * 300_000
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIMIT = 2000


def make_server() -> MCPServer:
    mcp = MCPServer("logs")

    @mcp.tool()
    def refuse(text: str) -> str:
        raise ToolError(text)

    @mcp.tool()
    def fail(text: str) -> str:
        raise KeyError

    @mcp.tool()
    async def wait() -> None:
        await trio.sleep_forever()

    @mcp.resource("refuse://{text}")
    def refuse_resource(text: str) -> str:
        raise ResourceError(text)

    @mcp.resource("fail://{text}")
    def fail_resource(text: str) -> str:
        raise KeyError

    @mcp.prompt()
    def fail_prompt(text: str) -> str:
        raise KeyError

    @mcp.completion()
    async def complete(*_: Any) -> None:
        raise KeyError

    return mcp


def request(method: str, request_id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"id": request_id, "method": method, "params": {**params, "_meta": META}}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", LONG, name=name, arguments=arguments)


def assert_short(caplog: pytest.LogCaptureFixture, *, logged: bool) -> None:
    lines = [
        record.getMessage() for record in caplog.records if record.name.startswith("trio_mcp")
    ]
    assert bool(lines) is logged
    for line in lines:
        assert len(line) < LIMIT, line[:300]
        assert line.isprintable(), line[:300]
    for record in caplog.records:
        assert len(str(vars(record).get("mcp_request_id"))) < LIMIT


@pytest.mark.parametrize(
    ("messages", "logged"),
    [
        ([call("refuse", text=LONG)], True),
        ([call("fail", text=LONG)], True),
        ([call(LONG)], False),
        ([call("refuse", text=5, **{LONG: 1})], True),
        ([request("resources/read", uri=f"gone:{LONG}")], True),
        ([request("resources/read", uri="refuse://" + "x" * 1_000)], True),
        ([request("resources/read", uri="fail://" + "x" * 1_000)], True),
        ([request("prompts/get", name="fail_prompt", arguments={"text": LONG})], True),
        ([request("prompts/get", name=LONG)], False),
        (
            [
                request(
                    "completion/complete",
                    ref={"type": "ref/prompt", "name": "fail_prompt"},
                    argument={"name": "text", "value": LONG},
                )
            ],
            True,
        ),
        ([request("tools/list", cursor=LONG)], False),
        ([request(LONG)], False),
        (
            [
                call("wait"),
                {
                    "method": "notifications/cancelled",
                    "params": {"requestId": LONG, "reason": LONG},
                },
            ],
            True,
        ),
        ([{"method": LONG}], False),
        ([{"id": LONG, "result": {}}], True),
        ([{"id": LONG, "error": {"code": 1, "message": LONG}}], True),
        ([{"id": 7 * 10**3000, "result": {}}], True),
    ],
)
async def test_of_a_client(
    autojump_clock: Any, caplog: pytest.LogCaptureFixture, messages: list[Any], logged: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_server().lowlevel_server.run, near)
        for message in messages:
            await far.send([parse_frame(json.dumps({"jsonrpc": "2.0", **message}))])  # type: ignore[list-item]
            await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(1)
        await far.aclose()
    assert_short(caplog, logged=logged)


@asynccontextmanager
async def scripted(mode: str) -> AsyncGenerator[Channel, None]:
    near, far = open_memory_channel_pair()

    async def message_handler(message: Any) -> None:
        pass

    async with trio.open_nursery() as nursery:

        async def initialize() -> None:
            for frame in await far.receive():
                result = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "serverInfo": {"name": LONG, "version": LONG},
                }
                answer = {"jsonrpc": "2.0", "id": frame.id, "result": result}  # type: ignore[union-attr]
                await far.send([parse_frame(json.dumps(answer))])  # type: ignore[list-item]

        if mode == "legacy":
            nursery.start_soon(initialize)
        async with Client(near, mode=mode, message_handler=message_handler):
            yield far


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize(
    "message",
    [
        {"id": None, "error": {"code": 1, "message": LONG}},
        {"id": LONG, "error": {"code": 1, "message": LONG}},
        {"id": LONG, "result": {}},
        {"method": LONG},
        {"method": "notifications/message", "params": {"level": LONG, "data": LONG}},
        {"method": "notifications/resources/updated", "params": {"uri": 5, LONG: 5}},
        {"id": LONG, "method": LONG, "params": {}},
        {"id": LONG, "method": "ping", "params": {}},
    ],
)
async def test_of_a_server(
    autojump_clock: Any, caplog: pytest.LogCaptureFixture, mode: str, message: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    async with scripted(mode) as far:
        await far.send([parse_frame(json.dumps({"jsonrpc": "2.0", **message}))])  # type: ignore[list-item]
        await trio.sleep(1)
    is_answered = mode == "legacy" and "id" in message and "method" in message
    assert_short(caplog, logged=not is_answered)
