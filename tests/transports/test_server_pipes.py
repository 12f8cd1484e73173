"""The pipes of a server that has exited end, also when somebody else holds them."""

from __future__ import annotations

import functools
import os
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from trio_mcp.transports import _server_pipes
from trio_mcp.transports._server_pipes import (
    LAST_WORDS_PAUSE,
    LAST_WORDS_SIZE,
    LAST_WORDS_TIMEOUT,
    PipeFromServer,
    PipeToServer,
)

if TYPE_CHECKING:
    import io
    from collections.abc import AsyncGenerator

    from trio.testing import MockClock

posix_pipes = pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")

Ends = tuple[trio.abc.SendStream, PipeFromServer]


@pytest.fixture
def ends() -> Ends:
    """The end that somebody still holds, and ours."""
    held, receiving = trio.testing.memory_stream_one_way_pair()
    return held, PipeFromServer(receiving)


async def receive_rest(pipe: PipeFromServer) -> bytes:
    return b"".join([chunk async for chunk in pipe])


async def test_what_is_in_the_pipe_still_counts(autojump_clock: MockClock, ends: Ends) -> None:
    held, pipe = ends
    await held.send_all(b"x" * 100_000)
    pipe.end()
    assert await receive_rest(pipe) == b"x" * 100_000
    assert trio.current_time() == pytest.approx(LAST_WORDS_PAUSE)
    assert pipe.held


async def test_who_receives_while_it_exits_is_woken(autojump_clock: MockClock, ends: Ends) -> None:
    pipe = ends[1]
    async with trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            await trio.sleep(5)
            pipe.end()

        assert await pipe.receive_some() == b""
    assert trio.current_time() == pytest.approx(5 + LAST_WORDS_PAUSE)


async def test_what_follows_closely_counts_too(autojump_clock: MockClock, ends: Ends) -> None:
    held, pipe = ends
    pipe.end()
    async with trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            for pause, word in [(0.15, b"a"), (0.15, b"b"), (0.25, b"c")]:
                await trio.sleep(pause)
                await held.send_all(word)

        assert await receive_rest(pipe) == b"ab"
        assert trio.current_time() == pytest.approx(0.3 + LAST_WORDS_PAUSE)


async def test_who_keeps_writing_a_little_does_not_keep_it_open(
    autojump_clock: MockClock, ends: Ends
) -> None:
    held, pipe = ends
    pipe.end()
    async with trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            while True:
                await held.send_all(b".")
                await trio.sleep(0.1)

        assert set(await receive_rest(pipe)) == {ord(".")}
        assert trio.current_time() == pytest.approx(LAST_WORDS_TIMEOUT)
        nursery.cancel_scope.cancel()


async def test_who_keeps_writing_much_does_not_keep_it_open(
    autojump_clock: MockClock, ends: Ends
) -> None:
    held, pipe = ends
    pipe.end()
    async with trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            while True:
                await held.send_all(b"x" * 50_000)

        received = await receive_rest(pipe)
        assert LAST_WORDS_SIZE <= len(received) <= LAST_WORDS_SIZE + 200_000
        nursery.cancel_scope.cancel()


async def test_a_pipe_that_nobody_else_holds_ends_at_once(
    autojump_clock: MockClock, ends: Ends
) -> None:
    held, pipe = ends
    await held.send_all(b"last")
    await held.aclose()
    pipe.end()
    assert await receive_rest(pipe) == b"last"
    assert trio.current_time() == 0
    assert not pipe.held


async def test_without_patience_it_ends_at_once(autojump_clock: MockClock, ends: Ends) -> None:
    pipe = ends[1]
    pipe.end(patience=0)
    assert await receive_rest(pipe) == b""
    assert trio.current_time() == 0


async def test_it_ends_for_good(autojump_clock: MockClock, ends: Ends) -> None:
    held, pipe = ends
    pipe.end()
    assert await pipe.receive_some() == b""
    await held.send_all(b"too late")
    with trio.testing.assert_checkpoints():
        assert await pipe.receive_some() == b""


@asynccontextmanager
async def open_real_ends() -> AsyncGenerator[tuple[io.FileIO, PipeFromServer], None]:
    reading, writing = os.pipe()
    async with PipeFromServer(trio.lowlevel.FdStream(reading)) as pipe:
        with os.fdopen(writing, "wb", buffering=0) as held:
            yield held, pipe


class HeldUp(trio.abc.Instrument):
    """Makes the event loop miss its deadlines, as code does that waits without Trio."""

    def before_io_wait(self, timeout: float) -> None:
        time.sleep(0.05)


@posix_pipes
async def test_an_event_loop_that_is_held_up_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_server_pipes, "LAST_WORDS_PAUSE", 0.02)
    async with open_real_ends() as (held, pipe):
        held.write(b"there")
        pipe.end()
        instrument = HeldUp()
        trio.lowlevel.add_instrument(instrument)
        try:
            assert await receive_rest(pipe) == b"there"
        finally:
            trio.lowlevel.remove_instrument(instrument)


