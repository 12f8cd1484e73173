"""The pleasant way to write a server: functions become tools, resources and prompts.

`MCPServer` registers them, `Context` is what they know of the request they work for. Names
load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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
    from trio_mcp.mcpserver._extensions import ToolBinding as ToolBinding
    from trio_mcp.mcpserver._extensions import (
        compose_tool_call_handler as compose_tool_call_handler,
    )
    from trio_mcp.mcpserver._extensions import (
        require_client_extension as require_client_extension,
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

_NAMES_IN: Final = {
    "trio_mcp.errors": (
        "InvalidSignature",
        "MCPServerError",
        "ResourceError",
        "ResourceNotFoundError",
        "ToolError",
        "UnexpectedResourceError",
        "UnexpectedToolError",
    ),
    "trio_mcp.mcpserver._context": ("Context",),
    "trio_mcp.mcpserver._elicitation": (
        "AcceptedElicitation",
        "AcceptedUrlElicitation",
        "CancelledElicitation",
        "DeclinedElicitation",
        "ElicitationResult",
        "UrlElicitationResult",
        "elicit_url",
        "elicit_with_validation",
        "render_elicitation_schema",
    ),
    "trio_mcp.mcpserver._extensions": (
        "Extension",
        "MethodBinding",
        "ResourceBinding",
        "ToolBinding",
        "compose_tool_call_handler",
        "require_client_extension",
    ),
    "trio_mcp.mcpserver._function_resource": ("FunctionResource",),
    "trio_mcp.mcpserver._media": ("Audio", "File", "Image"),
    "trio_mcp.mcpserver._path_security": (
        "DEFAULT_RESOURCE_SECURITY",
        "PathEscapeError",
        "ResourceSecurity",
        "ResourceSecurityError",
        "contains_path_traversal",
        "is_absolute_path",
        "safe_join",
    ),
    "trio_mcp.mcpserver._prompt_messages": ("AssistantMessage", "Message", "UserMessage"),
    "trio_mcp.mcpserver._prompts": ("Prompt",),
    "trio_mcp.mcpserver._questions": (
        "Elicit",
        "ListRoots",
        "Sample",
    ),
    "trio_mcp.mcpserver._resolve": ("Resolve",),
    "trio_mcp.mcpserver._resource_contents": ("ReadResourceContents",),
    "trio_mcp.mcpserver._resource_template": ("ResourceTemplate",),
    "trio_mcp.mcpserver._resources": ("BinaryResource", "Resource", "TextResource"),
    "trio_mcp.mcpserver._resources_files": ("DirectoryResource", "FileResource"),
    "trio_mcp.mcpserver._resources_http": ("HttpResource",),
    "trio_mcp.mcpserver._server": ("MCPServer",),
    "trio_mcp.mcpserver._settings": ("Settings",),
    "trio_mcp.mcpserver._tool": ("Tool",),
    "trio_mcp.mcpserver._uri_template": (
        "DEFAULT_MAX_TEMPLATE_LENGTH",
        "DEFAULT_MAX_URI_LENGTH",
        "DEFAULT_MAX_VARIABLES",
        "InvalidUriTemplate",
        "UriTemplate",
        "Variable",
    ),
    "trio_mcp.server": (
        "AESGCMRequestStateCodec",
        "InvalidRequestState",
        "RequestStateBoundary",
        "RequestStateCodec",
        "RequestStateSecurity",
        "authenticated_principal",
    ),
    "trio_mcp.types": ("Icon", "PromptArgument"),
}
_MODULE_OF: Final = {name: module for module, names in _NAMES_IN.items() for name in names}

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
    "is_absolute_path",
    "render_elicitation_schema",
    "require_client_extension",
    "safe_join",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(module), name)
    if module.startswith(f"{__name__}._") and callable(found):
        # What users import, tracebacks and pickles show.
        found.__module__ = __name__
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
