"""A client of ASGI applications, in the process and the run of the test."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from trio_mcp._codec._sse import EventSplitter

LATEST = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": LATEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
BOTH = "application/json, text/event-stream"


@attrs.define(eq=False)
class Answer:
    """What the application has sent of one answer so far."""

    status: int | None = None
    headers: dict[str, str] = attrs.Factory(dict)
    body: bytes = b""
    parts: list[bytes] = attrs.Factory(list)
    complete: bool = False
    returned: bool = False
    _events: Any = attrs.Factory(EventSplitter)
    _pending: list[Any] = attrs.Factory(list)
    _changed: Any = attrs.Factory(trio.lowlevel.ParkingLot)
    _gone: Any = attrs.Factory(trio.Event)

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    def json(self) -> Any:
        assert self.headers.get("content-type") == "application/json", self
        return json.loads(self.body)

    async def wait_complete(self) -> Answer:
        while not self.returned:
            await self._changed.park()
        return self

    async def wait_started(self) -> Answer:
        while self.status is None and not self.returned:
            await self._changed.park()
        return self

    async def next_event(self) -> Any:
        """Wait for an event; None when the stream has ended."""
        while not self._pending:
            if self.complete or self.returned:
                return None
            await self._changed.park()
        return self._pending.pop(0)

    async def next_message(self) -> Any:
        """The next event's message; events without data are passed over."""
        while (event := await self.next_event()) is not None:
            if event.data:
                return json.loads(event.data)
        return None

    async def messages(self) -> list[Any]:
        """All that are left, as JSON."""
        found = []
        while (message := await self.next_message()) is not None:
            found.append(message)
        return found

    @property
    def retry_ms(self) -> int | None:
        return self._events.retry_ms

    def leave(self) -> None:
        """The client goes."""
        self._gone.set()

    def _take(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            assert self.status is None
            self.status = message["status"]
            for name, value in message["headers"]:
                assert name == name.lower()
                key = name.decode()
                self.headers[key] = ", ".join(
                    filter(None, [self.headers.get(key), value.decode()])
                )
        else:
            assert message["type"] == "http.response.body"
            assert self.status is not None
            assert not self.complete
            self.parts.append(message["body"])
            self.body += message["body"]
            if self.is_stream:
                self._pending += self._events.feed(message["body"])
            self.complete = not message.get("more_body", False)
        self._changed.unpark_all()


class AsgiClient:
    """Calls an application as a server would.

    Args:
      app: The application.
      nursery: For its requests.
      by_extension: Whether a client that goes is told by the scope's extension.

    """

    def __init__(self, app, nursery, *, path="/mcp", by_extension=False, scope=None):
        self.app = app
        self.nursery = nursery
        self.path = path
        self.by_extension = by_extension
        self.scope = scope or {}
        self.hold_reading = None

    def start(self, method, headers=None, body=b"", *, path=None, chunks=None) -> Answer:
        """Send a request; its answer comes in time."""
        answer = Answer()
        raw = {"host": "127.0.0.1:8000", **(headers or {})}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path or self.path,
            "query_string": b"",
            "root_path": "",
            "headers": [
                (
                    name.lower().encode(),
                    value if isinstance(value, bytes) else value.encode("latin-1"),
                )
                for name, value in raw.items()
                if value is not None
            ],
            **self.scope,
        }
        parts = list(chunks) if chunks is not None else [body]

        async def receive():
            await trio.lowlevel.checkpoint()
            if parts:
                part = parts.pop(0)
                if isinstance(part, float):
                    await trio.sleep(part)
                    part = b""
                return {"type": "http.request", "body": part, "more_body": bool(parts)}
            await answer._gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            await trio.lowlevel.checkpoint()
            if self.hold_reading is not None:
                await self.hold_reading.wait()
            if not answer._gone.is_set():
                answer._take(message)

        async def run():
            try:
                await self.app(scope, receive, send)
            finally:
                answer.returned = True
                answer._changed.unpark_all()

        async def tell_gone(callback):
            await answer._gone.wait()
            callback()

        if self.by_extension:
            hook = lambda callback: self.nursery.start_soon(tell_gone, callback)  # noqa: E731
            scope["extensions"] = {"trio_mcp": {"disconnect": hook}}
        self.nursery.start_soon(run)
        return answer

    def post(self, message, headers=None) -> Answer:
        """Post a message as it is, with the headers that every client sends."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = {"content-type": "application/json", "accept": BOTH, **(headers or {})}
        return self.start("POST", given, body)

    def ask(self, method, params=None, request_id=1, headers=None, meta=None) -> Answer:
        """Post a whole request of the modern era."""
        params = {**(params or {}), "_meta": {**META, **(meta or {})}}
        named = {"mcp-protocol-version": LATEST, "mcp-method": method}
        if method in NAMED:
            named["mcp-name"] = params.get(NAMED[method])
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        return self.post(message, {**named, **(headers or {})})

    async def call(self, tool, arguments=None, **options) -> Any:
        """Call a tool in the modern era, and return the answer that is JSON."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, **options)
        return (await answer.wait_complete()).json()


