"""A server of the official SDK for groups: ``python group_server.py NAME``.

It says what runs, can be killed, and has an extension that answers the calls of tools.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    CallToolResult,
    Notification,
    NotificationParams,
    RequestParams,
    TextContent,
)

RECEIPTS = "com.example/receipts"


class ReceiptParams(RequestParams):
    number: str


class PrintedParams(NotificationParams):
    number: str


class Printed(Notification[PrintedParams, Literal["notifications/com.example/printed"]]):
    method: Literal["notifications/com.example/printed"] = "notifications/com.example/printed"


class Receipts(Extension):
    """Answers ``print`` with a receipt, and ``wrong`` with what its output schema forbids."""

    identifier = RECEIPTS

    def methods(self) -> list[MethodBinding]:
        return [MethodBinding("com.example/receipts/get", ReceiptParams, self.get)]

    async def get(self, ctx: Any, params: ReceiptParams) -> dict[str, Any]:
        return {"text": f"paper {params.number}"}

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name == "wrong":
            content = TextContent(type="text", text="eight")
            return CallToolResult(content=[content], structured_content={"value": "eight"})
        if params.name == "print" and (params.arguments or {}).get("claimed"):
            printed: Any = Printed(params=PrintedParams(number="r-1"))
            await ctx.session.send_notification(printed, related_request_id=ctx.request_id)
            return {"resultType": "receipt", "number": "r-1"}
        return await call_next(ctx)


server = MCPServer(sys.argv[1], extensions=[Receipts()], log_level="CRITICAL")
running: list[str] = []
ended: list[str] = []


@dataclass
class Measure:
    value: float


@server.tool()
async def pid() -> int:
    """Tell which process this is."""
    return os.getpid()


@server.tool()
async def nap(name: str, ctx: Context) -> str:
    """Sleep until cancelled."""
    running.append(name)
    try:
        await ctx.report_progress(1)
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        ended.append(name)
        raise
    finally:
        running.remove(name)
    return "woke"


@server.tool()
async def naps() -> dict[str, list[str]]:
    """Tell which naps run, and which were ended, once no cancel is under way."""
    with anyio.move_on_after(2):
        while running and not ended:  # noqa: ASYNC110 - a cancel may be under way
            await anyio.sleep(0.01)
    return {"running": running, "ended": ended}


@server.tool()
async def measure() -> Measure:
    """Measure."""
    return Measure(8)


@server.tool()
async def wrong() -> Measure:
    """Measure wrongly."""
    return Measure(8)


@server.tool(name="print")
async def print_(claimed: bool) -> str:
    """Print a receipt."""
    return "printed"


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Add a tool, and tell both eras."""
    server.add_tool(pid, name=name)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def exit_with(status: int) -> str:
    """End this process without a word."""
    os._exit(status)


@server.resource("note://motto")
def motto() -> str:
    """Tell the motto."""
    return "many"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Greet {name}."


if __name__ == "__main__":
    server.run("stdio")
