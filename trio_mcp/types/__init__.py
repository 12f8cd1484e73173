"""Everything that travels, as plain values.

One set of classes serves all revisions of the protocol. They are frozen and take keyword
arguments; attributes are in snake_case, ``_meta`` is `meta`, and members that nobody knows are
in `extra`. What a revision lacks is not written when that revision is spoken.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from ._base import JsonObject as JsonObject
    from ._base import JsonValue as JsonValue
    from ._base import WireModel as WireModel
    from ._base import wire_field as wire_field
    from ._base import wire_model as wire_model
    from ._client_capabilities import ClientCapabilities as ClientCapabilities
    from ._client_capabilities import ElicitationCapability as ElicitationCapability
    from ._client_capabilities import FormElicitationCapability as FormElicitationCapability
    from ._client_capabilities import RootsCapability as RootsCapability
    from ._client_capabilities import SamplingCapability as SamplingCapability
    from ._client_capabilities import SamplingContextCapability as SamplingContextCapability
    from ._client_capabilities import SamplingToolsCapability as SamplingToolsCapability
    from ._client_capabilities import UrlElicitationCapability as UrlElicitationCapability
    from ._common import BaseMetadata as BaseMetadata
    from ._common import CacheableResult as CacheableResult
    from ._common import EmptyResult as EmptyResult
    from ._common import InputResponseRequestParams as InputResponseRequestParams
    from ._common import NotificationParams as NotificationParams
    from ._common import PaginatedRequestParams as PaginatedRequestParams
    from ._common import PaginatedResult as PaginatedResult
    from ._common import RequestParams as RequestParams
    from ._common import RequestParamsMeta as RequestParamsMeta
    from ._common import Result as Result
    from ._completion import CompleteRequestParams as CompleteRequestParams
    from ._completion import CompleteResult as CompleteResult
    from ._completion import Completion as Completion
    from ._completion import CompletionArgument as CompletionArgument
    from ._completion import CompletionContext as CompletionContext
    from ._constants import AUTHORIZATION_FAILED as AUTHORIZATION_FAILED
    from ._constants import CLIENT_CAPABILITIES_META_KEY as CLIENT_CAPABILITIES_META_KEY
    from ._constants import CLIENT_INFO_META_KEY as CLIENT_INFO_META_KEY
    from ._constants import CONNECTION_CLOSED as CONNECTION_CLOSED
    from ._constants import CORE_RESULT_TYPES as CORE_RESULT_TYPES
    from ._constants import DEFAULT_NEGOTIATED_VERSION as DEFAULT_NEGOTIATED_VERSION
    from ._constants import HEADER_MISMATCH as HEADER_MISMATCH
    from ._constants import INSUFFICIENT_SCOPE as INSUFFICIENT_SCOPE
    from ._constants import INTERNAL_ERROR as INTERNAL_ERROR
    from ._constants import INVALID_PARAMS as INVALID_PARAMS
    from ._constants import INVALID_REQUEST as INVALID_REQUEST
    from ._constants import JSONRPC_VERSION as JSONRPC_VERSION
    from ._constants import LOG_LEVEL_META_KEY as LOG_LEVEL_META_KEY
    from ._constants import METHOD_NOT_FOUND as METHOD_NOT_FOUND
    from ._constants import (
        MISSING_REQUIRED_CLIENT_CAPABILITY as MISSING_REQUIRED_CLIENT_CAPABILITY,
    )
    from ._constants import PARSE_ERROR as PARSE_ERROR
    from ._constants import PROTOCOL_VERSION_META_KEY as PROTOCOL_VERSION_META_KEY
    from ._constants import RELATED_TASK_META_KEY as RELATED_TASK_META_KEY
    from ._constants import REQUEST_TIMEOUT as REQUEST_TIMEOUT
    from ._constants import RESOURCE_NOT_FOUND as RESOURCE_NOT_FOUND
    from ._constants import SERVER_BUSY as SERVER_BUSY
    from ._constants import SERVER_INFO_META_KEY as SERVER_INFO_META_KEY
    from ._constants import SUBSCRIPTION_ID_META_KEY as SUBSCRIPTION_ID_META_KEY
    from ._constants import UNSUPPORTED_PROTOCOL_VERSION as UNSUPPORTED_PROTOCOL_VERSION
    from ._constants import URL_ELICITATION_REQUIRED as URL_ELICITATION_REQUIRED
    from ._content import Annotations as Annotations
    from ._content import AudioContent as AudioContent
    from ._content import ImageContent as ImageContent
    from ._content import TextContent as TextContent
    from ._content_block import ContentBlock as ContentBlock
    from ._elicitation import ElicitCompleteNotification as ElicitCompleteNotification
    from ._elicitation import ElicitCompleteNotificationParams as ElicitCompleteNotificationParams
    from ._elicitation import ElicitRequest as ElicitRequest
    from ._elicitation import ElicitRequestFormParams as ElicitRequestFormParams
    from ._elicitation import ElicitRequestParams as ElicitRequestParams
    from ._elicitation import ElicitRequestURLParams as ElicitRequestURLParams
    from ._elicitation import ElicitResult as ElicitResult
    from ._error_data import ElicitationRequiredErrorData as ElicitationRequiredErrorData
    from ._error_data import (
        MissingRequiredClientCapabilityErrorData as MissingRequiredClientCapabilityErrorData,
    )
    from ._error_data import (
        UnsupportedProtocolVersionErrorData as UnsupportedProtocolVersionErrorData,
    )
    from ._icons import Icon as Icon
    from ._icons import Implementation as Implementation
    from ._input import InputRequest as InputRequest
    from ._input import InputRequests as InputRequests
    from ._input import InputResponse as InputResponse
    from ._input import InputResponses as InputResponses
    from ._input_required import InputRequiredResult as InputRequiredResult
    from ._lifecycle import DiscoverResult as DiscoverResult
    from ._lifecycle import InitializeRequestParams as InitializeRequestParams
    from ._lifecycle import InitializeResult as InitializeResult
    from ._literals import ElicitRequestedSchema as ElicitRequestedSchema
    from ._literals import IconTheme as IconTheme
    from ._literals import IncludeContext as IncludeContext
    from ._literals import LoggingLevel as LoggingLevel
    from ._literals import ProgressToken as ProgressToken
    from ._literals import RequestId as RequestId
    from ._literals import ResultType as ResultType
    from ._literals import Role as Role
    from ._literals import SamplingRole as SamplingRole
    from ._literals import StopReason as StopReason
    from ._literals import TaskStatus as TaskStatus
    from ._logging import LoggingMessageNotificationParams as LoggingMessageNotificationParams
    from ._logging import SetLevelRequestParams as SetLevelRequestParams
    from ._messages import Notification as Notification
    from ._messages import PaginatedRequest as PaginatedRequest
    from ._messages import Request as Request
    from ._methods import METHODS as METHODS
    from ._methods import Method as Method
    from ._methods import Side as Side
    from ._notices import CancelledNotificationParams as CancelledNotificationParams
    from ._notices import ProgressNotificationParams as ProgressNotificationParams
    from ._notifications import CancelledNotification as CancelledNotification
    from ._notifications import InitializedNotification as InitializedNotification
    from ._notifications import LoggingMessageNotification as LoggingMessageNotification
    from ._notifications import ProgressNotification as ProgressNotification
    from ._notifications import PromptListChangedNotification as PromptListChangedNotification
    from ._notifications import (
        ResourceListChangedNotification as ResourceListChangedNotification,
    )
    from ._notifications import ResourceUpdatedNotification as ResourceUpdatedNotification
    from ._notifications import (
        SubscriptionsAcknowledgedNotification as SubscriptionsAcknowledgedNotification,
    )
    from ._notifications import ToolListChangedNotification as ToolListChangedNotification
    from ._prompts import GetPromptRequestParams as GetPromptRequestParams
    from ._prompts import GetPromptResult as GetPromptResult
    from ._prompts import ListPromptsResult as ListPromptsResult
    from ._prompts import Prompt as Prompt
    from ._prompts import PromptArgument as PromptArgument
    from ._prompts import PromptMessage as PromptMessage
    from ._prompts import PromptReference as PromptReference
    from ._requests import CallToolRequest as CallToolRequest
    from ._requests import CompleteRequest as CompleteRequest
    from ._requests import DiscoverRequest as DiscoverRequest
    from ._requests import GetPromptRequest as GetPromptRequest
    from ._requests import InitializeRequest as InitializeRequest
    from ._requests import ListPromptsRequest as ListPromptsRequest
    from ._requests import ListResourcesRequest as ListResourcesRequest
    from ._requests import ListResourceTemplatesRequest as ListResourceTemplatesRequest
    from ._requests import ListToolsRequest as ListToolsRequest
    from ._requests import PingRequest as PingRequest
    from ._requests import ReadResourceRequest as ReadResourceRequest
    from ._requests import SetLevelRequest as SetLevelRequest
    from ._requests import SubscribeRequest as SubscribeRequest
    from ._requests import SubscriptionsListenRequest as SubscriptionsListenRequest
    from ._requests import UnsubscribeRequest as UnsubscribeRequest
    from ._resource_contents import BlobResourceContents as BlobResourceContents
    from ._resource_contents import EmbeddedResource as EmbeddedResource
    from ._resource_contents import ResourceContents as ResourceContents
    from ._resource_contents import TextResourceContents as TextResourceContents
    from ._resource_requests import ListResourcesResult as ListResourcesResult
    from ._resource_requests import ListResourceTemplatesResult as ListResourceTemplatesResult
    from ._resource_requests import ReadResourceRequestParams as ReadResourceRequestParams
    from ._resource_requests import ReadResourceResult as ReadResourceResult
    from ._resource_requests import (
        ResourceUpdatedNotificationParams as ResourceUpdatedNotificationParams,
    )
    from ._resource_requests import SubscribeRequestParams as SubscribeRequestParams
    from ._resource_requests import UnsubscribeRequestParams as UnsubscribeRequestParams
    from ._resources import Resource as Resource
    from ._resources import ResourceLink as ResourceLink
    from ._resources import ResourceTemplate as ResourceTemplate
    from ._resources import ResourceTemplateReference as ResourceTemplateReference
    from ._revisions import HANDSHAKE_PROTOCOL_VERSIONS as HANDSHAKE_PROTOCOL_VERSIONS
    from ._revisions import KNOWN_PROTOCOL_VERSIONS as KNOWN_PROTOCOL_VERSIONS
    from ._revisions import KNOWN_REVISIONS as KNOWN_REVISIONS
    from ._revisions import LATEST_HANDSHAKE as LATEST_HANDSHAKE
    from ._revisions import LATEST_HANDSHAKE_VERSION as LATEST_HANDSHAKE_VERSION
    from ._revisions import LATEST_MODERN as LATEST_MODERN
    from ._revisions import LATEST_MODERN_VERSION as LATEST_MODERN_VERSION
    from ._revisions import LATEST_PROTOCOL_VERSION as LATEST_PROTOCOL_VERSION
    from ._revisions import MODERN_PROTOCOL_VERSIONS as MODERN_PROTOCOL_VERSIONS
    from ._revisions import OLDEST_SUPPORTED_VERSION as OLDEST_SUPPORTED_VERSION
    from ._revisions import SUPPORTED_PROTOCOL_VERSIONS as SUPPORTED_PROTOCOL_VERSIONS
    from ._revisions import Revision as Revision
    from ._revisions import is_version_at_least as is_version_at_least
    from ._revisions import revision_for as revision_for
    from ._roots import ListRootsRequest as ListRootsRequest
    from ._roots import ListRootsResult as ListRootsResult
    from ._roots import Root as Root
    from ._roots import RootsListChangedNotification as RootsListChangedNotification
    from ._sampling import CreateMessageRequest as CreateMessageRequest
    from ._sampling import CreateMessageRequestParams as CreateMessageRequestParams
    from ._sampling import CreateMessageResult as CreateMessageResult
    from ._sampling import CreateMessageResultWithTools as CreateMessageResultWithTools
    from ._sampling import ModelHint as ModelHint
    from ._sampling import ModelPreferences as ModelPreferences
    from ._sampling import SamplingContent as SamplingContent
    from ._sampling import SamplingMessage as SamplingMessage
    from ._sampling import SamplingMessageContentBlock as SamplingMessageContentBlock
    from ._sampling import ToolChoice as ToolChoice
    from ._sampling import ToolResultContent as ToolResultContent
    from ._sampling import ToolUseContent as ToolUseContent
    from ._server_capabilities import CompletionsCapability as CompletionsCapability
    from ._server_capabilities import LoggingCapability as LoggingCapability
    from ._server_capabilities import PromptsCapability as PromptsCapability
    from ._server_capabilities import ResourcesCapability as ResourcesCapability
    from ._server_capabilities import ServerCapabilities as ServerCapabilities
    from ._server_capabilities import ToolsCapability as ToolsCapability
    from ._subscriptions import SubscriptionFilter as SubscriptionFilter
    from ._subscriptions import (
        SubscriptionsAcknowledgedNotificationParams as SubscriptionsAcknowledgedNotificationParams,
    )
    from ._subscriptions import (
        SubscriptionsListenRequestParams as SubscriptionsListenRequestParams,
    )
    from ._subscriptions import SubscriptionsListenResult as SubscriptionsListenResult
    from ._task_capabilities import ClientTasksCapability as ClientTasksCapability
    from ._task_capabilities import ClientTasksRequestsCapability as ClientTasksRequestsCapability
    from ._task_capabilities import ServerTasksCapability as ServerTasksCapability
    from ._task_capabilities import ServerTasksRequestsCapability as ServerTasksRequestsCapability
    from ._task_capabilities import TasksCallCapability as TasksCallCapability
    from ._task_capabilities import TasksCancelCapability as TasksCancelCapability
    from ._task_capabilities import (
        TasksCreateElicitationCapability as TasksCreateElicitationCapability,
    )
    from ._task_capabilities import TasksCreateMessageCapability as TasksCreateMessageCapability
    from ._task_capabilities import TasksElicitationCapability as TasksElicitationCapability
    from ._task_capabilities import TasksListCapability as TasksListCapability
    from ._task_capabilities import TasksSamplingCapability as TasksSamplingCapability
    from ._task_capabilities import TasksToolsCapability as TasksToolsCapability
    from ._tasks import CancelTaskRequest as CancelTaskRequest
    from ._tasks import CancelTaskRequestParams as CancelTaskRequestParams
    from ._tasks import CancelTaskResult as CancelTaskResult
    from ._tasks import CreateTaskResult as CreateTaskResult
    from ._tasks import GetTaskPayloadRequest as GetTaskPayloadRequest
    from ._tasks import GetTaskPayloadRequestParams as GetTaskPayloadRequestParams
    from ._tasks import GetTaskPayloadResult as GetTaskPayloadResult
    from ._tasks import GetTaskRequest as GetTaskRequest
    from ._tasks import GetTaskRequestParams as GetTaskRequestParams
    from ._tasks import GetTaskResult as GetTaskResult
    from ._tasks import ListTasksRequest as ListTasksRequest
    from ._tasks import ListTasksResult as ListTasksResult
    from ._tasks import RelatedTaskMetadata as RelatedTaskMetadata
    from ._tasks import Task as Task
    from ._tasks import TaskMetadata as TaskMetadata
    from ._tasks import TaskStatusNotification as TaskStatusNotification
    from ._tasks import TaskStatusNotificationParams as TaskStatusNotificationParams
    from ._tools import CallToolRequestParams as CallToolRequestParams
    from ._tools import CallToolResult as CallToolResult
    from ._tools import ListToolsResult as ListToolsResult
    from ._tools import Tool as Tool
    from ._tools import ToolAnnotations as ToolAnnotations
    from ._tools import ToolExecution as ToolExecution
    from ._unions import ClientNotification as ClientNotification
    from ._unions import ClientRequest as ClientRequest
    from ._unions import ClientResult as ClientResult
    from ._unions import ServerNotification as ServerNotification
    from ._unions import ServerRequest as ServerRequest
    from ._unions import ServerResult as ServerResult
    from .jsonrpc import ErrorData as ErrorData
    from .jsonrpc import JSONRPCError as JSONRPCError
    from .jsonrpc import JSONRPCMessage as JSONRPCMessage
    from .jsonrpc import JSONRPCNotification as JSONRPCNotification
    from .jsonrpc import JSONRPCRequest as JSONRPCRequest
    from .jsonrpc import JSONRPCResponse as JSONRPCResponse
__all__ = [
    "AUTHORIZATION_FAILED",
    "CLIENT_CAPABILITIES_META_KEY",
    "CLIENT_INFO_META_KEY",
    "CONNECTION_CLOSED",
    "CORE_RESULT_TYPES",
    "DEFAULT_NEGOTIATED_VERSION",
    "HANDSHAKE_PROTOCOL_VERSIONS",
    "HEADER_MISMATCH",
    "INSUFFICIENT_SCOPE",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "JSONRPC_VERSION",
    "KNOWN_PROTOCOL_VERSIONS",
    "KNOWN_REVISIONS",
    "LATEST_HANDSHAKE",
    "LATEST_HANDSHAKE_VERSION",
    "LATEST_MODERN",
    "LATEST_MODERN_VERSION",
    "LATEST_PROTOCOL_VERSION",
    "LOG_LEVEL_META_KEY",
    "METHODS",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "MODERN_PROTOCOL_VERSIONS",
    "OLDEST_SUPPORTED_VERSION",
    "PARSE_ERROR",
    "PROTOCOL_VERSION_META_KEY",
    "RELATED_TASK_META_KEY",
    "REQUEST_TIMEOUT",
    "RESOURCE_NOT_FOUND",
    "SERVER_BUSY",
    "SERVER_INFO_META_KEY",
    "SUBSCRIPTION_ID_META_KEY",
    "SUPPORTED_PROTOCOL_VERSIONS",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "URL_ELICITATION_REQUIRED",
    "Annotations",
    "AudioContent",
    "BaseMetadata",
    "BlobResourceContents",
    "CacheableResult",
    "CallToolRequest",
    "CallToolRequestParams",
    "CallToolResult",
    "CancelTaskRequest",
    "CancelTaskRequestParams",
    "CancelTaskResult",
    "CancelledNotification",
    "CancelledNotificationParams",
    "ClientCapabilities",
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "ClientTasksCapability",
    "ClientTasksRequestsCapability",
    "CompleteRequest",
    "CompleteRequestParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "CompletionsCapability",
    "ContentBlock",
    "CreateMessageRequest",
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "CreateMessageResultWithTools",
    "CreateTaskResult",
    "DiscoverRequest",
    "DiscoverResult",
    "ElicitCompleteNotification",
    "ElicitCompleteNotificationParams",
    "ElicitRequest",
    "ElicitRequestFormParams",
    "ElicitRequestParams",
    "ElicitRequestURLParams",
    "ElicitRequestedSchema",
    "ElicitResult",
    "ElicitationCapability",
    "ElicitationRequiredErrorData",
    "EmbeddedResource",
    "EmptyResult",
    "ErrorData",
    "FormElicitationCapability",
    "GetPromptRequest",
    "GetPromptRequestParams",
    "GetPromptResult",
    "GetTaskPayloadRequest",
    "GetTaskPayloadRequestParams",
    "GetTaskPayloadResult",
    "GetTaskRequest",
    "GetTaskRequestParams",
    "GetTaskResult",
    "Icon",
    "IconTheme",
    "ImageContent",
    "Implementation",
    "IncludeContext",
    "InitializeRequest",
    "InitializeRequestParams",
    "InitializeResult",
    "InitializedNotification",
    "InputRequest",
    "InputRequests",
    "InputRequiredResult",
    "InputResponse",
    "InputResponseRequestParams",
    "InputResponses",
    "JSONRPCError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "JsonObject",
    "JsonValue",
    "ListPromptsRequest",
    "ListPromptsResult",
    "ListResourceTemplatesRequest",
    "ListResourceTemplatesResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ListRootsRequest",
    "ListRootsResult",
    "ListTasksRequest",
    "ListTasksResult",
    "ListToolsRequest",
    "ListToolsResult",
    "LoggingCapability",
    "LoggingLevel",
    "LoggingMessageNotification",
    "LoggingMessageNotificationParams",
    "Method",
    "MissingRequiredClientCapabilityErrorData",
    "ModelHint",
    "ModelPreferences",
    "Notification",
    "NotificationParams",
    "PaginatedRequest",
    "PaginatedRequestParams",
    "PaginatedResult",
    "PingRequest",
    "ProgressNotification",
    "ProgressNotificationParams",
    "ProgressToken",
    "Prompt",
    "PromptArgument",
    "PromptListChangedNotification",
    "PromptMessage",
    "PromptReference",
    "PromptsCapability",
    "ReadResourceRequest",
    "ReadResourceRequestParams",
    "ReadResourceResult",
    "RelatedTaskMetadata",
    "Request",
    "RequestId",
    "RequestParams",
    "RequestParamsMeta",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "ResourceListChangedNotification",
    "ResourceTemplate",
    "ResourceTemplateReference",
    "ResourceUpdatedNotification",
    "ResourceUpdatedNotificationParams",
    "ResourcesCapability",
    "Result",
    "ResultType",
    "Revision",
    "Role",
    "Root",
    "RootsCapability",
    "RootsListChangedNotification",
    "SamplingCapability",
    "SamplingContent",
    "SamplingContextCapability",
    "SamplingMessage",
    "SamplingMessageContentBlock",
    "SamplingRole",
    "SamplingToolsCapability",
    "ServerCapabilities",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
    "ServerTasksCapability",
    "ServerTasksRequestsCapability",
    "SetLevelRequest",
    "SetLevelRequestParams",
    "Side",
    "StopReason",
    "SubscribeRequest",
    "SubscribeRequestParams",
    "SubscriptionFilter",
    "SubscriptionsAcknowledgedNotification",
    "SubscriptionsAcknowledgedNotificationParams",
    "SubscriptionsListenRequest",
    "SubscriptionsListenRequestParams",
    "SubscriptionsListenResult",
    "Task",
    "TaskMetadata",
    "TaskStatus",
    "TaskStatusNotification",
    "TaskStatusNotificationParams",
    "TasksCallCapability",
    "TasksCancelCapability",
    "TasksCreateElicitationCapability",
    "TasksCreateMessageCapability",
    "TasksElicitationCapability",
    "TasksListCapability",
    "TasksSamplingCapability",
    "TasksToolsCapability",
    "TextContent",
    "TextResourceContents",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolExecution",
    "ToolListChangedNotification",
    "ToolResultContent",
    "ToolUseContent",
    "ToolsCapability",
    "UnsubscribeRequest",
    "UnsubscribeRequestParams",
    "UnsupportedProtocolVersionErrorData",
    "UrlElicitationCapability",
    "WireModel",
    "is_version_at_least",
    "revision_for",
    "wire_field",
    "wire_model",
]

if not TYPE_CHECKING:
    _HOMES: Final = {
        "_base": (
            "JsonObject",
            "JsonValue",
            "WireModel",
            "wire_field",
            "wire_model",
        ),
        "_client_capabilities": (
            "ClientCapabilities",
            "ElicitationCapability",
            "FormElicitationCapability",
            "RootsCapability",
            "SamplingCapability",
            "SamplingContextCapability",
            "SamplingToolsCapability",
            "UrlElicitationCapability",
        ),
        "_common": (
            "BaseMetadata",
            "CacheableResult",
            "EmptyResult",
            "InputResponseRequestParams",
            "NotificationParams",
            "PaginatedRequestParams",
            "PaginatedResult",
            "RequestParams",
            "RequestParamsMeta",
            "Result",
        ),
        "_completion": (
            "CompleteRequestParams",
            "CompleteResult",
            "Completion",
            "CompletionArgument",
            "CompletionContext",
        ),
        "_constants": (
            "AUTHORIZATION_FAILED",
            "CLIENT_CAPABILITIES_META_KEY",
            "CLIENT_INFO_META_KEY",
            "CONNECTION_CLOSED",
            "CORE_RESULT_TYPES",
            "DEFAULT_NEGOTIATED_VERSION",
            "HEADER_MISMATCH",
            "INSUFFICIENT_SCOPE",
            "INTERNAL_ERROR",
            "INVALID_PARAMS",
            "INVALID_REQUEST",
            "JSONRPC_VERSION",
            "LOG_LEVEL_META_KEY",
            "METHOD_NOT_FOUND",
            "MISSING_REQUIRED_CLIENT_CAPABILITY",
            "PARSE_ERROR",
            "PROTOCOL_VERSION_META_KEY",
            "RELATED_TASK_META_KEY",
            "REQUEST_TIMEOUT",
            "RESOURCE_NOT_FOUND",
            "SERVER_BUSY",
            "SERVER_INFO_META_KEY",
            "SUBSCRIPTION_ID_META_KEY",
            "UNSUPPORTED_PROTOCOL_VERSION",
            "URL_ELICITATION_REQUIRED",
        ),
        "_content": (
            "Annotations",
            "AudioContent",
            "ImageContent",
            "TextContent",
        ),
        "_content_block": ("ContentBlock",),
        "_elicitation": (
            "ElicitCompleteNotification",
            "ElicitCompleteNotificationParams",
            "ElicitRequest",
            "ElicitRequestFormParams",
            "ElicitRequestParams",
            "ElicitRequestURLParams",
            "ElicitResult",
        ),
        "_error_data": (
            "ElicitationRequiredErrorData",
            "MissingRequiredClientCapabilityErrorData",
            "UnsupportedProtocolVersionErrorData",
        ),
        "_icons": (
            "Icon",
            "Implementation",
        ),
        "_input": ("InputRequest", "InputRequests", "InputResponse", "InputResponses"),
        "_input_required": ("InputRequiredResult",),
        "_lifecycle": (
            "DiscoverResult",
            "InitializeRequestParams",
            "InitializeResult",
        ),
        "_literals": (
            "ElicitRequestedSchema",
            "IconTheme",
            "IncludeContext",
            "LoggingLevel",
            "ProgressToken",
            "RequestId",
            "ResultType",
            "Role",
            "SamplingRole",
            "StopReason",
            "TaskStatus",
        ),
        "_logging": (
            "LoggingMessageNotificationParams",
            "SetLevelRequestParams",
        ),
        "_messages": (
            "Notification",
            "PaginatedRequest",
            "Request",
        ),
        "_methods": (
            "METHODS",
            "Method",
            "Side",
        ),
        "_notices": (
            "CancelledNotificationParams",
            "ProgressNotificationParams",
        ),
        "_notifications": (
            "CancelledNotification",
            "InitializedNotification",
            "LoggingMessageNotification",
            "ProgressNotification",
            "PromptListChangedNotification",
            "ResourceListChangedNotification",
            "ResourceUpdatedNotification",
            "SubscriptionsAcknowledgedNotification",
            "ToolListChangedNotification",
        ),
        "_prompts": (
            "GetPromptRequestParams",
            "GetPromptResult",
            "ListPromptsResult",
            "Prompt",
            "PromptArgument",
            "PromptMessage",
            "PromptReference",
        ),
        "_requests": (
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
        ),
        "_resource_contents": (
            "BlobResourceContents",
            "EmbeddedResource",
            "ResourceContents",
            "TextResourceContents",
        ),
        "_resource_requests": (
            "ListResourceTemplatesResult",
            "ListResourcesResult",
            "ReadResourceRequestParams",
            "ReadResourceResult",
            "ResourceUpdatedNotificationParams",
            "SubscribeRequestParams",
            "UnsubscribeRequestParams",
        ),
        "_resources": (
            "Resource",
            "ResourceLink",
            "ResourceTemplate",
            "ResourceTemplateReference",
        ),
        "_revisions": (
            "HANDSHAKE_PROTOCOL_VERSIONS",
            "KNOWN_PROTOCOL_VERSIONS",
            "KNOWN_REVISIONS",
            "LATEST_HANDSHAKE",
            "LATEST_HANDSHAKE_VERSION",
            "LATEST_MODERN",
            "LATEST_MODERN_VERSION",
            "LATEST_PROTOCOL_VERSION",
            "MODERN_PROTOCOL_VERSIONS",
            "OLDEST_SUPPORTED_VERSION",
            "Revision",
            "SUPPORTED_PROTOCOL_VERSIONS",
            "is_version_at_least",
            "revision_for",
        ),
        "_roots": (
            "ListRootsRequest",
            "ListRootsResult",
            "Root",
            "RootsListChangedNotification",
        ),
        "_sampling": (
            "CreateMessageRequest",
            "CreateMessageRequestParams",
            "CreateMessageResult",
            "CreateMessageResultWithTools",
            "ModelHint",
            "ModelPreferences",
            "SamplingContent",
            "SamplingMessage",
            "SamplingMessageContentBlock",
            "ToolChoice",
            "ToolResultContent",
            "ToolUseContent",
        ),
        "_server_capabilities": (
            "CompletionsCapability",
            "LoggingCapability",
            "PromptsCapability",
            "ResourcesCapability",
            "ServerCapabilities",
            "ToolsCapability",
        ),
        "_subscriptions": (
            "SubscriptionFilter",
            "SubscriptionsAcknowledgedNotificationParams",
            "SubscriptionsListenRequestParams",
            "SubscriptionsListenResult",
        ),
        "_task_capabilities": (
            "ClientTasksCapability",
            "ClientTasksRequestsCapability",
            "ServerTasksCapability",
            "ServerTasksRequestsCapability",
            "TasksCallCapability",
            "TasksCancelCapability",
            "TasksCreateElicitationCapability",
            "TasksCreateMessageCapability",
            "TasksElicitationCapability",
            "TasksListCapability",
            "TasksSamplingCapability",
            "TasksToolsCapability",
        ),
        "_tasks": (
            "CancelTaskRequest",
            "CancelTaskRequestParams",
            "CancelTaskResult",
            "CreateTaskResult",
            "GetTaskPayloadRequest",
            "GetTaskPayloadRequestParams",
            "GetTaskPayloadResult",
            "GetTaskRequest",
            "GetTaskRequestParams",
            "GetTaskResult",
            "ListTasksRequest",
            "ListTasksResult",
            "RelatedTaskMetadata",
            "Task",
            "TaskMetadata",
            "TaskStatusNotification",
            "TaskStatusNotificationParams",
        ),
        "_tools": (
            "CallToolRequestParams",
            "CallToolResult",
            "ListToolsResult",
            "Tool",
            "ToolAnnotations",
            "ToolExecution",
        ),
        "_unions": (
            "ClientNotification",
            "ClientRequest",
            "ClientResult",
            "ServerNotification",
            "ServerRequest",
            "ServerResult",
        ),
        "jsonrpc": (
            "ErrorData",
            "JSONRPCError",
            "JSONRPCMessage",
            "JSONRPCNotification",
            "JSONRPCRequest",
            "JSONRPCResponse",
        ),
    }
    __getattr__, __dir__ = lazy_exports(
        __name__, {name: f".{home}" for home, names in _HOMES.items() for name in names}
    )