@asynccontextmanager
async def open_app(app, **options):
    """Run an application's lifespan, and yield a client of it."""
    async with trio.open_nursery() as nursery:
        async with app.session_manager.run():
            yield AsgiClient(app, nursery, **options)
        nursery.cancel_scope.cancel()


@attrs.define(eq=False)
class OlderClient:
    """A client of the older era: its session, and its requests by hand."""

    client: AsgiClient
    revision: str = "2025-11-25"
    session_id: str | None = None
    last_id: int = 0

    @property
    def headers(self) -> dict[str, Any]:
        named = {"mcp-session-id": self.session_id}
        if self.revision >= "2025-06-18":
            named["mcp-protocol-version"] = self.revision
        return named

    async def initialize(self, capabilities=None, headers=None) -> Any:
        params = {
            "protocolVersion": self.revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "older", "version": "1"},
        }
        answer = self.client.post(self.request("initialize", params), headers)
        await answer.wait_complete()
        if answer.status == 200 and "result" in answer.json():
            self.session_id = answer.headers.get("mcp-session-id")
            told = await self.tell("notifications/initialized").wait_complete()
            assert told.status == 202
        return answer

    def request(self, method, params=None, request_id=None) -> Any:
        if request_id is None:
            self.last_id += 1
            request_id = self.last_id
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        return message if params is None else {**message, "params": params}

    def post(self, message, **headers) -> Answer:
        return self.client.post(message, {**self.headers, **headers})

    def ask(self, method, params=None, request_id=None, **headers) -> Answer:
        return self.post(self.request(method, params, request_id), **headers)

    def call(self, tool, arguments=None, meta=None, request_id=None) -> Answer:
        params: dict[str, Any] = {"name": tool, "arguments": arguments or {}}
        if meta is not None:
            params["_meta"] = meta
        return self.ask("tools/call", params, request_id)

    def tell(self, method, params=None) -> Answer:
        message = {"jsonrpc": "2.0", "method": method}
        return self.post(message if params is None else {**message, "params": params})

    def respond(self, question, result) -> Answer:
        return self.post({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def get(self, last_event_id=None, **headers) -> Answer:
        given = {"accept": "text/event-stream", "last-event-id": last_event_id}
        return self.client.start("GET", {**given, **self.headers, **headers})

    def delete(self) -> Answer:
        return self.client.start("DELETE", self.headers)


@asynccontextmanager
async def open_session(app, revision="2025-11-25", capabilities=None, **options):
    """Run an application, and yield a client with a session of the older era."""
    async with open_app(app, **options) as client:
        older = OlderClient(client, revision)
        answer = await older.initialize(capabilities)
        assert answer.status == 200, answer
        yield older
