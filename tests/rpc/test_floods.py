"""More is asked than is read: nothing waits for ever, and nothing piles up without a bound."""

from __future__ import annotations

from itertools import pairwise

import pytest
import trio
import trio.testing

from trio_mcp._rpc import _peer
from trio_mcp._rpc._channel import Channel
from trio_mcp._rpc._peer import open_peer
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import JSONRPCNotification, JSONRPCRequest


async def call(peer, outcomes):
    try:
        outcomes.append(await peer.request("do/unknown", None))
    except MCPError as exc:
        outcomes.append(exc)


async def fill_up(far, first=1):
    """Ask what is refused, until neither the wire nor the outbox behind it takes any more."""
    for number in range(first, first + 2):
        await far.send([JSONRPCRequest(id=number, method="do/unknown")])
        await trio.testing.wait_all_tasks_blocked()
    flood = [JSONRPCRequest(id=first + 2 + each, method="do/unknown") for each in range(10)]
    await far.send(flood)
    await trio.testing.wait_all_tasks_blocked()


@pytest.mark.parametrize("cancelled", [False, True])
async def test_what_is_asked_never_stops_the_reader(
    autojump_clock, serving, monkeypatch, cancelled
):
    monkeypatch.setattr(_peer, "MAX_UNREAD", 2)
    near, far = open_memory_channel_pair(max_buffered=1)
    scripted = serving()
    async with open_peer(near, scripted) as peer, trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(call, peer, [])
            await trio.testing.wait_all_tasks_blocked()
        for _ in range(50):
            nursery.start_soon(call, peer, [])
        await trio.testing.wait_all_tasks_blocked()
        if cancelled:
            # Now they are taken back, or notices of them wait.
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            with trio.fail_after(1), trio.CancelScope(shield=True):
                await far.send([JSONRPCNotification(method="read")])
                await trio.testing.wait_all_tasks_blocked()
        assert [method for method, _ in scripted.told] == ["read"] * 3
        nursery.cancel_scope.cancel()


async def test_a_peer_that_floods_and_reads_nothing_is_waited_for(
    autojump_clock, serving, monkeypatch
):
    monkeypatch.setattr(_peer, "MAX_UNREAD", 2)
    near, far = open_memory_channel_pair(max_buffered=1)
    async with open_peer(near, serving()) as peer:
        await fill_up(far)
        await far.send([JSONRPCRequest(id=13, method="do/unknown")])
        await trio.sleep(5000)
        assert not peer.lost
        answered = []
        while len(answered) < 13:
            answered += [each.id for each in await far.receive()]
        assert answered == list(range(1, 14))


async def test_a_call_does_not_wait_for_ever_for_a_peer_that_floods_and_reads_nothing(
    autojump_clock, serving, monkeypatch
):
    monkeypatch.setattr(_peer, "MAX_UNREAD", 2)
    near, far = open_memory_channel_pair(max_buffered=1)
    async with open_peer(near, serving()) as peer:
        await fill_up(far)
        await trio.sleep(1000)
        began = trio.current_time()
        with pytest.raises(
            ConnectionLost, match="in 60 s it has read none of more than 2 answers"
        ):
            await peer.request("do/ask", None)
        assert 59 <= trio.current_time() - began <= 61
        assert (await peer.wait_ended()).message.startswith("Connection closed: the peer asks")


async def test_a_peer_that_reads_again_in_time_loses_nothing(autojump_clock, serving, monkeypatch):
    monkeypatch.setattr(_peer, "MAX_UNREAD", 2)
    near, far = open_memory_channel_pair(max_buffered=1)
    async with open_peer(near, serving()) as peer, trio.open_nursery() as nursery:
        nursery.start_soon(call, peer, [])
        await trio.testing.wait_all_tasks_blocked()
        for first in (1, 101, 201):
            await fill_up(far, first)
            await trio.sleep(50)
            while (await far.receive())[-1].id != first + 11:
                pass
        assert not peer.lost
        nursery.cancel_scope.cancel()


class Narrow(Channel):
    """Passes one message at a time, as a pipe that is always nearly full."""

    def __init__(self, sending, receiving):
        self.sending = sending
        self.receiving = receiving

    async def send(self, messages):
        for message in messages:
            await self.sending.send(message)

    async def receive(self):
        return [await self.receiving.receive()]

    async def aclose(self):
        self.sending.close()
        self.receiving.close()
        await trio.lowlevel.checkpoint()


async def test_of_two_that_flood_each_other_nobody_waits_for_ever(
    autojump_clock, serving, monkeypatch
):
    monkeypatch.setattr(_peer, "MAX_UNREAD", 5)
    to_there, from_here = trio.open_memory_channel(1)
    to_here, from_there = trio.open_memory_channel(1)
    outcomes = []
    async with (
        open_peer(Narrow(to_there, from_there), serving()) as here,
        open_peer(Narrow(to_here, from_here), serving()) as there,
        trio.open_nursery() as nursery,
    ):
        for peer in (here, there):
            for _ in range(100):
                nursery.start_soon(call, peer, outcomes)
    assert len(outcomes) == 200
    assert any(isinstance(each, ConnectionLost) for each in outcomes)
    assert trio.current_time() < 65


async def test_one_side_may_ask_without_bound(autojump_clock, serving, monkeypatch):
    monkeypatch.setattr(_peer, "MAX_UNREAD", 5)
    to_there, from_here = trio.open_memory_channel(1)
    to_here, from_there = trio.open_memory_channel(1)
    outcomes = []
    async with (
        open_peer(Narrow(to_there, from_there), serving()) as here,
        open_peer(Narrow(to_here, from_here), serving()),
        trio.open_nursery() as nursery,
    ):
        for _ in range(3):
            for _ in range(100):
                nursery.start_soon(call, here, outcomes)
            await trio.lowlevel.checkpoint()
    assert [each.code for each in outcomes] == [-32601] * 300
    assert trio.current_time() == 0


async def test_others_have_turns_while_very_many_messages_are_taken(serving):
    near, far = open_memory_channel_pair()
    scripted = serving()
    seen = [0]

    async def look() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            seen.append(len(scripted.told))

    async with open_peer(near, scripted), trio.open_nursery() as nursery:
        await trio.testing.wait_all_tasks_blocked()
        await far.send([JSONRPCNotification(method="n")] * 2_000)
        nursery.start_soon(look)
        while len(scripted.told) < 2_000:
            await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    steps = [after - before for before, after in pairwise(seen)]
    assert max(steps) <= 2 * _peer.FRAMES_AT_ONCE
