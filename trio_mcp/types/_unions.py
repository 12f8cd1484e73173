"""Unions of all requests, notifications and results, by their sender.

They are of all revisions together; the method table says which revision has what.
"""

from __future__ import annotations

from typing import TypeAlias

from ._common import EmptyResult
from ._completion import CompleteRequest, CompleteResult
from ._elicitation import ElicitCompleteNotification, ElicitRequest, ElicitResult
from ._input_required import InputRequiredResult
from ._lifecycle import (
    DiscoverRequest,
    DiscoverResult,
    InitializedNotification,
    InitializeRequest,
    InitializeResult,
    PingRequest,
)
from ._logging import LoggingMessageNotification, SetLevelRequest
from ._notices import CancelledNotification, ProgressNotification
from ._prompts import (
    GetPromptRequest,
    GetPromptResult,
    ListPromptsRequest,
    ListPromptsResult,
    PromptListChangedNotification,
)
from ._resource_requests import (
    ListResourcesRequest,
    ListResourcesResult,
    ListResourceTemplatesRequest,
    ListResourceTemplatesResult,
    ReadResourceRequest,
    ReadResourceResult,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    SubscribeRequest,
    UnsubscribeRequest,
)
from ._roots import ListRootsRequest, ListRootsResult, RootsListChangedNotification
from ._sampling import CreateMessageRequest, CreateMessageResult, CreateMessageResultWithTools
from ._subscriptions import (
    SubscriptionsAcknowledgedNotification,
    SubscriptionsListenRequest,
    SubscriptionsListenResult,
)
from ._tools import (
    CallToolRequest,
    CallToolResult,
    ListToolsRequest,
    ListToolsResult,
    ToolListChangedNotification,
)

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
