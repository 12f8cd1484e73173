"""The WebSocket of Node, another implementation than ours, and our server."""

from __future__ import annotations

import json
from typing import Any

import trio

from trio_mcp import MCPServer
from trio_mcp.transports import serve_websocket

from ._programs import node_program

mcp = MCPServer("tools")


@mcp.tool()
def echo(text: str) -> str:
    return text


def request(number: int, method: str, **params: Any) -> str:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "node", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params["_meta"] = meta
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message, ensure_ascii=False)


async def events(*messages: str) -> list[Any]:
    """Have Node send messages, and tell what happened."""
    command = node_program("websocket.mjs")
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_websocket, mcp, "127.0.0.1", 0)
        done = await trio.run_process([*command, served.url, *messages], capture_stdout=True)
        nursery.cancel_scope.cancel()
    return [json.loads(line) for line in done.stdout.splitlines()]


async def test_calls_are_answered_and_the_connection_is_closed_in_good_order():
    # More than a frame of 16 bits can hold, in characters of several bytes.
    text = "\u00e9" * 40_000
    opened, found, called, closed = await events(
        request(1, "server/discover"),
        request(2, "tools/call", name="echo", arguments={"text": text}),
    )
    assert opened == ["open", "mcp"]
    assert json.loads(found[1])["result"]["supportedVersions"] == ["2026-07-28"]
    assert json.loads(called[1])["result"]["structuredContent"] == {"result": text}
    assert closed == ["closed", 1000, True]


async def test_binary_message_is_refused_with_its_code():
    opened, closed = await events("binary")
    assert opened == ["open", "mcp"]
    assert closed == ["closed", 1003, True]
