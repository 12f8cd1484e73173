"""What goes on in the older era although nobody waits for it: without a session, and at a stop."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer, Server
from trio_mcp.transports.http import _left_alone as left_alone
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._event_store import InMemoryEventStore
from trio_mcp.transports.http._options import HttpOptions
from trio_mcp.types import NotificationParams

from ._asgi import AsgiClient, OlderClient, open_app, open_session

TOLD = {"jsonrpc": "2.0", "method": "notifications/x/y"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


class Listening:
    """A server that takes its time over notifications."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.seen = []
        self.server = Server("listening")
        self.server.add_notification_handler("notifications/x/y", NotificationParams, self.hear)

    async def hear(self, ctx, params):
        self.seen.append("begun")
        try:
            await trio.sleep(self.seconds)
        except trio.Cancelled:
            self.seen.append("cancelled")
            raise
        self.seen.append("done")

    def make_app(self, **options):
        return HttpApp(self.server, HttpOptions(**options))


@pytest.mark.parametrize("seconds", [0, 30])
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("message", [TOLD, [TOLD], [TOLD, PING]])
async def test_the_handler_of_a_notification_runs_to_its_end(message, stateless, seconds):
    listening = Listening(seconds)
    app = listening.make_app(stateless_http=stateless)
    async with open_app(app) as client:
        older = OlderClient(client, "2025-03-26")
        if not stateless:
            await older.initialize()
        answer = await older.post(message).wait_complete()
        assert answer.status == (200 if isinstance(message, list) and PING in message else 202)
        # Whoever sent it does not wait for that.
        assert trio.current_time() == 0
        await trio.sleep(seconds + 1)
        assert listening.seen == ["begun", "done"]


async def test_without_sessions_handlers_of_notifications_do_not_run_for_ever(monkeypatch):
    monkeypatch.setattr(left_alone, "MAX_LEFT", 3)
    listening = Listening(1e6)
    async with open_app(listening.make_app(stateless_http=True)) as client:
        older = OlderClient(client, "2025-06-18")
        for _ in range(5):
            await older.post(TOLD).wait_complete()
        await trio.testing.wait_all_tasks_blocked()
        assert listening.seen.count("cancelled") == 2
        await trio.sleep(left_alone.GRACE_SECONDS + 1)
        assert listening.seen.count("cancelled") == 5


class Polling:
    """A server whose tool goes on while its client is not connected."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.ended = []
        self.server = MCPServer("polling")
        self.server.add_tool(self.slow)

    async def slow(self, ctx: Context) -> str:
        await ctx.close_sse_stream()
        try:
            await trio.sleep(self.seconds)
        except trio.Cancelled:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        return ""

    def make_app(self, **options):
        return HttpApp(self.server, HttpOptions(event_store=InMemoryEventStore(), **options))


async def test_a_stop_waits_for_what_a_client_has_left_that_comes_back():
    polling = Polling(20)
    app = polling.make_app()
    async with open_session(app) as older:
        await older.call("slow").wait_complete()
        assert polling.ended == []
        await app.session_manager.stop()
        assert trio.current_time() == 20
        assert polling.ended == ["done"]


async def test_a_stop_may_be_given_up_and_then_a_second_is_left():
    polling = Polling(20)
    app = polling.make_app()
    async with open_session(app) as older:
        await older.call("slow").wait_complete()
        with trio.move_on_after(10):
            await app.session_manager.stop()
        assert polling.ended == []
    assert polling.ended == ["cancelled"]
    assert trio.current_time() == 11


@pytest.mark.parametrize("stateless", [False, True])
async def test_a_stop_waits_for_handlers_of_notifications(stateless):
    listening = Listening(20)
    app = listening.make_app(stateless_http=stateless)
    async with open_app(app) as client:
        older = OlderClient(client, "2025-06-18")
        if not stateless:
            await older.initialize()
        await older.post(TOLD).wait_complete()
        await app.session_manager.stop()
        assert listening.seen == ["begun", "done"]
        assert trio.current_time() == 20


@pytest.mark.parametrize("stateless", [False, True])
async def test_a_stop_waits_for_the_handler_of_a_client_that_leaves_during_it(stateless):
    polling = Polling(20)
    app = polling.make_app(stateless_http=stateless)
    async with open_app(app) as client:
        older = OlderClient(client, "2025-06-18")
        if not stateless:
            await older.initialize()
        answer = older.call("slow")

        async def leave():
            await trio.sleep(5)
            answer.leave()
            await answer.wait_complete()
            assert trio.current_time() == 5

        client.nursery.start_soon(leave)
        await trio.testing.wait_all_tasks_blocked()
        await app.session_manager.stop()
        assert polling.ended == ["done"]
        assert trio.current_time() == 20


async def test_the_end_of_a_run_leaves_a_second_to_what_nobody_waits_for():
    polling = Polling(0.5)
    app = polling.make_app()
    async with trio.open_nursery() as nursery:
        async with app.session_manager.run():
            older = OlderClient(AsgiClient(app, nursery))
            await older.initialize()
            await older.call("slow").wait_complete()
        assert polling.ended == ["done"]
