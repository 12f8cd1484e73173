"""What a client asks, as whole objects. Verbs of a client need only the params."""

from __future__ import annotations

from typing import Literal

from ._base import wire_field, wire_model
from ._common import RequestParams
from ._completion import CompleteRequestParams
from ._lifecycle import InitializeRequestParams
from ._logging import SetLevelRequestParams
from ._messages import PaginatedRequest, Request
from ._prompts import GetPromptRequestParams
from ._resource_requests import (
    ReadResourceRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from ._subscriptions import SubscriptionsListenRequestParams
from ._tools import CallToolRequestParams

__all__ = [
    "CallToolRequest",
    "CompleteRequest",
    "DiscoverRequest",
    "GetPromptRequest",
    "InitializeRequest",
    "ListPromptsRequest",
    "ListResourceTemplatesRequest",
    "ListResourcesRequest",
    "ListToolsRequest",
    "PingRequest",
    "ReadResourceRequest",
    "SetLevelRequest",
    "SubscribeRequest",
    "SubscriptionsListenRequest",
    "UnsubscribeRequest",
]


@wire_model
class ListToolsRequest(PaginatedRequest[Literal["tools/list"]]):
    method: Literal["tools/list"] = wire_field(default="tools/list", always=True)


@wire_model
class CallToolRequest(Request[CallToolRequestParams, Literal["tools/call"]]):
    name_param = "name"

    method: Literal["tools/call"] = wire_field(default="tools/call", always=True)
    params: CallToolRequestParams


@wire_model
class InitializeRequest(Request[InitializeRequestParams, Literal["initialize"]]):
    """Opens a session, older era."""

    method: Literal["initialize"] = wire_field(default="initialize", always=True)
    params: InitializeRequestParams


@wire_model
class DiscoverRequest(Request[RequestParams | None, Literal["server/discover"]]):
    """Asks a server for its revisions and capabilities, 2026-07-28."""

    method: Literal["server/discover"] = wire_field(default="server/discover", always=True)
    params: RequestParams | None = None


@wire_model
class PingRequest(Request[RequestParams | None, Literal["ping"]]):
    """Asks whether the other side is there, older era."""

    method: Literal["ping"] = wire_field(default="ping", always=True)
    params: RequestParams | None = None


@wire_model
class SetLevelRequest(Request[SetLevelRequestParams, Literal["logging/setLevel"]]):
    """Sets the level of a session, older era."""

    method: Literal["logging/setLevel"] = wire_field(default="logging/setLevel", always=True)
    params: SetLevelRequestParams


@wire_model
class SubscriptionsListenRequest(
    Request[SubscriptionsListenRequestParams, Literal["subscriptions/listen"]]
):
    method: Literal["subscriptions/listen"] = wire_field(
        default="subscriptions/listen", always=True
    )
    params: SubscriptionsListenRequestParams


@wire_model
class ListPromptsRequest(PaginatedRequest[Literal["prompts/list"]]):
    method: Literal["prompts/list"] = wire_field(default="prompts/list", always=True)


@wire_model
class GetPromptRequest(Request[GetPromptRequestParams, Literal["prompts/get"]]):
    name_param = "name"

    method: Literal["prompts/get"] = wire_field(default="prompts/get", always=True)
    params: GetPromptRequestParams


@wire_model
class ListResourcesRequest(PaginatedRequest[Literal["resources/list"]]):
    method: Literal["resources/list"] = wire_field(default="resources/list", always=True)


@wire_model
class ListResourceTemplatesRequest(PaginatedRequest[Literal["resources/templates/list"]]):
    method: Literal["resources/templates/list"] = wire_field(
        default="resources/templates/list", always=True
    )


@wire_model
class ReadResourceRequest(Request[ReadResourceRequestParams, Literal["resources/read"]]):
    name_param = "uri"

    method: Literal["resources/read"] = wire_field(default="resources/read", always=True)
    params: ReadResourceRequestParams


@wire_model
class SubscribeRequest(Request[SubscribeRequestParams, Literal["resources/subscribe"]]):
    """Asks to be told of changes, older era."""

    method: Literal["resources/subscribe"] = wire_field(default="resources/subscribe", always=True)
    params: SubscribeRequestParams


@wire_model
class UnsubscribeRequest(Request[UnsubscribeRequestParams, Literal["resources/unsubscribe"]]):
    method: Literal["resources/unsubscribe"] = wire_field(
        default="resources/unsubscribe", always=True
    )
    params: UnsubscribeRequestParams


@wire_model
class CompleteRequest(Request[CompleteRequestParams, Literal["completion/complete"]]):
    method: Literal["completion/complete"] = wire_field(default="completion/complete", always=True)
    params: CompleteRequestParams
