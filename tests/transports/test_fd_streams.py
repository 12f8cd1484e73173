from __future__ import annotations

import functools
import os
import socket
import sys
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from trio_mcp.transports._fd_streams import (
    PIPE_BUF,
    READ_SIZE,
    FdReceiveStream,
    FdSendStream,
    mode_for,
    widen_pipe,
)

if TYPE_CHECKING:
    from pathlib import Path

    from trio_mcp.transports._fd_streams import Mode

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX descriptors")

MODES = pytest.mark.parametrize("mode", ["poll", "thread"])
BIG = bytes(range(256)) * 8192  # 2 MiB


@pytest.fixture(params=["nowait", "no nowait"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with and without RWF_NOWAIT, as kernels differ."""
    if request.param == "no nowait":
        monkeypatch.setattr("trio_mcp.transports._fd_streams._RWF_NOWAIT", 0)


def open_pipe(mode: Mode | None = None) -> tuple[FdReceiveStream, FdSendStream]:
    reading, writing = os.pipe()
    return FdReceiveStream(reading, mode), FdSendStream(writing, mode)


def open_socket_pair() -> tuple[FdReceiveStream, FdSendStream]:
    left, right = socket.socketpair()
    return FdReceiveStream(left.detach()), FdSendStream(right.detach())


async def send_and_close(stream: FdSendStream, data: bytes) -> None:
    await stream.send_all(data)
    await stream.aclose()


async def receive_all(stream: FdReceiveStream) -> bytes:
    return b"".join([chunk async for chunk in stream])


@pytest.mark.parametrize("open_pair", [open_pipe, open_socket_pair])
async def test_what_is_sent_arrives(open_pair: object, kernel: None) -> None:
    assert callable(open_pair)
    reading, writing = open_pair()
    async with reading, writing, trio.open_nursery() as nursery:
        nursery.start_soon(send_and_close, writing, BIG)
        assert await receive_all(reading) == BIG


async def test_what_is_sent_by_threads_arrives() -> None:
    reading, writing = open_pipe("thread")
    async with reading, writing, trio.open_nursery() as nursery:
        nursery.start_soon(send_and_close, writing, BIG)
        assert await receive_all(reading) == BIG


async def test_a_terminal_works(kernel: None) -> None:
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    async with FdReceiveStream(slave) as reading, FdSendStream(master) as writing:
        await writing.send_all(b'{"a":1}\n')
        assert await reading.receive_some() == b'{"a":1}\n'


async def test_files_and_devices_work(tmp_path: Path, kernel: None) -> None:
    path = tmp_path / "file"
    async with FdSendStream(os.open(path, os.O_WRONLY | os.O_CREAT)) as writing:
        with trio.testing.assert_checkpoints():
            await writing.send_all(BIG)
        await writing.wait_send_all_might_not_block()
    async with FdReceiveStream(os.open(path, os.O_RDONLY)) as reading:
        assert await receive_all(reading) == BIG
        with trio.testing.assert_checkpoints():
            assert await reading.receive_some() == b""
    async with FdReceiveStream(os.open(os.devnull, os.O_RDONLY)) as null:
        assert await null.receive_some() == b""
    async with FdSendStream(os.open(os.devnull, os.O_WRONLY)) as null_sink:
        await null_sink.send_all(BIG)
        await null_sink.wait_send_all_might_not_block()


async def test_the_flags_of_a_shared_pipe_are_left_alone(kernel: None) -> None:
    reading_fd, writing_fd = os.pipe()
    with os.fdopen(os.dup(reading_fd)), os.fdopen(os.dup(writing_fd)):
        reading, writing = FdReceiveStream(reading_fd), FdSendStream(writing_fd)
        async with reading, writing, trio.open_nursery() as nursery:
            nursery.start_soon(writing.send_all, BIG)
            await reading.receive_some()
            assert os.get_blocking(reading_fd)
            assert os.get_blocking(writing_fd)
            nursery.cancel_scope.cancel()


async def test_a_pipe_that_somebody_made_non_blocking_works(kernel: None) -> None:
    reading_fd, writing_fd = os.pipe()
    os.set_blocking(reading_fd, False)
    os.set_blocking(writing_fd, False)
    reading, writing = FdReceiveStream(reading_fd), FdSendStream(writing_fd)
    async with reading, writing, trio.open_nursery() as nursery:
        nursery.start_soon(send_and_close, writing, BIG)
        assert await receive_all(reading) == BIG


async def test_a_full_pipe_blocks_the_task_and_not_the_loop(kernel: None) -> None:
    reading, writing = open_pipe()
    async with reading, writing, trio.open_nursery() as nursery:
        nursery.start_soon(writing.send_all, BIG)
        await trio.testing.wait_all_tasks_blocked(0.01)
        with pytest.raises(trio.BusyResourceError):
            await writing.send_all(b"x")
        nursery.cancel_scope.cancel()


async def test_it_waits_for_room(kernel: None) -> None:
    reading, writing = open_pipe()
    async with reading, writing:
        await writing.wait_send_all_might_not_block()
        with trio.move_on_after(0.3):
            await writing.send_all(BIG)
        with trio.move_on_after(0.05) as scope:
            await writing.wait_send_all_might_not_block()
        assert scope.cancelled_caught
        await reading.receive_some(READ_SIZE)
        await writing.wait_send_all_might_not_block()


async def test_a_small_write_into_a_full_pipe_is_whole_or_not_at_all(kernel: None) -> None:
    reading, writing = open_pipe()
    async with reading, writing:
        written = 0
        with trio.move_on_after(0.1) as scope:
            while True:
                await writing.send_all(b"x" * (PIPE_BUF - 1))
                written += PIPE_BUF - 1
        assert scope.cancelled_caught
        await writing.aclose()
        assert len(await receive_all(reading)) == written


@pytest.mark.parametrize("payload", [b"x", BIG])
async def test_a_broken_pipe_is_told(payload: bytes, kernel: None) -> None:
    reading, writing = open_pipe()
    await reading.aclose()
    async with writing:
        for _ in range(2):
            with pytest.raises(trio.BrokenResourceError) as caught:
                await writing.send_all(payload)
            assert isinstance(caught.value.__cause__, BrokenPipeError)


async def test_a_pipe_that_breaks_while_it_is_full(kernel: None) -> None:
    reading, writing = open_pipe()
    async with writing, trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            with pytest.raises(trio.BrokenResourceError):
                await writing.send_all(BIG)

        await trio.testing.wait_all_tasks_blocked(0.01)
        await reading.aclose()


async def test_closing_wakes_who_waits(kernel: None) -> None:
    reading, writing = open_pipe()
    async with trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await writing.send_all(BIG)

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            other, keeps_open = open_pipe()
            nursery.start_soon(close_when_blocked, other, keeps_open)
            with pytest.raises(trio.ClosedResourceError):
                await other.receive_some()

        await trio.testing.wait_all_tasks_blocked(0.01)
        await writing.aclose()
    await reading.aclose()


async def close_when_blocked(*streams: trio.abc.AsyncResource) -> None:
    await trio.testing.wait_all_tasks_blocked(0.01)
    for stream in streams:
        await stream.aclose()


@MODES
async def test_what_is_closed_stays_closed(mode: Mode) -> None:
    reading, writing = open_pipe(mode)
    for stream in (reading, writing):
        with trio.testing.assert_checkpoints():
            await stream.aclose()
        await stream.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await reading.receive_some()
    with pytest.raises(trio.ClosedResourceError):
        await writing.send_all(b"x")
    with pytest.raises(trio.ClosedResourceError):
        await writing.wait_send_all_might_not_block()


@MODES
async def test_every_call_is_a_checkpoint(mode: Mode) -> None:
    reading, writing = open_pipe(mode)
    async with reading, writing:
        with trio.testing.assert_checkpoints():
            await writing.send_all(b"x")
        with trio.testing.assert_checkpoints():
            await writing.wait_send_all_might_not_block()
        with trio.testing.assert_checkpoints():
            await reading.receive_some()
        with trio.CancelScope() as scope:
            scope.cancel()
            await writing.send_all(b"never")
        await writing.send_all(b"sent")
        assert await reading.receive_some() == b"sent"


async def test_a_thread_left_behind_closes_what_it_used() -> None:
    reading_fd, writing_fd = os.pipe()
    reading = FdReceiveStream(reading_fd, "thread")
    with trio.move_on_after(0.05):
        await reading.receive_some()
    await reading.aclose()
    os.fstat(reading_fd)  # the thread still reads from it
    os.write(writing_fd, b"x")
    os.close(writing_fd)
    # It holds its place until it is done.
    await reading._owned._limiter.acquire()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reading_fd)


async def test_a_descriptor_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    async with FdReceiveStream(os.open(tmp_path, os.O_RDONLY), "direct") as folder:
        with pytest.raises(trio.BrokenResourceError, match="cannot read: Is a directory"):
            await folder.receive_some()
        with pytest.raises(ValueError, match="at least 1"):
            await folder.receive_some(0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        mode_for(10_000)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us")
async def test_pipes_are_widened_where_possible(tmp_path: Path) -> None:
    import fcntl

    reading, writing = os.pipe()
    widen_pipe(reading)
    assert fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ) == READ_SIZE
    os.close(reading)
    os.close(writing)
    widen_pipe(writing)  # closed by now: nothing happens


async def test_a_hang_up_shows_behind_what_was_not_read(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    stream = FdReceiveStream(read_end)
    os.write(write_end, b"unread")
    assert not stream.hung_up
    os.close(write_end)
    assert stream.hung_up
    assert await stream.receive_some() == b"unread"
    assert stream.hung_up
    assert await stream.receive_some() == b""
    await stream.aclose()
    # Nobody knows it of a file.
    file = FdReceiveStream(os.open(tmp_path, os.O_RDONLY), "direct")
    assert not file.hung_up
    await file.aclose()
