"""The keyword arguments of what serves over HTTP, for type checkers.

What each means and what it is by default stands where it is declared: in `HttpOptions`,
`HttpPaths` and `ServeOptions`. Here are their names and types once more, because type checkers
take no others for keyword arguments; a test compares. The rest are the combinations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ._event_store import EventStore
    from ._options import TransportSecuritySettings


class EndpointKeywords(TypedDict, total=False):
    """How requests are answered, on every carrier over HTTP."""

    max_request_body_size: int
    max_sessions: int | None
    transport_security: TransportSecuritySettings | None
    keep_alive_interval: float
    body_timeout: float
    cors_origins: Sequence[str]


class StreamableHttpKeywords(EndpointKeywords, total=False):
    """How requests are answered over Streamable HTTP."""

    streamable_http_path: str
    json_response: bool
    stateless_http: bool
    event_store: EventStore | None
    retry_interval: int | None
    session_idle_timeout: float | None


class SseKeywords(EndpointKeywords, total=False):
    """How requests are answered over HTTP with SSE."""

    sse_path: str
    message_path: str


class HostKeyword(TypedDict, total=False):
    """Where an application will be served."""

    host: str


class AddressKeywords(HostKeyword, total=False):
    """Where a server listens."""

    port: int


class ListenKeywords(TypedDict, total=False):
    """Where a server listens otherwise, and what it grants each client."""

    binds: Sequence[str]
    unix_socket: str | os.PathLike[str] | None
    certfile: str | os.PathLike[str] | None
    keyfile: str | os.PathLike[str] | None
    keyfile_password: str | None
    http2: bool
    root_path: str
    max_connections: int | None
    head_timeout: float
    write_timeout: float
    keep_alive_timeout: float
    graceful_timeout: float


class StreamableHttpAppOptions(StreamableHttpKeywords, HostKeyword, total=False):
    """The options of an application for Streamable HTTP; see `HttpOptions` and `HttpPaths`."""


class SseAppOptions(SseKeywords, HostKeyword, total=False):
    """The options of an application for HTTP with SSE; see `HttpOptions` and `HttpPaths`."""


class RunStreamableHttpOptions(
    StreamableHttpKeywords, AddressKeywords, ListenKeywords, total=False
):
    """The options of a server over Streamable HTTP, those of `ServeOptions` among them."""


class StreamableHttpProgramOptions(RunStreamableHttpOptions, total=False):
    """The options of a program that serves over Streamable HTTP, those of workers among them."""

    workers: int


class RunSseOptions(SseKeywords, AddressKeywords, ListenKeywords, total=False):
    """The options of a server over HTTP with SSE, those of `ServeOptions` among them."""


class ServeHttpOptions(StreamableHttpKeywords, SseKeywords, ListenKeywords, total=False):
    """The options of `serve_http` by keyword: those of the transport, and of `ServeOptions`."""
