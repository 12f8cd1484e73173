"""The way to a WebSocket server."""

from __future__ import annotations

import functools
import ssl
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, cast, final

import h11
import trio
from trio_websocket import wrap_client_stream

from trio_mcp._checks import check_kind, check_mapping, check_number, check_text, check_whole
from trio_mcp._rpc._block import guarded_block
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports.http._authorizing import (
    Authorizer,
    Authorizing,
    SignedRequest,
    check_auth,
)
from trio_mcp.transports.http._headers import Headers, in_place_of_others

from ._answer import why_refused
from ._channel import open_websocket_channel
from ._defaults import (
    CLOSE_TIMEOUT,
    CONNECT_TIMEOUT,
    DEFAULT_MAX_ANSWER_SIZE,
    DEFAULT_PING_INTERVAL,
    DEFAULT_PING_TIMEOUT,
    DEFAULT_WRITE_TIMEOUT,
    MAX_CHARACTERS,
    NORMAL,
    READ_SIZE,
    SUBPROTOCOL,
)
from ._frames import Close, FrameGate
from ._reader import NoHandshake
from ._records import Records
from ._stream import GuardedStream, close_socket
from ._url import read_url

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from trio_websocket import WebSocketConnection

    from trio_mcp._rpc._channel import Channel

    from ._stream import RawStream
    from ._url import WebSocketUrl

MAX_HEAD_SIZE: Final = 64 * 1024
"""Bytes of the head of an answer, and of the body of one that refuses."""

_EXCERPT: Final = 200
_OURS: Final = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "sec-websocket-extensions",
        "sec-websocket-key",
        "sec-websocket-protocol",
        "sec-websocket-version",
        "transfer-encoding",
        "upgrade",
    }
)


@guarded_block("websocket_client")
@asynccontextmanager
async def websocket_client(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    auth: Authorizer | None = None,
    ssl_context: ssl.SSLContext | None = None,
    max_message_size: int = DEFAULT_MAX_ANSWER_SIZE,
    connect_timeout: float = CONNECT_TIMEOUT,
    write_timeout: float = DEFAULT_WRITE_TIMEOUT,
    ping_interval: float | None = DEFAULT_PING_INTERVAL,
    ping_timeout: float = DEFAULT_PING_TIMEOUT,
) -> AsyncGenerator[Channel, None]:
    """Open a channel to a server over a WebSocket.

    ::

        transport = websocket_client(url, headers={"Authorization": "Bearer …"})
        async with Client(transport) as client:
            ...

    ``Client("wss://example.com/mcp")`` does the same with the defaults. The server has to agree
    on the subprotocol ``mcp``. Redirects are not followed, and no proxy is used.

    Args:
      url: ``ws://…`` or ``wss://…``.
      headers: Further headers of the request that opens the connection.
      auth: What signs that request, such as `trio_mcp.OAuth`.
      ssl_context: For ``wss``; None for one that trusts what this system trusts.
      max_message_size: The longest message that is received, in bytes.
      connect_timeout: Seconds to open the connection.
      write_timeout: Seconds that the server may leave unread what is written to it.
      ping_interval: Seconds of silence before the server is asked whether it is there; None
          not to ask.
      ping_timeout: Seconds in which something has to come then.

    Returns:
      The channel, which unpacks into two ends: ``read, write``. When the connection ends, the
      `ConnectionLost` has the code that the server closed it with as its ``close_code``.

    Raises:
      ConnectionLost: if there is no connection, with the status of an answer that refuses it.
      TypeError: if an argument is of the wrong kind.
      ValueError: if the URL is none of a WebSocket, or another argument cannot be used.

    Cancellation:
      Entering: nothing is left open. Leaving takes a second at most, in which the server is
      told.

    """
    check_text("url", url)
    address = read_url(url)
    _read_headers(headers)
    check_auth(auth, only_ours=True)
    if ssl_context is not None:
        check_kind("ssl_context", ssl_context, ssl.SSLContext)
        if not address.is_secure:
            raise ValueError("ssl_context: ws:// is not encrypted; use wss://")
    check_whole("max_message_size", max_message_size, least=1)
    check_number("connect_timeout", connect_timeout, above=0)
    check_number("write_timeout", write_timeout, above=0)
    if ping_interval is not None:
        check_number("ping_interval", ping_interval, above=0)
    check_number("ping_timeout", ping_timeout, above=0)

    authorizing = None if auth is None else Authorizing(auth, _request_of(url))
    refused: NoHandshake | None = None
    is_left = False
    while not is_left:
        signed: Mapping[str, str] = {} if authorizing is None else await authorizing.sign()
        opening = _ClientOpening(
            address,
            _read_headers(in_place_of_others(signed, headers or {})),
            trio.current_time() + connect_timeout,
        )
        guard = GuardedStream(
            await opening.connect(ssl_context),
            FrameGate(max_message_size),
            opening.read_head,
            is_client=True,
            peer=address.shown,
            write_timeout=write_timeout,
        )
        try:
            async with open_websocket_channel(
                guard,
                opening.shake_hands,
                close=Close(NORMAL),
                ping_interval=ping_interval,
                ping_timeout=ping_timeout,
            ) as channel:
                yield channel
                is_left = True
        except NoHandshake as exc:
            refused = exc
        finally:
            guard.close()
        if not is_left and not await opening.may_be_tried_again(authorizing):
            assert refused is not None
            try:
                raise opening.why(refused) from refused.__cause__
            finally:
                refused = None  # its traceback refers to this frame


