"""What changes on a server, on its way to the clients of both eras."""

from __future__ import annotations

import logging
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._protocol._subscriptions import (
    LIST_EVENTS,
    EventsLost,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
    check_event,
    write_event,
)
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.errors import ConnectionLost

from ._subscriptions import call_in

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Iterable

    from trio_mcp._protocol._subscriptions import ServerEvent

    from ._connection import ServerConnection
    from ._subscriptions import SubscriptionBus

logger: Final = logging.getLogger("trio_mcp.server")

QUIET_SECONDS: Final = 0.05
"""How long nothing must change before what has changed is told. A loop that registers a hundred
tools, also one in a thread, takes a millisecond or two for each."""

LONGEST_SECONDS: Final = 1.0
"""After this time it is told, though there are still changes."""


class Changes:
    """What was announced and not yet told, and the runs of the server that tell it.

    It holds nothing of Trio but the tokens of those runs, so `announce` may be called at
    import, in any thread, and while several threads serve.
    """

    def __init__(self, bus: SubscriptionBus) -> None:
        self.bus = bus
        self._lock = threading.Lock()
        self._announced: dict[ServerEvent, None] = {}
        self._runs: list[_Run] = []

    def announce(self, event: ServerEvent) -> None:
        """Have an event told soon, once, however often it is announced until then.

        While the server does not run, nobody is there to be told.
        """
        with self._lock:
            if not self._runs:
                return
            self._announced[event] = None
            # One run is enough: the bus reaches the others.
            self._runs[0].wake()

    async def publish(self, event: ServerEvent) -> None:
        """Tell an event now; one that was announced is told with it."""
        with self._lock:
            self._announced.pop(event, None)
        await self.bus.publish(event)

    def take(self) -> list[ServerEvent]:
        """Take out what was announced."""
        with self._lock:
            events = list(self._announced)
            self._announced.clear()
        return events

    @asynccontextmanager
    async def run(self, connections: Collection[ServerConnection]) -> AsyncGenerator[None, None]:
        """Tell what is announced, and what the bus brings to sessions of the older era.

        Args:
          connections: Those of one run of the server, as they come and go.

        """
        async with open_background_nursery() as nursery:
            run = _Run(self, nursery, connections)
            unsubscribe = self.bus.subscribe(run.tell_sessions)
            with self._lock:
                self._runs.append(run)
            nursery.start_soon(run.tell_announced, name="MCP changes")
            try:
                yield
            finally:
                unsubscribe()
                run.closed = True
                self._leave(run)

    def _leave(self, run: _Run) -> None:
        with self._lock:
            self._runs.remove(run)
            if not self._runs:
                self._announced.clear()
            elif self._announced:
                self._runs[0].wake()


@attrs.define(eq=False)
class _Run:
    """One run of a server: the task that tells what was announced, and its older sessions."""

    _changes: Changes
    _nursery: trio.Nursery
    _connections: Collection[ServerConnection]
    _token: trio.lowlevel.TrioToken = attrs.field(factory=trio.lowlevel.current_trio_token)
    _awake: trio.Event = attrs.field(factory=trio.Event)
    closed: bool = False

    def wake(self) -> None:
        call_in(self._token, self._wake)

    def _wake(self) -> None:
        self._awake.set()

    async def tell_announced(self) -> None:
        """Publish what is announced, once there is a pause in it."""
        while True:
            await self._awake.wait()
            await self._wait_for_pause()
            for event in self._changes.take():
                try:
                    await self._changes.bus.publish(event)
                except Exception:
                    logger.exception("Publishing %r failed", event)

    async def _wait_for_pause(self) -> None:
        with trio.move_on_after(LONGEST_SECONDS):
            while True:
                self._awake = trio.Event()
                with trio.move_on_after(QUIET_SECONDS) as pause:
                    await self._awake.wait()
                if pause.cancelled_caught:
                    return
        self._awake = trio.Event()

    def tell_sessions(self, event: ServerEvent | EventsLost) -> None:
        """Take an event of the bus: sessions of the older era are told unasked."""
        if event.__class__ is not EventsLost:
            check_event(event)  # the bus may be anybody's, and is told
        call_in(self._token, self._tell_sessions, event)

    def _tell_sessions(self, event: ServerEvent | EventsLost) -> None:
        # Another thread may have sent this on its way before the run was over.
        if self.closed:
            return
        for connection in self._connections:
            told = [each for each in _possible(connection, event) if _is_told(connection, each)]
            if not told:
                continue
            connection.untold.update(dict.fromkeys(told))
            if not connection.being_told:
                connection.being_told = True
                self._nursery.start_soon(_tell, connection, name="MCP changes of a session")


async def _tell(connection: ServerConnection) -> None:
    # A task for each session that has something to hear, so that a client that does not read
    # keeps only itself from hearing more. What it has not heard yet is not repeated.
    try:
        while connection.untold and connection.link is not None:
            event = next(iter(connection.untold))
            del connection.untold[event]
            method, params = write_event(event)
            await connection.link.notify(method, params or None)
    except ConnectionLost:
        logger.debug("A session ended before it was told what changed")
    finally:
        connection.being_told = False


def _possible(
    connection: ServerConnection, event: ServerEvent | EventsLost
) -> Iterable[ServerEvent]:
    if isinstance(event, EventsLost):
        return (*LIST_EVENTS, *map(ResourceUpdated, sorted(connection.subscribed)))
    return (event,)


def _is_told(connection: ServerConnection, event: ServerEvent) -> bool:
    """Whether a session wants to hear of an event, and was told that it might."""
    if not connection.initialized or connection.link is None:
        return False
    if isinstance(event, ResourceUpdated):
        return event.uri in connection.subscribed
    return bool(_announcement(connection, _KIND_OF[type(event)]).get("listChanged"))


_KIND_OF: Final[dict[Callable[..., ServerEvent], str]] = {
    ToolsListChanged: "tools",
    PromptsListChanged: "prompts",
    ResourcesListChanged: "resources",
}


def _announcement(connection: ServerConnection, kind: str) -> dict[str, Any]:
    return connection.announced.get(kind) or {}
