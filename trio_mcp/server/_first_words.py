"""What every server answers by itself: what it is, and that it is there.

These handlers find the server in their context: as bound methods in its registry they would tie
it into a cycle, which only the garbage collector could undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from trio_mcp import types
from trio_mcp.types import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from ._context import ServerRequestContext
    from ._server import InitializationOptions, Server


async def initialize(
    ctx: ServerRequestContext[Any, Any], params: types.InitializeRequestParams
) -> types.InitializeResult:
    """Say what the server is (lifecycle), or what the run was given instead."""
    del params
    options, server = ctx.initialization_options, ctx.server
    told: Server[Any] | InitializationOptions = server if options is None else options
    capabilities = (
        server.get_capabilities(protocol_version=ctx.protocol_version)
        if options is None
        else options.capabilities
    )
    return types.InitializeResult(
        protocol_version=ctx.protocol_version,
        capabilities=server.announced_to(ctx, capabilities),
        server_info=told.server_info,
        instructions=told.instructions,
    )


async def discover(
    ctx: ServerRequestContext[Any, Any], params: types.RequestParams
) -> types.DiscoverResult:
    """Say what the server is (discovery)."""
    del params
    capabilities = ctx.server.get_capabilities(protocol_version=ctx.protocol_version)
    return types.DiscoverResult(
        supported_versions=list(MODERN_PROTOCOL_VERSIONS),
        capabilities=ctx.server.announced_to(ctx, capabilities),
        instructions=ctx.server.instructions,
    )


async def ping(
    ctx: ServerRequestContext[Any, Any], params: types.RequestParams
) -> types.EmptyResult:
    """Give a sign of life (ping)."""
    del ctx, params
    await trio.lowlevel.checkpoint()
    return types.EmptyResult()
