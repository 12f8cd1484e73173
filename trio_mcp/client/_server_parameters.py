"""What a `ClientSessionGroup` is told of a server and of how to talk to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from trio_mcp._checks import check_flag, check_mapping, check_number, check_text, check_whole
from trio_mcp.transports import StdioServerParameters
from trio_mcp.transports.http._authorizing import check_auth
from trio_mcp.transports.http._defaults import DEFAULT_MAX_SSE_EVENT_SIZE
from trio_mcp.transports.websocket._defaults import (
    CONNECT_TIMEOUT,
    DEFAULT_MAX_ANSWER_SIZE,
    DEFAULT_PING_INTERVAL,
    DEFAULT_PING_TIMEOUT,
)

from ._arguments import check_options

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from trio_mcp.types import Implementation, LoggingLevel, SamplingCapability

    from ._callbacks import (
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
        SamplingFnT,
    )
    from ._client_life import ConnectMode
    from ._connect import ClientOptions
    from ._extensions import ClientExtension
    from ._restart import RestartPolicy


def _names_only(headers: dict[str, Any] | None) -> str:
    """Show which headers are set, and no values: they are often secrets."""
    return "None" if headers is None else f"<{', '.join(headers)}>"


def _kind_only(auth: Any) -> str:
    """Show what signs requests, and no password."""
    return "None" if auth is None else f"<{type(auth).__name__}>"


@attrs.frozen
class SseServerParameters:
    """A server that is reached over HTTP+SSE, the HTTP transport of 2024-11-05.

    `timeout` is for reaching the server, in seconds. `sse_read_timeout` limits nothing, as in
    `StreamableHttpParameters`. `auth` signs the requests, as of `Client`.
    """

    url: str
    headers: dict[str, Any] | None = attrs.field(default=None, repr=_names_only)
    timeout: float = 5.0
    sse_read_timeout: float = 300.0
    auth: Any = attrs.field(default=None, kw_only=True, repr=_kind_only)

    def __attrs_post_init__(self) -> None:
        _check_http(self)

    def client_options(self) -> dict[str, Any]:
        """Return them as keyword arguments of `sse_client`."""
        return {"headers": self.headers, "timeout": self.timeout, "auth": self.auth}


@attrs.frozen
class StreamableHttpParameters:
    """A server that is reached over Streamable HTTP.

    `timeout` is for reaching the server, in seconds. `sse_read_timeout` is there because people
    know it, and limits nothing: a stream may be silent for as long as it likes, and
    ``read_timeout_seconds`` limits a call. `auth` signs the requests, as of `Client`.
    """

    url: str
    headers: dict[str, Any] | None = attrs.field(default=None, repr=_names_only)
    timeout: float = 30.0
    sse_read_timeout: float = 300.0
    terminate_on_close: bool = True
    max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE
    auth: Any = attrs.field(default=None, kw_only=True, repr=_kind_only)

    def __attrs_post_init__(self) -> None:
        _check_http(self)
        check_flag("terminate_on_close", self.terminate_on_close)
        if self.max_sse_event_size is not None:
            check_whole("max_sse_event_size", self.max_sse_event_size, least=1)

    def client_options(self) -> dict[str, Any]:
        """Return them as keyword arguments of `streamable_http_client`."""
        return {
            "headers": self.headers,
            "connect_timeout": self.timeout,
            "terminate_on_close": self.terminate_on_close,
            "max_sse_event_size": self.max_sse_event_size,
            "auth": self.auth,
        }


@attrs.frozen
class WebSocketServerParameters:
    """A server that is reached over a WebSocket; they mean what they mean to `websocket_client`.

    `timeout` is for reaching the server, in seconds.
    """

    url: str
    headers: dict[str, Any] | None = attrs.field(default=None, repr=_names_only)
    timeout: float = CONNECT_TIMEOUT
    ssl_context: ssl.SSLContext | None = attrs.field(default=None, kw_only=True)
    max_message_size: int = attrs.field(default=DEFAULT_MAX_ANSWER_SIZE, kw_only=True)
    ping_interval: float | None = attrs.field(default=DEFAULT_PING_INTERVAL, kw_only=True)
    ping_timeout: float = attrs.field(default=DEFAULT_PING_TIMEOUT, kw_only=True)
    auth: Any = attrs.field(default=None, kw_only=True, repr=_kind_only)

    def __attrs_post_init__(self) -> None:
        _check_reached(self)
        check_auth(self.auth, only_ours=True)
        check_whole("max_message_size", self.max_message_size, least=1)
        if self.ping_interval is not None:
            check_number("ping_interval", self.ping_interval, above=0)
        check_number("ping_timeout", self.ping_timeout, above=0)

    def client_options(self) -> dict[str, Any]:
        """Return them as keyword arguments of `websocket_client`."""
        return {
            "headers": self.headers,
            "connect_timeout": self.timeout,
            "ssl_context": self.ssl_context,
            "max_message_size": self.max_message_size,
            "ping_interval": self.ping_interval,
            "ping_timeout": self.ping_timeout,
            "auth": self.auth,
        }


def _check_http(parameters: SseServerParameters | StreamableHttpParameters) -> None:
    _check_reached(parameters)
    check_auth(parameters.auth, parameters.url)
    check_number("sse_read_timeout", parameters.sse_read_timeout, above=0)


def _check_reached(
    parameters: SseServerParameters | StreamableHttpParameters | WebSocketServerParameters,
) -> None:
    check_text("url", parameters.url)
    if parameters.headers is not None:
        check_mapping("headers", parameters.headers)
    check_number("timeout", parameters.timeout, above=0)


ServerParameters: TypeAlias = (
    StdioServerParameters
    | SseServerParameters
    | StreamableHttpParameters
    | WebSocketServerParameters
)


@attrs.frozen
class ClientSessionParameters:
    """How the sessions of a group are opened; each means what it means to `Client`."""

    read_timeout_seconds: float | None = None
    sampling_callback: SamplingFnT | None = None
    elicitation_callback: ElicitationFnT | None = None
    list_roots_callback: ListRootsFnT | None = None
    logging_callback: LoggingFnT | None = None
    message_handler: MessageHandlerFnT | None = None
    client_info: Implementation | None = None
    log_level: LoggingLevel | None = attrs.field(default=None, kw_only=True)
    sampling_capabilities: SamplingCapability | None = attrs.field(default=None, kw_only=True)
    mode: ConnectMode = attrs.field(default="auto", kw_only=True)
    extensions: Sequence[ClientExtension] | None = attrs.field(default=None, kw_only=True)
    restart: RestartPolicy | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        # The rest is checked by the clients, which are made when a server is connected to.
        check_options(attrs.asdict(self, recurse=False))

    def client_options(self) -> ClientOptions:
        """Return them as keyword arguments of `Client`."""
        return {
            "read_timeout_seconds": self.read_timeout_seconds,
            "sampling_callback": self.sampling_callback,
            "elicitation_callback": self.elicitation_callback,
            "list_roots_callback": self.list_roots_callback,
            "logging_callback": self.logging_callback,
            "message_handler": self.message_handler,
            "client_info": self.client_info,
            "log_level": self.log_level,
            "sampling_capabilities": self.sampling_capabilities,
            "mode": self.mode,
            "extensions": self.extensions,
            "restart": self.restart,
        }
