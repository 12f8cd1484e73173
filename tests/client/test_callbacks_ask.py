"""A callback may ask the server that called it, whatever lies between the two."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.transports import StdioServerParameters, open_memory_channel_pair
from trio_mcp.types import ToolListChangedNotification

PROGRAM = """
from trio_mcp import MCPServer
mcp = MCPServer("growing")

@mcp.tool()
async def grow() -> None:
    mcp.add_tool(lambda: "", name="grown")

if __name__ == "__main__":
    mcp.run("stdio")
"""


def make_server():
    namespace = {"__name__": "growing"}
    exec(PROGRAM, namespace)
    return namespace["mcp"]


@asynccontextmanager
async def in_process():
    yield make_server()


@asynccontextmanager
async def over_objects():
    async with over_a_pair(as_text=False) as near:
        yield near


@asynccontextmanager
async def over_text():
    async with over_a_pair(as_text=True) as near:
        yield near


@asynccontextmanager
async def over_a_pair(*, as_text):
    near, far = open_memory_channel_pair(as_text=as_text)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_server().lowlevel_server.run, far)
        yield near
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def over_stdio():
    yield StdioServerParameters(command=sys.executable, args=["-c", PROGRAM])


ROADS = [in_process, over_objects, over_text, over_stdio]


@pytest.mark.case("C026")
@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
async def test_who_hears_that_tools_changed_lists_them(road):
    listed = []
    heard = trio.Event()

    async def handle(message):
        if isinstance(message, ToolListChangedNotification):
            listed.extend(tool.name for tool in (await client.list_tools()).tools)
            heard.set()

    async with road() as server, Client(server, mode="legacy", message_handler=handle) as client:
        await client.call_tool("grow")
        await heard.wait()
    assert listed == ["grow", "grown"]


@pytest.mark.case("C026")
@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
async def test_who_hears_it_on_a_stream_lists_them(road):
    async with (
        road() as server,
        Client(server) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        await client.call_tool("grow")
        async for _ in changes:
            assert [tool.name async for tool in client.iter_tools()] == ["grow", "grown"]
            break
