"""One session with a server: the verbs of the protocol, as they are."""

from __future__ import annotations

import warnings
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import trio

from trio_mcp._codec import DecodeError, checked_copy, decode, encode
from trio_mcp._protocol._meta import build_client_envelope
from trio_mcp._rpc._block import GuardedBlock
from trio_mcp._rpc._channel import join_ends
from trio_mcp._rpc._link import CallOptions
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._peer import open_peer
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPDeprecationWarning
from trio_mcp.types import (
    SERVER_INFO_META_KEY,
    CallToolResult,
    ClientCapabilities,
    DiscoverResult,
    ElicitationCapability,
    EmptyResult,
    FormElicitationCapability,
    Implementation,
    InitializeResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    RootsCapability,
    SamplingCapability,
    ServerCapabilities,
    UrlElicitationCapability,
)
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN, Revision, revision_for

from ._callbacks import Callbacks
from ._extensions import ClaimContext, Extensions, UnexpectedClaimedResult, read_claimed
from ._keep_alive import keep_alive
from ._output_schema import OutputSchemas
from ._pages import Pages
from ._serving import ClientServing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from types import TracebackType

    from trio_mcp._rpc._channel import Channel
    from trio_mcp._rpc._link import Link, ProgressFn
    from trio_mcp._rpc._service import Serving
    from trio_mcp.types import (
        ClientNotification,
        ClientRequest,
        CompleteResult,
        ErrorData,
        GetPromptResult,
        InputRequest,
        InputResponse,
        InputResponses,
        ListPromptsResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        LoggingLevel,
        PromptReference,
        ReadResourceResult,
        RequestParamsMeta,
        ResourceTemplateReference,
        Result,
        SubscriptionFilter,
        Tool,
    )
    from trio_mcp.types._base import JsonObject, WireModel

    from ._callbacks import (
        ClientRequestContext,
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
        SamplingFnT,
    )
    from ._extensions import NotificationBinding, ResultClaim
    from ._serving import NotificationListener

    OpenLink = Callable[[Serving], AbstractAsyncContextManager[Link]]

ResultT = TypeVar("ResultT", bound="WireModel")

# What a `resultType` of the core protocol is, and its absence.
_UNCLAIMED: Final = frozenset({None, "complete", "input_required"})

DEFAULT_CLIENT_INFO: Final = Implementation(name="trio-mcp", version="0.1.0")
DISCOVER_TIMEOUT_SECONDS: Final = 10.0
"""How long a probe waits before it is taken that the server knows only ``initialize``."""


