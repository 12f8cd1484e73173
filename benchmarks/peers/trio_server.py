"""The server of trio_mcp: ``python -m benchmarks.peers.trio_server [TOOLS [http]]``."""

from __future__ import annotations

import sys

import trio

from benchmarks.peers import over_http, tools
from trio_mcp import Context, MCPServer


def build_server(count: int = tools.OWN_TOOLS + 1) -> MCPServer:
    """Make a server with this many tools."""
    server = MCPServer("benchmark", version="1")
    sleeper = tools.Sleeper(trio.sleep)

    async def progress(n: int, ctx: Context) -> str:
        """Report progress n times."""
        for done in range(n):
            await ctx.report_progress(done + 1, n)
        return "done"

    server.add_tool(tools.add)
    server.add_tool(tools.big, structured_output=False)
    server.add_tool(tools.sink)
    server.add_tool(progress)
    server.add_tool(sleeper.sleep)
    server.add_tool(sleeper.running)
    for number in range(count - tools.OWN_TOOLS):
        server.add_tool(
            tools.make_lookup(), name=f"lookup_{number}", description=tools.DESCRIPTION
        )
    return server


async def serve_http(server: MCPServer) -> None:
    """Serve over Streamable HTTP on a free port."""
    from trio_mcp.transports import (  # noqa: PLC0415 - the server on stdio does without
        ServeOptions,
        serve_http_app,
    )

    app = server.streamable_http_app()
    async with trio.open_nursery() as nursery:
        serving = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        over_http.account_for(f"{serving.url}/mcp")


if __name__ == "__main__":
    if sys.argv[2:] == ["http"]:
        trio.run(serve_http, build_server(int(sys.argv[1])))
    else:
        build_server(*map(int, sys.argv[1:])).run("stdio")
