"""A bus of changes that several processes share, by a channel of Redis."""

from __future__ import annotations

import logging
import secrets
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._codec import JsonError, dumps, loads
from trio_mcp._protocol._subscriptions import EventsLost, check_event, read_event, write_event
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._repeats import Repeats
from trio_mcp._rpc._trouble import Trouble
from trio_mcp.transports._redis import (
    DEFAULT_PREFIX,
    RedisAddress,
    RedisRefused,
    check_prefix,
    require_coredis,
)
from trio_mcp.transports._redis_link import RedisLink
from trio_mcp.types._base import is_object

from ._subscriptions import InMemorySubscriptionBus, call_in

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable

    from trio_mcp._protocol._subscriptions import ServerEvent
    from trio_mcp.transports._redis import RedisConnection

logger: Final = logging.getLogger("trio_mcp.redis")

MAX_UNSENT: Final = 10_000
"""Events that wait for Redis to come back. With one more they are given up, and the others are
told that events were lost, which says the same in one message."""

FLUSH_SECONDS: Final = 1.0
"""Seconds for the last events to reach Redis, when the last server stops."""


class RedisSubscriptionBus:
    """A `SubscriptionBus` for several processes that serve the same clients, over Redis.

    What one of them publishes, the listeners of all hear: those in the same process at once,
    and while Redis is away, too. ::

        mcp = MCPServer("shop", subscriptions=RedisSubscriptionBus("redis://localhost/0"))

    The server connects before its lifespan begins, and cannot start without. A connection that
    is lost later is made anew, after 0.1 to 5 seconds; what happened meanwhile in this process
    is published then, and since what happened in the others is not known, its listeners hear
    that everything may have changed (`EventsLost`).

    Needs the extra ``redis``, and Redis 6 or newer.

    Args:
      url: ``redis://user:password@host:port/db``, ``rediss://`` for TLS, or
        ``unix:///path?db=0``. It is not repeated in any message.
      prefix: Of the channel. Servers that shall not hear of each other have different ones.
      ssl_context: What is trusted with ``rediss://``, if it is not what the system trusts.

    Raises:
      ModuleNotFoundError: if coredis is not installed.
      TypeError, ValueError: if an argument is something else.

    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        require_coredis("RedisSubscriptionBus")
        check_prefix(prefix)
        self._channel = _Channel(f"{prefix}:events", RedisAddress.parse(url, ssl_context))

    def __repr__(self) -> str:
        return f"<RedisSubscriptionBus {self._channel.address}, channel {self._channel.name!r}>"

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None, None]:
        """Be connected as long as the block lasts. Servers do this by themselves.

        A program that only publishes does it itself::

            async with bus.open():
                await bus.publish(ToolsListChanged())

        It may be entered several times, also in several threads; one of the blocks has the
        connection, and another one takes over when that is left. Leaving takes up to a second,
        in which the last events are published.

        Raises:
          ConnectionError: if Redis cannot be reached, or does not let this in.

        Cancellation:
          Events that Redis does not have yet are lost.

        """
        block = _Block(self._channel)
        async with open_background_nursery() as nursery:
            is_first = self._channel.enter(block)
            try:
                if is_first:
                    await nursery.start(block.link().run, name="Redis bus")
                else:
                    nursery.start_soon(block.run_in_turn, name="Redis bus")
                yield
            finally:
                try:
                    with trio.move_on_after(FLUSH_SECONDS):
                        await block.flush()  # noqa: ASYNC102 - it shall be cancelled with the block
                finally:
                    self._channel.leave(block)

    async def publish(self, event: ServerEvent) -> None:
        """Tell an event to every listener: here at once, elsewhere as soon as Redis has it.

        It does not wait for Redis. 10,000 different events may wait for that to come back; with
        more, the others hear that everything may have changed.

        Raises:
          RuntimeError: if the bus is not open: there is nobody to take it to the others.
          TypeError: if it is no event.

        Cancellation:
          All have been told, or none.

        """
        check_event(event)
        await trio.lowlevel.checkpoint_if_cancelled()
        self._channel.put(event)
        self._channel.listeners.tell(event)
        await trio.lowlevel.cancel_shielded_checkpoint()

    def subscribe(
        self, listener: Callable[[ServerEvent | EventsLost], None]
    ) -> Callable[[], None]:
        """See `SubscriptionBus.subscribe`. Events of different processes have no order."""
        return self._channel.listeners.subscribe(listener)


@attrs.define(eq=False)
class _Channel:
    """What the blocks share for which a bus is open; touched in any of their threads."""

    name: str
    address: RedisAddress
    listeners: InMemorySubscriptionBus = attrs.Factory(InMemorySubscriptionBus)
    unsent: dict[ServerEvent | EventsLost, None] = attrs.Factory(dict[Any, Any])
    _blocks: list[_Block] = attrs.Factory(list[Any])
    _lock: threading.Lock = attrs.Factory(threading.Lock)
    # Who publishes: what this process has told its own listeners already.
    _me: str = ""
    _repeats: Repeats = attrs.Factory(Repeats)

    def enter(self, block: _Block) -> bool:
        """Know a block; returns whether it is the first one."""
        with self._lock:
            self._blocks.append(block)
            if len(self._blocks) > 1:
                return False
            self._me = secrets.token_hex(8)
            self.unsent.clear()
            return True

    def leave(self, block: _Block) -> None:
        """Forget a block; the oldest of the others is to be connected from now on."""
        with self._lock:
            self._blocks.remove(block)
            if self._blocks:
                self._blocks[0].take_turn()
                return
        if self.unsent:
            number = len(self.unsent)
            logger.warning("%d events did not reach Redis at %s", number, self.address)

    def put(self, event: ServerEvent) -> None:
        """Have an event sent."""
        with self._lock:
            if not self._blocks:
                raise RuntimeError(
                    "This bus is not open: a server opens it while it runs, a program that only "
                    "publishes by `async with bus.open():`"
                )
            self._put(event)
            self._blocks[0].wake()

    def put_back(self, event: ServerEvent | EventsLost) -> None:
        """Have an event sent that may not have been."""
        with self._lock:
            self._put(event)

    def _put(self, event: ServerEvent | EventsLost) -> None:
        if len(self.unsent) >= MAX_UNSENT and event not in self.unsent:
            self.unsent = {EventsLost(): None}
        self.unsent[event] = None

    def pop(self) -> ServerEvent | EventsLost | None:
        """Take out what is to be sent next."""
        with self._lock:
            event = next(iter(self.unsent), None)
            if event is not None:
                # It may be published again while it is on its way.
                del self.unsent[event]
            return event

    def write(self, event: ServerEvent | EventsLost) -> bytes:
        """Spell an event: JSON of our own, as everything on the channel."""
        if isinstance(event, EventsLost):
            return dumps({"from": self._me, "method": None})
        method, params = write_event(event)
        return dumps({"from": self._me, "method": method, "params": params})

    def take(self, push: list[Any]) -> None:
        """Tell what Redis has sent, unless it came from here."""
        if len(push) != 3 or push[0] != b"message":
            return
        try:
            message = loads(push[2])
        except JsonError as exc:
            self._repeats.warn(logger, "Something else was published on %s: %s", self.name, exc)
            return
        if not is_object(message) or message.get("from") == self._me:
            return
        method, params = message.get("method"), message.get("params")
        event: ServerEvent | EventsLost | None = None
        if method is None:
            event = EventsLost()
        elif isinstance(method, str) and is_object(params):
            event = read_event(method, params)
        if event is None:
            logger.debug("An event that this version does not know was dropped: %r", method)
        else:
            self.listeners.tell(event)


@attrs.define(eq=False)
class _Block:
    """One block for which the bus is open. The oldest of them has the connection."""

    _channel: _Channel
    _run: trio.lowlevel.TrioToken = attrs.field(factory=trio.lowlevel.current_trio_token)
    _turn: trio.Event = attrs.field(factory=trio.Event)
    _awake: trio.Event = attrs.field(factory=trio.Event)
    _is_connected: bool = False
    _is_sending: bool = False
    _refusals: Trouble = attrs.field(factory=Trouble)
    _sent: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    def link(self) -> RedisLink:
        """Make what connects it."""
        return RedisLink(self._channel.address, self)

    async def run_in_turn(self) -> None:
        """Wait until those before this have gone, and be connected then."""
        await self._turn.wait()
        await self.link().run(must_begin=False)

    def take_turn(self) -> None:
        """Those before this have gone."""
        call_in(self._run, self._turn.set)

    def wake(self) -> None:
        """There is something to send."""
        call_in(self._run, self._wake)

    def _wake(self) -> None:
        self._awake.set()

    async def flush(self) -> None:
        """Wait until all is sent, if it can be."""
        while self._is_connected and (self._is_sending or self._channel.unsent):
            await self._sent.park()

    # What the link does with a connection

    async def begin(self, connection: RedisConnection, *, again: bool) -> None:
        """See `Conversation.begin`."""
        connection.tell(b"SUBSCRIBE", self._channel.name)
        # A subscription is confirmed unasked, and refused in place of the next answer.
        await connection.ask(b"PING")
        self._is_connected = True
        if again:
            self._channel.listeners.tell(EventsLost())

    async def go_on(self, connection: RedisConnection) -> None:
        """See `Conversation.go_on`."""
        try:
            async with open_background_nursery() as nursery:
                nursery.start_soon(self._send, connection, name="Redis publisher")
                await connection.take_pushes(self._channel.take)
                await trio.sleep_forever()
        finally:
            self._is_connected = False
            self._sent.unpark_all()

    async def _send(self, connection: RedisConnection) -> None:
        while True:
            self._awake = trio.Event()
            while (event := self._channel.pop()) is not None:
                self._is_sending = True
                try:
                    await self._send_one(connection, event)
                finally:
                    self._is_sending = False
            self._sent.unpark_all()
            await self._awake.wait()

    async def _send_one(
        self, connection: RedisConnection, event: ServerEvent | EventsLost
    ) -> None:
        try:
            data = self._channel.write(event)
            await connection.ask(b"PUBLISH", self._channel.name, data)
            self._refusals.works()
        except RedisRefused as exc:
            # Told once, until Redis takes one again.
            level = logging.ERROR if self._refusals.fails() else logging.DEBUG
            logger.log(level, "An event reaches no other process: %s", exc)
        except BaseException:
            self._channel.put_back(event)
            raise
