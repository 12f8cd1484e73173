"""The answer to an opening handshake as a client sees it: whether a WebSocket begins with it.

It is checked here, before the WebSocket library sees it, which would complain of the state that
its own refusal left behind, and not of what it refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wsproto.utilities import generate_accept_token

from trio_mcp.transports.http._headers import Headers

from ._defaults import SUBPROTOCOL

if TYPE_CHECKING:
    import h11

_KEY = b"sec-websocket-key:"


def why_refused(answer: h11.InformationalResponse, request: bytes) -> str | None:
    """Say what is wrong with an answer of status 101 (RFC 6455, section 4.1); None if nothing is.

    Args:
      answer: Its head.
      request: The head of the request, as it was sent.

    """
    headers = Headers(answer.headers)
    wrong = _why_no_upgrade(headers, request)
    if wrong is not None:
        return f"answers what is no WebSocket handshake: {wrong}"
    agreed = headers.all("sec-websocket-protocol")
    if agreed == (SUBPROTOCOL,):
        return None
    if len(agreed) > 1:
        return f"answers what is no WebSocket handshake: {len(agreed)} of Sec-WebSocket-Protocol"
    other = f"{agreed[0]:.80}" if agreed else "none"
    return f"is no MCP server: it agreed on the subprotocol {other}, not {SUBPROTOCOL}"


def _why_no_upgrade(headers: Headers, request: bytes) -> str | None:
    tokens = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    if "upgrade" not in tokens or headers.get("upgrade", "").lower() != "websocket":
        return "it does not say 'Upgrade: websocket' and 'Connection: Upgrade'"
    accepted = headers.all("sec-websocket-accept")
    if accepted != (_accept_for(request),):
        fault = "is not that of this request" if accepted else "is missing"
        return f"Sec-WebSocket-Accept {fault}"
    extensions = headers.all("sec-websocket-extensions")
    if extensions:
        return f"it uses an extension that was not asked for: {', '.join(extensions)!r:.80}"
    return None


def _accept_for(request: bytes) -> str:
    (key,) = (
        line.partition(b":")[2].strip()
        for line in request.split(b"\r\n")
        if line.lower().startswith(_KEY)
    )
    return generate_accept_token(key).decode()
