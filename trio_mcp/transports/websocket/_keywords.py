"""The keyword arguments of what serves over WebSockets, for type checkers.

What each means and what it is by default stands where it is declared: in `WebSocketOptions` and
`ServeOptions`. Here are their names and types once more; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from trio_mcp.transports.http._options import TransportSecuritySettings


class ServeWebSocketOptions(TypedDict, total=False):
    """The options of `serve_websocket` by keyword: of `WebSocketOptions` and `ServeOptions`."""

    websocket_path: str
    max_message_size: int
    ping_interval: float | None
    ping_timeout: float
    transport_security: TransportSecuritySettings | None
    binds: Sequence[str]
    unix_socket: str | os.PathLike[str] | None
    certfile: str | os.PathLike[str] | None
    keyfile: str | os.PathLike[str] | None
    keyfile_password: str | None
    max_connections: int | None
    head_timeout: float
    write_timeout: float
    graceful_timeout: float


class RunWebSocketOptions(ServeWebSocketOptions, total=False):
    """The options of a server over WebSockets, those of `ServeOptions` among them."""

    host: str
    port: int
