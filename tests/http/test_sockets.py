"""The application under the package's own HTTP server, over sockets: what others do not notice."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from trio_mcp import MCPServer
from trio_mcp.transports import ServeOptions, serve_http_app

from ._asgi import LATEST, META

FILTER = {"notifications": {"toolsListChanged": True}}


class Story:
    """A server with a tool that waits, and what happened to it."""

    def __init__(self) -> None:
        self.running = 0
        self.changed = trio.lowlevel.ParkingLot()
        self.streams: list[trio.SocketStream] = []
        self.mcp = MCPServer("tests")
        self.mcp.add_tool(self.forever, name="forever")

    async def forever(self) -> str:
        self.running += 1
        self.changed.unpark_all()
        try:
            await trio.sleep_forever()
        finally:
            self.running -= 1
            self.changed.unpark_all()
        return ""

    async def wait_running(self, number: int) -> None:
        while self.running != number:
            await self.changed.park()

    @asynccontextmanager
    async def serve(self):
        app = self.mcp.streamable_http_app()
        async with trio.open_nursery() as nursery:
            self.serving = await nursery.start(serve_http_app, app, ServeOptions(port=0))
            self.port = int(self.serving.url.rpartition(":")[2])
            try:
                yield nursery
            finally:
                for stream in self.streams:
                    stream.socket.close()
                nursery.cancel_scope.cancel()

    async def send(self, head: str, body: bytes = b"") -> trio.SocketStream:
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        self.streams.append(stream)
        head += f"\r\nHost: 127.0.0.1:{self.port}\r\nContent-Length: {len(body)}\r\n\r\n"
        await stream.send_all(head.encode() + body)
        return stream

    async def ask(self, method: str, params: dict[str, Any]) -> trio.SocketStream:
        params = {**params, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        name = f"\r\nMcp-Name: {params['name']}" if "name" in params else ""
        return await self.send(
            "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: */*\r\n"
            f"MCP-Protocol-Version: {LATEST}\r\nMcp-Method: {method}{name}",
            json.dumps(message).encode(),
        )


async def read_until(stream: trio.SocketStream, words: bytes) -> bytes:
    """Read until these words have come, or the end."""
    read = b""
    while words not in read:
        part = await stream.receive_some()
        if not part:
            break
        read += part
    return read


@pytest.mark.req("R-116", "R-118")
@pytest.mark.case("C049")
async def test_a_client_that_goes_cancels_its_handler_and_nobody_elses():
    story = Story()
    async with story.serve():
        listening = await story.ask("subscriptions/listen", FILTER)
        assert b"acknowledged" in await read_until(listening, b"acknowledged")
        await story.ask("tools/call", {"name": "forever"})
        goes = await story.ask("tools/call", {"name": "forever"})
        await story.wait_running(2)
        await goes.aclose()
        with trio.fail_after(1):
            await story.wait_running(1)
        story.mcp.add_tool(lambda: "x", name="new")
        assert b"list_changed" in await read_until(listening, b"list_changed")


@pytest.mark.case("C049")
async def test_a_server_that_stops_ends_streams_in_good_order():
    story = Story()
    async with story.serve():
        listening = await story.ask("subscriptions/listen", FILTER)
        await read_until(listening, b"acknowledged")
        story.serving.stop()
        with trio.fail_after(2):
            rest = await read_until(listening, b"never comes")
        assert b'"result"' in rest
        assert rest.endswith(b"0\r\n\r\n")
        with pytest.raises(OSError, match=r"."):
            await story.send("GET /mcp HTTP/1.1")


@pytest.mark.case("C049")
async def test_a_server_that_is_cancelled_ends_at_once():
    story = Story()
    async with story.serve() as nursery:
        await story.ask("tools/call", {"name": "forever"})
        listening = await story.ask("subscriptions/listen", FILTER)
        await read_until(listening, b"acknowledged")
        await story.wait_running(1)
        started = trio.current_time()
        nursery.cancel_scope.cancel()
    assert story.running == 0
    assert trio.current_time() - started < 1


async def test_connections_are_used_again():
    story = Story()
    async with story.serve():
        stream = await story.ask("tools/list", {})
        first = await read_until(stream, b"}}}}")
        assert first.startswith(b"HTTP/1.1 200")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
        head = (
            "POST /mcp/ HTTP/1.1\r\nContent-Type: application/json\r\nAccept: */*\r\n"
            f"Host: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        await stream.send_all(head.encode() + body)
        assert b"400" in await read_until(stream, b"Mcp-Session-Id is missing")
