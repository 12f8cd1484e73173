from __future__ import annotations

import functools
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from trio_mcp.testing import check_channel
from trio_mcp.transports import create_client_server_memory_streams, open_memory_channel_pair
from trio_mcp.types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.transports import Channel
    from trio_mcp.types import JSONRPCMessage

NOTE = JSONRPCNotification(method="n")
AS_TEXT = pytest.mark.parametrize("as_text", [False, True], ids=["objects", "text"])


@AS_TEXT
@pytest.mark.req("R-076")
async def test_a_pair_keeps_the_promises_of_a_channel(
    as_text: bool, autojump_clock: trio.testing.MockClock
) -> None:
    @asynccontextmanager
    async def open_pair() -> AsyncGenerator[tuple[Channel, Channel], None]:
        left, right = open_memory_channel_pair(as_text=as_text)
        async with left, right:
            yield left, right

    await check_channel(open_pair)


async def test_only_one_task_receives() -> None:
    left, _ = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(left.receive)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await left.receive()
        nursery.cancel_scope.cancel()


@AS_TEXT
async def test_neither_side_can_change_the_others_data(as_text: bool) -> None:
    left, right = open_memory_channel_pair(as_text=as_text)
    inner = [1]
    messages: list[JSONRPCMessage] = [
        JSONRPCNotification(method="n", params={"inner": inner}),
        JSONRPCResponse(id=1, result={"inner": inner}),
        JSONRPCError(id=1, error=ErrorData(code=1, message="m", data={"inner": inner})),
    ]
    await left.send(messages)
    inner.append(2)
    note, response, error = await right.receive()
    assert isinstance(note, JSONRPCNotification)
    assert note.params == {"inner": [1]}
    assert isinstance(response, JSONRPCResponse)
    assert response.result == {"inner": [1]}
    assert isinstance(error, JSONRPCError)
    assert error.error.data == {"inner": [1]}


@pytest.mark.parametrize("result", [42, None, [{}]])
async def test_a_result_that_is_no_object_is_refused(result: Any) -> None:
    left, _right = open_memory_channel_pair()
    with pytest.raises(TypeError, match=r"^message\.result: expected a JSON object, got "):
        await left.send([JSONRPCResponse(id=1, result=result)])


async def test_what_json_cannot_say_is_refused_whole() -> None:
    left, right = open_memory_channel_pair()
    with pytest.raises(TypeError, match=r"params\.x: bytes has no JSON form"):
        await left.send([NOTE, JSONRPCNotification(method="n", params={"x": b""})])
    await left.send([JSONRPCNotification(method="after")])
    assert await right.receive() == [JSONRPCNotification(method="after")]


async def test_a_sender_waits_for_room() -> None:
    left, right = open_memory_channel_pair(max_buffered=2)
    await left.send([NOTE, NOTE, NOTE])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(left.send, [NOTE])
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await left.send([NOTE])
        assert len(await right.receive()) == 3
    assert len(await right.receive()) == 1


async def test_a_cancelled_send_sent_nothing() -> None:
    left, right = open_memory_channel_pair(max_buffered=1)
    await left.send([NOTE])
    with trio.move_on_after(0):
        await left.send([JSONRPCNotification(method="never")])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(left.send, [JSONRPCNotification(method="never")])
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert await right.receive() == [NOTE]
    with trio.move_on_after(0.01) as scope:
        await right.receive()
    assert scope.cancelled_caught


async def test_a_sender_that_waits_learns_of_the_end() -> None:
    left, right = open_memory_channel_pair(max_buffered=1)
    await left.send([NOTE])
    async with trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            with pytest.raises(trio.BrokenResourceError):
                await left.send([NOTE])

        await trio.testing.wait_all_tasks_blocked()
        await right.aclose()


def test_room_for_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        open_memory_channel_pair(max_buffered=0)


async def test_streams_for_both_sides() -> None:
    async with create_client_server_memory_streams() as (client, server):
        client_read, client_write = client
        server_read, server_write = server
        await client_write.send([NOTE])
        assert await server_read.receive() == [NOTE]
        await server_write.send([NOTE])
        assert await client_read.receive() == [NOTE]
    with pytest.raises(trio.ClosedResourceError):
        await client_read.receive()
    with pytest.raises(trio.ClosedResourceError):
        await server_write.send([NOTE])


async def test_streams_let_the_bodys_error_pass_when_cancelled() -> None:
    async def fail() -> None:
        with trio.CancelScope() as scope:
            async with create_client_server_memory_streams():
                scope.cancel()
                raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await fail()
