"""Listing, reading and watching resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import wire_field, wire_model
from ._common import (
    CacheableResult,
    InputResponseRequestParams,
    NotificationParams,
    PaginatedResult,
    RequestParams,
)

if TYPE_CHECKING:
    from ._literals import ResultType
    from ._resource_contents import BlobResourceContents, TextResourceContents
    from ._resources import Resource, ResourceTemplate

__all__ = [
    "ListResourceTemplatesResult",
    "ListResourcesResult",
    "ReadResourceRequestParams",
    "ReadResourceResult",
    "ResourceUpdatedNotificationParams",
    "SubscribeRequestParams",
    "UnsubscribeRequestParams",
]


@wire_model
class ListResourcesResult(PaginatedResult, CacheableResult):
    resources: list[Resource]
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
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
class ReadResourceResult(CacheableResult):
    contents: list[TextResourceContents | BlobResourceContents]
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class SubscribeRequestParams(RequestParams):
    uri: str


@wire_model
class UnsubscribeRequestParams(RequestParams):
    uri: str


@wire_model
class ResourceUpdatedNotificationParams(NotificationParams):
    uri: str
    """The resource, or a part of the one that is watched."""
