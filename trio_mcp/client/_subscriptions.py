"""Listening for what changes on a server (subscriptions, 2026-07-28)."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

import attrs
import trio

from trio_mcp import types
from trio_mcp._checks import awaited, check_callable, check_flag, check_items, check_kind
from trio_mcp._codec import DecodeError, decode, excerpt
from trio_mcp._protocol._subscriptions import (
    ACKNOWLEDGED,
    Pacing,
    Selection,
    ServerEvent,
    read_event,
    subscription_id_of,
)
from trio_mcp._rpc._block import guarded_block
from trio_mcp._rpc._calls import MAX_LAG
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._repeats import Repeats
from trio_mcp.errors import ConnectionLost, LocalError, MCPError, RequestTimeout
from trio_mcp.types import CONNECTION_CLOSED, METHOD_NOT_FOUND
from trio_mcp.types._revisions import LATEST_MODERN

from ._session_agreement import AgreedSession

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from trio_mcp.types import RequestId
    from trio_mcp.types._base import JsonObject

    from ._session import ClientSession

    OnEvent: TypeAlias = Callable[[ServerEvent], Awaitable[None]]

logger: Final = logging.getLogger("trio_mcp.client")


class ListenNotSupportedError(LocalError, RuntimeError):
    """The server has nothing to listen to: it is of the older era, or never tells changes.

    Attributes:
      negotiated_version: The revision that the session speaks.

    """

    __module__ = "trio_mcp.client"

    CODE: ClassVar[int] = METHOD_NOT_FOUND

    def __init__(self, negotiated_version: str | None) -> None:
        super().__init__(
            f"The server has no subscriptions/listen (protocol version {negotiated_version}). An "
            "older one tells changes to the message_handler, those of a resource after "
            "subscribe_resource()"
        )
        self.negotiated_version = negotiated_version
        self.args = (negotiated_version,)


class SubscriptionLost(LocalError, RuntimeError):
    """A subscription ended, and its server did not mean it to: events may have been missed.

    Listen again, and ask anew for what was listened to. The cause is what ended it.
    """

    __module__ = "trio_mcp.client"

    CODE: ClassVar[int] = CONNECTION_CLOSED


@attrs.define(eq=False)
class ListenRoute:
    """What has arrived of one subscription. The task that reads the wire feeds it."""

    requested: types.SubscriptionFilter
    subscription_id: RequestId | None = None
    honored: types.SubscriptionFilter | None = None
    end: Literal["graceful", "lost", "local"] | None = None
    error: MCPError | None = None
    lost_events: int = 0
    _interrupted: bool = False
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    # In the order of arrival; an event that waits already is not repeated.
    pending: dict[ServerEvent, None] = attrs.field(factory=dict[ServerEvent, None])
    _selection: Selection | None = None
    _changed: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)
    _repeats: Repeats = attrs.field(factory=Repeats)

    def take(self, method: str, params: JsonObject) -> None:
        """Take a notification of this subscription."""
        if self.end is not None:
            return
        if method == ACKNOWLEDGED:
            self._acknowledged(params)
            return
        event = read_event(method, params)
        if event is None or self._selection is None or not self._selection.admits(event):
            logger.debug("A notification that was not subscribed to was dropped: %s", method)
            return
        self._put(event)
        self._changed.unpark_all()

    def _put(self, event: ServerEvent) -> None:
        if event not in self.pending:
            self._make_room()
            self.pending[event] = None

    def _acknowledged(self, params: JsonObject) -> None:
        if self.honored is not None and not self._interrupted:
            return
        try:
            read = decode(
                types.SubscriptionsAcknowledgedNotificationParams,
                params,
                LATEST_MODERN,
                where="params",
            )
        except DecodeError as exc:
            self._repeats.warn(
                logger,
                "An acknowledgement of a subscription was dropped: %s",
                excerpt(str(exc)),
            )
            return
        self.acknowledge(read.notifications, subscription_id_of(params))

    def acknowledge(self, honored: types.SubscriptionFilter, subscription_id: object) -> None:
        """Begin: the server has said what it will tell."""
        if isinstance(subscription_id, (int, str)):
            self.subscription_id = subscription_id
        # Without an id it came on a carrier that needs none to know whose it is.
        self.honored = honored
        self._selection = Selection.of(honored)
        if self._interrupted:
            self._interrupted = False
            for event in self._selection.everything():
                self._put(event)
        self._changed.unpark_all()

    def interrupt(self) -> None:
        """The server has died, and another one takes over.

        What changed in between nobody tells: all that the new one tells about counts as changed.
        """
        self._interrupted = True
        self._selection = None

    def _make_room(self) -> None:
        if len(self.pending) < MAX_LAG:
            return
        if not self.lost_events:
            logger.warning(
                "Events of subscription %r are lost: nobody has taken the last %d",
                self.subscription_id,
                MAX_LAG,
            )
        self.lost_events += 1
        del self.pending[next(iter(self.pending))]

    def settle(
        self, end: Literal["graceful", "lost", "local"], error: MCPError | None = None
    ) -> None:
        """End; the first reason counts."""
        if self.end is None:
            self.end, self.error = end, error
            self._changed.unpark_all()

    def take_error(self) -> MCPError | None:
        """Give away what ended it: kept here, the error and its frames would be a cycle."""
        error, self.error = self.error, None
        return error

    async def wait_begun(self) -> None:
        """Wait for the acknowledgement, or for the end."""
        while self.honored is None and self.end is None:
            await self._changed.park()

    async def wait_changed(self, deadline: float) -> None:
        """Wait for anything to arrive, at most until the deadline."""
        with trio.move_on_at(deadline):
            await self._changed.park()


class Subscription:
    """The events of one subscription, for ``async for``; made by `listen`.

    It holds nothing open between two events: leave the loop whenever you like, and begin
    another one. An event that has not been taken yet is not repeated, and a list that goes on
    changing is told less and less often, the last change always. Whoever lags 10,000 events
    behind loses the oldest.

    Attributes:
      subscription_id: The id of the request that opened it; None if the server did not say.
      requested: Which changes were asked for.
      honored: Which of them the server tells; compare the two.

    """

    def __init__(
        self,
        route: ListenRoute,
        subscription_id: RequestId | None,
        honored: types.SubscriptionFilter,
        on_event: OnEvent | None = None,
    ) -> None:
        self._route = route
        self._on_event = on_event
        self._pacing = Pacing()
        self.subscription_id = subscription_id
        self.honored = honored
        self.requested = route.requested

    @property
    def lost_events(self) -> int:
        """How many events were lost because nobody took them."""
        return self._route.lost_events

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> ServerEvent:
        """Wait for the next event. The loop ends when the server ends the subscription.

        Raises:
          SubscriptionLost: if it ended otherwise, once all events before that were taken.

        """
        await trio.lowlevel.checkpoint()
        route = self._route
        while True:
            event = self._next_due()
            if event is not None:
                return await self._hand_out(event)
            if route.end == "lost":
                raise _lost(self.subscription_id, route.error)
            if route.end is not None:
                raise StopAsyncIteration
            waiting = (self._pacing.due(each) for each in route.pending)
            await route.wait_changed(min(waiting, default=float("inf")))

    def _next_due(self) -> ServerEvent | None:
        route = self._route
        if route.end == "local":
            return None
        now = trio.current_time()
        for event in route.pending:
            if route.end is not None or self._pacing.due(event) <= now:
                return event
        return None

    async def _hand_out(self, event: ServerEvent) -> ServerEvent:
        if self._on_event is not None:
            # It stays where it is until this is through: a cancelled caller loses nothing.
            await awaited("on_event", self._on_event(event))
        self._route.pending.pop(event, None)
        self._pacing.told(event, trio.current_time())
        return event

    async def aclose(self) -> None:
        """End the subscription before the block of `listen` does."""
        self._route.settle("local")
        self._route.scope.cancel(reason="the subscription was closed")
        await trio.lowlevel.checkpoint()


@guarded_block("listen")
@asynccontextmanager
async def listen(
    session: ClientSession,
    *,
    tools_list_changed: bool = False,
    prompts_list_changed: bool = False,
    resources_list_changed: bool = False,
    resource_subscriptions: Sequence[str] = (),
    on_event: OnEvent | None = None,
) -> AsyncGenerator[Subscription, None]:
    """Have a server tell what changes, for as long as the block lasts.

    Nothing is repeated: what changed before the block was entered, or between two
    subscriptions, is learnt by asking anew.

    Args:
      session: Must speak a modern revision.
      tools_list_changed: Tell when the list of tools changes; and so for its siblings.
      resource_subscriptions: URIs of resources to tell updates of.
      on_event: Awaited with each event before the loop gets it.

    Raises:
      ListenNotSupportedError: if the session is of the older era, or the server tells nothing.
      MCPError: if the server refused.
      ConnectionLost: if the connection ended before it had begun.
      RequestTimeout: if it did not begin within the session's ``read_timeout_seconds``.

    Cancellation:
      Entering and the loop may be cancelled at any time. Leaving tells the server, and does
      not wait for it.

    """
    check_kind("session", session, AgreedSession, "ClientSession")
    check_flag("tools_list_changed", tools_list_changed)
    check_flag("prompts_list_changed", prompts_list_changed)
    check_flag("resources_list_changed", resources_list_changed)
    check_items("resource_subscriptions", resource_subscriptions, str, "a list of URIs")
    if on_event is not None:
        check_callable("on_event", on_event)
    if session.revision is None or not session.revision.has_subscription_streams:
        raise ListenNotSupportedError(session.protocol_version)
    route = ListenRoute(
        types.SubscriptionFilter(
            tools_list_changed=tools_list_changed or None,
            prompts_list_changed=prompts_list_changed or None,
            resources_list_changed=resources_list_changed or None,
            resource_subscriptions=list(resource_subscriptions) or None,
        )
    )
    try:
        async with open_background_nursery() as nursery:
            nursery.start_soon(_follow, session, route, name="subscriptions/listen")
            yield await _begin(session, route, on_event)
    finally:
        route.settle("local")


async def _follow(session: ClientSession, route: ListenRoute) -> None:
    try:
        with route.scope:
            await _stay_subscribed(session, route)
    except MCPError as exc:
        route.settle("lost", exc.with_traceback(None))
        return
    if route.honored is None:
        route.acknowledge(types.SubscriptionFilter(), None)
    # The server's result is the end that it meant, whatever is in it.
    route.settle("graceful")


async def _stay_subscribed(session: ClientSession, route: ListenRoute) -> None:
    # Cancellation, stdio: a client that has restarted its server subscribes again.
    while True:
        try:
            await session.send_listen(route.requested, route.take)
        except ConnectionLost:
            if route.honored is None or not session.mends:
                raise
            route.interrupt()
        else:
            return


async def _begin(
    session: ClientSession, route: ListenRoute, on_event: OnEvent | None
) -> Subscription:
    seconds = session.read_timeout_seconds
    with trio.move_on_after(float("inf") if seconds is None else seconds) as scope:
        await route.wait_begun()
    if route.honored is not None:
        return Subscription(route, route.subscription_id, route.honored, on_event)
    if scope.cancelled_caught:
        raise RequestTimeout(f"subscriptions/listen: no acknowledgement within {seconds:g} s")
    error = route.take_error()
    assert error is not None
    try:
        if error.code == METHOD_NOT_FOUND:
            raise ListenNotSupportedError(session.protocol_version) from error
        raise error
    finally:
        del error


def _lost(subscription_id: RequestId | None, error: MCPError | None) -> SubscriptionLost:
    reason = "it ended" if error is None else error.message
    lost = SubscriptionLost(f"Subscription {subscription_id!r} was lost: {reason}")
    lost.__cause__ = error
    return lost
