from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp.testing import check_channel
from trio_mcp.transports import Channel, open_memory_channel_pair
from trio_mcp.types import JSONRPCNotification


class Wrapped(Channel):
    """A sound channel, for others to spoil."""

    def __init__(self, inner: Channel) -> None:
        self.inner = inner

    async def send(self, messages):
        await self.inner.send(messages)

    async def receive(self):
        return await self.inner.receive()

    async def aclose(self):
        await self.inner.aclose()


class Swaps(Wrapped):
    async def receive(self):
        return (await self.inner.receive())[::-1]


class Shortens(Wrapped):
    async def receive(self):
        frames = await self.inner.receive()
        for frame in frames:
            if isinstance(frame, JSONRPCNotification) and frame.params:
                frame.params.clear()
        return frames


class GivesNothing(Wrapped):
    async def receive(self):
        await trio.lowlevel.checkpoint()
        return []


class NeverWaits(Wrapped):
    async def send(self, messages):
        self.inner._outbound.max_buffered = 10**9
        await self.inner.send(messages)


class Forgets(Wrapped):
    """Drops what has arrived when it is cancelled."""

    async def receive(self):
        with trio.CancelScope(shield=True) as scope:
            if self.inner._inbound.waiting:
                frames = await self.inner.receive()
                scope.shield = False
                await trio.lowlevel.checkpoint()
                return frames
        return await self.inner.receive()


class Hurries(Wrapped):
    """Sends without letting anybody else run."""

    async def send(self, messages):
        waiting = self.inner._outbound
        if waiting.max_buffered > len(waiting.waiting) and not waiting.receiver_closed:
            waiting.waiting += messages
            if waiting.filled is not None:
                waiting.filled.set()
            return
        await self.inner.send(messages)


class EndsTwice(Wrapped):
    """Says its end once, and then waits."""

    ended = False

    async def receive(self):
        if self.ended:
            await trio.sleep_forever()
        try:
            return await self.inner.receive()
        except trio.EndOfChannel:
            self.ended = True
            raise


class SaysBroken(Wrapped):
    async def receive(self):
        try:
            return await self.inner.receive()
        except trio.EndOfChannel:
            raise trio.BrokenResourceError from None


class SendsToNobody(Wrapped):
    async def send(self, messages):
        try:
            await self.inner.send(messages)
        except trio.BrokenResourceError:
            await trio.lowlevel.checkpoint()


class ClosesOnce(Wrapped):
    closed = False

    async def aclose(self):
        if self.closed:
            raise trio.ClosedResourceError
        self.closed = True
        await self.inner.aclose()


class GivesUpClosing(Wrapped):
    async def aclose(self):
        await trio.lowlevel.checkpoint()
        await self.inner.aclose()


class ClosesDeaf(Wrapped):
    """Lets a receive() that waits wait on, when this side closes."""

    closed = False

    async def receive(self):
        try:
            return await self.inner.receive()
        except trio.ClosedResourceError:
            if self.closed:
                raise
            await trio.sleep_forever()

    async def aclose(self):
        await self.inner.aclose()
        await trio.testing.wait_all_tasks_blocked()
        self.closed = True


def pairs_of(kind: type[Wrapped], *, as_text: bool = False):
    @asynccontextmanager
    async def open_pair():
        channel, peer = open_memory_channel_pair(as_text=as_text)
        async with channel, peer:
            yield kind(channel), peer

    return open_pair


async def test_a_sound_channel_passes(autojump_clock):
    await check_channel(pairs_of(Wrapped))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Swaps, r"arrive as they were sent, in order\. But message 0 was JSONRPCRequest"),
        (Shortens, r"arrive as they were sent, in order\. But message 1|But message 3 was"),
        (GivesNothing, r"receive\(\) returned an empty list"),
        (NeverWaits, r"send\(\) waits while the peer does not read\. But 100 MB were sent"),
        (Forgets, r"a cancelled receive\(\) has lost nothing"),
        (Hurries, r"every send\(\) is a checkpoint\. But"),
        (EndsTwice, r"asked again, receive\(\) raises EndOfChannel\. It took more than 10 s"),
        (SaysBroken, r"receive\(\) raises EndOfChannel\. But it raised BrokenResourceError"),
        (SendsToNobody, r"send\(\) raises BrokenResourceError before long\. It took more"),
        (ClosesOnce, r"every aclose\(\) of a closed channel .* But there was ClosedResource"),
        (GivesUpClosing, r"aclose\(\) closes when it is cancelled, too\. It took more"),
        (ClosesDeaf, r"aclose\(\) ends the receive\(\) and send\(\) that wait"),
    ],
)
async def test_a_broken_promise_is_named(autojump_clock, kind, words):
    with pytest.raises(AssertionError, match=words):
        await check_channel(pairs_of(kind))


async def test_a_channel_has_two_ends(autojump_clock):
    class Alone(Wrapped):
        def __iter__(self):
            return iter((self.inner, self.inner))

    with pytest.raises(AssertionError, match="read, write = channel gives its two ends"):
        await check_channel(pairs_of(Alone))


async def test_what_is_no_message_is_asked_for_only_on_demand(autojump_clock):
    async def send_malformed(peer: Channel) -> None:
        await peer.send([JSONRPCNotification(method="this is one")])

    with pytest.raises(AssertionError, match=r"comes as Malformed.* between two messages, \["):
        await check_channel(pairs_of(Wrapped), send_malformed=send_malformed)
