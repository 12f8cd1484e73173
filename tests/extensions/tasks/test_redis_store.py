"""Tasks in a real Redis: what several processes share is here two servers."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from trio_mcp.extensions import RedisTaskStore, Task
from trio_mcp.types import SERVER_BUSY, ElicitResult

from ._stores import stored
from ._studio import answer_blue, connect, error_of, settle, start, studio, until


@asynccontextmanager
async def two_servers(url, **options):
    """Serve one client from each of two servers that share their tasks."""
    here, there = (studio(store=RedisTaskStore(url), patience=0, **options) for _ in range(2))
    async with (
        connect(here.mcp, "direct", elicitation_callback=answer_blue) as one,
        connect(there.mcp, "direct", elicitation_callback=answer_blue) as other,
    ):
        yield here, one, other


async def test_another_process_knows_the_task_and_its_result(redis_server):
    async with two_servers(redis_server.url, poll_interval=0.05) as (_, one, other):
        task = await start(one, "paint", {"seconds": 0.2})
        result = await Task(other, task.task_id).wait()
        assert result.content[0].text == "painted for 0.2 s"


async def test_a_task_is_cancelled_by_another_process(redis_server):
    async with two_servers(redis_server.url) as (here, one, other):
        task = await start(one, "paint", {"seconds": 3_600})
        await Task(other, task.task_id).cancel()
        assert (await task.get()).status == "cancelled"
        await settle(lambda: here.seen)
        assert here.seen == ["the client cancelled the task"]


async def test_a_question_is_answered_by_another_process(redis_server):
    async with two_servers(redis_server.url) as (_, one, other):
        task = await start(one, "ask")
        elsewhere = Task(other, task.task_id)
        [key] = (await until(elsewhere.get, "input_required")).input_requests
        await elsewhere.update({key: ElicitResult(action="accept", content={"name": "red"})})
        assert (await elsewhere.get()).input_requests is None
        done = await until(task.get, "completed")
        assert done.result["content"][0]["text"] == "accept red"


async def test_what_happened_while_redis_was_out_of_reach_is_found_out(redis_server):
    store = RedisTaskStore(redis_server.url)
    told = []
    async with store.open():
        store.subscribe(told.append)
        redis_server.kill()
        redis_server.start()
        await settle(lambda: None in told)


@pytest.mark.req("R-672")
async def test_only_the_next_version_takes_the_place_of_a_task(redis_server):
    store = RedisTaskStore(redis_server.url)
    told = []
    async with store.open():
        stop = store.subscribe(told.append)
        task = stored("a", input_requests={"k": {"method": "roots/list"}}, result={"ü": [None]})
        await store.create(task)
        assert await store.get("a") == task
        one, other = task.changed(1.0, status_message="one"), task.changed(2.0)
        assert await store.replace(one)
        assert not await store.replace(other)
        assert await store.get("a") == one
        await store.delete("a")
        assert not await store.replace(one.changed(3.0))
        assert await store.get("a") is None
        await settle(lambda: len(told) == 3)
        assert told == ["a", "a", "a"]
        stop()
        assert await store.get("unknown") is None


async def test_a_task_expires_by_itself_and_its_key_says_nothing_of_it(redis_server):
    store = RedisTaskStore(redis_server.url, prefix="here")
    async with store.open():
        await store.create(stored("secret-id", ttl=3_600))
        await store.replace(stored("secret-id", ttl=3_600, version=1))
        keys = redis_server.ask("KEYS", "*").split()
        [key] = [each for each in keys if b"here:task:" in each]
        assert not [each for each in keys if b"secret-id" in each]
        left = int(redis_server.ask("PTTL", key).strip(b":\r\n"))
        assert 0 < left <= 3_600_000


async def test_one_principal_cannot_take_all_the_room(redis_server):
    store = RedisTaskStore(redis_server.url, max_tasks_per_owner=2)
    async with store.open():
        await store.create(stored("ada-0", owner="ada"))
        await store.create(stored("ada-1", owner="ada"))
        refused = await error_of(store.create(stored("ada-2", owner="ada")))
        assert refused.code == SERVER_BUSY
        assert await store.get("ada-2") is None
        await store.create(stored("bob", owner="bob"))


async def test_a_server_without_redis_does_not_start(tmp_path):
    made = studio(store=RedisTaskStore(f"unix://{tmp_path}/nothing"))
    with pytest.raises(ConnectionError):
        async with connect(made.mcp, "direct"):
            pass


async def test_a_store_that_is_not_open_says_so(redis_server):
    store = RedisTaskStore(redis_server.url)
    with pytest.raises(RuntimeError, match="not open"):
        await store.get("a")
    assert redis_server.url not in repr(RedisTaskStore("redis://user:secret@localhost/0"))
    assert "secret" not in repr(RedisTaskStore("redis://user:secret@localhost/0"))


@pytest.mark.parametrize(
    "options",
    [{"url": 7}, {"prefix": 7}, {"max_tasks_per_owner": 0}, {"max_tasks_of_nobody": 0}],
    ids=str,
)
def test_an_option_that_cannot_be_is_refused(options):
    with pytest.raises((TypeError, ValueError)):
        RedisTaskStore(**{"url": "redis://localhost/0", **options})
