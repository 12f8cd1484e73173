"""A server over HTTP that shares a Redis with others: ``python shared_server.py URL``."""

from __future__ import annotations

import sys

import trio

from trio_mcp import Context, MCPServer
from trio_mcp.server import RedisSubscriptionBus
from trio_mcp.transports import HttpServing, RedisEventStore, ServeOptions, serve_http_app

mcp = MCPServer("shared", subscriptions=RedisSubscriptionBus(sys.argv[1]))
go_on = trio.Event()


@mcp.resource("a://one")
def one() -> str:
    return "one"


@mcp.tool()
async def change(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    await ctx.notify_resource_updated("a://one")
    return "changed"


@mcp.tool()
async def steps(ctx: Context) -> str:
    await ctx.report_progress(1)
    await go_on.wait()
    await ctx.report_progress(2)
    return "done"


@mcp.tool()
async def later(ctx: Context) -> str:
    await ctx.close_sse_stream()
    await trio.sleep(0.3)
    return "later"


@mcp.tool()
async def let_go() -> str:
    go_on.set()
    return ""


class Announcement:
    def started(self, serving: HttpServing) -> None:
        print(f"{serving.url}/mcp", flush=True)


async def main() -> None:
    app = mcp.streamable_http_app(event_store=RedisEventStore(sys.argv[1]), retry_interval=10)
    await serve_http_app(app, ServeOptions(port=0), task_status=Announcement())


if __name__ == "__main__":
    trio.run(main)
