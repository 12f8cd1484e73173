"""The event store in memory."""

from __future__ import annotations

import pytest

from trio_mcp.transports.http._event_store import EventStore, InMemoryEventStore
from trio_mcp.transports.http._keeping import MAX_AT_ONCE, read_missed

from ._events import fill, note, replay


@pytest.mark.req("R-560", "R-561", "R-563")
async def test_what_came_after_an_event_on_its_stream_is_replayed_in_order():
    store = InMemoryEventStore()
    primed = await store.store_event("a", None)
    ids = {"a": [], "b": []}
    for number in range(5):
        for stream, given in ids.items():
            given.append(await store.store_event(stream, note(number)))
    assert len({primed, *ids["a"], *ids["b"]}) == 11
    assert await replay(store, primed) == ("a", list(zip(ids["a"], range(5), strict=True)))
    assert await replay(store, ids["b"][2]) == ("b", [(ids["b"][3], 3), (ids["b"][4], 4)])
    assert await replay(store, ids["a"][4]) == ("a", [])
    assert [await store.stream_of(each) for each in (primed, *ids["b"])] == ["a", *5 * "b"]


async def test_an_event_that_only_tells_its_id_is_not_replayed():
    store = InMemoryEventStore()
    first = await store.store_event("a", note(0))
    await store.store_event("a", None)
    last = await store.store_event("a", note(1))
    assert await replay(store, first) == ("a", [(last, 1)])


@pytest.mark.parametrize(
    "event_id",
    ["", "x", "1", "1-", "-1", "1-99", "99-1", "1-1-1", "²-1", "1-٣", "1-" + "9" * 5000],
)
async def test_an_id_that_was_never_given_has_no_stream(event_id):
    store = InMemoryEventStore()
    await fill(store, "a", 3)
    assert await replay(store, event_id) == (None, [])
    assert await store.stream_of(event_id) is None


@pytest.mark.parametrize("knows", [False, True])
async def test_no_more_is_read_of_a_stream_than_is_sent_at_once(knows):
    class Counting(InMemoryEventStore):
        given = 0

        async def replay_events_after(self, last_event_id, send_callback):
            async def count(event):
                self.given += 1
                await send_callback(event)

            return await super().replay_events_after(last_event_id, count)

        async def stream_of(self, event_id):
            if not knows:
                return await EventStore.stream_of(self, event_id)
            return await super().stream_of(event_id)

    store = Counting()
    ids = await fill(store, "a", 1_000)
    missed = await read_missed(store, ids[0])
    assert missed is not None
    assert missed.stream_id == "a"
    assert [event_id for _, event_id in missed.events] == ids[1 : MAX_AT_ONCE + 1]
    assert not missed.is_all
    # A store that does not know its streams gives all of it, as far as its interface says.
    assert store.given == (MAX_AT_ONCE + 1 if knows else 999)
    # What is left is no more than that.
    rest = await read_missed(store, ids[-3])
    assert rest is not None
    assert rest.is_all
    assert [event_id for _, event_id in rest.events] == ids[-2:]


async def test_a_stream_keeps_its_newest_events_and_does_not_resume_over_a_gap():
    store = InMemoryEventStore(max_events_per_stream=3)
    ids = await fill(store, "a", 6)
    assert len(store) == 3
    assert await replay(store, ids[1]) == (None, [])
    assert (await replay(store, ids[2]))[1] == [(ids[3], 3), (ids[4], 4), (ids[5], 5)]


async def test_streams_written_longest_ago_are_forgotten():
    store = InMemoryEventStore(max_streams=2)
    ids = {stream: await fill(store, stream, 1) for stream in "ab"}
    await store.store_event("a", note(1))
    await fill(store, "c", 1)
    assert (await replay(store, ids["b"][0]))[0] is None
    assert (await replay(store, ids["a"][0]))[0] == "a"


async def test_the_size_of_all_messages_is_bounded():
    store = InMemoryEventStore(max_bytes=100_000)
    for number in range(100):
        await fill(store, f"stream {number}", 3, "x" * 10_000)
    assert store._size <= 100_000
    assert len(store) == 9
    assert store._size == sum(each.size for each in store._by_key.values())
    assert store._size == sum(each.size for each in store._sessions.values())


async def test_one_stream_keeps_what_was_written_last_within_the_bound():
    store = InMemoryEventStore(max_bytes=100_000)
    ids = await fill(store, "a", 20, "x" * 10_000)
    assert store._size <= 100_000
    assert len(store) == 9
    assert await replay(store, ids[9]) == (None, [])
    assert (await replay(store, ids[10]))[1] == [(ids[n], n) for n in range(11, 20)]


async def test_a_message_that_is_too_large_is_not_kept_and_pushes_out_nobody():
    store = InMemoryEventStore(max_bytes=100_000)
    others = await fill(store, "a/1", 2, "x" * 10_000)
    before, large = await fill(store, "b/1", 1), await fill(store, "b/1", 1, "x" * 200_000)
    after = await store.store_event("b/1", note(7))
    assert (await replay(store, others[0]))[1] == [(others[1], 1)]
    # The stream is not resumed over the gap, and goes on behind it.
    assert await replay(store, before[0]) == (None, [])
    assert await replay(store, large[0]) == ("b/1", [(after, 7)])


@pytest.mark.parametrize(
    ("bounds", "size"), [({"max_streams": 50}, 10), ({"max_bytes": 100_000}, 5_000)]
)
async def test_a_session_that_takes_much_pushes_out_its_own(bounds, size):
    store = InMemoryEventStore(**bounds)
    kept = {f"{name}/1": await fill(store, f"{name}/1", 2) for name in ("a", "b")}
    for number in range(300):
        last = await fill(store, f"greedy/{number}", 1, "x" * size)
    for stream, ids in kept.items():
        assert await replay(store, ids[0]) == (stream, [(ids[1], 1)])
    assert (await replay(store, last[0]))[0] == "greedy/299"
    assert len(store) < 60


@pytest.mark.case("C043")
async def test_nothing_is_kept_of_a_session_that_has_ended():
    store = InMemoryEventStore()
    ids = {stream: await fill(store, stream, 3) for stream in ("a/1", "a/2", "b/1", "ab/1")}
    await store.end_session("a")
    await store.end_session("unknown")
    for stream, given in ids.items():
        found, missed = await replay(store, given[0])
        assert (found, len(missed)) == ((None, 0) if stream[:2] == "a/" else (stream, 2))
    for each in ("b", "ab"):
        await store.end_session(each)
    assert len(store) == store._size == 0
    assert not store._by_key
    assert not store._sessions


@pytest.mark.parametrize("option", ["max_events_per_stream", "max_streams", "max_bytes"])
def test_bounds_are_whole_and_positive(option):
    with pytest.raises(ValueError, match=option):
        InMemoryEventStore(**{option: 0})
    with pytest.raises(TypeError, match=option):
        InMemoryEventStore(**{option: 1.5})
