"""Progress and cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import wire_field, wire_model
from ._common import NotificationParams

if TYPE_CHECKING:
    from ._literals import ProgressToken, RequestId

__all__ = [
    "CancelledNotificationParams",
    "ProgressNotificationParams",
]


@wire_model
class CancelledNotificationParams(NotificationParams):
    request_id: RequestId | None = wire_field(
        default=None, required=("2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28")
    )
    """Which request; 2025-11-25 alone lets it be absent."""
    reason: str | None = None


@wire_model
class ProgressNotificationParams(NotificationParams):
    progress_token: ProgressToken
    progress: float
    """Rises from notification to notification."""
    total: float | None = None
    message: str | None = wire_field(default=None, since="2025-03-26")
