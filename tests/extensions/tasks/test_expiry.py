"""Tasks whose time is over are deleted, though a store does not always do it at once."""

from __future__ import annotations

from functools import partial

import pytest
import trio
import trio.testing

from trio_mcp.extensions import InMemoryTaskStore
from trio_mcp.extensions.tasks._expiry import MAX_ATTEMPTS, ROOM
from trio_mcp.extensions.tasks._run import TaskTimes, open_run


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


class Stubborn(InMemoryTaskStore):
    """Does not delete what it is told to, at first.

    Attributes:
      refusals: How often it refuses to.
      hangs: The task with whose deletion it is never done.
      asked: When, and for what, it was asked.

    """

    def __init__(self, refusals=0):
        super().__init__()
        self.refusals = refusals
        self.hangs = None
        self.asked = []

    async def delete(self, task_id):
        self.asked.append((trio.current_time(), task_id))
        if task_id == self.hangs:
            await trio.sleep_forever()
        if self.refusals:
            self.refusals -= 1
            raise ConnectionError("the store is away")
        await super().delete(task_id)


class NoWork:
    def wake(self):
        pass


def run_of(store, ttl=10):
    times = TaskTimes(ttl=ttl, poll_interval=1, patience=0, clock=trio.current_time)
    return open_run(store, times, max_running=10)


async def keep(run, ttl=None):
    task = run.new_task(None, ttl)
    await run.keep(task, NoWork())
    return task.task_id


@pytest.mark.req("R-657")
async def test_a_task_that_could_not_be_deleted_is_deleted_later(caplog):
    store = Stubborn(refusals=5)
    async with run_of(store) as run:
        task_id = await keep(run)
        began = trio.current_time()
        await trio.sleep(100)
        assert await store.get(task_id) is None
        later = [round(when - began) for when, _ in store.asked]
        assert later == [10, 11, 13, 17, 25, 41]
    [told] = [each for each in caplog.records if each.levelname == "ERROR"]
    assert "could not be deleted; it is tried again" in told.getMessage()
    assert task_id not in caplog.text


async def test_a_store_that_never_deletes_is_not_asked_for_ever(caplog):
    store = Stubborn(refusals=10**6)
    async with run_of(store) as run:
        await keep(run)
        await trio.sleep(24 * 3_600)
    assert len(store.asked) == MAX_ATTEMPTS
    assert "could not be deleted, and stays" in caplog.text


async def test_a_deletion_that_hangs_holds_up_no_other():
    store = Stubborn()
    async with run_of(store) as run:
        store.hangs = await keep(run)
        other = await keep(run)
        await trio.sleep(10.5)
        assert await store.get(other) is None
        await trio.sleep(20)
        # The one that hung was asked for again.
        assert [name for _, name in store.asked].count(store.hangs) > 1


async def test_tasks_expire_in_the_order_of_their_own_times():
    store = Stubborn()
    async with run_of(store, ttl=100) as run:
        long, short, shorter = [await keep(run, ttl) for ttl in (None, 20, 5)]
        # No task is kept for longer than the extension says.
        beyond = await keep(run, 1_000)
        await trio.sleep(200)
        assert [name for _, name in store.asked][:2] == [shorter, short]
        assert {name for _, name in store.asked[2:]} == {long, beyond}


async def test_times_of_tasks_that_are_gone_are_forgotten():
    store = InMemoryTaskStore(max_tasks=10)
    async with run_of(store, ttl=10_000) as run:
        waiting = await keep(run)
        for _ in range(5 * ROOM):
            await trio.sleep(1)
            task_id = await keep(run)
            assert await run.end(task_id, "completed", result={})
        await trio.testing.wait_all_tasks_blocked()
        assert len(run.expiry._due) <= 2 * ROOM
        # And none of those that are there.
        await trio.sleep(10_001)
        assert await store.get(waiting) is None
        assert await store.get(task_id) is None
        assert run.expiry._due == []


async def test_a_store_that_cannot_be_asked_loses_no_times(monkeypatch):
    store = Stubborn()
    async with run_of(store, ttl=3_600) as run:
        monkeypatch.setattr(store, "_max_tasks", 2 * ROOM)
        ids = [await keep(run) for _ in range(ROOM)]

        async def refuse(task_id):
            await trio.lowlevel.checkpoint()
            raise ConnectionError("the store is away")

        with monkeypatch.context() as patch:
            patch.setattr(store, "get", refuse)
            ids.append(await keep(run))
            await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(3_601)
        assert {name for _, name in store.asked} == {*ids}


class Uncertain(Stubborn):
    """Keeps a task, and says that it could not."""

    async def create(self, task):
        await super().create(task)
        self.made = task.task_id
        raise ConnectionError("the answer was lost")


@pytest.mark.parametrize("refusals", [0, 3])
async def test_what_may_have_been_kept_all_the_same_is_deleted(refusals):
    store = Uncertain(refusals)
    async with run_of(store) as run:
        with pytest.raises(ConnectionError):
            await keep(run)
        await trio.sleep(60)
        assert await store.get(store.made) is None
        assert len(store.asked) == refusals + 1


class Slow(Uncertain):
    """Is not done with keeping a task when its request is given up."""

    async def create(self, task):
        await InMemoryTaskStore.create(self, task)
        self.made = task.task_id
        await trio.sleep_forever()


async def test_what_was_given_up_with_the_run_is_deleted_before_that_ends():
    store = Slow()
    with trio.CancelScope() as scope:
        # Requests end before the run does.
        async with run_of(store) as run, trio.open_nursery() as requests:
            requests.start_soon(partial(keep, run))
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert await store.get(store.made) is None
