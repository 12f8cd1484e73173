"""Serving ``subscriptions/listen``: what the server publishes goes to all who listen."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import AsyncExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs
import trio

from trio_mcp import types
from trio_mcp._checks import check_block, check_mapping, check_text
from trio_mcp._codec import checked_copy, encode
from trio_mcp._protocol._refusals import invalid_params, invalid_request, method_not_found
from trio_mcp._protocol._subscriptions import (
    ACKNOWLEDGED,
    Selection,
    can_subscribe,
    check_event,
    honor,
    write_event,
)
from trio_mcp.errors import MCPError
from trio_mcp.types import INTERNAL_ERROR, SUBSCRIPTION_ID_META_KEY

from ._kept import MAX_URI_LENGTH, MAX_URIS_LENGTH, check_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._protocol._subscriptions import EventsLost, ServerEvent
    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp.types import (
        SubscribeRequestParams,
        SubscriptionFilter,
        SubscriptionsListenRequestParams,
        UnsubscribeRequestParams,
    )
    from trio_mcp.types._base import JsonObject, JsonValue

    from ._connection import ServerConnection
    from ._context import ServerRequestContext

    Covers = Callable[[str, str], bool]

logger: Final = logging.getLogger("trio_mcp.server")

MAX_SUBSCRIBED: Final = 1_024
"""URIs that one session of the older era may subscribe to."""

_LIMIT_REACHED: Final = "Subscription limit reached"


class SubscriptionBus(Protocol):
    """Takes what has changed to all who want to know, also in other processes if it likes.

    One bus may serve several servers. `RedisSubscriptionBus`, say, publishes to a channel of
    Redis, and tells its listeners what arrives from there. A bus that needs something to run
    meanwhile has a method ``open`` without arguments, which returns an asynchronous context
    manager: each server enters it before its lifespan, and leaves it after that.
    """

    async def publish(self, event: ServerEvent) -> None:
        """Tell an event to every listener."""
        ...

    def subscribe(
        self, listener: Callable[[ServerEvent | EventsLost], None]
    ) -> Callable[[], None]:
        """Have a function called with each event, in the order in which they were published.

        A bus that may have missed some tells `EventsLost` when it hears again. The listeners of
        this package do not raise, return at once and may be called from any thread.

        Returns:
          What takes it back; it may be called more than once.

        """
        ...


class TellFnT(Protocol):
    """Sends a notification of an extension on one subscription."""

    def __call__(self, method: str, params: JsonObject) -> None:
        """Have it sent soon, in order; from any thread. Once the subscription is over, nothing.

        Raises:
          TypeError, ValueError: if that is no notification.

        """
        ...


class AcceptFnT(Protocol):
    """Serves the part of a subscription that belongs to an extension."""

    def __call__(
        self, ctx: ServerRequestContext[Any, Any], wanted: JsonValue, tell: TellFnT, /
    ) -> AbstractAsyncContextManager[JsonValue]:
        """Return a block round the stream; see `Server.add_subscription`."""
        ...


@attrs.frozen(eq=False)
class _Told:
    """A notification of an extension."""

    method: str
    params: JsonObject


def open_bus(bus: SubscriptionBus) -> AbstractAsyncContextManager[object]:
    """Have a bus run what it needs, as long as the block lasts."""
    opens: Callable[[], AbstractAsyncContextManager[object]] | None = getattr(bus, "open", None)
    return nullcontext() if opens is None else opens()


class InMemorySubscriptionBus:
    """A bus within this process: publishing calls the listeners one after the other."""

    def __init__(self) -> None:
        # A function may be there more than once, so each subscription is an object of its own.
        self._listeners: dict[object, Callable[[ServerEvent | EventsLost], None]] = {}

    async def publish(self, event: ServerEvent) -> None:
        """Tell an event to every listener; one that raises is logged, and the next one told.

        Raises:
          TypeError: if it is no event.

        Cancellation:
          All have been told, or none.

        """
        check_event(event)
        await trio.lowlevel.checkpoint_if_cancelled()
        self.tell(event)
        # A burst of events gives the streams their turn in between.
        await trio.lowlevel.cancel_shielded_checkpoint()

    def tell(self, event: ServerEvent | EventsLost) -> None:
        """Do the same without a wait."""
        for listener in list(self._listeners.values()):
            try:
                listener(event)
            except Exception:
                logger.exception("A listener of a subscription bus failed")

    def subscribe(
        self, listener: Callable[[ServerEvent | EventsLost], None]
    ) -> Callable[[], None]:
        """See `SubscriptionBus.subscribe`."""
        subscription = object()
        self._listeners[subscription] = listener

        def unsubscribe() -> None:
            self._listeners.pop(subscription, None)

        return unsubscribe


@attrs.define(eq=False)
class ListenStream:
    """One subscription: the events that wait to be sent, and how it ends.

    What belongs to it is touched only in the run of Trio that serves it; `deliver` and `end`
    may be called from anywhere.
    """

    _selection: Selection
    _covers: Covers | None
    _room: int
    overflowed: bool = False
    sending: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    _ended: bool = False
    _events: deque[ServerEvent | _Told] = attrs.field(factory=deque["ServerEvent | _Told"])
    _changed: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)
    _run: trio.lowlevel.TrioToken = attrs.field(factory=trio.lowlevel.current_trio_token)

    def deliver(self, event: ServerEvent | EventsLost) -> None:
        """Take an event of the bus."""
        told = self._selection.told_by(event, self._covers)
        if told:
            call_in(self._run, self._append, told)

    def tell(self, method: str, params: JsonObject) -> None:
        """See `TellFnT`."""
        check_text("method", method)
        check_mapping("params", params, expected="an object of JSON")
        check_mapping("params['_meta']", params.get("_meta") or {}, expected="an object of JSON")
        # It is sent later, and by then its author may have changed it.
        told = _Told(method, checked_copy(dict(params), "params"))
        call_in(self._run, self._append, [told])

    def end(self) -> None:
        """Send what waits, and then the end."""
        call_in(self._run, self._end)

    def _append(self, told: Sequence[ServerEvent | _Told]) -> None:
        if self._ended:
            return
        if len(self._events) + len(told) <= self._room:
            self._events += told
            self._changed.unpark_all()
        else:
            # Whoever does not read is not waited for: events are lost from here on, so the
            # subscription ends, and its client is told that it was not in good order.
            self.overflowed = self._ended = True
            self._events.clear()
            self.sending.cancel(reason="the client of a subscription does not read")

    def _end(self) -> None:
        self._ended = True
        self._changed.unpark_all()

    async def next(self) -> ServerEvent | _Told | None:
        """Wait for an event; None at the end."""
        while not self._events:
            if self._ended:
                return None
            await self._changed.park()
        return self._events.popleft()


class ListenHandler:
    """Serves ``subscriptions/listen``, as ``on_subscriptions_listen`` of a `Server`.

    What extensions have clients listen to is added by `Server.add_subscription`.

    A subscription begins with an acknowledgement of what will be told: of what was asked for,
    the part that the server's capabilities announce. It goes on until its client ends it, the
    server stops or `close` is called, and then ends with a result.

    Args:
      bus: Where events come from.
      max_subscriptions: How many there may be at the same time; more are refused.
      max_buffered_events: How many events may wait for a client that does not read. With one
          more its subscription ends with an error.
      covers: Whether a URI that was subscribed to (the first argument) stands for another
          one (the second) as well. When None each stands for itself alone.

    """

    def __init__(
        self,
        bus: SubscriptionBus,
        *,
        max_subscriptions: int = 1024,
        max_buffered_events: int = 1024,
        covers: Covers | None = None,
    ) -> None:
        self._bus = bus
        self._max_subscriptions = max_subscriptions
        self._max_buffered_events = max_buffered_events
        self._covers = covers
        self._streams: set[ListenStream] = set()

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve one subscription, until its end.

        Raises:
          MCPError: -32601 if the server announces no changes at all, -32602 if it asks for more
              than is kept for a stream, -32603 if there are too many subscriptions, or if this
              one's client does not read; what an extension refuses its part with.

        """
        exchange = ctx.exchange
        if exchange is None or not exchange.accepted.revision.has_subscription_streams:
            raise invalid_request("subscriptions/listen is a request of protocol 2026-07-28")
        check_kept(exchange)
        honored = _honor(ctx, params.notifications)
        if len(self._streams) >= self._max_subscriptions:
            raise MCPError(INTERNAL_ERROR, _LIMIT_REACHED)
        result = types.SubscriptionsListenResult(
            meta={**ctx.server.server_info_stamp, SUBSCRIPTION_ID_META_KEY: exchange.id}
        )
        stream = ListenStream(Selection.of(honored), self._covers, self._max_buffered_events)
        # From here on, so that nothing is missed while the acknowledgement is on its way.
        unsubscribe = self._bus.subscribe(stream.deliver)
        connection: ServerConnection = exchange.connection
        self._streams.add(stream)
        connection.streams.add(stream)
        try:
            with stream.sending:
                async with AsyncExitStack() as stack:
                    others = await _accept_others(ctx, params.notifications, stream, stack)
                    await _acknowledge(exchange, honored.evolve(extra=others))
                    exchange.begin_stream(encode(result, exchange.accepted.revision))
                    await _send_events(exchange, stream)
        finally:
            self._streams.discard(stream)
            connection.streams.discard(stream)
            _unsubscribe(unsubscribe)
        if stream.overflowed:
            raise MCPError(
                INTERNAL_ERROR,
                f"More than {self._max_buffered_events} events wait for this subscription: "
                "listen again, and ask anew for what has changed",
            )
        return result

    def close(self) -> None:
        """End all subscriptions, in good order. May be called from any thread.

        Each still sends the events that wait, and then its result; this does not wait for it.
        """
        for stream in list(self._streams):
            stream.end()


