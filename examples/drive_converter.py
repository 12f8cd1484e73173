"""Drives the unit converter over stdio, and prints what it finds.

The server runs as a child process of this program::

    python examples/drive_converter.py

It ends with the block, whatever happens inside.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

import trio

from trio_mcp import (
    CallToolResult,
    Client,
    GetPromptResult,
    MCPError,
    PromptMessage,
    ReadResourceResult,
    StdioServerParameters,
    TextContent,
)
from trio_mcp.types import TextResourceContents

SERVER = Path(__file__).with_name("unit_converter.py")


async def main() -> None:
    parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
    async with Client(parameters) as client:
        introduce(client)
        await look_around(client)
        await convert(client)
        await read_and_fill(client)
        await ask_for_an_unknown_version(client)


def introduce(client: Client) -> None:
    """Connecting has settled who the server is, and which revision both speak."""
    print("protocol version:", client.protocol_version)
    if client.server_info is not None:
        print("server name:", client.server_info.name)
    can = client.server_capabilities
    offered = {"tools": can.tools, "resources": can.resources, "prompts": can.prompts}
    print("offers:", ", ".join(name for name, value in offered.items() if value is not None))


async def look_around(client: Client) -> None:
    """Lists come in pages; `iter_tools` and its siblings go through all of them."""
    async for tool in client.iter_tools():
        print("tool:", f"{tool.name}({', '.join(tool.input_schema['properties'])})")
    async for resource in client.iter_resources():
        print("resource:", resource.uri)
    async for prompt in client.iter_prompts():
        print("prompt:", prompt.name)

    # A server says how long an answer may be kept, and for whom. This one says nothing, so it
    # is the default: not at all, and for nobody else.
    page = await client.list_tools()
    print("cache:", f"ttl_ms {page.ttl_ms}, scope {page.cache_scope}")


async def convert(client: Client) -> None:
    """A tool that cannot do its work returns all the same, with `is_error` set."""
    arguments = {"value": 5, "from_unit": "mi", "to_unit": "km"}
    result = await client.call_tool("convert", arguments)
    # Any JSON value in general; the tool's output schema says that it is this here.
    structured = cast("dict[str, float]", result.structured_content)
    print("5 mi is", structured["result"], "km")

    arguments = {"value": 5, "from_unit": "kg", "to_unit": "m"}
    result = await client.call_tool("convert", arguments)
    print("5 kg in m:", f"is_error {result.is_error},", text_of(result))


async def read_and_fill(client: Client) -> None:
    print("units://all:", text_of(await client.read_resource("units://all")), sep="\n")

    recipe = "2 cups of flour, 1 cup of milk"
    result = await client.get_prompt("recipe_to_metric", {"recipe": recipe})
    print("recipe_to_metric:", text_of(result), sep="\n")


async def ask_for_an_unknown_version(client: Client) -> None:
    """A request that the server refuses raises, and says why in a form for programs."""
    try:
        await client.session.send_discover("2099-01-01")
    except MCPError as exc:
        print("version 2099-01-01:", f"error {exc.code}, {exc.data}")
    else:
        raise AssertionError("the server claims to speak a version that does not exist")


def text_of(result: CallToolResult | ReadResourceResult | GetPromptResult) -> str:
    """Return the text of a result that holds nothing else."""
    match result:
        case CallToolResult(content=[TextContent(text=text)]):
            return text
        case ReadResourceResult(contents=[TextResourceContents(text=text)]):
            return text
        case GetPromptResult(messages=[PromptMessage(content=TextContent(text=text))]):
            return text
        case _:
            raise AssertionError(f"not a single text: {result}")


if __name__ == "__main__":
    trio.run(main)
