"""What MCP Apps put into ``_meta`` of tools and resources, and what is read out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from trio_mcp._checks import check_text
from trio_mcp.types import WireModel, wire_model

if TYPE_CHECKING:
    from trio_mcp.types import JsonObject

UI: Final = "io.modelcontextprotocol/ui"
"""The identifier of the extension."""

APP_MIME_TYPE: Final = "text/html;profile=mcp-app"
"""The MIME type of a user interface."""

Visibility = Literal["model", "app"]
"""For whom a tool is: the model, or the apps of the same server."""

META_KEY: Final = "ui"
OLD_URI_KEY: Final = "ui/resourceUri"
"""Where older servers have the URI; it is read, and never written."""


@wire_model
class ResourceCsp(WireModel):
    """The origins that a user interface may use, each a list; none where it is not given."""

    connect_domains: list[str] | None = None
    """For requests: fetch, XHR, WebSockets."""
    resource_domains: list[str] | None = None
    """For images, scripts, style sheets, fonts and media."""
    frame_domains: list[str] | None = None
    """For frames inside of it."""
    base_uri_domains: list[str] | None = None
    """For the base of its relative URLs."""


@wire_model
class ResourcePermissions(WireModel):
    """What a user interface would like to use; ``{}`` asks for it. A host may refuse."""

    camera: JsonObject | None = None
    microphone: JsonObject | None = None
    geolocation: JsonObject | None = None
    clipboard_write: JsonObject | None = None


@wire_model
class ResourceUI(WireModel):
    """What ``_meta.ui`` of a user interface says."""

    csp: ResourceCsp | None = None
    permissions: ResourcePermissions | None = None
    domain: str | None = None
    """Where a host shall show it; what it means is up to the host."""
    prefers_border: bool | None = None


def is_ui_uri(uri: object) -> bool:
    """Tell whether something is the URI of a user interface."""
    return isinstance(uri, str) and uri.startswith("ui://") and len(uri) > len("ui://")


def check_ui_uri(argument: str, uri: Any) -> None:
    """Check that a URI is one of a user interface.

    Raises:
      TypeError, ValueError: if it is not.

    """
    check_text(argument, uri)
    if not is_ui_uri(uri):
        raise ValueError(f"{argument}: expected a URI that begins with ui://, got {uri!r:.200}")


def is_app_type(mime_type: object) -> bool:
    """Tell whether a MIME type is that of user interfaces; blanks and case do not count."""
    return isinstance(mime_type, str) and "".join(mime_type.split()).lower() == APP_MIME_TYPE
