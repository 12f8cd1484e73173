"""What becomes of the work when its task ends in another way than by it."""

from __future__ import annotations

import pytest
import trio

from trio_mcp import Context, MCPServer
from trio_mcp.extensions import InMemoryTaskStore, TasksClientExtension, TasksExtension
from trio_mcp.testing import open_client

from ._studio import Colour, connect, settle, start, studio


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


class SilentStore(InMemoryTaskStore):
    """Tells nobody of changes, as one that is late."""

    def subscribe(self, listener):
        return lambda: None


async def test_work_says_that_its_client_cancelled_it():
    made = studio()
    async with connect(made.mcp, "direct") as client:
        task = await start(client, "paint", {"seconds": 60})
        await task.cancel()
        await settle(lambda: made.seen)
    assert made.seen == ["the client cancelled the task"]


async def test_work_says_that_its_task_was_deleted():
    store = InMemoryTaskStore()
    made = studio(store=store)
    async with connect(made.mcp, "direct") as client:
        task = await start(client, "paint", {"seconds": 60})
        await store.delete(task.task_id)
        await settle(lambda: made.seen)
    assert made.seen == ["the task was deleted"]


async def test_work_says_that_the_time_of_its_task_is_over():
    made = studio(ttl=10)
    async with connect(made.mcp, "direct") as client:
        await start(client, "paint", {"seconds": 60})
        await settle(lambda: made.seen)
    assert made.seen == ["a deadline passed"]


async def test_work_ends_whose_task_was_ended_by_somebody_else():
    store = InMemoryTaskStore()
    made = studio(store=store)
    async with connect(made.mcp, "direct") as client:
        task = await start(client, "paint", {"seconds": 60})
        kept = await store.get(task.task_id)
        assert await store.replace(kept.ended(kept.updated_at, "failed", error={}))
        await settle(lambda: made.seen)
    assert made.seen == ["the task is failed"]


@pytest.mark.parametrize("shielded", [False, True])
@pytest.mark.parametrize("change", ["deleted", "cancelled"])
async def test_a_question_of_a_task_that_is_over_waits_for_nobody(change, shielded):
    store, seen, go_on = SilentStore(), [], trio.Event()
    mcp = MCPServer("studio", extensions=[TasksExtension({"ask_later": "required"}, store=store)])

    @mcp.tool()
    async def ask_later(ctx: Context) -> str:
        """Ask when the task is over."""
        await go_on.wait()
        try:
            with trio.CancelScope(shield=shielded):
                await ctx.elicit("Which colour?", Colour)
        finally:
            seen.append((ctx.cancel_reason, trio.current_time()))
        return "asked"

    async def never(context, params):
        raise AssertionError("nobody is asked")

    extensions = [TasksClientExtension()]
    async with open_client(
        mcp, "direct", extensions=extensions, elicitation_callback=never
    ) as client:
        task = await start(client, "ask_later")
        if change == "deleted":
            await store.delete(task.task_id)
        else:
            kept = await store.get(task.task_id)
            assert await store.replace(kept.ended(kept.updated_at, "cancelled"))
        began = trio.current_time()
        go_on.set()
        await settle(lambda: seen)
    reason = {"deleted": "the task was deleted", "cancelled": "the client cancelled the task"}
    assert seen == [(reason[change], pytest.approx(began))]
