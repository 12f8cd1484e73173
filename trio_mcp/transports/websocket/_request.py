"""The opening handshake as a server sees it: which requests are served, and how others are told.

The head is read and checked here, before the WebSocket library sees it, which cannot be told to
refuse anything but what it finds wrong itself, and raises whatever ASCII, IDNA or HTTP make it.
"""

from __future__ import annotations

import base64
import http
import logging
import re
from typing import TYPE_CHECKING, Any, Final

import attrs
import h11
import trio

from trio_mcp._codec._envelope import dump_message
from trio_mcp.transports.http._asgi import HttpRequest
from trio_mcp.transports.http._headers import Headers
from trio_mcp.transports.http._http1 import ServerConnection, what_is_wrong
from trio_mcp.transports.http._refusal import Refusal
from trio_mcp.transports.http._routes import route_path
from trio_mcp.transports.http._security import check_caller, check_host
from trio_mcp.types import JSONRPCError

from ._defaults import READ_SIZE, SUBPROTOCOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from trio_mcp.transports.http._options import TransportSecuritySettings

    from ._stream import RawStream

logger: Final = logging.getLogger("trio_mcp.websocket")

MAX_HEAD_SIZE: Final = 16 * 1024
"""Bytes of a head. What proxies and cookies add to it is seldom a quarter of that."""

VERSION: Final = "13"
_KEY_SIZE: Final = 16
_ABSOLUTE: Final = re.compile(r"https?://(?:[^/@]*@)?(?P<host>[^/@]+)(?P<path>.*)", re.IGNORECASE)
# A URL in place of a path, as a request to a proxy has it (RFC 6455, section 4.2.1).

_DECODED: Final = ("host", "sec-websocket-protocol", "sec-websocket-extensions")


@attrs.define(eq=False)
class Opening:
    """The request that opens a connection.

    Attributes:
      request: Its head, read.
      head: The same as it came.
      rest: What came behind it, too early.

    """

    request: h11.Request
    head: bytes
    rest: bytes

    @property
    def name(self) -> str:
        """What it asks for, for the log."""
        _, path = split_target(self.request)
        return f"{self.request.method.decode()} {path:.100}"

    async def watch(self, stream: trio.abc.ReceiveStream, on_gone: Callable[[], None]) -> None:
        """Keep what comes too early, and call a function if the client goes."""
        try:
            while data := bytes(await stream.receive_some(READ_SIZE)):
                self.rest += data
                if len(self.rest) > MAX_HEAD_SIZE:
                    # Enough: it will be read when it is known who it is from.
                    return
        except (trio.BrokenResourceError, trio.ClosedResourceError) as exc:
            logger.debug("%s: the client has gone: %s", self.name, exc)
        on_gone()

    async def give_head(self, _stream: RawStream) -> tuple[bytes, bytes]:
        """Give the head, and what came behind it."""
        await trio.lowlevel.checkpoint()
        return self.head, self.rest


async def read_opening(stream: RawStream) -> Opening | Refusal | None:
    """Read the head of a request.

    Returns:
      The request; why it cannot be one; or None if the client went before its end.

    Raises:
      trio.BrokenResourceError: if the connection broke.

    """
    connection = ServerConnection(MAX_HEAD_SIZE)
    read = bytearray()
    while True:
        data = bytes(await stream.receive_some(READ_SIZE))
        if not data:
            return None
        read += data
        connection.receive_data(data)
        try:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                return _end_of_head(connection, event, read)
        except h11.RemoteProtocolError as exc:
            return Refusal.of(exc.error_status_hint, f"Bad request: {what_is_wrong(exc)}")


def _end_of_head(
    connection: h11.Connection, request: h11.Request, read: bytearray
) -> Opening | Refusal:
    if not isinstance(connection.next_event(), h11.EndOfMessage):
        return Refusal.of(400, "Bad request: a WebSocket begins with a request without a body")
    rest, _ = connection.trailing_data
    # Without the empty lines that may come before it.
    head = bytes(read[: len(read) - len(rest)]).lstrip(b"\r\n")
    if len(head) > MAX_HEAD_SIZE:
        # While it is incomplete, h11 says so.
        return Refusal.of(431, f"Bad request: a head of {len(head)} bytes")
    return Opening(request, head, rest)


