"""The extensions of one server: asked for what they bring, checked, and put in their places."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from trio_mcp import types
from trio_mcp._checks import (
    awaited,
    check_callable,
    check_items,
    check_kind,
    check_mapping,
    check_versions,
    wrong_kind,
)
from trio_mcp._codec import checked_copy, decode
from trio_mcp._protocol._meta import check_extension_id
from trio_mcp.server import ServerRequestContext
from trio_mcp.types import CORE_RESULT_TYPES, KNOWN_PROTOCOL_VERSIONS
from trio_mcp.types._base import WireModel
from trio_mcp.types._revisions import LATEST_MODERN

from ._extensions import (
    Extension,
    MethodBinding,
    ResourceBinding,
    SubscriptionBinding,
    ToolBinding,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp.server import CallNext, HandlerResult, RequestHandler, Server
    from trio_mcp.types import CallToolRequestParams

    from ._server import MCPServer

_ALL_VERSIONS: Final = frozenset(KNOWN_PROTOCOL_VERSIONS)


def check_extensions(extensions: Sequence[Extension]) -> None:
    """Check that what a server is given are extensions.

    Raises:
      TypeError: if it is something else.

    """
    check_items("extensions", extensions, Extension, "a list of extensions")


def add_extensions(mcp: MCPServer[Any], extensions: Sequence[Extension]) -> None:
    """Give a new server what its extensions bring.

    Raises:
      TypeError: if a hook is no function, or returns something else; names it.
      ValueError: if an identifier is wrong or given twice, or a method is served already.
      InvalidSignature: if a tool of theirs cannot be published.

    """
    server = mcp.lowlevel_server
    for extension in extensions:
        _declare(server, extension)
        _add_result_types(server, extension)
        _add_capabilities(server, extension)
        _add_lifespan(mcp, extension)
        for subscription in _list_of(SubscriptionBinding, extension, "subscriptions"):
            server.add_subscription(subscription.key, subscription.accept)
        for tool in _list_of(ToolBinding, extension, "tools"):
            mcp.add_tool(tool.fn, meta=tool.meta, **tool.kwargs)
        for resource in _list_of(ResourceBinding, extension, "resources"):
            mcp.add_resource(resource.resource)
        for template in _list_of(object, extension, "resource_templates"):
            mcp.add_resource_template(template)
        server.middleware.extend(_list_of(object, extension, "middleware", mcp))
        _add_methods(server, extension)


def _name_of(extension: Extension, hook: str) -> str:
    return f"{type(extension).__name__}.{hook}"


def _asked(extension: Extension, hook: str, *args: Any) -> Any:
    asked = getattr(extension, hook)
    check_callable(_name_of(extension, hook), asked)
    return asked(*args)


def _list_of(kind: type, extension: Extension, hook: str, *args: Any) -> Sequence[Any]:
    brought: Sequence[Any] = _asked(extension, hook, *args)
    check_items(f"what {_name_of(extension, hook)}() returned", brought, kind, "a list")
    return brought


def _overrides(extension: Extension, hook: str) -> bool:
    return getattr(type(extension), hook) is not getattr(Extension, hook)


def _declare(server: Server[Any], extension: Extension) -> None:
    identifier = getattr(extension, "identifier", None)
    check_extension_id(identifier, type(extension).__name__)
    assert identifier is not None
    if identifier in server.extensions:
        raise ValueError(f"the extension {identifier!r} is given twice")
    settings = _asked(extension, "settings")
    check_mapping(f"what {_name_of(extension, 'settings')}() returned", settings)
    server.extensions[identifier] = checked_copy(settings, f"settings of {identifier}")
    versions = extension.protocol_versions
    check_versions(f"{identifier}: protocol_versions", versions, KNOWN_PROTOCOL_VERSIONS)
    if versions is not None:
        server.extension_versions[identifier] = frozenset(versions)


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


def _add_capabilities(server: Server[Any], extension: Extension) -> None:
    if not _overrides(extension, "capabilities"):
        return
    name, complete = _name_of(extension, "capabilities"), extension.capabilities
    check_callable(name, complete)

    def announce(
        announced: types.ServerCapabilities, ctx: ServerRequestContext[Any, Any], /
    ) -> types.ServerCapabilities:
        completed = complete(announced, ctx)
        check_kind(f"what {name} returned", completed, types.ServerCapabilities)
        # What is declared of extensions is what their settings say, of the others too.
        return completed.evolve(extensions=announced.extensions)

    server.add_announcer(announce)


def _add_lifespan(mcp: MCPServer[Any], extension: Extension) -> None:
    if not _overrides(extension, "lifespan"):
        return
    check_callable(_name_of(extension, "lifespan"), extension.lifespan)
    block = functools.partial(extension.lifespan, mcp)
    mcp.lowlevel_server.add_lifespan(extension.identifier, block)


def _add_methods(server: Server[Any], extension: Extension) -> None:
    for binding in _list_of(MethodBinding, extension, "methods"):
        if server.get_request_handler(binding.method) is not None:
            raise ValueError(
                f"{extension.identifier}: {binding.method} is served by another extension"
            )
        server.add_request_handler(
            binding.method,
            binding.params_type,
            binding.handler,
            protocol_versions=frozenset(
                binding.protocol_versions or extension.protocol_versions or _ALL_VERSIONS
            ),
            name_param=binding.name_param,
        )


def tool_describers(
    extensions: Sequence[Extension],
) -> list[tuple[str, Callable[[types.Tool], types.Tool]]]:
    """Collect what has a word to say in the list of tools, each with what errors call it.

    Raises:
      TypeError: if one is no function.

    """
    describers: list[tuple[str, Callable[[types.Tool], types.Tool]]] = [
        (_name_of(each, "describe_tool"), each.describe_tool)
        for each in extensions
        if _overrides(each, "describe_tool")
    ]
    for name, describe in describers:
        check_callable(name, describe)
    return describers


def compose_tool_call_handler(
    extensions: Sequence[Extension], handler: RequestHandler
) -> RequestHandler:
    """Put the interceptors of extensions round the handler of ``tools/call``.

    For those who build on `Server`; `MCPServer` does it by itself. They also say, by identifier,
    in ``server.extensions`` what is declared, and in ``server.extension_result_types`` which
    ``resultType`` an extension brings, as in `Extension.result_types`.

    Raises:
      TypeError: if one is no extension, or an interceptor no function.

    """
    check_extensions(extensions)
    interceptors = [
        (_name_of(each, "intercept_tool_call"), each.intercept_tool_call)
        for each in extensions
        if _overrides(each, "intercept_tool_call")
    ]
    if not interceptors:
        return handler
    for name, intercept in interceptors:
        check_callable(name, intercept)

    async def handle(
        ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> HandlerResult:
        async def innermost(inner: ServerRequestContext[Any, Any]) -> HandlerResult:
            check_kind("what was passed on", inner, ServerRequestContext)
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


async def _intercept(
    name: str,
    intercept: Callable[..., Awaitable[HandlerResult]],
    params: CallToolRequestParams,
    call_next: CallNext,
    ctx: ServerRequestContext[Any, Any],
) -> HandlerResult:
    check_kind("what was passed on", ctx, ServerRequestContext)
    # By position: what its parameters are called is its author's business.
    result = await awaited(name, intercept(params, ctx, call_next))
    if not isinstance(result, (WireModel, dict)) and not hasattr(result, "model_dump"):
        # Who forgets to return anything is not told of it by what is missing in nothing.
        raise wrong_kind(f"what {name} returned", "a result type or a dict", result)
    return result
