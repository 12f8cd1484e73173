"""How many connections a server has, and what is told of those that are too many."""

from __future__ import annotations

import logging
from typing import Any

import trio

from trio_mcp.transports._connections import OpenConnections


class Stream(trio.abc.AsyncResource):
    closed = False

    async def aclose(self) -> None:
        self.closed = True
        await trio.lowlevel.checkpoint()


async def test_a_server_that_is_full_again_and_again_tells_so_a_few_times(caplog):
    connections: OpenConnections[str] = OpenConnections(1, None, logging.getLogger("tests"))
    for _ in range(15):
        stream: Any = Stream()
        assert await connections.admit(stream) is stream
        with connections.holding("one"):
            for _ in range(3):
                more: Any = Stream()
                assert await connections.admit(more) is None
                assert more.closed
    assert [each.getMessage() for each in caplog.records] == [
        "1 connections are open: more are refused",
        "1 connections are open: more are refused (10 times by now)",
    ]
