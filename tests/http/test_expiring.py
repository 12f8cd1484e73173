"""Streams of the older era whose client has to authenticate again: they end, and lose nothing."""

from __future__ import annotations

import time

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer
from trio_mcp._rpc._exchange import Principal
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._asgi import PRINCIPAL
from trio_mcp.transports.http._event_store import InMemoryEventStore
from trio_mcp.transports.http._keeping import MAX_AT_ONCE
from trio_mcp.transports.http._options import HttpOptions
from trio_mcp.types import JSONRPCNotification

from ._asgi import OlderClient, open_app

SECONDS = 1_000
"""How long a token holds, by the clock of the machine, of which no test takes so much."""


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def expiring():
    return Principal("alice", expires_at=time.time() + SECONDS)


def tell(session, number):
    params = {"level": "info", "data": [number, "m" * 200_000]}
    message = JSONRPCNotification(method="notifications/message", params=params)
    session.send_nowait(session.standalone, message)


def numbers(messages):
    return [each["params"]["data"][0] for each in messages]


@pytest.mark.parametrize("store", [None, InMemoryEventStore])
@pytest.mark.parametrize("comes_back", ["before the rest is read", "after that"])
async def test_what_is_sent_while_the_rest_is_written_waits_for_the_next_stream(comes_back, store):
    options = HttpOptions(event_store=None if store is None else store())
    app = HttpApp(MCPServer("tests"), options)
    async with open_app(app, scope={PRINCIPAL: Principal("alice")}) as client:
        older = OlderClient(client, "2025-06-18")
        await older.initialize()
        client.scope[PRINCIPAL] = expiring()
        first = older.get()
        await first.wait_started()
        [session] = app.session_manager._run.older.sessions.all
        # Its client reads slowly.
        client.hold_reading = trio.Event()
        for number in range(20):
            tell(session, number)
        await trio.sleep(SECONDS + 1)
        tell(session, 20)
        await trio.testing.wait_all_tasks_blocked()
        client.scope[PRINCIPAL] = Principal("alice")
        if comes_back == "after that":
            client.hold_reading.set()
            told = numbers(await first.messages())
            second = older.get()
        else:
            second = older.get()
            await trio.testing.wait_all_tasks_blocked()
            client.hold_reading.set()
            told = numbers(await first.messages())
        # Each message once, on one of the two.
        while len(told) < 21:
            told += numbers([await second.next_message()])
        assert told == list(range(21))


async def test_what_was_missed_is_read_no_further_once_the_stream_has_ended():
    class Counting(InMemoryEventStore):
        reads = 0

        async def replay_events_after(self, last_event_id, send_callback):
            self.reads += 1
            return await super().replay_events_after(last_event_id, send_callback)

    store = Counting()
    mcp = MCPServer("tests")

    @mcp.tool()
    async def many(ctx: Context) -> str:
        for number in range(400):
            await ctx.report_progress(number)
        return "done"

    app = HttpApp(mcp, HttpOptions(event_store=store))
    async with open_app(app, scope={PRINCIPAL: Principal("alice")}) as client:
        older = OlderClient(client)
        await older.initialize()
        stream = older.call("many", {}, {"progressToken": "t"})
        primed = await stream.next_event()
        stream.leave()
        await trio.sleep(1)
        client.scope[PRINCIPAL] = expiring()
        client.hold_reading = trio.Event()
        resumed = older.get(last_event_id=primed.id)
        await trio.sleep(SECONDS + 1)
        client.scope[PRINCIPAL] = Principal("alice")
        client.hold_reading.set()
        events = []
        while (event := await resumed.next_event()) is not None:
            events.append(event)
        assert len(events) == MAX_AT_ONCE
        assert store.reads == 1
        # Its client comes back by the last one.
        rest = await older.get(last_event_id=events[-1].id).messages()
        assert len(rest) == 401 - MAX_AT_ONCE
