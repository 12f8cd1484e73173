"""The event store on Redis, with a real one."""

from __future__ import annotations

import hashlib
import re
import signal

import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp.transports import RedisEventStore, _redis
from trio_mcp.transports.http import _redis_event_store as module

from ._events import fill, note, replay


def keys_of(server):
    return re.findall(rb"trio-mcp:\S*stream:\S+", server.ask("KEYS", "*"))


@pytest.mark.req("R-560", "R-561", "R-563")
async def test_what_came_after_an_event_on_its_stream_is_replayed_in_order(redis_server):
    store = RedisEventStore(redis_server.url)
    other = RedisEventStore(redis_server.url)
    async with store.open(), other.open():
        primed = await store.store_event("a", None)
        ids = {"a": [], "b": []}
        for number in range(5):
            for stream, given in ids.items():
                given.append(await store.store_event(stream, note(number)))
        assert len({primed, *ids["a"], *ids["b"]}) == 11
        for each in (store, other):
            assert await replay(each, primed) == ("a", list(zip(ids["a"], range(5), strict=True)))
            assert await replay(each, ids["b"][2]) == ("b", [(ids["b"][3], 3), (ids["b"][4], 4)])
            assert await replay(each, ids["a"][4]) == ("a", [])
            assert [await each.stream_of(name) for name in (primed, *ids["b"])] == ["a", *5 * "b"]


async def test_an_event_that_only_tells_its_id_is_not_replayed(redis_server):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        first = await store.store_event("a", note(0))
        await store.store_event("a", None)
        last = await store.store_event("a", note(1))
        assert await replay(store, first) == ("a", [(last, 1)])


KEY = hashlib.sha256(b"a").hexdigest()[:32]


@pytest.mark.parametrize(
    "event_id",
    [
        "", "x", "1", "1-", "1-1-1", "*", f"{KEY}", f"{KEY}-1", f"{KEY}-1-1", f"{KEY}-0-0",
        f"{KEY}-99999999999999999999-0", f"{KEY}-1-²", f"{KEY}-\u0661-1", f"{KEY}-1-1\n",
        f"{KEY.upper()}-1-1", f"{'0' * 32}-1-1", f"{KEY}-" + "9" * 5000, f"{KEY}-+-1",
    ],
)  # fmt: skip
async def test_an_id_that_was_never_given_has_no_stream(redis_server, event_id):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        await fill(store, "a", 3)
        assert await replay(store, event_id) == (None, [])
        assert await store.stream_of(event_id) is None


async def test_an_id_says_nothing_of_the_stream(redis_server):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        event_id = await store.store_event("0123456789abcdef/1", note(0))
    assert "0123456789" not in event_id
    assert all(b"0123456789" not in key for key in keys_of(redis_server))


async def test_a_stream_keeps_its_newest_events_and_does_not_resume_over_a_gap(redis_server):
    store = RedisEventStore(redis_server.url, max_events_per_stream=3)
    async with store.open():
        ids = await fill(store, "a", 6)
        assert await replay(store, ids[2]) == (None, [])
        assert (await replay(store, ids[3]))[1] == [(ids[4], 4), (ids[5], 5)]


async def test_the_size_of_a_stream_is_bounded(redis_server):
    store = RedisEventStore(redis_server.url, max_bytes_per_stream=50_000)
    async with store.open():
        ids = await fill(store, "a", 20, "x" * 10_000)
        assert await replay(store, ids[15]) == (None, [])
        assert (await replay(store, ids[16]))[1] == [(ids[each], each) for each in (17, 18, 19)]
        assert int(redis_server.ask("MEMORY", "USAGE", keys_of(redis_server)[0])[1:]) < 100_000


async def test_a_stream_is_not_resumed_across_a_message_that_is_too_large(redis_server):
    store = RedisEventStore(redis_server.url, max_bytes_per_stream=10_000)
    async with store.open():
        before = await store.store_event("a", note(0))
        large = await store.store_event("a", note(1, "x" * 10_000))
        after = await store.store_event("a", note(2))
        assert await replay(store, before) == (None, [])
        assert await replay(store, large) == ("a", [(after, 2)])


