"""How an `MCPServer` tells its clients what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from trio_mcp import types
from trio_mcp.server import (
    InMemorySubscriptionBus,
    ListenHandler,
    NotificationOptions,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from ._serving_base import ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from trio_mcp.server import SubscriptionBus


class TellsChanges(ServingBase[LifespanResultT]):
    """Lists that change tell so by themselves; the rest is told by these methods.

    One call reaches clients of both eras: those that listen, and the sessions of older ones.
    """

    def _open_changes(self, subscriptions: SubscriptionBus | Literal[False] | None) -> None:
        bus = subscriptions or InMemorySubscriptionBus()
        server = self._lowlevel_server
        server.serve_changes(bus)
        server.notification_options = NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        if subscriptions is not False:
            server.add_request_handler(
                "subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(bus)
            )

    async def notify_tools_changed(self) -> None:
        """Tell clients that the list of tools is another one now.

        Adding and removing tools tells so by itself, a moment after the last change.
        """
        await self._lowlevel_server.publish(ToolsListChanged())

    async def notify_prompts_changed(self) -> None:
        """The same for prompts."""
        await self._lowlevel_server.publish(PromptsListChanged())

    async def notify_resources_changed(self) -> None:
        """The same for resources and resource templates."""
        await self._lowlevel_server.publish(ResourcesListChanged())

    async def notify_resource_updated(self, uri: str) -> None:
        """Tell clients that subscribed to a resource that its contents are others now."""
        await self._lowlevel_server.publish(ResourceUpdated(str(uri)))
