"""How many tasks are kept, and what makes room for more."""

from __future__ import annotations

import logging

import pytest

from trio_mcp.extensions import InMemoryTaskStore
from trio_mcp.types import SERVER_BUSY

from ._stores import in_each_store, open_store
from ._stores import stored as stored_at_once
from ._studio import error_of


def stored(task_id, **more):
    """Make a task some time after those that are over."""
    return stored_at_once(task_id, **{"created_at": 20.0, "updated_at": 20.0, **more})


async def over(store, task_id, now, **more):
    """Keep a task, and end it."""
    task = stored_at_once(task_id, **more)
    await store.create(task)
    assert await store.replace(task.ended(now, "completed", result={}))


async def kept(store, names):
    return [name for name in names if await store.get(name) is not None]


@pytest.mark.req("R-657")
@in_each_store
async def test_a_principal_with_too_many_loses_what_was_over_first(kind, request, caplog):
    caplog.set_level(logging.INFO, logger="trio_mcp.extensions.tasks")
    async with open_store(kind, request, max_tasks_per_owner=3) as store:
        await store.create(stored("running", owner="ada"))
        await over(store, "late", 9.0, owner="ada")
        await over(store, "early", 5.0, owner="ada")
        await over(store, "of bob", 1.0, owner="bob")
        told = []
        store.subscribe(told.append)
        await store.create(stored("new", owner="ada"))
        names = ["running", "late", "early", "of bob", "new"]
        assert await kept(store, names) == ["running", "late", "of bob", "new"]
        await store.create(stored("newer", owner="ada"))
        assert (await error_of(store.create(stored("one more", owner="ada")))).code == SERVER_BUSY
        assert await kept(store, [*names, "newer"]) == ["running", "of bob", "new", "newer"]
        if kind == "memory":
            assert told == ["early", "new", "late", "newer"]
    said = [each for each in caplog.messages if "forgotten" in each]
    assert said == [
        f"The task {each}… was over, and is forgotten for a new one" for each in ("early", "late")
    ]


@pytest.mark.req("R-657")
@in_each_store
async def test_tasks_of_nobody_that_are_over_block_nobody(kind, request):
    limit = {"memory": "max_tasks", "redis": "max_tasks_of_nobody"}[kind]
    async with open_store(kind, request, **{limit: 3}) as store:
        for each in range(3):
            await over(store, f"over-{each}", float(each))
        await store.create(stored("of nobody"))
        await store.create(stored("of ada", owner="ada"))
        left = await kept(store, ["over-0", "over-1", "over-2"])
        assert left == {"memory": ["over-2"], "redis": ["over-1", "over-2"]}[kind]


@pytest.mark.req("R-657")
@in_each_store
async def test_tasks_of_nobody_have_an_end_of_their_number(kind, request):
    limit = {"memory": "max_tasks", "redis": "max_tasks_of_nobody"}[kind]
    async with open_store(kind, request, **{limit: 2}) as store:
        for each in "ab":
            await store.create(stored(each))
        assert (await error_of(store.create(stored("c")))).code == SERVER_BUSY
        await store.delete("a")
        await store.create(stored("c"))


async def test_nobody_takes_the_room_of_a_principal():
    store = InMemoryTaskStore(max_tasks=2)
    for each in range(2):
        await over(store, f"ada-{each}", float(each), owner="ada")
    for owner in (None, "bob"):
        assert (await error_of(store.create(stored("new", owner=owner)))).code == SERVER_BUSY
    await store.create(stored("ada-2", owner="ada"))
    assert await kept(store, ["ada-0", "ada-1", "ada-2"]) == ["ada-1", "ada-2"]


async def test_tasks_of_nobody_go_before_those_of_the_principal_who_needs_room():
    store = InMemoryTaskStore(max_tasks=2)
    await over(store, "of ada", 1.0, owner="ada")
    await over(store, "of nobody", 2.0)
    await store.create(stored("new", owner="ada"))
    assert await kept(store, ["of ada", "of nobody", "new"]) == ["of ada", "new"]


async def test_what_runs_is_forgotten_for_nothing():
    store = InMemoryTaskStore(max_tasks=1)
    await store.create(stored("running"))
    assert (await error_of(store.create(stored("new")))).code == SERVER_BUSY
    assert await kept(store, ["running", "new"]) == ["running"]


async def test_what_has_expired_goes_before_what_is_over():
    store = InMemoryTaskStore(max_tasks=2)
    await store.create(stored("expired", created_at=0.0, ttl=10.0))
    await over(store, "over", 1.0)
    told = []
    store.subscribe(told.append)
    await store.create(stored("new"))
    assert await kept(store, ["expired", "over", "new"]) == ["over", "new"]
    assert told == ["expired", "new"]


async def test_what_redis_itself_has_dropped_makes_room(redis_server, request):
    async with open_store("redis", request, max_tasks_per_owner=2) as store:
        await store.create(stored("a", owner="ada"))
        # As a Redis does that is short of memory.
        [first] = redis_server.ask("KEYS", "*:task:*").split()[2::2]
        await store.create(stored("b", owner="ada"))
        redis_server.ask("DEL", first)
        await store.create(stored("c", owner="ada"))
        assert len((await store.list_tasks("ada")).tasks) == 2


@in_each_store
async def test_who_has_not_had_the_time_to_ask_loses_nothing(kind, request):
    async with open_store(kind, request, max_tasks_per_owner=1) as store:
        await over(store, "a", 18.0, owner="ada")
        # Whoever asks once in a second may ask for the third time at 21.
        for now in (18.0, 20.9):
            error = await error_of(store.create(stored("b", owner="ada", created_at=now)))
            assert error.code == SERVER_BUSY
        await store.create(stored("b", owner="ada", created_at=21.0))
        assert await kept(store, ["a", "b"]) == ["b"]
