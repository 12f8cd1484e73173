"""One server of a group: how it joins, what it offers, and what becomes of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._codec import excerpt
from trio_mcp._protocol._subscriptions import (
    Pacing,
    PromptsListChanged,
    ResourcesListChanged,
    ToolsListChanged,
    read_event,
)
from trio_mcp._rpc._nursery import one_cancellation
from trio_mcp._rpc._repeats import Repeats
from trio_mcp.errors import ConnectionLost, LocalError, MCPError, RequestTimeout
from trio_mcp.types import METHOD_NOT_FOUND, Implementation, PaginatedRequestParams

from ._connect import ConnectedClient, connect
from ._group_catalog import Offer
from ._pages import read_all
from ._server_parameters import (
    ClientSessionParameters,
)
from ._subscriptions import ListenNotSupportedError, listen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from trio_mcp.types._base import JsonObject

    from ._session import ClientSession

logger: Final = logging.getLogger("trio_mcp.client")

_LIST_CHANGES: Final = (ToolsListChanged, PromptsListChanged, ResourcesListChanged)
_ANY_CHANGE: Final = ToolsListChanged()

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
# Seconds before a server is asked again that has ended a subscription. A change in between is
# noticed then, since everything is listed anew; one that ends each of them costs little.


@attrs.define(eq=False)
class Member:
    """One server of a group.

    Attributes:
      session: Reaches it.
      info: Who it says it is.
      client: What the group opened for it; None where the session is the user's.
      offer: What it listed last.

    """

    session: ClientSession
    info: Implementation
    client: ConnectedClient | None = None
    offer: Offer = attrs.field(factory=Offer, init=False)
    _listings: int = attrs.field(default=0, init=False)
    _latest: int = attrs.field(default=0, init=False)
    _staying: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    _changed: trio.Event = attrs.field(factory=trio.Event, init=False)
    _restarted: trio.Event = attrs.field(factory=trio.Event, init=False)
    _removers: list[Callable[[], None]] = attrs.field(
        factory=list["Callable[[], None]"], init=False
    )
    _repeats: Repeats = attrs.field(factory=Repeats, init=False)

    def listen(self) -> None:
        """Notice changes from now on."""
        self._removers = [
            self.session.on_reconnect(self._reconnected),
            self.session.on_notification(self._notified),
        ]

    def _reconnected(self) -> None:
        self._changed.set()
        self._restarted.set()

    def _notified(self, method: str, params: JsonObject) -> None:
        if isinstance(read_event(method, params), _LIST_CHANGES):
            self._changed.set()

    def require_connected(self) -> None:
        """Check that what was opened for it still is.

        Raises:
          ConnectionLost: if it is not.

        """
        if self.client is not None:
            self.session = self.client.session

    async def ask_offer(self) -> bool:
        """Ask for what it offers, and for nothing that it has not announced.

        Returns:
          Whether `offer` is new; it is not if somebody who asked later had the answer earlier.

        Raises:
          MCPError: if it does not answer, or not properly.

        """
        self._listings += 1
        number = self._listings
        offer = await _list(self.session, self._repeats)
        if number < self._latest:
            return False
        self._latest, self.offer = number, offer
        return True

    async def watch(
        self, ask_anew: Callable[[], Awaitable[None]], on_lost: Callable[[ConnectionLost], None]
    ) -> None:
        """Notice what becomes of it, until it leaves.

        Args:
          ask_anew: Called when it has told that its lists have changed.
          on_lost: Called when the connection has been lost for good.

        """
        with self._staying:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._wait_lost, on_lost)
                nursery.start_soon(self._stay_subscribed)
                await self._follow_changes(ask_anew)

    async def _stay_subscribed(self) -> None:
        # A modern server tells changes only to those who ask; an older one tells everybody.
        pause = _FIRST_PAUSE
        while True:
            self._restarted = trio.Event()
            told = self._tells_changes_of()
            began = trio.current_time()
            why = "it ended the subscription"
            try:
                if told:
                    await self._subscribe(told)
            except ListenNotSupportedError:
                told = set[str]()
            except MCPError as exc:
                why = exc.message
            if not told:
                # The next server, if there is one, may speak another revision.
                await self._restarted.wait()
                continue
            if trio.current_time() - began > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            shown = excerpt(self.info.name), pause, excerpt(why)
            logger.info("%s tells of no changes for %g s: %s", *shown)
            await trio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _subscribe(self, told: set[str]) -> None:
        async with listen(
            self.session,
            tools_list_changed="tools" in told,
            prompts_list_changed="prompts" in told,
            resources_list_changed="resources" in told,
        ) as changes:
            # What changed between its answer and now, nobody has told.
            self._changed.set()
            async for _ in changes:
                pass  # `_notified` knows already

    def _tells_changes_of(self) -> set[str]:
        revision, can = self.session.revision, self.session.server_capabilities
        if revision is None or not revision.has_subscription_streams or can is None:
            return set()
        kinds = {"tools": can.tools, "prompts": can.prompts, "resources": can.resources}
        return {name for name, kind in kinds.items() if kind is not None and kind.list_changed}

    async def _follow_changes(self, ask_anew: Callable[[], Awaitable[None]]) -> None:
        pacing = Pacing()
        while True:
            await self._changed.wait()
            # A server that tells of a change each time it is asked must not keep us busy.
            await trio.sleep_until(pacing.due(_ANY_CHANGE))
            self._changed = trio.Event()
            pacing.told(_ANY_CHANGE, trio.current_time())
            await ask_anew()

    async def _wait_lost(self, on_lost: Callable[[ConnectionLost], None]) -> None:
        on_lost(await self.session.wait_lost())

    def leave(self) -> None:
        """Notice nothing any more."""
        for remove in self._removers:
            remove()
        self._removers = []
        self._staying.cancel(reason="the server has left the group")

    async def close(self) -> None:
        """Close what was opened for it; what fails thereby is logged.

        Cancellation:
          It is closed all the same, see `ConnectedClient.aclose`.

        """
        if self.client is not None:
            await _close(self.client, self.info.name)


async def close_all(members: Iterable[Member]) -> None:
    """Close many at the same time."""
    with one_cancellation():
        async with trio.open_nursery() as nursery:
            for member in members:
                nursery.start_soon(member.close)


async def open_member(
    nursery: trio.Nursery, server: Any, params: ClientSessionParameters | None, seconds: float
) -> Member:
    """Connect a server, and ask what it offers.

    Args:
      nursery: Runs the connection.
      server: What `Client` takes.
      params: How to talk to it.
      seconds: How long both together may take.

    Raises:
      RequestTimeout: if they took longer.
      Exception: what else went wrong. Everything that was opened is closed by then.

    Cancellation:
      Everything that was opened is closed.

    """
    options = (params or ClientSessionParameters()).client_options()
    client: ConnectedClient | None = None
    member: Member | None = None
    try:
        with trio.move_on_after(seconds):
            client = await connect(nursery, server, **options)
            info = client.server_info or Implementation(name="server", version="")
            member = Member(client.session, info, client)
            member.listen()
            await member.ask_offer()
            return member
        shown = getattr(server, "command", server)  # arguments may hold a secret
        raise RequestTimeout(f"The server was not ready within {seconds:g} s: {shown!r:.80}")
    except BaseException:
        if member is not None:
            member.leave()
        if client is not None:
            await _close(client, "that did not join")  # noqa: ASYNC102 - bounded inside
        raise


async def _close(client: ConnectedClient, name: str) -> None:
    try:
        await client.aclose()
    except Exception:
        logger.exception("Closing the server %s failed", name)


async def _list(session: ClientSession, repeats: Repeats) -> Offer:
    return Offer(
        tools=await _all_of(session, "tools", session.list_tools, repeats),
        resources=await _all_of(session, "resources", session.list_resources, repeats),
        prompts=await _all_of(session, "prompts", session.list_prompts, repeats),
    )


async def _all_of(
    session: ClientSession, kind: str, verb: Callable[..., Awaitable[Any]], repeats: Repeats
) -> list[Any]:
    if not session.may_offer(kind):
        return []

    async def fetch(cursor: str | None) -> tuple[list[Any], str | None]:
        page = await verb(params=None if cursor is None else PaginatedRequestParams(cursor=cursor))
        return getattr(page, kind), page.next_cursor

    try:
        return await read_all(f"{kind}/list", fetch)
    except LocalError:
        raise
    except MCPError as exc:
        if exc.code != METHOD_NOT_FOUND:
            raise
        repeats.warn(logger, "A server announces %s, and has no %s/list", kind, kind)
        return []
