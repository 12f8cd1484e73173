"""What event stores are tried with."""

from __future__ import annotations

import trio

from trio_mcp.types import JSONRPCNotification


def note(number, text=""):
    return JSONRPCNotification(method="n", params={"n": number, "text": text})


async def replay(store, event_id):
    found = []

    async def collect(event):
        await trio.lowlevel.checkpoint()
        found.append((event.event_id, event.message.params["n"]))

    return await store.replay_events_after(event_id, collect), found


async def fill(store, stream_id, count, text=""):
    return [await store.store_event(stream_id, note(number, text)) for number in range(count)]
