"""The application under the package's own HTTP server, over sockets: what others do not notice."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from tests._limits import SOON
from trio_mcp import MCPServer
from trio_mcp.transports import ServeOptions, serve_http_app

from ._asgi import LATEST, META
from ._tools import add

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
            self.serving = await nursery.start(
                serve_http_app, app, ServeOptions(port=0, graceful_timeout=60)
            )
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
        with trio.fail_after(SOON):
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
        with trio.fail_after(SOON):
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
    assert trio.current_time() - started < SOON


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


# What requests leave behind


def head_of(**headers: str) -> str:
    given = {"Host": "127.0.0.1", "Content-Type": "application/json", "Accept": "*/*", **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
    return "\r\n".join(["POST /mcp HTTP/1.1", *lines])


def add_by(revision: str) -> bytes:
    """A request that calls the tool `add`, in a revision of either era."""
    params: dict[str, Any] = {"name": "add", "arguments": {"a": 1, "b": 2}}
    headers = {"MCP_Protocol_Version": revision}
    if revision == LATEST:
        params["_meta"] = META
        headers |= {"Mcp_Method": "tools/call", "Mcp_Name": "add"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    return head_of(**headers, Content_Length=str(len(body))).encode() + b"\r\n\r\n" + body


async def read_answer(stream: trio.SocketStream) -> bytes:
    """Read an answer whose length is told."""
    read = await read_until(stream, b"\r\n\r\n")
    head, _, body = read.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None, read
    while len(body) < int(length[1]):
        part = await stream.receive_some()
        assert part, body
        body += part
    return body


def objects() -> Counter[str]:
    gc.collect()
    return Counter(type(each).__name__ for each in gc.get_objects())


@pytest.mark.parametrize("revision", [LATEST, "2025-11-25"])
@pytest.mark.case("C042")
async def test_a_thousand_requests_without_sessions_leave_no_objects(revision):
    mcp = MCPServer("tests")
    mcp.add_tool(add)
    app = mcp.streamable_http_app(stateless_http=True)
    request = add_by(revision)

    async def call(number: int) -> None:
        for _ in range(number):
            await stream.send_all(request)
            assert b'"text":"3"' in await read_answer(stream)

    async with trio.open_nursery() as nursery:
        serving = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        port = int(serving.url.rpartition(":")[2])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await call(100)
            before = objects()
            await call(1000)
            after = objects()
        nursery.cancel_scope.cancel()
    # What each request leaves would be a thousand; caches and counters may move a little.
    assert after.total() - before.total() < 250, after - before
