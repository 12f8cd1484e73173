"""For hosts: what they may show to whom, and what a user interface may reach.

All of it is read out of what a server wrote, and nothing of that is believed: what cannot be read
allows nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._checks import check_kind
from trio_mcp._codec import DecodeError, decode, excerpt
from trio_mcp._codec._base64 import decode_base64
from trio_mcp.client import Client, ClientExtension, ClientSession
from trio_mcp.errors import InvalidResponse
from trio_mcp.extensions._reading import read_one
from trio_mcp.types import TextResourceContents
from trio_mcp.types._base import is_array, is_object
from trio_mcp.types._revisions import LATEST_MODERN

from ._wire import (
    APP_MIME_TYPE,
    META_KEY,
    OLD_URI_KEY,
    UI,
    ResourceCsp,
    ResourceUI,
    check_ui_uri,
    is_app_type,
    is_ui_uri,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trio_mcp.types import JsonObject, JsonValue, Tool

    from ._wire import Visibility


class AppsClientExtension(ClientExtension):
    """Declares that the client shows user interfaces of `APP_MIME_TYPE`. It is a host then."""

    identifier = UI

    def settings(self) -> dict[str, Any]:
        """See `ClientExtension.settings`."""
        return {"mimeTypes": [APP_MIME_TYPE]}


@attrs.frozen
class ToolUI:
    """What a tool says of its user interface.

    Attributes:
      resource_uri: Of the user interface; None where it has none.
      visibility: For whom the tool is; nobody, where what it says cannot be read.

    """

    resource_uri: str | None
    visibility: frozenset[Visibility]

    @classmethod
    def of(cls, tool: Tool) -> ToolUI:
        """Read it out of a tool. The older key ``ui/resourceUri`` is read, too."""
        meta = tool.meta or {}
        said: Any = meta.get(META_KEY, {})
        ui: JsonObject = said if is_object(said) else {"visibility": said}
        uri = ui.get("resourceUri", meta.get(OLD_URI_KEY))
        return cls(uri if is_ui_uri(uri) else None, _visibility(ui))


def _visibility(ui: JsonObject) -> frozenset[Visibility]:
    named: JsonValue = ui.get("visibility", ["model", "app"])
    if not is_array(named):
        return frozenset()
    known: tuple[Visibility, ...] = ("model", "app")
    return frozenset(each for each in known if each in named)


def tools_for_model(tools: Iterable[Tool]) -> list[Tool]:
    """Give the tools that a model may know; the others are for apps alone."""
    return [tool for tool in tools if "model" in ToolUI.of(tool).visibility]


def is_callable_by_app(tool: Tool) -> bool:
    """Tell whether an app may call a tool. Only one of the same server may, in any case."""
    return "app" in ToolUI.of(tool).visibility


@attrs.frozen
class AppDocument:
    """A user interface, as it was read.

    Attributes:
      uri: ``ui://…``
      html: The document. Untrusted: show it in a sandbox.
      ui: What it says of itself.

    """

    uri: str
    html: str
    ui: ResourceUI

    @property
    def content_security_policy(self) -> str:
        """The policy to show it with; see `content_security_policy`."""
        return content_security_policy(self.ui.csp)


async def read_app(client: Client | ClientSession, uri: str) -> AppDocument:
    """Read a user interface from the server that names it.

    Args:
      client: Connected to the server whose tool named it: a `Client`, or a `ClientSession`, such
        as one of a `ClientSessionGroup`.
      uri: As `ToolUI.resource_uri`.

    Raises:
      TypeError: if the client is something else.
      ValueError: if the URI does not begin with ``ui://``.
      InvalidResponse: if what is there is no HTML of a user interface, or what came is something
        else than was asked for.
      MCPError: as `Client.read_resource`.

    """
    check_kind("client", client, (Client, ClientSession))
    check_ui_uri("uri", uri)
    content = await read_one(client, uri)
    if not is_app_type(content.mime_type):
        raise InvalidResponse(
            f"{excerpt(uri)}: a document of {APP_MIME_TYPE} was expected, got "
            f"{excerpt(str(content.mime_type))}"
        )
    try:
        if isinstance(content, TextResourceContents):
            html = content.text
        else:
            html = decode_base64(content.blob).decode()
        said: Any = (content.meta or {}).get(META_KEY, {})
        ui = decode(ResourceUI, said, LATEST_MODERN, where="_meta.ui")
    except (DecodeError, ValueError) as exc:
        raise InvalidResponse(f"{excerpt(uri)} cannot be shown: {excerpt(str(exc))}") from exc
    return AppDocument(uri, html, ui)


_OWN: Final = "'self'"
_INLINE: Final = "'self' 'unsafe-inline'"

# A scheme, a host with at most one `*.` before it, a port, a path: nothing that could end a
# directive, or mean more than an origin. A bare `*`, or a scheme alone, is anything there is.
_SOURCE: Final = re.compile(
    r"(?:https?|wss?)://(?:\*\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*(?::[0-9]{1,5})?"
    r"(?:/[A-Za-z0-9._~%/-]*)?"
)


def content_security_policy(csp: ResourceCsp | None = None) -> str:
    """Write the policy for a user interface: what it declared, and nothing beyond.

    Without a declaration it reaches nothing but itself. What is no origin, as ``*``, is left out.

    Args:
      csp: What it declared.

    Returns:
      The value of the header ``Content-Security-Policy``.

    """
    csp = csp or ResourceCsp()
    resources = _sources(csp.resource_domains)
    directives = {
        "default-src": ["'none'"],
        "script-src": [_INLINE, *resources],
        "style-src": [_INLINE, *resources],
        "img-src": [_OWN, "data:", *resources],
        "font-src": [_OWN, *resources] if resources else [],
        "media-src": [_OWN, "data:", *resources],
        "connect-src": _sources(csp.connect_domains) or ["'none'"],
        "frame-src": _sources(csp.frame_domains) or ["'none'"],
        "object-src": ["'none'"],
        "base-uri": _sources(csp.base_uri_domains) or [_OWN],
    }
    return "; ".join(f"{name} {' '.join(each)}" for name, each in directives.items() if each)


def _sources(domains: list[str] | None) -> list[str]:
    return [each for each in domains or () if _SOURCE.fullmatch(each)]
