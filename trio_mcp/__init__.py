"""Model Context Protocol clients and servers for Trio.

Everything an application needs can be imported from here; each name loads the part it
belongs to when it is first used, so that a server on stdio never loads HTTP, OAuth or the
command line. The parts are packages of their own: `trio_mcp.types`, `trio_mcp.client`,
`trio_mcp.server`, `trio_mcp.mcpserver`, `trio_mcp.transports`, `trio_mcp.auth`, `trio_mcp.errors`
and `trio_mcp.testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports as _lazy_exports
from trio_mcp._version import __version__ as __version__

if TYPE_CHECKING:
    from trio_mcp._codec._public import from_json as from_json
    from trio_mcp._codec._public import to_json as to_json
    from trio_mcp.auth import AccessToken as AccessToken
    from trio_mcp.auth import BearerAuth as BearerAuth
    from trio_mcp.auth import OAuth as OAuth
    from trio_mcp.auth import OAuthClientProvider as OAuthClientProvider
    from trio_mcp.auth import get_access_token as get_access_token
    from trio_mcp.client import Client as Client
    from trio_mcp.client import ClientExtension as ClientExtension
    from trio_mcp.client import ClientRequestContext as ClientRequestContext
    from trio_mcp.client import ClientSession as ClientSession
    from trio_mcp.client import ClientSessionGroup as ClientSessionGroup
    from trio_mcp.client import ClientSessionParameters as ClientSessionParameters
    from trio_mcp.client import ConnectedClient as ConnectedClient
    from trio_mcp.client import (
        InputRequiredRoundsExceededError as InputRequiredRoundsExceededError,
    )
    from trio_mcp.client import ListenNotSupportedError as ListenNotSupportedError
    from trio_mcp.client import RestartPolicy as RestartPolicy
    from trio_mcp.client import Subscription as Subscription
    from trio_mcp.client import SubscriptionLost as SubscriptionLost
    from trio_mcp.client import UnexpectedClaimedResult as UnexpectedClaimedResult
    from trio_mcp.client import advertise as advertise
    from trio_mcp.client import connect as connect
    from trio_mcp.errors import ConnectionLost as ConnectionLost
    from trio_mcp.errors import InsufficientScopeError as InsufficientScopeError
    from trio_mcp.errors import InvalidResponse as InvalidResponse
    from trio_mcp.errors import InvalidSignature as InvalidSignature
    from trio_mcp.errors import MCPDeprecationWarning as MCPDeprecationWarning
    from trio_mcp.errors import MCPError as MCPError
    from trio_mcp.errors import MCPServerError as MCPServerError
    from trio_mcp.errors import NoBackChannelError as NoBackChannelError
    from trio_mcp.errors import RequestTimeout as RequestTimeout
    from trio_mcp.errors import ResourceError as ResourceError
    from trio_mcp.errors import ResourceNotFoundError as ResourceNotFoundError
    from trio_mcp.errors import ToolError as ToolError
    from trio_mcp.errors import UrlElicitationRequiredError as UrlElicitationRequiredError
    from trio_mcp.mcpserver import AcceptedElicitation as AcceptedElicitation
    from trio_mcp.mcpserver import AssistantMessage as AssistantMessage
    from trio_mcp.mcpserver import Audio as Audio
    from trio_mcp.mcpserver import CancelledElicitation as CancelledElicitation
    from trio_mcp.mcpserver import Context as Context
    from trio_mcp.mcpserver import DeclinedElicitation as DeclinedElicitation
    from trio_mcp.mcpserver import Elicit as Elicit
    from trio_mcp.mcpserver import ElicitationResult as ElicitationResult
    from trio_mcp.mcpserver import Image as Image
    from trio_mcp.mcpserver import InvalidUriTemplate as InvalidUriTemplate
    from trio_mcp.mcpserver import ListRoots as ListRoots
    from trio_mcp.mcpserver import MCPServer as MCPServer
    from trio_mcp.mcpserver import Message as Message
    from trio_mcp.mcpserver import Resolve as Resolve
    from trio_mcp.mcpserver import Sample as Sample
    from trio_mcp.mcpserver import UriTemplate as UriTemplate
    from trio_mcp.mcpserver import UserMessage as UserMessage
    from trio_mcp.server import PromptsListChanged as PromptsListChanged
    from trio_mcp.server import ResourcesListChanged as ResourcesListChanged
    from trio_mcp.server import ResourceUpdated as ResourceUpdated
    from trio_mcp.server import Server as Server
    from trio_mcp.server import ServerRequestContext as ServerRequestContext
    from trio_mcp.server import ServerSession as ServerSession
    from trio_mcp.server import ToolsListChanged as ToolsListChanged
    from trio_mcp.transports import StdioServerParameters as StdioServerParameters
    from trio_mcp.transports import open_memory_channel_pair as open_memory_channel_pair
    from trio_mcp.transports import serve_http as serve_http
    from trio_mcp.transports import stdio_client as stdio_client
    from trio_mcp.transports import stdio_server as stdio_server
    from trio_mcp.types import Annotations as Annotations
    from trio_mcp.types import AudioContent as AudioContent
    from trio_mcp.types import BlobResourceContents as BlobResourceContents
    from trio_mcp.types import CallToolRequest as CallToolRequest
    from trio_mcp.types import CallToolResult as CallToolResult
    from trio_mcp.types import ClientCapabilities as ClientCapabilities
    from trio_mcp.types import ClientNotification as ClientNotification
    from trio_mcp.types import ClientRequest as ClientRequest
    from trio_mcp.types import ClientResult as ClientResult
    from trio_mcp.types import CompleteRequest as CompleteRequest
    from trio_mcp.types import ContentBlock as ContentBlock
    from trio_mcp.types import CreateMessageRequest as CreateMessageRequest
    from trio_mcp.types import CreateMessageResult as CreateMessageResult
    from trio_mcp.types import CreateMessageResultWithTools as CreateMessageResultWithTools
    from trio_mcp.types import DiscoverResult as DiscoverResult
    from trio_mcp.types import ElicitResult as ElicitResult
    from trio_mcp.types import EmbeddedResource as EmbeddedResource
    from trio_mcp.types import ErrorData as ErrorData
    from trio_mcp.types import GetPromptRequest as GetPromptRequest
    from trio_mcp.types import GetPromptResult as GetPromptResult
    from trio_mcp.types import Icon as Icon
    from trio_mcp.types import ImageContent as ImageContent
    from trio_mcp.types import Implementation as Implementation
    from trio_mcp.types import IncludeContext as IncludeContext
    from trio_mcp.types import InitializedNotification as InitializedNotification
    from trio_mcp.types import InitializeRequest as InitializeRequest
    from trio_mcp.types import InitializeResult as InitializeResult
    from trio_mcp.types import InputRequiredResult as InputRequiredResult
    from trio_mcp.types import JSONRPCError as JSONRPCError
    from trio_mcp.types import JSONRPCRequest as JSONRPCRequest
    from trio_mcp.types import JSONRPCResponse as JSONRPCResponse
    from trio_mcp.types import ListPromptsRequest as ListPromptsRequest
    from trio_mcp.types import ListPromptsResult as ListPromptsResult
    from trio_mcp.types import ListResourcesRequest as ListResourcesRequest
    from trio_mcp.types import ListResourcesResult as ListResourcesResult
    from trio_mcp.types import ListToolsResult as ListToolsResult
    from trio_mcp.types import LoggingLevel as LoggingLevel
    from trio_mcp.types import LoggingMessageNotification as LoggingMessageNotification
    from trio_mcp.types import Notification as Notification
    from trio_mcp.types import PingRequest as PingRequest
    from trio_mcp.types import ProgressNotification as ProgressNotification
    from trio_mcp.types import Prompt as Prompt
    from trio_mcp.types import PromptArgument as PromptArgument
    from trio_mcp.types import PromptMessage as PromptMessage
    from trio_mcp.types import PromptsCapability as PromptsCapability
    from trio_mcp.types import ReadResourceRequest as ReadResourceRequest
    from trio_mcp.types import ReadResourceResult as ReadResourceResult
    from trio_mcp.types import Resource as Resource
    from trio_mcp.types import ResourceLink as ResourceLink
    from trio_mcp.types import ResourcesCapability as ResourcesCapability
    from trio_mcp.types import ResourceTemplate as ResourceTemplate
    from trio_mcp.types import ResourceUpdatedNotification as ResourceUpdatedNotification
    from trio_mcp.types import Role as Role
    from trio_mcp.types import Role as SamplingRole
    from trio_mcp.types import RootsCapability as RootsCapability
    from trio_mcp.types import SamplingCapability as SamplingCapability
    from trio_mcp.types import SamplingContent as SamplingContent
    from trio_mcp.types import SamplingContextCapability as SamplingContextCapability
    from trio_mcp.types import SamplingMessage as SamplingMessage
    from trio_mcp.types import SamplingMessageContentBlock as SamplingMessageContentBlock
    from trio_mcp.types import SamplingToolsCapability as SamplingToolsCapability
    from trio_mcp.types import ServerCapabilities as ServerCapabilities
    from trio_mcp.types import ServerNotification as ServerNotification
    from trio_mcp.types import ServerRequest as ServerRequest
    from trio_mcp.types import ServerResult as ServerResult
    from trio_mcp.types import SetLevelRequest as SetLevelRequest
    from trio_mcp.types import StopReason as StopReason
    from trio_mcp.types import SubscribeRequest as SubscribeRequest
    from trio_mcp.types import TextContent as TextContent
    from trio_mcp.types import TextResourceContents as TextResourceContents
    from trio_mcp.types import Tool as Tool
    from trio_mcp.types import ToolAnnotations as ToolAnnotations
    from trio_mcp.types import ToolChoice as ToolChoice
    from trio_mcp.types import ToolResultContent as ToolResultContent
    from trio_mcp.types import ToolsCapability as ToolsCapability
    from trio_mcp.types import ToolUseContent as ToolUseContent
    from trio_mcp.types import UnsubscribeRequest as UnsubscribeRequest

__all__ = [
    "AcceptedElicitation",
    "AccessToken",
    "Annotations",
    "AssistantMessage",
    "Audio",
    "AudioContent",
    "BearerAuth",
    "BlobResourceContents",
    "CallToolRequest",
    "CallToolResult",
    "CancelledElicitation",
    "Client",
    "ClientCapabilities",
    "ClientExtension",
    "ClientNotification",
    "ClientRequest",
    "ClientRequestContext",
    "ClientResult",
    "ClientSession",
    "ClientSessionGroup",
    "ClientSessionParameters",
    "CompleteRequest",
    "ConnectedClient",
    "ConnectionLost",
    "ContentBlock",
    "Context",
    "CreateMessageRequest",
    "CreateMessageResult",
    "CreateMessageResultWithTools",
    "DeclinedElicitation",
    "DiscoverResult",
    "Elicit",
    "ElicitResult",
    "ElicitationResult",
    "EmbeddedResource",
    "ErrorData",
    "GetPromptRequest",
    "GetPromptResult",
    "Icon",
    "Image",
    "ImageContent",
    "Implementation",
    "IncludeContext",
    "InitializeRequest",
    "InitializeResult",
    "InitializedNotification",
    "InputRequiredResult",
    "InputRequiredRoundsExceededError",
    "InsufficientScopeError",
    "InvalidResponse",
    "InvalidSignature",
    "InvalidUriTemplate",
    "JSONRPCError",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "ListPromptsRequest",
    "ListPromptsResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ListRoots",
    "ListToolsResult",
    "ListenNotSupportedError",
    "LoggingLevel",
    "LoggingMessageNotification",
    "MCPDeprecationWarning",
    "MCPError",
    "MCPServer",
    "MCPServerError",
    "Message",
    "NoBackChannelError",
    "Notification",
    "OAuth",
    "OAuthClientProvider",
    "PingRequest",
    "ProgressNotification",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "PromptsCapability",
    "PromptsListChanged",
    "ReadResourceRequest",
    "ReadResourceResult",
    "RequestTimeout",
    "Resolve",
    "Resource",
    "ResourceError",
    "ResourceLink",
    "ResourceNotFoundError",
    "ResourceTemplate",
    "ResourceUpdated",
    "ResourceUpdatedNotification",
    "ResourcesCapability",
    "ResourcesListChanged",
    "RestartPolicy",
    "Role",
    "RootsCapability",
    "Sample",
    "SamplingCapability",
    "SamplingContent",
    "SamplingContextCapability",
    "SamplingMessage",
    "SamplingMessageContentBlock",
    "SamplingRole",
    "SamplingToolsCapability",
    "Server",
    "ServerCapabilities",
    "ServerNotification",
    "ServerRequest",
    "ServerRequestContext",
    "ServerResult",
    "ServerSession",
    "SetLevelRequest",
    "StdioServerParameters",
    "StopReason",
    "SubscribeRequest",
    "Subscription",
    "SubscriptionLost",
    "TextContent",
    "TextResourceContents",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolError",
    "ToolResultContent",
    "ToolUseContent",
    "ToolsCapability",
    "ToolsListChanged",
    "UnexpectedClaimedResult",
    "UnsubscribeRequest",
    "UriTemplate",
    "UrlElicitationRequiredError",
    "UserMessage",
    "__version__",
    "advertise",
    "connect",
    "from_json",
    "get_access_token",
    "open_memory_channel_pair",
    "serve_http",
    "stdio_client",
    "stdio_server",
    "to_json",
]

# {name: the part it is loaded from}; the imports above are the same for type checkers.
_HOMES = {
    "from_json": "trio_mcp._codec._public",
    "to_json": "trio_mcp._codec._public",
    "AccessToken": "trio_mcp.auth",
    "BearerAuth": "trio_mcp.auth",
    "OAuth": "trio_mcp.auth",
    "OAuthClientProvider": "trio_mcp.auth",
    "get_access_token": "trio_mcp.auth",
    "Client": "trio_mcp.client",
    "ClientRequestContext": "trio_mcp.client",
    "ClientSession": "trio_mcp.client",
    "ClientSessionGroup": "trio_mcp.client",
    "ClientSessionParameters": "trio_mcp.client",
    "ClientExtension": "trio_mcp.client",
    "UnexpectedClaimedResult": "trio_mcp.client",
    "advertise": "trio_mcp.client",
    "connect": "trio_mcp.client",
    "RestartPolicy": "trio_mcp.client",
    "ConnectedClient": "trio_mcp.client",
    "SubscriptionLost": "trio_mcp.client",
    "Subscription": "trio_mcp.client",
    "ListenNotSupportedError": "trio_mcp.client",
    "InputRequiredRoundsExceededError": "trio_mcp.client",
    "ConnectionLost": "trio_mcp.errors",
    "InsufficientScopeError": "trio_mcp.errors",
    "InvalidResponse": "trio_mcp.errors",
    "InvalidSignature": "trio_mcp.errors",
    "MCPDeprecationWarning": "trio_mcp.errors",
    "MCPError": "trio_mcp.errors",
    "MCPServerError": "trio_mcp.errors",
    "NoBackChannelError": "trio_mcp.errors",
    "RequestTimeout": "trio_mcp.errors",
    "ResourceError": "trio_mcp.errors",
    "ResourceNotFoundError": "trio_mcp.errors",
    "ToolError": "trio_mcp.errors",
    "UrlElicitationRequiredError": "trio_mcp.errors",
    "AcceptedElicitation": "trio_mcp.mcpserver",
    "AssistantMessage": "trio_mcp.mcpserver",
    "Audio": "trio_mcp.mcpserver",
    "CancelledElicitation": "trio_mcp.mcpserver",
    "Context": "trio_mcp.mcpserver",
    "DeclinedElicitation": "trio_mcp.mcpserver",
    "Elicit": "trio_mcp.mcpserver",
    "ElicitationResult": "trio_mcp.mcpserver",
    "Image": "trio_mcp.mcpserver",
    "InvalidUriTemplate": "trio_mcp.mcpserver",
    "ListRoots": "trio_mcp.mcpserver",
    "MCPServer": "trio_mcp.mcpserver",
    "Message": "trio_mcp.mcpserver",
    "Resolve": "trio_mcp.mcpserver",
    "Sample": "trio_mcp.mcpserver",
    "UriTemplate": "trio_mcp.mcpserver",
    "UserMessage": "trio_mcp.mcpserver",
    "Server": "trio_mcp.server",
    "ServerRequestContext": "trio_mcp.server",
    "ServerSession": "trio_mcp.server",
    "ToolsListChanged": "trio_mcp.server",
    "ResourcesListChanged": "trio_mcp.server",
    "ResourceUpdated": "trio_mcp.server",
    "PromptsListChanged": "trio_mcp.server",
    "StdioServerParameters": "trio_mcp.transports",
    "open_memory_channel_pair": "trio_mcp.transports",
    "serve_http": "trio_mcp.transports",
    "stdio_client": "trio_mcp.transports",
    "stdio_server": "trio_mcp.transports",
    "Annotations": "trio_mcp.types",
    "AudioContent": "trio_mcp.types",
    "BlobResourceContents": "trio_mcp.types",
    "CallToolRequest": "trio_mcp.types",
    "CallToolResult": "trio_mcp.types",
    "ClientCapabilities": "trio_mcp.types",
    "ClientNotification": "trio_mcp.types",
    "ClientRequest": "trio_mcp.types",
    "ClientResult": "trio_mcp.types",
    "CompleteRequest": "trio_mcp.types",
    "ContentBlock": "trio_mcp.types",
    "CreateMessageRequest": "trio_mcp.types",
    "CreateMessageResult": "trio_mcp.types",
    "CreateMessageResultWithTools": "trio_mcp.types",
    "DiscoverResult": "trio_mcp.types",
    "ElicitResult": "trio_mcp.types",
    "EmbeddedResource": "trio_mcp.types",
    "ErrorData": "trio_mcp.types",
    "GetPromptRequest": "trio_mcp.types",
    "GetPromptResult": "trio_mcp.types",
    "Icon": "trio_mcp.types",
    "ImageContent": "trio_mcp.types",
    "Implementation": "trio_mcp.types",
    "IncludeContext": "trio_mcp.types",
    "InitializeRequest": "trio_mcp.types",
    "InitializeResult": "trio_mcp.types",
    "InitializedNotification": "trio_mcp.types",
    "InputRequiredResult": "trio_mcp.types",
    "JSONRPCError": "trio_mcp.types",
    "JSONRPCRequest": "trio_mcp.types",
    "JSONRPCResponse": "trio_mcp.types",
    "ListPromptsRequest": "trio_mcp.types",
    "ListPromptsResult": "trio_mcp.types",
    "ListResourcesRequest": "trio_mcp.types",
    "ListResourcesResult": "trio_mcp.types",
    "ListToolsResult": "trio_mcp.types",
    "LoggingLevel": "trio_mcp.types",
    "LoggingMessageNotification": "trio_mcp.types",
    "Notification": "trio_mcp.types",
    "PingRequest": "trio_mcp.types",
    "ProgressNotification": "trio_mcp.types",
    "Prompt": "trio_mcp.types",
    "PromptArgument": "trio_mcp.types",
    "PromptMessage": "trio_mcp.types",
    "PromptsCapability": "trio_mcp.types",
    "ReadResourceRequest": "trio_mcp.types",
    "ReadResourceResult": "trio_mcp.types",
    "Resource": "trio_mcp.types",
    "ResourceLink": "trio_mcp.types",
    "ResourceTemplate": "trio_mcp.types",
    "ResourceUpdatedNotification": "trio_mcp.types",
    "ResourcesCapability": "trio_mcp.types",
    "Role": "trio_mcp.types",
    "RootsCapability": "trio_mcp.types",
    "SamplingCapability": "trio_mcp.types",
    "SamplingContent": "trio_mcp.types",
    "SamplingContextCapability": "trio_mcp.types",
    "SamplingMessage": "trio_mcp.types",
    "SamplingMessageContentBlock": "trio_mcp.types",
    "SamplingToolsCapability": "trio_mcp.types",
    "ServerCapabilities": "trio_mcp.types",
    "ServerNotification": "trio_mcp.types",
    "ServerRequest": "trio_mcp.types",
    "ServerResult": "trio_mcp.types",
    "SetLevelRequest": "trio_mcp.types",
    "StopReason": "trio_mcp.types",
    "SubscribeRequest": "trio_mcp.types",
    "TextContent": "trio_mcp.types",
    "TextResourceContents": "trio_mcp.types",
    "Tool": "trio_mcp.types",
    "ToolAnnotations": "trio_mcp.types",
    "ToolChoice": "trio_mcp.types",
    "ToolResultContent": "trio_mcp.types",
    "ToolUseContent": "trio_mcp.types",
    "ToolsCapability": "trio_mcp.types",
    "UnsubscribeRequest": "trio_mcp.types",
    "SamplingRole": "trio_mcp.types:Role",  # the name that `mcp` exports
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_exports(__name__, _HOMES)
