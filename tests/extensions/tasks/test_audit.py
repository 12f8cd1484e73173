"""What is logged of the life of a task, and for whom it can be told."""

from __future__ import annotations

import logging
import random
import re
from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp.extensions import InMemoryTaskStore, TooManyTasks
from trio_mcp.extensions.tasks._run import TaskTimes, open_run

from ._studio import connect, settle, start, studio

KNOWN, UNKNOWN = "an authenticated client", "a client that nobody authenticated"


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


@pytest.fixture
def said(caplog):
    """What was logged so far."""
    caplog.set_level(logging.DEBUG, logger="trio_mcp.extensions.tasks")
    return lambda: [each for each in caplog.messages if "ask" in each]


class NoWork:
    def wake(self):
        pass

    def stop(self, reason):
        pass


@asynccontextmanager
async def running(store=None):
    times = TaskTimes(ttl=60, poll_interval=1, patience=0, clock=trio.current_time)
    store = InMemoryTaskStore() if store is None else store
    async with open_run(store, times, max_running=1) as run:
        yield run


async def keep(run, owner):
    task = run.new_task(owner)
    await run.keep(task, NoWork())
    return task.task_id


@pytest.mark.req("R-658")
@pytest.mark.parametrize(("owner", "whose"), [("ada", KNOWN), (None, UNKNOWN)])
async def test_each_step_in_the_life_of_a_task_is_logged(said, owner, whose):
    async with running() as run:
        done, failed, cancelled = [await keep(run, owner) for _ in range(3)]
        await run.end(done, "completed", result={})
        await run.end(failed, "failed", error={})
        await run.cancel(cancelled)
        # What is over is not over twice, and a task that is gone has no end.
        await run.cancel(done)
        await run.end("gone-before", "completed")
        await trio.sleep(61)
    begun = [f"The task {each[:6]}… of {whose} has begun" for each in (done, failed, cancelled)]
    assert said()[:7] == [
        *begun,
        f"The task {done[:6]}… is over: completed",
        f"The task {failed[:6]}… is over: failed",
        f"The task {cancelled[:6]}… is over: cancelled by {whose}",
        "The task gone-b… is gone, and was to be completed",
    ]
    assert sorted(said()[7:]) == sorted(
        f"The task {each[:6]}… has expired, and is deleted" for each in (done, failed, cancelled)
    )
    for each in (done, failed, cancelled):
        assert each not in str(said())


@pytest.mark.req("R-658")
async def test_refusals_are_logged(said):
    async with running(InMemoryTaskStore(max_tasks=1)) as run:
        await keep(run, "ada")
        with pytest.raises(TooManyTasks):
            await keep(run, "bob")
        run.begin(trio.sleep_forever, None, name="work")
        with pytest.raises(TooManyTasks):
            run.begin(trio.sleep_forever, None, name="work")
    assert said()[1:] == [
        f"A task of {KNOWN} was refused: the store is full",
        "A task was refused: 1 are running",
    ]


@pytest.mark.req("R-658")
async def test_what_a_client_does_is_logged(said):
    made = studio()
    async with connect(made.mcp, "direct") as client:
        task = await start(client, "paint", {"seconds": 60})
        await task.cancel()
        await settle(lambda: made.seen)
    assert said() == [
        f"The task {task.task_id[:6]}… of {UNKNOWN} has begun",
        f"The task {task.task_id[:6]}… is over: cancelled by {UNKNOWN}",
    ]


@pytest.mark.req("R-653")
async def test_ids_come_from_the_system_and_have_192_bits():
    ids = []
    async with running() as run:
        for _ in range(100):
            # An order that can be repeated would repeat them.
            random.seed(7)
            ids.append(run.new_task(None).task_id)
    assert len(set(ids)) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", each) for each in ids)
    # Nothing of one is in another: no counter, no time.
    assert all(len({each[place] for each in ids}) > 16 for place in range(32))
