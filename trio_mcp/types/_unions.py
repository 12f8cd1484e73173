"""Unions of all requests, notifications and results, by their sender.

They are of all revisions together; the method table says which revision has what.
"""

from __future__ import annotations

from typing import TypeAlias

from ._common import EmptyResult
from ._completion import CompleteResult
from ._elicitation import ElicitCompleteNotification, ElicitRequest, ElicitResult
from ._input_required import InputRequiredResult
from ._lifecycle import DiscoverResult, InitializeResult
from ._notifications import (
    CancelledNotification,
    InitializedNotification,
    LoggingMessageNotification,
    ProgressNotification,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    SubscriptionsAcknowledgedNotification,
    ToolListChangedNotification,
)
from ._prompts import GetPromptResult, ListPromptsResult
from ._requests import (
    CallToolRequest,
    CompleteRequest,
    DiscoverRequest,
    GetPromptRequest,
    InitializeRequest,
    ListPromptsRequest,
    ListResourcesRequest,
    ListResourceTemplatesRequest,
    ListToolsRequest,
    PingRequest,
    ReadResourceRequest,
    SetLevelRequest,
    SubscribeRequest,
    SubscriptionsListenRequest,
    UnsubscribeRequest,
)
from ._resource_requests import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
)
from ._roots import ListRootsRequest, ListRootsResult, RootsListChangedNotification
from ._sampling import CreateMessageRequest, CreateMessageResult, CreateMessageResultWithTools
from ._subscriptions import SubscriptionsListenResult
from ._tools import CallToolResult, ListToolsResult

__all__ = [
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
]

# The tasks of 2025-11-25 are in none of these.

ClientRequest: TypeAlias = (
    PingRequest
    | InitializeRequest
    | CompleteRequest
    | SetLevelRequest
    | GetPromptRequest
    | ListPromptsRequest
    | ListResourcesRequest
    | ListResourceTemplatesRequest
    | ReadResourceRequest
    | SubscribeRequest
    | UnsubscribeRequest
    | CallToolRequest
    | ListToolsRequest
    | DiscoverRequest
    | SubscriptionsListenRequest
)
"""What a client asks."""

ClientNotification: TypeAlias = (
    CancelledNotification
    | ProgressNotification
    | InitializedNotification
    | RootsListChangedNotification
)
"""What a client tells."""

ClientResult: TypeAlias = (
    EmptyResult
    | CreateMessageResult
    | CreateMessageResultWithTools
    | ListRootsResult
    | ElicitResult
)
"""What a client answers."""

ServerRequest: TypeAlias = PingRequest | CreateMessageRequest | ListRootsRequest | ElicitRequest
"""What a server asks; before 2026-07-28 as a request of its own."""

ServerNotification: TypeAlias = (
    CancelledNotification
    | ProgressNotification
    | LoggingMessageNotification
    | ResourceUpdatedNotification
    | ResourceListChangedNotification
    | ToolListChangedNotification
    | PromptListChangedNotification
    | ElicitCompleteNotification
    | SubscriptionsAcknowledgedNotification
)
"""What a server tells."""

ServerResult: TypeAlias = (
    EmptyResult
    | InitializeResult
    | DiscoverResult
    | CompleteResult
    | GetPromptResult
    | ListPromptsResult
    | ListResourcesResult
    | ListResourceTemplatesResult
    | ReadResourceResult
    | CallToolResult
    | ListToolsResult
    | SubscriptionsListenResult
    | InputRequiredResult
)
"""What a server answers."""
