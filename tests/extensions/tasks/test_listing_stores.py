"""The tasks of one owner, page by page, in each store."""

from __future__ import annotations

import re

import pytest

from trio_mcp.extensions import InMemoryTaskStore, ListingTaskStore, RedisTaskStore, TaskPage

from ._stores import in_each_store, open_store, stored


async def ids_of(store, owner, *, limit=100):
    """Go through all pages."""
    found, position = [], None
    while True:
        page = await store.list_tasks(owner, position=position, limit=limit)
        assert len(page.tasks) <= limit
        found += [task.task_id for task in page.tasks]
        position = page.position
        if position is None:
            return found


@pytest.mark.req("R-652")
@in_each_store
async def test_tasks_of_one_owner_are_listed_in_the_order_of_their_creation(kind, request):
    async with open_store(kind, request) as store:
        assert isinstance(store, ListingTaskStore)
        assert await store.list_tasks("ada") == TaskPage([])
        # What is kept for longest comes first, so that the order is not that of the ends.
        made = [stored(f"ada-{each}", owner="ada", ttl=600.0 - each) for each in range(3)]
        for each in made:
            await store.create(each)
            await store.create(stored(f"bob of {each.task_id}", owner="bob"))
            await store.create(stored(f"nobody of {each.task_id}"))
        changed = made[0].changed(1.0, status_message="changed")
        assert await store.replace(changed)
        assert await store.list_tasks("ada") == TaskPage([changed, *made[1:]])
        assert len((await store.list_tasks("bob")).tasks) == 3


@pytest.mark.req("R-635", "R-636")
@in_each_store
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
async def test_pages_give_each_task_once_and_say_whether_there_are_more(kind, request, limit):
    async with open_store(kind, request) as store:
        names = [f"task-{each}" for each in range(5)]
        for each in names:
            await store.create(stored(each, owner="ada"))
        assert await ids_of(store, "ada", limit=limit) == names


@in_each_store
async def test_what_happens_between_two_pages_hides_no_other_task(kind, request):
    async with open_store(kind, request) as store:
        for each in "abcd":
            await store.create(stored(each, owner="ada"))
        first = await store.list_tasks("ada", limit=2)
        assert [task.task_id for task in first.tasks] == ["a", "b"]
        # The last of the page is gone, and so is one behind it; one more is made.
        for each in "bc":
            await store.delete(each)
        await store.create(stored("e", owner="ada"))
        rest = await store.list_tasks("ada", position=first.position)
        assert [task.task_id for task in rest.tasks] == ["d", "e"]
        assert rest.position is None
        for each in "ade":
            await store.delete(each)
        assert await store.list_tasks("ada", position=first.position) == TaskPage([])


@in_each_store
@pytest.mark.parametrize("position", ["", "x", "-1", "+1", "1.5", "²", "9" * 17, "inf", "(1"])
async def test_a_position_that_no_page_has_is_refused(kind, request, position):
    async with open_store(kind, request) as store:
        with pytest.raises(ValueError, match="position: expected that of a page of tasks"):
            await store.list_tasks("ada", position=position)


@in_each_store
@pytest.mark.parametrize("limit", [0, -1, 1.5, True, None], ids=str)
async def test_a_limit_that_is_none_is_refused(kind, request, limit):
    async with open_store(kind, request) as store:
        with pytest.raises((TypeError, ValueError), match="limit"):
            await store.list_tasks("ada", limit=limit)


@in_each_store
async def test_deleted_tasks_make_room_for_others_of_their_owner(kind, request):
    async with open_store(kind, request, max_tasks_per_owner=1) as store:
        for each in "abc":
            await store.create(stored(each, owner="ada"))
            await store.delete(each)
        await store.create(stored("d", owner="ada"))
        assert await ids_of(store, "ada") == ["d"]


async def test_a_position_outlives_a_store_in_memory():
    before, after = InMemoryTaskStore(), InMemoryTaskStore()
    for each in range(3):
        await before.create(stored(str(each), owner="ada", created_at=1e9))
        await after.create(stored(str(each), owner="ada", created_at=1e9 + 60))
    page = await before.list_tasks("ada", limit=2)
    assert len((await after.list_tasks("ada", position=page.position)).tasks) == 3


async def test_keys_of_a_short_task_do_not_take_those_of_a_long_one_along(redis_server):
    store = RedisTaskStore(redis_server.url, prefix="here")
    async with store.open():
        await store.create(stored("long", owner="ada", ttl=3_600.0))
        await store.create(stored("short", owner="ada", ttl=1.0))
        keys = [key for key in redis_server.ask("KEYS", "*").split() if b"tasks-of" in key]
        assert len(keys) == 2
        for key in keys:
            assert int(redis_server.ask("PTTL", key).strip(b":\r\n")) > 60_000


async def test_what_has_expired_in_redis_is_listed_no_more(redis_server):
    store = RedisTaskStore(redis_server.url, prefix="here")
    async with store.open():
        for each in "abc":
            await store.create(stored(each, owner="ada", ttl=3_600.0))
        # As if the time of one were over, and the key of another were gone before its set.
        keys = redis_server.ask("KEYS", "*").split()
        [ends] = [key for key in keys if re.search(rb"tasks-of:\w+$", key)]
        names = redis_server.ask("ZRANGE", ends + b":order", "0", "-1").split()[2::2]
        redis_server.ask("ZADD", ends, "1", names[0])
        redis_server.ask("DEL", names[1])
        page = await store.list_tasks("ada", limit=1)
        assert page.tasks == []
        assert page.position is not None
        assert await ids_of(store, "ada") == ["c"]
        for key in (ends, ends + b":order"):
            assert redis_server.ask("ZCARD", key) == b":1\r\n"


async def test_two_processes_list_the_same_tasks(redis_server):
    here, there = (RedisTaskStore(redis_server.url) for _ in range(2))
    async with here.open(), there.open():
        for each in range(4):
            await (here, there)[each % 2].create(stored(str(each), owner="ada"))
        first = await here.list_tasks("ada", limit=2)
        rest = await there.list_tasks("ada", position=first.position)
        assert [task.task_id for task in (*first.tasks, *rest.tasks)] == ["0", "1", "2", "3"]
