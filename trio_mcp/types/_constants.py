"""Numbers and names that the specification fixes."""

from __future__ import annotations

from typing import Final

__all__ = [
    "AUTHORIZATION_FAILED",
    "CLIENT_CAPABILITIES_META_KEY",
    "CLIENT_INFO_META_KEY",
    "CONNECTION_CLOSED",
    "CORE_RESULT_TYPES",
    "DEFAULT_NEGOTIATED_VERSION",
    "HEADER_MISMATCH",
    "INSUFFICIENT_SCOPE",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "JSONRPC_VERSION",
    "LOG_LEVEL_META_KEY",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "PARSE_ERROR",
    "PROTOCOL_VERSION_META_KEY",
    "RELATED_TASK_META_KEY",
    "REQUEST_TIMEOUT",
    "RESOURCE_NOT_FOUND",
    "SERVER_BUSY",
    "SERVER_INFO_META_KEY",
    "SUBSCRIPTION_ID_META_KEY",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "URL_ELICITATION_REQUIRED",
]

JSONRPC_VERSION: Final = "2.0"

DEFAULT_NEGOTIATED_VERSION: Final = "2025-03-26"
"""What an HTTP request without ``MCP-Protocol-Version`` speaks, older era."""

# JSON-RPC's own.
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

# MCP's, 2026-07-28: -32020 and on belong to the specification.
HEADER_MISMATCH: Final = -32020
MISSING_REQUIRED_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022

# MCP's before; they are not to be sent at 2026-07-28.
RESOURCE_NOT_FOUND: Final = -32002
URL_ELICITATION_REQUIRED: Final = -32042

# Ours. The first three happen on this side of the wire and are never sent.
AUTHORIZATION_FAILED: Final = -31401
CONNECTION_CLOSED: Final = -32000
REQUEST_TIMEOUT: Final = -32001
INSUFFICIENT_SCOPE: Final = -31403
"""Who asks is not allowed to; outside the reserved range, as the next one."""
SERVER_BUSY: Final = -31503
"""The server has as many requests waiting as it takes."""

PROTOCOL_VERSION_META_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_META_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_META_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_META_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_META_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_META_KEY: Final = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK_META_KEY: Final = "io.modelcontextprotocol/related-task"

CORE_RESULT_TYPES: Final = frozenset({"complete", "input_required"})
"""The values of ``resultType`` that need no extension."""
