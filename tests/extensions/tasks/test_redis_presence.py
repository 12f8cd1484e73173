"""Tasks whose process is gone, in a real Redis."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp.extensions import RedisTaskStore, Task
from trio_mcp.extensions.tasks.stores import _redis_presence as module

from ._stores import stored
from ._studio import connect, settle, start, studio

GONE = "The process that worked on it is gone"


def marks_of(server):
    return [
        key for key in server.ask("KEYS", "*:task-process:*").split() if b"task-process" in key
    ]


def lasts(server, mark):
    return int(server.ask("PTTL", mark).strip(b":\r\n"))


@pytest.fixture
def at_once(monkeypatch):
    """Take a process for gone whose mark is not there, without waiting."""
    monkeypatch.setattr(module, "MISSING_SECONDS", 0.0)


async def test_a_task_whose_process_is_gone_has_failed_for_whoever_asks(redis_server, at_once):
    here, there = (RedisTaskStore(redis_server.url) for _ in range(2))
    told = []
    async with there.open():
        there.subscribe(told.append)
        async with here.open():
            await here.create(stored("a", owner="ada"))
            await here.create(stored("b", owner="ada"))
            await here.create(stored("over", owner="ada"))
            over = (await here.get("over")).ended(1.0, "completed", result={})
            assert await here.replace(over)
            assert (await there.get("a")).status == "working"
        failed = await there.get("a")
        assert (failed.status, failed.status_message) == ("failed", GONE)
        assert failed.error == {"code": -32603, "message": GONE}
        listed = (await there.list_tasks("ada")).tasks
        assert [task.status for task in listed] == ["failed", "failed", "completed"]
        assert await there.get("a") == failed
        await settle(lambda: told.count("a") == 2)


WORKER = """
import sys
import trio
from trio_mcp.extensions import RedisTaskStore, StoredTask
from trio_mcp.extensions.tasks.stores import _redis_presence

_redis_presence.MARK_SECONDS = 0.2
_redis_presence.RENEWAL_SECONDS = 0.01

async def main():
    store = RedisTaskStore(sys.argv[1])
    async with store.open():
        times = {"created_at": 0.0, "updated_at": 0.0, "ttl": 60.0, "poll_interval": 1.0}
        await store.create(StoredTask(task_id="a", owner=None, **times))
        print("created", flush=True)
        await trio.sleep_forever()

