"""The server of the official SDK: ``python -m benchmarks.peers.mcp_server [TOOLS [http]]``."""

from __future__ import annotations

import socket
import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer

from benchmarks.peers import over_http, tools


def build_server(count: int = tools.OWN_TOOLS + 1) -> MCPServer:
    """Make a server with this many tools."""
    server = MCPServer("benchmark", version="1")
    sleeper = tools.Sleeper(anyio.sleep)

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


def serve_http(server: MCPServer) -> None:
    """Serve over Streamable HTTP, as ``run("streamable-http")`` does, on a free port."""
    import uvicorn  # noqa: PLC0415 - the server on stdio does without

    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    over_http.account_for(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
    config = uvicorn.Config(server.streamable_http_app(), log_level="critical")
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    if sys.argv[2:] == ["http"]:
        serve_http(build_server(int(sys.argv[1])))
    else:
        build_server(*map(int, sys.argv[1:])).run("stdio")
