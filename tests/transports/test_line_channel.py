from __future__ import annotations

import os
import socket
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from trio_mcp._codec._envelope import Malformed
from trio_mcp.testing import check_channel
from trio_mcp.testing._check_channel import VARIED
from trio_mcp.transports._fd_streams import FdReceiveStream, FdSendStream
from trio_mcp.transports._line_channel import LINES_AT_ONCE, LineChannel
from trio_mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from trio_mcp.transports import Channel

posix = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX descriptors")

NOTE = JSONRPCNotification(method="n")


def over_pipes() -> tuple[Channel, Channel]:
    (r1, w1), (r2, w2) = os.pipe(), os.pipe()
    return (
        LineChannel(FdReceiveStream(r1), FdSendStream(w2)),
        LineChannel(FdReceiveStream(r2), FdSendStream(w1)),
    )


def over_trios_pipes() -> tuple[Channel, Channel]:
    (r1, w1), (r2, w2) = os.pipe(), os.pipe()
    make = trio.lowlevel.FdStream
    return LineChannel(make(r1), make(w2)), LineChannel(make(r2), make(w1))


def over_sockets() -> tuple[Channel, Channel]:
    left, right = trio.socket.socketpair()
    stream, peer = trio.SocketStream(left), trio.SocketStream(right)
    return LineChannel(stream, stream), LineChannel(peer, peer)


def over_node_style_sockets() -> tuple[Channel, Channel]:
    left, right = socket.socketpair()
    pairs = [(os.dup(each.fileno()), each.detach()) for each in (left, right)]
    one, other = (LineChannel(FdReceiveStream(r), FdSendStream(w)) for r, w in pairs)
    return one, other


async def check_lines(make_pair: Callable[[], tuple[Channel, Channel]]) -> None:
    @asynccontextmanager
    async def open_pair() -> AsyncGenerator[tuple[Channel, Channel], None]:
        left, right = make_pair()
        async with left, right:
            yield left, right

    await check_channel(open_pair, send_malformed=send_malformed)


async def send_malformed(channel: Channel) -> None:
    assert isinstance(channel, LineChannel)
    await channel._send_stream.send_all(b"Server ready on port 1\n")


@posix
@pytest.mark.req("R-076", "R-079")
@pytest.mark.parametrize(
    "make_pair", [over_pipes, over_trios_pipes, over_sockets, over_node_style_sockets]
)
async def test_lines_keep_the_promises_of_a_channel(
    make_pair: Callable[[], tuple[Channel, Channel]],
) -> None:
    await check_lines(make_pair)


@posix
async def test_lines_keep_them_without_nowait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trio_mcp.transports._fd_streams._RWF_NOWAIT", 0)
    await check_lines(over_pipes)


async def test_only_one_task_receives() -> None:
    channel, _ = make_channel()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.receive)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await channel.receive()
        nursery.cancel_scope.cancel()


def make_channel(**options: object) -> tuple[LineChannel, trio.abc.Stream]:
    near, far = trio.testing.memory_stream_pair()
    return LineChannel(near, near, **options), far  # type: ignore[arg-type]


@pytest.mark.case("C006")
@pytest.mark.req("R-075", "R-080")
async def test_a_message_is_one_line_of_utf_8_with_one_line_feed() -> None:
    channel, far = make_channel()
    await channel.send([*VARIED, JSONRPCNotification(method="n", params={"x": "a\r\nb\u2028ü"})])
    await channel.aclose()
    data = b"".join([chunk async for chunk in far])
    assert b"\r" not in data
    lines = data.split(b"\n")
    assert lines.pop() == b""
    assert len(lines) == len(VARIED) + 1
    assert b"a\\r\\nb" in data
    assert "\u2028ü".encode() in data


@pytest.mark.case("C004", "C005", "C029")
async def test_stray_lines_are_reported_and_the_session_goes_on() -> None:
    channel, far = make_channel()
    await far.send_all(
        b'\xff\xfe\nServer ready on port 1\n42\n\n{"jsonrpc":"2.0","id":1,"meth\n'
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":[]}\n{"jsonrpc":"2.0","method":"n"}\n'
    )
    *malformed, message = await channel.receive()
    assert [
        (each.code, each.id, each.excerpt) for each in malformed if isinstance(each, Malformed)
    ] == [
        (-32700, None, r"\xff\xfe"),
        (-32700, None, "Server ready on port 1"),
        (-32600, None, "42"),
        (-32700, None, '{"jsonrpc":"2.0","id":1,"meth'),
        (-32600, 1, '{"jsonrpc":"2.0","id":1,"method":"m","params":[]}'),
    ]
    assert message == NOTE