def _request_of(url: str) -> SignedRequest:
    # An upgrade is a request of HTTP, to the URL with that scheme.
    return SignedRequest("GET", f"http{url[2:]}")


def _read_headers(headers: Mapping[str, str] | None) -> list[tuple[bytes, bytes]]:
    check_mapping("headers", headers or {}, str, "a dict of strings")
    pairs: list[tuple[bytes, bytes]] = []
    for name, value in (headers or {}).items():
        if name.lower() in _OURS:
            raise ValueError(f"headers: {name} belongs to the opening handshake")
        try:
            pair = name.encode("ascii"), value.encode("latin-1")
            h11.Request(method="GET", target="/", headers=[(b"host", b"x"), pair])
        except (UnicodeError, h11.LocalProtocolError) as exc:
            # The value may be a secret.
            raise ValueError(f"headers: {name!a:.80} and its value are no header") from exc
        pairs.append(pair)
    return pairs


@final
class _ClientOpening:
    """The opening handshake of a client, and why there is none."""

    def __init__(
        self, address: WebSocketUrl, headers: list[tuple[bytes, bytes]], deadline: float
    ) -> None:
        self._address = address
        self._headers = headers
        self._deadline = deadline
        self._lost: ConnectionLost | None = None
        self._refusal: tuple[int, Mapping[str, str]] | None = None
        self._stream: GuardedStream | None = None

    async def connect(self, ssl_context: ssl.SSLContext | None) -> RawStream:
        """Reach the server.

        Raises:
          ConnectionLost: if that cannot be.

        """
        address = self._address
        with trio.CancelScope(deadline=self._deadline):
            try:
                stream = await trio.open_tcp_stream(address.host, address.port)
                if not address.is_secure:
                    return stream
                return await _encrypt(stream, ssl_context or _tls_context(), address.host)
            except (OSError, trio.BrokenResourceError) as exc:
                raise ConnectionLost(f"{address.shown}: {_reason(exc)}") from exc
        raise self._too_late()

    async def shake_hands(
        self, nursery: trio.Nursery, stream: GuardedStream
    ) -> WebSocketConnection:
        """Ask for the upgrade.

        Raises:
          NoHandshake: if it does not come in time.

        """
        self._stream = stream
        with trio.CancelScope(deadline=self._deadline):
            return await wrap_client_stream(
                nursery,
                stream,  # type: ignore[arg-type]  # it takes any stream
                self._address.authority,
                self._address.target,
                subprotocols=[SUBPROTOCOL],
                extra_headers=list(self._headers),
                max_message_size=MAX_CHARACTERS,
            )
        self._lost = self._lost or self._too_late()
        raise NoHandshake

    async def read_head(self, stream: RawStream) -> tuple[bytes, bytes]:
        """Read the head of the answer.

        Raises:
          trio.BrokenResourceError: if it is not what was asked for.

        """
        reading = _answer_to_upgrade()
        head = bytearray()
        try:
            while True:
                data = bytes(await stream.receive_some(READ_SIZE))
                if not data:
                    raise trio.BrokenResourceError("the connection ended")
                head += data
                reading.receive_data(data)
                event = reading.next_event()
                while isinstance(event, h11.InformationalResponse) and event.status_code != 101:
                    # Such as 103, early hints: the answer itself is still to come.
                    head = bytearray(reading.trailing_data[0])
                    event = reading.next_event()
                if isinstance(event, h11.Response):
                    await self._read_refusal(reading, event, stream)
                if isinstance(event, h11.InformationalResponse):
                    rest, _ = reading.trailing_data
                    self._check_upgrade(event, len(head) - len(rest))
                    return bytes(head[: len(head) - len(rest)]), rest
        except h11.RemoteProtocolError as exc:
            self._lost = ConnectionLost(f"{self._address.shown} does not speak HTTP: {exc}")
            raise trio.BrokenResourceError("no HTTP") from exc

    def _check_upgrade(self, answer: h11.InformationalResponse, size: int) -> None:
        assert self._stream is not None
        wrong = why_refused(answer, self._stream.request)
        if size > MAX_HEAD_SIZE:
            # While it is incomplete, h11 says so.
            wrong = f"does not speak HTTP: a head of {size} bytes"
        if wrong is not None:
            self._lost = ConnectionLost(f"{self._address.shown} {wrong}")
            raise trio.BrokenResourceError("no upgrade")

    async def _read_refusal(
        self, reading: h11.Connection, answer: h11.Response, stream: RawStream
    ) -> None:
        self._lost = self._refused(answer, b"")
        body = bytearray()
        with trio.move_on_after(CLOSE_TIMEOUT), suppress(h11.RemoteProtocolError):
            while len(body) < MAX_HEAD_SIZE:
                event = reading.next_event()
                if isinstance(event, h11.Data):
                    body += event.data
                elif event is h11.NEED_DATA:
                    reading.receive_data(bytes(await stream.receive_some(READ_SIZE)))
                else:
                    break
        self._lost = self._refused(answer, bytes(body))
        raise trio.BrokenResourceError("the server refused the upgrade")

    def _refused(self, answer: h11.Response, body: bytes) -> ConnectionLost:
        headers = Headers(answer.headers)
        self._refusal = answer.status_code, headers
        facts = [f"{self._address.shown}: status {answer.status_code}, and no WebSocket"]
        if 300 <= answer.status_code < 400 and "location" in headers:
            facts.append(f"(it leads to {headers['location'].partition('?')[0]:.{_EXCERPT}})")
        challenge = headers.get("www-authenticate")
        if challenge:
            facts.append(f"(WWW-Authenticate: {challenge:.{_EXCERPT}})")
        text = " ".join(body[: 4 * _EXCERPT].decode("utf-8", "replace").split())
        if text:
            facts.append(repr(text[:_EXCERPT]))
        return ConnectionLost(" ".join(facts), status=answer.status_code)

    async def may_be_tried_again(self, authorizing: Authorizing | None) -> bool:
        """Whether what signs the request can do something about the answer, and has."""
        if authorizing is None or self._refusal is None:
            return False
        return await authorizing.answered(*self._refusal)

    def why(self, exc: NoHandshake) -> ConnectionLost:
        """Say why there is no connection."""
        if self._lost is not None:
            return self._lost
        why = "ended the connection before it was a WebSocket"
        if exc.__cause__ is not None:
            why = f"answers what is no WebSocket handshake: {exc.__cause__}"
        return ConnectionLost(f"{self._address.shown} {why}")

    def _too_late(self) -> ConnectionLost:
        return ConnectionLost(f"{self._address.shown}: there was no connection in time")


def _answer_to_upgrade() -> h11.Connection:
    """Make what reads the answer to a request for an upgrade."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_SIZE)
    headers = [("host", "x"), ("connection", "upgrade"), ("upgrade", "websocket")]
    connection.send(h11.Request(method="GET", target="/", headers=headers))
    connection.send(h11.EndOfMessage())
    return connection


async def _encrypt(stream: trio.SocketStream, context: ssl.SSLContext, host: str) -> RawStream:
    encrypted = trio.SSLStream(
        Records(stream), context, server_hostname=host, https_compatible=True
    )
    try:
        await encrypted.do_handshake()
    except BaseException:
        close_socket(encrypted)
        raise
    return encrypted


@functools.cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _reason(exc: BaseException) -> str:
    # Trio says which addresses it tried, and what was wrong with each is in a group below.
    cause = exc.__cause__
    while isinstance(cause, BaseExceptionGroup):
        cause = cast("BaseExceptionGroup[BaseException]", cause).exceptions[0]
    return str(cause or exc) or type(exc).__name__
