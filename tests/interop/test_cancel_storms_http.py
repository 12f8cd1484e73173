"""Many calls over HTTP to a server of the official SDK, given up at any moment."""

from __future__ import annotations

import random

import pytest
import trio

from trio_mcp import Client

from ._http_peers import http_peer
from .test_cancel_storms import BOTH_ERAS, cancel_later, checkpoints, running, text_of

pytestmark = pytest.mark.limit(60)


@pytest.mark.case("C020")
@BOTH_ERAS
async def test_a_hundred_calls_cancelled_at_once_all_stop(mode: str) -> None:
    async with http_peer() as url, Client(url, mode=mode) as client:
        for _ in range(2):
            async with trio.open_nursery() as nursery:
                for n in range(100):
                    nursery.start_soon(client.call_tool, "nap", {"name": str(n)})
                assert await running(client, 100) == "100"
                nursery.cancel_scope.cancel()
            assert await running(client, 0) == "0"


@pytest.mark.case("C021")
@BOTH_ERAS
async def test_calls_cancelled_at_random_moments_leave_the_client_as_it_was(mode: str) -> None:
    chance = random.Random(20260728)
    answered = cancelled = 0

    async def call(client: Client, n: int) -> None:
        nonlocal answered, cancelled
        await checkpoints(chance.randrange(200))
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_later, scope, chance.randrange(600))
                if n % 3:
                    result = await client.call_tool("echo", {"text": f"text {n}"})
                    assert text_of(result) == f"text {n}"
                else:
                    await client.call_tool("nap", {"name": str(n)})
                answered += 1
                nursery.cancel_scope.cancel()
        cancelled += scope.cancelled_caught

    async with http_peer() as url, Client(url, mode=mode) as client:
        for start in range(0, 300, 50):
            async with trio.open_nursery() as nursery:
                for n in range(start, start + 50):
                    nursery.start_soon(call, client, n)
        assert answered + cancelled == 300
        assert cancelled >= 100
        assert await running(client, 0) == "0"
        link = client.session._link
        assert not link._calls
        assert link._limiter.borrowed_tokens == 0
