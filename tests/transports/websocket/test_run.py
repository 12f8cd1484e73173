"""`MCPServer.run("websocket")` in a process of its own, and what such a program loads."""

from __future__ import annotations

import re
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from tests.mcpserver._programs import Program, program
from trio_mcp import Client, ConnectionLost, MCPServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

EXAMPLES = Path(__file__).parents[3] / "examples"

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

SLOW = """
import sys
from contextlib import asynccontextmanager
import trio
from trio_mcp import MCPServer

def note(*texts):
    print(*texts, file=sys.stderr, flush=True)

@asynccontextmanager
async def lifespan(server):
    try:
        yield
    finally:
        await trio.sleep(0.01)
        note("lifespan left")

mcp = MCPServer("slow", lifespan=lifespan)

@mcp.tool()
async def work(seconds: float) -> str:
    note("works")
    await trio.sleep(seconds)
    return "done"

@mcp.tool()
def loaded() -> list[str]:
    return sorted(sys.modules)

mcp.run("websocket")
"""


@asynccontextmanager
async def running(*command: str, **env: str) -> AsyncGenerator[Program, None]:
    with program(*command, MCP_PORT="0", **env) as server:
        line = await server.wait_for("serving at")
        found = re.search(r"serving at (\S+) \(Ctrl-C ends\)", line)
        assert found is not None, line
        server.url = found[1]
        yield server


@posix
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
async def test_signal_stops_it_in_good_order(signum):
    async with running("-c", SLOW) as server, Client(server.url) as client:
        results: list[Any] = []

        async def work() -> None:
            results.append(await client.call_tool("work", {"seconds": 0.5}))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            await server.wait_for("works")
            server.process.send_signal(signum)
        assert results[0].structured_content == {"result": "done"}
        assert (await client.session.wait_lost()).close_code == 1001
        status, errors = await server.end()
        assert (status, "lifespan left" in errors, "Traceback" in errors) == (0, True, False)


@posix
async def test_server_that_is_killed_is_a_connection_that_broke():
    async with running("-c", SLOW) as server, Client(server.url) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_kill_when_it_works, server)
            with trio.fail_after(5), pytest.raises(ConnectionLost) as caught:
                await client.call_tool("work", {"seconds": 60})
        assert caught.value.close_code == 1006


async def _kill_when_it_works(server: Program) -> None:
    await server.wait_for("works")
    server.process.kill()


async def test_options_come_from_the_environment():
    async with running("-c", SLOW, MCP_WEBSOCKET_PATH="/tools") as server:
        assert re.fullmatch(r"ws://127\.0\.0\.1:[1-9]\d*/tools", server.url)
        async with Client(server.url):
            pass


async def test_it_loads_nothing_that_serves_http():
    async with running("-c", SLOW) as server, Client(server.url) as client:
        result = await client.call_tool("loaded", {})
        assert result.structured_content is not None
        modules = set(result.structured_content["result"])
        assert "trio_websocket" in modules
        heavy = {"hypercorn", "httpx", "h2", "trio_mcp.client", "trio_mcp.transports.http._app"}
        assert modules & heavy == set()


async def test_a_server_over_http_loads_nothing_of_it():
    program_of_http = SLOW.replace('"websocket"', '"streamable-http"')
    async with running("-c", program_of_http) as server, Client(server.url) as client:
        result = await client.call_tool("loaded", {})
        assert result.structured_content is not None
        assert [each for each in result.structured_content["result"] if "websocket" in each] == []


async def test_units_are_converted_as_over_every_other_transport():
    program = (
        "import sys, runpy\n"
        f"sys.path.insert(0, {str(EXAMPLES)!r})\n"
        "import unit_converter\n"
        "unit_converter.mcp.run('websocket')\n"
    )
    async with running("-c", program) as server, Client(server.url) as client:
        tools = [each.name for each in (await client.list_tools()).tools]
        arguments = {"value": 12, "from_unit": "in", "to_unit": "cm"}
        result = await client.call_tool(tools[0], arguments)
        assert "30.48" in repr(result)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"port": "80"}, TypeError, "port"),
        ({"stateless_http": True}, TypeError, "no option 'stateless_http'"),
        ({"max_mesage_size": 1}, TypeError, "did you mean 'max_message_size'"),
    ],
)
def test_wrong_options_are_told_before_anything_is_served(options, error, says):
    with pytest.raises(error, match=says):
        MCPServer("x").run("websocket", **options)
