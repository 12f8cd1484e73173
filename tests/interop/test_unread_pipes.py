"""Pipes that the other side does not read, or floods: nothing hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest
import trio

from tests._limits import SOON
from trio_mcp._rpc import _peer
from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.transports import StdioServerParameters, stdio_client
from trio_mcp.types import SERVER_BUSY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX pipes")

SERVER = """
import time
import trio
from trio_mcp import MCPServer
from trio_mcp._rpc import _peer

_peer.MAX_UNREAD = 50
mcp = MCPServer("unread")

@mcp.tool()
async def wait() -> str:
    await trio.sleep(60)

@mcp.tool()
def sleep() -> str:
    time.sleep(60)

@mcp.tool()
async def shout() -> str:
    return "x" * 5_000_000

@mcp.tool()
async def shrug() -> None:
    pass

mcp.run()
"""

INITIALIZE = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}

BOUND = 1 + 1 + 3
"""Seconds: for a client that reads nothing, for handlers, and for a machine that is busy."""


def line(request_id: int, message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, **message}).encode() + b"\n"


def write_what_fits(fd: int, data: bytes) -> int:
    """Write until the pipe stays full for a second; return how much was written."""
    os.set_blocking(fd, False)
    written = 0
    last = time.monotonic()
    while written < len(data) and time.monotonic() - last < 1:
        try:
            written += os.write(fd, data[written : written + 65536])
            last = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    return written


@pytest.mark.parametrize("kind", ["wait", "sleep", "shout", "flood"])
def test_the_end_of_input_ends_a_server_whose_output_nobody_reads(kind: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(line(0, INITIALIZE))
        server.stdin.flush()
        assert b"serverInfo" in server.stdout.readline()
        fd = server.stdin.fileno()
        if kind == "flood":
            ping = {"method": "ping", "params": {"_meta": {"padding": "x" * 300}}}
            data = b"".join(line(number, ping) for number in range(1, 20_000))
            # So much that the server stops reading: the end comes behind what it has not read.
            assert write_what_fits(fd, data) < len(data)
        else:
            call = {"method": "tools/call", "params": {"name": kind, "arguments": {}}}
            os.write(fd, b"".join(line(number, call) for number in range(1, 11)))
            if kind == "shout":
                server.stdout.read(1)
        began = time.monotonic()
        server.stdin.close()
        try:
            assert server.wait(timeout=30) == 0
        finally:
            server.kill()
        assert time.monotonic() - began < BOUND
        assert server.stderr.read() == b""


async def test_more_calls_than_anybody_keeps_answers_for_are_all_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_peer, "MAX_UNREAD", 50)
    outcomes: list[int] = []

    async def call(client: Client) -> None:
        try:
            await client.call_tool("shrug")
        except MCPError as exc:
            outcomes.append(exc.code)
        else:
            outcomes.append(0)

    parameters = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
    async with Client(parameters) as client, trio.open_nursery() as nursery:
        for _ in range(10_000):
            nursery.start_soon(call, client)
        # Now the writer is in the middle of them, and more come.
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        for _ in range(2_000):
            nursery.start_soon(call, client)
    assert len(outcomes) == 12_000
    # How many the server has to refuse depends on how fast both sides read.
    assert set(outcomes) <= {0, SERVER_BUSY}


FLOODING = """
import os, sys, threading, time
from trio_mcp import MCPServer

mcp = MCPServer("floods")

@mcp.tool()
async def ask() -> str:
    return "fine"

def flood():
    piece = eval(sys.argv[1])
    while True:
        os.write(2, piece)
        time.sleep(0.005)

threading.Thread(target=flood, daemon=True).start()
mcp.run()
"""


@pytest.mark.case("C008")
@pytest.mark.parametrize(
    "piece", ['(b"e" * 99 + b"\\n") * 655', 'b"e" * 1_000_000'], ids=["lines", "one line"]
)
@pytest.mark.parametrize("where", ["nowhere", "function", "unread pipe"])
async def test_a_server_that_floods_its_stderr_is_called_all_the_same(
    where: str, piece: str
) -> None:
    read_end, write_end = os.pipe()
    errlog: Any = None
    lines = 0

    def count(_: str) -> None:
        nonlocal lines
        lines += 1

    if where == "function":
        errlog = count
    parameters = StdioServerParameters(command=sys.executable, args=["-c", FLOODING, piece])
    with os.fdopen(read_end, "rb"), os.fdopen(write_end, "w") as unread:
        if where == "unread pipe":
            errlog = unread
        transport = stdio_client(parameters, errlog=errlog, termination_timeout=60)
        async with Client(transport) as client:
            ends = trio.current_time() + 1
            while trio.current_time() < ends:
                with trio.fail_after(SOON):
                    result = await client.call_tool("ask")
                assert result.content[0].text == "fine"
            left = trio.current_time()
        # By itself, when its stdin is closed.
        assert trio.current_time() - left < SOON
    assert (lines > 0) is (where == "function")
