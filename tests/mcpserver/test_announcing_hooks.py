"""What extensions have a server say of itself and of its tools."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from trio_mcp import Client, MCPServer, open_memory_channel_pair, to_json
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Extension
from trio_mcp.server import Server
from trio_mcp.testing import open_client
from trio_mcp.types import (
    KNOWN_PROTOCOL_VERSIONS,
    ServerCapabilities,
    ServerTasksCapability,
    Tool,
    ToolExecution,
)


class Announcing(Extension):
    identifier = "com.example/announcing"

    def __init__(self, seen: list[Any] | None = None) -> None:
        self.seen: list[Any] = [] if seen is None else seen

    def capabilities(self, announced: ServerCapabilities, ctx: Any) -> ServerCapabilities:
        self.seen.append((ctx.method, ctx.protocol_version, ctx.principal))
        assert announced.tools is not None
        tasks = ServerTasksCapability()
        return announced.evolve(tasks=tasks, extra={**announced.extra, "com.example": True})

    def describe_tool(self, tool: Tool) -> Tool:
        self.seen.append(tool.name)
        execution = ToolExecution(task_support="optional")
        return tool.evolve(execution=execution, description=f"{tool.description} Or not.")


def server_with(*extensions: Extension) -> MCPServer:
    mcp = MCPServer("announcing", extensions=extensions)

    @mcp.tool()
    def greet() -> str:
        """Greet."""
        return "Hello!"

    return mcp


@pytest.mark.parametrize("road", ["direct", "text"])
@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
async def test_an_extension_completes_what_is_announced_in_the_words_of_each_revision(
    version, road
):
    extension = Announcing()
    modern = version == "2026-07-28"
    # Who says beforehand that it speaks the modern revision asks nothing.
    mode = "auto" if modern else version
    async with open_client(server_with(extension), road, mode=mode) as client:
        announced = client.server_capabilities
        assert (announced.tasks is not None) == (version == "2025-11-25")
        assert announced.extra == {"com.example": True}
    method = "server/discover" if modern else "initialize"
    assert (method, version, None) in extension.seen


async def test_what_a_program_announces_is_completed_too():
    lowlevel = server_with(Announcing()).lowlevel_server
    options = lowlevel.create_initialization_options()
    assert options.capabilities.tasks is None
    ours, theirs = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lowlevel.run, ours, None, options)
        async with Client(theirs, mode="2025-11-25") as client:
            assert client.server_capabilities.tasks is not None
        nursery.cancel_scope.cancel()


async def test_what_is_announced_must_be_capabilities():
    class Wrong(Extension):
        identifier = "com.example/wrong"

        def capabilities(self, announced: Any, ctx: Any) -> Any:
            return {"tasks": {}}

    with pytest.raises(MCPError):
        async with Client(server_with(Wrong()), mode="2025-11-25"):
            pass


def test_only_a_function_announces():
    with pytest.raises(TypeError, match="announce"):
        Server("plain").add_announcer("tasks")  # type: ignore[arg-type]


@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
async def test_an_extension_describes_tools_in_the_words_of_each_revision(version):
    extension = Announcing()
    mcp = server_with(extension)
    async with Client(mcp, mode=version) as client:
        [tool] = (await client.list_tools()).tools
        [again] = (await client.list_tools()).tools
    assert tool == again
    assert tool.description == "Greet. Or not."
    assert (tool.execution is not None) == (version == "2025-11-25")
    # Once for each form of the list, however often it is asked for.
    assert extension.seen.count("greet") == 1
    [described] = await mcp.list_tools()
    assert described.description == "Greet. Or not."
    assert "execution" not in to_json(described)


async def test_extensions_describe_one_after_the_other():
    class Another(Announcing):
        identifier = "com.example/another"

    async with Client(server_with(Announcing(), Another())) as client:
        [tool] = (await client.list_tools()).tools
    assert tool.description == "Greet. Or not. Or not."


@pytest.mark.parametrize("described", [None, Tool(name="other", input_schema={"type": "object"})])
async def test_a_described_tool_is_the_same_tool(described):
    class Wrong(Extension):
        identifier = "com.example/wrong"

        def describe_tool(self, tool: Tool) -> Any:
            return described

    with pytest.raises((TypeError, ValueError), match=r"described tool|describe_tool"):
        await server_with(Wrong()).list_tools()
    async with Client(server_with(Wrong())) as client:
        with pytest.raises(MCPError):
            await client.list_tools()


def test_only_a_function_describes_tools():
    class Wrong(Extension):
        identifier = "com.example/wrong"
        describe_tool = "tasks"  # type: ignore[assignment]

    with pytest.raises(TypeError, match="describe_tool"):
        server_with(Wrong())
