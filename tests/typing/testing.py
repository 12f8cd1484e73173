"""What tests write must satisfy mypy and pyright; this file is checked, and never run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, assert_type

import trio

from trio_mcp import Client, ClientSession, MCPServer, Server
from trio_mcp.testing import Road, SessionOptions, check_channel, open_client, open_session
from trio_mcp.transports import Channel, LineChannel
from trio_mcp.types import Implementation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

mcp = MCPServer("shop")
roads: list[Road] = ["direct", "memory", "text", "lines"]


async def use_pairs() -> None:
    for road in roads:
        async with open_client(mcp, road, mode="legacy", read_timeout_seconds=5) as client:
            assert_type(client, Client)
    options: SessionOptions = {"client_info": Implementation(name="x", version="1")}
    async with open_session(Server("low"), "lines", mode="2025-06-18", **options) as session:
        assert_type(session, ClientSession)
    async with open_client(mcp, "pigeon"):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pass
    async with open_client(mcp, timeout=5):  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        pass


@asynccontextmanager
async def open_pair() -> AsyncGenerator[tuple[LineChannel, Channel], None]:
    left, right = trio.socket.socketpair()
    here, there = trio.SocketStream(left), trio.SocketStream(right)
    async with LineChannel(here, here) as near, LineChannel(there, there) as far:
        yield near, far


async def send_malformed(channel: Channel) -> None:
    await channel.send([])


async def check() -> None:
    await check_channel(open_pair, send_malformed=send_malformed)
