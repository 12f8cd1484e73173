"""What every `Channel` owes, as one function for the tests of those who write one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, TypeAlias

import trio
import trio.testing

from trio_mcp._codec import Malformed
from trio_mcp._rpc._channel import Channel
from trio_mcp.testing._promise import in_nursery, must_checkpoint, must_raise, promise
from trio_mcp.types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

if TYPE_CHECKING:
    from trio_mcp._codec import Frame
    from trio_mcp.types import JSONRPCMessage

ChannelPair: TypeAlias = tuple[Channel, Channel]
OpenPair: TypeAlias = Callable[[], AbstractAsyncContextManager[ChannelPair]]
SendMalformed: TypeAlias = Callable[[Channel], Awaitable[None]]

VARIED: Final[list[JSONRPCMessage]] = [
    JSONRPCRequest(id=1, method="a"),
    JSONRPCRequest(
        id="1", method="a", params={"text": "line\r\nbreak \u2028 é \U0001f600", "n": 2**70}
    ),
    JSONRPCNotification(method="n"),
    JSONRPCNotification(method="n", params={"deep": [{"x": [None, True, 1.5]}]}),
    JSONRPCResponse(id=2, result={"a": {}}),
    JSONRPCError(id=3, error=ErrorData(code=-1, message="m", data={"x": [1]})),
    JSONRPCError(id=None, error=ErrorData(code=-32700, message="?")),
]
"""Every kind of message, and what is easily spoiled on the way."""

SETTLED: Final = 0.02
"""Real seconds without any progress after which a writer is taken to wait for its reader."""


async def check_channel(
    open_pair: OpenPair, *, send_malformed: SendMalformed | None = None
) -> None:
    """Check a kind of channel against everything that `Channel` promises.

    For the tests of those who bring a transport of their own. Pairs are opened one after the
    other, and each is closed before the next one. With channels in memory it may run on a
    `trio.testing.MockClock`; with real pipes and sockets it takes real time, some tenths of a
    second.

    Args:
      open_pair: Opens two fresh channels, each the other's peer; an async context manager, as
          transports are. The first one is held against the promises: check both ways round
          where the two are of different kinds.
      send_malformed: Called with the second channel, has to send a frame that is no message.
          Without it, nobody knows what becomes of such frames.

    Raises:
      AssertionError: with the promise that was broken, and what happened instead.

    """
    await _check_ends(open_pair)
    await _check_order(open_pair)
    await _check_both_directions_at_once(open_pair)
    await _check_that_send_waits(open_pair)
    await _check_cancelled_receive(open_pair)
    await _check_checkpoints(open_pair)
    if send_malformed is not None:
        await _check_malformed(open_pair, send_malformed)
    await _check_what_was_sent_before_the_end(open_pair)
    await _check_end(open_pair)
    await _check_end_while_waiting(open_pair)
    await _check_closing(open_pair)
    await _check_closing_while_waiting(open_pair)
    await _check_closing_when_cancelled(open_pair)


async def _check_ends(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, _):
        with promise("read, write = channel gives its two ends"):
            read, write = channel
            assert read is write is channel, f"got {read!r} and {write!r}"


async def _check_order(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, peer):
        with promise("messages arrive as they were sent, in order"):
            await in_nursery(lambda: peer.send(VARIED), lambda: _take(channel, VARIED))
            await in_nursery(lambda: channel.send(VARIED), lambda: _take(peer, VARIED))
        numbered: list[JSONRPCMessage] = [_note(str(number)) for number in range(50)]

        async def send_one_by_one() -> None:
            for message in numbered:
                await channel.send([message])

        with promise("messages of many send() arrive in order"):
            await in_nursery(send_one_by_one, lambda: _take(peer, numbered))


async def _check_both_directions_at_once(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, peer):
        with promise("long messages may cross: each side sends and receives at once"):
            big = [_note("n", 1_000_000)]
            await in_nursery(
                lambda: channel.send(big),
                lambda: peer.send(big),
                lambda: _take(channel, big),
                lambda: _take(peer, big),
            )


async def _check_that_send_waits(open_pair: OpenPair) -> None:
    burst = [_note("n", 1000)] * 1000
    async with open_pair() as (channel, _):
        with promise("send() waits while the peer does not read"):
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def send_bursts() -> None:
                    for _ in range(100):
                        await channel.send(burst)
                    raise AssertionError("100 MB were sent to nobody")

                await trio.testing.wait_all_tasks_blocked(SETTLED)
                nursery.cancel_scope.cancel(reason="send() waits, as it should")


async def _check_cancelled_receive(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, peer):
        with promise("a cancelled receive() has lost nothing"):
            for number in range(20):
                message = _note(str(number))
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(channel.receive)
                    await trio.testing.wait_all_tasks_blocked()
                    nursery.cancel_scope.cancel(reason="in the middle of receive()")
                await peer.send([message])
                with trio.CancelScope() as scope:
                    scope.cancel(reason="before receive()")
                    taken = await channel.receive()
                    raise AssertionError(f"cancelled before, it returned {taken!r}")
                await _take(channel, [message])


async def _check_checkpoints(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, peer):
        await peer.send([VARIED[0]])
        with must_checkpoint("send()"):
            await channel.send([VARIED[0]])
        with must_checkpoint("receive()"):
            await channel.receive()
        with must_checkpoint("aclose()"):
            await channel.aclose()
        with must_checkpoint("aclose() of a closed channel"):
            await channel.aclose()


async def _check_malformed(open_pair: OpenPair, send_malformed: SendMalformed) -> None:
    before, after = _note("before"), _note("after")
    async with open_pair() as (channel, peer):
        with promise("a frame that is no message comes as Malformed, and the session goes on"):
            await peer.send([before])
            await send_malformed(peer)
            await peer.send([after])
            taken = await _take_some(channel, 3)
            in_place = isinstance(taken[1], Malformed) and taken[::2] == [before, after]
            assert in_place, f"between two messages, {taken!r} was received"


async def _check_what_was_sent_before_the_end(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, peer):
        with promise("what was sent before aclose() is still received"):
            await peer.send([VARIED[0], VARIED[2]])
            await peer.aclose()
            await _take(channel, [VARIED[0], VARIED[2]])


async def _check_end(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, peer):
        await peer.aclose()
        for when in ("after the peer closed", "after that, asked again"):
            with promise(f"{when}, receive() raises EndOfChannel"):
                await must_raise(trio.EndOfChannel, channel.receive)

        async def send_again_and_again() -> None:
            while True:
                await channel.send([VARIED[0]])
                await trio.sleep(0.001)

        with promise("after the peer closed, send() raises BrokenResourceError before long"):
            await must_raise(trio.BrokenResourceError, send_again_and_again)
        with promise("after the end, aclose() closes as ever"):
            await channel.aclose()


async def _check_end_while_waiting(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, peer):

        async def close_peer() -> None:
            await trio.testing.wait_all_tasks_blocked(SETTLED)
            await peer.aclose()

        with promise("a receive() that waits learns that the peer closed: EndOfChannel"):
            await in_nursery(lambda: must_raise(trio.EndOfChannel, channel.receive), close_peer)


async def _check_closing(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, _):
        with promise("aclose() may be called twice"):
            await channel.aclose()
            await channel.aclose()
        with promise("after aclose(), receive() raises ClosedResourceError"):
            await must_raise(trio.ClosedResourceError, channel.receive)
        with promise("after aclose(), send() raises ClosedResourceError"):
            await must_raise(trio.ClosedResourceError, lambda: channel.send([VARIED[0]]))


async def _check_closing_while_waiting(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, _):

        async def send_for_ever() -> None:
            while True:
                await channel.send([_note("n", 100_000)])

        async def close() -> None:
            await trio.testing.wait_all_tasks_blocked(SETTLED)
            await channel.aclose()

        with promise("aclose() ends the receive() and send() that wait: ClosedResourceError"):
            await in_nursery(
                lambda: must_raise(trio.ClosedResourceError, channel.receive),
                lambda: must_raise(trio.ClosedResourceError, send_for_ever),
                close,
            )


async def _check_closing_when_cancelled(open_pair: OpenPair) -> None:
    async with open_pair() as (channel, peer):
        with promise("aclose() closes when it is cancelled, too"):
            await trio.aclose_forcefully(channel)
            await must_raise(trio.ClosedResourceError, channel.receive)
            await must_raise(trio.EndOfChannel, peer.receive)


def _note(method: str, size: int = 0) -> JSONRPCMessage:
    return JSONRPCNotification(method=method, params={"x": "y" * size} if size else None)


async def _take(channel: Channel, expected: list[JSONRPCMessage]) -> None:
    taken = await _take_some(channel, len(expected))
    for number, (got, wanted) in enumerate(zip(taken, expected, strict=True)):
        assert got == wanted, f"message {number} was {wanted!r:.200}, and is {got!r:.200}"


async def _take_some(channel: Channel, count: int) -> list[Frame]:
    taken: list[Frame] = []
    while len(taken) < count:
        frames = await channel.receive()
        assert frames, "receive() returned an empty list; it returns at least one message"
        taken += frames
    return taken
