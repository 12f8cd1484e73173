"""A tool that asks many things at the same time."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from trio_mcp import Context, MCPServer
from trio_mcp.extensions import InMemoryTaskStore, TasksExtension

from ._studio import TASKS, Colour, answer_blue, connect, settle, start

MANY = 50
both_eras = pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


class SlowStore(InMemoryTaskStore):
    """Takes its time for each change, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts = 0
        self.fails = False

    async def replace(self, task: Any) -> bool:
        self.attempts += 1
        await trio.sleep(0.3)
        if self.fails:
            raise OSError("no store")
        return await super().replace(task)


def make(store: InMemoryTaskStore, **options: Any) -> MCPServer:
    tasks = TasksExtension({"ask_all": "required"}, store=store)
    mcp = MCPServer("studio", extensions=[tasks], **options)

    @mcp.tool()
    async def ask_all(ctx: Context, seconds: float = 600) -> str:
        """Ask all at once, and wait for so long."""
        answers: list[Any] = []

        async def ask(each: int) -> None:
            answers.append(await ctx.elicit(f"Colour {each}?", Colour))

        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                for each in range(MANY):
                    nursery.start_soon(ask, each)
        await trio.sleep(60)
        return f"{len(answers)} answers"

    return mcp


@both_eras
async def test_questions_that_come_up_together_are_stored_and_answered_without_contention(mode):
    store = SlowStore()
    async with connect(
        make(store), "direct", mode=mode, elicitation_callback=answer_blue
    ) as client:
        result = await client.call_tool("ask_all")
    assert result.content[0].text == f"{MANY} answers"
    # One for all questions, one for each answer at most, twice if it is dropped by itself.
    assert store.attempts <= 2 * MANY + 3


@both_eras
@pytest.mark.parametrize("fails", [False, True])
async def test_questions_that_are_given_up_together_are_withdrawn_by_one_change(
    mode, fails, caplog
):
    store = SlowStore()
    options = {"mode": mode, "elicitation_callback": answer_blue}
    async with connect(make(store), "direct", **options) as client:
        task = await start(client, "ask_all", {"seconds": 10})

        async def asked() -> int:
            kept = await store.get(task.task_id)
            return len(kept.input_requests)

        await trio.sleep(5)
        assert (await asked(), store.attempts) == (MANY, 1)
        store.fails = fails
        await trio.sleep(10)
        assert (await asked(), store.attempts) == (MANY if fails else 0, 2)
        assert (await task.get()).status == ("input_required" if fails else "working")
    assert caplog.text.count("could not be withdrawn") == fails


@both_eras
async def test_nothing_is_remembered_of_changes_that_are_made(mode):
    store, runs = SlowStore(), []

    async def note(ctx: Any, call_next: Any) -> Any:
        runs.append(ctx.lifespan_states.get(TASKS))
        return await call_next(ctx)

    mcp = make(store, middleware=[note])
    options = {"mode": mode, "elicitation_callback": answer_blue}
    async with connect(mcp, "direct", **options) as client:
        await client.call_tool("ask_all")
        await settle(lambda: not runs[-1]._changing)
