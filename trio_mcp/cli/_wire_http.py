"""``--wire`` over HTTP: an httpx client that tells what messages it sends and receives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import httpx

from trio_mcp._codec._lines import MAX_LINE_SIZE
from trio_mcp._codec._sse import EventSplitter, EventTooLong
from trio_mcp.auth._fetch import SECRET_EXTENSION
from trio_mcp.cli._wire import RECEIVED, SENT
from trio_mcp.transports.http._endpoint import make_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


def open_told_client(url: str, tell: Callable[[str], None]) -> httpx.AsyncClient:
    """Make an HTTP client for one server, to be entered.

    Args:
      url: Of the server.
      tell: Called with a line for each message, as `WireChannel` does.

    """

    async def tell_request(request: httpx.Request) -> None:
        if request.content and SECRET_EXTENSION not in request.extensions:
            tell(f"{SENT} {_text(request.content)}")

    async def tell_response(response: httpx.Response) -> None:
        if SECRET_EXTENSION in response.request.extensions:
            return  # tokens
        assert isinstance(response.stream, httpx.AsyncByteStream)
        media_type = response.headers.get("content-type", "").partition(";")[0].strip()
        response.stream = _ToldStream(response.stream, media_type, tell)

    client: httpx.AsyncClient = make_client(url)
    client.event_hooks = {"request": [tell_request], "response": [tell_response]}
    return client


@final
class _ToldStream(httpx.AsyncByteStream):
    """The body of a response, whose messages are told as they are read."""

    def __init__(
        self, stream: httpx.AsyncByteStream, media_type: str, tell: Callable[[str], None]
    ) -> None:
        self._stream = stream
        self._tell = tell
        is_stream = media_type == "text/event-stream"
        self._events = EventSplitter(MAX_LINE_SIZE) if is_stream else None
        self._body: list[bytes] = []

    def __aiter__(self) -> AsyncIterator[bytes]:
        # No generator: one that is not read to its end would have to be closed.
        return _Parts(self._stream.__aiter__(), self._take)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _take(self, part: bytes | None) -> None:
        if self._events is None:
            if part is not None:
                self._body.append(part)
            elif body := b"".join(self._body):
                self._tell(f"{RECEIVED} {_text(body)}")
            return
        try:
            for event in self._events.feed(part or b""):
                if event.data:
                    self._tell(f"{RECEIVED} {_text(event.data)}")
        except EventTooLong as exc:
            self._events = None  # whoever reads the stream says so, too
            self._tell(f"{RECEIVED} ({exc})")


class _Parts:
    def __init__(self, parts: AsyncIterator[bytes], take: Callable[[bytes | None], Any]) -> None:
        self._parts = parts
        self._take = take

    def __aiter__(self) -> _Parts:
        return self

    async def __anext__(self) -> bytes:
        try:
            part = await self._parts.__anext__()
        except StopAsyncIteration:
            self._take(None)
            raise
        self._take(part)
        return part


def _text(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split("\n"))
