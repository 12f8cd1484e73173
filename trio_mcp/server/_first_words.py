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


async def initialize(
    ctx: ServerRequestContext[Any, Any], params: types.InitializeRequestParams
) -> types.InitializeResult:
    """Say what the server is (lifecycle), or what the run was given instead."""
    del params
    options, server = ctx.initialization_options, ctx.server
    if options is None:
        return types.InitializeResult(
            protocol_version=ctx.protocol_version,
            capabilities=server.announced_to(
                ctx, server.get_capabilities(protocol_version=ctx.protocol_version)
            ),
            server_info=server.server_info,
            instructions=server.instructions,
        )
    return types.InitializeResult(
        protocol_version=ctx.protocol_version,
        capabilities=server.announced_to(ctx, options.capabilities),
        server_info=options.server_info,
        instructions=options.instructions,
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
