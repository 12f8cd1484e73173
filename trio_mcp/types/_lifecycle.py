"""Meeting each other: ``initialize``, ``server/discover``, ``ping``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import wire_field, wire_model
from ._common import CacheableResult, RequestParams, Result

if TYPE_CHECKING:
    from ._client_capabilities import ClientCapabilities
    from ._icons import Implementation
    from ._literals import ResultType
    from ._server_capabilities import ServerCapabilities

__all__ = [
    "DiscoverResult",
    "InitializeRequestParams",
    "InitializeResult",
]


@wire_model
class InitializeRequestParams(RequestParams):
    protocol_version: str
    """The one the client would like."""
    capabilities: ClientCapabilities
    client_info: Implementation


@wire_model
class InitializeResult(Result):
    protocol_version: str
    """The one the session will speak."""
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | None = None
    """How to use the server, for a model."""


@wire_model
class DiscoverResult(CacheableResult):
    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str | None = None
    """How to use the server, for a model."""
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )
