"""`ClientSessionGroup`: many servers, and one set of names for what they offer."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, Self, overload

import attrs
import trio

from trio_mcp._checks import check_kind, check_text, check_word
from trio_mcp._rpc._block import GuardedBlock
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._time_limit import within
from trio_mcp.types import CallToolResult, Implementation, InputRequiredResult

from ._arguments import check_function, check_timeout
from ._group_member import Member
from ._group_membership import Membership
from ._group_names import NamePolicy
from ._input_rounds import DEFAULT_INPUT_REQUIRED_MAX_ROUNDS, complete_input
from ._server_parameters import ClientSessionParameters
from ._session import ClientSession

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from types import TracebackType

    from trio_mcp._rpc._link import ProgressFn
    from trio_mcp.types import InputResponses, Prompt, RequestParamsMeta, Resource, Tool

    from ._group_names import CollisionPolicy, ComponentNameHook
    from ._server_parameters import ServerParameters

CONNECT_TIMEOUT: Final = 30.0
"""Seconds that each server of `ClientSessionGroup.connect_all` has to be ready."""


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
    dies go with it. One that tells that its lists have changed is listed anew (those of modern
    servers are subscribed to); what it still has keeps its name. Leaving the block closes all
    of them, in bounded time.

    Args:
      exit_stack: Closes the group instead of ``async with group``; it has to be one of the task
          that connects the first server.
      component_name_hook: Makes the common name of a thing from its own and from who its server
          is. Without it, the own name is the common one.
      on_collision: What becomes of a name that another server has. ``"prefix"``: the later one
          gets the name of its server before it, and a number where that is taken, too.
          ``"refuse"``: the later server is refused, with an `MCPError`.

    """

    def __init__(
        self,
        exit_stack: AsyncExitStack | None = None,
        component_name_hook: ComponentNameHook | None = None,
        *,
        on_collision: CollisionPolicy = "prefix",
    ) -> None:
        if exit_stack is not None:
            check_kind("exit_stack", exit_stack, AsyncExitStack)
        check_function("component_name_hook", component_name_hook)
        check_word("on_collision", on_collision, ("prefix", "refuse"))
        self._exit_stack = exit_stack
        self._policy = NamePolicy(component_name_hook, on_collision)
        self._block: GuardedBlock[None] | None = None
        self._membership: Membership | None = None

    async def __aenter__(self) -> Self:
        if self._block is not None and self._block.is_open:
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
        if self._block is None:
            raise RuntimeError("This group is not open")
        if self._exit_stack is not None:
            await trio.lowlevel.checkpoint()  # noqa: ASYNC102 - there is nothing to do here
            return None
        return await self._block.__aexit__(exc_type, exc_val, exc_tb)  # noqa: ASYNC102 - bounded

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[None, None]:
        async with open_background_nursery() as nursery:
            membership = self._membership = Membership(nursery, self._policy)
            try:
                yield
            finally:
                # Those who are about to join are cancelled after that, with the nursery.
                await membership.close()  # noqa: ASYNC102 - it shields itself, bounded

    # What there is

    @property
    def sessions(self) -> list[ClientSession]:
        """The sessions with all servers."""
        return [] if self._membership is None else self._membership.sessions

    @property
    def tools(self) -> dict[str, Tool]:
        """All tools by their common names, each as its server lists it."""
        return {} if self._membership is None else self._membership.catalog.tools.values()

    @property
    def resources(self) -> dict[str, Resource]:
        """All resources by their common names."""
        return {} if self._membership is None else self._membership.catalog.resources.values()

    @property
    def prompts(self) -> dict[str, Prompt]:
        """All prompts by their common names."""
        return {} if self._membership is None else self._membership.catalog.prompts.values()

    @overload
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
        allow_input_required: Literal[False] = False,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> CallToolResult: ...

    @overload
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
        allow_input_required: bool,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> CallToolResult | InputRequiredResult: ...

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
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Have a tool run by the server that has it.

        Args:
          name: The common name, a key of `tools`.
          arguments: And the others: see `Client.call_tool`.
          allow_input_required: Return an `InputRequiredResult` for you to answer; otherwise the
              session's callbacks answer it, as with `Client`.

        Raises:
          MCPError: if there is no such tool, or the server answered with an error.
          ConnectionLost: if its server has gone.

        Cancellation:
          As for `ClientSession.call_tool`.

        """
        check_text("name", name)
        membership = await self._require_opened()
        member, tool = await membership.find_tool(name)
        session = member.session

        async def send(
            responses: InputResponses | None, state: str | None
        ) -> CallToolResult | InputRequiredResult:
            result = await session.call_tool(
                tool.name,
                arguments,
                read_timeout_seconds,
                progress_callback,
                input_responses=responses,
                request_state=state,
                meta=meta,
                allow_input_required=True,
                finish_claimed=True,
                reset_timeout_on_progress=reset_timeout_on_progress,
                max_total_timeout=max_total_timeout,
            )
            assert isinstance(result, (CallToolResult, InputRequiredResult))
            return result

        async def call() -> CallToolResult | InputRequiredResult:
            result = await send(input_responses, request_state)
            if isinstance(result, InputRequiredResult):
                if allow_input_required:
                    return result
                rounds = DEFAULT_INPUT_REQUIRED_MAX_ROUNDS
                result = await complete_input(session, result, send, rounds)
            return result

        check_timeout("max_total_timeout", max_total_timeout)
        return await within(max_total_timeout, "tools/call", call)

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
          ConnectionLost: also if the group was closed meanwhile.

        Cancellation:
          Everything that was opened for it is closed.

        """
        _check_params(session_params)
        membership = await self._require_open()
        return (await membership.join(server_params, session_params)).session

    async def connect_all(
        self,
        servers: Iterable[ServerParameters],
        session_params: ClientSessionParameters | None = None,
        *,
        connect_timeout: float | None = CONNECT_TIMEOUT,
    ) -> list[ConnectOutcome]:
        """Connect many servers at the same time; those that fail harm no other one.

        All that are ready join the group at once, when the last one is ready or has failed, and
        names are given out in the order of the servers.

        Args:
          servers: How to reach each.
          session_params: How to talk to each.
          connect_timeout: Seconds that each server has to be connected and to list what it
              offers; None for no limit. One that is late fails with `RequestTimeout`. Ending
              it may take some seconds more.

        Returns:
          For each server, in order, its session or its error.

        Raises:
          RuntimeError: if the group is not open.
          ConnectionLost: if it was closed.

        Cancellation:
          Everything that was opened by this call is closed.

        """
        _check_params(session_params)
        check_timeout("connect_timeout", connect_timeout)
        given = list(servers)
        membership = await self._require_open()
        seconds = float("inf") if connect_timeout is None else connect_timeout
        joined = await membership.join_all(given, session_params, seconds)
        return [
            ConnectOutcome(server, member.session)
            if isinstance(member, Member)
            else ConnectOutcome(server, error=member)
            for server, member in zip(given, joined, strict=True)
        ]

    async def connect_with_session(
        self, server_info: Implementation, session: ClientSession
    ) -> ClientSession:
        """Take in what a session that you have opened offers. It stays yours to close.

        Args:
          server_info: Who its server is, for names.
          session: Has agreed on a revision.

        Raises:
          MCPError: as for `connect_to_server`.

        """
        check_kind("server_info", server_info, Implementation)
        check_kind("session", session, ClientSession)
        membership = await self._require_open()
        if session.revision is None:
            raise RuntimeError("Call discover() or initialize() of the session first")
        await membership.join_with_session(Member(session, server_info))
        return session

    async def _require_open(self) -> Membership:
        if self._block is None and self._exit_stack is not None:
            await self.__aenter__()
        if self._membership is None or not self._membership.is_open:
            await trio.lowlevel.checkpoint()
            raise RuntimeError(_NOT_OPEN)
        return self._membership

    async def _require_opened(self) -> Membership:
        if self._membership is None:
            await trio.lowlevel.checkpoint()
            raise RuntimeError(_NOT_OPEN)
        return self._membership

    # Servers change and go

    async def refresh(self, session: ClientSession) -> None:
        """Ask a server anew for what it offers, such as after it told that this has changed.

        Raises:
          MCPError: if it is not in the group, does not answer, or has a name now that is taken
              where that is refused. What was known of it stays.

        """
        membership = await self._require_opened()
        await membership.refresh(await membership.member_of(session))

    async def disconnect_from_server(self, session: ClientSession) -> None:
        """Let a server go, with all its names, and close what the group opened for it.

        Calls that wait for it fail with `ConnectionLost`.

        Raises:
          MCPError: if it is not in the group.

        Cancellation:
          It is closed all the same, see `ConnectedClient.aclose`.

        """
        membership = await self._require_opened()
        await membership.part_with(await membership.member_of(session))


def _check_params(session_params: object) -> None:
    if session_params is not None:
        check_kind("session_params", session_params, ClientSessionParameters)


_NOT_OPEN: Final = "Use the group inside `async with ClientSessionGroup() as group:`"
