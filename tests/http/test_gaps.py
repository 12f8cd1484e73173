"""Streams of older sessions of which something is lost, or given up, or much: what resuming gives."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer, Server
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._event_store import EventStore, InMemoryEventStore
from trio_mcp.transports.http._keeping import MAX_AT_ONCE, PAUSE_SECONDS, STORE_SECONDS
from trio_mcp.transports.http._options import HttpOptions
from trio_mcp.types import CallToolResult

from ._asgi import open_session

TOKEN = {"progressToken": "t"}


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


class Troubled(InMemoryEventStore):
    """Does not keep some messages, which it says by raising or not at all."""

    def __init__(self):
        super().__init__()
        self.fails_at = set()
        self.hangs_at = set()

    async def store_event(self, stream_id, message):
        progress = (getattr(message, "params", None) or {}).get("progress")
        if hasattr(message, "result"):
            progress = "answer"
        if progress in self.hangs_at:
            self.hangs_at.discard(progress)
            await trio.sleep(2 * STORE_SECONDS)
        if progress in self.fails_at:
            raise OSError("the store is away")
        return await super().store_event(stream_id, message)


async def steps(ctx: Context, pauses: list[float]) -> str:
    for number, pause in enumerate(pauses, 1):
        await ctx.report_progress(number)
        await trio.sleep(pause)
    return "done"


def make_app(store: EventStore) -> HttpApp:
    mcp = MCPServer("tests")
    mcp.add_tool(steps)
    return HttpApp(mcp, HttpOptions(event_store=store))


def numbers(messages):
    return [each["params"]["progress"] if "params" in each else "answer" for each in messages]


async def take_until(stream, progress):
    """Read a stream up to a report, and give the ids of the events."""
    ids = []
    while True:
        event = await stream.next_event()
        ids.append(event.id)
        if event.data and b'"progress":%d' % progress in event.data:
            return ids


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("how", ["hangs", "fails"])
async def test_a_stream_is_not_resumed_across_what_was_not_kept(how, revision):
    store = Troubled()
    (store.hangs_at if how == "hangs" else store.fails_at).add(2)
    pauses = [1, 1, PAUSE_SECONDS + 1, 10, 1]
    async with open_session(make_app(store), revision) as older:
        stream = older.call("steps", {"pauses": pauses}, TOKEN)
        before = (await take_until(stream, 1))[-1]
        # While nothing more was kept, and when it is again.
        await take_until(stream, 3)
        assert (await older.get(last_event_id=before).wait_complete()).status == 400
        after = (await take_until(stream, 4))[-1]
        assert (await older.get(last_event_id=before).wait_complete()).status == 400
        stream.leave()
        assert numbers(await older.get(last_event_id=after).messages()) == [5, "answer"]
        # And when all is over.
        assert (await older.get(last_event_id=before).wait_complete()).status == 400
        assert numbers(await older.get(last_event_id=after).messages()) == [5, "answer"]


async def test_a_stream_whose_answer_was_not_kept_is_not_resumed():
    store = Troubled()
    store.fails_at.add("answer")
    async with open_session(make_app(store)) as older:
        stream = older.call("steps", {"pauses": [1]}, TOKEN)
        ids = await take_until(stream, 1)
        assert numbers(await stream.messages()) == ["answer"]
        for event_id in ids:
            assert (await older.get(last_event_id=event_id).wait_complete()).status == 400


async def test_nobody_is_sent_away_who_would_miss_what_was_not_kept():
    store = Troubled()
    store.fails_at.add(1)
    mcp = MCPServer("tests")

    @mcp.tool()
    async def polling(ctx: Context) -> str:
        await ctx.report_progress(1)
        await ctx.close_sse_stream()
        return "done"

    async with open_session(HttpApp(mcp, HttpOptions(event_store=store))) as older:
        assert numbers(await older.call("polling", {}, TOKEN).messages()) == [1, "answer"]


async def test_what_waits_for_a_stream_without_being_kept_is_not_lost():
    class Away(InMemoryEventStore):
        is_away = False

        async def store_event(self, stream_id, message):
            if self.is_away:
                raise OSError("the store is away")
            return await super().store_event(stream_id, message)

    store = Away()
    app = make_app(store)
    mcp: Any = app.session_manager._server
    async with open_session(app) as older:
        stream = older.get()
        primed = await stream.next_event()
        stream.leave()
        await stream.wait_complete()
        store.is_away = True
        mcp.add_tool(lambda: "x", name="new")
        await trio.sleep(1)
        store.is_away = False
        resumed = older.get(last_event_id=primed.id)
        assert (await resumed.next_message())["method"] == "notifications/tools/list_changed"


async def test_ids_rise_on_a_stream_that_begins_with_what_waited():
    app = make_app(InMemoryEventStore())
    mcp: Any = app.session_manager._server
    async with open_session(app) as older:
        for name in "ab":
            mcp.add_tool(lambda: "x", name=name)
            await trio.sleep(1)
        stream = older.get()
        events = [await stream.next_event() for _ in range(3)]
        assert [bool(each.data) for each in events] == [True, True, False]
        stream.leave()
        for passed, event in enumerate(events, 1):
            resumed = older.get(last_event_id=event.id)
            await trio.testing.wait_all_tasks_blocked()
            assert len(resumed._pending) == 2 - min(passed, 2)
            resumed.leave()


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_a_question_that_is_given_up_while_it_is_kept_is_not_asked(is_kept):
    class Slow(InMemoryEventStore):
        async def store_event(self, stream_id, message):
            is_question = getattr(message, "method", None) == "roots/list"
            kept = await super().store_event(stream_id, message) if is_kept else ""
            if is_question:
                await trio.sleep(2)
            return kept or await super().store_event(stream_id, message)

    async def handler(ctx, params):
        with trio.move_on_after(1):
            await ctx.session.list_roots()
        await ctx.session.report_progress(1)
        return CallToolResult(content=[])

    options = HttpOptions(event_store=Slow())
    app = HttpApp(Server("asking", on_call_tool=handler), options)
    async with open_session(app, capabilities={"roots": {}}) as older:
        stream = older.call("x", {}, TOKEN)
        primed = await stream.next_event()
        assert numbers(await stream.messages()) == [1, "answer"]
        # A store may have kept it all the same; then it is known as given up.
        resumed = await older.get(last_event_id=primed.id).messages()
        told = [each.get("method") for each in resumed]
        asked = ["roots/list"] if is_kept else []
        assert told == [*asked, "notifications/cancelled", "notifications/progress", None]


# Much that was missed


async def test_much_that_was_missed_comes_as_it_is_read_and_goes_on():
    store = InMemoryEventStore()
    mcp = MCPServer("tests")
    goes_on = trio.Event()

    @mcp.tool()
    async def many(ctx: Context) -> str:
        for number in range(1, 401):
            await ctx.report_progress(number)
        await goes_on.wait()
        return "done"

    async with open_session(HttpApp(mcp, HttpOptions(event_store=store))) as older:
        stream = older.call("many", {}, TOKEN)
        primed = await stream.next_event()
        stream.leave()
        await trio.sleep(1)
        resumed = older.get(last_event_id=primed.id)
        told = [await resumed.next_message() for _ in range(400)]
        goes_on.set()
        told += await resumed.messages()
        assert numbers(told) == [*range(1, 401), "answer"]
        # And once it has ended.
        again = await older.get(last_event_id=primed.id).messages()
        assert numbers(again) == [*range(1, 401), "answer"]


async def test_a_client_that_reads_slowly_what_it_has_missed_holds_up_the_handler():
    store = InMemoryEventStore(max_events_per_stream=250)
    mcp = MCPServer("tests")
    goes_on = trio.Event()

    @mcp.tool()
    async def many(ctx: Context) -> str:
        for number in range(1, 201):
            await ctx.report_progress(number)
        await goes_on.wait()
        for number in range(201, 701):
            await ctx.report_progress(number)
        return "done"

    async with open_session(HttpApp(mcp, HttpOptions(event_store=store))) as older:
        stream = older.call("many", {}, TOKEN)
        primed = await stream.next_event()
        stream.leave()
        await trio.sleep(1)
        older.client.hold_reading = trio.Event()
        resumed = older.get(last_event_id=primed.id)
        await trio.testing.wait_all_tasks_blocked()
        goes_on.set()
        await trio.testing.wait_all_tasks_blocked()
        older.client.hold_reading.set()
        # Nothing of it was pushed out.
        assert numbers(await resumed.messages()) == [*range(1, 701), "answer"]


@pytest.mark.parametrize("is_over", [False, True])
async def test_resumes_that_nobody_reads_take_no_multiple_of_what_is_kept(is_over):
    store = InMemoryEventStore()
    mcp = MCPServer("tests")

    @mcp.tool()
    async def many(ctx: Context) -> str:
        for number in range(100):
            await ctx.report_progress(number, None, "m" * 50_000)
        if not is_over:
            await trio.sleep_forever()
        return "done"

    async with open_session(HttpApp(mcp, HttpOptions(event_store=store))) as older:
        stream = older.call("many", {}, TOKEN)
        primed = await stream.next_event()
        stream.leave()
        await trio.sleep(1)
        older.client.hold_reading = trio.Event()
        tracemalloc.start()
        try:
            answers = []
            for _ in range(20):
                answers.append(older.get(last_event_id=primed.id))
                await trio.testing.wait_all_tasks_blocked()
            taken, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # Five megabytes are kept, and twenty times that were asked for.
        assert taken < 8_000_000
        older.client.hold_reading.set()
        await trio.testing.wait_all_tasks_blocked()
        # The last one has taken over from the others, which end.
        assert [each.complete for each in answers[:-1]] == [True] * 19
        events = 0
        while answers[-1]._pending:
            await answers[-1].next_event()
            events += 1
            await trio.testing.wait_all_tasks_blocked()
        assert events >= 100


async def test_a_store_that_goes_away_while_much_is_resumed_ends_the_stream():
    class Going(InMemoryEventStore):
        reads = 0

        async def replay_events_after(self, last_event_id, send_callback):
            self.reads += 1
            if self.reads == 2:
                raise ConnectionError("the store is away")
            return await super().replay_events_after(last_event_id, send_callback)

    async with open_session(make_app(Going())) as older:
        stream = older.call("steps", {"pauses": [0] * 200}, TOKEN)
        primed = await stream.next_event()
        stream.leave()
        await trio.sleep(1)
        resumed = older.get(last_event_id=primed.id)
        events = []
        while (event := await resumed.next_event()) is not None:
            events.append(event)
        assert len(events) == MAX_AT_ONCE
        # Its client comes back by the last one.
        rest = await older.get(last_event_id=events[-1].id).messages()
        assert numbers(rest) == [*range(MAX_AT_ONCE + 1, 201), "answer"]
