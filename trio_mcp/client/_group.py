"""`ClientSessionGroup`: many servers, and one set of names for what they offer."""

from __future__ import annotations

import functools
import logging
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Self

import attrs
import trio

from trio_mcp._protocol._subscriptions import (
    Pacing,
    PromptsListChanged,
    ResourcesListChanged,
    ToolsListChanged,
    read_event,
)
from trio_mcp._rpc._block import GuardedBlock
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp.errors import ConnectionLost, LocalError, MCPError, RequestTimeout
from trio_mcp.types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    Result,
)

from ._connect import CLOSE_TIMEOUT, FORCED_CLOSE_TIMEOUT, ConnectedClient, connect
from ._group_names import Names, Offer
from ._input_rounds import DEFAULT_INPUT_REQUIRED_MAX_ROUNDS, complete_input
from ._pages import Pages
from ._server_parameters import (
    ClientSessionParameters,
    SseServerParameters,
    StreamableHttpParameters,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
    from types import TracebackType

    from trio_mcp._rpc._link import ProgressFn
    from trio_mcp.types import InputResponses, Prompt, RequestParamsMeta, Resource, Tool
    from trio_mcp.types._base import JsonObject

    from ._group_names import CollisionPolicy, ComponentNameHook
    from ._server_parameters import ServerParameters
    from ._session import ClientSession

logger: Final = logging.getLogger("trio_mcp.client")

CONNECT_TIMEOUT: Final = 30.0
"""Seconds that each server of `ClientSessionGroup.connect_all` has to be ready."""

_LIST_CHANGES: Final = (ToolsListChanged, PromptsListChanged, ResourcesListChanged)
_ANY_CHANGE: Final = ToolsListChanged()

MAX_REMEMBERED: Final = 10_000
"""Names of tools whose servers have gone, kept for the error that tells so."""


@attrs.define(eq=False)
class _Member:
    """One server of a group."""

    session: ClientSession
    info: Implementation
    client: ConnectedClient | None = None
    stop_watching: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    changed: trio.Event = attrs.field(factory=trio.Event)
    """What it offers may be something else by now."""
    _removers: list[Callable[[], None]] = attrs.field(factory=list["Callable[[], None]"])

    def listen(self) -> None:
        """Notice changes from now on."""
        self._removers = [
            self.session.on_reconnect(self._reconnected),
            self.session.on_notification(self._notified),
        ]

    def stop_listening(self) -> None:
        """Take `listen` back."""
        for remove in self._removers:
            remove()
        self._removers = []

    def _reconnected(self) -> None:
        self.changed.set()

    def _notified(self, method: str, params: JsonObject) -> None:
        if isinstance(read_event(method, params), _LIST_CHANGES):
            self.changed.set()


@attrs.frozen(eq=False)
class ConnectOutcome:
    """What came of one server of `ClientSessionGroup.connect_all`.

    Attributes:
      server: What was given.
      session: The session with it, or None.
      error: Why there is none.

    """

    server: Any
    session: ClientSession | None = None
    error: Exception | None = None


class ClientSessionGroup:
    """Many servers at once, and one set of names for their tools, resources and prompts.

    ::

        async with ClientSessionGroup() as group:
            await group.connect_all([files, mail, search])
            result = await group.call_tool("find", {"text": "trio"})

    Servers come and go while the group is in use, from any task. Each is connected wholly or
    not at all, speaks whatever era it knows, and harms no other one: the names of a server that
    dies go with it. One that tells that its lists have changed is listed anew (a modern server
    tells that only to those who listen: `Client.listen`). Leaving the block closes all of them,
    in bounded time.

    Args:
      exit_stack: Closes the group instead of ``async with group``; it has to be one of the task
          that connects the first server.
      component_name_hook: Makes the common name of a thing from its own and from who its server
          is. Without it, the own name is the common one.
      on_collision: What becomes of a name that is taken. ``"prefix"``: the later one gets the
          name of its server before it, and a number where that is taken, too. ``"refuse"``:
          the later server is refused, with an `MCPError`.

    """

    def __init__(
        self,
        exit_stack: AsyncExitStack | None = None,
        component_name_hook: ComponentNameHook | None = None,
        *,
        on_collision: CollisionPolicy = "prefix",
    ) -> None:
        if on_collision not in ("prefix", "refuse"):
            raise ValueError(f"on_collision is 'prefix' or 'refuse', not {on_collision!r}")
        self._exit_stack = exit_stack
        self._hook = component_name_hook
        self._on_collision: CollisionPolicy = on_collision
        self._block: GuardedBlock[None] | None = None
        self._nursery: trio.Nursery | None = None
        self._members: dict[ClientSession, _Member] = {}
        self._tools: Names[Tool] = Names("tool")
        self._resources: Names[Resource] = Names("resource")
        self._prompts: Names[Prompt] = Names("prompt")
        self._gone: dict[str, ConnectionLost] = {}

    async def __aenter__(self) -> Self:
        if self._block is not None:
            raise RuntimeError("This group is open already")
        block = GuardedBlock("ClientSessionGroup", self._open())
        if self._exit_stack is None:
            await block.__aenter__()
        else:
            await self._exit_stack.enter_async_context(block)
        self._block = block
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        """Close all servers, unless an exit stack was given, which does it.

        Cancellation:
          All are closed, at the same time, as `ConnectedClient.aclose` closes one.

        """
        block = self._block
        if block is None:
            raise RuntimeError("This group is not open")
        if self._exit_stack is not None:
            await trio.lowlevel.checkpoint()  # noqa: ASYNC102 - there is nothing to do here
            return None
        try:
            return await block.__aexit__(exc_type, exc_val, exc_tb)  # noqa: ASYNC102 - bounded
        finally:
            if not block.is_open:
                self._block = None

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[None, None]:
        async with open_background_nursery() as nursery:
            self._nursery = nursery
            try:
                yield
            finally:
                self._nursery = None
                with finish_within(CLOSE_TIMEOUT + FORCED_CLOSE_TIMEOUT):
                    await self._close_all()  # noqa: ASYNC102 - in finish_within

    async def _close_all(self) -> None:
        members = list(self._members.values())
        async with trio.open_nursery() as nursery:
            for member in members:
                nursery.start_soon(self._part_with, member)

    # What there is

    @property
    def sessions(self) -> list[ClientSession]:
        """The sessions with all servers."""
        return list(self._members)

    @property
    def tools(self) -> dict[str, Tool]:
        """All tools by their common names, each as its server lists it."""
        return self._tools.values()

    @property
    def resources(self) -> dict[str, Resource]:
        """All resources by their common names."""
        return self._resources.values()

    @property
    def prompts(self) -> dict[str, Prompt]:
        """All prompts by their common names."""
        return self._prompts.values()

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFn | None = None,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
    ) -> CallToolResult | InputRequiredResult:
        """Have a tool run by the server that has it.

        Args:
          name: The common name, a key of `tools`.
          arguments: And the others: see `ClientSession.call_tool`.
          allow_input_required: Return an `InputRequiredResult` for you to answer; otherwise the
              session's callbacks answer it, as with `Client`.

        Raises:
          MCPError: if there is no such tool, or the server answered with an error.
          ConnectionLost: if its server has gone.

        Cancellation:
          As for `ClientSession.call_tool`.

        """
        named = self._tools.get(name)
        if named is None:
            await trio.lowlevel.checkpoint()
            gone = self._gone.get(name)
            if gone is not None:
                raise gone.again()
            raise MCPError(INVALID_PARAMS, f"No server of the group has a tool {name!r}")
        member = named.owner
        assert isinstance(member, _Member)
        session = member.session

        async def send(
            responses: InputResponses | None, state: str | None
        ) -> CallToolResult | InputRequiredResult | Result:
            return await session.call_tool(
                named.value.name,
                arguments,
                read_timeout_seconds,
                progress_callback,
                input_responses=responses,
                request_state=state,
                meta=meta,
                allow_input_required=True,
                allow_claimed=True,
            )

        result = await send(input_responses, request_state)
        if isinstance(result, InputRequiredResult):
            if allow_input_required:
                return result
            result = await complete_input(session, result, send, DEFAULT_INPUT_REQUIRED_MAX_ROUNDS)
        if isinstance(result, CallToolResult):
            return result
        return await session.resolve_claimed(result, named.value.name, read_timeout_seconds)

    # Servers come

    async def connect_to_server(
        self,
        server_params: ServerParameters,
        session_params: ClientSessionParameters | None = None,
    ) -> ClientSession:
        """Connect a server, and take in what it offers.

        Args:
          server_params: How to reach it; anything that `Client` takes will do.
          session_params: How to talk to it.

        Returns:
          The session with it.

        Raises:
          MCPError: if it cannot be reached, refuses, or has a name that is taken where that is
              refused. Everything that was opened for it is closed by then.

        Cancellation:
          Everything that was opened for it is closed.

        """
        return await self._connect(server_params, session_params, None)

    async def connect_all(
        self,
        servers: Iterable[ServerParameters],
        session_params: ClientSessionParameters | None = None,
        *,
        connect_timeout: float | None = CONNECT_TIMEOUT,
    ) -> list[ConnectOutcome]:
        """Connect many servers at the same time; those that fail harm no other one.

        Names are given out in the order of the servers, whichever is ready first.

        Args:
          servers: How to reach each.
          session_params: How to talk to each.
          connect_timeout: Seconds that each server has to be connected and to list what it
              offers; None for no limit. One that is late fails with `RequestTimeout`. Ending
              it may take some seconds more.

        Returns:
          For each server, in order, its session or its error.

        Cancellation:
          Everything that was opened by this call is closed.

        """
        given = list(servers)
        outcomes: list[ConnectOutcome] = [ConnectOutcome(server) for server in given]
        turns = [trio.Event() for _ in range(len(given) + 1)]
        turns[0].set()

        async def join(index: int, server: ServerParameters) -> None:
            async def my_turn() -> None:
                await turns[index].wait()

            seconds = float("inf") if connect_timeout is None else connect_timeout
            try:
                session = await self._connect(server, session_params, my_turn, seconds)
                outcomes[index] = ConnectOutcome(server, session)
            except Exception as exc:  # noqa: BLE001 - it is handed to the caller
                outcomes[index] = ConnectOutcome(server, error=exc)
            await turns[index].wait()
            turns[index + 1].set()

        try:
            async with trio.open_nursery() as nursery:
                for index, server in enumerate(given):
                    nursery.start_soon(join, index, server)
        except BaseException:
            joined = [each.session for each in outcomes if each.session is not None]
            with finish_within(CLOSE_TIMEOUT + FORCED_CLOSE_TIMEOUT):
                async with trio.open_nursery() as nursery:
                    for session in joined:
                        nursery.start_soon(self._part_with, self._members.get(session))
            raise
        return outcomes

    async def connect_with_session(
        self, server_info: Implementation, session: ClientSession
    ) -> ClientSession:
        """Take in what a session that you have opened offers. It stays yours to close.

        Raises:
          MCPError: as for `connect_to_server`.

        """
        await self._require_open()
        member = _Member(session, server_info)
        member.listen()
        try:
            self._admit(member, await _list(session))
        except BaseException:
            member.stop_listening()
            raise
        return session

    async def _connect(
        self,
        server: Any,
        session_params: ClientSessionParameters | None,
        my_turn: Callable[[], Awaitable[None]] | None,
        seconds: float = float("inf"),
    ) -> ClientSession:
        nursery = await self._require_open()
        if isinstance(server, (SseServerParameters, StreamableHttpParameters)):
            raise TypeError(
                f"The group cannot connect to the URL {server.url!r} yet: pass "
                "StdioServerParameters, a server of this process, or a transport"
            )
        options = (session_params or ClientSessionParameters()).client_options()
        client: ConnectedClient | None = None
        member: _Member | None = None
        offer = Offer()
        try:
            with trio.move_on_after(seconds) as limit:
                client = await connect(nursery, server, **options)
                info = client.server_info or Implementation(name="server", version="")
                member = _Member(client.session, info, client)
                member.listen()
                offer = await _list(client.session)
            if member is None or limit.cancelled_caught:
                raise RequestTimeout(f"The server was not ready within {seconds:g} s: {server!r}")
            if my_turn is not None:
                await my_turn()
            self._admit(member, offer)
        except BaseException:
            if client is not None:
                await client.aclose()  # noqa: ASYNC102 - bounded inside
            raise
        return member.session

    def _admit(self, member: _Member, offer: Offer) -> None:
        if self._nursery is None:
            raise ConnectionLost("The group was closed meanwhile")
        if member.session in self._members:
            raise MCPError(INVALID_PARAMS, "This session is in the group already")
        self._take_in(member, offer)
        self._members[member.session] = member
        self._nursery.start_soon(self._watch, member, name=f"MCP server {member.info.name}")

    def _take_in(self, member: _Member, offer: Offer) -> None:
        plan = functools.partial(_plan, member, self._hook, self._on_collision)
        tools = plan(self._tools, [(each.name, each) for each in offer.tools])
        resources = plan(self._resources, [(each.name, each) for each in offer.resources])
        prompts = plan(self._prompts, [(each.name, each) for each in offer.prompts])
        # Nothing was refused: from here on it is in the group, wholly.
        self._tools.replace(member, tools)
        self._resources.replace(member, resources)
        self._prompts.replace(member, prompts)
        for name in tools:
            self._gone.pop(name, None)

    async def _require_open(self) -> trio.Nursery:
        if self._block is None and self._exit_stack is not None:
            await self.__aenter__()
        if self._nursery is None:
            raise RuntimeError("Use the group inside `async with ClientSessionGroup() as group:`")
        return self._nursery

    # Servers go

    async def disconnect_from_server(self, session: ClientSession) -> None:
        """Let a server go, with all its names, and close what the group opened for it.

        Raises:
          MCPError: if it is not in the group.

        Cancellation:
          It is closed all the same, see `ConnectedClient.aclose`.

        """
        member = self._members.get(session)
        if member is None:
            await trio.lowlevel.checkpoint()
            raise MCPError(INVALID_PARAMS, "This session is not in the group, or no longer")
        await self._part_with(member)

    async def refresh(self, session: ClientSession) -> None:
        """Ask a server anew for what it offers, such as after it told that this has changed.

        Raises:
          MCPError: if it is not in the group, does not answer, or has a name now that is taken
              where that is refused. What was known of it stays.

        """
        member = self._members.get(session)
        if member is None:
            raise MCPError(INVALID_PARAMS, "This session is not in the group, or no longer")
        offer = await _list(session)
        if session in self._members:
            self._take_in(member, offer)

    async def _part_with(self, member: _Member | None) -> None:
        if member is None:
            return
        self._forget(member)
        if member.client is not None:
            try:
                await member.client.aclose()
            except Exception:
                logger.exception("Closing the server %s failed", member.info.name)

    def _forget(self, member: _Member) -> list[str]:
        self._members.pop(member.session, None)
        member.stop_listening()
        member.stop_watching.cancel(reason="the server has left the group")
        self._resources.remove(member)
        self._prompts.remove(member)
        return self._tools.remove(member)

    async def _watch(self, member: _Member) -> None:
        with member.stop_watching:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._wait_lost, member)
                await self._keep_up(member)

    async def _keep_up(self, member: _Member) -> None:
        pacing = Pacing()
        while True:
            await member.changed.wait()
            # A server that tells of a change each time it is asked must not keep us busy.
            await trio.sleep_until(pacing.due(_ANY_CHANGE))
            member.changed = trio.Event()
            pacing.told(_ANY_CHANGE, trio.current_time())
            await self._list_again(member)

    async def _wait_lost(self, member: _Member) -> None:
        lost = await member.session.wait_lost()
        reason = f"The server {member.info.name!r} has left the group: {lost.message}"
        logger.warning("%s", reason)
        gone = ConnectionLost(reason, lost.data, exit_status=lost.exit_status, stderr=lost.stderr)
        names = self._forget(member)
        if len(self._gone) + len(names) > MAX_REMEMBERED:
            self._gone.clear()
        self._gone.update(dict.fromkeys(names, gone))

    async def _list_again(self, member: _Member) -> None:
        try:
            await self.refresh(member.session)
        except MCPError as exc:
            logger.warning(
                "The server %s could not be listed anew: %s", member.info.name, exc.message
            )


def _plan(
    member: _Member,
    hook: ComponentNameHook | None,
    policy: CollisionPolicy,
    names: Names[Any],
    things: list[tuple[str, Any]],
) -> Any:
    return names.plan(member, things, member.info, hook, policy)


async def _list(session: ClientSession) -> Offer:
    """Ask a server for what it has announced, and for nothing else."""
    return Offer(
        tools=await _all_of(session, "tools", session.list_tools),
        resources=await _all_of(session, "resources", session.list_resources),
        prompts=await _all_of(session, "prompts", session.list_prompts),
    )


async def _all_of(
    session: ClientSession, kind: str, verb: Callable[..., Awaitable[Any]]
) -> list[Any]:
    if not session.may_offer(kind):
        return []

    async def fetch(cursor: str | None) -> tuple[list[Any], str | None]:
        page = await verb(params=None if cursor is None else PaginatedRequestParams(cursor=cursor))
        return getattr(page, kind), page.next_cursor

    try:
        return [each async for each in Pages(f"{kind}/list", fetch)]
    except LocalError:
        raise
    except MCPError as exc:
        if exc.code != METHOD_NOT_FOUND:
            raise
        logger.warning("A server announces %s, and has no %s/list", kind, kind)
        return []
