"""Meeting each other: ``initialize``, ``server/discover``, ``ping``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._base import wire_field, wire_model
from ._common import (
    CacheableResult,
    Notification,
    NotificationParams,
    Request,
    RequestParams,
    Result,
)

if TYPE_CHECKING:
    from ._capabilities import ClientCapabilities, ServerCapabilities
    from ._icons import Implementation
    from ._literals import ResultType

__all__ = [
    "DiscoverRequest",
    "DiscoverResult",
    "InitializeRequest",
    "InitializeRequestParams",
    "InitializeResult",
    "InitializedNotification",
    "PingRequest",
]


@wire_model
class InitializeRequestParams(RequestParams):
    protocol_version: str
    """The one the client would like."""
    capabilities: ClientCapabilities
    client_info: Implementation


@wire_model
class InitializeRequest(Request[InitializeRequestParams, Literal["initialize"]]):
    """Opens a session, older era."""

    method: Literal["initialize"] = wire_field(default="initialize", always=True)
    params: InitializeRequestParams


@wire_model
class InitializeResult(Result):
    protocol_version: str
    """The one the session will speak."""
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | None = None
    """How to use the server, for a model."""


@wire_model
class InitializedNotification(
    Notification[NotificationParams | None, Literal["notifications/initialized"]]
):
    method: Literal["notifications/initialized"] = wire_field(
        default="notifications/initialized", always=True
    )
    params: NotificationParams | None = None


@wire_model
class DiscoverRequest(Request[RequestParams | None, Literal["server/discover"]]):
    """Asks a server for its revisions and capabilities, 2026-07-28."""

    method: Literal["server/discover"] = wire_field(default="server/discover", always=True)
    params: RequestParams | None = None


@wire_model
class DiscoverResult(CacheableResult):
    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str | None = None
    """How to use the server, for a model."""
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class PingRequest(Request[RequestParams | None, Literal["ping"]]):
    """Asks whether the other side is there, older era."""

    method: Literal["ping"] = wire_field(default="ping", always=True)
    params: RequestParams | None = None
