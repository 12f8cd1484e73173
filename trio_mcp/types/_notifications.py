"""What is told, as whole objects. Who tells or hears it needs only the params."""

from __future__ import annotations

from typing import Literal

from ._base import wire_field, wire_model
from ._common import NotificationParams
from ._logging import LoggingMessageNotificationParams
from ._messages import Notification
from ._notices import CancelledNotificationParams, ProgressNotificationParams
from ._resource_requests import ResourceUpdatedNotificationParams
from ._subscriptions import SubscriptionsAcknowledgedNotificationParams

__all__ = [
    "CancelledNotification",
    "InitializedNotification",
    "LoggingMessageNotification",
    "ProgressNotification",
    "PromptListChangedNotification",
    "ResourceListChangedNotification",
    "ResourceUpdatedNotification",
    "SubscriptionsAcknowledgedNotification",
    "ToolListChangedNotification",
]


@wire_model
class ToolListChangedNotification(
    Notification[NotificationParams | None, Literal["notifications/tools/list_changed"]]
):
    method: Literal["notifications/tools/list_changed"] = wire_field(
        default="notifications/tools/list_changed", always=True
    )
    params: NotificationParams | None = None


@wire_model
class InitializedNotification(
    Notification[NotificationParams | None, Literal["notifications/initialized"]]
):
    method: Literal["notifications/initialized"] = wire_field(
        default="notifications/initialized", always=True
    )
    params: NotificationParams | None = None


@wire_model
class LoggingMessageNotification(
    Notification[LoggingMessageNotificationParams, Literal["notifications/message"]]
):
    method: Literal["notifications/message"] = wire_field(
        default="notifications/message", always=True
    )
    params: LoggingMessageNotificationParams


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
class PromptListChangedNotification(
    Notification[NotificationParams | None, Literal["notifications/prompts/list_changed"]]
):
    method: Literal["notifications/prompts/list_changed"] = wire_field(
        default="notifications/prompts/list_changed", always=True
    )
    params: NotificationParams | None = None


@wire_model
class ResourceListChangedNotification(
    Notification[NotificationParams | None, Literal["notifications/resources/list_changed"]]
):
    method: Literal["notifications/resources/list_changed"] = wire_field(
        default="notifications/resources/list_changed", always=True
    )
    params: NotificationParams | None = None


@wire_model
class ResourceUpdatedNotification(
    Notification[ResourceUpdatedNotificationParams, Literal["notifications/resources/updated"]]
):
    method: Literal["notifications/resources/updated"] = wire_field(
        default="notifications/resources/updated", always=True
    )
    params: ResourceUpdatedNotificationParams


@wire_model
class CancelledNotification(
    Notification[CancelledNotificationParams, Literal["notifications/cancelled"]]
):
    method: Literal["notifications/cancelled"] = wire_field(
        default="notifications/cancelled", always=True
    )
    params: CancelledNotificationParams


@wire_model
class ProgressNotification(
    Notification[ProgressNotificationParams, Literal["notifications/progress"]]
):
    method: Literal["notifications/progress"] = wire_field(
        default="notifications/progress", always=True
    )
    params: ProgressNotificationParams