def _honor(ctx: ServerRequestContext[Any, Any], wanted: SubscriptionFilter) -> SubscriptionFilter:
    server = ctx.server
    capabilities = server.get_capabilities(protocol_version=ctx.protocol_version)
    # Extensions may have notifications of their own, for which a filter has further keys.
    if not can_subscribe(capabilities) and not server.extensions:
        raise method_not_found("subscriptions/listen")
    return honor(wanted, capabilities)


async def _accept_others(
    ctx: ServerRequestContext[Any, Any],
    wanted: SubscriptionFilter,
    stream: ListenStream,
    stack: AsyncExitStack,
) -> JsonObject:
    """Enter what extensions have for the members of a filter that the protocol does not know."""
    accepted: JsonObject = {}
    for key, accept in ctx.server.subscriptions.items():
        if key in wanted.extra:
            block = accept(ctx, wanted.extra[key], stream.tell)
            check_block(f"what serves the subscription to {key!r}", block)
            honored = await stack.enter_async_context(block)
            if honored is not None:
                accepted[key] = checked_copy(honored, f"what is accepted of {key!r}")
    return accepted


async def _acknowledge(exchange: Exchange, honored: SubscriptionFilter) -> None:
    params = types.SubscriptionsAcknowledgedNotificationParams(
        notifications=honored, meta={SUBSCRIPTION_ID_META_KEY: exchange.id}
    )
    await exchange.notify(ACKNOWLEDGED, encode(params, exchange.accepted.revision))


