"""The server of ``trio-mcp demo``: a small kitchen, with a stove to keep an eye on."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypedDict

import attrs
import trio

from trio_mcp._version import __version__
from trio_mcp.errors import ToolError
from trio_mcp.mcpserver import Context, MCPServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

COOLING_SECONDS: Final = 2.0
"""How long `look_at_stove` waits for pots that were just taken off."""

SECONDS_PER_LOAF: Final = 0.1


@attrs.define(eq=False)
class Stove:
    """What is cooking, and what became of what no longer is."""

    cooking: list[str] = attrs.field(factory=list[str])
    log: list[str] = attrs.field(factory=list[str])
    cleared: trio.Event = attrs.field(factory=trio.Event)

    @contextmanager
    def cook(self, dish: str) -> Generator[None, None, None]:
        """Keep a dish on the stove, and log why it was taken off."""
        started = trio.current_time()
        self.cooking.append(dish)
        fate = "done"
        try:
            yield
        except trio.Cancelled:
            fate = "cancelled"
            raise
        finally:
            minutes = trio.current_time() - started
            self.cooking.remove(dish)
            self.log.append(f"{dish}: {fate} after {minutes:.2f} s")
            if not self.cooking:
                self.cleared.set()
                self.cleared = trio.Event()

    async def wait_cleared(self) -> None:
        if self.cooking:
            await self.cleared.wait()


class StoveReport(TypedDict):
    """What the server's own handlers did."""

    cooking: list[str]
    log: list[str]


@asynccontextmanager
async def open_kitchen(_: MCPServer[Stove]) -> AsyncGenerator[Stove, None]:
    """Give each run of the server a stove of its own."""
    yield Stove()


mcp: MCPServer[Stove] = MCPServer(
    "kitchen", version=__version__, instructions="Cooks for a demo.", lifespan=open_kitchen
)

RECIPES: Final = {
    "bread": {"flour": 100.0, "water": 65.0, "salt": 2.0},
    "pancakes": {"flour": 60.0, "milk": 120.0, "egg": 50.0},
    "soup": {"carrot": 150.0, "stock": 250.0, "ginger": 5.0},
}
"""Grams for one person."""


@mcp.tool()
def scale(dish: str, people: int) -> dict[str, float]:
    """Say how many grams of what a dish takes."""
    if dish not in RECIPES:
        raise ToolError(f"there is no recipe for {dish!r}; kitchen://menu lists them")
    return {name: grams * people for name, grams in RECIPES[dish].items()}


@mcp.tool()
async def bake(loaves: int, ctx: Context[Stove, Any]) -> str:
    """Bake bread, and report each loaf."""
    for done in range(1, loaves + 1):
        await trio.sleep(SECONDS_PER_LOAF)
        await ctx.report_progress(done, loaves, "loaves")
    return f"{loaves} loaves of bread"


@mcp.tool()
async def simmer(hours: float, ctx: Context[Stove, Any]) -> str:
    """Let a soup simmer."""
    with ctx.request_context.lifespan_context.cook("soup"):
        await ctx.report_progress(0, hours, "the soup is on the stove")
        await trio.sleep(hours * 3600 if math.isfinite(hours) else 0)
    return "soup"


@mcp.tool()
async def look_at_stove(ctx: Context[Stove, Any]) -> StoveReport:
    """Say what is cooking now, and what became of the rest."""
    stove = ctx.request_context.lifespan_context
    # A handler that was just cancelled needs a moment to stop.
    with trio.move_on_after(COOLING_SECONDS):
        await stove.wait_cleared()
    return {"cooking": list(stove.cooking), "log": list(stove.log)}


@mcp.resource("kitchen://menu", mime_type="text/plain")
def menu() -> str:
    """List what can be cooked."""
    return ", ".join(RECIPES)


@mcp.prompt()
def shopping_list(dish: str) -> str:
    """Ask for a shopping list."""
    return f"Write a shopping list for {dish}, sorted by shop."


if __name__ == "__main__":
    mcp.run("stdio")
