"""Server extensions: what a server offers beyond the core protocol (SEP-2133)."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp import types
from trio_mcp._checks import awaited, check_callable, check_items
from trio_mcp._codec import checked_copy, decode
from trio_mcp._protocol._meta import check_extension_id
from trio_mcp.types import CORE_RESULT_TYPES, KNOWN_PROTOCOL_VERSIONS
from trio_mcp.types._methods import is_core_request
from trio_mcp.types._revisions import LATEST_MODERN, revision_for

from ._answers import tool_failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.server import (
        AcceptFnT,
        CallNext,
        HandlerResult,
        RequestHandler,
        Server,
        ServerMiddleware,
        ServerRequestContext,
    )
    from trio_mcp.types import CallToolRequestParams
    from trio_mcp.types._base import JsonObject

    from ._resource_template import ResourceTemplate
    from ._resources import Resource
    from ._server import MCPServer


@attrs.frozen(eq=False)
class ToolBinding:
    """A tool that an extension brings.

    Attributes:
      fn: The function.
      meta: What ``_meta`` says in the list.
      kwargs: What else `MCPServer.add_tool` takes.

    """

    fn: Callable[..., Any]
    meta: JsonObject | None = None
    kwargs: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(eq=False)
class ResourceBinding:
    """A resource that an extension brings."""

    resource: Resource


@attrs.frozen(eq=False)
class MethodBinding:
    """A request that an extension serves.

    Attributes:
      method: Its name. None of the core protocol's own: those are wrapped by
        `Extension.intercept_tool_call` and by middleware.
      params_type: What the params are read into: a wire type, a pydantic model, or dict.
      handler: Called with the context and the params, as those of `Server` are.
      protocol_versions: The revisions at which it is served; those of its extension when None.
      name_param: The member of the params that HTTP requests repeat in the header ``Mcp-Name``,
        if the extension says that one is; a client says it by ``name_param`` of its `Request`.

    Raises:
      ValueError: if the method is the core protocol's, or could never be served.

    """

    method: str
    params_type: Any
    handler: RequestHandler
    protocol_versions: frozenset[str] | None = None
    name_param: str | None = None

    def __attrs_post_init__(self) -> None:
        if is_core_request(self.method):
            raise ValueError(
                f"{self.method!r} belongs to the core protocol: an extension adds methods. Use "
                "intercept_tool_call, or middleware, to wrap what the server does itself"
            )
        _check_versions(self.method, self.protocol_versions)


def _check_versions(whose: str, versions: frozenset[str] | None) -> None:
    if versions is None:
        return
    unknown = sorted(each for each in versions if revision_for(each) is None)
    if unknown or not versions:
        raise ValueError(
            f"{whose}: protocol_versions names one or more revisions (None for all), "
            f"got {unknown or sorted(versions)}"
        )


@attrs.frozen(eq=False)
class SubscriptionBinding:
    """Something that clients of an extension may listen to.

    Attributes:
      key: The member of the filter of ``subscriptions/listen``, by its name on the wire.
      accept: Decides what of it is told, and tells it; see `Server.add_subscription`.

    """

    key: str
    accept: AcceptFnT


_ALL_VERSIONS: Final = frozenset(KNOWN_PROTOCOL_VERSIONS)


class Extension:
    """An extension that a server may be given; override what it needs.

    Everything is asked for once, when the `MCPServer` is made. The server works for clients
    that do not know the extension, too: offer what only others understand after
    `require_client_extension`, or after looking for it in ``ctx.client_capabilities``.

    Attributes:
      identifier: A prefix in the manner of a reversed domain, a slash, and a name.
      protocol_versions: The revisions at which it is declared, and its methods are served; all
        when None.
      result_types: The values of ``resultType`` that results of tool calls, or of its methods,
        may have on top of the core protocol's. No result with one is sent to a client that did
        not declare the extension with the request: that is a defect of the server (-32603, and
        the log says of what). So look for the declaration before you make one.

    """

    identifier: str
    protocol_versions: frozenset[str] | None = None
    result_types: frozenset[str] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        identifier = cls.__dict__.get("identifier")
        # An instance may choose its own: that is looked at when it is given to a server.
        if identifier is not None:
            check_extension_id(identifier, cls.__name__)

    def settings(self) -> dict[str, Any]:
        """Return the settings to declare under ``capabilities.extensions``."""
        return {}

    def capabilities(
        self, announced: types.ServerCapabilities, ctx: ServerRequestContext[Any, Any]
    ) -> types.ServerCapabilities:
        """Return what the server announces with it, besides what is in `settings`.

        Each revision is told what it has a word for, and members of `extra` in all.

        Args:
          announced: What is announced without it.
          ctx: The ``initialize`` or ``server/discover`` that is answered.

        """
        del ctx
        return announced

    def describe_tool(self, tool: types.Tool) -> types.Tool:
        """Return what the list says of a tool: the same, or a changed copy of the same name.

        It is asked once after each change of the list.

        Args:
          tool: What is said of it without the extension.

        """
        return tool

    def tools(self) -> Sequence[ToolBinding]:
        """Return the tools it brings."""
        return ()

    def resources(self) -> Sequence[ResourceBinding]:
        """Return the resources it brings."""
        return ()

    def resource_templates(self) -> Sequence[ResourceTemplate]:
        """Return the families of resources it brings."""
        return ()

    def methods(self) -> Sequence[MethodBinding]:
        """Return the requests it serves."""
        return ()

    def middleware(self, server: MCPServer[Any]) -> Sequence[ServerMiddleware]:
        """Return what stands round every request, inside of what the server was given.

        Args:
          server: Whose requests these are.

        """
        del server
        return ()

    def subscriptions(self) -> Sequence[SubscriptionBinding]:
        """Return what clients may listen to."""
        return ()

    def lifespan(self, server: MCPServer[Any]) -> AbstractAsyncContextManager[Any]:
        """Return a block round each run of the server, inside of the server's own lifespan.

        For what the extension runs meanwhile. What the block yields is in
        ``ctx.lifespan_states[identifier]``. There may be several runs at the same time, also in
        several threads: what belongs to one is kept there, and not in the extension.

        Args:
          server: That runs, with all its tools.

        """
        del server
        return nullcontext()

    async def intercept_tool_call(
        self,
        params: CallToolRequestParams,
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
    ) -> HandlerResult:
        """Stand round every tool call: look on, refuse, or answer instead.

        The first extension of a server is the outermost. What is passed on is what the handler
        sees as its context; which tool is called, and with what, only middleware changes. It may
        be passed on again with answers to what the tool asked: with ``inputResponses`` and
        ``requestState`` in its ``params``, as a client adds them.

        Args:
          params: Of the call.
          ctx: The request.
          call_next: Awaited with the context, gives the tool's result.

        Returns:
          The result, as a handler of `Server` returns it.

        Raises:
          ToolError: to refuse the call. The client gets what it would get if the tool had raised
            it: a result with ``is_error``, whose text begins with ``Error executing tool NAME``.

        """
        del params
        return await call_next(ctx)


def add_extensions(mcp: MCPServer[Any], extensions: Sequence[Extension]) -> None:
    """Give a new server what its extensions bring.

    Raises:
      ValueError: if an identifier is wrong or given twice, or a method is served already.
      InvalidSignature: if a tool of theirs cannot be published.

    """
    server = mcp.lowlevel_server
    for extension in extensions:
        identifier = getattr(extension, "identifier", None)
        check_extension_id(identifier, type(extension).__name__)
        if extension.identifier in server.extensions:
            raise ValueError(f"the extension {identifier!r} is given twice")
        settings = checked_copy(extension.settings(), f"settings of {identifier}")
        server.extensions[extension.identifier] = settings
        versions = extension.protocol_versions
        _check_versions(extension.identifier, versions)
        if versions is not None:
            server.extension_versions[extension.identifier] = versions
        _add_result_types(server, extension)
        if type(extension).capabilities is not Extension.capabilities:
            server.add_announcer(extension.capabilities)
        if type(extension).lifespan is not Extension.lifespan:
            server.add_lifespan(extension.identifier, functools.partial(extension.lifespan, mcp))
        for subscription in extension.subscriptions():
            server.add_subscription(subscription.key, subscription.accept)
        for tool in extension.tools():
            mcp.add_tool(tool.fn, meta=tool.meta, **tool.kwargs)
        for resource in extension.resources():
            mcp.add_resource(resource.resource)
        for template in extension.resource_templates():
            mcp.add_resource_template(template)
        server.middleware.extend(extension.middleware(mcp))
        _add_methods(server, extension)


def _add_result_types(server: Server[Any], extension: Extension) -> None:
    added = extension.result_types
    check_items(f"result_types of {extension.identifier}", added, str, "a set of strings")
    if core := CORE_RESULT_TYPES.intersection(added):
        raise ValueError(
            f"{extension.identifier}: the resultType {min(core)!r} belongs to the core protocol"
        )
    for identifier, others in server.extension_result_types.items():
        if both := others.intersection(added):
            raise ValueError(
                f"{extension.identifier}: the resultType {min(both)!r} is one of {identifier}"
            )
    if added:
        server.extension_result_types[extension.identifier] = frozenset(added)


def _add_methods(server: Server[Any], extension: Extension) -> None:
    for binding in extension.methods():
        if server.get_request_handler(binding.method) is not None:
            raise ValueError(
                f"{extension.identifier}: {binding.method} is served by another extension"
            )
        server.add_request_handler(
            binding.method,
            binding.params_type,
            binding.handler,
            protocol_versions=(
                binding.protocol_versions or extension.protocol_versions or _ALL_VERSIONS
            ),
            name_param=binding.name_param,
        )


def tool_describers(
    extensions: Sequence[Extension],
) -> list[Callable[[types.Tool], types.Tool]]:
    """Collect what has a word to say in the list of tools.

    Raises:
      TypeError: if one is no function.

    """
    describers: list[Callable[[types.Tool], types.Tool]] = [
        each.describe_tool
        for each in extensions
        if type(each).describe_tool is not Extension.describe_tool
    ]
    for describe in describers:
        check_callable("describe_tool", describe)
    return describers


def compose_tool_call_handler(
    extensions: Sequence[Extension], handler: RequestHandler
) -> RequestHandler:
    """Put the interceptors of extensions round the handler of ``tools/call``.

    For those who build on `Server`; `MCPServer` does it by itself. They also say, by identifier,
    in ``server.extensions`` what is declared, and in ``server.extension_result_types`` which
    ``resultType`` an extension brings, as in `Extension.result_types`.

    Raises:
      TypeError: if an interceptor is no function.

    """
    interceptors = [
        (f"{type(extension).__name__}.intercept_tool_call", extension.intercept_tool_call)
        for extension in extensions
        if type(extension).intercept_tool_call is not Extension.intercept_tool_call
    ]
    if not interceptors:
        return handler
    for name, intercept in interceptors:
        check_callable(name, intercept)

    async def handle(
        ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> HandlerResult:
        async def innermost(inner: ServerRequestContext[Any, Any]) -> HandlerResult:
            return await handler(inner, _with_rounds(params, ctx, inner))

        call_next: CallNext = innermost
        for name, intercept in reversed(interceptors):
            call_next = functools.partial(_intercept, name, intercept, params, call_next)
        return await call_next(ctx)

    return handle


def _with_rounds(
    params: CallToolRequestParams,
    ctx: ServerRequestContext[Any, Any],
    inner: ServerRequestContext[Any, Any],
) -> CallToolRequestParams:
    """Take over the answers of another round, if an interceptor passed any on."""
    if inner.params is ctx.params:
        return params
    read = decode(
        types.CallToolRequestParams, dict(inner.params or {}), LATEST_MODERN, where="params"
    )
    return params.evolve(input_responses=read.input_responses, request_state=read.request_state)


def _intercept(
    name: str,
    intercept: Callable[..., Awaitable[HandlerResult]],
    params: CallToolRequestParams,
    call_next: CallNext,
    ctx: ServerRequestContext[Any, Any],
) -> Awaitable[HandlerResult]:
    # By position: what its parameters are called is its author's business.
    return awaited(name, intercept(params, ctx, call_next))


def failed_tool_call(
    name: str, raised: Exception, ctx: ServerRequestContext[Any, Any]
) -> types.CallToolResult:
    """Make the result of a tool call that failed, as an `MCPServer` answers it, and log it.

    For interceptors that answer a call later than by its own request: what ``call_next`` raises
    may be of the tool, or of an extension further in.

    Args:
      name: Of the tool.
      raised: By ``call_next``.
      ctx: The request.

    Raises:
      MCPError: if the call is answered with that error.

    """
    from ._context import Context  # noqa: PLC0415 - as the next one
    from ._tool import failure_of  # noqa: PLC0415 - loads on first use

    failure = failure_of(name, raised)
    if failure is not raised:
        failure.__cause__ = raised
    context: Context[Any, Any] = Context(request_context=ctx)
    return tool_failure(name, failure, context)


def require_client_extension(ctx: ServerRequestContext[Any, Any], identifier: str) -> None:
    """Refuse this request unless its client declared an extension.

    Args:
      ctx: The request; ``ctx.request_context`` of a `Context`.
      identifier: Of the extension.

    Raises:
      MCPError: -32021, with what is required in its data.

    """
    ctx.session.require_client_capability(types.ClientCapabilities(extensions={identifier: {}}))
