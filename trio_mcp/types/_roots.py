"""Roots: where in the file system a server may work."""

from __future__ import annotations

from typing import ClassVar, Literal

from ._base import JsonObject, WireModel, wire_field, wire_model
from ._common import NotificationParams, RequestParams, Result
from ._messages import Notification, Request

__all__ = ["ListRootsRequest", "ListRootsResult", "Root", "RootsListChangedNotification"]


@wire_model
class Root(WireModel):
    uri: str
    """A ``file://`` URI."""
    name: str | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")


@wire_model
class ListRootsRequest(Request[RequestParams | None, Literal["roots/list"]]):
    method: Literal["roots/list"] = wire_field(default="roots/list", always=True)
    params: RequestParams | None = None


@wire_model
class ListRootsResult(Result):
    is_input_response: ClassVar[bool] = True

    roots: list[Root]


@wire_model
class RootsListChangedNotification(
    Notification[NotificationParams | None, Literal["notifications/roots/list_changed"]]
):
    method: Literal["notifications/roots/list_changed"] = wire_field(
        default="notifications/roots/list_changed", always=True
    )
    params: NotificationParams | None = None
