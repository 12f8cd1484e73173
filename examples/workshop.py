"""A workshop as a server: a sketch is quick, a model takes hours.

`agent_loop.py` starts it. By hand, it speaks MCP on stdin and stdout::

    python examples/workshop.py
"""

from __future__ import annotations

import trio

from trio_mcp import Context, MCPServer

mcp = MCPServer("workshop")

HOURS = 3600.0

on_the_bench: list[str] = []
left_unfinished: list[str] = []


@mcp.tool()
def sketch(subject: str) -> str:
    """Sketch something.

    Args:
      subject: What to sketch.
    """
    return f"a sketch of {subject}"


@mcp.tool()
async def build_model(subject: str, scale: int, ctx: Context) -> str:
    """Build a wooden model of something.

    Args:
      subject: What to build.
      scale: How many times smaller than the real thing.
    """
    on_the_bench.append(subject)
    try:
        await ctx.report_progress(0, message=f"began to build {subject}")
        await trio.sleep(5 * HOURS)
    except trio.Cancelled:
        left_unfinished.append(subject)
        raise
    finally:
        on_the_bench.remove(subject)
    return f"{subject}, 1:{scale}"


@mcp.tool()
async def building() -> dict[str, list[str]]:
    """Tell what is being built at this moment, and what was left unfinished."""
    return {"running": on_the_bench, "given_up": left_unfinished}


if __name__ == "__main__":
    mcp.run("stdio")
