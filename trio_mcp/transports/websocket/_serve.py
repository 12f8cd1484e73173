"""Serving an MCP server over WebSockets in a nursery of the caller."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

import attrs
import trio

from trio_mcp._checks import check_kind
from trio_mcp._rpc._nursery import one_cancellation, open_background_nursery
from trio_mcp._rpc._service import Service
from trio_mcp.transports._connections import OpenConnections
from trio_mcp.transports._lifespan import open_lifespan
from trio_mcp.transports._settling import warn_if_open
from trio_mcp.transports.http._guard import protection_of
from trio_mcp.transports.http._listeners import (
    open_listeners,
    tls_context,
    url_of,
)
from trio_mcp.transports.http._routes import route_path
from trio_mcp.transports.http._serve_options import UNIX

from ._defaults import PARTING_TIMEOUT
from ._lifespan import ServerLifespan
from ._options import read_options
from ._records import Records
from ._server_connection import Endpoint, ServerConnection

if TYPE_CHECKING:
    import ssl
    from typing import Unpack

    from trio_mcp.transports.http._listeners import Listening

    from ._keywords import ServeWebSocketOptions
    from ._stream import RawStream

logger: Final = logging.getLogger("trio_mcp.websocket")


@attrs.define(eq=False)
class WebSocketServing:
    """A server that is being served, as `serve_websocket` reports it.

    Attributes:
      urls: Where it is reached: ``ws://127.0.0.1:8000/mcp``, or ``unix:/path``.

    """

    urls: tuple[str, ...]
    _stopping: trio.Event

    @property
    def url(self) -> str:
        """The first of the URLs."""
        return self.urls[0]

    def stop(self) -> None:
        """Begin to stop: no new requests, and `graceful_timeout` seconds for those that run.

        Connections are closed with code 1001, for which the last half second of that is. Does not
        wait; `serve_websocket` returns when it is done.
        """
        self._stopping.set()


async def serve_websocket(  # noqa: ASYNC114, ASYNC128 - the server reports that it listens
    server: Service,
    host: str | None = None,
    port: int | None = None,
    *,
    task_status: trio.TaskStatus[WebSocketServing] = trio.TASK_STATUS_IGNORED,
    **options: Unpack[ServeWebSocketOptions],
) -> None:
    """Serve a server over WebSockets until it is told to stop, or cancelled.

    ::

        serving = await nursery.start(serve_websocket, mcp, "127.0.0.1", 0)
        async with Client(serving.url) as client:
            ...
        serving.stop()

    Options are given by `functools.partial`, as for every function of Trio that is started.
    What is given neither there nor by the environment (``MCP_PORT=80``) is as `ServeOptions`
    and `WebSocketOptions` say. Of those for HTTP alone (``http2``, ``root_path``,
    ``body_timeout``, ``keep_alive_timeout``) there is none.

    A client of a protected server sends its token with the request that opens the connection;
    that ends with code 1008 when the token expires. The server's metadata is served beside it.

    A client has to offer the subprotocol ``mcp``. Each message is one text message; a binary one
    ends its connection with code 1003, one that is too long with 1009. A client that goes cancels
    the handlers of its requests.

    Args:
      server: A `Server` or `MCPServer`. Its lifespan begins before the first request, and ends
          after the last one.
      host: The name or address to listen on.
      port: The port; 0 for a free one.
      task_status: Reports the `WebSocketServing` when connections are accepted.
      **options: What else there is.

    Raises:
      TypeError, ValueError: if an option is something else, or a variable of the environment.
      OSError: if an address cannot be had, or the files for TLS cannot be read.
      Exception: what the lifespan raised: also one that ends while the server runs, which ends
          that at once.

    Error handling:
      What goes wrong with one connection ends that connection, and is logged.

    Cancellation:
      All connections are closed, in two seconds at most; then the lifespan has ten to end, and
      is cancelled. One that shields itself from that ends when it likes.

    """
    check_kind("server", server, Service, "a Server or MCPServer")
    given: dict[str, Any] = {**options}
    given.update({"host": host} if host is not None else {})
    given.update({"port": port} if port is not None else {})
    listening, of_endpoint = read_options(given)
    tls = None
    if listening.certfile is not None:
        tls = tls_context(
            listening.certfile, listening.keyfile, listening.keyfile_password, http2=False
        )
    async with open_lifespan(ServerLifespan(server)) as lifespan:
        sockets = await open_listeners(listening.addresses)
        try:
            endpoint = Endpoint(lifespan.serving, listening, of_endpoint, protection_of(server))
            run = _Run(endpoint, tls)
            # Failures of connections do not come so far: what does is Ctrl-C, alone.
            with one_cancellation():
                await run.serve(sockets, task_status)
        finally:
            sockets.close()


@final
class _Run:
    """The connections of one run."""

    def __init__(self, endpoint: Endpoint, tls: ssl.SSLContext | None) -> None:
        self._endpoint = endpoint
        self._scheme = "ws" if tls is None else "wss"
        self._open: OpenConnections[ServerConnection] = OpenConnections(
            endpoint.listening.max_connections, None, logger
        )
        self._tls = tls

    async def serve(  # noqa: ASYNC114 - only `serve_websocket` calls it
        self,
        sockets: Listening,
        task_status: trio.TaskStatus[WebSocketServing],
    ) -> None:
        stopping = trio.Event()
        async with open_background_nursery() as behind, trio.open_nursery() as connections:
            accept = partial(trio.serve_listeners, handler_nursery=connections)
            async with trio.open_nursery() as accepting:
                await accepting.start(accept, self._handle, sockets.listeners)
                urls = tuple(self._url_of(listener) for listener in sockets.listeners)
                endpoint = self._endpoint
                warn_if_open(
                    endpoint.options.transport_security,
                    endpoint.listening.most_open_host,
                    told_by=logger,
                )
                task_status.started(WebSocketServing(urls, stopping))
                await stopping.wait()
                sockets.withdraw()
                accepting.cancel_scope.cancel(reason="the server stops")
            behind.start_soon(self._end_late, connections.cancel_scope, name="end of a stop")
            for connection in self._open:
                connection.stop()
            await self._endpoint.serving.stop()

    async def _end_late(self, connections: trio.CancelScope) -> None:
        """Cancel what still runs, early enough to say why, and let nobody take longer."""
        grace = self._endpoint.listening.graceful_timeout
        await trio.sleep(max(grace - PARTING_TIMEOUT, 0))
        connections.cancel(reason="the server stops")
        await trio.sleep(PARTING_TIMEOUT)
        for connection in self._open:
            connection.drop()

    def _url_of(self, listener: trio.SocketListener) -> str:
        url = url_of(listener, self._scheme)
        path = route_path(self._endpoint.options.websocket_path)
        return url if url.startswith(UNIX) else f"{url}{path}"

    async def _handle(self, socket_stream: trio.SocketStream) -> None:
        if await self._open.admit(socket_stream) is None:
            return
        stream: RawStream = socket_stream
        if self._tls is not None:
            stream = trio.SSLStream(
                Records(socket_stream), self._tls, server_side=True, https_compatible=True
            )
        connection = ServerConnection(self._endpoint, stream)
        with self._open.holding(connection):
            await connection.run()