async def test_a_stream_expires(redis_server):
    store = RedisEventStore(redis_server.url, ttl=1.5, prefix="trio-mcp:mine")
    async with store.open():
        await fill(store, "a", 1)
        (key,) = keys_of(redis_server)
        assert key.startswith(b"trio-mcp:mine:stream:")
        assert 1000 < int(redis_server.ask("PTTL", key)[1:]) <= 1500
        redis_server.ask("PEXPIRE", key, "5")
        await fill(store, "a", 1)
        assert 1000 < int(redis_server.ask("PTTL", key)[1:]) <= 1500


# Sessions


def everything(server):
    return re.findall(rb"trio-mcp:(?!process)\S+", server.ask("KEYS", "*"))


async def test_a_session_that_takes_much_pushes_out_its_own(redis_server):
    store = RedisEventStore(redis_server.url, max_bytes_per_session=50_000)
    async with store.open():
        other = await fill(store, "other/1", 3, "x" * 10_000)
        ids = {n: (await fill(store, f"much/{n}", 2, "x" * 1_000))[0] for n in range(100)}
        again = await store.store_event("much/85", note(2))
        late = (await fill(store, "much/late", 8, "x" * 1_000))[0]
        assert (await replay(store, other[0]))[1] == [(other[1], 1), (other[2], 2)]
        assert await replay(store, ids[60]) == (None, [])
        assert (await replay(store, ids[99]))[0] == "much/99"
        assert (await replay(store, late))[0] == "much/late"
        # Who was written last, and not who began last.
        assert (await replay(store, ids[85]))[1][-1] == (again, 2)
        sizes = [
            int(redis_server.ask("MEMORY", "USAGE", each)[1:]) for each in keys_of(redis_server)
        ]
        assert sum(sizes) < 150_000


async def test_a_session_has_no_more_streams_than_it_may(redis_server):
    store = RedisEventStore(redis_server.url, max_streams_per_session=8)
    async with store.open():
        ids = [(await fill(store, f"many/{number}", 1))[0] for number in range(30)]
        assert len(keys_of(redis_server)) in {7, 8}
        assert [(await replay(store, each))[0] for each in ids[-7:]] == [
            f"many/{number}" for number in range(23, 30)
        ]


async def test_one_stream_of_a_session_takes_no_more_than_all(redis_server):
    store = RedisEventStore(redis_server.url, max_bytes_per_session=50_000)
    async with store.open():
        ids = await fill(store, "a/1", 20, "x" * 10_000)
        assert await replay(store, ids[15]) == (None, [])
        assert (await replay(store, ids[16]))[1] == [(ids[each], each) for each in (17, 18, 19)]


async def test_nothing_is_kept_of_a_session_that_has_ended(redis_server):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        stays = await fill(store, "stays/1", 2)
        for number in range(3):
            await fill(store, f"ends/{number}", 2)
        await store.end_session("ends")
        assert await store.has_ended("ends")
        assert (await replay(store, stays[0]))[0] == "stays/1"
        assert len(keys_of(redis_server)) == 1
        # That it has ended is known for a while; what it was answered is not.
        kinds = sorted(each.split(b":")[1] for each in everything(redis_server))
        assert kinds == [b"ended", b"session", b"stream"]
        await store.end_session("never was")
        assert await store.has_ended("never was")


async def test_all_of_a_session_expires(redis_server):
    store = RedisEventStore(redis_server.url, ttl=1.5)
    async with store.open():
        await fill(store, "a/1", 2)
        for each in everything(redis_server):
            assert 1000 < int(redis_server.ask("PTTL", each)[1:]) <= 1500


@pytest.mark.parametrize("count", [1, module.PAGE - 1, module.PAGE, 3 * module.PAGE + 1])
async def test_much_is_read_in_pages(redis_server, count):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        ids = await fill(store, "a", count)
        expected = [(each, number) for number, each in enumerate(ids)][1:]
        assert await replay(store, ids[0]) == ("a", expected)


