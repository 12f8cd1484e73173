"""Tools that several tests call."""

from __future__ import annotations

import trio

from trio_mcp import Context  # noqa: TC001 - a server reads the hints of its tools


async def add(a: int, b: int) -> int:
    return a + b


async def steps(ctx: Context, count: int = 3) -> str:
    for done in range(1, count + 1):
        await ctx.report_progress(done, count)
    return "done"


async def wait(seconds: float) -> str:
    await trio.sleep(seconds)
    return "waited"
