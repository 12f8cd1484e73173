"""Our server with the tools of ``server.mjs``: ``python our_server.py stdio``, or ``… http``.

Over HTTP, the first line of stdout is its URL, and the end of stdin ends it.
"""

from __future__ import annotations

import sys
from typing import Annotated

import attrs
import trio

from trio_mcp import Context, MCPServer
from trio_mcp.errors import ResourceNotFoundError, ToolError
from trio_mcp.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from trio_mcp.transports import ServeOptions, serve_http_app

server = MCPServer("trio", version="7", instructions="Call add.", log_level="CRITICAL")
ended: dict[str, trio.Event] = {}


@server.tool(title="Addition")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
async def fail(text: str) -> str:
    """Fail with a text."""
    raise ToolError(text)


@server.tool()
async def count(to: int, ctx: Context) -> int:
    """Report progress this often."""
    for done in range(to):
        await ctx.report_progress(done + 1, to, f"step {done + 1}")
    return to


@server.tool()
async def nap(name: str, ctx: Context) -> str:
    """Sleep until cancelled."""
    ended[name] = trio.Event()
    try:
        await ctx.report_progress(1)
        await trio.sleep_forever()
    finally:
        ended[name].set()
    return "woke"


@server.tool()
async def wait_ended(name: str) -> str:
    """Wait until a nap has ended."""
    with trio.fail_after(5):
        await ended[name].wait()
    return "cancelled"


@attrs.frozen
class Confirm:
    confirm: bool


def ask(what: str) -> Elicit[Confirm]:
    return Elicit(f"{what}?", Confirm)


@server.tool()
async def confirm(what: str, answer: Annotated[ElicitationResult[Confirm], Resolve(ask)]) -> str:
    """Ask whether to do it."""
    agreed = isinstance(answer, AcceptedElicitation) and answer.data.confirm
    return f"{what}: {'yes' if agreed else 'no'}"


@server.resource("note://{name}")
def note(name: str) -> str:
    """Find a note."""
    raise ResourceNotFoundError(f"there is no note {name}")


async def serve_http() -> None:
    async with trio.open_nursery() as nursery:
        app = server.streamable_http_app()
        serving = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        print(f"{serving.url}/mcp", flush=True)
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        trio.run(serve_http)
