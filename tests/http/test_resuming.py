"""Streams of older sessions that break off, or are closed for a while, and go on."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer, Server
from trio_mcp._rpc._trouble import CALM_SECONDS
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._event_store import EventStore, InMemoryEventStore
from trio_mcp.transports.http._options import HttpOptions
from trio_mcp.types import CallToolResult

from ._asgi import OlderClient, open_session

TOKEN = {"progressToken": "t"}


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


async def steps(ctx: Context, count: int = 5) -> str:
    for done in range(1, count + 1):
        await ctx.report_progress(done, count)
        await trio.sleep(1)
    return "done"


async def polling(ctx: Context) -> str:
    await ctx.report_progress(1)
    await ctx.close_sse_stream()
    await ctx.report_progress(2)
    await trio.sleep(5)
    await ctx.report_progress(3)
    return "done"


async def aside(ctx: Context) -> str:
    await ctx.close_standalone_sse_stream()
    return ""


def make_app(store: EventStore | None = None, **options: Any) -> HttpApp:
    mcp = MCPServer("tests")
    for tool in (steps, polling, aside):
        mcp.add_tool(tool)
    if store is None:
        store = InMemoryEventStore()
    return HttpApp(mcp, HttpOptions(event_store=store, **options))


def numbers(messages):
    return [each["params"]["progress"] if "params" in each else "answer" for each in messages]


@pytest.mark.req("R-545", "R-560")
async def test_a_stream_begins_with_an_event_that_only_has_an_id():
    async with open_session(make_app(retry_interval=700)) as older:
        stream = older.call("steps", {"count": 1}, TOKEN)
        first = await stream.next_event()
        assert first.data == b""
        assert first.id
        assert stream.retry_ms == 700
        events = [first]
        while (event := await stream.next_event()) is not None:
            events.append(event)
        assert len({each.id for each in events}) == 3


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
async def test_clients_that_would_not_understand_it_get_none(revision):
    async with open_session(make_app(), revision) as older:
        quick = await older.ask("ping").wait_complete()
        assert quick.headers["content-type"] == "application/json"
        stream = older.call("steps", {"count": 1}, TOKEN)
        first = await stream.next_event()
        assert first.data
        assert first.id


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.req("R-560", "R-561", "R-563")
async def test_a_stream_that_broke_off_goes_on_where_it_was(revision):
    async with open_session(make_app(), revision) as older:
        stream = older.call("steps", None, TOKEN)
        other = older.call("steps", None, {"progressToken": "other"})
        while True:
            event = await stream.next_event()
            if event.data and b'"progress":2' in event.data:
                break
        stream.leave()
        await stream.wait_complete()
        await trio.sleep(1.5)
        resumed = older.get(last_event_id=event.id)
        messages = await resumed.messages()
        assert numbers(messages) == [3, 4, 5, "answer"]
        assert {each["params"]["progressToken"] for each in messages[:-1]} == {"t"}
        assert resumed.complete
        assert numbers(await other.messages()) == [1, 2, 3, 4, 5, "answer"]


async def test_a_stream_can_be_resumed_when_all_is_over_and_more_than_once():
    async with open_session(make_app()) as older:
        stream = older.call("steps", {"count": 2}, TOKEN)
        first = await stream.next_event()
        stream.leave()
        await trio.sleep(10)
        for _ in range(2):
            resumed = older.get(last_event_id=first.id)
            assert numbers(await resumed.messages()) == [1, 2, "answer"]


async def test_resuming_takes_over_from_an_answer_that_seems_alive():
    async with open_session(make_app()) as older:
        stream = older.call("steps", {"count": 3}, TOKEN)
        first = await stream.next_event()
        resumed = older.get(last_event_id=first.id)
        assert numbers(await resumed.messages()) == [1, 2, 3, "answer"]
        await stream.wait_complete()
        assert "answer" not in numbers(await stream.messages())


@pytest.mark.req("R-547", "R-557")
async def test_a_handler_may_have_its_client_come_back_later():
    async with open_session(make_app(retry_interval=2000)) as older:
        stream = older.call("polling", None, TOKEN)
        primed = await stream.next_event()
        assert numbers(await stream.messages()) == [1]
        assert stream.complete
        assert trio.current_time() == 0
        assert stream.body.rstrip().endswith(b"retry: 2000")
        await trio.sleep(2)
        resumed = older.get(last_event_id=primed.id)
        assert numbers(await resumed.messages()) == [1, 2, 3, "answer"]
        assert trio.current_time() == pytest.approx(5)


async def test_the_wait_is_told_even_if_the_server_has_no_preference():
    async with open_session(make_app()) as older:
        stream = older.call("polling", None, TOKEN)
        await stream.messages()
        assert stream.retry_ms == 1000


@pytest.mark.req("R-557")
async def test_the_stream_of_a_get_may_be_closed_for_a_while_too():
    app = make_app()
    async with open_session(app) as older:
        stream = older.get()
        primed = await stream.next_event()
        assert primed.data == b""
        await older.call("aside").wait_complete()
        assert await stream.next_message() is None
        assert stream.retry_ms == 1000
        mcp: Any = app.session_manager._server
        mcp.add_tool(lambda: "x", name="new")
        await trio.sleep(1)
        resumed = older.get(last_event_id=primed.id)
        assert (await resumed.next_message())["method"] == "notifications/tools/list_changed"
        mcp.add_tool(lambda: "x", name="newer")
        assert (await resumed.next_message())["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
async def test_clients_that_do_not_come_back_are_not_sent_away(revision):
    async with open_session(make_app(), revision) as older:
        stream = older.call("polling", None, TOKEN)
        assert numbers(await stream.messages()) == [1, 2, 3, "answer"]


@pytest.mark.req("R-563")
async def test_a_session_cannot_be_sent_what_another_one_was():
    app = make_app()
    async with open_session(app) as older:
        stream = older.call("steps", {"count": 1}, TOKEN)
        first = await stream.next_event()
        await stream.messages()
        stranger = OlderClient(older.client)
        await stranger.initialize()
        answer = await stranger.get(last_event_id=first.id).wait_complete()
        assert answer.status == 400
        assert b"progress" not in answer.body
        assert numbers(await older.get(last_event_id=first.id).messages()) == [1, "answer"]


@pytest.mark.parametrize("event_id", ["made-up", "1-999", ""])
async def test_an_unknown_event_is_refused(event_id):
    async with open_session(make_app()) as older:
        answer = await older.get(last_event_id=event_id).wait_complete()
        assert answer.status == 400
        assert "Last-Event-ID" in answer.json()["error"]["message"]


async def test_without_a_store_an_event_id_is_ignored():
    mcp = MCPServer("tests")
    mcp.add_tool(polling)
    async with open_session(HttpApp(mcp)) as older:
        stream = older.get(last_event_id="1-1")
        await stream.wait_started()
        assert stream.status == 200
        assert numbers(await older.call("polling", None, TOKEN).messages()) == [1, 2, 3, "answer"]


@pytest.mark.case("C043")
async def test_the_store_is_told_that_a_session_has_ended():
    store = InMemoryEventStore()
    async with open_session(make_app(store, session_idle_timeout=100)) as older:
        other = OlderClient(older.client)
        await other.initialize()
        for client in (older, other):
            await client.call("steps", {"count": 1}, TOKEN).wait_complete()
        kept = len(store)
        running = older.call("steps", {"count": 1000}, TOKEN)
        await trio.sleep(10)
        await older.delete().wait_complete()
        await running.wait_complete()
        await trio.testing.wait_all_tasks_blocked()
        assert 0 < len(store) <= kept / 2
        await trio.sleep(101)
        assert len(store) == 0


@pytest.mark.case("C043")
async def test_a_store_of_ones_own_need_not_know_of_sessions():
    class Plain(EventStore):
        async def store_event(self, stream_id, message):
            await trio.lowlevel.checkpoint()
            return f"{stream_id}-{id(message)}"

        async def replay_events_after(self, last_event_id, send_callback):
            await trio.lowlevel.checkpoint()

    async with open_session(make_app(Plain())) as older:
        await older.call("steps", {"count": 1}, TOKEN).wait_complete()
        assert (await older.delete().wait_complete()).status == 200
        await trio.testing.wait_all_tasks_blocked()


async def test_a_store_that_cannot_forget_is_told_of_and_costs_nothing(caplog):
    class Stubborn(InMemoryEventStore):
        async def end_session(self, session_id):
            raise OSError("the disk is full")

    async with open_session(make_app(Stubborn())) as older:
        assert (await older.delete().wait_complete()).status == 200
        await trio.testing.wait_all_tasks_blocked()
    assert "could not be told of a session's end: the disk is full" in caplog.text


class HangingStore(InMemoryEventStore):
    hangs = False

    async def store_event(self, stream_id, message):
        if self.hangs:
            await trio.sleep_forever()
        return await super().store_event(stream_id, message)

    async def replay_events_after(self, last_event_id, send_callback):
        if self.hangs:
            await trio.sleep_forever()
        return await super().replay_events_after(last_event_id, send_callback)


async def test_a_store_that_hangs_holds_nothing_for_ever(caplog):
    store = HangingStore()
    async with open_session(make_app(store)) as older:
        stream = older.call("steps", {"count": 9}, TOKEN)
        first = await stream.next_event()
        store.hangs = True
        began = trio.current_time()
        assert numbers(await stream.messages())[-1] == "answer"
        # It is waited for once, and not for each message.
        assert trio.current_time() - began < 15 + 9 + 1
        answer = await older.get(last_event_id=first.id).wait_complete()
        assert answer.status == 503
        store.hangs = False
        await trio.sleep(30)
        again = older.call("steps", {"count": 1}, TOKEN)
        events = [event async for event in events_of(again)]
        assert all(each.id for each in events)
    assert caplog.text.count("took more than 15 s") == 2


class SlowStore(InMemoryEventStore):
    async def store_event(self, stream_id, message):
        await trio.sleep(1)
        return await super().store_event(stream_id, message)


async def test_a_handler_does_not_begin_in_a_session_that_ended_meanwhile():
    begun = []
    mcp = MCPServer("tests")
    mcp.add_tool(lambda: begun.append(trio.current_time()), name="begin")
    app = HttpApp(mcp, HttpOptions(event_store=SlowStore()))
    async with open_session(app) as older:
        answer = older.call("begin")
        await trio.sleep(0.5)
        await older.delete().wait_complete()
        await answer.wait_complete()
        assert answer.status == 404
        await trio.sleep(5)
    assert begun == []


async def test_what_is_left_of_a_batch_does_not_begin_in_a_session_that_ended():
    begun = []

    async def begin() -> str:
        begun.append(trio.current_time())
        return ""

    app = make_app(SlowStore())
    mcp: Any = app.session_manager._server
    mcp.add_tool(begin)
    async with open_session(app, "2025-03-26") as older:
        slow = older.request("tools/call", {"name": "steps", "arguments": {}}, 5)
        # The answer to this one is kept before the next one begins.
        repeated = older.request("ping", None, 5)
        last = older.request("tools/call", {"name": "begin", "arguments": {}}, 6)
        answer = older.post([slow, repeated, last])
        await trio.sleep(0.5)
        await older.delete().wait_complete()
        await answer.wait_complete()
        await trio.sleep(5)
    assert begun == []


@pytest.mark.case("C043")
async def test_what_is_still_being_kept_when_a_session_ends_does_not_stay():
    store = SlowStore()
    app = make_app(store)
    async with open_session(app) as older:
        session: Any = next(iter(app.session_manager._run.older.sessions._by_id.values()))
        notify = session.connection.link.notify
        await older.call("aside").wait_complete()
        async with trio.open_nursery() as nursery:
            for number in range(2):
                nursery.start_soon(notify, "notifications/x", {"n": number})
            await trio.sleep(0.5)
            await older.delete().wait_complete()
            assert len(store) > 0
        await trio.sleep(20)
        assert len(store) == 0


@pytest.mark.case("C043")
async def test_what_waits_for_a_client_when_a_session_ends_is_not_kept():
    store = InMemoryEventStore()
    app = make_app(store)
    async with open_session(app) as older:
        session: Any = next(iter(app.session_manager._run.older.sessions._by_id.values()))
        notify = session.connection.link.notify
        stream = older.get()
        await stream.next_event()
        older.client.hold_reading = trio.Event()

        async def flood():
            for number in range(1000):
                await notify("notifications/x", {"n": number})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(expect_lost, flood)
            await trio.testing.wait_all_tasks_blocked()
            assert 60 < len(store) < 100
            older.delete()
            await trio.testing.wait_all_tasks_blocked()
            assert len(store) == 0
            older.client.hold_reading.set()


async def expect_lost(func):
    with pytest.raises(ConnectionLost):
        await func()


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_in_json_mode_answers_are_json_although_there_is_a_store(revision):
    store = InMemoryEventStore()
    async with open_session(make_app(store, json_response=True), revision) as older:
        params = {"name": "polling", "arguments": {}, "_meta": TOKEN}
        answer = await older.ask("tools/call", params, accept="application/json").wait_complete()
        assert answer.json()["result"]["content"][0]["text"] == "done"
        assert len(store) == 0
        # What belongs to no request still has a stream, and that one can be resumed.
        await older.call("aside").wait_complete()
        stream = older.get()
        if revision == "2025-11-25":
            assert (await stream.next_event()).id


async def test_what_is_told_meanwhile_reaches_a_client_that_asks_anew():
    app = make_app()
    async with open_session(app, "2025-06-18") as older:
        stream = older.get()
        await stream.wait_started()
        stream.leave()
        await stream.wait_complete()
        # It was told no id yet, so it has none to resume from.
        app.session_manager._server.add_tool(lambda: "x", name="new")
        again = older.get()
        told = await again.next_event()
        assert b"tools/list_changed" in told.data
        assert told.id


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_who_was_told_no_id_cannot_come_back_to_be_asked():
    failed = []

    async def handler(ctx, params):
        await trio.sleep(1)
        try:
            await ctx.session.list_roots()
        except ConnectionLost:
            failed.append(trio.current_time())
        return CallToolResult(content=[])

    options = HttpOptions(event_store=InMemoryEventStore())
    app = HttpApp(Server("asking", on_call_tool=handler), options)
    async with open_session(app, "2025-06-18", {"roots": {}}) as older:
        answer = older.call("x")
        await trio.testing.wait_all_tasks_blocked()
        answer.leave()
        await trio.sleep(2)
    assert failed == [1]


async def test_answers_of_a_batch_keep_their_ids_when_it_becomes_a_stream():
    async with open_session(make_app(), "2025-03-26") as older:
        params = {"name": "steps", "arguments": {"count": 1}, "_meta": TOKEN}
        ask = older.request("tools/call", params)
        stream = older.post([older.request("ping"), older.request("ping"), ask])
        events = [event async for event in events_of(stream)]
        assert len({each.id for each in events if each.id}) == 4


async def events_of(stream):
    while (event := await stream.next_event()) is not None:
        yield event


class BrokenStore(EventStore):
    async def store_event(self, stream_id, message):
        await trio.lowlevel.checkpoint()
        raise OSError("the disk is full")

    async def replay_events_after(self, last_event_id, send_callback):
        raise OSError("the disk is full")


async def test_a_store_that_fails_costs_no_answer(caplog):
    async with open_session(make_app(BrokenStore())) as older:
        quick = await older.ask("tools/list").wait_complete()
        assert quick.json()["result"]["tools"]
        stream = older.call("steps", {"count": 2}, TOKEN)
        assert numbers(await stream.messages()) == [1, 2, "answer"]
        answer = await older.get(last_event_id="x").wait_complete()
        assert answer.status == 500
        assert b"disk" not in answer.body
    assert any(each.exc_info for each in caplog.records)


class AbsentStore(EventStore):
    async def store_event(self, stream_id, message):
        await trio.lowlevel.checkpoint()
        raise ConnectionError("the store cannot be reached")

    async def replay_events_after(self, last_event_id, send_callback):
        raise ConnectionError("the store cannot be reached")


async def test_a_store_that_is_away_is_told_of_in_one_line(caplog):
    async with open_session(make_app(AbsentStore())) as older:
        stream = older.call("steps", {"count": 2}, TOKEN)
        assert numbers(await stream.messages()) == [1, 2, "answer"]
        answer = await older.get(last_event_id="x").wait_complete()
        assert answer.status == 503
        assert answer.headers["retry-after"] == "1"
    assert "A message is sent without being kept: the store cannot be reached" in caplog.text
    assert not any(each.exc_info for each in caplog.records)


class MovingStore(InMemoryEventStore):
    """One that is away from time to time."""

    why = None

    async def store_event(self, stream_id, message):
        if self.why is not None:
            await trio.lowlevel.checkpoint()
            raise self.why
        return await super().store_event(stream_id, message)


@pytest.mark.parametrize(
    ("why", "says"),
    [
        (ConnectionError("nobody there"), "A message is sent without being kept: nobody there"),
        (OSError("disk full"), "An event store failed: a message is sent without being kept"),
    ],
)
async def test_an_outage_of_the_store_is_told_once_for_all_sessions(caplog, why, says):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    store = MovingStore()
    app = make_app(store)
    async with open_session(app) as older:
        for outage in (1, 2):
            store.why = why
            for _ in range(2):
                await older.initialize()
                stream = older.call("steps", {"count": 3}, TOKEN)
                assert numbers(await stream.messages()) == [1, 2, 3, "answer"]
            assert caplog.text.count(says) == outage
            store.why = None
            await older.ask("tools/list").wait_complete()
            assert caplog.text.count("keeps what is sent again") == outage
            await trio.sleep(CALM_SECONDS)
    loud = [each for each in caplog.records if each.levelno > logging.INFO]
    assert len(loud) == 2


class FullStore(InMemoryEventStore):
    """One that has room for every other message."""

    count = 0

    async def store_event(self, stream_id, message):
        self.count += 1
        if self.count % 2:
            await trio.lowlevel.checkpoint()
            raise ConnectionError("no room")
        return await super().store_event(stream_id, message)


async def test_a_store_that_fails_now_and_then_fills_no_log(caplog):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with open_session(make_app(FullStore())) as older:
        stream = older.call("steps", {"count": 200}, TOKEN)
        assert len(numbers(await stream.messages())) == 201
    told = [each.getMessage() for each in caplog.records if "kept: no room" in each.getMessage()]
    assert len(told) == 2
    assert "it comes and goes" in told[1]
    assert caplog.text.count("keeps what is sent again") == 1


class MisnamingStore(InMemoryEventStore):
    """One that calls its events something that no stream can say."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    async def store_event(self, stream_id, message):
        await super().store_event(stream_id, message)
        return self.name


