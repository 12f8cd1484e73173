"""The channels of stdio, held to what every channel promises.

That of a client leads to a real process, which passes on what it reads to a socket, whose other
end is the peer, and back. That of a server is opened on pipes.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
import trio

from trio_mcp.testing import check_channel
from trio_mcp.transports import (
    Channel,
    LineChannel,
    StdioServerParameters,
    stdio_client,
    stdio_server,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="joined by a Unix socket")

# Ends when either side does, with everything passed on that was read before.
RELAY = """
import os, socket, sys, threading

wire = socket.socket(socket.AF_UNIX)
wire.connect(sys.argv[1])

def pass_on(read, write):
    while data := read(65536):
        write(data)

def inwards():
    pass_on(lambda size: os.read(0, size), wire.sendall)
    os._exit(0)

def write_all(data):
    while data:
        data = data[os.write(1, data):]

threading.Thread(target=inwards).start()
pass_on(wire.recv, write_all)
os._exit(0)
"""


@asynccontextmanager
async def open_pair() -> AsyncGenerator[tuple[Channel, Channel], None]:
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = str(Path(folder) / "wire")
        listener.bind(path)
        listener.listen()
        program = StdioServerParameters(
            command=sys.executable, args=["-I", "-S", "-c", RELAY, path]
        )
        async with stdio_client(program, termination_timeout=0.5, force_kill_timeout=0.5) as near:
            accepted, _ = await trio.socket.from_stdlib_socket(listener).accept()
            wire = trio.SocketStream(accepted)
            async with LineChannel(wire, wire) as far:
                yield near, far


@asynccontextmanager
async def open_pair_reversed() -> AsyncGenerator[tuple[Channel, Channel], None]:
    async with open_pair() as (near, far):
        yield far, near


async def send_malformed(channel: Channel) -> None:
    assert isinstance(channel, LineChannel)
    await channel._send_stream.send_all(b"Server ready on port 1\n")


@pytest.mark.limit(60)
@pytest.mark.req("R-077", "R-079")
@pytest.mark.parametrize("way", [open_pair, open_pair_reversed])
async def test_a_process_keeps_the_promises_of_a_channel(way: object) -> None:
    assert callable(way)
    await check_channel(way, send_malformed=send_malformed)


@asynccontextmanager
async def open_served() -> AsyncGenerator[tuple[Channel, Channel], None]:
    (r1, w1), (r2, w2) = os.pipe(), os.pipe()
    async with LineChannel(trio.lowlevel.FdStream(r2), trio.lowlevel.FdStream(w1)) as far:
        with os.fdopen(r1, "rb") as stdin, os.fdopen(w2, "wb") as stdout:
            served = stdio_server(stdin, stdout)
            near = await served.__aenter__()
        # The channel has duplicates: now it alone has these ends.
        async with near:
            yield near, far
        await served.__aexit__(None, None, None)


async def test_a_server_keeps_the_promises_of_a_channel() -> None:
    await check_channel(open_served, send_malformed=send_malformed)
