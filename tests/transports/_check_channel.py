"""What every two-ended `Channel` has to do, as one function."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest
import trio
import trio.testing

from trio_mcp.types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.transports import Channel
    from trio_mcp.types import JSONRPCMessage

MakePair: TypeAlias = "Callable[[], Awaitable[tuple[Channel, Channel]]]"

VARIED: list[JSONRPCMessage] = [
    JSONRPCRequest(id=1, method="a"),
    JSONRPCRequest(
        id="1", method="a", params={"text": "line\nbreak \u2028 é \U0001f600", "n": 2**70}
    ),
    JSONRPCNotification(method="n"),
    JSONRPCNotification(method="n", params={"deep": [{"x": [None, True, 1.5]}]}),
    JSONRPCResponse(id=2, result={"a": {}}),
    JSONRPCError(id=3, error=ErrorData(code=-1, message="m", data={"x": [1]})),
    JSONRPCError(id=None, error=ErrorData(code=-32700, message="?")),
]


async def check_channel(make_pair: MakePair) -> None:
    """Check a kind of channel against everything that `Channel` promises.

    Args:
      make_pair: Makes two fresh channels that are each other's peer.

    """
    await _check_messages_arrive_in_order(make_pair)
    await _check_both_directions_at_once(make_pair)
    await _check_the_sender_waits_for_a_slow_receiver(make_pair)
    await _check_a_cancelled_receive_loses_nothing(make_pair)
    await _check_every_call_is_a_checkpoint(make_pair)
    await _check_one_task_at_a_time(make_pair)
    await _check_closing_ends_the_peer(make_pair)
    await _check_closing_wakes_this_side(make_pair)
    await _check_closing_when_cancelled(make_pair)


async def _take(channel: Channel, count: int) -> list[object]:
    taken: list[object] = []
    while len(taken) < count:
        frames = await channel.receive()
        assert frames, "receive() returns at least one message"
        taken += frames
    return taken


async def _close(*channels: Channel) -> None:
    for channel in channels:
        await channel.aclose()
        await channel.aclose()  # may be called twice


async def _check_messages_arrive_in_order(make_pair: MakePair) -> None:
    left, right = await make_pair()
    read, write = left
    assert read is write is left
    async with trio.open_nursery() as nursery:
        nursery.start_soon(left.send, VARIED)
        assert await _take(right, len(VARIED)) == VARIED
    numbered: list[JSONRPCMessage] = [JSONRPCNotification(method=str(n)) for n in range(50)]

    async def send_one_by_one() -> None:
        for message in numbered:
            await right.send([message])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send_one_by_one)
        assert await _take(left, len(numbered)) == numbered
    await _close(left, right)


async def _check_both_directions_at_once(make_pair: MakePair) -> None:
    left, right = await make_pair()
    big: list[JSONRPCMessage] = [JSONRPCNotification(method="n", params={"x": "y" * 1_000_000})]
    async with trio.open_nursery() as nursery:
        for here, there in ((left, right), (right, left)):
            nursery.start_soon(here.send, big)
            nursery.start_soon(_take, there, 1)
    await _close(left, right)


async def _check_the_sender_waits_for_a_slow_receiver(make_pair: MakePair) -> None:
    left, right = await make_pair()
    burst: list[JSONRPCMessage] = [
        JSONRPCNotification(method="n", params={"x": "y" * 1000})
    ] * 1000
    sent = 0

    async def send_bursts() -> None:
        nonlocal sent
        for sent in range(100):  # noqa: B007
            await left.send(burst)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send_bursts)
        await trio.testing.wait_all_tasks_blocked(0.02)
        assert sent < 99, "send() waits while the peer does not read"
        nursery.cancel_scope.cancel()
    await _close(left, right)


async def _check_a_cancelled_receive_loses_nothing(make_pair: MakePair) -> None:
    left, right = await make_pair()
    for number in range(20):
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(right.receive)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        message = JSONRPCNotification(method=str(number))
        await left.send([message])
        with trio.CancelScope() as scope:
            scope.cancel()
            await right.receive()
        assert scope.cancelled_caught
        assert await right.receive() == [message]
    await _close(left, right)


async def _check_every_call_is_a_checkpoint(make_pair: MakePair) -> None:
    left, right = await make_pair()
    with trio.testing.assert_checkpoints():
        await left.send([VARIED[0]])
    with trio.testing.assert_checkpoints():
        await right.receive()
    with trio.testing.assert_checkpoints():
        await left.aclose()
    with trio.testing.assert_checkpoints(), pytest.raises(trio.EndOfChannel):
        await right.receive()
    await _close(left, right)


async def _check_one_task_at_a_time(make_pair: MakePair) -> None:
    left, right = await make_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(left.receive)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await left.receive()
        nursery.cancel_scope.cancel()
    await _close(left, right)


async def _check_closing_ends_the_peer(make_pair: MakePair) -> None:
    left, right = await make_pair()
    await left.send([VARIED[0], VARIED[2]])
    await left.aclose()
    assert await _take(right, 2) == [VARIED[0], VARIED[2]], "what was sent before is received"
    for _ in range(2):
        with pytest.raises(trio.EndOfChannel):
            await right.receive()

    async def send_again_and_again() -> None:
        for _ in range(10):
            await right.send([VARIED[0]])

    with pytest.raises(trio.BrokenResourceError):
        await send_again_and_again()
    await _close(left, right)

    left, right = await make_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_expect, trio.EndOfChannel, right.receive)
        await trio.testing.wait_all_tasks_blocked()
        await left.aclose()
    await _close(right)


async def _check_closing_wakes_this_side(make_pair: MakePair) -> None:
    left, right = await make_pair()

    async def send_for_ever() -> None:
        while True:
            await left.send([JSONRPCNotification(method="n", params={"x": "y" * 100_000})])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(_expect, trio.ClosedResourceError, left.receive)
        nursery.start_soon(_expect, trio.ClosedResourceError, send_for_ever)
        await trio.testing.wait_all_tasks_blocked(0.02)
        await left.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await left.receive()
    with pytest.raises(trio.ClosedResourceError):
        await left.send([VARIED[0]])
    await _close(left, right)


async def _check_closing_when_cancelled(make_pair: MakePair) -> None:
    left, right = await make_pair()
    await trio.aclose_forcefully(left)
    with pytest.raises(trio.ClosedResourceError):
        await left.receive()
    with pytest.raises(trio.EndOfChannel):
        await right.receive()
    await trio.aclose_forcefully(right)


async def _expect(kind: type[Exception], call: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises(kind):
        await call()
