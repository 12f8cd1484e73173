"""The way to a server by its URL."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from trio_mcp._checks import check_flag, check_number, check_text, check_whole
from trio_mcp._rpc._block import guarded_block
from trio_mcp._rpc._channel import LinkedEnds

from ._authorizing import check_auth
from ._client_link import open_http_link
from ._defaults import DEFAULT_MAX_SSE_EVENT_SIZE
from ._endpoint import CONNECT_TIMEOUT, Endpoint, check_headers, check_url, make_client

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._rpc._link import Link
    from trio_mcp._rpc._service import Serving


class HttpEnds(LinkedEnds):
    """What `streamable_http_client` yields: both ends of the way to one URL."""

    __slots__ = ("_endpoint", "_max_event_size", "_terminates")

    def __init__(self, endpoint: Endpoint, max_event_size: int, terminates: bool) -> None:
        self._endpoint = endpoint
        self._max_event_size = max_event_size
        self._terminates = terminates

    def open_link(self, serving: Serving) -> AbstractAsyncContextManager[Link]:
        """See `LinkedEnds.open_link`."""
        return open_http_link(
            self._endpoint,
            serving,
            max_event_size=self._max_event_size,
            terminates=self._terminates,
        )


@guarded_block("streamable_http_client")
@asynccontextmanager
async def streamable_http_client(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    auth: Any = None,
    http_client: Any = None,
    terminate_on_close: bool = True,
    max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE,
    connect_timeout: float = CONNECT_TIMEOUT,
) -> AsyncGenerator[HttpEnds, None]:
    """Reach a server over Streamable HTTP, in whichever era it lives.

    ::

        transport = streamable_http_client(url, headers={"X-Team": "blue"})
        async with Client(transport) as client:
            ...

    ``Client("https://example.com/mcp")`` does the same with the defaults.

    Yields both ends, which belong to ``ClientSession(read, write)``. Requests are not limited
    in time here: a call has ``read_timeout_seconds``, and Trio has cancel scopes.

    Args:
      url: ``https://…`` or ``http://…``. Redirects are followed within its origin.
      headers: Further headers of each request. Those of the protocol cannot be overridden.
      auth: What signs the requests: `trio_mcp.OAuth` and its like (any `Authorizer`), an
          ``httpx.Auth``, or a name and a password.
      http_client: An ``httpx.AsyncClient``, or what looks like one, to send them with. It
          stays yours to close, and is used as it is, but for its time limits and redirects.
          Its pool needs a connection for each call, for each answer to a question of the server,
          and for the stream of an older one. One with ``http2`` cannot tell a modern server that
          a call was cancelled.
      terminate_on_close: Tell an older server that its session is over.
      max_sse_event_size: The greatest size of one event of a stream, in bytes; None for no
          limit. The default is that of answers which are no stream, 64 MiB.
      connect_timeout: Seconds to reach the server, for each part of a request (64 KiB) to be
          taken, and for a place in the pool of ``http_client``.

    Raises:
      ValueError: if the URL cannot be one, or a header cannot be sent.

    Cancellation:
      Entering waits for nothing. Leaving closes the connections.

    """
    check_text("url", url)
    check_url(url)
    if headers is not None:
        check_headers(headers)
    check_auth(auth, url)
    check_flag("terminate_on_close", terminate_on_close)
    if max_sse_event_size is not None:
        check_whole("max_sse_event_size", max_sse_event_size, least=1)
    check_number("connect_timeout", connect_timeout, above=0)
    max_event_size = 2**63 if max_sse_event_size is None else max_sse_event_size
    options = (url, headers or {}, auth, connect_timeout)
    if http_client is not None:
        endpoint = Endpoint(http_client, *options, is_own=False)
        yield HttpEnds(endpoint, max_event_size, terminate_on_close)
        return
    async with make_client(url) as client:
        yield HttpEnds(Endpoint(client, *options), max_event_size, terminate_on_close)
