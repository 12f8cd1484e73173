"""What applications write must satisfy mypy and pyright; this file is checked, and never run."""

from __future__ import annotations

from typing import assert_type

import trio

import trio_mcp
from trio_mcp import (
    Client,
    ConnectionLost,
    Context,
    MCPError,
    MCPServer,
    StdioServerParameters,
    TextContent,
    ToolError,
    open_memory_channel_pair,
    stdio_client,
)
from trio_mcp.testing import advance
from trio_mcp.transports import Channel
from trio_mcp.types import CallToolResult, ListToolsResult, Tool

mcp = MCPServer("shop", instructions="Sells tea.")


@mcp.tool()
def price(article: str) -> float:
    if article != "tea":
        raise ToolError("only tea")
    return 2.5


@mcp.tool(name="brew", title="Brew tea")
async def brew(seconds: float, ctx: Context) -> str:
    await ctx.report_progress(1, 2, "boiling")
    await trio.sleep(seconds)
    return "tea"


@mcp.resource("shop://{room}/hours")
def hours(room: str) -> str:
    return f"{room}: 9 to 5"


@mcp.prompt()
def offer(article: str) -> str:
    return f"Buy {article}!"


# A decorated function keeps its type.
assert_type(price("tea"), float)


async def use_client() -> None:
    server = StdioServerParameters(command="python", args=["shop.py"])
    async with Client(server, read_timeout_seconds=5) as client:
        result = await client.call_tool("price", {"article": "tea"})
        assert_type(result, CallToolResult)
        for block in result.content:
            if isinstance(block, TextContent):
                assert_type(block.text, str)
        assert_type(await client.list_tools(), ListToolsResult)
        async for tool in client.iter_tools():
            assert_type(tool, Tool)
        assert_type(client.protocol_version, str)
    async with stdio_client(server) as channel:
        assert_type(channel, Channel)
    async with Client(mcp) as client:
        await client.get_prompt("offer", {"article": "tea"})


def handle(exc: MCPError) -> str:
    if isinstance(exc, ConnectionLost):
        assert_type(exc.exit_status, int | None)
    return f"{exc.code}: {exc.message}"


def open_pair() -> None:
    here, there = open_memory_channel_pair()
    assert_type(here, Channel)
    assert_type(there, Channel)


async def step() -> None:
    await advance(1.5)


def misspell() -> object:
    # Names that load lazily are no hole for type checkers: one that does not exist is an error.
    return trio_mcp.NoSuchName  # type: ignore[attr-defined]
