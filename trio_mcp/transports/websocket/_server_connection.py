"""One connection of a server, from its first byte to its last."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, final

import attrs
import trio
from trio_websocket import wrap_server_stream

from trio_mcp._rpc._exchange import NOBODY, Caller, HttpDetails
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._peer import open_peer
from trio_mcp.transports._connections import tell_unbegun
from trio_mcp.transports.http._guard import EVERYBODY, admit, check_scopes, seconds_left
from trio_mcp.transports.http._refusal import Refusal

from ._channel import open_websocket_channel
from ._defaults import (
    CLOSE_TIMEOUT,
    GOING_AWAY,
    INTERNAL_ERROR,
    MAX_CHARACTERS,
    POLICY_VIOLATION,
    PROTOCOL_ERROR,
    SUBPROTOCOL,
)
from ._frames import Close, FrameGate
from ._reader import NoHandshake
from ._request import (
    UNREADABLE,
    Opening,
    as_http_request,
    check_named_host,
    check_opening,
    document_at,
    dump_document,
    dump_refusal,
    read_opening,
)
from ._stream import GuardedStream, close_socket, linger

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

    from trio_mcp._rpc._service import Serving
    from trio_mcp.transports.http._guard import Protection
    from trio_mcp.transports.http._serve_options import ServeOptions

    from ._channel import WebSocketChannel
    from ._options import WebSocketOptions
    from ._stream import RawStream

logger: Final = logging.getLogger("trio_mcp.websocket")

_EXPIRED: Final = Close(POLICY_VIOLATION, "the token has expired")

_UNFINISHED: Final = Close(PROTOCOL_ERROR, "the end came without a closing handshake")
# To a client that sends no more, and may still read. What else it did wrong is said instead, and
# one that closes in good order has been answered.


@attrs.frozen
class Endpoint:
    """What the connections of one run share."""

    serving: Serving
    listening: ServeOptions
    options: WebSocketOptions
    protection: Protection = EVERYBODY


@final
class ServerConnection:
    """Serves one client.

    Args:
      endpoint: What all connections share.
      stream: The connection.

    """

    def __init__(self, endpoint: Endpoint, stream: RawStream) -> None:
        self._endpoint = endpoint
        self._stream = stream
        self._channel: WebSocketChannel | None = None
        self._waiting = trio.CancelScope()
        self._is_stopping = False
        self._caller = NOBODY
        self._name = ""

    async def run(self) -> None:
        """Serve until either side ends the connection."""
        try:
            opening = await self._open()
            if opening is not None:
                await self._serve(opening)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as exc:
            # It went before it was a WebSocket, or cannot do TLS.
            tell_unbegun(logger, exc)
        finally:
            close_socket(self._stream)

    def stop(self) -> None:
        """Take no more requests; the connection ends when those that run are answered."""
        self._is_stopping = True
        self._waiting.cancel(reason="the server stops")
        if self._channel is not None:
            self._channel.stop()

    def drop(self) -> None:
        """End it at once, wherever it is."""
        close_socket(self._stream)

    async def _open(self) -> Opening | None:
        """Read the request; what is no opening of a connection is answered here."""
        found: Opening | Refusal | None = None
        answer: Refusal | bytes | None = None
        with self._waiting:
            found = await self._read()
            if isinstance(found, Opening):
                answer = await self._admit(found)
        if self._waiting.cancelled_caught:
            return None
        if isinstance(found, Opening):
            if answer is None:
                return found
            if isinstance(answer, bytes):
                await self._answer(answer)
            else:
                await self._refuse(found.name, answer)
        elif found is not None:
            await self._refuse("A request", found)
        return None

    async def _read(self) -> Opening | Refusal | None:
        with trio.move_on_after(self._endpoint.listening.head_timeout):
            if isinstance(self._stream, trio.SSLStream):
                await self._stream.do_handshake()
            return await read_opening(self._stream)
        return Refusal.of(408, "The head of the request did not come in time")

    async def _admit(self, opening: Opening) -> Refusal | bytes | None:
        """Let a request in, say why not, or give what it asked for beside the endpoint."""
        protection, options = self._endpoint.protection, self._endpoint.options
        document = document_at(opening.request, protection.documents)
        if document is not None:
            refusal = check_named_host(opening.request, options.transport_security)
            return refusal or dump_document(document)
        refusal = check_opening(
            opening.request, options.websocket_path, options.transport_security
        )
        if refusal is not None:
            return refusal
        is_secure = isinstance(self._stream, trio.SSLStream)
        request = as_http_request(opening.request, "wss" if is_secure else "ws")
        guard = protection.guard
        async with open_background_nursery() as nursery:
            gone = partial(self._waiting.cancel, reason="the client has gone")
            nursery.start_soon(opening.watch, self._stream, gone, name="WebSocket input")
            refusal = await admit(guard, request)
        refusal = refusal or check_scopes(guard, self._endpoint.serving, request)
        self._caller = Caller(request.headers, request.principal, HttpDetails(request))
        return refusal

    async def _refuse(self, name: str, refusal: Refusal) -> None:
        reason = refusal.error.message
        logger.log(refusal.level, "%s was refused with %d: %s", name, refusal.status, reason)
        await self._answer(dump_refusal(refusal))

    async def _answer(self, response: bytes) -> None:
        with trio.move_on_after(CLOSE_TIMEOUT):
            await self._stream.send_all(response)
            await linger(self._stream)

    async def _serve(self, opening: Opening) -> None:
        stream = GuardedStream(
            self._stream,
            FrameGate(self._endpoint.options.max_message_size),
            opening.give_head,
            is_client=False,
            peer="the client",
            write_timeout=self._endpoint.listening.write_timeout,
        )
        try:
            async with open_websocket_channel(
                stream,
                self._shake_hands,
                close=Close(GOING_AWAY, "the server stops"),
                ping_interval=self._endpoint.options.ping_interval,
                ping_timeout=self._endpoint.options.ping_timeout,
            ) as channel:
                channel.caller = self._caller
                self._name = opening.name
                await self._talk(channel)
        except NoHandshake as exc:
            logger.debug("A request was no handshake: %s", exc.__cause__)
            await self._refuse(opening.name, UNREADABLE)

    async def _shake_hands(
        self, nursery: trio.Nursery, stream: GuardedStream
    ) -> WebSocketConnection:
        request = await wrap_server_stream(nursery, stream, max_message_size=MAX_CHARACTERS)
        return await request.accept(subprotocol=SUBPROTOCOL)

    async def _talk(self, channel: WebSocketChannel) -> None:
        self._channel = channel
        if self._is_stopping:
            channel.stop()
        grace = self._endpoint.listening.graceful_timeout
        try:
            async with open_peer(channel, self._endpoint.serving, drain_seconds=grace) as peer:
                # Messages bring no token of their own.
                with trio.move_on_after(seconds_left(self._caller.principal)) as limit:
                    await peer.wait_lost()
                if self._is_stopping:
                    await peer.wait_ended()
            if (lost := channel.dropped) is not None:
                logger.info("%s: %s (code %d)", self._name, lost, lost.close_code)
            if limit.cancelled_caught:
                logger.info("%s: Connection closed: the token has expired", self._name)
                await channel.finish(_EXPIRED)
            elif not self._is_stopping:
                await channel.finish(_UNFINISHED)
        except Exception:
            await channel.finish(  # noqa: ASYNC120 - it shields itself, bounded
                Close(INTERNAL_ERROR, "the server failed")
            )
            raise