@pytest.mark.parametrize(
    "spoil",
    [
        ("XADD", "*", "s", "a", "m", "not JSON"),
        ("XADD", "*", "s", "a", "m", "[]"),
    ],
)
async def test_what_somebody_else_has_written_is_not_sent(redis_server, spoil):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        first, _ = await fill(store, "a", 2)
        (key,) = keys_of(redis_server)
        redis_server.ask(spoil[0], key, *spoil[1:])
        assert await replay(store, first) == (None, [])


# A Redis that is away, or silent


async def wait_lost(store):
    assert len(store._links) == 1
    link = store._links.here()
    while link._is_connected:
        await trio.testing.wait_all_tasks_blocked()


async def test_while_redis_is_away_nothing_is_kept_and_nobody_waits_for_long(redis_server):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        first = await store.store_event("a", note(0))
        redis_server.kill()
        began = trio.current_time()
        for number in range(100):
            with pytest.raises(ConnectionError, match=r"Redis at unix://"):
                await store.store_event("a", note(number))
        assert trio.current_time() - began < _redis.ANSWER_TIMEOUT - 1
        with pytest.raises(ConnectionError):
            await replay(store, first)
        redis_server.start()
        await wait_kept(store, "a")
        assert await replay(store, first) == (None, [])


async def wait_kept(store, stream):
    with trio.fail_after(8):
        while True:
            try:
                return await store.store_event(stream, note(99))
            except ConnectionError:
                await trio.sleep(0.05)


async def test_a_short_break_is_waited_for(redis_server):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        await store.store_event("a", note(0))
        redis_server.ask("CLIENT", "KILL", "TYPE", "normal")
        await wait_lost(store)
        assert await store.store_event("a", note(1))


@pytest.mark.parametrize("kept", [True, False])
async def test_a_stream_that_lost_a_message_is_not_resumed_across_it(redis_server, kept):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        first = await store.store_event("a", note(0))
        link = store._links.here()

        async def fail(command, *args):
            if kept:
                await link.ask(command, *args)
            raise ConnectionError("nobody heard the answer")

        store._links.here = lambda: Broken(fail)
        with pytest.raises(ConnectionError):
            await store.store_event("a", note(1))
        del store._links.here
        last = await store.store_event("a", note(2))
        stream, found = await replay(store, first)
        if kept:
            assert stream == "a"
            assert [number for _, number in found] == [1, 2]
        else:
            assert stream is None
        assert await replay(store, last) == ("a", [])
        assert not store._doubts


class Broken:
    def __init__(self, ask) -> None:
        self.ask = ask


@pytest.mark.parametrize("kept", [True, False])
async def test_what_was_cancelled_and_comes_again_is_kept_once(redis_server, kept):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        first = await store.store_event("a", note(0))
        same = await store.store_event("a", note(1))
        link = store._links.here()

        async def hang(command, *args):
            if kept:
                await link.ask(command, *args)
            await trio.sleep_forever()

        store._links.here = lambda: Broken(hang)
        with trio.move_on_after(0.05) as scope:
            await store.store_event("a", note(1))
        assert scope.cancelled_caught
        del store._links.here
        again = await store.store_event("a", note(1))
        last = await store.store_event("a", note(2))
        assert await replay(store, first) == ("a", [(same, 1), (again, 1), (last, 2)])


async def test_doubts_are_bounded(redis_server, monkeypatch):
    monkeypatch.setattr(module, "MAX_DOUBTS", 10)
    store = RedisEventStore(redis_server.url)
    async with store.open():
        redis_server.kill()
        for number in range(30):
            with pytest.raises(ConnectionError):
                await store.store_event(f"{number}", note(1))
    assert list(store._doubts) == [str(number) for number in range(20, 30)]