@posix_pipes
async def test_without_patience_what_is_there_is_received() -> None:
    async with open_real_ends() as (held, pipe):
        held.write(b"there")
        pipe.end(patience=0)
        assert await receive_rest(pipe) == b"there"


async def test_cancelling_loses_nothing(autojump_clock: MockClock, ends: Ends) -> None:
    held, pipe = ends
    for ended in (False, True):
        if ended:
            pipe.end()
        with trio.move_on_after(0.1) as scope:
            await pipe.receive_some()
        assert scope.cancelled_caught
        await held.send_all(b"x")
        assert await pipe.receive_some() == b"x"


@pytest.mark.parametrize("ended", [False, True])
async def test_closed_pipes_say_so(ended: bool, ends: Ends) -> None:
    sending, _receiving = trio.testing.memory_stream_one_way_pair()
    stdin, stdout = PipeToServer(sending), ends[1]
    if ended:
        stdin.end()
        stdout.end()
    await stdin.aclose()
    await stdout.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await stdout.receive_some()
    with pytest.raises(trio.ClosedResourceError):
        await stdin.send_all(b"x")


async def test_who_writes_while_it_exits_is_woken(autojump_clock: MockClock) -> None:
    sending, _receiving = trio.testing.lockstep_stream_one_way_pair()
    pipe = PipeToServer(sending)
    async with trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            await trio.sleep(5)
            pipe.end()

        with pytest.raises(trio.BrokenResourceError):
            await pipe.send_all(b"nobody reads this")
    assert trio.current_time() == pytest.approx(5)
    with trio.testing.assert_checkpoints(), pytest.raises(trio.BrokenResourceError):
        await pipe.send_all(b"x")
    with trio.testing.assert_checkpoints():
        await pipe.wait_send_all_might_not_block()


@asynccontextmanager
async def open_real_stdin() -> AsyncGenerator[tuple[io.FileIO, PipeToServer], None]:
    reading, writing = os.pipe()
    async with PipeToServer(trio.lowlevel.FdStream(writing)) as pipe:
        with os.fdopen(reading, "rb", buffering=0) as held:
            yield held, pipe


@posix_pipes
async def test_what_a_pipe_has_no_room_for_follows() -> None:
    data = bytes(range(256)) * 4_096
    received = bytearray()
    async with open_real_stdin() as (held, pipe), trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            while len(received) < len(data) + 1:
                await trio.lowlevel.wait_readable(held)
                received.extend(held.read(50_000))

        with trio.testing.assert_checkpoints():
            await pipe.send_all(data)
        with trio.testing.assert_checkpoints():
            await pipe.send_all(b"!")
    assert received == data + b"!"


@posix_pipes
async def test_two_writers_do_not_mix() -> None:
    async with open_real_stdin() as (held, pipe), trio.open_nursery() as nursery:
        nursery.start_soon(pipe.send_all, b"x" * 1_000_000)
        await trio.testing.wait_all_tasks_blocked()
        held.read(100_000)
        with pytest.raises(trio.BusyResourceError):
            await pipe.send_all(b"y")
        nursery.cancel_scope.cancel()


@posix_pipes
async def test_a_cancelled_writer_writes_nothing() -> None:
    async with open_real_stdin() as (held, pipe):
        with trio.CancelScope() as scope:
            scope.cancel()
            await pipe.send_all(b"not this")
        await pipe.send_all(b"but this")
        assert held.read(100) == b"but this"


@posix_pipes
async def test_whoever_waits_for_a_real_pipe_is_woken_when_the_server_exits() -> None:
    async with open_real_ends() as (_held, pipe), trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            await trio.testing.wait_all_tasks_blocked()
            pipe.end(patience=0)

        assert await pipe.receive_some() == b""
        assert pipe.held
    async with open_real_stdin() as (_read, stdin), trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            await trio.testing.wait_all_tasks_blocked()
            stdin.end()

        with pytest.raises(trio.BrokenResourceError, match="has exited"):
            await stdin.send_all(b"x" * 1_000_000)


@posix_pipes
async def test_real_pipes_that_are_closed_or_broken_say_so() -> None:
    async with open_real_ends() as (_held, pipe), trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            await trio.testing.wait_all_tasks_blocked()
            pipe.close()

        for _attempt in range(2):
            with pytest.raises(trio.ClosedResourceError):
                await pipe.receive_some()
    async with open_real_ends() as (held, pipe):
        held.close()
        with trio.testing.assert_checkpoints():
            assert await pipe.receive_some() == b""
    async with open_real_stdin() as (read, stdin):
        read.close()
        with pytest.raises(trio.BrokenResourceError):
            await stdin.send_all(b"x")
        await stdin.aclose()
        with pytest.raises(trio.ClosedResourceError):
            await stdin.send_all(b"x")
