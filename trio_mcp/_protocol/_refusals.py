"""The errors that the protocol itself answers, each written once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp.errors import MCPError
from trio_mcp.types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    MODERN_PROTOCOL_VERSIONS,
    SERVER_BUSY,
    UNSUPPORTED_PROTOCOL_VERSION,
)

if TYPE_CHECKING:
    from trio_mcp.types import JsonObject, JsonValue, RequestId

BUSY_RETRY_SECONDS = 1.0
"""The hint in a `SERVER_BUSY` error: when to try again."""


def method_not_found(method: str) -> MCPError:
    return MCPError(METHOD_NOT_FOUND, f"Method not found: {method}")


def invalid_params(message: str) -> MCPError:
    return MCPError(INVALID_PARAMS, message)


def invalid_request(message: str) -> MCPError:
    return MCPError(INVALID_REQUEST, message)


def unsupported_version(requested: str) -> MCPError:
    """-32022: the request names a revision that it cannot be served at (versioning)."""
    return MCPError(
        UNSUPPORTED_PROTOCOL_VERSION,
        f"Unsupported protocol version: {requested}",
        {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": requested},
    )


def no_handshake(requested: JsonValue) -> MCPError:
    """-32601: ``initialize`` at a revision that has none; names those it can be left out for."""
    supported = list(MODERN_PROTOCOL_VERSIONS)
    return MCPError(
        METHOD_NOT_FOUND,
        "Method not found: initialize. Requests of this protocol version need no handshake; "
        f"supported: {', '.join(supported)}",
        {"supported": supported, "requested": requested},
    )


def header_mismatch(message: str) -> MCPError:
    """-32020: a header does not say what the body says (Streamable HTTP, server validation)."""
    return MCPError(HEADER_MISMATCH, message)


def missing_client_capability(message: str, required: JsonObject) -> MCPError:
    """-32021: the request cannot be served without what its client did not declare."""
    return MCPError(
        MISSING_REQUIRED_CLIENT_CAPABILITY, message, {"requiredCapabilities": required}
    )


def duplicate_id(request_id: RequestId) -> MCPError:
    return invalid_request(f"Request id {request_id!r} is in flight already")


def server_busy() -> MCPError:
    return MCPError(
        SERVER_BUSY,
        "Too many requests are waiting; try again later",
        {"retryAfter": BUSY_RETRY_SECONDS},
    )
