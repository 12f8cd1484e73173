"""An HTTP request that is refused: with which status, which words, and why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp.types import (
    HEADER_MISMATCH,
    INSUFFICIENT_SCOPE,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
)

if TYPE_CHECKING:
    from trio_mcp.errors import MCPError
    from trio_mcp.types import RequestId


@attrs.frozen
class Refusal:
    """How to answer what is not served. `error.message` is the reason, in the log, too.

    Attributes:
      status: Of the HTTP answer.
      error: The JSON-RPC error in its body.
      request_id: The id of the request it answers, where that could be read.
      headers: More headers of the answer.
      level: How loudly it is logged.

    """

    status: int
    error: ErrorData
    request_id: RequestId | None = None
    headers: tuple[tuple[str, str], ...] = ()
    level: int = logging.INFO

    @classmethod
    def of(
        cls,
        status: int,
        reason: str,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        level: int = logging.INFO,
    ) -> Refusal:
        """Make one for what HTTP says by its status; JSON-RPC has just one word for it."""
        return cls(status, ErrorData(code=INVALID_REQUEST, message=reason), None, headers, level)

    @classmethod
    def for_error(cls, error: MCPError, request_id: RequestId | None = None) -> Refusal:
        """Make one for an error of the protocol, which says its status (2026-07-28)."""
        return cls(status_for(error.code), error.error, request_id)

    def for_request(self, request_id: RequestId | None) -> Refusal:
        """Give the same as the answer to a request."""
        return attrs.evolve(self, request_id=request_id)


def status_for(code: int) -> int:
    """Give the HTTP status of an answer that is an error, at 2026-07-28.

    A failure of a handler is no failure of HTTP: whatever is not listed is a 200.
    """
    return _STATUS_OF.get(code, 200)


_STATUS_OF: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    INSUFFICIENT_SCOPE: 403,
    METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
}