@pytest.mark.case("C007")
async def test_a_line_beyond_the_limit_is_reported_with_its_id() -> None:
    channel, far = make_channel(max_line_size=100)
    line = b'{"jsonrpc":"2.0","id":7,"result":{"x":"' + b"y" * 1000 + b'"}}\n'
    await far.send_all(line + b'{"jsonrpc":"2.0","method":"n"}\n')
    dropped, message = await channel.receive()
    assert isinstance(dropped, Malformed)
    assert (dropped.id, dropped.is_response) == (7, True)
    assert "more than 100 bytes" in dropped.message
    assert message == NOTE


async def test_half_a_line_is_waited_for() -> None:
    channel, far = make_channel()
    async with trio.open_nursery() as nursery:

        async def send_in_pieces() -> None:
            for piece in (b'{"jsonrpc":', b'"2.0","method"', b':"n"}\n'):
                await trio.testing.wait_all_tasks_blocked()
                await far.send_all(piece)

        nursery.start_soon(send_in_pieces)
        assert await channel.receive() == [NOTE]


async def test_the_last_line_needs_no_line_feed() -> None:
    channel, far = make_channel()
    await far.send_all(b'{"jsonrpc":"2.0","method":"n"}\n{"jsonrpc":"2.0","id":1,"method":"m"}')
    await far.aclose()
    assert await channel.receive() == [NOTE]
    assert await channel.receive() == [JSONRPCRequest(id=1, method="m")]
    for _ in range(2):
        with pytest.raises(trio.EndOfChannel):
            await channel.receive()


@pytest.mark.parametrize(("errors", "text"), [("replace", "a\ufffdb"), ("ignore", "ab")])
async def test_broken_utf_8_can_be_repaired(errors: str, text: str) -> None:
    channel, far = make_channel(encoding_errors=errors, max_line_size=100)
    await far.send_all(b'{"jsonrpc":"2.0","id":1,"result":{"x":"a\xffb"}}\n' + b"x" * 200 + b"\n")
    response, too_long = await channel.receive()
    assert response == JSONRPCResponse(id=1, result={"x": text})
    assert isinstance(too_long, Malformed)


async def test_what_json_cannot_say_is_not_sent_by_halves() -> None:
    channel, far = make_channel()
    with pytest.raises(TypeError):
        await channel.send([NOTE, JSONRPCNotification(method="n", params={"x": object()})])
    await channel.aclose()
    assert await far.receive_some() == b""


async def test_closing_does_not_wait_for_a_stream_that_hangs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    near, far = trio.testing.memory_stream_pair()
    closing = LineChannel(near.receive_stream, Hanging(near.send_stream))
    began = trio.current_time()
    await closing.aclose()
    assert trio.current_time() - began == 1
    with pytest.raises(trio.ClosedResourceError):
        await closing.receive()
    with pytest.raises(trio.EndOfChannel):
        await LineChannel(far, far).receive()


class Hanging(trio.abc.SendStream):
    def __init__(self, stream: trio.abc.SendStream) -> None:
        self._stream = stream

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()
        await trio.sleep_forever()


async def test_very_many_lines_are_given_in_portions_between_which_others_have_turns():
    near, far = trio.testing.memory_stream_pair()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with LineChannel(near, near) as channel, trio.open_nursery() as nursery:
        nursery.start_soon(count)
        ids = range(3 * LINES_AT_ONCE + 7)
        lines = [f'{{"jsonrpc":"2.0","id":{each},"result":{{}}}}\n' for each in ids]
        await far.send_all("".join(lines).encode())
        await far.aclose()
        received: list[object] = []
        portions = 0
        while len(received) < len(ids):
            portion = await channel.receive()
            assert len(portion) <= LINES_AT_ONCE
            received += portion
            portions += 1
        assert received == [JSONRPCResponse(id=each, result={}) for each in ids]
        # Trio runs tasks in any order, so that one turn may come a little later.
        assert turns >= portions // 2 > 0
        with pytest.raises(trio.EndOfChannel):
            await channel.receive()
        nursery.cancel_scope.cancel()


async def test_lines_that_wait_are_not_given_by_a_channel_that_was_closed():
    near, far = trio.testing.memory_stream_pair()
    channel = LineChannel(near, near)
    await far.send_all(b"1\n" * (LINES_AT_ONCE + 1))
    assert len(await channel.receive()) == LINES_AT_ONCE
    await channel.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await channel.receive()
