"""The servers of a group, while it is open: how they come, change and go."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._codec import excerpt
from trio_mcp._rpc._nursery import finish_within, one_cancellation
from trio_mcp._rpc._repeats import Repeats
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.types import INVALID_PARAMS

from ._connect import CLOSE_TIMEOUT, FORCED_CLOSE_TIMEOUT
from ._group_catalog import Catalog
from ._group_member import Member, close_all, open_member

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.types import Tool

    from ._group_names import NamePolicy
    from ._server_parameters import ClientSessionParameters
    from ._session import ClientSession

logger: Final = logging.getLogger("trio_mcp.client")

NO_LIMIT: Final = float("inf")


class Membership:
    """The servers of a group, from when it is opened until it is closed.

    Args:
      nursery: Runs their connections, and what watches them.
      policy: How names are made.

    """

    def __init__(self, nursery: trio.Nursery, policy: NamePolicy) -> None:
        self._nursery = nursery
        self._is_open = True
        self._members: dict[ClientSession, Member] = {}
        self.catalog: Catalog[Member] = Catalog(policy)

    @property
    def is_open(self) -> bool:
        """Whether servers may come and be called."""
        return self._is_open

    @property
    def sessions(self) -> list[ClientSession]:
        """The sessions with all servers."""
        return list(self._members)

    def _require_open(self) -> None:
        if not self._is_open:
            raise ConnectionLost("The group was closed on this side")

    async def find_tool(self, name: str) -> tuple[Member, Tool]:
        """Find a tool, and whose it is.

        Raises:
          ConnectionLost: if its server has gone, or the group is closed.
          MCPError: if there is none of this name.

        """
        found = self.catalog.tools.get(name)
        if found is None or not self._is_open:
            await trio.lowlevel.checkpoint()
            self._require_open()
            raise self.catalog.why_missing(name)
        return found

    # Servers come

    async def join(
        self, server: Any, params: ClientSessionParameters | None, seconds: float = NO_LIMIT
    ) -> Member:
        """Connect a server, ask what it offers, and let it join.

        Raises:
          ConnectionLost: also if the group was closed meanwhile.
          Exception: as `open_member` and `admit` do. All that was opened is closed then.

        Cancellation:
          All that was opened is closed.

        """
        member = await self._open_member(server, params, seconds)
        try:
            self.admit(member)
        except BaseException:
            await self.part_with(member)  # noqa: ASYNC102 - bounded inside
            raise
        return member

    async def join_all(
        self, servers: Sequence[Any], params: ClientSessionParameters | None, seconds: float
    ) -> list[Member | Exception]:
        """Connect many at the same time; then those that are ready join, in their order.

        Returns:
          For each server, in order, the member, or why it is none.

        Cancellation:
          None has joined, and all that was opened is closed.

        """
        ready: dict[int, Member] = {}
        errors: dict[int, Exception] = {}

        async def prepare(index: int) -> None:
            try:
                ready[index] = await self._open_member(servers[index], params, seconds)
            except Exception as exc:  # noqa: BLE001 - it is handed to the caller
                errors[index] = exc

        try:
            with one_cancellation():
                async with trio.open_nursery() as nursery:
                    for index in range(len(servers)):
                        nursery.start_soon(prepare, index)
            for index in sorted(ready):
                try:
                    self.admit(ready[index])
                except Exception as exc:  # noqa: BLE001 - as above
                    errors[index] = exc
            await self.part_with(*(ready[index] for index in errors if index in ready))
            return [errors[i] if i in errors else ready[i] for i in range(len(servers))]
        except BaseException:
            await self.part_with(*ready.values())  # noqa: ASYNC102 - bounded inside
            raise
        finally:
            # The frames that an error has passed must not refer to it.
            errors.clear()

    async def join_with_session(self, member: Member) -> None:
        """Ask what a server offers whose session is the user's, and let it join.

        Raises:
          Exception: what asking raises, and `admit`.

        """
        member.listen()
        try:
            await member.ask_offer()
            self.admit(member)
        except BaseException:
            member.leave()
            raise

    async def _open_member(
        self, server: Any, params: ClientSessionParameters | None, seconds: float
    ) -> Member:
        try:
            self._require_open()
            return await open_member(self._nursery, server, params, seconds)
        except ConnectionLost:
            # That the group is closed says more than that the connection is.
            self._require_open()
            raise

    def admit(self, member: Member) -> None:
        """Let a server join: from here on it is in the group, wholly.

        Raises:
          MCPError: if it has a name that is taken where that is refused, or joined before.
          ConnectionLost: if the connection to it was lost, or the group is closed.
          Exception: what the user's hook raised.

        """
        self._require_open()
        if member.session in self._members:
            raise MCPError(INVALID_PARAMS, "This session is in the group already")
        member.require_connected()
        self.catalog.take_in(member, member.info, member.offer)
        self._members[member.session] = member
        self._nursery.start_soon(self._watch, member, name=f"MCP server {member.info.name}")

    # Servers change

    async def member_of(self, session: ClientSession) -> Member:
        """Find a member by its session.

        Raises:
          MCPError: if it is none.

        """
        member = self._members.get(session)
        if member is None:
            await trio.lowlevel.checkpoint()
            raise MCPError(INVALID_PARAMS, "This session is not in the group, or no longer")
        return member

    async def refresh(self, member: Member) -> None:
        """Ask a server anew for what it offers.

        Raises:
          MCPError: if it does not answer, or has a name now that is taken where that is
              refused. What was known of it stays.
          Exception: what the user's hook raised.

        """
        is_new = await member.ask_offer()
        if is_new and self._has(member):
            self.catalog.take_in(member, member.info, member.offer)

    def _has(self, member: Member) -> bool:
        return self._members.get(member.session) is member

    async def _watch(self, member: Member) -> None:
        repeats = Repeats()

        async def ask_anew() -> None:
            try:
                await self.refresh(member)
            except MCPError as exc:
                repeats.warn(
                    logger,
                    "The server %s could not be listed anew: %s",
                    excerpt(member.info.name),
                    excerpt(exc.message),
                )
            except Exception:
                # The user's hook: it runs behind everybody here, and must not end the group.
                logger.exception(
                    "What the server %s lists anew could not be named",
                    excerpt(member.info.name),
                )

        def lost(lost: ConnectionLost) -> None:
            reason = f"The server {excerpt(member.info.name)!r} has left the group: {lost.message}"
            logger.warning("%s", reason)
            gone = ConnectionLost(
                reason, lost.data, exit_status=lost.exit_status, stderr=lost.stderr
            )
            self._forget(member, gone)

        await member.watch(ask_anew, lost)

    # Servers go

    async def part_with(self, *members: Member) -> None:
        """Let servers go that have joined, or were about to, and close what was opened for them.

        Cancellation:
          They are closed all the same, see `ConnectedClient.aclose`.

        """
        for member in members:
            self._forget(member)
        await close_all(members)

    def _forget(self, member: Member, lost: ConnectionLost | None = None) -> None:
        member.leave()
        if self._has(member):
            del self._members[member.session]
            self.catalog.remove(member, lost)

    async def close(self) -> None:
        """Let all servers go. Nobody joins from now on.

        Cancellation:
          They are closed all the same, in bounded time.

        """
        self._is_open = False
        with finish_within(CLOSE_TIMEOUT + FORCED_CLOSE_TIMEOUT):
            await self.part_with(*self._members.values())
