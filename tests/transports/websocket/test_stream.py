"""What is put below the WebSocket library, looked at by itself."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from tests.transports.http._serving import make_certificate
from trio_mcp.transports.websocket._defaults import FINISH_TIMEOUT, READ_SIZE
from trio_mcp.transports.websocket._frames import Close, FrameGate
from trio_mcp.transports.websocket._records import Records
from trio_mcp.transports.websocket._stream import GuardedStream

from ._wire import CLOSE, PONG, TEXT, Raw, frame

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from trio_mcp.transports.websocket._records import TlsStream


def guarded() -> tuple[GuardedStream, trio.StapledStream[Any, Any]]:
    near, far = trio.testing.memory_stream_pair()

    async def read_head(_stream: Any) -> tuple[bytes, bytes]:
        return b"head", frame(TEXT, b"early")

    stream = GuardedStream(
        near,  # type: ignore[arg-type]
        FrameGate(1000),
        read_head,
        is_client=False,
        peer="the client",
        write_timeout=1,
    )
    return stream, far


def guarded_socket() -> tuple[GuardedStream, trio.abc.Stream]:
    near, far = socket.socketpair()
    stream, _ = guarded()
    stream._stream = trio.SocketStream(trio.socket.from_stdlib_socket(near))
    stream.open()
    return stream, trio.SocketStream(trio.socket.from_stdlib_socket(far))


async def test_frames_wait_until_the_handshake_is_done(autojump_clock):
    stream, _ = guarded()
    assert await stream.receive_some() == b"head"
    with trio.move_on_after(1) as scope:
        await stream.receive_some()
    assert scope.cancelled_caught
    stream.open()
    assert await stream.receive_some() == frame(TEXT, b"early")


def narrow_socket() -> tuple[GuardedStream, trio.abc.Stream, socket.socket]:
    """Make a connection of which the system takes little at once, and give its near end, too."""
    near, far = socket.socketpair()
    for each in (near, far):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream, _ = guarded()
    stream._stream = trio.SocketStream(trio.socket.from_stdlib_socket(near))
    stream.open()
    return stream, trio.SocketStream(trio.socket.from_stdlib_socket(far)), near


def fill(near: socket.socket) -> int:
    """Write until the system takes no more, and tell how much that was."""
    filled = 0
    for size in (1024, 1):
        with suppress(BlockingIOError):
            while True:
                filled += near.send(bytes(size))
    return filled


async def received(stream: GuardedStream, far: Any, data: bytes, pieces: list[int]) -> bytes:
    """Let the library read, and count the pieces in which it is given what has come."""
    await far.send_all(data)
    await far.aclose()
    found = b""
    while piece := await stream.receive_some():
        found += piece
        pieces.append(len(piece))
    return found


async def test_others_have_turns_while_small_frames_are_taken():
    stream, far = guarded()
    stream.open()
    assert await stream.receive_some() == b"head"
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    pieces: list[int] = []
    flood = frame(PONG) * 6_000
    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        assert await received(stream, far, flood, pieces) == frame(TEXT, b"early") + flood
        nursery.cancel_scope.cancel()
    assert max(pieces) <= 4096 + 6
    assert turns >= len(pieces) // 2 > 0


async def test_a_large_frame_is_not_cut_into_small_pieces():
    stream, far = guarded()
    stream.gate = FrameGate(1_000_000)
    stream.open()
    assert await stream.receive_some() == b"head"
    large = frame(TEXT, bytes(500_000))
    pieces: list[int] = []
    assert await received(stream, far, large, pieces) == frame(TEXT, b"early") + large
    # What was read at once is given in two: up to where it is known to be large, and the rest.
    assert len(pieces) <= 2 * (500_000 // READ_SIZE + 1)


async def test_what_was_collected_goes_out_in_its_order_and_nothing_behind_a_close():
    stream, far = guarded()
    stream.open()
    stream.cork()
    for each in (frame(TEXT, b"a"), frame(PONG), frame(CLOSE), frame(TEXT, b"late")):
        await stream.send_all(each)
    await stream.uncork()
    await stream.send_all(frame(TEXT, b"later"))
    sent = frame(TEXT, b"a") + frame(PONG) + frame(CLOSE)
    assert await far.receive_some() == sent
    await far.send_all(frame(CLOSE))
    # It is said once.
    await stream.part(Close(1000))
    await stream._stream.aclose()
    assert await far.receive_some() == b""


async def test_frame_that_was_cut_off_is_the_last_one(autojump_clock):
    near, far = trio.testing.lockstep_stream_pair()
    stream, _ = guarded()
    stream._stream = near  # type: ignore[assignment]
    stream.open()
    with trio.move_on_after(0.5):
        await stream.send_all(frame(TEXT, b"a"))
    await stream.send_all(frame(TEXT, b"b"))
    await stream.part(Close(1000))
    await near.aclose()
    received = b""
    while data := await far.receive_some():
        received += data
    assert received == frame(TEXT, b"a")


async def give_up(stream: GuardedStream, sending: Callable[[], Awaitable[None]]) -> None:
    """Cancel a task that has just got the lock for writing, and has not gone on yet."""
    async with trio.open_nursery() as nursery:
        await stream._writing.acquire()
        nursery.start_soon(sending)
        await trio.testing.wait_all_tasks_blocked()
        stream._writing.release()
        nursery.cancel_scope.cancel()


async def close_behind(stream: GuardedStream, far: trio.abc.Stream, code: int) -> bytes:
    """Close in good order, and tell what has gone over the wire."""
    await far.send_all(frame(CLOSE))
    await stream.part(Close(code))
    stream.close()
    received = b""
    while data := await far.receive_some():
        received += data
    await far.aclose()
    return received


async def test_cancel_before_the_first_byte_cuts_nothing_off():
    stream, far = guarded_socket()
    await give_up(stream, partial(stream.send_all, frame(TEXT, b"a")))
    assert await close_behind(stream, far, 1002) == frame(CLOSE, b"\x03\xea", mask=False)


async def test_close_that_was_given_up_before_its_first_byte_is_said_later():
    stream, far = guarded_socket()
    await give_up(stream, partial(stream.send_all, frame(CLOSE, b"\x03\xe8", mask=False)))
    assert not stream.close_sent
    assert await close_behind(stream, far, 1001) == frame(CLOSE, b"\x03\xe9", mask=False)


async def test_close_that_was_collected_and_given_up_is_said_later():
    stream, far = guarded_socket()
    stream.cork()
    await stream.send_all(frame(TEXT, b"a"))
    await stream.send_all(frame(CLOSE, b"\x03\xe8", mask=False))
    await give_up(stream, stream.uncork)
    assert await close_behind(stream, far, 1001) == frame(CLOSE, b"\x03\xe9", mask=False)


async def cancelled_on_the_way(
    stream: GuardedStream, data: bytes, far: trio.abc.Stream, size: int
) -> bytes:
    """Cancel a frame that waits to be written, then read, and close in good order.

    Args:
      stream: The connection.
      data: The frame.
      far: Its other end, which closes, too.
      size: How much it has read then.

    """
    received = bytearray()

    async def read() -> None:
        while piece := await far.receive_some():
            received.extend(piece)
            if len(received) == size:
                await far.send_all(frame(CLOSE))
        await far.aclose()

    async with trio.open_nursery() as reading:
        async with trio.open_nursery() as writing:
            writing.start_soon(stream.send_all, data)
            await trio.testing.wait_all_tasks_blocked()
            writing.cancel_scope.cancel()
            reading.start_soon(read)
        await stream.part(Close(1001))
        stream.close()
    return bytes(received)


@pytest.mark.parametrize("size", [READ_SIZE - 1000, READ_SIZE, 4 * READ_SIZE])
async def test_frame_that_the_system_takes_in_parts_is_finished_after_a_cancel(mock_clock, size):
    stream, far, _ = narrow_socket()
    answer = frame(TEXT, bytes(size), mask=False)
    closing = frame(CLOSE, b"\x03\xe9", mask=False)
    size = len(answer + closing)
    assert await cancelled_on_the_way(stream, answer, far, size) == answer + closing


@pytest.mark.parametrize("opcode", [TEXT, CLOSE])
async def test_frame_of_which_nothing_was_taken_is_given_up_by_a_cancel(mock_clock, opcode):
    stream, far, near = narrow_socket()
    filled = fill(near)
    given_up = frame(opcode, b"\x03\xe8", mask=False)
    closing = frame(CLOSE, b"\x03\xe9", mask=False)
    size = filled + len(closing)
    assert await cancelled_on_the_way(stream, given_up, far, size) == bytes(filled) + closing


async def test_frame_that_nobody_reads_is_given_up_at_its_limit_of_time(autojump_clock):
    stream, far, near = narrow_socket()
    fill(near)
    await stream.send_all(frame(TEXT, b"a"))
    assert stream.lost is not None
    assert "the client read nothing for 1 s" in str(stream.lost)
    assert trio.current_time() == pytest.approx(1)
    await far.aclose()


class CountsTasks(trio.abc.Instrument):
    """How many tasks were made."""

    def __init__(self) -> None:
        self.made = 0

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        self.made += 1


async def test_frame_that_the_system_takes_at_once_costs_no_task():
    stream, far = guarded_socket()
    tasks = CountsTasks()
    trio.lowlevel.add_instrument(tasks)
    await stream.send_all(frame(TEXT, bytes(1000)))
    trio.lowlevel.remove_instrument(tasks)
    assert tasks.made == 0
    stream.close()
    await far.aclose()


async def test_frame_that_cannot_be_written_is_no_error():
    stream, far, near = narrow_socket()
    near.shutdown(socket.SHUT_WR)
    await stream.send_all(frame(TEXT, b"a"))
    assert stream.unwritable
    stream.close()
    await far.aclose()


async def encrypted_socket(folder: Path) -> tuple[GuardedStream, TlsStream]:
    """Make a narrow connection that speaks TLS, and has shaken hands."""
    files = make_certificate(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files["certfile"], files["keyfile"])
    plain, far, _ = narrow_socket()
    assert isinstance(plain._stream, trio.SocketStream)
    assert isinstance(far, trio.SocketStream)
    near = trio.SSLStream(Records(plain._stream), context, server_side=True)
    context = ssl.create_default_context(cafile=files["certfile"])
    reading = trio.SSLStream(
        Records(far), context, server_hostname="localhost", https_compatible=True
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reading.do_handshake)
        await near.do_handshake()
    stream = GuardedStream(
        near, plain.gate, plain._read_head, is_client=False, peer="the client", write_timeout=1
    )
    stream.open()
    return stream, reading


@pytest.mark.parametrize("size", [1000, READ_SIZE - 1000, 4 * READ_SIZE])
async def test_frame_of_tls_is_finished_after_a_cancel(tmp_path, mock_clock, size):
    stream, far = await encrypted_socket(tmp_path)
    answer = frame(TEXT, bytes(size), mask=False)
    closing = frame(CLOSE, b"\x03\xe9", mask=False)
    size = len(answer + closing)
    assert await cancelled_on_the_way(stream, answer, far, size) == answer + closing


async def test_close_that_was_encrypted_and_given_up_is_said_once(tmp_path, monkeypatch):
    stream, far = await encrypted_socket(tmp_path)
    records, flushes = stream._records, 0
    assert records is not None
    flush = records.flush

    async def hold_up() -> None:
        nonlocal flushes
        flushes += 1
        # The first time, there is nothing to wait for.
        if flushes == 2:
            await trio.sleep_forever()
        await flush()

    monkeypatch.setattr(records, "flush", hold_up)
    said = frame(CLOSE, b"\x03\xe8", mask=False)
    assert await cancelled_on_the_way(stream, said, far, len(said)) == said


async def test_frame_of_tls_costs_no_task(tmp_path):
    stream, far = await encrypted_socket(tmp_path)
    tasks = CountsTasks()
    trio.lowlevel.add_instrument(tasks)
    await stream.send_all(frame(TEXT, bytes(1000)))
    trio.lowlevel.remove_instrument(tasks)
    assert tasks.made == 0
    stream.close()
    far.transport_stream.socket.close()


async def test_tls_that_nobody_reads_is_given_up_at_its_limit_of_time(tmp_path, autojump_clock):
    stream, far = await encrypted_socket(tmp_path)
    while stream.lost is None:
        await stream.send_all(frame(TEXT, bytes(READ_SIZE - 1000)))
    assert "the client read nothing for 1 s" in str(stream.lost)
    assert trio.current_time() == pytest.approx(1)
    far.transport_stream.socket.close()


async def test_tls_that_is_at_its_end_is_no_error(tmp_path):
    stream, far = await encrypted_socket(tmp_path)
    assert stream._records is not None
    stream._records.socket.shutdown(socket.SHUT_WR)
    await stream.send_all(frame(TEXT, b"a"))
    assert stream.unwritable
    await stream.send_all(frame(TEXT, b"b"))
    stream.close()
    far.transport_stream.socket.close()


async def test_tls_that_speaks_without_end_breaks(autojump_clock):
    class Speaking:
        async def send_all(self, data: memoryview) -> None:
            await trio.sleep_forever()

    plain, far, _ = narrow_socket()
    assert isinstance(plain._stream, trio.SocketStream)
    with pytest.raises(trio.BrokenResourceError, match="come to an end"):
        await Records(plain._stream).encrypt(Speaking(), memoryview(b"a"))  # type: ignore[arg-type]
    assert trio.current_time() == pytest.approx(FINISH_TIMEOUT)
    plain.close()
    await far.aclose()


@pytest.mark.parametrize("steps", range(12))
async def test_cancel_between_two_steps_of_tls_cuts_nothing_off(tmp_path, steps):
    files = make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files["certfile"], files["keyfile"])
    near, far = trio.testing.memory_stream_pair()
    encrypted = trio.SSLStream(near, context, server_side=True)
    context = ssl.create_default_context(cafile=files["certfile"])
    reading = trio.SSLStream(far, context, server_hostname="localhost")
    stream, _ = guarded()
    stream._stream = encrypted  # type: ignore[assignment]
    stream.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reading.do_handshake)
        await encrypted.do_handshake()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.send_all, frame(TEXT, b"a"))
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    await reading.send_all(frame(CLOSE))
    await stream.part(Close(1001))
    await near.aclose()
    received = Raw(reading)
    assert await received.close_code() == 1001


async def test_cancel_leaves_time_to_finish_a_frame_that_is_begun(autojump_clock):
    near, far = trio.testing.lockstep_stream_pair()
    stream, _ = guarded()
    stream._stream = near  # type: ignore[assignment]
    stream.open()
    received = bytearray()

    async def read() -> None:
        await trio.sleep(1.5 * FINISH_TIMEOUT)
        while data := await far.receive_some():
            received.extend(data)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        with trio.move_on_after(FINISH_TIMEOUT) as scope:
            await stream.send_all(frame(TEXT, b"a"))
        assert scope.cancelled_caught
        assert trio.current_time() == pytest.approx(1.5 * FINISH_TIMEOUT)
        with trio.move_on_after(1):
            await stream.part(Close(1001))
        await near.aclose()
    assert received == frame(TEXT, b"a") + frame(CLOSE, b"\x03\xe9", mask=False)


async def test_refusal_of_the_library_is_not_sent_before_ours():
    stream, far = guarded()
    await stream.send_all(b"HTTP/1.1 400 \r\n\r\n")
    await stream.send_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    assert (await far.receive_some()).startswith(b"HTTP/1.1 101")