async def _send_events(exchange: Exchange, stream: ListenStream) -> None:
    meta: JsonObject = {SUBSCRIPTION_ID_META_KEY: exchange.id}
    while (event := await stream.next()) is not None:
        if isinstance(event, _Told):
            method, params = event.method, event.params
        else:
            method, params = write_event(event)
        own: JsonObject = params.get("_meta") or {}
        await exchange.notify(method, {**params, "_meta": {**own, **meta}})


def _unsubscribe(unsubscribe: Callable[[], None]) -> None:
    try:
        unsubscribe()
    except Exception:
        logger.exception("A subscription bus failed to unsubscribe a listener")


def call_in(run: trio.lowlevel.TrioToken, function: Callable[..., None], *args: Any) -> None:
    """Call a function in a run of Trio: at once if this is the one, soon otherwise.

    Does nothing when that run is over.
    """
    try:
        here = trio.lowlevel.current_trio_token()
    except RuntimeError:
        here = None
    if here is run:
        function(*args)
        return
    with suppress(trio.RunFinishedError):
        run.run_sync_soon(function, *args)


# The older era: a session subscribes to each resource by a request of its own.


async def subscribe_resource(
    ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams
) -> types.EmptyResult:
    """Serve ``resources/subscribe``, as ``on_subscribe_resource``, for `Server.serve_changes`.

    Raises:
      MCPError: -32602 if the URI is longer than `MAX_URI_LENGTH`; -32603 if the session has
          subscribed to `MAX_SUBSCRIBED` others already, or all would be longer than
          `MAX_URIS_LENGTH`.

    """
    await trio.lowlevel.checkpoint()
    subscribed, uri = _subscribed(ctx), params.uri
    if len(uri) > MAX_URI_LENGTH:
        raise invalid_params(
            f"The URI has {len(uri)} characters, at most {MAX_URI_LENGTH} are subscribed to"
        )
    if uri not in subscribed:
        length = len(uri) + sum(map(len, subscribed))
        if len(subscribed) >= MAX_SUBSCRIBED or length > MAX_URIS_LENGTH:
            raise MCPError(INTERNAL_ERROR, _LIMIT_REACHED)
    subscribed.add(uri)
    return types.EmptyResult()


async def unsubscribe_resource(
    ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
) -> types.EmptyResult:
    """Serve ``resources/unsubscribe``; what was not subscribed to is no mistake."""
    await trio.lowlevel.checkpoint()
    _subscribed(ctx).discard(params.uri)
    return types.EmptyResult()


def _subscribed(ctx: ServerRequestContext[Any, Any]) -> set[str]:
    assert ctx.exchange is not None
    connection: ServerConnection = ctx.exchange.connection
    return connection.subscribed
