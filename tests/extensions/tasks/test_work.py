"""What becomes of the work when its task ends in another way than by it."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPError, MCPServer
from trio_mcp.extensions import InMemoryTaskStore, Task, TasksClientExtension, TasksExtension
from trio_mcp.mcpserver import Extension
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


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("ending", ["tasks/cancel", "ttl"])
async def test_a_tool_that_fails_while_its_task_is_cancelled_harms_nothing_else(
    mode, ending, caplog
):
    tasks = TasksExtension({"break_late": "required"}, ttl=10)
    mcp = MCPServer("studio", extensions=[tasks])

    @mcp.tool()
    async def break_late() -> str:
        """Have two parts, one of which fails when it is to clean up."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("while being cancelled")

    async with connect(mcp, "direct", mode=mode, raise_exceptions=False) as client:
        created = await client.call_tool("break_late", allow_claimed=True)
        await trio.testing.wait_all_tasks_blocked()
        if ending == "ttl":
            await trio.sleep(11)
        else:
            await Task(client, created).cancel()
            await trio.testing.wait_all_tasks_blocked()
            assert (await Task(client, created).get()).status == "cancelled"
        assert [each.name for each in (await client.list_tools()).tools] == ["break_late"]
    assert "while being cancelled" in caplog.text


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
async def test_questions_of_a_result_that_are_none_fail_their_task_alone(mode):
    class Wrong(Extension):
        """Has another tool's results be questions that nobody can read."""

        identifier = "com.example/wrong"

        async def intercept_tool_call(self, params, ctx, call_next):
            await trio.sleep(1)
            return {"resultType": "input_required", "inputRequests": {"it": {"method": "none"}}}

    mcp = MCPServer("studio", extensions=[TasksExtension({"paint": "optional"}), Wrong()])

    @mcp.tool()
    async def paint() -> str:
        """Never be reached."""
        return "painted"

    async with connect(mcp, "direct", mode=mode, raise_exceptions=False) as client:
        created = await client.call_tool("paint", allow_claimed=True)
        result = await Task(client, created).wait()
        assert (result.is_error, result.content[0].text) == (True, "Error executing tool paint")
        assert (await client.list_tools()).tools


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("tasks/cancel", "the client cancelled the task"),
        ("ttl", "the time of the task is over"),
        ("deletion", "the task was deleted"),
        ("stop", "the server was stopped"),
    ],
)
async def test_a_shielded_question_does_not_outlive_its_task(mode, ending, reason):
    store, errors = InMemoryTaskStore(), []
    tasks = TasksExtension({"insist": "required"}, ttl=10, store=store)
    mcp = MCPServer("studio", extensions=[tasks])

    @mcp.tool()
    async def insist(ctx: Context) -> str:
        """Ask, come what may, and ask again."""
        with trio.CancelScope(shield=True):
            for _ in range(2):
                try:
                    await ctx.elicit("Which colour?", Colour)
                except MCPError as exc:
                    errors.append(exc.message)
        return "asked"

    async def never(context, params):
        raise AssertionError("nobody is asked")

    options = {"mode": mode, "elicitation_callback": never}
    with trio.fail_after(15):
        async with connect(mcp, "direct", **options) as client:
            created = await client.call_tool("insist", allow_claimed=True)
            await trio.testing.wait_all_tasks_blocked()
            if ending == "tasks/cancel":
                await Task(client, created).cancel()
            elif ending == "deletion":
                await store.delete(created.task_id)
            elif ending == "ttl":
                await trio.sleep(11)
            if ending != "stop":
                await settle(lambda: len(errors) == 2)
    assert errors == [f"Nobody can be asked: {reason}"] * 2
    kept = {each.status for each in store._tasks.values()}
    assert kept <= {{"tasks/cancel": "cancelled", "stop": "failed"}.get(ending)}
