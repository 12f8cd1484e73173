"""Servers of groups under test, and what is left of them."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.mcpserver import MCPServer
from trio_mcp.transports import open_memory_channel_pair

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the processes of this one are read from /proc"
)
PAGE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def children():
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(process.name))
    return found


class Servers:
    """Servers of this process, and how many of them are connected at the moment."""

    def __init__(self):
        self.connected = []

    def make(self, name, *tools, **options):
        @asynccontextmanager
        async def lifespan(server):
            self.connected.append(name)
            try:
                yield {}
            finally:
                self.connected.remove(name)

        mcp = MCPServer(name, lifespan=lifespan, **options)
        for tool in tools:
            mcp.add_tool(lambda: "done", name=tool)

        @mcp.tool(name=f"{name}_waits")
        async def wait() -> str:
            await trio.sleep_forever()

        return mcp


@asynccontextmanager
async def reaching(*scripts):
    """Run scripts; gives the near end of the wire of each."""
    pairs = [open_memory_channel_pair() for _ in scripts]
    failure = None
    async with trio.open_nursery() as nursery:
        for script, (_, far) in zip(scripts, pairs, strict=True):
            nursery.start_soon(script.run, far)
        try:
            yield [near for near, _ in pairs]
        except Exception as exc:  # noqa: BLE001 - raised again below
            failure = exc
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


@asynccontextmanager
async def over_channel(server):
    """Reach a server as if it were in another process, in JSON text."""
    near, far = open_memory_channel_pair(as_text=True)
    async with open_background_nursery() as nursery:
        nursery.start_soon(server._lowlevel_server.run, far)
        yield near


def listing(*names):
    return {**PAGE, "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
