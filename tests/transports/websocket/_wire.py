"""A server on a real socket, and peers that say what they like."""

from __future__ import annotations

import base64
import hashlib
import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from trio_mcp import Context, MCPServer
from trio_mcp.transports import serve_websocket

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from trio_mcp.transports import WebSocketServing

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Tools:
    """A server, and what its tools have seen."""

    def __init__(self) -> None:
        self.mcp = mcp = MCPServer("tools")
        self.running = 0
        self.cancelled = 0
        self.entered = trio.Event()
        self.release = trio.Event()

        @mcp.tool()
        def echo(text: str) -> str:
            return text

        @mcp.tool()
        async def hold() -> str:
            self.running += 1
            self.entered.set()
            try:
                await self.release.wait()
            except trio.Cancelled:
                self.cancelled += 1
                raise
            finally:
                self.running -= 1
            return "held"

        @mcp.tool()
        def fail() -> str:
            raise ZeroDivisionError("SECRET")

        @mcp.tool()
        async def report(ctx: Context[Any, Any]) -> str:
            for step in range(200):
                await ctx.report_progress(step, 200)
            return "done"


@asynccontextmanager
async def serving(
    tools: Tools | None = None, **options: Any
) -> AsyncGenerator[tuple[WebSocketServing, Tools], None]:
    """Serve until the block is left, which cancels."""
    tools = Tools() if tools is None else tools
    serve = partial(serve_websocket, tools.mcp, "127.0.0.1", 0, **options)
    async with trio.open_nursery() as nursery:
        yield await nursery.start(serve), tools
        nursery.cancel_scope.cancel()


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, mask: bool = True) -> bytes:
    first = opcode | (0x80 if fin else 0)
    masked = 0x80 if mask else 0
    if len(payload) < 126:
        head = bytes([first, masked | len(payload)])
    elif len(payload) < 65_536:
        head = bytes([first, masked | 126]) + len(payload).to_bytes(2)
    else:
        head = bytes([first, masked | 127]) + len(payload).to_bytes(8)
    # A key of zeros leaves the payload as it is.
    return head + (b"\0\0\0\0" if mask else b"") + payload


def text(message: Any) -> bytes:
    return frame(TEXT, message if isinstance(message, bytes) else json.dumps(message).encode())


def ask(method: str, number: int | str = 1, **params: Any) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    request = {"id": number, "method": method, "params": {**params, "_meta": meta}}
    return text({"jsonrpc": "2.0", **request})


def discover(number: int = 1) -> bytes:
    return ask("server/discover", number)


def call(name: str, **arguments: Any) -> bytes:
    return ask("tools/call", "call", name=name, arguments=arguments)


class Raw:
    """A peer over a stream."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.received = b""
        self.at_end = False

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def send_for_ever(self, data: bytes, pause: float = 0.0) -> None:
        """Send something again and again, until the peer closes the connection."""
        while True:
            try:
                await self.stream.send_all(data)
            except trio.BrokenResourceError:
                return
            await trio.sleep(pause)

    async def _more(self) -> None:
        try:
            data = await self.stream.receive_some()
        except trio.BrokenResourceError:
            data = b""
        self.received += data
        self.at_end = not data

    async def _take(self, size: int) -> bytes:
        while len(self.received) < size and not self.at_end:
            await self._more()
        if len(self.received) < size:
            raise EOFError(self.received)
        taken, self.received = self.received[:size], self.received[size:]
        return taken

    async def head(self) -> bytes:
        while b"\r\n\r\n" not in self.received and not self.at_end:
            await self._more()
        before, found, self.received = self.received.partition(b"\r\n\r\n")
        return before + found

    async def frame(self) -> tuple[int, bytes]:
        first, second = await self._take(2)
        length = second & 0x7F
        if length > 125:
            length = int.from_bytes(await self._take(2 if length == 126 else 8))
        mask = await self._take(4) if second & 0x80 else b"\0\0\0\0"
        payload = await self._take(length)
        return first & 0x0F, bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))

    async def message(self) -> Any:
        opcode, payload = await self.frame()
        assert opcode == TEXT, (opcode, payload)
        return json.loads(payload)

    async def close_code(self) -> int:
        """Read up to the frame that closes, and give its code."""
        while True:
            opcode, payload = await self.frame()
            if opcode == CLOSE:
                return int.from_bytes(payload[:2])

    async def rest(self) -> bytes:
        while not self.at_end:
            await self._more()
        return self.received


def address(url: str) -> tuple[str, int]:
    host, _, port = url.partition("://")[2].partition("/")[0].rpartition(":")
    return host.strip("[]"), int(port)


def request(url: str = "ws://127.0.0.1/mcp", **headers: str | None) -> bytes:
    host, _, path = url.partition("://")[2].partition("/")
    fields: dict[str, str | None] = {
        "host": host,
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": KEY,
        "sec-websocket-protocol": "mcp",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"GET /{path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


@asynccontextmanager
async def connected(served: WebSocketServing) -> AsyncGenerator[Raw, None]:
    """Reach a server, and say nothing yet."""
    async with await trio.open_tcp_stream(*address(served.url)) as stream:
        yield Raw(stream)


@asynccontextmanager
async def upgraded(served: WebSocketServing) -> AsyncGenerator[Raw, None]:
    """Be a client in good order, so far."""
    async with connected(served) as raw:
        await raw.send(request(served.url))
        assert (await raw.head()).startswith(b"HTTP/1.1 101")
        yield raw


@asynccontextmanager
async def bystander(served: WebSocketServing) -> AsyncGenerator[Raw, None]:
    """Have a connection that works before the block and after it."""
    async with upgraded(served) as raw:
        await raw.send(discover(1))
        assert (await raw.message())["id"] == 1
        yield raw
        await raw.send(discover(2))
        assert (await raw.message())["id"] == 2


def accepted(head: bytes, subprotocol: str | None = "mcp") -> bytes:
    """Answer a request for an upgrade."""
    (key,) = (line.split(b": ")[1] for line in head.split(b"\r\n") if b"ebSocket-Key" in line)
    digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    agreed = "" if subprotocol is None else f"Sec-WebSocket-Protocol: {subprotocol}\r\n"
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}\r\n{agreed}\r\n"
    ).encode()


@asynccontextmanager
async def scripted(script: Callable[[Raw], Awaitable[None]]) -> AsyncGenerator[str, None]:
    """Serve one connection by a script; gives the URL."""

    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            await script(Raw(stream))

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, handle, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        yield f"ws://127.0.0.1:{port}/mcp"
        nursery.cancel_scope.cancel()


async def until(condition: Callable[[], bool]) -> None:
    # What is waited for happens behind a socket, which tells no event.
    while not condition():  # noqa: ASYNC110
        await trio.sleep(0.005)
