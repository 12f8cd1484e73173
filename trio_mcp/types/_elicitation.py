"""Elicitation: a server asks the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from ._base import wire_field, wire_model
from ._common import NotificationParams, RequestParams, Result
from ._messages import Notification, Request

if TYPE_CHECKING:
    from ._literals import ElicitRequestedSchema
    from ._tasks import TaskMetadata

__all__ = [
    "ElicitCompleteNotification",
    "ElicitCompleteNotificationParams",
    "ElicitRequest",
    "ElicitRequestFormParams",
    "ElicitRequestParams",
    "ElicitRequestURLParams",
    "ElicitResult",
]


@wire_model
class ElicitRequestFormParams(RequestParams):
    """Ask by a form."""

    mode: Literal["form"] = wire_field(default="form", since="2025-11-25", always=True)
    message: str
    requested_schema: ElicitRequestedSchema
    """At 2025-06-18 titled choices are sent as ``enumNames``, and defaults only where they
    exist; multiple choice cannot be asked for."""
    task: TaskMetadata | None = wire_field(default=None, since="2025-11-25", until="2026-07-28")


@wire_model(since="2025-11-25")
class ElicitRequestURLParams(RequestParams):
    """Ask to visit a URL, where secrets may be told."""

    mode: Literal["url"] = wire_field(default="url", always=True)
    message: str
    url: str
    elicitation_id: str | None = wire_field(
        default=None, since="2025-11-25", until="2026-07-28", required=("2025-11-25",)
    )
    task: TaskMetadata | None = wire_field(default=None, since="2025-11-25", until="2026-07-28")


ElicitRequestParams: TypeAlias = ElicitRequestURLParams | ElicitRequestFormParams
"""Told apart by `mode`; without one it is a form."""


@wire_model
class ElicitRequest(Request[ElicitRequestParams, Literal["elicitation/create"]]):
    method: Literal["elicitation/create"] = wire_field(default="elicitation/create", always=True)
    params: ElicitRequestParams


@wire_model
class ElicitResult(Result):
    is_input_response: ClassVar[bool] = True

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, str | int | float | bool | list[str] | None] | None = None
    """What was filled in, when a form was accepted. Values that are None are not sent."""


@wire_model
class ElicitCompleteNotificationParams(NotificationParams):
    elicitation_id: str


@wire_model
class ElicitCompleteNotification(
    Notification[ElicitCompleteNotificationParams, Literal["notifications/elicitation/complete"]]
):
    """The user is done at the URL, 2025-11-25."""

    method: Literal["notifications/elicitation/complete"] = wire_field(
        default="notifications/elicitation/complete", always=True
    )
    params: ElicitCompleteNotificationParams
