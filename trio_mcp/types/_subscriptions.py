"""Listening for changes, 2026-07-28."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import WireModel, wire_field, wire_model
from ._common import NotificationParams, RequestParams, Result

if TYPE_CHECKING:
    from ._literals import ResultType

__all__ = [
    "SubscriptionFilter",
    "SubscriptionsAcknowledgedNotificationParams",
    "SubscriptionsListenRequestParams",
    "SubscriptionsListenResult",
]


@wire_model
class SubscriptionFilter(WireModel):
    """Which changes to tell; what is absent or False is not told."""

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: list[str] | None = None
    """URIs."""


@wire_model
class SubscriptionsListenRequestParams(RequestParams):
    notifications: SubscriptionFilter


@wire_model
class SubscriptionsAcknowledgedNotificationParams(NotificationParams):
    notifications: SubscriptionFilter
    """The part of what was asked for that the server will tell."""


@wire_model
class SubscriptionsListenResult(Result):
    """The end of a subscription, as the server wished it."""

    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )
