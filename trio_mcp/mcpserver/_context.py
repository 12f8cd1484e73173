"""What a tool, resource or prompt knows of the request it works for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, Unpack, cast

import trio
from typing_extensions import TypeVar

from trio_mcp._deprecation import deprecated
from trio_mcp.errors import MCPDeprecationWarning
from trio_mcp.server import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from trio_mcp.types._base import is_input_required
from trio_mcp.types._sampling_options import spells_out_sampling_options

from ._workers import Workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trio_mcp.auth import Principal
    from trio_mcp.server import (
        ServerEvent,
        ServerRequestContext,
        ServerSession,
        SubscriptionBus,
    )
    from trio_mcp.types import (
        ClientCapabilities,
        CreateMessageResult,
        CreateMessageResultWithTools,
        Implementation,
        InputResponseRequestParams,
        InputResponses,
        LoggingLevel,
        Root,
        SamplingMessage,
    )
    from trio_mcp.types._base import JsonValue
    from trio_mcp.types._sampling_options import SamplingOptions

    from ._elicitation import ElicitationResult, ElicitSchemaModelT, UrlElicitationResult
    from ._resource_contents import ReadResourceContents
    from ._server import MCPServer

LifespanContextT = TypeVar("LifespanContextT", default=Any)
RequestT = TypeVar("RequestT", default=Any)

_NO_REQUEST: Final = "The context belongs to no request"
_LOGGING_IS_DEPRECATED = (
    "The specification deprecates log messages to the client as of 2026-07-28 (SEP-2577)"
)

_SAMPLING_IS_DEPRECATED = "The specification deprecates sampling as of 2026-07-28 (SEP-2577)"
_ROOTS_ARE_DEPRECATED = "The specification deprecates roots as of 2026-07-28 (SEP-2577)"

# Holds nothing outside of a run of Trio.
_NO_SERVER: Final = Workers()


class Context(Generic[LifespanContextT, RequestT]):
    """The request that a function works for, and the way to the client that asked.

    A function gets it by a parameter with this annotation, whatever its name::

        @mcp.tool()
        async def crawl(url: str, ctx: Context) -> str:
            await ctx.report_progress(1, 10)

    The parameter is not part of the published schema. ``Context[AppState]`` tells type checkers
    what ``ctx.request_context.lifespan_context`` is.
    """

    def __init__(
        self,
        *,
        request_context: ServerRequestContext[LifespanContextT, RequestT] | None = None,
        mcp_server: MCPServer[Any] | None = None,
        input_params: InputResponseRequestParams | None = None,
        subscriptions: SubscriptionBus | None = None,
    ) -> None:
        self._request_context = request_context
        self._mcp_server = mcp_server
        self._input_params = input_params
        self._subscriptions = subscriptions

    @property
    def mcp_server(self) -> MCPServer[Any]:
        """The server.

        Raises:
          ValueError: outside of a request.

        """
        if self._mcp_server is None:
            raise ValueError(_NO_REQUEST)
        return self._mcp_server

    @property
    def request_context(self) -> ServerRequestContext[LifespanContextT, RequestT]:
        """What the low-level server knows of the request.

        Raises:
          ValueError: outside of a request.

        """
        if self._request_context is None:
            raise ValueError(_NO_REQUEST)
        return self._request_context

    @property
    def current_request(self) -> ServerRequestContext[LifespanContextT, RequestT] | None:
        """The same, or None outside of a request."""
        return self._request_context

    @property
    def workers(self) -> Workers:
        """The threads that sync functions of this server run in."""
        return _NO_SERVER if self._mcp_server is None else self._mcp_server.workers

    @property
    def session(self) -> ServerSession:
        """The way to the client that asked."""
        return self.request_context.session

    @property
    def request_id(self) -> str:
        """The id of the request, as text."""
        return str(self.request_context.request_id)

    @property
    def protocol_version(self) -> str | None:
        """The revision of the request; None outside of one."""
        return None if self._request_context is None else self._request_context.protocol_version

    @property
    def client_capabilities(self) -> ClientCapabilities | None:
        """What the client said it can do; None if it said nothing."""
        return self.session.client_capabilities

    @property
    def client_info(self) -> Implementation | None:
        """Who the client says it is; None if it did not. For display and logs only."""
        said = self.session.client_params
        return None if said is None else said.client_info

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The headers of the HTTP request, or None where there was none.

        The client chose them: none of them says who it is.
        """
        exchange = self.request_context.exchange
        if exchange is not None and exchange.headers is not None:
            return exchange.headers
        request = self.request_context.request
        return cast("Mapping[str, str] | None", getattr(request, "headers", None))

    @property
    def principal(self) -> Principal | None:
        """Who asks, as the carrier has authenticated it; None where nobody needs to say.

        ``details`` is the `AccessToken`, which `get_access_token` gives, too.
        """
        return self.request_context.principal

    @property
    def input_responses(self) -> InputResponses | None:
        """What the client answered to an `InputRequiredResult`; None in the first round."""
        return None if self._input_params is None else self._input_params.input_responses

    @property
    def request_state(self) -> str | None:
        """The state that an `InputRequiredResult` gave along; None in the first round."""
        return None if self._input_params is None else self._input_params.request_state

    # Cancellation

    @property
    def cancel_reason(self) -> str | None:
        """Why the request was cancelled, once it was; None before.

        In the words of whoever cancelled it (``scope.cancel(reason=...)``), if there are any.
        Sync functions may ask, too, also when they have been let go. A scope of the function's
        own, or its tool's ``timeout``, cancels no request.
        """
        exchange = self.request_context.exchange
        return None if exchange is None else exchange.cancel_reason

    @property
    def deadline(self) -> float:
        """When the request will be cancelled, on Trio's clock; infinity if no time is set.

        Only for async functions: a thread has no clock of Trio.

        Raises:
          RuntimeError: in a sync function.

        """
        try:
            return trio.current_effective_deadline()
        except RuntimeError:
            raise RuntimeError(
                "deadline is for async functions; a sync function runs in a thread, which has no "
                "clock of Trio: call check_cancelled() now and then"
            ) from None

    def check_cancelled(self) -> None:
        """Stop a sync function here if its request was cancelled.

        Such functions run in threads, which cannot be ended from outside: call this now and
        then in long work. Async functions have checkpoints instead
        (``await trio.lowlevel.checkpoint_if_cancelled()``).

        Raises:
          trio.Cancelled: if the request was cancelled. Let it through.
          RuntimeError: in an async function, which only an ``await`` can stop.

        """
        try:
            trio.from_thread.check_cancelled()
        except RuntimeError:
            raise RuntimeError(
                "check_cancelled() is for sync functions, which run in threads; in an async "
                "function write 'await trio.lowlevel.checkpoint_if_cancelled()'"
            ) from None

    # To the client

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far the work is.

        Nothing is sent if the client did not ask for it, or if the value did not rise.

        Args:
          progress: How much is done; more each time.
          total: How much there is to do, if that is known.
          message: What is going on, for people.

        Raises:
          TypeError: if a number is none, or the message is no text; whether the client asked
              or not.
          ValueError: if a number is not finite, or the message holds half a surrogate pair.
            What is refused does not count: the next report is compared with the last good one.

        """
        await self.session.report_progress(progress, total, message)

    async def elicit(
        self, message: str, schema: type[ElicitSchemaModelT]
    ) -> ElicitationResult[ElicitSchemaModelT]:
        """Ask the user to fill in a form, and wait for the answer.

        For clients of the older era, and in tasks (`trio_mcp.extensions.TasksExtension`): a modern
        one is not asked while its request waits. `Resolve` with `Elicit` works for both.

        Args:
          message: What the user reads.
          schema: The form: an attrs class, dataclass, TypedDict, pydantic model or msgspec
            struct of flat fields.

        Raises:
          TypeError: if the class cannot be a form. Nothing is sent then.
          ValueError: if the answer does not fit the form.
          MCPError: -32021 if the client did not declare that it shows forms.
          NoBackChannelError: if the client cannot be asked here.

        """
        from ._elicitation import elicit_with_validation  # noqa: PLC0415 - on first use

        return await elicit_with_validation(self.session, message, schema)

    async def elicit_url(
        self, message: str, url: str, elicitation_id: str
    ) -> UrlElicitationResult:
        """Ask the user to visit a URL, and wait for consent; for clients of 2025-11-25.

        Secrets belong there and not into a form. The URL carries no data of the user and opens
        nothing without a login of its own: whoever visits it must be who was asked.

        Args:
          message: Why.
          url: Where to; https, outside of development.
          elicitation_id: For `ServerSession.send_elicit_complete`, once the user is done there.

        Raises:
          MCPError: -32021 if the client did not declare that it opens URLs.
          NoBackChannelError: if the client cannot be asked here.

        """
        from ._elicitation import elicit_url  # noqa: PLC0415 - on first use

        return await elicit_url(self.session, message, url, elicitation_id)

    @deprecated(_SAMPLING_IS_DEPRECATED, category=MCPDeprecationWarning)
    @spells_out_sampling_options
    async def sample(
        self,
        messages: list[SamplingMessage],
        *,
        max_tokens: int,
        **options: Unpack[SamplingOptions],
    ) -> CreateMessageResult | CreateMessageResultWithTools:
        """Ask the client's model to go on with a conversation, and wait for what it says.

        For clients of the older era, and in tasks, as `elicit`: `Resolve` with `Sample` works for
        both.

        Returns:
          A `CreateMessageResultWithTools` if tools were given, else a `CreateMessageResult`.

        Raises:
          ValueError: if uses of tools and their results do not match.
          MCPError: -32021 if the client did not declare that it samples, or takes tools.
          NoBackChannelError: if the client cannot be asked here.

        """
        from ._questions import Sample  # noqa: PLC0415 - on first use

        question = Sample(messages, max_tokens=max_tokens, **options)
        answer: Any = await self.session.ask(question.request)
        said: CreateMessageResult | CreateMessageResultWithTools = answer
        return said

    @deprecated(_ROOTS_ARE_DEPRECATED, category=MCPDeprecationWarning)
    async def list_roots(self) -> list[Root]:
        """Ask the client where in its file system to work, and wait for the answer.

        For clients of the older era, and in tasks, as `elicit`: `Resolve` with `ListRoots` works
        for both.

        Raises:
          MCPError: -32021 if the client did not declare that it has roots.
          NoBackChannelError: if the client cannot be asked here.

        """
        from ._questions import ListRoots  # noqa: PLC0415 - on first use

        answer: Any = await self.session.ask(ListRoots().request)
        roots: list[Root] = answer.roots
        return roots

    @deprecated(_LOGGING_IS_DEPRECATED, category=MCPDeprecationWarning)
    async def log(
        self, level: LoggingLevel, data: JsonValue, *, logger_name: str | None = None
    ) -> None:
        """Send a log message to the client, if it asked for this level.

        Deprecated by the specification (SEP-2577): write to stderr by `logging`, or use
        OpenTelemetry.

        Args:
          level: How serious it is.
          data: The message, or any other JSON value.
          logger_name: What it is about.

        Raises:
          ValueError: if the level is none of the eight.
          TypeError, ValueError: if data that is sent is no JSON.

        """
        await self._log(level, data, logger_name)

    @deprecated(_LOGGING_IS_DEPRECATED, category=MCPDeprecationWarning)
    async def debug(self, data: JsonValue, *, logger_name: str | None = None) -> None:
        """Send a log message of the level ``debug``. Deprecated, like `log`.

        Raises:
          TypeError, ValueError: as `log`.

        """
        await self._log("debug", data, logger_name)

    @deprecated(_LOGGING_IS_DEPRECATED, category=MCPDeprecationWarning)
    async def info(self, data: JsonValue, *, logger_name: str | None = None) -> None:
        """Send a log message of the level ``info``. Deprecated, like `log`.

        Raises:
          TypeError, ValueError: as `log`.

        """
        await self._log("info", data, logger_name)

    @deprecated(_LOGGING_IS_DEPRECATED, category=MCPDeprecationWarning)
    async def warning(self, data: JsonValue, *, logger_name: str | None = None) -> None:
        """Send a log message of the level ``warning``. Deprecated, like `log`.

        Raises:
          TypeError, ValueError: as `log`.

        """
        await self._log("warning", data, logger_name)

    @deprecated(_LOGGING_IS_DEPRECATED, category=MCPDeprecationWarning)
    async def error(self, data: JsonValue, *, logger_name: str | None = None) -> None:
        """Send a log message of the level ``error``. Deprecated, like `log`.

        Raises:
          TypeError, ValueError: as `log`.

        """
        await self._log("error", data, logger_name)

    async def _log(self, level: LoggingLevel, data: JsonValue, logger_name: str | None) -> None:
        await self.session.send_log_message(level, data, logger_name)

    async def close_sse_stream(self) -> None:
        """Have the client come back for the answer, if its HTTP stream can be resumed.

        For work that takes long: the client reconnects after a while, and gets what it missed.
        Does nothing where there is no such stream.
        """
        close = self.request_context.close_sse_stream
        await trio.lowlevel.checkpoint()
        if close is not None:
            await close()

    async def close_standalone_sse_stream(self) -> None:
        """The same for the stream that carries what belongs to no request."""
        close = self.request_context.close_standalone_sse_stream
        await trio.lowlevel.checkpoint()
        if close is not None:
            await close()

    # To all clients

    async def notify_tools_changed(self) -> None:
        """Tell all clients that the list of tools is another one now.

        Adding and removing tools tells so by itself, a moment after the last change. Clients
        of both eras are told; see `MCPServer.notify_tools_changed` outside of a request.

        Raises:
          Exception: what the bus raises that tells other processes, if there is one.

        """
        await self._publish(ToolsListChanged())

    async def notify_prompts_changed(self) -> None:
        """The same for prompts."""
        await self._publish(PromptsListChanged())

    async def notify_resources_changed(self) -> None:
        """The same for resources and resource templates."""
        await self._publish(ResourcesListChanged())

    async def notify_resource_updated(self, uri: str) -> None:
        """Tell the clients that subscribed to a resource that its contents are others now."""
        await self._publish(ResourceUpdated(str(uri)))

    async def _publish(self, event: ServerEvent) -> None:
        if self._subscriptions is not None:
            await self._subscriptions.publish(event)
        else:
            await self.mcp_server.lowlevel_server.publish(event)

    # Other parts of the server

    async def read_resource(self, uri: str) -> Iterable[ReadResourceContents]:
        """Read a resource of this server.

        Args:
          uri: One that `MCPServer.read_resource` knows.

        Raises:
          ResourceNotFoundError: if there is none.
          ResourceError: if it could not be read.
          RuntimeError: if the resource asked for input, which only the client's own request
              could bring. `MCPServer.read_resource` hands such a result on.

        """
        found = await self.mcp_server.read_resource(uri, self.without_input())
        if is_input_required(found):
            raise RuntimeError(
                f"The resource {uri} asks for input; use MCPServer.read_resource(uri, context) "
                "to get its InputRequiredResult and return that"
            )
        return found

    def without_input(self) -> Context[LifespanContextT, RequestT]:
        """Make the context for another function within this request.

        Input responses are addressed to the function that asked; another begins anew.
        """
        return Context(
            request_context=self._request_context,
            mcp_server=self._mcp_server,
            subscriptions=self._subscriptions,
        )
