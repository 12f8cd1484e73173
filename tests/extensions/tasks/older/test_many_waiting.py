"""Many requests that wait for the result of one task of 2025-11-25."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from tests.extensions.tasks._studio import settle, studio
from trio_mcp.extensions import InMemoryTaskStore

from ._raw import connect


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


async def test_who_comes_and_goes_disturbs_nobody_but_the_one_who_asks():
    store, looked = InMemoryTaskStore(), [0]
    made = studio(store=store)
    get = store.get

    async def count(task_id: str) -> Any:
        looked[0] += 1
        return await get(task_id)

    store.get = count
    async with connect(made.mcp) as raw, trio.open_nursery() as nursery:
        raw.holds = trio.Event()
        task_id = await raw.start("ask")
        await raw.until(task_id, "input_required")
        looked[0] = 0
        scopes: list[trio.CancelScope] = []

        async def wait() -> None:
            with trio.CancelScope() as scope:
                scopes.append(scope)
                await raw.result(task_id)

        for coming in range(1, 51):
            nursery.start_soon(wait)
            await settle(lambda coming=coming: len(raw.asked) == coming)
        # Each looks twice when it comes, and the one that asked until then looks again.
        assert looked[0] <= 50 * 6
        looked[0] = 0
        while len(scopes) > 1:
            scopes.pop().cancel()
            here = len(raw.asked)
            await settle(lambda here=here: len(raw.asked) > here)
        assert looked[0] <= 50 * 6
        raw.holds.set()
        await raw.until(task_id, "completed")
