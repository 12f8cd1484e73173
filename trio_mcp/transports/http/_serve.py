"""Serving an ASGI application in a nursery of the caller."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio
from hypercorn.trio.worker_context import WorkerContext

from trio_mcp._checks import check_kind
from trio_mcp._rpc._nursery import one_cancellation
from trio_mcp.transports._connections import OpenConnections
from trio_mcp.transports._lifespan import open_lifespan

from ._driver import HttpConnection, Limits
from ._lifespan import AsgiLifespan
from ._listeners import open_listeners, tls_context, url_of
from ._protocols import HttpConfig
from ._serve_options import ServeOptions

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from ._asgi_request import AsgiApp
    from ._listeners import Listening

logger: Final = logging.getLogger("trio_mcp.http")


def _limits(options: ServeOptions) -> Limits:
    """Give the limits of time of one connection."""
    return Limits(
        head=options.head_timeout,
        body=options.body_timeout,
        write=options.write_timeout,
        keep_alive=options.keep_alive_timeout,
    )


@attrs.define(eq=False)
class HttpServing:
    """An application that is being served, as `serve_http_app` reports it.

    Attributes:
      urls: Where it is reached: ``http://127.0.0.1:8000``, or ``unix:/path``.

    """

    urls: tuple[str, ...]
    _stopping: trio.Event

    @property
    def url(self) -> str:
        """The first of the URLs."""
        return self.urls[0]

    def stop(self) -> None:
        """Begin to stop: no new requests, and `graceful_timeout` seconds for those that run.

        Does not wait; ``serve_http_app`` returns when it is done.
        """
        self._stopping.set()


async def serve_http_app(  # noqa: ASYNC114, ASYNC128 - the server reports that it listens
    app: AsgiApp,
    options: ServeOptions | None = None,
    *,
    on_stop: Callable[[], Awaitable[object]] | None = None,
    task_status: trio.TaskStatus[HttpServing] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve an ASGI application over HTTP until it is told to stop, or cancelled.

    ::

        serving = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        print(serving.url)
        ...
        serving.stop()

    Upgrades to WebSocket and HTTP/2 are not taken; with TLS, HTTP/2 can be offered.

    Args:
      app: An ASGI 3 application. Its lifespan begins before the first request, and ends after
          the last one; an application without one is served, too.
      options: Where to listen, and what to grant clients.
      on_stop: Called when the stop begins, to have the application end what would not end by
          itself, as streams of events. It has as long as the requests that run then. For an
          application of ours it is by default the ``stop`` of its ``session_manager``; where
          that is mounted in another application, give it:
          ``on_stop=mcp.session_manager.stop``.
      task_status: Reports the `HttpServing` when connections are accepted.

    Raises:
      OSError: if an address cannot be had, or the files for TLS cannot be read.
      Exception: what the application's lifespan raised: also one that ends while the
          application is served, which ends that at once.

    Error handling:
      What goes wrong with one connection ends that connection and is logged; what the
      application raises is logged and answered with the bare status 500.

    Cancellation:
      All connections are closed at once; then the lifespan has ten seconds to end, and is
      cancelled. One that shields itself from that ends when it likes.

    """
    options = options or ServeOptions()
    check_kind("options", options, ServeOptions)
    if on_stop is None:
        on_stop = getattr(getattr(app, "session_manager", None), "stop", None)
    context = None
    if options.certfile is not None:
        context = tls_context(
            options.certfile, options.keyfile, options.keyfile_password, http2=options.http2
        )
    async with open_lifespan(AsgiLifespan(app)) as lifespan:
        listening = await open_listeners(options.addresses)
        try:
            server = _Server(app, options, lifespan.state, context)
            # Failures of connections do not come so far: what does is Ctrl-C, alone.
            with one_cancellation():
                await server.run(listening, on_stop, task_status)
        finally:
            listening.close()


class _Server:
    """What the connections of one run share."""

    def __init__(
        self,
        app: AsgiApp,
        options: ServeOptions,
        state: dict[str, Any],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._app = app
        self._options = options
        self._limits = _limits(options)
        self._state = state
        self._scheme = "http" if tls is None else "https"
        self._context = WorkerContext(None)
        self._config = HttpConfig(options.root_path, self._context)
        self._open: OpenConnections[HttpConnection] = OpenConnections(
            options.max_connections, tls, logger
        )

    async def run(  # noqa: ASYNC114 - only `serve_http_app` calls it
        self,
        listening: Listening,
        on_stop: Callable[[], Awaitable[object]] | None,
        task_status: trio.TaskStatus[HttpServing],
    ) -> None:
        urls = tuple(url_of(listener, self._scheme) for listener in listening.listeners)
        serving = HttpServing(urls, trio.Event())
        async with trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                for listener in listening.listeners:
                    accepting.start_soon(self._accept, listener, connections)
                task_status.started(serving)
                await serving._stopping.wait()  # noqa: SLF001 - the other half of its `stop`
                listening.withdraw()
                accepting.cancel_scope.cancel(reason="the server stops")
            limit = self._options.graceful_timeout
            connections.cancel_scope.deadline = trio.current_time() + limit
            await self._context.terminated.set()
            for connection in self._open:
                connection.stop()
            if on_stop is not None:
                await _call_logged(on_stop)

    async def _accept(self, listener: trio.SocketListener, connections: trio.Nursery) -> None:
        await trio.serve_listeners(self._handle, [listener], handler_nursery=connections)

    async def _handle(self, socket_stream: trio.SocketStream) -> None:
        stream = await self._open.admit(socket_stream)
        if stream is None:
            return
        connection = HttpConnection(
            self._app, self._config, self._context, self._limits, self._state, stream
        )
        with self._open.holding(connection):
            await connection.run(lambda: self._open.let_go(connection))


async def _call_logged(on_stop: Callable[[], Awaitable[object]]) -> None:
    try:
        await on_stop()
    except Exception:  # the rest of the stop is not to be lost with it
        logger.exception("on_stop failed")
