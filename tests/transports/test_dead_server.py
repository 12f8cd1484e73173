"""A server that dies is noticed, though what it started goes on holding its pipes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest
import trio

from tests._limits import SOON
from trio_mcp.client import Client, RestartPolicy
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports import StdioServerParameters, stdio_client
from trio_mcp.transports._process import EXIT_REPORT_TIMEOUT

from ._programs import wait_gone

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sees processes end by pidfd")

CHILD = """
import subprocess, sys, time
def leave_a_child():
    # It inherits stdin, stdout and stderr.
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
    open(sys.argv[1], "a").write(f"{child.pid}\\n")
"""
DEAD_AT_ONCE = (
    CHILD
    + """
leave_a_child()
print("API_KEY missing", file=sys.stderr)
sys.exit(int(sys.argv[2]))
"""
)
# Exits when it should have been written to, and has read nothing.
DEAF = (
    CHILD
    + """
leave_a_child()
time.sleep(0.5)
sys.exit(3)
"""
)
MORTAL = (
    CHILD
    + """
import os, threading
from trio_mcp.mcpserver import MCPServer
mcp = MCPServer("mortal")

@mcp.tool()
def die() -> int:
    leave_a_child()
    print("alas", file=sys.stderr, flush=True)
    os._exit(3)

@mcp.tool()
def die_after_this() -> int:
    leave_a_child()
    threading.Timer(0.1, os._exit, [3]).start()
    return 7

@mcp.tool()
def number() -> int:
    return os.getpid()

mcp.run()
"""
)

# Reads one request, and answers it a little after it has closed its stdin.
STOPS_READING = """
import json, os, sys, time
request = json.loads(sys.stdin.readline())
os.close(0)
print("closed", file=sys.stderr, flush=True)
time.sleep(0.3)
tools = [{"name": "late", "inputSchema": {"type": "object"}}]
result = {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
time.sleep(60)
"""

MODES = pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28", "2025-06-18"])


class Children:
    """The processes that a server left behind."""

    def __init__(self, record: Path) -> None:
        self.record = record

    def server(self, program: str, *args: str) -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable, args=["-c", program, str(self.record), *args]
        )

    def pids(self) -> list[int]:
        return [int(line) for line in self.record.read_text().split()]

    async def wait_gone(self) -> None:
        assert self.pids()
        for pid in self.pids():
            await wait_gone(pid)


@pytest.fixture
def children(tmp_path: Path) -> Children:
    return Children(tmp_path / "children")


async def ask_once(server: StdioServerParameters, mode: str) -> None:
    async with Client(server, mode=mode) as client:
        # A revision that is given is taken for granted, until the first call.
        assert mode == "2026-07-28"
        await client.list_tools()


@pytest.mark.case("C010")
@MODES
async def test_connecting_to_a_server_that_exits_at_once(mode: str, children: Children) -> None:
    began = time.monotonic()
    with pytest.raises(ConnectionLost) as caught:
        await ask_once(children.server(DEAD_AT_ONCE, "2"), mode)
    assert time.monotonic() - began < SOON
    assert str(caught.value) == "server exited with status 2: API_KEY missing"
    assert caught.value.exit_status == 2
    assert caught.value.stderr == "API_KEY missing\n"
    await children.wait_gone()


async def test_a_launcher_that_does_not_wait_is_told_what_to_do(children: Children) -> None:
    with pytest.raises(ConnectionLost) as caught:
        async with Client(children.server(DEAD_AT_ONCE, "0")):
            pytest.fail("it connected")
    assert str(caught.value) == (
        "server exited with status 0 and left its pipes to what it started (a launcher has to "
        "wait for the server, or become it by exec): API_KEY missing"
    )
    await children.wait_gone()


@pytest.mark.case("C009")
@MODES
async def test_a_call_in_which_the_server_dies(mode: str, children: Children) -> None:
    async with Client(children.server(MORTAL), mode=mode) as client:
        for tool in ("die", "number"):
            began = time.monotonic()
            with pytest.raises(ConnectionLost) as caught:
                await client.call_tool(tool)
            assert time.monotonic() - began < SOON
            assert str(caught.value) == "server exited with status 3: alas"
    await children.wait_gone()


async def ask_on(client: Client) -> None:
    while True:
        await client.call_tool("number")


@pytest.mark.case("C009")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_after_the_server_has_died(mode: str, children: Children) -> None:
    async with Client(children.server(MORTAL), mode=mode) as client:
        result = await client.call_tool("die_after_this")
        assert result.structured_content == {"result": 7}
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match="server exited with status 3"):
            await ask_on(client)
        assert time.monotonic() - began < SOON
    await children.wait_gone()


@pytest.mark.case("C009")
async def test_a_request_that_fills_the_pipe(children: Children) -> None:
    async with Client(children.server(DEAF), mode="2026-07-28") as client:
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match="server exited with status 3"):
            await client.call_tool("x", {"x": "x" * 1_000_000})
        assert time.monotonic() - began < SOON
    await children.wait_gone()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_such_a_server_is_started_again(mode: str, children: Children) -> None:
    policy = RestartPolicy(initial_delay=0)
    async with Client(children.server(MORTAL), mode=mode, restart=policy) as client:
        first = await client.call_tool("number")
        with pytest.raises(ConnectionLost, match="server exited with status 3: alas"):
            await client.call_tool("die")
        second = await client.call_tool("number")
        assert second.structured_content != first.structured_content
        await children.wait_gone()


async def test_a_server_that_stops_reading_is_given_up_once() -> None:
    closed = trio.Event()
    server = StdioServerParameters(command=sys.executable, args=["-c", STOPS_READING])
    transport = stdio_client(server, lambda line: closed.set(), termination_timeout=0.1)
    tools: list[str] = []
    async with Client(transport, mode="2026-07-28") as client, trio.open_nursery() as nursery:

        async def list_tools() -> None:
            tools.extend(tool.name for tool in (await client.list_tools()).tools)

        nursery.start_soon(list_tools)
        await closed.wait()
        began = trio.current_time()
        with pytest.raises(ConnectionLost, match=r"^server closed the connection but is still"):
            await client.list_tools()
        assert trio.current_time() - began < 2 * EXIT_REPORT_TIMEOUT
    assert tools == ["late"], "what it had read before, it may answer meanwhile"
