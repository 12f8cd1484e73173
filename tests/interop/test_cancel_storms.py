"""Many calls, given up at any moment: nothing runs on, and no answer goes astray.

Over stdio to our server, and over HTTP to one of the official SDK.
"""

from __future__ import annotations

import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import trio

from trio_mcp import Client
from trio_mcp.types import CallToolResult, TextContent

from ._http_peers import http_peer
from ._peers import connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.limit(60)
BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def running(client: Client, number: int) -> str:
    return text_of(await client.call_tool("wait_running", {"number": number}))


@asynccontextmanager
async def over_http(mode: str) -> AsyncGenerator[Client, None]:
    async with http_peer() as url, Client(url, mode=mode) as client:
        yield client


async def cancel_all_at_once(client: Client, calls: int, times: int) -> None:
    for _ in range(times):
        async with trio.open_nursery() as nursery:
            for n in range(calls):
                nursery.start_soon(client.call_tool, "nap", {"name": str(n)})
            assert await running(client, calls) == str(calls)
            nursery.cancel_scope.cancel()
        assert await running(client, 0) == "0"


async def storm(client: Client, calls: int, at_once: int, turns: int) -> None:
    """Make calls that are given up after so many turns of the event loop, at most twice."""
    chance = random.Random(20260728)
    answered = cancelled = 0

    async def call(n: int) -> None:
        nonlocal answered, cancelled
        await checkpoints(chance.randrange(turns))
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_later, scope, chance.randrange(2 * turns))
                if n % 3:
                    result = await client.call_tool("echo", {"text": f"text {n}"})
                    assert text_of(result) == f"text {n}"
                else:
                    await client.call_tool("nap", {"name": str(n)})
                answered += 1
                nursery.cancel_scope.cancel()
        cancelled += scope.cancelled_caught

    for start in range(0, calls, at_once):
        async with trio.open_nursery() as nursery:
            for n in range(start, start + at_once):
                nursery.start_soon(call, n)
    assert answered + cancelled == calls
    assert cancelled >= calls // 3
    assert await running(client, 0) == "0"


async def cancel_later(scope: trio.CancelScope, turns: int) -> None:
    await checkpoints(turns)
    scope.cancel()


async def checkpoints(number: int) -> None:
    for _ in range(number):
        await trio.lowlevel.checkpoint()


@pytest.mark.case("C020")
@pytest.mark.req("R-087", "R-088")
@BOTH_ERAS
async def test_two_hundred_calls_cancelled_at_once_all_stop(mode: str) -> None:
    async with connect("trio_mcp", mode=mode) as client:
        await cancel_all_at_once(client, 200, times=3)


@pytest.mark.case("C020")
@BOTH_ERAS
async def test_a_hundred_calls_over_http_cancelled_at_once_all_stop(mode: str) -> None:
    async with over_http(mode) as client:
        await cancel_all_at_once(client, 100, times=2)


@pytest.mark.case("C021")
@BOTH_ERAS
async def test_calls_cancelled_at_random_moments_get_no_answer_of_another(mode: str) -> None:
    async with connect("trio_mcp", mode=mode) as client:
        await storm(client, calls=1000, at_once=100, turns=30)
        for n in range(100):
            assert text_of(await client.call_tool("echo", {"text": str(n)})) == str(n)
        assert not client.session._link._calls
        assert trio.lowlevel.current_statistics().tasks_living < 30


@pytest.mark.case("C021")
@BOTH_ERAS
async def test_calls_over_http_cancelled_at_random_moments_leave_nothing(mode: str) -> None:
    async with over_http(mode) as client:
        await storm(client, calls=300, at_once=50, turns=300)
        link = client.session._link
        assert not link._calls
        assert link._limiter.borrowed_tokens == 0
