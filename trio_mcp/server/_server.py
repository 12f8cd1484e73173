"""The low-level server: a registry of handlers by method."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Generic

import attrs
import trio

from trio_mcp import types
from trio_mcp._checks import check_callable, check_items, check_kind, check_text
from trio_mcp._codec import check_wire, checked_copy, encode
from trio_mcp._protocol._subscriptions import check_event
from trio_mcp._rpc._channel import join_ends
from trio_mcp._rpc._nursery import finish_within
from trio_mcp._rpc._open_blocks import entering_task
from trio_mcp._rpc._peer import open_peer
from trio_mcp._rpc._sheltered import Sheltered
from trio_mcp.types import SERVER_INFO_META_KEY
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN, Revision, revision_for

from ._caching import CacheHint, validate_cache_hints
from ._capabilities import NotificationOptions, compute_capabilities
from ._changes import Changes
from ._context import LifespanContextT
from ._first_words import discover, initialize, ping
from ._http import ServesHttp
from ._middleware import MiddlewareList
from ._registry import HandlerEntry, check_params_type
from ._serving import ServerServing
from ._subscriptions import open_bus

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._protocol._subscriptions import ServerEvent
    from trio_mcp._rpc._channel import Channel
    from trio_mcp.types import Icon, ServerCapabilities
    from trio_mcp.types._base import JsonObject

    from ._caching import CacheableMethod
    from ._capabilities import AnnounceFnT
    from ._context import ServerRequestContext
    from ._registry import NotificationHandler, RequestHandler, ServerMiddleware
    from ._subscriptions import AcceptFnT, SubscriptionBus

STOP_SECONDS = 1.0
"""Seconds that streams of notifications have to end in good order when a run ends."""

DRAIN_SECONDS = 1.0
"""Seconds that running handlers may still answer when the client has ended its input."""


@attrs.frozen(kw_only=True)
class InitializationOptions:
    """What ``initialize`` answers, where it shall differ from what the server says of itself."""

    server_name: str
    server_version: str
    title: str | None = None
    description: str | None = None
    capabilities: ServerCapabilities
    instructions: str | None = None
    website_url: str | None = None
    icons: list[Icon] | None = None

    def __attrs_post_init__(self) -> None:
        check_text("server_name", self.server_name)
        check_text("server_version", self.server_version)
        check_wire(self.server_info)
        check_wire(self.capabilities)
        _check_instructions(self.instructions)

    @property
    def server_info(self) -> types.Implementation:
        """The part that describes the server."""
        return types.Implementation(
            name=self.server_name,
            version=self.server_version,
            title=self.title,
            description=self.description,
            website_url=self.website_url,
            icons=self.icons,
        )


@asynccontextmanager
async def lifespan(_: Server[Any]) -> AsyncGenerator[dict[str, Any], None]:
    """Do nothing round a run: the lifespan of a server that has no other."""
    yield {}


class Server(ServesHttp, Generic[LifespanContextT]):
    """Handlers by method, and what the server says of itself.

    A handler is called with the request's context and its params, read into their type, and
    returns a result type (or a JSON object). It may raise `MCPError` to answer that error;
    any other exception is logged, and the client hears only that there was one.

    The object holds no state of a run: it may be served on several carriers and in several
    threads at once. Handlers and middleware may be added while it runs.

    Args:
      name: The server's name, in ``serverInfo``.
      version: Of the server itself.
      lifespan: An async context manager round each run; what it yields is
          ``ctx.lifespan_context``. It ends when the run does, however that ends: nothing but a
          cancellation is raised in it, so a client in this process keeps its own errors.
      cache_hints: How long results of a method may be kept, where its handler does not say.
      get_tool_input_schema: Finds a tool's input schema by name, for carriers that check
          mirrored arguments before a call.
      get_required_scopes: Says which scopes a request takes, by its method and its params, which
          nobody has checked then. Whoever lacks one is refused: over HTTP with a status that says
          so, before anything of the answer.
      on_list_tools: And its siblings: the handlers. A capability is announced when its
          handlers are there.

    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "",
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: list[Icon] | None = None,
        cache_hints: Mapping[CacheableMethod, CacheHint] | None = None,
        lifespan: Callable[
            [Server[LifespanContextT]], AbstractAsyncContextManager[LifespanContextT]
        ] = lifespan,  # type: ignore[assignment]  # the default yields a dict
        get_tool_input_schema: Callable[[str], Mapping[str, Any] | None] | None = None,
        get_required_scopes: Callable[[str, Mapping[str, Any]], Iterable[str]] | None = None,
        on_list_tools: RequestHandler | None = None,
        on_call_tool: RequestHandler | None = None,
        on_list_resources: RequestHandler | None = None,
        on_list_resource_templates: RequestHandler | None = None,
        on_read_resource: RequestHandler | None = None,
        on_subscribe_resource: RequestHandler | None = None,
        on_unsubscribe_resource: RequestHandler | None = None,
        on_subscriptions_listen: RequestHandler | None = None,
        on_list_prompts: RequestHandler | None = None,
        on_get_prompt: RequestHandler | None = None,
        on_completion: RequestHandler | None = None,
        on_set_logging_level: RequestHandler | None = None,
        on_ping: RequestHandler | None = None,
        on_roots_list_changed: NotificationHandler | None = None,
        on_progress: NotificationHandler | None = None,
    ) -> None:
        check_text("name", name)
        check_text("version", version)
        self.name = name
        self.version = version
        self.title = title
        self.description = description
        self.instructions = instructions
        self.website_url = website_url
        self.icons = icons
        check_wire(self.server_info)
        _check_instructions(instructions)
        check_callable("lifespan", lifespan)
        if get_tool_input_schema is not None:
            check_callable("get_tool_input_schema", get_tool_input_schema)
        if get_required_scopes is not None:
            check_callable("get_required_scopes", get_required_scopes)
        self.cache_hints: dict[str, CacheHint] = validate_cache_hints(cache_hints)
        self._middleware = MiddlewareList()
        self.notification_options = NotificationOptions()
        self.experimental_capabilities: dict[str, JsonObject] = {}
        self.extensions: dict[str, JsonObject] = {}
        self.extension_versions: dict[str, frozenset[str]] = {}
        self.extension_result_types: dict[str, frozenset[str]] = {}
        self._announcers: list[AnnounceFnT] = []
        self.get_tool_input_schema = get_tool_input_schema
        self.get_required_scopes = get_required_scopes
        self.lifespan = lifespan
        self._lifespans: dict[str, Callable[[], AbstractAsyncContextManager[Any]]] = {}
        self.subscriptions: dict[str, AcceptFnT] = {}
        self._changes: Changes | None = None
        self._requests: dict[str, HandlerEntry] = {}
        self._notifications: dict[str, HandlerEntry] = {}
        self._server_info_json: dict[str, JsonObject] = {}
        requests: dict[str, RequestHandler | None] = {
            "initialize": initialize,
            "server/discover": discover,
            "ping": on_ping or ping,
            "tools/list": on_list_tools,
            "tools/call": on_call_tool,
            "resources/list": on_list_resources,
            "resources/templates/list": on_list_resource_templates,
            "resources/read": on_read_resource,
            "resources/subscribe": on_subscribe_resource,
            "resources/unsubscribe": on_unsubscribe_resource,
            "subscriptions/listen": on_subscriptions_listen,
            "prompts/list": on_list_prompts,
            "prompts/get": on_get_prompt,
            "completion/complete": on_completion,
            "logging/setLevel": on_set_logging_level,
        }
        for method, handler in requests.items():
            if handler is not None:
                check_callable(f"the handler of {method}", handler)
                self._requests[method] = HandlerEntry(METHODS[method].params_type(), handler)
        notifications: dict[str, NotificationHandler | None] = {
            "notifications/roots/list_changed": on_roots_list_changed,
            "notifications/progress": on_progress,
        }
        for method, listener in notifications.items():
            if listener is not None:
                check_callable(f"the handler of {method}", listener)
                self._notifications[method] = HandlerEntry(METHODS[method].params_type(), listener)

    # The registry

    def add_request_handler(
        self,
        method: str,
        params_type: Any,
        handler: RequestHandler,
        *,
        protocol_versions: frozenset[str] | None = None,
        name_param: str | None = None,
    ) -> None:
        """Serve a method, in place of what served it before.

        Args:
          method: One of the specification's, or an own one.
          params_type: What its params are read into: a wire type (or its name, so that it is
            loaded with the first request), a pydantic model, or dict.
          handler: Called with the context and the params.
          protocol_versions: The revisions to serve it at; those that have it when None.
          name_param: For an own method: the member of the params that HTTP requests repeat in
            the header ``Mcp-Name``, under its name on the wire. It is checked at 2026-07-28.

        Raises:
          TypeError: if one of these is something else.
          ValueError: if the method has no name, or is that of the handshake.

        """
        _check_handler(method, params_type, handler)
        if method in _ANSWERED_HERE:
            raise ValueError(
                f"method: {method} is answered by the server itself; a middleware sees it"
            )
        if protocol_versions is not None:
            check_items("protocol_versions", protocol_versions, str, "a set of strings")
        if name_param is not None:
            check_text("name_param", name_param)
        self._requests[method] = HandlerEntry(params_type, handler, protocol_versions, name_param)

    def add_notification_handler(
        self, method: str, params_type: Any, handler: NotificationHandler
    ) -> None:
        """Take a client's notification, in place of what took it before.

        Raises:
          TypeError: if one of the arguments is something else.

        """
        _check_handler(method, params_type, handler)
        self._notifications[method] = HandlerEntry(params_type, handler)

    def remove_request_handler(self, method: str) -> None:
        """Stop serving a method.

        Raises:
          KeyError: if nothing serves it.

        """
        del self._requests[method]

    def get_request_handler(self, method: str) -> HandlerEntry | None:
        """Find what serves a method."""
        return self._requests.get(method)

    def get_notification_handler(self, method: str) -> HandlerEntry | None:
        """Find what takes a notification."""
        return self._notifications.get(method)

    @property
    def middleware(self) -> list[ServerMiddleware]:
        """What is called round every request, the first one outermost; append to it.

        What cannot be called is refused with a `TypeError`.
        """
        return self._middleware

    @middleware.setter
    def middleware(self, middleware: Iterable[ServerMiddleware]) -> None:
        # After ``+=`` it is the same list.
        if middleware is not self._middleware:
            self._middleware = MiddlewareList(middleware)

    # Round a run

    def add_lifespan(
        self, name: str, lifespan: Callable[[], AbstractAsyncContextManager[Any]]
    ) -> None:
        """Put one more block round each run from the next one on, inside of the lifespan.

        For parts that run something of their own while the server does. Such blocks are entered
        in the order in which they were added, and left as the lifespan is.

        Args:
          name: Handlers find what the block yielded in ``ctx.lifespan_states[name]``.
          lifespan: Makes the block.

        Raises:
          TypeError: if it cannot be called.
          ValueError: if there is one of this name.

        """
        check_text("name", name)
        check_callable("lifespan", lifespan)
        if name in self._lifespans:
            raise ValueError(f"there is a lifespan of the name {name!r} already")
        self._lifespans[name] = lifespan

    async def _enter_lifespans(self, stack: AsyncExitStack) -> dict[str, Any]:
        states: dict[str, Any] = {}
        for name, block in self._lifespans.items():
            what = f"The lifespan {name!r} of the server {self.name!r}"
            states[name] = await stack.enter_async_context(Sheltered(what, block()))
        return states

    # What changes

    def serve_changes(self, bus: SubscriptionBus) -> None:
        """Take events to clients of both eras from now on: from the next run on.

        Sessions of the older era hear of what is published on the bus; of an updated resource
        if they subscribed to it by `subscribe_resource`. Modern clients listen through a
        `ListenHandler` for the same bus.

        Args:
          bus: Where events go to and come from. One that has to be opened is: before the
            lifespan of each run, and closed after it.

        """
        self._changes = Changes(bus)

    def add_subscription(self, key: str, accept: AcceptFnT) -> None:
        """Let clients listen to something of an extension, by a member of the filter (SEP-2575).

        Args:
          key: The member's name on the wire. None of those that the protocol has.
          accept: Called with the context of a ``subscriptions/listen`` that has the member, its
            value as it came, which nobody has checked, and what sends notifications on that
            stream (`TellFnT`). Returns a block round the stream: what it yields is the part that
            is acknowledged, None for nothing. It may raise `MCPError` to refuse the request.

        Raises:
          TypeError: if it cannot be called.
          ValueError: if the member has no name, or is taken.

        """
        check_text("key", key)
        check_callable("accept", accept)
        if not key:
            raise ValueError("key: expected a name, got an empty text")
        if key in self.subscriptions or key in _FILTERED:
            raise ValueError(f"key: {key!r} is a member of subscription filters already")
        self.subscriptions[key] = accept

    def announce(self, event: ServerEvent) -> None:
        """Have clients told an event soon, once, however often it is announced meanwhile.

        May be called at any time and from any thread. Nobody is told while the server does
        not run, nor without `serve_changes`.

        Raises:
          TypeError: if it is no event.

        """
        check_event(event)
        if self._changes is not None:
            self._changes.announce(event)

    async def publish(self, event: ServerEvent) -> None:
        """Tell clients an event now: hand it to the bus of `serve_changes`.

        Raises:
          TypeError: if it is no event.

        """
        check_event(event)
        if self._changes is None:
            await trio.lowlevel.checkpoint()
        else:
            await self._changes.publish(event)

    # What the server says of itself

    @property
    def server_info(self) -> types.Implementation:
        """The server's name, version and the like, for display and logs."""
        return types.Implementation(
            name=self.name,
            version=self.version,
            title=self.title,
            description=self.description,
            website_url=self.website_url,
            icons=self.icons,
        )

    def server_info_json(self, revision: Revision) -> JsonObject:
        """`server_info` as a revision writes it; kept, since each result carries it."""
        found = self._server_info_json.get(revision.version)
        if found is None:
            found = encode(self.server_info, revision)
            self._server_info_json[revision.version] = found
        return found

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """What each modern result carries in its ``_meta``."""
        return {SERVER_INFO_META_KEY: self.server_info_json(LATEST_MODERN)}

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> ServerCapabilities:
        """Compute what the server can do at a revision, from the handlers it has."""
        revision = revision_for(protocol_version or LATEST_HANDSHAKE.version)
        if revision is None:
            raise ValueError(f"unknown protocol version: {protocol_version!r}")
        return compute_capabilities(
            [name for name, entry in self._requests.items() if _limited_to(entry, revision)],
            revision,
            notification_options or self.notification_options,
            {**self.experimental_capabilities, **(experimental_capabilities or {})},
            {**self._extensions_at(revision.version), **(extensions or {})},
        )

    def extension_of_result(self, result_type: str, version: str) -> str | None:
        """Find the extension that brings a ``resultType``, if one does at a revision."""
        declared = self._extensions_at(version)
        for identifier, result_types in self.extension_result_types.items():
            if identifier in declared and result_type in result_types:
                return identifier
        return None

    def add_announcer(self, announce: AnnounceFnT) -> None:
        """Have a function complete what is announced to a client, when it asks.

        For what `get_capabilities` cannot know: what the server does in some revisions alone, or
        for some clients. The functions are called in the order in which they were added.

        Args:
          announce: Called with the capabilities as they are so far, and the context of
            ``initialize`` or ``server/discover``; returns them, or a changed copy. Each revision
            is told what it has a word for.

        Raises:
          TypeError: if it cannot be called.

        """
        check_callable("announce", announce)
        self._announcers.append(announce)

    def announced_to(
        self, ctx: ServerRequestContext[Any, Any], capabilities: ServerCapabilities
    ) -> ServerCapabilities:
        """Complete capabilities for the client of a request.

        Raises:
          TypeError: if a function of `add_announcer` returned something else.

        """
        for announce in self._announcers:
            capabilities = announce(capabilities, ctx)
            check_kind("announced capabilities", capabilities, types.ServerCapabilities)
        return capabilities

    def _extensions_at(self, version: str) -> dict[str, JsonObject]:
        limited = self.extension_versions
        return {
            identifier: settings
            for identifier, settings in self.extensions.items()
            if identifier not in limited or version in limited[identifier]
        }

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Make what `run` takes, from what the server says of itself."""
        return InitializationOptions(
            server_name=self.name,
            server_version=self.version,
            title=self.title,
            description=self.description,
            capabilities=self.get_capabilities(
                notification_options, experimental_capabilities, extensions
            ),
            instructions=self.instructions,
            website_url=self.website_url,
            icons=self.icons,
        )

    # Serving

    @asynccontextmanager
    async def open(
        self,
        initialization_options: InitializationOptions | None = None,
        *,
        raise_exceptions: bool = False,
    ) -> AsyncGenerator[ServerServing, None]:
        """Enter the lifespan; yields what carriers hand requests to, until the block ends.

        What the block raises leaves as it is, and is not raised in the lifespan, nor in the
        ``open()`` of a bus: they end as for clients that left, or are cancelled.
        """
        changes = self._changes
        bus = nullcontext() if changes is None else open_bus(changes.bus)
        async with (
            Sheltered(f"The bus of the server {self.name!r}", bus),
            Sheltered(
                f"The lifespan of the server {self.name!r}", self.lifespan(self)
            ) as lifespan_context,
            AsyncExitStack() as blocks,
        ):
            states = await self._enter_lifespans(blocks)
            serving = ServerServing(
                self,
                lifespan_context,
                initialization_options,
                raise_exceptions=raise_exceptions,
                lifespan_states=states,
            )
            tell = nullcontext() if changes is None else changes.run(serving.connections)
            async with tell:
                try:
                    yield serving
                finally:
                    with finish_within(STOP_SECONDS):
                        await serving.stop()  # noqa: ASYNC102 - in finish_within

    async def run(
        self,
        read_stream: Channel,
        write_stream: Channel | None = None,
        initialization_options: InitializationOptions | None = None,
        raise_exceptions: bool = False,
    ) -> None:
        """Serve one connection until its client ends it.

        Args:
          read_stream: What a transport yields: a channel, or its receiving end.
          write_stream: The sending end, where they are apart.
          initialization_options: What ``initialize`` answers, where it shall differ from
              what the server says of itself.
          raise_exceptions: Let the first defect of a handler end the run.

        Raises:
          TypeError: if one of the streams is no channel.
          RuntimeError: outside of Trio.

        Cancellation:
          Running handlers are cancelled; the channel stays the caller's to close.

        """
        entering_task("Server.run")
        channel = join_ends(read_stream, write_stream)
        async with (
            self.open(initialization_options, raise_exceptions=raise_exceptions) as serving,
            open_peer(channel, serving, drain_seconds=DRAIN_SECONDS) as peer,
        ):
            await peer.wait_ended()


_FILTERED: Final = frozenset(
    {
        "toolsListChanged",
        "promptsListChanged",
        "resourcesListChanged",
        "resourceSubscriptions",
    }
)

_ANSWERED_HERE: Final = frozenset({"initialize"})


def _check_handler(method: str, params_type: Any, handler: Any) -> None:
    check_text("method", method)
    if not method:
        raise ValueError("method: expected a name, got an empty text")
    check_params_type(params_type)
    check_callable("handler", handler)


def _check_instructions(instructions: str | None) -> None:
    if instructions is not None:
        check_text("instructions", instructions)
        checked_copy(instructions, "instructions")


def _limited_to(entry: HandlerEntry, revision: Revision) -> bool:
    return entry.protocol_versions is None or revision.version in entry.protocol_versions
