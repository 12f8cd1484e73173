"""What a server says it can do: only what it has handlers for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import attrs

from trio_mcp import types

if TYPE_CHECKING:
    from collections.abc import Container

    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._context import ServerRequestContext


class AnnounceFnT(Protocol):
    """Completes what is announced to a client: see `Server.add_announcer`."""

    def __call__(
        self, announced: types.ServerCapabilities, ctx: ServerRequestContext[Any, Any], /
    ) -> types.ServerCapabilities:
        """Return the capabilities, or a changed copy of them."""
        ...


@attrs.define
class NotificationOptions:
    """Which changes the server tells its clients of in the older era's sessions."""

    prompts_changed: bool = False
    resources_changed: bool = False
    tools_changed: bool = False


def compute_capabilities(
    handled: Container[str],
    revision: Revision,
    options: NotificationOptions,
    experimental: dict[str, JsonObject] | None = None,
    extensions: dict[str, JsonObject] | None = None,
) -> types.ServerCapabilities:
    """Compute the capabilities of a server from the methods it handles.

    In the modern era changes travel on ``subscriptions/listen`` streams, so a server that
    serves those announces changes of every list it has; in the older era it announces what
    ``options`` say that it sends.
    """
    streams = revision.has_subscription_streams
    listens = streams and "subscriptions/listen" in handled
    subscribes = listens if streams else "resources/subscribe" in handled

    def changes(announced: bool) -> bool | None:
        return True if (listens if streams else announced) else None

    return types.ServerCapabilities(
        prompts=types.PromptsCapability(list_changed=changes(options.prompts_changed))
        if "prompts/list" in handled
        else None,
        resources=types.ResourcesCapability(
            subscribe=True if subscribes else None, list_changed=changes(options.resources_changed)
        )
        if "resources/list" in handled
        else None,
        tools=types.ToolsCapability(list_changed=changes(options.tools_changed))
        if "tools/list" in handled
        else None,
        logging=types.LoggingCapability() if "logging/setLevel" in handled else None,
        completions=types.CompletionsCapability() if "completion/complete" in handled else None,
        experimental=experimental or None,
        extensions=extensions or None,
    )
