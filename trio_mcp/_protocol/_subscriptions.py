"""Subscriptions to changes: what may happen, who is told of it, and how it is spelled.

Nothing here waits. A server decides with it what to honour and what to send, a client what an
arriving notification means and when to hand it out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from trio_mcp import types
from trio_mcp._checks import check_text, wrong_kind
from trio_mcp._codec import checked_copy
from trio_mcp.types import SUBSCRIPTION_ID_META_KEY
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types import ServerCapabilities
    from trio_mcp.types._base import JsonObject, JsonValue

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

FIRST_INTERVAL: Final = 0.1
LONGEST_INTERVAL: Final = 5.0
"""Seconds between two tellings that the same list has changed: from the first, twice as many
each time that it goes on, up to the longest."""


@attrs.frozen
class ToolsListChanged:
    """The list of tools is another one now."""


@attrs.frozen
class PromptsListChanged:
    """The list of prompts is another one now."""


@attrs.frozen
class ResourcesListChanged:
    """The list of resources, or of resource templates, is another one now."""


def _check_uri(event: ResourceUpdated, attribute: object, uri: str) -> None:
    # Here, since what is told of it is written by tasks behind, for everybody.
    del event, attribute
    check_text("uri", uri)
    checked_copy(uri, "uri")


@attrs.frozen
class ResourceUpdated:
    """The contents of a resource are others now.

    Attributes:
      uri: The resource's; it may lie below the URI that was subscribed to.

    Raises:
      TypeError, ValueError: if the URI is no text, or cannot be JSON.

    """

    uri: str = attrs.field(validator=_check_uri)


ServerEvent: TypeAlias = (
    ToolsListChanged | PromptsListChanged | ResourcesListChanged | ResourceUpdated
)


@attrs.frozen
class EventsLost:
    """Events were lost on their way: anything may have changed.

    A `SubscriptionBus` tells it to its listeners after it could not hear of events for a while.
    Whoever listens is told then that all has changed that they asked about.
    """


_UPDATED: Final = "notifications/resources/updated"
_LIST_CHANGES: Final[dict[str, ServerEvent]] = {
    "notifications/tools/list_changed": ToolsListChanged(),
    "notifications/prompts/list_changed": PromptsListChanged(),
    "notifications/resources/list_changed": ResourcesListChanged(),
}
LIST_EVENTS: Final = tuple(_LIST_CHANGES.values())
_EVENT_CLASSES: Final = frozenset({ResourceUpdated, *map(type, LIST_EVENTS)})
_METHOD_OF: Final = {event: method for method, event in _LIST_CHANGES.items()}


def check_event(event: object) -> None:
    """Check what is published, by whom it is: it is told by tasks behind.

    Raises:
      TypeError: if it is no event.

    """
    if event.__class__ not in _EVENT_CLASSES:
        raise wrong_kind("event", "an event, such as ToolsListChanged()", event)


def write_event(event: ServerEvent) -> tuple[str, JsonObject]:
    """Give the method and the params of the notification that tells an event."""
    if isinstance(event, ResourceUpdated):
        return _UPDATED, {"uri": event.uri}
    return _METHOD_OF[event], {}


def read_event(method: str, params: JsonObject) -> ServerEvent | None:
    """Read a notification; None when it tells no such event."""
    if method == _UPDATED:
        uri = params.get("uri")
        return ResourceUpdated(uri) if isinstance(uri, str) else None
    return _LIST_CHANGES.get(method)


def subscription_id_of(params: JsonObject) -> JsonValue:
    """Read which subscription a notification belongs to; None when it names none."""
    meta = params.get("_meta")
    return meta.get(SUBSCRIPTION_ID_META_KEY) if is_object(meta) else None


def can_subscribe(capabilities: ServerCapabilities) -> bool:
    """Tell whether a server announces any change that could be told."""
    everything = types.SubscriptionFilter(
        tools_list_changed=True,
        prompts_list_changed=True,
        resources_list_changed=True,
        resource_subscriptions=["every:resource"],
    )
    return honor(everything, capabilities) != types.SubscriptionFilter()


def honor(
    wanted: types.SubscriptionFilter, capabilities: ServerCapabilities
) -> types.SubscriptionFilter:
    """Cut a filter down to what a server with these capabilities tells (subscriptions).

    What is not told is left out of the answer, rather than written as false.
    """
    tools, prompts, resources = capabilities.tools, capabilities.prompts, capabilities.resources
    subscribes = resources is not None and resources.subscribe
    return types.SubscriptionFilter(
        tools_list_changed=_both(wanted.tools_list_changed, tools and tools.list_changed),
        prompts_list_changed=_both(wanted.prompts_list_changed, prompts and prompts.list_changed),
        resources_list_changed=_both(
            wanted.resources_list_changed, resources and resources.list_changed
        ),
        resource_subscriptions=(list(wanted.resource_subscriptions or ()) or None)
        if subscribes
        else None,
    )


def _both(wanted: object, told: object) -> bool | None:
    return True if wanted and told else None


@attrs.frozen(eq=False)
class Selection:
    """A filter, ready to be asked about many events."""

    kinds: frozenset[ServerEvent]
    uris: frozenset[str]

    @classmethod
    def of(cls, honored: types.SubscriptionFilter) -> Selection:
        """Read a filter."""
        kinds: dict[ServerEvent, bool | None] = {
            ToolsListChanged(): honored.tools_list_changed,
            PromptsListChanged(): honored.prompts_list_changed,
            ResourcesListChanged(): honored.resources_list_changed,
        }
        return cls(
            frozenset(event for event, wanted in kinds.items() if wanted),
            frozenset(honored.resource_subscriptions or ()),
        )

    def tells(self, event: ServerEvent, covers: Callable[[str, str], bool] | None = None) -> bool:
        """Decide, as a server, whether an event is told.

        Args:
          event: What happened.
          covers: Whether a subscribed URI stands for another one as well; when None, only for
              itself.

        """
        if not isinstance(event, ResourceUpdated):
            return event in self.kinds
        if event.uri in self.uris:
            return True
        return covers is not None and any(covers(each, event.uri) for each in self.uris)

    def everything(self) -> list[ServerEvent]:
        """Return one event of each kind, for when anything may have happened."""
        lists = [event for event in LIST_EVENTS if event in self.kinds]
        return [*lists, *map(ResourceUpdated, sorted(self.uris))]

    def told_by(
        self, event: ServerEvent | EventsLost, covers: Callable[[str, str], bool] | None = None
    ) -> list[ServerEvent]:
        """Return what is told, as a server, of what a bus has said; see `tells`."""
        if isinstance(event, EventsLost):
            return self.everything()
        return [event] if self.tells(event, covers) else []

    def admits(self, event: ServerEvent) -> bool:
        """Decide, as a client, whether an event belongs here.

        An update may name a resource below a subscribed one, which only the server knows.
        """
        if isinstance(event, ResourceUpdated):
            return bool(self.uris)
        return event in self.kinds


@attrs.define(eq=False)
class Pacing:
    """When the same list may be called changed again.

    Whoever hears of a change asks for the list anew. Where that is itself taken for a change,
    by a careless server, the two would keep each other busy for ever: so the first telling
    comes at once, and each that follows closely on it waits twice as long as the one before.
    Updates of a resource are not held back.
    """

    _last: dict[ServerEvent, tuple[float, float]] = attrs.Factory(dict[Any, Any])
    # {event: (when it was told, how long the next one waits)}

    def due(self, event: ServerEvent) -> float:
        """Say from when on an event may be told."""
        told, interval = self._last.get(event, (-math.inf, 0.0))
        return told + interval

    def told(self, event: ServerEvent, now: float) -> None:
        """Take note that an event is told now."""
        if isinstance(event, ResourceUpdated):
            return
        before, interval = self._last.get(event, (-math.inf, FIRST_INTERVAL))
        follows_closely = now - before <= 2 * interval
        self._last[event] = (
            now,
            min(2 * interval, LONGEST_INTERVAL) if follows_closely else FIRST_INTERVAL,
        )
