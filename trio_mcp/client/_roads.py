"""From what a user calls a server to a link that leads to it."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager, AsyncContextDecorator, asynccontextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from trio_mcp._checks import wrong_kind
from trio_mcp._rpc._block import GuardedBlock
from trio_mcp._rpc._channel import Channel, LinkedEnds, join_ends
from trio_mcp._rpc._peer import open_peer
from trio_mcp._rpc._service import Service
from trio_mcp._rpc._sheltered import Sheltered
from trio_mcp.errors import ConnectionLost

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp._rpc._link import Link
    from trio_mcp._rpc._service import Serving
    from trio_mcp.transports import StdioServerParameters

    from ._session_life import OpenLink


def road_to(
    server: Any,
    *,
    raise_exceptions: bool = False,
    errlog: TextIO | None = None,
    auth: Any = None,
) -> OpenLink:
    """Find the way to a server.

    Args:
      server: A server of this process, a URL, the parameters of a command, a transport, or a
          channel.
      raise_exceptions: For a server of this process: let defects of its handlers leave as
          they are.
      errlog: Where a command's stderr goes.
      auth: For a URL: what signs the requests.

    Raises:
      TypeError: if it is none of these.
      ValueError: if it is a string, and no URL of a server.

    """
    if auth is not None and not isinstance(server, str):
        raise TypeError(
            "auth is for a URL. Server parameters have an auth of their own, a transport takes it "
            f"itself, and others need none; got {server!r:.80}"
        )
    if isinstance(server, Service):
        return lambda serving: _open_service(server, serving, raise_exceptions=raise_exceptions)
    if isinstance(server, Channel):
        return channel_opener(server, None)
    if isinstance(server, str):
        return _url_opener(server, auth)
    if hasattr(server, "command"):
        from trio_mcp.transports import StdioServerParameters  # noqa: PLC0415 - by kind of server

        if isinstance(server, StdioServerParameters):
            return lambda serving: _open_command(server, serving, errlog)
    if hasattr(server, "url") and (opener := _parameters_opener(server)) is not None:
        return opener
    # A class has what its instances have, and is none of them.
    is_class = isinstance(server, type)
    if not is_class and hasattr(server, "__aenter__") and hasattr(server, "__aexit__"):
        transport = cast("AbstractAsyncContextManager[Any]", server)
        return lambda serving: _open_transport(transport, serving)
    raise TypeError(
        "Client expects a URL, StdioServerParameters, a Server or MCPServer, or a transport (an "
        f"async context manager that yields a Channel), got {server!r:.80}"
    )


def channel_opener(read: Channel, write: Channel | None) -> OpenLink:
    """Make what opens a link over a channel, or over its two ends.

    Raises:
      TypeError: if they are something else.

    """
    if isinstance(read, LinkedEnds):
        return read.open_link
    channel = join_ends(read, write)
    return lambda serving: open_peer(channel, serving)


def older_road_to(server: Any, auth: Any = None) -> OpenLink | None:
    """Find the way to a server at a URL that turns out not to speak Streamable HTTP."""
    is_http = isinstance(server, str) and server[:4].lower() == "http"
    return _sse_opener(server, _options(auth)) if is_http else None


def _options(auth: Any) -> dict[str, Any]:
    return {} if auth is None else {"auth": auth}


def _parameters_opener(server: Any) -> OpenLink | None:
    from ._server_parameters import (  # noqa: PLC0415 - by kind of server
        SseServerParameters,
        StreamableHttpParameters,
        WebSocketServerParameters,
    )

    if isinstance(server, StreamableHttpParameters):
        return _http_opener(server.url, server.client_options())
    if isinstance(server, SseServerParameters):
        return _sse_opener(server.url, server.client_options())
    if isinstance(server, WebSocketServerParameters):
        return _websocket_opener(server.url, server.client_options())
    return None


def _sse_opener(url: str, options: dict[str, Any]) -> OpenLink:
    def open_url(serving: Serving) -> AbstractAsyncContextManager[Link]:
        from trio_mcp.transports import sse_client  # noqa: PLC0415 - by kind of server

        return _open_transport(sse_client(url, **options), serving)

    return open_url


def _url_opener(url: str, auth: Any) -> OpenLink:
    from trio_mcp.transports._urls import split_url  # noqa: PLC0415 - by kind of server
    from trio_mcp.transports.http._authorizing import check_auth  # noqa: PLC0415 - as above

    parts = split_url(
        url,
        ("http", "https", "ws", "wss"),
        "Client expects the URL of a server, http://host/…, https://…, ws://… or wss://…",
    )
    is_websocket = parts.scheme in {"ws", "wss"}
    if auth is not None:
        check_auth(auth, url, only_ours=is_websocket)
    return (_websocket_opener if is_websocket else _http_opener)(url, _options(auth))


def _http_opener(url: str, options: dict[str, Any]) -> OpenLink:
    def open_url(serving: Serving) -> AbstractAsyncContextManager[Link]:
        from trio_mcp.transports import streamable_http_client  # noqa: PLC0415 - as above

        return _open_transport(streamable_http_client(url, **options), serving)

    return open_url


def _websocket_opener(url: str, options: dict[str, Any]) -> OpenLink:
    from trio_mcp.transports.websocket._url import read_url  # noqa: PLC0415 - as above

    read_url(url)

    def open_url(serving: Serving) -> AbstractAsyncContextManager[Link]:
        from trio_mcp.transports import websocket_client  # noqa: PLC0415 - as above

        return _open_transport(websocket_client(url, **options), serving)

    return open_url


def ended_by_its_lifespan() -> ConnectionLost:
    """Make the error of a client whose block was cancelled by the lifespan of its server."""
    return ConnectionLost("The server has ended: its lifespan cancelled what ran inside it")


def check_reopens(server: Any) -> None:
    """Check that a server can be opened more than once, as restarting it needs.

    Raises:
      TypeError: if it cannot.

    """
    if isinstance(server, (Channel, GuardedBlock, AsyncContextDecorator)):
        raise TypeError(
            "restart needs what can be opened again, such as StdioServerParameters or a "
            f"transport class of your own, got {server!r:.80}"
        )


@asynccontextmanager
async def _open_service(
    service: Service, client: Serving, *, raise_exceptions: bool
) -> AsyncGenerator[Link, None]:
    from trio_mcp.transports._direct import open_direct  # noqa: PLC0415 - by kind of server

    is_left = False
    async with service.open() as serving:
        serving.raise_exceptions = raise_exceptions
        async with open_direct(serving, client) as link:
            yield link
        is_left = True
    if not is_left:
        raise ended_by_its_lifespan()


@asynccontextmanager
async def _open_command(
    parameters: StdioServerParameters, serving: Serving, errlog: TextIO | None
) -> AsyncGenerator[Link, None]:
    from trio_mcp.transports import stdio_client  # noqa: PLC0415 - by kind of server

    transport = stdio_client(parameters, errlog=sys.stderr if errlog is None else errlog)
    async with transport as channel, open_peer(channel, serving) as link:
        yield link


@asynccontextmanager
async def _open_transport(
    transport: AbstractAsyncContextManager[Any], serving: Serving
) -> AsyncGenerator[Link, None]:
    # Ours raise what a client raises as it is; what others do is for them to know.
    ours = isinstance(transport, GuardedBlock)
    block = transport if ours else Sheltered(f"The transport {transport!r:.80}", transport)
    async with block as opened:
        open_link = channel_opener(*_ends_of(opened, transport))
        async with open_link(serving) as link:
            yield link


def _ends_of(opened: object, transport: object) -> tuple[Channel, Channel]:
    if isinstance(opened, Channel):
        return opened, opened
    match opened:
        case (Channel() as read, Channel() as write):
            return read, write
        case _:
            name = type(transport).__name__
            raise wrong_kind(f"what {name} yielded", "a Channel or its two ends", opened)
