from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from trio_mcp.transports._stderr import TAIL_SIZE, StderrPump

from ._programs import running

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MEBIBYTE = 1024 * 1024
CHATTY = f"""
import sys
for n in range({MEBIBYTE} // 64):
    sys.stderr.write(f"{{n:063}}\\n")
sys.stderr.flush()
print("done", flush=True)
sys.stdin.read()
"""


async def run_chatty(pump: StderrPump) -> None:
    """Run a program that says "done" only after somebody has read 1 MiB of its stderr."""
    async with running(CHATTY, stderr=pump, termination_timeout=5) as server:
        assert await server.stdout.receive_some(100) == b"done\n"
    assert server.exit_status == 0
    assert pump.tail() == "".join(
        f"{n:063}\n" for n in range((MEBIBYTE - TAIL_SIZE) // 64, MEBIBYTE // 64)
    )


@pytest.mark.case("C008")
async def test_to_a_file(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+") as file:
        file.write("before\n")
        await run_chatty(StderrPump(file))
    text = (tmp_path / "log").read_text()
    assert text.startswith("before\n000")
    assert len(text) == MEBIBYTE + len("before\n")


@pytest.mark.case("C008")
async def test_to_a_function() -> None:
    lines: list[str] = []
    await run_chatty(StderrPump(lines.append))
    assert lines == [f"{n:063}" for n in range(MEBIBYTE // 64)]


@pytest.mark.case("C008")
async def test_to_nowhere() -> None:
    await run_chatty(StderrPump(None))
    with os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") as null:
        await run_chatty(StderrPump(null))


@pytest.mark.case("C008")
async def test_what_is_kept_of_it_takes_little_room() -> None:
    pump = StderrPump(None)
    send, receive = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pump.pump, receive)
        for _ in range(100):
            await send.send_all(b"x" * TAIL_SIZE)
        await send.aclose()
    held = [value for value in vars(pump).values() if isinstance(value, (bytes, bytearray))]
    assert sum(map(len, held)) < 4 * TAIL_SIZE
    assert pump.tail() == "x" * TAIL_SIZE


async def test_to_a_text_file_without_descriptor() -> None:
    file = io.StringIO()
    await run_chatty(StderrPump(file))
    assert len(file.getvalue()) == MEBIBYTE


async def test_to_a_pipe() -> None:
    reading, writing = os.pipe()
    received = bytearray()

    async def read() -> None:
        async with trio.lowlevel.FdStream(reading) as stream:
            async for chunk in stream:
                received.extend(chunk)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        with os.fdopen(writing, "w") as file:
            await run_chatty(StderrPump(file))
            assert os.get_blocking(writing), "it is shared with others, so it is left blocking"
    assert len(received) == MEBIBYTE


async def test_a_pipe_that_nobody_reads_does_not_stop_the_server() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as file, os.fdopen(reading, "rb"):
        await run_chatty(StderrPump(file))


async def test_a_terminal_that_stands_still_does_not_stop_the_server() -> None:
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as file:
        await run_chatty(StderrPump(file))
        # Reading lets the thread that was left behind finish.
        while await trio.to_thread.run_sync(os.read, master, 65536):
            if not select_readable(master):
                break
    os.close(master)


def open_raw_terminal() -> tuple[int, int]:
    pty, tty = pytest.importorskip("pty"), pytest.importorskip("tty")
    master, slave = pty.openpty()
    tty.setraw(slave)
    return master, slave


@pytest.mark.parametrize("open_ends", [open_raw_terminal, os.pipe], ids=["terminal", "pipe"])
async def test_a_pump_that_is_cancelled_and_called_again_writes_all_once(
    open_ends: Callable[[], tuple[int, int]],
) -> None:
    expected = b"".join(b"%07d\n" % number for number in range(20_000))
    reading, writing = open_ends()
    written = bytearray()

    def read_all() -> None:
        while len(written) < len(expected) or select_readable(reading):
            written.extend(os.read(reading, 65536))

    with os.fdopen(writing, "w") as file:
        pump = StderrPump(file)
        send, receive = trio.testing.memory_stream_pair()
        await send.send_all(expected)
        for _ in range(3):
            # It fills up, and the writer waits in the middle of a piece.
            async with trio.open_nursery() as nursery:
                nursery.start_soon(pump.pump, receive)
                await trio.testing.wait_all_tasks_blocked(0.05)
                nursery.cancel_scope.cancel()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pump.pump, receive)
            await send.aclose()
            await trio.to_thread.run_sync(read_all)
        pump.close()
    os.close(reading)
    assert bytes(written) == expected


def select_readable(fd: int) -> bool:
    import select

    return bool(select.select([fd], [], [], 0.1)[0])


async def test_a_file_that_breaks_does_not_stop_the_server() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as file:
        await run_chatty(StderrPump(file))


async def test_a_closed_file_does_not_stop_the_server(caplog: pytest.LogCaptureFixture) -> None:
    file = io.StringIO()
    file.close()
    await run_chatty(StderrPump(file))
    assert [record.message for record in caplog.records] == [
        "errlog failed; the server's stderr is no longer passed to it"
    ]


async def test_a_function_that_turns_out_to_be_async_is_let_go(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def ignore(line: str) -> None:
        pytest.fail(f"{line} was waited for")

    await run_chatty(StderrPump(ignore))
    [record] = caplog.records
    assert record.exc_info is not None
    assert repr(record.exc_info[1]) == "TypeError('it is async')"


async def test_what_waits_for_a_slow_reader_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trio_mcp.transports._stderr._MAX_BACKLOG", 50_000)
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as file, os.fdopen(reading, "rb") as read_end:
        pump = StderrPump(file)
        file.close()
        send, receive = trio.testing.memory_stream_pair()

        async def pump_all() -> None:
            await pump.pump(receive)
            pump.close()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pump_all)
            for letter in b"abcdefghijk":
                await send.send_all(bytes([letter]) * 20_000)
                await trio.testing.wait_all_tasks_blocked(0.01)
            await send.aclose()
            data = await trio.to_thread.run_sync(read_end.read)
    assert data.startswith(b"a" * 20_000 + b"b" * 20_000)
    assert data.endswith(
        b"bytes of stderr dropped]\n" + b"i" * 10_000 + b"j" * 20_000 + b"k" * 20_000
    )


async def test_lines_are_whole_whatever_the_chunks() -> None:
    lines: list[str] = []
    pump = StderrPump(lines.append)
    send, receive = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pump.pump, receive)
        for byte in "é\r\nü\n\nlast".encode():
            await send.send_all(bytes([byte]))
        await send.send_all(b"\xff")
        await send.aclose()
    pump.close()
    assert lines == ["é", "ü", "", "last\ufffd"]


async def test_a_line_without_end_is_cut() -> None:
    lines: list[str] = []
    pump = StderrPump(lines.append)
    send, receive = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pump.pump, receive)
        for _ in range(5):
            await send.send_all(b"x" * 50_000)
        await send.aclose()
    pump.close()
    assert "".join(lines) == "x" * 250_000
    assert max(map(len, lines)) <= TAIL_SIZE + 64 * 1024


async def test_a_character_is_not_torn_for_a_text_file() -> None:
    file = io.StringIO()
    pump = StderrPump(file)
    send, receive = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pump.pump, receive)
        for byte in "日本".encode():
            await send.send_all(bytes([byte]))
        await send.aclose()
    pump.close()
    assert file.getvalue() == "日本"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_stderr_is_read_while_the_server_is_being_ended() -> None:
    program = """
import sys
sys.stdin.read()
sys.stderr.write("x" * 500_000 + "good bye")
sys.stderr.flush()
sys.exit(0)
"""
    file = io.StringIO()
    pump = StderrPump(file)
    async with running(program, stderr=pump, termination_timeout=5) as server:
        pass
    assert server.exit_status == 0
    assert file.getvalue() == "x" * 500_000 + "good bye"
