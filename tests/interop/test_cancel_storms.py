"""Many calls over stdio, given up at any moment: nothing runs on, and no answer goes astray."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import trio

from trio_mcp.types import CallToolResult, TextContent

from ._peers import connect

if TYPE_CHECKING:
    from trio_mcp.client import Client

pytestmark = pytest.mark.limit(30)
BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def running(client: Client, number: int) -> str:
    return text_of(await client.call_tool("wait_running", {"number": number}))


@pytest.mark.case("C020")
@pytest.mark.req("R-087", "R-088")
@BOTH_ERAS
async def test_two_hundred_calls_cancelled_at_once_all_stop(mode: str) -> None:
    async with connect("trio_mcp", mode=mode) as client:
        for _ in range(3):
            async with trio.open_nursery() as nursery:
                for n in range(200):
                    nursery.start_soon(client.call_tool, "nap", {"name": str(n)})
                assert await running(client, 200) == "200"
                nursery.cancel_scope.cancel()
            assert await running(client, 0) == "0"


@pytest.mark.case("C021")
@BOTH_ERAS
async def test_calls_cancelled_at_random_moments_get_no_answer_of_another(mode: str) -> None:
    chance = random.Random(20260728)
    answered = cancelled = 0

    async def call(client: Client, n: int) -> None:
        nonlocal answered, cancelled
        await checkpoints(chance.randrange(30))
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel_later, scope, chance.randrange(60))
                if n % 3:
                    result = await client.call_tool("echo", {"text": f"text {n}"})
                    assert text_of(result) == f"text {n}"
                else:
                    await client.call_tool("nap", {"name": str(n)})
                answered += 1
                nursery.cancel_scope.cancel()
        cancelled += scope.cancelled_caught

    async with connect("trio_mcp", mode=mode) as client:
        for start in range(0, 1000, 100):
            async with trio.open_nursery() as nursery:
                for n in range(start, start + 100):
                    nursery.start_soon(call, client, n)
        assert answered + cancelled == 1000
        assert cancelled >= 334
        assert await running(client, 0) == "0"
        for n in range(100):
            assert text_of(await client.call_tool("echo", {"text": str(n)})) == str(n)
        peer = client.session._link
        assert not peer._calls
        statistics = trio.lowlevel.current_statistics()
        assert statistics.tasks_living < 30


async def cancel_later(scope: trio.CancelScope, turns: int) -> None:
    await checkpoints(turns)
    scope.cancel()


async def checkpoints(number: int) -> None:
    for _ in range(number):
        await trio.lowlevel.checkpoint()
