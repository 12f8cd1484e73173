"""Listing, reading and watching resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._base import wire_field, wire_model
from ._common import (
    CacheableResult,
    InputResponseRequestParams,
    Notification,
    NotificationParams,
    PaginatedRequest,
    PaginatedResult,
    Request,
    RequestParams,
)

if TYPE_CHECKING:
    from ._content import BlobResourceContents, TextResourceContents
    from ._literals import ResultType
    from ._resources import Resource, ResourceTemplate

__all__ = [
    "ListResourceTemplatesRequest",
    "ListResourceTemplatesResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ReadResourceRequest",
    "ReadResourceRequestParams",
    "ReadResourceResult",
    "ResourceListChangedNotification",
    "ResourceUpdatedNotification",
    "ResourceUpdatedNotificationParams",
    "SubscribeRequest",
    "SubscribeRequestParams",
    "UnsubscribeRequest",
    "UnsubscribeRequestParams",
]


@wire_model
class ListResourcesRequest(PaginatedRequest[Literal["resources/list"]]):
    method: Literal["resources/list"] = wire_field(default="resources/list", always=True)


@wire_model
class ListResourcesResult(PaginatedResult, CacheableResult):
    resources: list[Resource]
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class ListResourceTemplatesRequest(PaginatedRequest[Literal["resources/templates/list"]]):
    method: Literal["resources/templates/list"] = wire_field(
        default="resources/templates/list", always=True
    )


@wire_model
class ListResourceTemplatesResult(PaginatedResult, CacheableResult):
    resource_templates: list[ResourceTemplate]
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class ReadResourceRequestParams(InputResponseRequestParams):
    uri: str


@wire_model
class ReadResourceRequest(Request[ReadResourceRequestParams, Literal["resources/read"]]):
    name_param = "uri"

    method: Literal["resources/read"] = wire_field(default="resources/read", always=True)
    params: ReadResourceRequestParams


@wire_model
class ReadResourceResult(CacheableResult):
    contents: list[TextResourceContents | BlobResourceContents]
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class SubscribeRequestParams(RequestParams):
    uri: str


@wire_model
class SubscribeRequest(Request[SubscribeRequestParams, Literal["resources/subscribe"]]):
    """Asks to be told of changes, older era."""

    method: Literal["resources/subscribe"] = wire_field(default="resources/subscribe", always=True)
    params: SubscribeRequestParams


@wire_model
class UnsubscribeRequestParams(RequestParams):
    uri: str


@wire_model
class UnsubscribeRequest(Request[UnsubscribeRequestParams, Literal["resources/unsubscribe"]]):
    method: Literal["resources/unsubscribe"] = wire_field(
        default="resources/unsubscribe", always=True
    )
    params: UnsubscribeRequestParams


@wire_model
class ResourceListChangedNotification(
    Notification[NotificationParams | None, Literal["notifications/resources/list_changed"]]
):
    method: Literal["notifications/resources/list_changed"] = wire_field(
        default="notifications/resources/list_changed", always=True
    )
    params: NotificationParams | None = None


@wire_model
class ResourceUpdatedNotificationParams(NotificationParams):
    uri: str
    """The resource, or a part of the one that is watched."""


@wire_model
class ResourceUpdatedNotification(
    Notification[ResourceUpdatedNotificationParams, Literal["notifications/resources/updated"]]
):
    method: Literal["notifications/resources/updated"] = wire_field(
        default="notifications/resources/updated", always=True
    )
    params: ResourceUpdatedNotificationParams
