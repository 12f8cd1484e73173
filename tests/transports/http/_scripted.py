"""A server that answers what a test tells it to, on a real socket; it remembers what it was sent."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import trio

from trio_mcp.transports.http._serve import ServeOptions, serve_http_app

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

CAPABILITIES: dict[str, Any] = {"tools": {"listChanged": True}}
DISCOVERY: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": CAPABILITIES,
    "ttlMs": 0,
    "cacheScope": "private",
}
DONE: dict[str, Any] = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
TOOLS: dict[str, Any] = {
    "resultType": "complete",
    "tools": [],
    "ttlMs": 0,
    "cacheScope": "private",
}


@attrs.define(eq=False)
class Seen:
    """One request, and the way to answer it."""

    verb: str
    path: str
    headers: dict[str, str]
    body: Any
    client: tuple[str, int]
    gone: trio.Event
    _send: Any
    _open: bool = False

    @property
    def method(self) -> str:
        """The method in the body, or what stands for it."""
        if self.verb != "POST":
            return self.verb
        if isinstance(self.body, dict) and "method" in self.body:
            method: str = self.body["method"]
            return method
        return "answer"

    @property
    def id(self) -> Any:
        return self.body["id"]

    @property
    def params(self) -> Any:
        return self.body.get("params", {})

    async def raw(
        self, status: int, body: bytes = b"", kind: str | None = None, **headers: str
    ) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if kind is not None:
            named["content-type"] = kind
        await self._start(status, named)
        await self._send({"type": "http.response.body", "body": body})

    async def json(self, value: Any, status: int = 200, **headers: str) -> None:
        await self.raw(status, json.dumps(value).encode(), "application/json", **headers)

    async def result(self, result: Any, **headers: str) -> None:
        await self.json({"jsonrpc": "2.0", "id": self.id, "result": result}, **headers)

    async def error(self, code: int, message: str, status: int = 400, data: Any = None) -> None:
        error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        await self.json({"jsonrpc": "2.0", "id": self.id, "error": error}, status)

    async def events(self, *texts: str | bytes, **headers: str) -> None:
        """Send pieces of an event stream as they are."""
        if not self._open:
            self._open = True
            await self._start(200, {"content-type": "text/event-stream", **headers})
        for text in texts or ("",):
            body = text.encode() if isinstance(text, str) else text
            part = {"type": "http.response.body", "body": body, "more_body": True}
            await self._send(part)

    async def message(self, value: dict[str, Any], id: str | None = None) -> None:
        """Send a message as an event."""
        head = "" if id is None else f"id: {id}\n"
        await self.events(f"{head}data: {json.dumps({'jsonrpc': '2.0', **value})}\n\n")

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def stream_result(self, result: Any, id: str | None = None) -> None:
        await self.message({"id": self.id, "result": result}, id)
        await self.end()

    async def _start(self, status: int, headers: dict[str, str]) -> None:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})


class Scripted:
    """An ASGI application: ``tools_call`` answers ``tools/call``, ``GET`` answers GET.

    Without a method for it, a modern server with no tools answers.
    """

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.sessions = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        body = b""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more = message["more_body"]
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        gone = trio.Event()
        seen = Seen(
            scope["method"],
            scope["path"],
            headers,
            json.loads(body) if body else None,
            scope["client"],
            gone,
            send,
        )
        scope["extensions"]["trio_mcp"]["disconnect"](gone.set)
        self.seen.append(seen)
        name = seen.method.replace("/", "_").replace("notifications_", "notify_")
        await getattr(self, name, self.other)(seen)

    def asked(self, method: str) -> list[Seen]:
        return [each for each in self.seen if each.method == method]

    @property
    def story(self) -> list[str]:
        return [each.method for each in self.seen]

    async def other(self, seen: Seen) -> None:
        if seen.verb != "POST":
            await seen.raw(405, allow="POST")
        elif isinstance(seen.body, dict) and "id" in seen.body and "method" in seen.body:
            await seen.error(-32601, "Method not found", 404)
        else:
            await seen.raw(202)

    async def server_discover(self, seen: Seen) -> None:
        await seen.result(DISCOVERY)

    async def tools_list(self, seen: Seen) -> None:
        await seen.result(TOOLS)

    async def tools_call(self, seen: Seen) -> None:
        await seen.result(DONE)


class OlderScripted(Scripted):
    """A server of the older era, with sessions."""

    version = "2025-11-25"
    capabilities = CAPABILITIES

    async def server_discover(self, seen: Seen) -> None:
        await seen.raw(400)

    async def initialize(self, seen: Seen) -> None:
        self.sessions += 1
        result = {
            "protocolVersion": seen.params["protocolVersion"],
            "capabilities": self.capabilities,
            "serverInfo": {"name": "scripted", "version": "1"},
        }
        await seen.result(result, mcp_session_id=f"session-{self.sessions}")

    def is_current(self, seen: Seen) -> bool:
        return seen.headers.get("mcp-session-id") == f"session-{self.sessions}"


@asynccontextmanager
async def scripted(server: Any, **options: Any) -> AsyncGenerator[str, None]:
    """Serve until the block is left; yields the URL."""
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, server, ServeOptions(port=0, **options))
        yield f"{served.url}/mcp"
        nursery.cancel_scope.cancel()