trio.run(main)
"""


async def test_a_task_of_a_process_that_was_killed_fails(redis_server, at_once):
    store = RedisTaskStore(redis_server.url)
    command = [sys.executable, "-c", WORKER, redis_server.url]
    with trio.fail_after(SOON):
        async with store.open(), trio.open_nursery() as nursery:
            start = partial(trio.run_process, command, stdout=subprocess.PIPE, check=False)
            worker = await nursery.start(start)
            assert (await worker.stdout.receive_some()).startswith(b"created")
            worker.kill()
            while (task := await store.get("a")).status == "working":  # noqa: ASYNC110
                await trio.sleep(0.01)
    assert (task.status, task.status_message) == ("failed", GONE)


async def test_work_that_was_given_up_for_lost_is_stopped(redis_server, at_once):
    here, there = (studio(store=RedisTaskStore(redis_server.url), patience=0) for _ in range(2))
    async with connect(here.mcp, "direct") as one:
        [mark] = marks_of(redis_server)
        async with connect(there.mcp, "direct") as other:
            task = await start(one, "paint", {"seconds": 3_600})
            # As if the process had stood still for as long as the mark lasts.
            redis_server.ask("DEL", mark)
            assert (await task.get()).status == "working", "nobody takes himself for gone"
            assert (await Task(other, task.task_id).get()).status == "failed"
            await settle(lambda: here.seen)
            assert here.seen == ["the task is failed"]
            assert (await task.get()).status_message == GONE


async def test_a_mark_that_is_missing_for_a_moment_costs_no_task(redis_server, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    here, there = (RedisTaskStore(redis_server.url) for _ in range(2))
    async with here.open():
        [mark] = marks_of(redis_server)
        await here.create(stored("a"))
    # From here on the mark is ours to set and to delete.
    async with there.open():

        async def status_after(seconds):
            now[0] += seconds
            return (await there.get("a")).status

        assert await status_after(0) == "working"
        assert await status_after(module.MISSING_SECONDS - 1) == "working"
        redis_server.ask("SET", mark, "")
        assert await status_after(2) == "working"
        redis_server.ask("DEL", mark)
        # What was missing before does not count.
        assert await status_after(module.MISSING_SECONDS) == "working"
        assert await status_after(module.MISSING_SECONDS - 1) == "working"
        # Nor does the time before a connection was lost, when no mark could be renewed.
        redis_server.ask("CLIENT", "KILL", "TYPE", "pubsub")
        await settle(lambda: not there._presence._others)
        assert await status_after(module.MISSING_SECONDS) == "working"
        assert await status_after(module.MISSING_SECONDS) == "failed"


async def test_a_mark_is_set_again_with_a_new_connection(redis_server):
    store = RedisTaskStore(redis_server.url)
    async with store.open():
        [mark] = marks_of(redis_server)
        redis_server.ask("DEL", mark)
        redis_server.ask("CLIENT", "KILL", "TYPE", "pubsub")
        await settle(lambda: marks_of(redis_server) == [mark])


async def test_a_mark_is_renewed_and_goes_with_the_last_block(redis_server, monkeypatch):
    monkeypatch.setattr(module, "RENEWAL_SECONDS", 0.02)
    store = RedisTaskStore(redis_server.url)
    async with store.open():
        [mark] = marks_of(redis_server)
        assert 0 < lasts(redis_server, mark) <= 300_000
        async with store.open():
            redis_server.ask("PEXPIRE", mark, "60000")
            await settle(lambda: lasts(redis_server, mark) > 200_000)
            redis_server.ask("DEL", mark)
            await settle(lambda: marks_of(redis_server) == [mark])
        assert marks_of(redis_server) == [mark]
    assert marks_of(redis_server) == []
    async with store.open():
        assert marks_of(redis_server) != [mark]


async def test_who_waits_is_told_when_a_process_is_gone(redis_server, at_once, monkeypatch):
    monkeypatch.setattr(module, "RENEWAL_SECONDS", 0.02)
    here, there = (RedisTaskStore(redis_server.url) for _ in range(2))
    async with there.open():
        told = []
        there.subscribe(told.append)
        async with here.open():
            await here.create(stored("a"))
            # Somebody knows the task, and waits to hear of it.
            await there.get("a")
            await trio.testing.wait_all_tasks_blocked()
            assert None not in told
        await settle(lambda: None in told)
        assert (await there.get("a")).status == "failed"


async def test_who_was_taken_for_gone_may_come_back_and_go_again(monkeypatch):
    now, told = [0.0], []
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    there = {"other"}

    async def ask(command, mark, *args):
        return mark in there

    presence = module.Presence("here", lambda: told.append(now[0]))
    connection = SimpleNamespace(ask=ask)

    async def look_at(seconds):
        now[0] = seconds
        await presence._look(connection)
        return presence.is_gone("other")

    presence.note("other", is_there=True)
    there.clear()
    assert not await look_at(0.0)
    assert not await look_at(89.0)
    assert await look_at(90.0)
    assert await look_at(10_000.0)
    presence.note("other", is_there=True)
    assert not await look_at(10_001.0)
    assert await look_at(10_100.0)
    assert told == [90.0, 10_100.0]


def test_of_very_many_processes_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MISSING_SECONDS", 0.0)
    presence = module.Presence("here", lambda: None)
    for each in range(module.MAX_PROCESSES + 1):
        presence.note(str(each), is_there=False)
    gone = [each for each in range(module.MAX_PROCESSES + 1) if presence.is_gone(str(each))]
    assert gone == list(range(1, module.MAX_PROCESSES + 1))


async def test_a_redis_that_is_full_keeps_the_marks_that_it_has(start_redis, monkeypatch):
    monkeypatch.setattr(module, "RENEWAL_SECONDS", 0.02)
    server = start_redis()
    store = RedisTaskStore(server.url)
    async with store.open():
        [mark] = marks_of(server)
        await store.create(stored("a"))
        await store.create(stored("c", owner="ada", ttl=0.001))
        server.ask("CONFIG", "SET", "maxmemory", "1")
        for owner in (None, "ada"):
            with pytest.raises(ConnectionError, match="memory"):
                await store.create(stored("b", owner=owner))
        server.ask("PEXPIRE", mark, "60000")
        await settle(lambda: lasts(server, mark) > 200_000)
        # A new connection works, too, though no mark could be set with it.
        server.ask("DEL", mark)
        server.ask("CLIENT", "KILL", "TYPE", "pubsub")
        await settle(lambda: b":1\r\n" in server.ask("PUBSUB", "NUMSUB", "trio-mcp:tasks"))
        assert await store.get("a") is not None
        server.ask("CONFIG", "SET", "maxmemory", "0")
        await settle(lambda: marks_of(server) == [mark])