def check_opening(
    request: h11.Request, path: str, security: TransportSecuritySettings | None
) -> Refusal | None:
    """Refuse a request that opens no connection to this server.

    Args:
      request: The request.
      path: Of the endpoint.
      security: From where it may be called; see `check_caller`.

    """
    _, target = split_target(request)
    if route_path(target) != route_path(path):
        return Refusal.of(404, f"There is nothing at {target:.100}")
    if request.method != b"GET":
        return Refusal.of(405, "A WebSocket is opened with GET", headers=(("allow", "GET"),))
    if request.http_version < b"1.1":
        return Refusal.of(400, "Bad request: a WebSocket is opened by HTTP/1.1")
    headers = Headers(_headers_of(request))
    return check_caller(headers, security) or _check_upgrade(headers) or _check_agreement(headers)


def check_named_host(
    request: h11.Request, security: TransportSecuritySettings | None
) -> Refusal | None:
    """Refuse a request for a name that is not allowed; see `check_host`."""
    return check_host(Headers(_headers_of(request)), security)


def document_at(request: h11.Request, documents: Mapping[str, bytes]) -> bytes | None:
    """Give the document that everybody may read at the path of a request, if there is one."""
    _, target = split_target(request)
    return documents.get(route_path(target)) if request.method == b"GET" else None


def _headers_of(request: h11.Request) -> list[tuple[bytes, bytes]]:
    host, _ = split_target(request)
    raw = [(name.lower(), value) for name, value in request.headers.raw_items()]
    if host is None:
        return raw
    # Whoever names it there says nothing more by the header (RFC 9112, section 3.2.2).
    return [*(each for each in raw if each[0] != b"host"), (b"host", host.encode("ascii"))]


def as_http_request(request: h11.Request, scheme: str) -> HttpRequest:
    """Give the request that opens a connection as what handlers know, without a body."""
    _, path = split_target(request)
    _, _, query = request.target.partition(b"?")
    scope = {
        "type": "websocket",
        "http_version": request.http_version.decode("ascii"),
        "method": request.method.decode("ascii"),
        "scheme": scheme,
        "path": path,
        "query_string": query,
        "headers": _headers_of(request),
    }
    return HttpRequest(scope, _receive_nothing)


async def _receive_nothing() -> dict[str, Any]:
    await trio.lowlevel.checkpoint()
    return {"type": "http.disconnect"}


def split_target(request: h11.Request) -> tuple[str | None, str]:
    """Give the host that a request names in its target, if it does, and the path there.

    Without the query, which may hold secrets.
    """
    target = request.target.decode("ascii").partition("?")[0]
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        return None, target
    return absolute["host"], absolute["path"] or "/"


def _check_upgrade(headers: Headers) -> Refusal | None:
    wanted = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    if "upgrade" not in wanted or headers.get("upgrade", "").lower() != "websocket":
        return Refusal.of(
            426,
            "This is a WebSocket endpoint",
            headers=(("upgrade", "websocket"),),
        )
    if headers.get("sec-websocket-version") != VERSION:
        return Refusal.of(
            426,
            f"The version of the WebSocket protocol has to be {VERSION}",
            headers=(("sec-websocket-version", VERSION),),
        )
    if not _is_key(headers.all("sec-websocket-key")):
        return Refusal.of(
            400, "Bad request: Sec-WebSocket-Key has to be there once, 16 bytes in base64"
        )
    return None


def _is_key(values: tuple[str, ...]) -> bool:
    try:
        (value,) = values
        return len(base64.b64decode(value, validate=True)) == _KEY_SIZE
    except ValueError:  # not one, not ASCII, or no base64
        return False


def _check_agreement(headers: Headers) -> Refusal | None:
    for name in _DECODED:
        if not headers.get(name, "").isascii():
            return Refusal.of(400, f"Bad request: {name} is not ASCII")
    offered = [word.strip() for word in headers.get("sec-websocket-protocol", "").split(",")]
    if SUBPROTOCOL not in offered:
        return Refusal.of(
            400, f"The client has to offer the subprotocol {SUBPROTOCOL} (Sec-WebSocket-Protocol)"
        )
    return None


def dump_refusal(refusal: Refusal) -> bytes:
    """Write a refusal as an HTTP response."""
    body = dump_message(JSONRPCError(id=None, error=refusal.error))
    return _dump_response(refusal.status, body, refusal.headers)


def dump_document(body: bytes) -> bytes:
    """Write a document for everybody as an HTTP response."""
    return _dump_response(200, body, (("access-control-allow-origin", "*"),))


def _dump_response(status: int, body: bytes, more: Iterable[tuple[str, str]]) -> bytes:
    headers = [
        *more,
        ("content-type", "application/json"),
        ("content-length", str(len(body))),
        ("connection", "close"),
    ]
    head = f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{head}\r\n".encode("latin-1") + body


UNREADABLE: Final = Refusal.of(400, "Bad request: this is no opening handshake")
"""For what passes the checks here, and not those of the WebSocket library."""
