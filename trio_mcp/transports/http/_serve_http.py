"""Serving an MCP server over HTTP in a nursery of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import attrs
import trio

from trio_mcp._checks import check_word, wrong_kind
from trio_mcp._variables import naming_variables
from trio_mcp.transports._settling import SECURITY, settle_security, warn_if_open

from ._making import LISTENING, SSE, STREAMABLE_HTTP, settle
from ._options import HttpOptions, HttpPaths
from ._routes import route_path
from ._serve import HttpServing, serve_http_app
from ._serve_options import UNIX, ServeOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Unpack

    from ._app import HttpApp, SseApp
    from ._keywords import ServeHttpOptions

HttpTransport: TypeAlias = Literal["streamable-http", "sse"]

_OF_ENDPOINTS: Final[dict[str, tuple[str, ...]]] = {
    "streamable-http": STREAMABLE_HTTP,
    "sse": SSE,
}


class ServesHttp(Protocol):
    """What can be served: a `Server` or an `MCPServer`."""

    @property
    def streamable_http_app(self) -> Callable[..., HttpApp]:
        """Make an application for Streamable HTTP."""
        ...

    @property
    def sse_app(self) -> Callable[..., SseApp]:
        """Make an application for HTTP with SSE."""
        ...


async def serve_http(  # noqa: ASYNC114, ASYNC128 - `serve_http_app` reports that it listens
    server: ServesHttp,
    host: str | None = None,
    port: int | None = None,
    *,
    transport: HttpTransport = "streamable-http",
    task_status: trio.TaskStatus[HttpServing] = trio.TASK_STATUS_IGNORED,
    **options: Unpack[ServeHttpOptions],
) -> None:
    """Serve a server over HTTP until it is told to stop, or cancelled.

    ::

        serving = await nursery.start(serve_http, mcp, "127.0.0.1", 0)
        async with Client(serving.url) as client:
            ...
        serving.stop()

    Options are given by `functools.partial`, as for every function of Trio that is started::

        serve = partial(serve_http, mcp, port=443, certfile="server.pem")

    What is given neither here nor by the environment (``MCP_PORT=80``) is as `ServeOptions`,
    `HttpOptions` and `HttpPaths` say.

    Args:
      server: A `Server` or `MCPServer`. Its lifespan begins before the first request, and ends
          after the last one.
      host: The name or address to listen on.
      port: The port; 0 for a free one.
      transport: ``"sse"`` for HTTP with SSE, which clients of 2024-11-05 speak.
      task_status: Reports the `HttpServing` when connections are accepted: at which URLs, port
          and path included, and how to stop.
      **options: What else `ServeOptions` and `HttpOptions` have, and the paths.

    Raises:
      TypeError, ValueError: if an option is something else, or a variable of the environment.
      OSError: if an address cannot be had, or the files for TLS cannot be read.
      Exception: what the lifespan raised: also one that ends while the server runs, which ends
          that at once.

    Cancellation:
      All connections are closed at once, and then the lifespan is left, in ten seconds at most,
      unless it shields itself from being cancelled.
      ``stop()`` gives running requests ``graceful_timeout`` seconds before that.

    """
    check_word("transport", transport, _OF_ENDPOINTS)
    if not callable(getattr(server, "streamable_http_app", None)):
        raise wrong_kind("server", "a Server or an MCPServer", server)
    given: dict[str, Any] = {**options}
    given.update({"host": host} if host is not None else {})
    given.update({"port": port} if port is not None else {})
    listen, of_endpoint = read_options(transport, given)
    host = listen.most_open_host
    settle_security(of_endpoint, host)
    # It is decided, and told when it listens: the application need not do so again.
    app, path = _application(server, transport, {**of_endpoint, "host": UNIX})

    def on_listening() -> None:
        warn_if_open(of_endpoint[SECURITY], host)

    await serve_http_app(app, listen, task_status=_Endpoint(task_status, path, on_listening))


def read_options(
    transport: HttpTransport, given: Mapping[str, Any]
) -> tuple[ServeOptions, dict[str, Any]]:
    """Put together what was given and what the environment says of the rest.

    Returns:
      How to listen, and the options of the application.

    Raises:
      TypeError, ValueError: if one is something else, or is none of the transport.

    """
    names = _OF_ENDPOINTS[transport]
    settled = settle(f"The transport {transport!r}", {*names, *LISTENING}, given)
    with naming_variables(given):
        listen = ServeOptions(**{name: settled[name] for name in LISTENING if name in settled})
    of_endpoint = {name: settled[name] for name in names if name in settled}
    for cls in (HttpOptions, HttpPaths):
        fields = [each.name for each in attrs.fields(cls)]
        cls(**{name: of_endpoint[name] for name in fields if name in of_endpoint})
    return listen, of_endpoint


def _application(
    server: ServesHttp, transport: HttpTransport, options: Mapping[str, Any]
) -> tuple[HttpApp | SseApp, str]:
    """Make the application; gives the path that clients are to know, too."""
    name = "sse_path" if transport == "sse" else "streamable_http_path"
    path: str = options.get(name, getattr(HttpPaths(), name))
    make = server.sse_app if transport == "sse" else server.streamable_http_app
    app: HttpApp | SseApp = make(**options)
    return app, route_path(path)


@attrs.frozen
class _Endpoint(trio.TaskStatus[HttpServing]):
    """Reports where the endpoint is, and not the server alone."""

    _status: trio.TaskStatus[HttpServing]
    _path: str
    _on_listening: Callable[[], None]

    def started(self, value: HttpServing | None = None) -> None:
        assert value is not None
        self._on_listening()
        urls = [each if each.startswith(UNIX) else f"{each}{self._path}" for each in value.urls]
        self._status.started(attrs.evolve(value, urls=tuple(urls)))
