"""A server whose lists change, for both SDKs: ``python subscriptions_server.py SDK``.

The official SDK tells each era by a call of its own; ours tells both by itself.
"""

from __future__ import annotations

import os
import sys
from typing import Any

if sys.argv[1] == "mcp":
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
    from mcp_types import SubscriptionsListenRequestParams
else:
    from trio_mcp import Context, MCPServer
    from trio_mcp.server import InMemorySubscriptionBus, ListenHandler
    from trio_mcp.types import SubscriptionsListenRequestParams

official = sys.argv[1] == "mcp"
bus = InMemorySubscriptionBus()
listens = ListenHandler(bus)
server: Any = MCPServer("changing", subscriptions=bus, log_level="CRITICAL")
below: Any = server._lowlevel_server
below.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listens)


@server.resource("note://1")
def note() -> str:
    return "one"


def empty() -> str:
    return ""


@server.tool()
async def touch(uri: str, ctx: Context) -> str:
    await ctx.notify_resource_updated(uri)
    return "touched"


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    server.add_tool(empty, name=name)
    if official:
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
def finish() -> str:
    listens.close()
    return "finished"


@server.tool()
def crash() -> str:
    os._exit(3)


if __name__ == "__main__":
    server.run("stdio")
