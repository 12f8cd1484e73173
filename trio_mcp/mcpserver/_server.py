"""`MCPServer`: the pleasant face on the low-level `Server`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal

from trio_mcp._checks import check_block
from trio_mcp._rpc._service import Service
from trio_mcp._variables import reads_environment
from trio_mcp.server import RequestStateBoundary, RequestStateSecurity, Server

from ._changes import TellsChanges
from ._completions import ServesCompletions
from ._http import ServesHttp
from ._option_checks import check_server_options
from ._path_security import DEFAULT_RESOURCE_SECURITY
from ._prompts_registry import ServesPrompts
from ._resources_registry import ServesResources
from ._run import Runs
from ._scopes import RequiresScopes
from ._serving_base import ServingBase
from ._settings import LifespanResultT, LogLevel, Settings
from ._tools_registry import ServesTools

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.auth import AuthSettings, OAuthAuthorizationServerProvider, TokenVerifier
    from trio_mcp.server import (
        CacheableMethod,
        CacheHint,
        ServerMiddleware,
        SubscriptionBus,
    )
    from trio_mcp.types import Icon

    from ._extensions import Extension
    from ._path_security import ResourceSecurity
    from ._registry import DuplicatePolicy
    from ._resources import Resource
    from ._serving_base import Published
    from ._tool import Tool


class MCPServer(
    ServesTools[LifespanResultT],
    ServesResources[LifespanResultT],
    ServesPrompts[LifespanResultT],
    ServesCompletions[LifespanResultT],
    RequiresScopes[LifespanResultT],
    TellsChanges[LifespanResultT],
    ServesHttp[LifespanResultT],
    Runs[LifespanResultT],
    Service,
    Generic[LifespanResultT],
):
    """A server whose tools, resources and prompts are functions.

    ::

        mcp = MCPServer("greeter")

        @mcp.tool()
        def greet(name: str) -> str:
            return f"Hello, {name}!"

        if __name__ == "__main__":
            mcp.run("stdio")

    Async functions run as tasks of Trio, others in threads: at most 40 of one server at the
    same time, each let go when its request is cancelled. The object holds no state of a run:
    it may be made at import, and served several times and in several threads.

    What is not given here, and is one of the `Settings`, comes from the environment:
    ``MCP_DEBUG=true``, ``MCP_LOG_LEVEL=WARNING``.

    Args:
      name: For programs; "mcp-server" if it is not given.
      title: For people.
      description: What the server is.
      instructions: For the model: how to use the server.
      website_url: Where people read more.
      icons: For user interfaces.
      version: Of this server.
      auth_server_provider: Issues the tokens that clients need over a network: this is an
        authorization server, too. With `auth`, and without `token_verifier`.
      token_verifier: Tells which tokens are good that another server has issued. With `auth`.
      tools: Tools to begin with.
      resources: Resources to begin with.
      extensions: What it offers beyond the core protocol; none is there by itself.
      debug: For your own use: nothing that a client is sent depends on it.
      log_level: The level of the log that `run` writes to stderr.
      warn_on_duplicate_resources: Whether a second resource under one URI is logged; the
        first one stays.
      warn_on_duplicate_tools: The same for tools.
      warn_on_duplicate_prompts: The same for prompts.
      dependencies: Packages that programs which install this server should add.
      lifespan: ``async with lifespan(server) as state`` is entered before the first request and
        left after the last; functions find the state in
        ``ctx.request_context.lifespan_context``.
      auth: For whom tokens have to be, and what they have to allow. Nobody is served over a
        network without a good one then, on any carrier; in memory and over stdio nobody needs one.
      resource_security: Which values the variables of URI templates may have.
      request_state_security: How the state that clients keep between the rounds of a request is
        sealed. If it is not given, with a key that this object alone has; several processes that
        share their clients need the same keys, and a name.
      cache_hints: How long clients may keep results, by method.
      subscriptions: The bus by which clients hear of changes, where it shall reach further
          than this process; False to serve no ``subscriptions/listen``.
      middleware: Called round every request, the first one outermost.
      on_duplicate: What becomes of a second tool, resource or prompt of one name: ``"error"``
        raises `ValueError`, ``"replace"`` puts it in the place of the first, ``"warn"`` and
        ``"ignore"`` keep that. When None, ``warn_on_duplicate_…`` say which of the last two.
      list_page_size: The most entries in one answer to a list request; all when None.

    Raises:
      TypeError: if an argument is of the wrong kind; says which, what was expected and what came.
      ValueError: if one has a value that it cannot have.

    """

    @reads_environment(Settings)
    def __init__(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: list[Icon] | None = None,
        version: str = "",
        auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None = None,
        token_verifier: TokenVerifier | None = None,
        *,
        tools: list[Tool] | None = None,
        resources: list[Resource] | None = None,
        extensions: Sequence[Extension] | None = None,
        debug: bool = False,
        log_level: LogLevel = "INFO",
        warn_on_duplicate_resources: bool = True,
        warn_on_duplicate_tools: bool = True,
        warn_on_duplicate_prompts: bool = True,
        dependencies: list[str] | None = None,
        lifespan: Callable[
            [MCPServer[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]
        ]
        | None = None,
        auth: AuthSettings | None = None,
        resource_security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY,
        request_state_security: RequestStateSecurity | None = None,
        cache_hints: Mapping[CacheableMethod, CacheHint] | None = None,
        subscriptions: SubscriptionBus | Literal[False] | None = None,
        middleware: Sequence[ServerMiddleware] | None = None,
        list_page_size: int | None = None,
        on_duplicate: DuplicatePolicy | None = None,
    ) -> None:
        ServingBase.__init__(self)
        check_server_options(
            name=name,
            lifespan=lifespan,
            resource_security=resource_security,
            request_state_security=request_state_security,
            subscriptions=subscriptions,
            middleware=middleware,
        )
        self.settings: Settings[LifespanResultT] = Settings(
            debug=debug,
            log_level=log_level,
            warn_on_duplicate_resources=warn_on_duplicate_resources,
            warn_on_duplicate_tools=warn_on_duplicate_tools,
            warn_on_duplicate_prompts=warn_on_duplicate_prompts,
            on_duplicate=on_duplicate,
            list_page_size=list_page_size,
            dependencies=[] if dependencies is None else dependencies,
            lifespan=lifespan,
            auth=auth,
        )
        # A list of its own, checked by then.
        self.dependencies = self.settings.dependencies = list(self.settings.dependencies)
        self._list_page_size = list_page_size
        self._resource_security = resource_security
        self._lowlevel_server = Server(
            name or "mcp-server",
            version=version,
            title=title,
            description=description,
            instructions=instructions,
            website_url=website_url,
            icons=icons,
            cache_hints=cache_hints,
            get_tool_input_schema=self._tool_input_schema,
            lifespan=self._lifespan,
        )
        if not (auth is None and token_verifier is None and auth_server_provider is None):
            self._lowlevel_server.protect(
                auth, token_verifier=token_verifier, auth_server_provider=auth_server_provider
            )
        self._lowlevel_server.middleware += [
            self._request_state_boundary(name, request_state_security),
            *(middleware or ()),
        ]
        self._open_changes(subscriptions)
        self._open_tools(tools or (), extensions or ())
        self._open_resources(resources or ())
        self._open_prompts()
        self._open_http()
        if extensions:
            from ._extensions_of_server import add_extensions  # noqa: PLC0415 - few have any

            add_extensions(self, extensions)

    def _request_state_boundary(
        self, name: str | None, security: RequestStateSecurity | None
    ) -> RequestStateBoundary:
        if security is None:
            security = RequestStateSecurity.ephemeral()
        elif name is None and security.audience is None:
            raise ValueError(
                "A server with request_state_security= needs a name, or an audience= in it: "
                "without one, other services with the same keys would take its state for theirs"
            )
        return RequestStateBoundary(security, default_audience=self.name)

    # What the server says of itself

    @property
    def name(self) -> str:
        return self._lowlevel_server.name

    @property
    def title(self) -> str | None:
        return self._lowlevel_server.title

    @property
    def description(self) -> str | None:
        return self._lowlevel_server.description

    @property
    def instructions(self) -> str | None:
        return self._lowlevel_server.instructions

    @property
    def website_url(self) -> str | None:
        return self._lowlevel_server.website_url

    @property
    def icons(self) -> list[Icon] | None:
        return self._lowlevel_server.icons

    @property
    def version(self) -> str:
        return self._lowlevel_server.version

    @property
    def middleware(self) -> list[ServerMiddleware]:
        """What is called round every request, the first one outermost; append to it."""
        return self._lowlevel_server.middleware

    @middleware.setter
    def middleware(self, middleware: Iterable[ServerMiddleware]) -> None:
        self._lowlevel_server.middleware = middleware

    @property
    def lowlevel_server(self) -> Server[Any]:
        """The server below, with handlers by method. It is what transports serve."""
        return self._lowlevel_server

    # Serving

    def open(self) -> AbstractAsyncContextManager[Any]:
        """Enter the lifespan; yields what carriers hand requests to, until the block ends.

        Hints that named classes which came later in their module are read now.

        Raises:
          InvalidSignature: if one of them names what nothing defines, or has no schema; it names
            the tool (or resource, or prompt) and the parameter.

        """
        return self._lowlevel_server.open()

    def protection(self) -> Any:
        """See `Service.protection`."""
        return self._lowlevel_server.protection()

    @asynccontextmanager
    async def _lifespan(self, _server: Server[Any]) -> AsyncGenerator[Any]:
        # Whatever serves the server below enters it here.
        with self._running():
            if self.settings.lifespan is None:
                yield {}
                return
            block = self.settings.lifespan(self)
            check_block(f"The lifespan of the server {self.name!r}", block)
            async with block as state:
                yield state

    def _published(self) -> list[Published]:
        return [
            *self._tools.items(),
            *self._function_resources(),
            *self._templates.items(),
            *self._prompts.items(),
        ]
