"""Server extensions: what a server offers beyond the core protocol (SEP-2133)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp import types
from trio_mcp._checks import check_versions
from trio_mcp._protocol._meta import check_extension_id
from trio_mcp.errors import MCPError
from trio_mcp.types import KNOWN_PROTOCOL_VERSIONS
from trio_mcp.types._methods import is_core_request

from ._answers import tool_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.server import (
        AcceptFnT,
        CallNext,
        HandlerResult,
        RequestHandler,
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
        argument = f"{self.method}: protocol_versions"
        check_versions(argument, self.protocol_versions, KNOWN_PROTOCOL_VERSIONS)


@attrs.frozen(eq=False)
class SubscriptionBinding:
    """Something that clients of an extension may listen to.

    Attributes:
      key: The member of the filter of ``subscriptions/listen``, by its name on the wire.
      accept: Decides what of it is told, and tells it; see `Server.add_subscription`.

    """

    key: str
    accept: AcceptFnT


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
        not declare the extension with the request, or at a revision before 2026-07-28: that is a
        defect of the server (-32603, and the log says of what). So look for the declaration, and
        at ``ctx.protocol_version``, before you make one.

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

        Each revision is told what it has a word for, and members of `extra` in all. What is
        declared of extensions stays as it is.

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
    """Refuse this request unless an extension is active for it: both sides have declared it.

    Args:
      ctx: The request; ``ctx.request_context`` of a `Context`.
      identifier: Of the extension.

    Raises:
      MCPError: -32021, with what is required in its data, if the client did not declare it; -32600
        if the server has it for other revisions alone.
      ValueError: if that is no identifier: no client could declare it.

    """
    check_extension_id(identifier, "require_client_extension")
    versions = ctx.server.extension_versions.get(identifier)
    if versions is not None and ctx.protocol_version not in versions:
        raise MCPError(
            types.INVALID_REQUEST,
            f"The extension {identifier} needs protocol {' or '.join(sorted(versions))}",
        )
    ctx.session.require_client_capability(types.ClientCapabilities(extensions={identifier: {}}))
