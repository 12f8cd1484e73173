"""Listening for changes, 2026-07-28."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._base import WireModel, wire_field, wire_model
from ._common import Notification, NotificationParams, Request, RequestParams, Result

if TYPE_CHECKING:
    from ._literals import ResultType

__all__ = [
    "SubscriptionFilter",
    "SubscriptionsAcknowledgedNotification",
    "SubscriptionsAcknowledgedNotificationParams",
    "SubscriptionsListenRequest",
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
class SubscriptionsListenRequest(
    Request[SubscriptionsListenRequestParams, Literal["subscriptions/listen"]]
):
    method: Literal["subscriptions/listen"] = wire_field(
        default="subscriptions/listen", always=True
    )
    params: SubscriptionsListenRequestParams


@wire_model
class SubscriptionsAcknowledgedNotificationParams(NotificationParams):
    notifications: SubscriptionFilter
    """The part of what was asked for that the server will tell."""


@wire_model
class SubscriptionsAcknowledgedNotification(
    Notification[
        SubscriptionsAcknowledgedNotificationParams,
        Literal["notifications/subscriptions/acknowledged"],
    ]
):
    method: Literal["notifications/subscriptions/acknowledged"] = wire_field(
        default="notifications/subscriptions/acknowledged", always=True
    )
    params: SubscriptionsAcknowledgedNotificationParams


@wire_model
class SubscriptionsListenResult(Result):
    """The end of a subscription, as the server wished it."""

    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )
