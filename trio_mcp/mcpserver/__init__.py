"""The pleasant way to write a server: functions become tools, resources and prompts.

`MCPServer` registers them, `Context` is what they know of the request they work for. Names
load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp.errors import InvalidSignature as InvalidSignature
    from trio_mcp.errors import MCPServerError as MCPServerError
    from trio_mcp.errors import ResourceError as ResourceError
    from trio_mcp.errors import ResourceNotFoundError as ResourceNotFoundError
    from trio_mcp.errors import ToolError as ToolError
    from trio_mcp.errors import UnexpectedResourceError as UnexpectedResourceError
    from trio_mcp.errors import UnexpectedToolError as UnexpectedToolError
    from trio_mcp.mcpserver._context import Context as Context
    from trio_mcp.mcpserver._elicitation import AcceptedElicitation as AcceptedElicitation
    from trio_mcp.mcpserver._elicitation import AcceptedUrlElicitation as AcceptedUrlElicitation
    from trio_mcp.mcpserver._elicitation import CancelledElicitation as CancelledElicitation
    from trio_mcp.mcpserver._elicitation import DeclinedElicitation as DeclinedElicitation
    from trio_mcp.mcpserver._elicitation import ElicitationResult as ElicitationResult
    from trio_mcp.mcpserver._elicitation import UrlElicitationResult as UrlElicitationResult
    from trio_mcp.mcpserver._elicitation import elicit_url as elicit_url
    from trio_mcp.mcpserver._elicitation import elicit_with_validation as elicit_with_validation
    from trio_mcp.mcpserver._elicitation import (
        render_elicitation_schema as render_elicitation_schema,
    )
    from trio_mcp.mcpserver._extensions import Extension as Extension
    from trio_mcp.mcpserver._extensions import MethodBinding as MethodBinding
    from trio_mcp.mcpserver._extensions import ResourceBinding as ResourceBinding
    from trio_mcp.mcpserver._extensions import SubscriptionBinding as SubscriptionBinding
    from trio_mcp.mcpserver._extensions import ToolBinding as ToolBinding
    from trio_mcp.mcpserver._extensions import failed_tool_call as failed_tool_call
    from trio_mcp.mcpserver._extensions import (
        require_client_extension as require_client_extension,
    )
    from trio_mcp.mcpserver._extensions_of_server import (
        compose_tool_call_handler as compose_tool_call_handler,
    )
    from trio_mcp.mcpserver._function_resource import FunctionResource as FunctionResource
    from trio_mcp.mcpserver._media import Audio as Audio
    from trio_mcp.mcpserver._media import File as File
    from trio_mcp.mcpserver._media import Image as Image
    from trio_mcp.mcpserver._path_security import (
        DEFAULT_RESOURCE_SECURITY as DEFAULT_RESOURCE_SECURITY,
    )
    from trio_mcp.mcpserver._path_security import PathEscapeError as PathEscapeError
    from trio_mcp.mcpserver._path_security import ResourceSecurity as ResourceSecurity
    from trio_mcp.mcpserver._path_security import ResourceSecurityError as ResourceSecurityError
    from trio_mcp.mcpserver._path_security import (
        contains_path_traversal as contains_path_traversal,
    )
    from trio_mcp.mcpserver._path_security import is_absolute_path as is_absolute_path
    from trio_mcp.mcpserver._path_security import safe_join as safe_join
    from trio_mcp.mcpserver._prompt_messages import AssistantMessage as AssistantMessage
    from trio_mcp.mcpserver._prompt_messages import Message as Message
    from trio_mcp.mcpserver._prompt_messages import UserMessage as UserMessage
    from trio_mcp.mcpserver._prompts import Prompt as Prompt
    from trio_mcp.mcpserver._questions import Elicit as Elicit
    from trio_mcp.mcpserver._questions import ListRoots as ListRoots
    from trio_mcp.mcpserver._questions import Sample as Sample
    from trio_mcp.mcpserver._resolve import Resolve as Resolve
    from trio_mcp.mcpserver._resource_contents import ReadResourceContents as ReadResourceContents
    from trio_mcp.mcpserver._resource_template import ResourceTemplate as ResourceTemplate
    from trio_mcp.mcpserver._resources import BinaryResource as BinaryResource
    from trio_mcp.mcpserver._resources import Resource as Resource
    from trio_mcp.mcpserver._resources import TextResource as TextResource
    from trio_mcp.mcpserver._resources_files import DirectoryResource as DirectoryResource
    from trio_mcp.mcpserver._resources_files import FileResource as FileResource
    from trio_mcp.mcpserver._resources_http import HttpResource as HttpResource
    from trio_mcp.mcpserver._server import MCPServer as MCPServer
    from trio_mcp.mcpserver._settings import Settings as Settings
    from trio_mcp.mcpserver._tool import Tool as Tool
    from trio_mcp.mcpserver._uri_template import (
        DEFAULT_MAX_TEMPLATE_LENGTH as DEFAULT_MAX_TEMPLATE_LENGTH,
    )
    from trio_mcp.mcpserver._uri_template import DEFAULT_MAX_URI_LENGTH as DEFAULT_MAX_URI_LENGTH
    from trio_mcp.mcpserver._uri_template import DEFAULT_MAX_VARIABLES as DEFAULT_MAX_VARIABLES
    from trio_mcp.mcpserver._uri_template import InvalidUriTemplate as InvalidUriTemplate
    from trio_mcp.mcpserver._uri_template import UriTemplate as UriTemplate
    from trio_mcp.mcpserver._uri_template import Variable as Variable
    from trio_mcp.server import AESGCMRequestStateCodec as AESGCMRequestStateCodec
    from trio_mcp.server import InvalidRequestState as InvalidRequestState
    from trio_mcp.server import RequestStateBoundary as RequestStateBoundary
    from trio_mcp.server import RequestStateCodec as RequestStateCodec
    from trio_mcp.server import RequestStateSecurity as RequestStateSecurity
    from trio_mcp.server import authenticated_principal as authenticated_principal
    from trio_mcp.types import Icon as Icon
    from trio_mcp.types import PromptArgument as PromptArgument

__all__ = [
    "DEFAULT_MAX_TEMPLATE_LENGTH",
    "DEFAULT_MAX_URI_LENGTH",
    "DEFAULT_MAX_VARIABLES",
    "DEFAULT_RESOURCE_SECURITY",
    "AESGCMRequestStateCodec",
    "AcceptedElicitation",
    "AcceptedUrlElicitation",
    "AssistantMessage",
    "Audio",
    "BinaryResource",
    "CancelledElicitation",
    "Context",
    "DeclinedElicitation",
    "DirectoryResource",
    "Elicit",
    "ElicitationResult",
    "Extension",
    "File",
    "FileResource",
    "FunctionResource",
    "HttpResource",
    "Icon",
    "Image",
    "InvalidRequestState",
    "InvalidSignature",
    "InvalidUriTemplate",
    "ListRoots",
    "MCPServer",
    "MCPServerError",
    "Message",
    "MethodBinding",
    "PathEscapeError",
    "Prompt",
    "PromptArgument",
    "ReadResourceContents",
    "RequestStateBoundary",
    "RequestStateCodec",
    "RequestStateSecurity",
    "Resolve",
    "Resource",
    "ResourceBinding",
    "ResourceError",
    "ResourceNotFoundError",
    "ResourceSecurity",
    "ResourceSecurityError",
    "ResourceTemplate",
    "Sample",
    "Settings",
    "SubscriptionBinding",
    "TextResource",
    "Tool",
    "ToolBinding",
    "ToolError",
    "UnexpectedResourceError",
    "UnexpectedToolError",
    "UriTemplate",
    "UrlElicitationResult",
    "UserMessage",
    "Variable",
    "authenticated_principal",
    "compose_tool_call_handler",
    "contains_path_traversal",
    "elicit_url",
    "elicit_with_validation",
    "failed_tool_call",
    "is_absolute_path",
    "render_elicitation_schema",
    "require_client_extension",
    "safe_join",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "AESGCMRequestStateCodec": "trio_mcp.server",
            "AcceptedElicitation": "._elicitation",
            "AcceptedUrlElicitation": "._elicitation",
            "AssistantMessage": "._prompt_messages",
            "Audio": "._media",
            "BinaryResource": "._resources",
            "CancelledElicitation": "._elicitation",
            "Context": "._context",
            "DEFAULT_MAX_TEMPLATE_LENGTH": "._uri_template",
            "DEFAULT_MAX_URI_LENGTH": "._uri_template",
            "DEFAULT_MAX_VARIABLES": "._uri_template",
            "DEFAULT_RESOURCE_SECURITY": "._path_security",
            "DeclinedElicitation": "._elicitation",
            "DirectoryResource": "._resources_files",
            "Elicit": "._questions",
            "ElicitationResult": "._elicitation",
            "Extension": "._extensions",
            "File": "._media",
            "FileResource": "._resources_files",
            "FunctionResource": "._function_resource",
            "HttpResource": "._resources_http",
            "Icon": "trio_mcp.types",
            "Image": "._media",
            "InvalidRequestState": "trio_mcp.server",
            "InvalidSignature": "trio_mcp.errors",
            "InvalidUriTemplate": "._uri_template",
            "ListRoots": "._questions",
            "MCPServer": "._server",
            "MCPServerError": "trio_mcp.errors",
            "Message": "._prompt_messages",
            "MethodBinding": "._extensions",
            "PathEscapeError": "._path_security",
            "Prompt": "._prompts",
            "PromptArgument": "trio_mcp.types",
            "ReadResourceContents": "._resource_contents",
            "RequestStateBoundary": "trio_mcp.server",
            "RequestStateCodec": "trio_mcp.server",
            "RequestStateSecurity": "trio_mcp.server",
            "Resolve": "._resolve",
            "Resource": "._resources",
            "ResourceBinding": "._extensions",
            "ResourceError": "trio_mcp.errors",
            "ResourceNotFoundError": "trio_mcp.errors",
            "ResourceSecurity": "._path_security",
            "ResourceSecurityError": "._path_security",
            "ResourceTemplate": "._resource_template",
            "Sample": "._questions",
            "Settings": "._settings",
            "SubscriptionBinding": "._extensions",
            "TextResource": "._resources",
            "Tool": "._tool",
            "ToolBinding": "._extensions",
            "ToolError": "trio_mcp.errors",
            "UnexpectedResourceError": "trio_mcp.errors",
            "UnexpectedToolError": "trio_mcp.errors",
            "UriTemplate": "._uri_template",
            "UrlElicitationResult": "._elicitation",
            "UserMessage": "._prompt_messages",
            "Variable": "._uri_template",
            "authenticated_principal": "trio_mcp.server",
            "compose_tool_call_handler": "._extensions_of_server",
            "failed_tool_call": "._extensions",
            "contains_path_traversal": "._path_security",
            "elicit_url": "._elicitation",
            "elicit_with_validation": "._elicitation",
            "is_absolute_path": "._path_security",
            "render_elicitation_schema": "._elicitation",
            "require_client_extension": "._extensions",
            "safe_join": "._path_security",
        },
    )
