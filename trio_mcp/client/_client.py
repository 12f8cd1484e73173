"""`Client`: one server, whatever it is reached by."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs

from trio_mcp._rpc._block import GuardedBlock
from trio_mcp.errors import LocalError, MCPError
from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    INVALID_PARAMS,
    MODERN_PROTOCOL_VERSIONS,
    CallToolResult,
    InputRequiredResult,
)
from trio_mcp.types._revisions import LATEST_HANDSHAKE

from ._cache import ResponseCache
from ._cache_store import CacheConfig
from ._extensions import Extensions
from ._input_rounds import DEFAULT_INPUT_REQUIRED_MAX_ROUNDS, complete_input
from ._negotiation import negotiate
from ._pages import Pages
from ._roads import check_reopens, road_to
from ._session import ClientSession
from ._subscriptions import listen

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from types import TracebackType

    from trio_mcp._rpc._link import ProgressFn
    from trio_mcp.types import (
        CompleteResult,
        DiscoverResult,
        EmptyResult,
        GetPromptResult,
        Implementation,
        InputResponses,
        ListPromptsResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        LoggingLevel,
        Prompt,
        PromptReference,
        ReadResourceResult,
        RequestParamsMeta,
        Resource,
        ResourceTemplate,
        ResourceTemplateReference,
        Result,
        SamplingCapability,
        ServerCapabilities,
        Tool,
    )
    from trio_mcp.types._base import JsonObject

    from ._cache_store import CacheMode
    from ._callbacks import (
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
        SamplingFnT,
    )
    from ._extensions import ClientExtension
    from ._restart import MendingRoad, RestartPolicy
    from ._subscriptions import Subscription

T = TypeVar("T")
ResultT = TypeVar("ResultT")

ConnectMode = str
"""``"auto"``, ``"legacy"``, or the name of a revision."""


@attrs.define(eq=False)
class Client:
    """Talks to one server, inside ``async with``.

    Any number of tasks may call at once. Leaving the block ends everything that belongs to
    it, in bounded time; calls that still wait in other tasks fail with `ConnectionLost`.

    Args:
      server: A `Server` or `MCPServer` of this process, `StdioServerParameters`, or a
          transport: an async context manager that yields a `Channel` or its two ends.
      raise_exceptions: For a server of this process: let a defect of a handler reach the
          caller as it is.
      read_timeout_seconds: How long each request may wait for its answer; None for no limit.
          Cancel scopes of Trio work at all times.
      sampling_callback: And its siblings: answer what the server asks.
      logging_callback: Takes the server's log messages, in order.
      log_level: Ask modern servers for log messages, from this level on.
      message_handler: Takes every notification, and what arrived and was no message.
      client_info: Who this client says it is.
      mode: ``"auto"`` probes for a modern server and falls back to ``initialize``;
          ``"legacy"`` only initializes; the name of a revision pins it (a modern one is
          adopted without a question).
      prior_discover: What a modern server answered another time, for a pinned revision.
      extensions: What the client declares and understands beyond the core protocol.
      input_required_max_rounds: How often a call is sent again with what the server asked
          for, before it gives up.
      cache: How to keep results that say how long they stay fresh; None to keep none.
      ping_interval: Seconds between signs of life that an older server is asked for; one that
          is not answered within as many ends the connection.
      restart: How to start a server again that died; None to leave it dead. The server has to
          be one that can be opened more than once, as a command can.

    Cancellation:
      Entering may be cancelled at any time. A stdio server that does not go by itself makes
      leaving take as long as the escalation of `stdio_client`.

    """

    server: Any
    raise_exceptions: bool = False
    read_timeout_seconds: float | None = None
    sampling_callback: SamplingFnT | None = None
    sampling_capabilities: SamplingCapability | None = None
    list_roots_callback: ListRootsFnT | None = None
    logging_callback: LoggingFnT | None = None
    log_level: LoggingLevel | None = None
    message_handler: MessageHandlerFnT | None = None
    client_info: Implementation | None = None
    mode: ConnectMode = "auto"
    prior_discover: DiscoverResult | None = None
    elicitation_callback: ElicitationFnT | None = None
    input_required_max_rounds: int = DEFAULT_INPUT_REQUIRED_MAX_ROUNDS
    extensions: Sequence[ClientExtension] | None = None
    cache: CacheConfig | None = attrs.field(factory=CacheConfig)
    ping_interval: float | None = attrs.field(default=None, kw_only=True)
    restart: RestartPolicy | None = attrs.field(default=None, kw_only=True)
    _session: ClientSession | None = attrs.field(default=None, init=False)
    _block: GuardedBlock[ClientSession] | None = attrs.field(default=None, init=False)
    _verdict: str | None = attrs.field(default=None, init=False)
    _cache: ResponseCache | None = attrs.field(default=None, init=False)
    _extensions: Extensions = attrs.field(factory=Extensions, init=False)

    def __attrs_post_init__(self) -> None:
        if self.extensions:
            self._extensions = Extensions.of(self.extensions)
        if self.restart is not None:
            check_reopens(self.server)
        versions = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
        if self.mode not in ("auto", "legacy", *versions):
            raise ValueError(
                f"mode must be 'auto', 'legacy' or one of {', '.join(versions)}; got {self.mode!r}"
            )
        if self.cache is not None:
            self._cache = ResponseCache(self.cache)

    async def __aenter__(self) -> Self:
        if self._block is not None:
            raise RuntimeError("This client is open already: use one Client per connection")
        block = self._block = GuardedBlock("Client", self._open())
        try:
            self._session = await block.__aenter__()
        except BaseException:
            self._block = None
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        block = self._block
        if block is None:
            raise RuntimeError("This client is not open")
        try:
            return await block.__aexit__(exc_type, exc_val, exc_tb)  # noqa: ASYNC102 - bounded inside
        finally:
            if not block.is_open:
                self._session = self._block = None

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[ClientSession, None]:
        road = road_to(self.server, raise_exceptions=self.raise_exceptions)
        mending: MendingRoad | None = None
        if self.restart is not None:
            from ._restart import MendingRoad  # noqa: PLC0415 - few want it

            road = mending = MendingRoad(road, self.restart, self._negotiate_again)
        session = ClientSession(
            read_timeout_seconds=self.read_timeout_seconds,
            sampling_callback=self.sampling_callback,
            elicitation_callback=self.elicitation_callback,
            list_roots_callback=self.list_roots_callback,
            logging_callback=self.logging_callback,
            message_handler=self.message_handler,
            client_info=self.client_info,
            log_level=self.log_level,
            sampling_capabilities=self.sampling_capabilities,
            extensions={**self._extensions.settings} or None,
            result_claims=self._extensions.claims,
            notification_bindings=self._extensions.bindings,
            ping_interval=self.ping_interval,
            open_link=road,
        )
        if self._cache is not None:
            session.on_notification(self._cache.notified)
        async with session:
            await negotiate(session, self._verdict or self.mode, self.prior_discover)
            self._remember(session)
            if mending is not None:
                mending.establish()
            yield session

    async def _negotiate_again(self) -> None:
        session = self.session
        if self._verdict is not None:
            try:
                await negotiate(session, self._verdict)
            except LocalError:
                raise
            except MCPError:
                # It is another server than it was: whatever was known of it is void.
                self._verdict = None
        if self._verdict is None:
            await negotiate(session, self.mode, self.prior_discover)
            self._remember(session)
        if self._cache is not None:
            self._cache.forget_all()
        session.reconnected()

    def _remember(self, session: ClientSession) -> None:
        # Versioning: the verdict about a server's era holds until it stops holding. Opening
        # this client again asks an older server for nothing that it has not.
        revision = session.revision
        if self.mode == "auto" and revision is not None and revision.has_handshake:
            self._verdict = "legacy" if revision == LATEST_HANDSHAKE else revision.version

    # What is known of the server

    @property
    def session(self) -> ClientSession:
        """The session below this client, for its raw verbs.

        Raises:
          RuntimeError: outside of ``async with``.

        """
        if self._session is None:
            raise RuntimeError("Use the client inside `async with Client(...) as client:`")
        return self._session

    @property
    def protocol_version(self) -> str:
        """The revision that was agreed on."""
        version = self.session.protocol_version
        assert version is not None
        return version

    @property
    def server_info(self) -> Implementation | None:
        """Who the server says it is; a modern one need not say."""
        return self.session.server_info

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """What the server can do."""
        capabilities = self.session.server_capabilities
        assert capabilities is not None
        return capabilities

    @property
    def instructions(self) -> str | None:
        """What the server says of its use, for a model."""
        return self.session.instructions

    # Tools

    async def list_tools(
        self,
        *,
        cursor: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ListToolsResult:
        """Ask for one page of the server's tools; `iter_tools` goes through all of them."""
        session = self.session
        result = await self._list("tools/list", session.list_tools, cursor, meta, cache_mode)
        # A kept list says what results have to look like, too.
        session.learn_tools(result.tools)
        return result

    def iter_tools(self) -> Pages[Tool]:
        """Go through all tools: ``async for tool in client.iter_tools()``."""

        async def fetch(cursor: str | None) -> tuple[list[Tool], str | None]:
            page = await self.list_tools(cursor=cursor)
            return page.tools, page.next_cursor

        return Pages("tools/list", fetch)

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
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> CallToolResult:
        """Have the server run a tool, and wait for its result.

        See `ClientSession.call_tool` for what each argument does.

        Returns:
          The result. A tool that failed by itself returns too, with ``is_error`` set.

        Raises:
          MCPError: if the server answered with an error.
          ConnectionLost: if the connection ended before the answer.
          RequestTimeout: if the time passed.
          InvalidResponse: if the tool was listed with an output schema that the result does
              not fit.
          TypeError: if the arguments are no JSON.
          Exception: what an extension's resolver raised.

        Cancellation:
          The server may have begun. It is told to stop, nobody waits for that, and an answer
          that still comes is dropped.

        """
        session = self.session

        async def send(
            responses: InputResponses | None, state: str | None
        ) -> CallToolResult | InputRequiredResult | Result:
            return await session.call_tool(
                name,
                arguments,
                read_timeout_seconds,
                progress_callback,
                input_responses=responses,
                request_state=state,
                meta=meta,
                allow_input_required=True,
                allow_claimed=True,
                reset_timeout_on_progress=reset_timeout_on_progress,
                max_total_timeout=max_total_timeout,
            )

        result = await send(input_responses, request_state)
        if isinstance(result, InputRequiredResult):
            result = await complete_input(session, result, send, self.input_required_max_rounds)
        if isinstance(result, CallToolResult):
            return result
        return await session.resolve_claimed(result, name, read_timeout_seconds)

    # Resources

    async def list_resources(
        self,
        *,
        cursor: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ListResourcesResult:
        """Ask for one page of the server's resources."""
        return await self._list(
            "resources/list", self.session.list_resources, cursor, meta, cache_mode
        )

    def iter_resources(self) -> Pages[Resource]:
        """Go through all resources."""

        async def fetch(cursor: str | None) -> tuple[list[Resource], str | None]:
            page = await self.list_resources(cursor=cursor)
            return page.resources, page.next_cursor

        return Pages("resources/list", fetch)

    async def list_resource_templates(
        self,
        *,
        cursor: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ListResourceTemplatesResult:
        """Ask for one page of the server's resource templates."""
        return await self._list(
            "resources/templates/list",
            self.session.list_resource_templates,
            cursor,
            meta,
            cache_mode,
        )

    def iter_resource_templates(self) -> Pages[ResourceTemplate]:
        """Go through all resource templates."""

        async def fetch(cursor: str | None) -> tuple[list[ResourceTemplate], str | None]:
            page = await self.list_resource_templates(cursor=cursor)
            return page.resource_templates, page.next_cursor

        return Pages("resources/templates/list", fetch)

    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ReadResourceResult:
        """Read a resource.

        Raises:
          MCPError: -32602 (an older server: -32002) if there is none at this URI; see
              `MCPError.is_resource_not_found`.

        """
        session = self.session

        async def send(
            responses: InputResponses | None, state: str | None
        ) -> ReadResourceResult | InputRequiredResult:
            return await session.read_resource(
                uri,
                input_responses=responses,
                request_state=state,
                meta=meta,
                allow_input_required=True,
            )

        async def ask() -> ReadResourceResult | InputRequiredResult:
            return await send(input_responses, request_state)

        # A retry's result depends on its answers: it is neither taken from the cache nor kept.
        retried = input_responses is not None or request_state is not None
        mode = "bypass" if retried else cache_mode
        first = await self._through_cache("resources/read", {"uri": str(uri)}, mode, meta, ask)
        return await complete_input(session, first, send, self.input_required_max_rounds)

    async def subscribe_resource(
        self, uri: str, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Ask an older server to tell when a resource changes (deprecated)."""
        return await self.session.subscribe_resource(uri, meta=meta)

    async def unsubscribe_resource(
        self, uri: str, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Take `subscribe_resource` back (deprecated)."""
        return await self.session.unsubscribe_resource(uri, meta=meta)

    def listen(
        self,
        *,
        tools_list_changed: bool = False,
        prompts_list_changed: bool = False,
        resources_list_changed: bool = False,
        resource_subscriptions: Sequence[str] = (),
    ) -> AbstractAsyncContextManager[Subscription]:
        """Have a modern server tell what changes, for as long as the block lasts.

        ::

            async with client.listen(tools_list_changed=True) as changes:
                async for change in changes:
                    tools = await client.list_tools()

        See `trio_mcp.client.listen` for what each argument does and what it raises. What the
        client has kept of a result is out of date before the loop hears of a change.
        """
        return listen(
            self.session,
            tools_list_changed=tools_list_changed,
            prompts_list_changed=prompts_list_changed,
            resources_list_changed=resources_list_changed,
            resource_subscriptions=resource_subscriptions,
        )

    # Prompts and completion

    async def list_prompts(
        self,
        *,
        cursor: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> ListPromptsResult:
        """Ask for one page of the server's prompts."""
        return await self._list(
            "prompts/list", self.session.list_prompts, cursor, meta, cache_mode
        )

    def iter_prompts(self) -> Pages[Prompt]:
        """Go through all prompts."""

        async def fetch(cursor: str | None) -> tuple[list[Prompt], str | None]:
            page = await self.list_prompts(cursor=cursor)
            return page.prompts, page.next_cursor

        return Pages("prompts/list", fetch)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
    ) -> GetPromptResult:
        """Ask for a prompt, filled in with the arguments."""
        session = self.session

        async def send(
            responses: InputResponses | None, state: str | None
        ) -> GetPromptResult | InputRequiredResult:
            return await session.get_prompt(
                name,
                arguments,
                input_responses=responses,
                request_state=state,
                meta=meta,
                allow_input_required=True,
            )

        first = await send(input_responses, request_state)
        return await complete_input(session, first, send, self.input_required_max_rounds)

    async def complete(
        self,
        ref: ResourceTemplateReference | PromptReference,
        argument: dict[str, str],
        context_arguments: dict[str, str] | None = None,
    ) -> CompleteResult:
        """Ask for values that would complete an argument of a prompt or template."""
        return await self.session.complete(ref, argument, context_arguments)

    # The cache

    async def _list(
        self,
        method: str,
        verb: Callable[..., Awaitable[ResultT]],
        cursor: str | None,
        meta: RequestParamsMeta | None,
        cache_mode: CacheMode,
    ) -> ResultT:
        async def ask() -> ResultT:
            return await verb(params=_page(cursor, meta))

        params = {} if cursor is None else {"cursor": cursor}
        try:
            return await self._through_cache(method, params, cache_mode, meta, ask)
        except MCPError as exc:
            if cursor is not None and exc.code == INVALID_PARAMS and self._cache is not None:
                # Caching: a cursor that is no longer good makes every page of its list stale.
                self._cache.forget_pages(method)
            raise

    async def _through_cache(
        self,
        method: str,
        params: JsonObject,
        mode: CacheMode,
        meta: RequestParamsMeta | None,
        ask: Callable[[], Awaitable[T]],
    ) -> T:
        revision = self.session.revision
        if self._cache is None or revision is None or mode == "bypass":
            return await ask()
        # What a caller adds to a request may change its result.
        asked_mode: CacheMode = "refresh" if meta is not None and mode == "use" else mode
        result: T = await self._cache.fetch(method, params, revision, asked_mode, ask)
        return result

    # Utilities of the older era

    async def send_ping(self, *, meta: RequestParamsMeta | None = None) -> EmptyResult:
        """Ask an older server for a sign of life."""
        return await self.session.send_ping(meta=meta)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
    ) -> None:
        """Tell an older server how far the answer to its request is (deprecated)."""
        await self.session.send_progress_notification(progress_token, progress, total, message)

    async def set_logging_level(
        self, level: LoggingLevel, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Ask an older server for log messages from a level on (deprecated)."""
        return await self.session.set_logging_level(level, meta=meta)

    async def send_roots_list_changed(self) -> None:
        """Tell an older server that the roots have changed (deprecated)."""
        await self.session.send_roots_list_changed()


def _page(cursor: str | None, meta: RequestParamsMeta | None) -> Any:
    if cursor is None and meta is None:
        return None
    from trio_mcp.types import PaginatedRequestParams  # noqa: PLC0415 - a first page needs none

    return PaginatedRequestParams(cursor=cursor, meta=meta)
