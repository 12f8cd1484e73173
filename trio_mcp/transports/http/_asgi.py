"""One HTTP request and its answer, over ASGI 3, for any server that runs Trio."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import attrs
import trio

from trio_mcp._codec import dumps, message_to_json
from trio_mcp.types import JSONRPCError

from ._asgi_request import EXTENSION
from ._headers import Headers
from ._refusal import Refusal
from ._rules import CLOSE, JSON, too_large

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trio_mcp._rpc._exchange import Principal

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

logger: Final = logging.getLogger("trio_mcp.http")

PRINCIPAL: Final = "trio_mcp.principal"
"""The key in a scope under which whoever authenticates a request says whose it is."""

# What servers raise when they cannot send to a client that has gone, if they raise at all.
_GONE: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)


@final
class HttpRequest:
    """An HTTP request, as handlers find it in ``ctx.request``.

    Attributes:
      scope: What the server says of it, by the names of ASGI.
      headers: By name, however that is written.
      receive: The body comes from here, by the rules of ASGI, unless it was read already.

    """

    __slots__ = ("headers", "receive", "scope")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.headers = Headers(scope["headers"])
        self.receive = receive

    @property
    def method(self) -> str:
        method: str = self.scope["method"]
        return method

    @property
    def path(self) -> str:
        """The path within this application, wherever that is mounted."""
        return path_within(self.scope)

    @property
    def principal(self) -> Principal | None:
        """Who asks, where that is known."""
        return self.scope.get(PRINCIPAL)

    @property
    def name(self) -> str:
        """The method and the path, for the log."""
        return f"{self.method:.20} {self.path[:200]!a}"

    def watch(self, nursery: trio.Nursery, on_gone: Callable[[], None]) -> None:
        """Have a function called if the client goes while the nursery is open.

        It must neither wait nor raise, and may be called when the answer is complete, too.
        """
        if not self.watch_head(on_gone):
            nursery.start_soon(self._wait_gone, on_gone, name="HTTP disconnect")

    def watch_head(self, on_gone: Callable[[], None]) -> bool:
        """Do the same before the body is read; returns whether the server can tell it then."""
        extensions: dict[str, Any] = self.scope.get("extensions") or {}
        extension: dict[str, Any] | None = extensions.get(EXTENSION)
        if extension is not None:
            extension["disconnect"](on_gone)
        return extension is not None

    async def _wait_gone(self, on_gone: Callable[[], None]) -> None:
        try:
            message = await self.receive()
            while message["type"] != "http.disconnect":
                await trio.lowlevel.checkpoint()
                message = await self.receive()
        except _GONE:
            logger.debug("%s: the client has gone", self.name)
        on_gone()


def path_within(scope: Scope) -> str:
    """Give the path of a request within this application, wherever that is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    if root and (path == root or path.startswith(root + "/")):
        path = path[len(root) :]
    return path


async def read_body(request: HttpRequest, limit: int, seconds: float) -> bytes | Refusal | None:
    """Read the whole body of a request, but no more than is allowed.

    Args:
      request: Whose body.
      limit: In bytes.
      seconds: For all of it.

    Returns:
      The body; a refusal if it is too large or too slow; None if the client has gone.

    """
    with trio.move_on_after(seconds):
        return await _read_body(request, limit)
    return Refusal.of(408, f"The body did not come within {seconds:g} s", headers=CLOSE)


async def _read_body(request: HttpRequest, limit: int) -> bytes | Refusal | None:
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > limit:
            return too_large(limit)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@attrs.define(eq=False)
class HttpResponse:
    """The answer to an HTTP request. One task at a time may send.

    Sending to a client that has gone does nothing.

    Attributes:
      http_version: Of the request: HTTP/2 knows no ``Connection``.
      headers: What every answer carries, beside its own.
      started: Whether something was sent, so that the status cannot be another one any more.
      gone: Whether the client has gone, as far as sending showed it.

    """

    _send: Send
    http_version: str = "1.1"
    headers: list[tuple[bytes, bytes]] = attrs.Factory(list[tuple[bytes, bytes]])
    started: bool = False
    gone: bool = False

    async def send_whole(
        self,
        status: int,
        body: bytes = b"",
        headers: Iterable[tuple[str, str]] = (),
        media_type: str = JSON,
    ) -> None:
        """Send an answer in one piece."""
        own = [("content-type", media_type)] if body else []
        own.append(("content-length", str(len(body))))
        await self.start(status, [*own, *headers])
        await self.send_part(body, more=False)

    async def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send the status and the headers of an answer."""
        self.started = True
        raw = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in headers
            if name != "connection" or self.http_version in {"1.0", "1.1"}
        ]
        await self._put(
            {"type": "http.response.start", "status": status, "headers": raw + self.headers}
        )

    async def send_part(self, body: bytes, *, more: bool = True) -> None:
        """Send a part of the body; the last one if no more comes."""
        await self._put({"type": "http.response.body", "body": body, "more_body": more})

    async def _put(self, message: Message) -> None:
        if self.gone:
            await trio.lowlevel.checkpoint()
            return
        try:
            await self._send(message)
        except _GONE as exc:
            logger.debug("The client has gone: %r", exc)
            self.gone = True

    async def refuse(self, refusal: Refusal, *, null_id: bool = False) -> None:
        """Send a refusal, as an error of JSON-RPC.

        Args:
          refusal: Why, and with which status.
          null_id: Whether the id is null where it answers no request that could be read; it is
            left out otherwise.

        """
        error = message_to_json(JSONRPCError(id=refusal.request_id, error=refusal.error))
        if null_id and refusal.request_id is None:
            error = {"jsonrpc": "2.0", "id": None, **error}
        await self.send_whole(refusal.status, dumps(error), refusal.headers)
