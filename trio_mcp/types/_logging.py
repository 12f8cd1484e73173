"""Log messages, and the level of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._base import wire_field, wire_model
from ._common import Notification, NotificationParams, Request, RequestParams

if TYPE_CHECKING:
    from ._literals import LoggingLevel

__all__ = [
    "LoggingMessageNotification",
    "LoggingMessageNotificationParams",
    "SetLevelRequest",
    "SetLevelRequestParams",
]


@wire_model
class SetLevelRequestParams(RequestParams):
    level: LoggingLevel
    """Send this one and worse."""


@wire_model
class SetLevelRequest(Request[SetLevelRequestParams, Literal["logging/setLevel"]]):
    """Sets the level of a session, older era."""

    method: Literal["logging/setLevel"] = wire_field(default="logging/setLevel", always=True)
    params: SetLevelRequestParams


@wire_model
class LoggingMessageNotificationParams(NotificationParams):
    level: LoggingLevel
    logger: str | None = None
    data: Any
    """Any JSON value."""


@wire_model
class LoggingMessageNotification(
    Notification[LoggingMessageNotificationParams, Literal["notifications/message"]]
):
    method: Literal["notifications/message"] = wire_field(
        default="notifications/message", always=True
    )
    params: LoggingMessageNotificationParams