@pytest.mark.parametrize("name", ["", "a\nretry: 0", "\udcff", "\0", 5, b"x"])
async def test_ids_of_a_store_that_no_stream_can_say_cost_no_more_than_the_ids(caplog, name):
    async with open_session(make_app(MisnamingStore(name))) as older:
        stream = older.call("steps", {"count": 2}, TOKEN)
        messages = await stream.messages()
        assert numbers(messages) == [1, 2, "answer"]
        assert b"id:" not in stream.body
    [told] = [each for each in caplog.records if "An event store failed" in each.getMessage()]
    assert told.exc_info is not None
    assert str(told.exc_info[1]).startswith("the id of an event: expected ")


async def test_a_store_is_open_while_its_server_runs():
    class Opened(InMemoryEventStore):
        is_open = False

        @asynccontextmanager
        async def open(self):
            self.is_open = True
            yield
            self.is_open = False

        async def store_event(self, stream_id, message):
            assert self.is_open
            return await super().store_event(stream_id, message)

    store = Opened()
    async with open_session(make_app(store)) as older:
        assert numbers(await older.call("steps", {"count": 1}, TOKEN).messages()) == [1, "answer"]
    assert not store.is_open
    assert len(store) > 0


async def test_what_is_told_before_there_is_a_stream_to_resume_waits_for_it():
    app = make_app()
    async with open_session(app) as older:
        mcp: Any = app.session_manager._server
        mcp.add_tool(lambda: "x", name="new")
        await trio.sleep(1)
        stream = older.get()
        told = await stream.next_event()
        assert b"tools/list_changed" in told.data
        assert told.id
        # Behind it, since who resumes by an id has what came before that.
        assert (await stream.next_event()).data == b""
        stream.leave()
        await stream.wait_complete()
        # Now the client can say what it has, so nothing is sent twice.
        mcp.add_tool(lambda: "x", name="newer")
        await trio.sleep(1)
        resumed = older.get(last_event_id=told.id)
        assert (await resumed.next_message())["method"] == "notifications/tools/list_changed"
        await trio.sleep(1)
        assert not resumed._pending


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_a_question_waits_for_a_client_that_comes_back():
    async def handler(ctx, params):
        await ctx.close_sse_stream()
        answer = await ctx.session.list_roots()
        assert answer.roots == []
        return CallToolResult(content=[])

    options = HttpOptions(event_store=InMemoryEventStore())
    app = HttpApp(Server("asking", on_call_tool=handler), options)
    async with open_session(app, capabilities={"roots": {}}) as older:
        stream = older.call("x")
        primed = await stream.next_event()
        await stream.messages()
        resumed = older.get(last_event_id=primed.id)
        asked = await resumed.next_message()
        assert asked["method"] == "roots/list"
        await older.respond(asked, {"roots": []}).wait_complete()
        assert "result" in await resumed.next_message()


async def test_nobody_is_sent_away_who_was_not_told_how_to_come_back():
    class Away(InMemoryEventStore):
        async def store_event(self, stream_id, message):
            raise OSError("the store is away")

    async with open_session(make_app(Away())) as older:
        told = await older.call("polling", {}, TOKEN).messages()
    assert numbers(told) == [1, 2, 3, "answer"]
