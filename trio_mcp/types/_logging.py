"""Log messages, and the level of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base import wire_model
from ._common import NotificationParams, RequestParams

if TYPE_CHECKING:
    from ._literals import LoggingLevel

__all__ = [
    "LoggingMessageNotificationParams",
    "SetLevelRequestParams",
]


@wire_model
class SetLevelRequestParams(RequestParams):
    level: LoggingLevel
    """Send this one and worse."""


@wire_model
class LoggingMessageNotificationParams(NotificationParams):
    level: LoggingLevel
    logger: str | None = None
    data: Any
    """Any JSON value."""
