"""Serving an ASGI application in a nursery of the caller."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio
from hypercorn.trio.worker_context import WorkerContext

from trio_mcp._checks import check_flag, check_kind, check_number, check_text, check_whole

from ._driver import HttpConnection, Limits
from ._lifespan import open_lifespan
from ._listeners import (
    UNIX,
    open_listeners,
    remove_paths,
    split_address,
    tls_context,
    url_of,
)
from ._protocols import HttpConfig

if TYPE_CHECKING:
    import os
    import ssl
    from collections.abc import Awaitable, Callable, Sequence

    from ._asgi_request import AsgiApp
    from ._driver import Stream

logger: Final = logging.getLogger("trio_mcp.http")

MAX_CONNECTIONS: Final = 10_000
DESCRIPTORS_FOR_OTHERS: Final = 100
"""What the process keeps of its file descriptors for other things than connections."""


def _seconds(options: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    del options
    check_number(attribute.name, value, least=0)


@attrs.frozen(kw_only=True)
class ServeOptions:
    """Where `serve_http_app` listens, and what it grants a client.

    Attributes:
      host: The name or address to listen on. ``127.0.0.1`` is reached from this machine alone.
      port: The port; 0 for a free one.
      binds: Several addresses in place of `host` and `port`: ``host:port``, ``[::1]:port`` or
          ``unix:/path``.
      unix_socket: The path of a unix socket, in place of `host` and `port`. One that a server
          left behind is replaced.
      certfile: The file of a certificate and those that vouch for it, for TLS.
      keyfile: The file of its key, if that is another one.
      keyfile_password: Of the key.
      http2: Offer HTTP/2 to clients with TLS.
      root_path: The path at which a proxy mounts the application.
      max_connections: Open at once; more are closed as they come. None for 10,000, or what
          the limit of the process for file descriptors leaves of that.
      head_timeout: Seconds for the head of a request, and for TLS before it.
      body_timeout: Seconds for the body of a request.
      write_timeout: Seconds that a client may leave unread what is written to it.
      keep_alive_timeout: Seconds that a connection may wait for its next request.
      graceful_timeout: Seconds for running requests, when the server stops.

    """

    host: str = "127.0.0.1"
    port: int = 8000
    binds: Sequence[str] = ()
    unix_socket: str | os.PathLike[str] | None = None
    certfile: str | os.PathLike[str] | None = None
    keyfile: str | os.PathLike[str] | None = None
    keyfile_password: str | None = attrs.field(default=None, repr=False)
    http2: bool = False
    root_path: str = ""
    max_connections: int | None = None
    head_timeout: float = attrs.field(default=10.0, validator=_seconds)
    body_timeout: float = attrs.field(default=60.0, validator=_seconds)
    write_timeout: float = attrs.field(default=20.0, validator=_seconds)
    keep_alive_timeout: float = attrs.field(default=75.0, validator=_seconds)
    graceful_timeout: float = attrs.field(default=3.0, validator=_seconds)

    def __attrs_post_init__(self) -> None:
        check_text("host", self.host)
        check_whole("port", self.port, least=0)
        check_text("root_path", self.root_path)
        check_flag("http2", self.http2)
        if self.max_connections is not None:
            check_whole("max_connections", self.max_connections, least=1)
        if self.port > 65_535:
            raise ValueError(f"port: expected at most 65535, got {self.port}")
        if isinstance(self.binds, str):
            raise TypeError("binds: expected several addresses, got one str")
        for bind in self.binds:
            if not bind.startswith(UNIX):
                split_address(bind)
        if self.certfile is None and (self.keyfile is not None or self.http2):
            raise ValueError("keyfile and http2 need TLS: give a certfile, too")


def _addresses(options: ServeOptions) -> Sequence[str]:
    """Give what to listen on, as `ServeOptions.binds` writes it."""
    binds = list(options.binds)
    if options.unix_socket is not None:
        binds.append(f"{UNIX}{options.unix_socket}")
    host = f"[{options.host}]" if ":" in options.host else options.host
    return binds or [f"{host}:{options.port}"]


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
          itself. It has as long as the requests that run then.
      task_status: Reports the `HttpServing` when connections are accepted.

    Raises:
      OSError: if an address cannot be had, or the files for TLS cannot be read.
      Exception: what the application's lifespan raised.

    Error handling:
      What goes wrong with one connection ends that connection and is logged; what the
      application raises is logged and answered with the bare status 500.

    Cancellation:
      All connections are closed at once; then the lifespan has ten seconds to end.

    """
    options = options or ServeOptions()
    check_kind("options", options, ServeOptions)
    context = None
    if options.certfile is not None:
        context = tls_context(
            options.certfile, options.keyfile, options.keyfile_password, http2=options.http2
        )
    async with open_lifespan(app) as state:
        binds = _addresses(options)
        listeners = await open_listeners(binds)
        try:
            server = _Server(app, options, state, context)
            await server.run(listeners, on_stop, task_status)
        finally:
            remove_paths(binds)
            for listener in listeners:
                listener.socket.close()


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
        self._tls = tls
        self._context = WorkerContext(None)
        self._config = HttpConfig(options.root_path, self._context)
        self._open: set[HttpConnection] = set()
        self._max_open = options.max_connections or _max_connections()
        self._is_full = False

    async def run(  # noqa: ASYNC114 - only `serve_http_app` calls it
        self,
        listeners: list[trio.SocketListener],
        on_stop: Callable[[], Awaitable[object]] | None,
        task_status: trio.TaskStatus[HttpServing],
    ) -> None:
        scheme = "http" if self._tls is None else "https"
        urls = tuple(url_of(listener, scheme) for listener in listeners)
        serving = HttpServing(urls, trio.Event())
        async with trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                for listener in listeners:
                    accepting.start_soon(self._accept, listener, connections)
                task_status.started(serving)
                await serving._stopping.wait()  # noqa: SLF001 - the other half of its `stop`
                accepting.cancel_scope.cancel(reason="the server stops")
            limit = self._options.graceful_timeout
            connections.cancel_scope.deadline = trio.current_time() + limit
            await self._context.terminated.set()
            for connection in list(self._open):
                connection.stop()
            if on_stop is not None:
                await _call_logged(on_stop)

    async def _accept(self, listener: trio.SocketListener, connections: trio.Nursery) -> None:
        await trio.serve_listeners(self._handle, [listener], handler_nursery=connections)

    async def _handle(self, socket_stream: trio.SocketStream) -> None:
        if len(self._open) >= self._max_open:
            if not self._is_full:
                logger.warning("%d connections are open: more are refused", self._max_open)
            self._is_full = True
            await trio.aclose_forcefully(socket_stream)
            return
        self._is_full = False
        stream: Stream = socket_stream
        if self._tls is not None:
            stream = trio.SSLStream(
                socket_stream, self._tls, server_side=True, https_compatible=True
            )
        connection = HttpConnection(
            self._app, self._config, self._context, self._limits, self._state, stream
        )
        self._open.add(connection)
        try:
            await connection.run(lambda: self._open.discard(connection))
        except Exception:  # it ends this connection alone
            logger.exception("A connection failed")
        except BaseExceptionGroup as group:
            failures, rest = group.split(Exception)
            if failures is not None:
                logger.exception("A connection failed", exc_info=failures)
            if rest is not None:
                raise rest from None
        finally:
            self._open.discard(connection)


async def _call_logged(on_stop: Callable[[], Awaitable[object]]) -> None:
    try:
        await on_stop()
    except Exception:  # the rest of the stop is not to be lost with it
        logger.exception("on_stop failed")


def _max_connections() -> int:
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return MAX_CONNECTIONS
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, allowed - DESCRIPTORS_FOR_OTHERS))
