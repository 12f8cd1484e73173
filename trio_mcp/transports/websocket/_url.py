"""The URLs of WebSocket servers."""

from __future__ import annotations

import re
from typing import Final

import attrs

from trio_mcp.transports._urls import split_url

_PORTS: Final = {"ws": 80, "wss": 443}
_SENDABLE: Final = re.compile(r"[!-~]*")


@attrs.frozen
class WebSocketUrl:
    """A URL taken apart.

    Attributes:
      shown: For people: without its query, which may hold secrets.
      host: To connect to.
      port: To connect to.
      is_secure: Whether it is ``wss``.
      authority: For the header ``Host``.
      target: What is asked for: path and query.

    """

    shown: str
    host: str
    port: int
    is_secure: bool
    authority: str
    target: str


def read_url(url: str) -> WebSocketUrl:
    """Take a URL apart.

    Raises:
      ValueError: if it is none of a WebSocket.

    """
    parts = split_url(url, _PORTS, "url: expected ws://host/path or wss://…")
    host = parts.hostname
    assert host is not None
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if "@" in parts.netloc:
        raise ValueError(f"url: {shown} has a name or a password before it: use a header")
    if parts.fragment:
        raise ValueError(f"url: {shown} has a fragment, which no WebSocket has (RFC 6455)")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not _SENDABLE.fullmatch(target):
        raise ValueError(f"url: what is not ASCII in {shown} has to be percent-encoded")
    authority = parts.netloc.encode("idna").decode()
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    return WebSocketUrl(shown, host, port, parts.scheme == "wss", authority, target)
