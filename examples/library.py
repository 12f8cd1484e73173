"""A library as a server: finding books is quick, reading one takes hours.

`agent_loop.py` starts it. By hand, it speaks MCP on stdin and stdout::

    python examples/library.py
"""

from __future__ import annotations

import trio

from trio_mcp import Context, MCPServer

mcp = MCPServer("library")

BOOKS = {
    "whales": ["Moby-Dick", "In the Heart of the Sea"],
    "bridges": ["The Bridge on the Drina"],
}
HOURS = 3600.0

being_read: list[str] = []
put_away: list[str] = []


@mcp.tool()
def find_books(subject: str) -> list[str]:
    """Find books on a subject.

    Args:
      subject: In one word.
    """
    return BOOKS.get(subject, [])


@mcp.tool()
async def read_book(title: str, ctx: Context) -> str:
    """Read a book from cover to cover.

    Args:
      title: As find_books gives it.
    """
    being_read.append(title)
    try:
        await ctx.report_progress(0, message=f"opened {title}")
        await trio.sleep(9 * HOURS)
    except trio.Cancelled:
        # Nobody waits for it any more. What has to be tidied up belongs here, and the exception
        # goes on its way.
        put_away.append(title)
        raise
    finally:
        being_read.remove(title)
    return f"{title} has been read"


@mcp.tool()
async def reading() -> dict[str, list[str]]:
    """Tell which books are being read at this moment, and which were put away half-read."""
    return {"running": being_read, "given_up": put_away}


if __name__ == "__main__":
    mcp.run("stdio")