async def test_a_redis_that_is_silent_is_left(redis_server, monkeypatch):
    monkeypatch.setattr(_redis, "ANSWER_TIMEOUT", 0.2)
    store = RedisEventStore(redis_server.url)
    async with store.open():
        await store.store_event("a", note(0))
        redis_server.signal(signal.SIGSTOP)
        with pytest.raises(ConnectionError, match=r"did not answer EVALSHA in 0\.2 s"):
            await store.store_event("a", note(1))
        redis_server.signal(signal.SIGCONT)
        await wait_kept(store, "a")


async def test_nor_does_one_that_is_silent_hold_up_the_end(redis_server, monkeypatch):
    monkeypatch.setattr(module, "GONE_SECONDS", 0.2)
    async with RedisEventStore(redis_server.url).open():
        redis_server.signal(signal.SIGSTOP)
        began = trio.current_time()
    # Less than Redis has to answer anything else.
    assert trio.current_time() - began < _redis.ANSWER_TIMEOUT - 1
    redis_server.signal(signal.SIGCONT)


async def test_what_redis_refuses_is_not_kept(start_redis):
    server = start_redis("--maxmemory", "1")
    store = RedisEventStore(server.url)
    async with store.open():
        with pytest.raises(ConnectionError, match=r"refused EVAL: .*maxmemory"):
            await store.store_event("a", note(0))


@pytest.mark.parametrize("when", range(8))
async def test_keeping_can_be_cancelled_at_any_point(redis_server, when):
    store = RedisEventStore(redis_server.url)
    async with store.open():
        first = await store.store_event("a", note(0))
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def cancel_later():
                    for _ in range(when):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()

                nursery.start_soon(cancel_later)
                await store.store_event("a", note(1))
                await trio.sleep_forever()
        again = await store.store_event("a", note(1))
        stream, found = await replay(store, first)
        assert stream == "a"
        assert found[-1] == (again, 1)
        assert len(found) <= 2


# Its life


async def test_it_may_be_open_several_times_and_in_several_threads(redis_server):
    store = RedisEventStore(redis_server.url)

    async def elsewhere():
        async with store.open():
            return await store.store_event("a", note(1))

    async with store.open():
        async with store.open():
            first = await store.store_event("a", note(0))
        second = await trio.to_thread.run_sync(trio.run, elsewhere)
        assert await replay(store, first) == ("a", [(second, 1)])
    assert not store._links


async def test_a_store_that_is_not_open_keeps_nothing(redis_server):
    store = RedisEventStore(redis_server.url)
    with pytest.raises(RuntimeError, match="not open"):
        await store.store_event("a", None)
    with pytest.raises(RuntimeError, match="not open"):
        await store.replay_events_after("a", None)


async def test_a_server_whose_redis_is_not_there_does_not_start(tmp_path):
    pytest.importorskip("coredis")
    store = RedisEventStore(f"unix://{tmp_path}/none")
    with pytest.raises(ConnectionError, match=r"^Redis at unix://.*/none\?db=0 cannot be reached"):
        async with store.open():
            pass
    assert not store._links


@pytest.mark.parametrize(
    "option",
    [
        "max_events_per_stream",
        "max_bytes_per_stream",
        "max_streams_per_session",
        "max_bytes_per_session",
        "ttl",
    ],
)
def test_bounds_are_positive_numbers(option):
    pytest.importorskip("coredis")
    with pytest.raises(ValueError, match=option):
        RedisEventStore("redis://localhost", **{option: 0})
    with pytest.raises(TypeError, match=option):
        RedisEventStore("redis://localhost", **{option: "1"})


async def test_a_user_that_may_not_say_that_it_lives_is_told_so_in_the_log(redis_server, caplog):
    redis_server.ask("ACL", "SETUSER", "few", "on", ">pw", "+@all", "-set", "allkeys")
    store = RedisEventStore(f"unix://few:pw@{redis_server.path}")
    async with store.open():
        assert await store.store_event("a", note(0))
        with trio.fail_after(SOON):
            while not caplog.messages:  # noqa: ASYNC110 - the log has no event
                await trio.sleep(0.01)
    [told] = caplog.messages
    assert told.startswith("Other processes take this one for dead: Redis at unix://")
    assert "refused SET: " in told
