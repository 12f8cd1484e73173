"""Clients that connect, call, stream, cancel and drop at random, and what is left of them.

``nox -s soak`` lets 200 of them come for twice 40 seconds.
"""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
import trio

from trio_mcp import Client
from trio_mcp.types import ElicitResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

SERVER = Path(__file__).with_name("server.py")

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="counts by /proc, which is Linux's"
)


class Server:
    """The process of ``server.py``, seen from outside."""

    def __init__(self, process: trio.Process, url: str) -> None:
        self._process = process
        self.url = url

    async def holdings(self) -> dict[str, int]:
        """What it holds now."""
        assert self._process.stdin is not None
        await self._process.stdin.send_all(b"\n")
        held: dict[str, int] = json.loads(await read_line(self._process))
        return held

    async def settled(self, before: dict[str, int]) -> dict[str, int]:
        """What it holds once nothing but memory differs from before, or never will."""
        held = await self.holdings()
        with trio.move_on_after(15):
            while {**held, "memory": 0} != {**before, "memory": 0}:
                await trio.sleep(0.1)  # the server does not say when it is done
                held = await self.holdings()
        return held


async def read_line(process: trio.Process) -> str:
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        received = await process.stdout.receive_some()
        assert received, "the server has ended"
        line += received
    return line.decode().strip()


@asynccontextmanager
async def serving(idle_seconds: float) -> AsyncGenerator[Server, None]:
    process = await trio.lowlevel.open_process(
        [sys.executable, str(SERVER), str(idle_seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Server(process, await read_line(process))
        await process.stdin.aclose()
        assert await process.wait() == 0
    finally:
        process.kill()
        await process.stdin.aclose()
        await process.stdout.aclose()
        with trio.CancelScope(shield=True):
            await process.wait()


class Guest:
    """One client after the other, each doing something at random.

    Args:
      url: Of the server.
      seed: So that a run can be repeated, as far as the machine allows.

    """

    def __init__(self, url: str, seed: int) -> None:
        self._url = url
        self._random = random.Random(seed)
        self.done: dict[str, int] = {}

    async def visit_until(self, deadline: float) -> None:
        while trio.current_time() < deadline:
            await self._random.choice((self.stay, self.stay, self.drop, self.vanish))()

    async def stay(self) -> None:
        """Do a few things, and go in good order."""
        async with self._client() as client:
            for _ in range(self._random.randint(1, 5)):
                await self._do_something(client)
        self._count("stayed")

    async def drop(self) -> None:
        """Be cancelled whatever it is that is being done."""
        with trio.move_on_after(self._random.random() * 0.3):
            await self.stay()
        self._count("dropped")

    async def vanish(self) -> None:
        """Close a connection in the middle of a request, or of its answer."""
        host, _, port = self._url.split("/")[2].partition(":")
        stream = await trio.open_tcp_stream(host, int(port))
        async with stream:
            request = self._request()
            cut = self._random.choice((len(request), self._random.randint(0, len(request))))
            await stream.send_all(request[:cut])
            if cut == len(request):
                with trio.move_on_after(self._random.random() * 0.1):
                    await stream.receive_some()
        self._count("vanished")

    def _request(self) -> bytes:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "gone", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        body = json.dumps(message).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {self._url.split('/')[2]}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def _client(self) -> Client:
        mode: Literal["auto", "legacy"] = self._random.choice(("auto", "legacy"))
        return Client(self._url, mode=mode, elicitation_callback=agree, cache=None)

    async def _do_something(self, client: Client) -> None:
        do = self._random.choice((self._add, self._work, self._hear, self._give_up, self._confirm))
        await do(client)
        self._count(do.__name__)

    async def _add(self, client: Client) -> None:
        result = await client.call_tool("add", {"a": 1, "b": 2})
        assert result.structured_content == {"result": 3}

    async def _work(self, client: Client) -> None:
        result = await client.call_tool("work", {"size": 1000})
        assert result.structured_content == {"result": 1000}

    async def _hear(self, client: Client) -> None:
        heard: list[float] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)

        await client.call_tool("stream", {"to": 7}, progress_callback=hear)
        assert heard == [1, 2, 3, 4, 5, 6, 7]

    async def _give_up(self, client: Client) -> None:
        with trio.move_on_after(self._random.random() * 0.05) as scope:
            await client.call_tool("nap", {"seconds": 60})
        assert scope.cancelled_caught

    async def _confirm(self, client: Client) -> None:
        result = await client.call_tool("confirm")
        assert result.structured_content == {"result": True}

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1


async def agree(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"sure": True})


async def visit(url: str, clients: int, seconds: float, seed: int) -> dict[str, int]:
    """Let so many clients come for so long; returns how often they did what."""
    guests = [Guest(url, seed + number) for number in range(clients)]
    deadline = trio.current_time() + seconds
    async with trio.open_nursery() as nursery:
        for guest in guests:
            nursery.start_soon(guest.visit_until, deadline)
    done: dict[str, int] = {}
    for guest in guests:
        for what, often in guest.done.items():
            done[what] = done.get(what, 0) + often
    return done


def own_holdings() -> dict[str, int]:
    """What is left in this process, that of the clients."""
    gc.collect()
    return {
        "tasks": trio.lowlevel.current_statistics().tasks_living,
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names are enough
    }


# A round ends when its last guest has gone, and each server that is stopped takes its time.
@pytest.mark.limit(170)
async def test_nothing_is_left_of_clients_that_come_and_go(
    soak_seconds: float, soak_clients: int
) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    # Many clients at once are slow, and each of them has to be heard of within this time.
    async with serving(1 if soak_clients <= 20 else 5) as server:
        # What is imported and opened once is there before anything is counted.
        idle = await server.holdings()
        await visit(server.url, 2, 0.5, seed)
        before = await server.settled(idle)
        assert {**before, "memory": 0} == {**idle, "memory": 0}
        mine = own_holdings()
        memory = []
        for number in (1, 2):
            done = await visit(server.url, soak_clients, soak_seconds, seed + number * 1000)
            print(done)
            held = await server.settled(before)
            memory.append(held["memory"])
            assert {**held, "memory": 0} == {**before, "memory": 0}
            assert own_holdings() == mine
            assert all(done.get(what, 0) for what in ("stayed", "dropped", "vanished"))
        print(f"memory of the server, KiB: {before['memory']}, then {memory}")
        assert memory[1] <= memory[0] * 1.1
        with trio.fail_after(5):
            async with Client(server.url) as client:
                result = await client.call_tool("add", {"a": 1, "b": 2})
                assert result.structured_content == {"result": 3}