class ClientSession:
    """The verbs of the protocol on one connection; `Client` is the pleasant face on it.

    Enter it, then `discover` or `initialize` (or `adopt` what is known already). Any number
    of tasks may call at once.

    Args:
      read_stream: What a transport yields: a channel, or its receiving end.
      write_stream: The sending end.
      read_timeout_seconds: How long each request may wait for its answer, from when it was
          written; None for no limit. Trio's cancel scopes work, too.
      sampling_callback: And its siblings: what answers a server's questions and takes what
          it tells. Each runs in a task of its own.
      client_info: Who this client says it is.
      log_level: Ask modern servers for log messages, from this level on.
      sampling_capabilities: What the sampling callback can do beyond the minimum.
      extensions: Extensions to declare, with their settings.
      result_claims: By extension, what it claims of the results of tools.
      notification_bindings: What listens to notifications of extensions.
      ping_interval: Seconds between signs of life that an older server is asked for; one that
          is not answered within as many ends the connection. None, the default, for none.
      open_link: Opens another way to the server, in place of the two streams.

    """

    def __init__(
        self,
        read_stream: Channel | None = None,
        write_stream: Channel | None = None,
        read_timeout_seconds: float | None = None,
        sampling_callback: SamplingFnT | None = None,
        elicitation_callback: ElicitationFnT | None = None,
        list_roots_callback: ListRootsFnT | None = None,
        logging_callback: LoggingFnT | None = None,
        message_handler: MessageHandlerFnT | None = None,
        client_info: Implementation | None = None,
        *,
        log_level: LoggingLevel | None = None,
        sampling_capabilities: SamplingCapability | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        result_claims: Mapping[str, Sequence[ResultClaim[Any]]] | None = None,
        notification_bindings: Sequence[NotificationBinding[Any]] | None = None,
        ping_interval: float | None = None,
        open_link: OpenLink | None = None,
    ) -> None:
        if open_link is None:
            if read_stream is None:
                raise TypeError("ClientSession needs the streams of a transport, or open_link")
            channel = join_ends(read_stream, write_stream)
            open_link = channel_opener(channel)
        self._open_link: OpenLink | None = open_link
        self._callbacks = Callbacks(
            sampling=sampling_callback,
            elicitation=elicitation_callback,
            list_roots=list_roots_callback,
            logging=logging_callback,
            message_handler=message_handler,
        )
        self._read_timeout_seconds = read_timeout_seconds
        self._client_info = DEFAULT_CLIENT_INFO if client_info is None else client_info
        self._log_level = log_level
        self._ping_interval = ping_interval
        self._extensions = Extensions.checked(extensions, result_claims, notification_bindings)
        self._capabilities = _declare(
            self._callbacks, sampling_capabilities, self._extensions.settings
        )
        self._serving = ClientServing(self, self._callbacks, self._capabilities, self._extensions)
        self._output_schemas = OutputSchemas()
        self._reconnect_listeners: tuple[Callable[[], None], ...] = ()
        self._block: GuardedBlock[Self] | None = None
        self._nursery: trio.Nursery | None = None
        self._link: Link | None = None
        self._revision: Revision | None = None
        self._envelope: JsonObject | None = None
        self._initialize_result: InitializeResult | None = None
        self._discover_result: DiscoverResult | None = None
        self._is_assumed = False

    async def __aenter__(self) -> Self:
        if self._open_link is None:
            raise RuntimeError("This session was entered before; make a new one")
        open_link, self._open_link = self._open_link, None
        block = GuardedBlock("ClientSession", self._open(open_link))
        await block.__aenter__()
        self._block = block
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        if self._block is None:
            raise RuntimeError("This session is not open")
        return await self._block.__aexit__(exc_type, exc_val, exc_tb)  # noqa: ASYNC102 - bounded inside

    @asynccontextmanager
    async def _open(self, open_link: OpenLink) -> AsyncGenerator[Self, None]:
        try:
            async with open_link(self._serving) as self._link:
                if self._ping_interval is None:
                    yield self
                    return
                async with open_background_nursery() as self._nursery:
                    yield self
        finally:
            self._serving.forget()

    # What is known of the server

    @property
    def revision(self) -> Revision | None:
        """The revision that the session speaks; None before it is agreed on."""
        return self._revision

    @property
    def protocol_version(self) -> str | None:
        """The name of the revision that the session speaks."""
        return None if self._revision is None else self._revision.version

    @property
    def initialize_result(self) -> InitializeResult | None:
        """What an older server said of itself."""
        return self._initialize_result

    @property
    def discover_result(self) -> DiscoverResult | None:
        """What a modern server said of itself."""
        return self._discover_result

    @property
    def server_info(self) -> Implementation | None:
        """Who the server says it is; a modern one need not say."""
        if self._initialize_result is not None:
            return self._initialize_result.server_info
        if self._discover_result is None:
            return None
        info: Any = (self._discover_result.meta or {}).get(SERVER_INFO_META_KEY)
        if not isinstance(info, dict):
            return None
        try:
            return decode(Implementation, info, LATEST_MODERN, where="serverInfo")
        except DecodeError:
            # It is for display only: a server that spells it wrong is no less usable.
            return None

    @property
    def server_capabilities(self) -> ServerCapabilities | None:
        """What the server can do."""
        said = self._initialize_result or self._discover_result
        return None if said is None else said.capabilities

    @property
    def instructions(self) -> str | None:
        """What the server says of its use, for a model."""
        said = self._initialize_result or self._discover_result
        return None if said is None else said.instructions

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What this client declares."""
        return self._capabilities

    # Agreeing on a revision

    async def initialize(self, version: str = LATEST_HANDSHAKE.version) -> InitializeResult:
        """Open a session of the older era (lifecycle).

        Raises:
          MCPError: if the server refused.
          InvalidResponse: if it answered with a revision that this client does not speak.

        """
        result = await self.send_initialize(version)
        answered = revision_for(str(result.get("protocolVersion")))
        if answered is None or not answered.has_handshake:
            raise InvalidResponse(
                f"The server answered initialize with protocol version "
                f"{result.get('protocolVersion')!r}, which this client does not speak; "
                f"it asked for {version}"
            )
        return await self.complete_initialize(answered, result)

    async def send_initialize(self, version: str) -> JsonObject:
        """Send ``initialize`` and return what it answered, without acting on it."""
        revision = revision_for(version)
        assert revision is not None
        params: JsonObject = {
            "protocolVersion": version,
            "capabilities": self._declare_to(revision),
            "clientInfo": encode(self._client_info, revision),
        }
        # The specification forbids to cancel `initialize`.
        options = CallOptions(timeout=self._read_timeout_seconds, may_cancel=False)
        return await self._require_link().request("initialize", params, options)

    async def complete_initialize(
        self, revision: Revision, result: JsonObject
    ) -> InitializeResult:
        """Adopt what ``initialize`` answered, and tell the server that this side is ready."""
        read = refuse_input(
            "initialize", read_result("initialize", result, InitializeResult, revision)
        )
        self.adopt(read)
        await self._require_link().notify("notifications/initialized")
        if self._ping_interval is not None and self._nursery is not None:
            # Once, also where this is a restarted server: it goes on with the next one.
            nursery, self._nursery = self._nursery, None
            nursery.start_soon(
                keep_alive, self._require_link(), self._ping_interval, name="MCP keep-alive"
            )
        return read

    async def discover(self) -> DiscoverResult:
        """Ask a modern server what it is and can do, and speak modern from now on."""
        result = await self.send_discover(LATEST_MODERN.version)
        read = read_discovery(result, LATEST_MODERN)
        self.adopt(read)
        return read

    async def send_discover(self, version: str) -> JsonObject:
        """Send ``server/discover`` at any version and return what it answered.

        Raises:
          MCPError: -32022 with the versions in its data, if the server does not speak it.
          RequestTimeout: if no answer comes within ``read_timeout_seconds``, or within
              `DISCOVER_TIMEOUT_SECONDS` where that is not set.

        """
        timeout = self._read_timeout_seconds
        options = CallOptions(
            timeout=DISCOVER_TIMEOUT_SECONDS if timeout is None else timeout, may_cancel=False
        )
        params: JsonObject = {"_meta": self._build_envelope(version)}
        return await self._require_link().request("server/discover", params, options)

    def adopt(
        self, result: InitializeResult | DiscoverResult, revision: Revision | None = None
    ) -> None:
        """Speak what a server is known to speak, without asking it.

        Args:
          result: What it answered, now or at another time.
          revision: Which of the versions to speak; the newest of them when None.

        Raises:
          ValueError: if none of them is known.

        """
        if isinstance(result, InitializeResult):
            revision = revision or revision_for(result.protocol_version)
            self._initialize_result, self._discover_result = result, None
        else:
            known = (revision_for(each) for each in result.supported_versions)
            modern = [each for each in known if each is not None and each.is_modern]
            revision = revision or max(modern, default=None)
            self._initialize_result, self._discover_result = None, result
        self._is_assumed = False
        if revision is None:
            raise ValueError("adopt: the server speaks no version that this client knows")
        self._revision = revision
        self._envelope = self._build_envelope(revision.version) if revision.is_modern else None

    def assume(self, revision: Revision) -> None:
        """Speak a modern revision, without knowing anything else of the server."""
        unknown = DiscoverResult(
            supported_versions=[revision.version], capabilities=ServerCapabilities()
        )
        self.adopt(unknown, revision)
        self._is_assumed = True

    def may_offer(self, capability: str) -> bool:
        """Whether the server may have something: it said so, or was never asked.

        Args:
          capability: ``tools``, ``prompts``, ``resources`` and the like.

        """
        said = self.server_capabilities
        return self._is_assumed or (said is not None and getattr(said, capability) is not None)

    def _declare_to(self, revision: Revision) -> JsonObject:
        json = encode(self._capabilities, revision)
        json.pop("extensions", None)
        extensions = self._extensions.declared_at(revision)
        if extensions is not None:
            json["extensions"] = extensions
        return json

    def _build_envelope(self, version: str) -> JsonObject:
        return build_client_envelope(
            version,
            self._declare_to(revision_for(version) or LATEST_MODERN),
            encode(self._client_info, LATEST_MODERN),
            self._log_level,
        )

    # Tools

    async def list_tools(self, *, params: PaginatedRequestParams | None = None) -> ListToolsResult:
        """Ask for one page of the server's tools."""
        result = await self._list("tools/list", params, ListToolsResult)
        self._output_schemas.learn(result.tools)
        return result

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
        allow_claimed: bool = False,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> CallToolResult | InputRequiredResult | Result:
        """Have the server run a tool, and wait for its result.

        Args:
          name: A name that `list_tools` lists.
          arguments: Must be JSON: what is not is refused before anything is sent.
          read_timeout_seconds: In place of the session's.
          progress_callback: Called in this task, in order, before this returns.
          input_responses: Answers to an earlier `InputRequiredResult`, by its keys.
          request_state: Of that result, as it came.
          meta: Further ``_meta`` of the request.
          allow_input_required: Return an `InputRequiredResult` instead of refusing it.
          allow_claimed: Return the result of an extension instead of refusing it.
          reset_timeout_on_progress: Let progress start the timeout anew.
          max_total_timeout: Seconds after which progress no longer helps; ten times the
              timeout when None.

        Returns:
          The result. A tool that failed by itself returns too, with ``is_error`` set.

        Raises:
          MCPError: if the server answered with an error.
          ConnectionLost: if the connection ended before the answer.
          RequestTimeout: if the time passed.
          InvalidResponse: if the tool was listed with an output schema that the structured
              content does not fit.
          UnexpectedClaimedResult: if an extension has to finish the call.
          TypeError: if the arguments are no JSON; ``ValueError`` for numbers that are none.

        Cancellation:
          The server may have begun. It is told to stop, nobody waits for that, and an answer
          that still comes is dropped.

        """
        params: JsonObject = {"name": name}
        if arguments is not None:
            params["arguments"] = checked_copy(arguments, "arguments")
        self._add_input(params, input_responses, request_state)
        options = CallOptions(
            on_progress=progress_callback,
            timeout=self._timeout(read_timeout_seconds),
            reset_timeout_on_progress=reset_timeout_on_progress,
            max_total_timeout=max_total_timeout,
        )
        json = await self._send("tools/call", params, options, meta)
        revision = self._require_revision()
        if revision.has_result_type and json.get("resultType") not in _UNCLAIMED:
            claimed = self._read_claimed(json, revision)
            if claimed is not None:
                if allow_claimed:
                    return claimed
                raise UnexpectedClaimedResult(claimed)
        result = read_result("tools/call", json, CallToolResult, revision)
        if isinstance(result, CallToolResult):
            self._output_schemas.check(name, result)
            return result
        return result if allow_input_required else refuse_input("tools/call", result)

    def _read_claimed(self, json: JsonObject, revision: Revision) -> Result | None:
        # Extension negotiation: it is in force if both sides have declared it.
        found = self._extensions.claim_for(json.get("resultType"), revision)
        if found is None:
            return None
        identifier, claim = found
        said = self.server_capabilities
        if not self._is_assumed and (said is None or identifier not in (said.extensions or {})):
            raise InvalidResponse(
                f"tools/call: the server answered with resultType {claim.result_type!r}, and "
                f"has not declared the extension {identifier!r}"
            )
        claimed: Result = read_claimed(claim, json, revision)
        return claimed

    async def resolve_claimed(
        self, result: Result, tool_name: str, read_timeout_seconds: float | None = None
    ) -> CallToolResult:
        """Have its extension finish what `call_tool` returned for ``allow_claimed``."""
        context = ClaimContext(
            session=self, tool_name=tool_name, read_timeout_seconds=read_timeout_seconds
        )
        finished = await self._extensions.claim_of(result).resolve(result, context)
        self._output_schemas.check(tool_name, finished)
        return finished

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Check a result against the output schema of its tool.

        `call_tool` does that by itself for tools that have been listed; this lists the tools
        first where this one is not known.

        Raises:
          InvalidResponse: if the structured content does not fit, or is missing.

        """
        await trio.lowlevel.checkpoint()
        if not self._output_schemas.knows(name):
            async for _ in Pages("tools/list", self._tools_page):
                if self._output_schemas.knows(name):
                    break
        self._output_schemas.check(name, result)

    async def _tools_page(self, cursor: str | None) -> tuple[list[Tool], str | None]:
        page = await self.list_tools(
            params=None if cursor is None else PaginatedRequestParams(cursor=cursor)
        )
        return page.tools, page.next_cursor

    def learn_tools(self, tools: Sequence[Tool]) -> None:
        """Take note of tools that were listed elsewhere, for the check of their results."""
        self._output_schemas.learn(tools)

    # Resources

    async def list_resources(
        self, *, params: PaginatedRequestParams | None = None
    ) -> ListResourcesResult:
        """Ask for one page of the server's resources."""
        from trio_mcp.types import ListResourcesResult  # noqa: PLC0415 - loads on first use

        return await self._list("resources/list", params, ListResourcesResult)

    async def list_resource_templates(
        self, *, params: PaginatedRequestParams | None = None
    ) -> ListResourceTemplatesResult:
        """Ask for one page of the server's resource templates."""
        from trio_mcp.types import ListResourceTemplatesResult  # noqa: PLC0415 - as above

        return await self._list("resources/templates/list", params, ListResourceTemplatesResult)

    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
    ) -> ReadResourceResult | InputRequiredResult:
        """Ask for the contents of a resource."""
        from trio_mcp.types import ReadResourceResult  # noqa: PLC0415 - loads on first use

        params: JsonObject = {"uri": str(uri)}
        self._add_input(params, input_responses, request_state)
        result = await self._ask("resources/read", params, ReadResourceResult, None, meta)
        return result if allow_input_required else refuse_input("resources/read", result)

    async def subscribe_resource(
        self, uri: str, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Ask an older server to tell when a resource changes."""
        _warn_deprecated("subscribe_resource")
        return await self._complete(
            "resources/subscribe", {"uri": str(uri)}, EmptyResult, None, meta
        )

    async def unsubscribe_resource(
        self, uri: str, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Take `subscribe_resource` back."""
        _warn_deprecated("unsubscribe_resource")
        return await self._complete(
            "resources/unsubscribe", {"uri": str(uri)}, EmptyResult, None, meta
        )

    # Prompts and completion

    async def list_prompts(
        self, *, params: PaginatedRequestParams | None = None
    ) -> ListPromptsResult:
        """Ask for one page of the server's prompts."""
        from trio_mcp.types import ListPromptsResult  # noqa: PLC0415 - loads on first use

        return await self._list("prompts/list", params, ListPromptsResult)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
    ) -> GetPromptResult | InputRequiredResult:
        """Ask for a prompt, filled in with the arguments."""
        from trio_mcp.types import GetPromptResult  # noqa: PLC0415 - loads on first use

        params: JsonObject = {"name": name}
        if arguments is not None:
            params["arguments"] = checked_copy(arguments, "arguments")
        self._add_input(params, input_responses, request_state)
        result = await self._ask("prompts/get", params, GetPromptResult, None, meta)
        return result if allow_input_required else refuse_input("prompts/get", result)

    async def complete(
        self,
        ref: ResourceTemplateReference | PromptReference,
        argument: dict[str, str],
        context_arguments: dict[str, str] | None = None,
    ) -> CompleteResult:
        """Ask for values that would complete an argument.

        Args:
          ref: The prompt or the resource template that the argument belongs to.
          argument: Its ``name``, and the ``value`` typed so far.
          context_arguments: Arguments that are settled already.

        """
        from trio_mcp.types import CompleteResult  # noqa: PLC0415 - loads on first use

        revision = self._require_revision()
        params: JsonObject = {
            "ref": encode(ref, revision),
            "argument": checked_copy(argument, "argument"),
        }
        if context_arguments is not None:
            params["context"] = {"arguments": checked_copy(context_arguments, "context_arguments")}
        return await self._complete("completion/complete", params, CompleteResult)

    # Utilities

    async def send_ping(self, *, meta: RequestParamsMeta | None = None) -> EmptyResult:
        """Ask an older server for a sign of life."""
        return await self._complete("ping", {}, EmptyResult, None, meta)

    async def set_logging_level(
        self, level: LoggingLevel, *, meta: RequestParamsMeta | None = None
    ) -> EmptyResult:
        """Ask an older server for log messages from a level on."""
        _warn_deprecated("set_logging_level")
        return await self._complete("logging/setLevel", {"level": level}, EmptyResult, None, meta)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        *,
        meta: RequestParamsMeta | None = None,
    ) -> None:
        """Tell an older server how far the answer to its request is."""
        _warn_deprecated("send_progress_notification")
        params: JsonObject = {"progressToken": progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self._require_revision().has_progress_message:
            params["message"] = message
        if meta is not None:
            params["_meta"] = _meta_to_json(meta)
        await self._require_link().notify("notifications/progress", params)

    async def send_roots_list_changed(self) -> None:
        """Tell an older server that the roots have changed."""
        _warn_deprecated("send_roots_list_changed")
        await self._require_link().notify("notifications/roots/list_changed")

    def on_notification(self, listener: NotificationListener) -> Callable[[], None]:
        """Have a function called with each notification, as soon as it is read.

        It sees the method and the params before any callback, subscription or waiting call
        does. The task that reads the wire calls it: it must neither raise nor take long.

        Returns:
          What takes it back.

        """
        return self._serving.add_listener(listener)

    def on_reconnect(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have a function called each time a restarted server takes over from a dead one.

        It is called before any waiting call goes on, and must neither raise nor take long.

        Returns:
          What takes it back.

        """
        self._reconnect_listeners = (*self._reconnect_listeners, listener)

        def remove() -> None:
            self._reconnect_listeners = tuple(
                each for each in self._reconnect_listeners if each is not listener
            )

        return remove

    def reconnected(self) -> None:
        """Tell those who asked that another server has taken over."""
        for listener in self._reconnect_listeners:
            listener()

    @property
    def mends(self) -> bool:
        """Whether a lost connection comes back, since a restart policy is in force."""
        return self._link is not None and self._link.mends

    async def wait_lost(self) -> ConnectionLost:
        """Wait until the connection has ended for good, and return how."""
        return await self._require_link().wait_lost()

    @property
    def read_timeout_seconds(self) -> float | None:
        """How long each request may wait for its answer; None for no limit."""
        return self._read_timeout_seconds

    async def send_listen(
        self, wanted: SubscriptionFilter, on_notification: NotificationListener
    ) -> JsonObject:
        """Subscribe to changes, and wait for the end of the subscription.

        `listen` is the pleasant face on it.

        Args:
          wanted: Which changes.
          on_notification: Called with each notification of the subscription, as
              `on_notification` calls its listeners, after them.

        Raises:
          MCPError: if the server refused, or ended the subscription with an error.
          ConnectionLost: if the connection ended first.

        """
        revision = self._require_revision()
        params: JsonObject = {"notifications": encode(wanted, revision)}
        if self._envelope is not None:
            params["_meta"] = dict(self._envelope)
        options = CallOptions(on_notification=on_notification)
        return await self._require_link().request("subscriptions/listen", params, options)

    async def dispatch_input_request(
        self, ctx: ClientRequestContext, request: InputRequest
    ) -> InputResponse | ErrorData:
        """Have this session's callback answer one question of an `InputRequiredResult`.

        Raises:
          MCPError: -32601 if there is no such callback, -32602 if it asks for more than was
              declared.

        """
        return await self._serving.ask(ctx, request.method, request.params)

    # Any message

    async def send_request(
        self,
        request: ClientRequest,
        result_type: type[ResultT],
        request_read_timeout_seconds: float | None = None,
        metadata: Any = None,
        progress_callback: ProgressFn | None = None,
    ) -> ResultT:
        """Send any request and read its result into a type."""
        del metadata
        revision = self._require_revision()
        params = {} if request.params is None else encode(request.params, revision)
        options = CallOptions(
            on_progress=progress_callback, timeout=self._timeout(request_read_timeout_seconds)
        )
        result = await self._ask(request.method, params, result_type, options)
        return refuse_input(request.method, result)

    async def send_notification(self, notification: ClientNotification) -> None:
        """Send any notification."""
        params = notification.params
        await self._require_link().notify(
            notification.method,
            None if params is None else encode(params, self._require_revision()),
        )

    # How they are sent

    async def _list(
        self, method: str, params: PaginatedRequestParams | None, result_type: type[ResultT]
    ) -> ResultT:
        json = {} if params is None else encode(params, self._require_revision())
        result = await self._ask(method, json, result_type)
        return refuse_input(method, result)

    async def _complete(
        self,
        method: str,
        params: JsonObject,
        result_type: type[ResultT],
        options: CallOptions | None = None,
        meta: RequestParamsMeta | None = None,
    ) -> ResultT:
        return refuse_input(method, await self._ask(method, params, result_type, options, meta))

    async def _ask(
        self,
        method: str,
        params: JsonObject,
        result_type: type[ResultT],
        options: CallOptions | None = None,
        meta: RequestParamsMeta | None = None,
    ) -> ResultT | InputRequiredResult:
        result = await self._send(method, params, options, meta)
        return read_result(method, result, result_type, self._require_revision())

    async def _send(
        self,
        method: str,
        params: JsonObject,
        options: CallOptions | None = None,
        meta: RequestParamsMeta | None = None,
    ) -> JsonObject:
        self._require_revision()
        link = self._require_link()
        if options is None:
            options = CallOptions(timeout=self._read_timeout_seconds)
        if link.mends:
            # The next server may speak another revision.
            await link.wait_usable(method, options.timeout)
        given = params.get("_meta") if meta is None else _meta_to_json(meta)
        if self._envelope is not None:
            params["_meta"] = {**(given or {}), **self._envelope}
        elif given:
            params["_meta"] = given
        return await link.request(method, params or None, options)

    def _add_input(
        self,
        params: JsonObject,
        input_responses: InputResponses | None,
        request_state: str | None,
    ) -> None:
        if input_responses is not None:
            revision = self._require_revision()
            params["inputResponses"] = {
                key: encode(response, revision) for key, response in input_responses.items()
            }
        if request_state is not None:
            params["requestState"] = request_state

    def _timeout(self, seconds: float | None) -> float | None:
        return self._read_timeout_seconds if seconds is None else seconds

    def _require_link(self) -> Link:
        if self._link is None:
            raise RuntimeError("Use the session inside `async with session:`")
        return self._link

    def _require_revision(self) -> Revision:
        if self._revision is None:
            raise RuntimeError("Call discover() or initialize() first, or adopt() what is known")
        return self._revision


def channel_opener(channel: Channel) -> OpenLink:
    """Make what opens a link over a channel."""

    def open_link(serving: Serving) -> AbstractAsyncContextManager[Link]:
        return open_peer(channel, serving)

    return open_link


def _declare(
    callbacks: Callbacks,
    sampling_capabilities: SamplingCapability | None,
    extensions: Mapping[str, JsonObject],
) -> ClientCapabilities:
    elicitation = None
    if callbacks.elicitation is not None:
        elicitation = ElicitationCapability(
            form=FormElicitationCapability(), url=UrlElicitationCapability()
        )
    sampling = None
    if callbacks.sampling is not None:
        sampling = sampling_capabilities or SamplingCapability()
    return ClientCapabilities(
        sampling=sampling,
        elicitation=elicitation,
        roots=None if callbacks.list_roots is None else RootsCapability(list_changed=True),
        extensions=dict(extensions) if extensions else None,
    )


def read_result(
    method: str, result: JsonObject, result_type: type[ResultT], revision: Revision
) -> ResultT | InputRequiredResult:
    """Read the result of a method.

    Basic protocol, result types: an absent one is "complete"; one that nobody declared makes
    the response invalid.

    Returns:
      The result type, or an `InputRequiredResult` where the method may need input.

    Raises:
      InvalidResponse: if it is not what the method says.

    """
    kind = result.get("resultType", "complete") if revision.has_result_type else "complete"
    wanted: type[ResultT | InputRequiredResult] = result_type
    if kind == "input_required" and method in METHODS and METHODS[method].may_need_input:
        wanted = InputRequiredResult
    elif kind != "complete":
        raise InvalidResponse(f"{method}: the server answered with resultType {kind!r}")
    try:
        return decode(wanted, result, revision, where="result")
    except (DecodeError, ValueError) as exc:
        raise InvalidResponse(f"{method}: the server's answer is invalid: {exc}") from exc


def read_discovery(result: JsonObject, revision: Revision) -> DiscoverResult:
    """Read what ``server/discover`` answered.

    Raises:
      InvalidResponse: if it is no discovery.

    """
    method = "server/discover"
    return refuse_input(method, read_result(method, result, DiscoverResult, revision))


def refuse_input(method: str, result: ResultT | InputRequiredResult) -> ResultT:
    """Return the result, if it is the complete one.

    Raises:
      InvalidResponse: if the server needs input first.

    """
    if isinstance(result, InputRequiredResult):
        raise InvalidResponse(
            f"{method}: the server needs input first; pass allow_input_required=True to answer "
            "it by hand, or call through Client"
        )
    return result


def _meta_to_json(meta: RequestParamsMeta) -> JsonObject:
    json: JsonObject = checked_copy(dict(meta), "meta")
    if "progress_token" in json:
        json["progressToken"] = json.pop("progress_token")
    return json


def _warn_deprecated(name: str) -> None:
    warnings.warn(
        f"{name} is deprecated: protocol version 2026-07-28 has no such request",
        MCPDeprecationWarning,
        stacklevel=3,
    )
