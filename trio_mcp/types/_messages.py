"""The bases of requests and notifications as whole objects: a method with its params."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from ._base import WireModel, wire_model
from ._common import NotificationParams, PaginatedRequestParams, RequestParams

__all__ = ["Notification", "PaginatedRequest", "Request"]


RequestParamsT = TypeVar("RequestParamsT", bound=RequestParams | dict[str, Any] | None)
NotificationParamsT = TypeVar(
    "NotificationParamsT", bound=NotificationParams | dict[str, Any] | None
)
MethodT = TypeVar("MethodT", bound=str)


@wire_model
class Request(WireModel, Generic[RequestParamsT, MethodT]):
    """A method with its params. Who sends it adds ``jsonrpc`` and ``id``."""

    name_param: ClassVar[str | None] = None
    """The member of the params that HTTP repeats in the header ``Mcp-Name``, if any."""

    method: MethodT
    params: RequestParamsT


@wire_model
class PaginatedRequest(Request[PaginatedRequestParams | None, MethodT], Generic[MethodT]):
    """Asks for one page of a list."""

    params: PaginatedRequestParams | None = None


@wire_model
class Notification(WireModel, Generic[NotificationParamsT, MethodT]):
    """A method with its params, which is not answered."""

    method: MethodT
    params: NotificationParamsT
