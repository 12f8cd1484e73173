"""The errors that the protocol itself answers, each written once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._codec import excerpt
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
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from trio_mcp.types import JsonObject, JsonValue, RequestId

BUSY_RETRY_SECONDS = 1.0
"""The hint in a `SERVER_BUSY` error: when to try again."""


LONGEST_URI = 8_192
"""Characters of a URI that an error gives back whole, since clients may compare it."""


def about_resource(uri: JsonValue) -> JsonObject:
    """What an error about a resource says in its data; of a URI without measure the beginning."""
    if isinstance(uri, str) and len(uri) > LONGEST_URI:
        return {"uri": excerpt(uri)}
    return {"uri": uri}


def method_not_found(method: str) -> MCPError:
    return MCPError(METHOD_NOT_FOUND, f"Method not found: {excerpt(method)}")


def invalid_params(message: str) -> MCPError:
    return MCPError(INVALID_PARAMS, message)


def invalid_request(message: str) -> MCPError:
    return MCPError(INVALID_REQUEST, message)


def unsupported_version(requested: str) -> MCPError:
    """-32022: the request names a revision that it cannot be served at (versioning)."""
    return MCPError(
        UNSUPPORTED_PROTOCOL_VERSION,
        f"Unsupported protocol version: {excerpt(requested)}",
        {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": excerpt(requested)},
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


def missing_client_capability(
    required: JsonObject, declared: JsonObject, required_by: str = ""
) -> MCPError:
    """-32021: the request cannot be served without what its client did not declare.

    Args:
      required: What it has to declare, as capabilities.
      declared: What it did.
      required_by: What needs it: a question, a resolver.

    """
    things = [f"the {_in_words(path)}" for path in lacking(required, declared)]
    suffix = f" required by {required_by}" if required_by else ""
    return MCPError(
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        f"Client did not declare {' and '.join(things) or 'its capabilities'}{suffix}",
        {"requiredCapabilities": required},
    )


def lacking(required: JsonObject, declared: JsonObject) -> list[tuple[str, ...]]:
    """Find what is required and was not declared: the paths of the innermost parts."""
    found: list[tuple[str, ...]] = []
    for name, wanted in required.items():
        said = declared.get(name)
        if is_object(wanted) and wanted:
            inner = lacking(wanted, said if is_object(said) else {})
            found += [(name, *path) for path in inner]
        elif name not in declared or (is_object(wanted) and not is_object(said)):
            found.append((name,))
    return found


def _in_words(path: tuple[str, ...]) -> str:
    match path:
        case ("extensions", identifier, *_):
            return f"{identifier} extension"
        case ("elicitation", mode):
            return f"{mode} elicitation capability"
        case _:
            return f"{'.'.join(path)} capability"


def duplicate_id(request_id: RequestId) -> MCPError:
    return invalid_request(f"Request id {excerpt(request_id)!r} is in flight already")


def server_busy() -> MCPError:
    return MCPError(
        SERVER_BUSY,
        "Too many requests are waiting; try again later",
        {"retryAfter": BUSY_RETRY_SECONDS},
    )
