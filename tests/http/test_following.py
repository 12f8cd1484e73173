"""Streams of sessions that another process has, while the store they share is slow or away."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from trio_mcp import MCPServer
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._event_store import InMemoryEventStore, SharedEventStore
from trio_mcp.transports.http._following import name_stream
from trio_mcp.transports.http._keeping import STORE_SECONDS
from trio_mcp.transports.http._options import HttpOptions

from ._asgi import OlderClient, open_app

SESSION = "s" * 32


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


class Shared(InMemoryEventStore, SharedEventStore):
    """One that hangs, or has an error, at the nth call of a method."""

    def __init__(self, method="", number=0, trouble=None):
        super().__init__()
        self.left = {method: number}
        self.trouble = trouble
        self.calls = 0

    async def _meet(self, method):
        self.calls += 1
        self.left[method] = self.left.get(method, 0) - 1
        if self.left[method] == 0:
            if self.trouble is None:
                await trio.sleep_forever()
            raise self.trouble

    async def replay_events_after(self, last_event_id, send_callback):
        await self._meet("replay")
        return await super().replay_events_after(last_event_id, send_callback)

    async def is_written(self, stream_id):
        await self._meet("written")
        return True

    async def has_ended(self, session_id):
        await self._meet("ended")
        return False

    async def end_session(self, session_id):
        await super().end_session(session_id)


def make_app(store):
    return HttpApp(MCPServer("tests"), HttpOptions(event_store=store))


@pytest.mark.parametrize("trouble", [None, ConnectionError("away"), TimeoutError("slow")])
@pytest.mark.parametrize("method", ["ended", "replay"])
async def test_a_stream_that_cannot_be_found_now_is_refused_in_bounded_time(
    method, trouble, caplog
):
    caplog.set_level(logging.WARNING, "trio_mcp.http")
    store = Shared(method, 1, trouble)
    event_id = await store.store_event(name_stream(SESSION, None, 1), None)
    async with open_app(make_app(store)) as client:
        older = OlderClient(client, session_id=SESSION)
        assert (await older.get(event_id).wait_complete()).status == 404
    assert trio.current_time() == (STORE_SECONDS if trouble is None else 0)
    assert "A stream cannot be resumed now: " in caplog.text


@pytest.mark.parametrize("trouble", [None, ConnectionError("away"), TimeoutError("slow")])
@pytest.mark.parametrize(("method", "number"), [("ended", 2), ("written", 1), ("replay", 2)])
async def test_a_stream_that_cannot_be_carried_on_ends_in_bounded_time(
    method, number, trouble, caplog
):
    caplog.set_level(logging.WARNING, "trio_mcp.http")
    store = Shared(method, number, trouble)
    event_id = await store.store_event(name_stream(SESSION, None, 1), None)
    async with open_app(make_app(store)) as client:
        stream = OlderClient(client, session_id=SESSION).get(event_id)
        await stream.wait_complete()
        assert stream.status == 200
        assert stream.complete
    assert trio.current_time() == (STORE_SECONDS if trouble is None else 0)
    assert "A stream cannot be carried on now: " in caplog.text
    assert "failed" not in caplog.text


async def test_nothing_is_read_for_a_client_that_has_gone():
    store = Shared()
    event_id = await store.store_event(name_stream(SESSION, None, 1), None)
    async with open_app(make_app(store)) as client:
        stream = OlderClient(client, session_id=SESSION).get(event_id)
        await trio.sleep(10)
        assert store.calls > 10
        stream.leave()
        await stream.wait_complete()
        calls = store.calls
        await trio.sleep(10)
        assert store.calls == calls
