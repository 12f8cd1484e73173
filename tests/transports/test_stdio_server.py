from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp._codec._envelope import Malformed
from trio_mcp.transports import StdioServerParameters, stdio_client, stdio_server
from trio_mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX descriptors")

NOTE = JSONRPCNotification(method="n")

# Answers each request with what the expression in its method gives.
SERVER = f"""
import os, subprocess, sys
sys.path[:0] = {sys.path!r}
import trio
from trio_mcp.transports import stdio_server, Malformed
from trio_mcp.types import JSONRPCNotification, JSONRPCResponse, JSONRPCRequest

def flags(fd):
    import fcntl
    return fcntl.fcntl(fd, fcntl.F_GETFL)

def kind(fd):
    return os.readlink(f"/proc/self/fd/{{fd}}")

print("printed before")
BEFORE = (kind(0), kind(1), flags(0), flags(1))

async def main():
    async with stdio_server() as channel:
        try:
            while True:
                for message in await channel.receive():
                    if isinstance(message, Malformed):
                        params = {{"code": message.code}}
                        await channel.send([JSONRPCNotification(method="bad", params=params)])
                        continue
                    result = {{"value": eval(message.method)}}
                    await channel.send([JSONRPCResponse(id=message.id, result=result)])
        except trio.EndOfChannel:
            print("printed at the end")

trio.run(main)
assert BEFORE == (kind(0), kind(1), flags(0), flags(1)), "they are not put back"
assert os.get_inheritable(0) and os.get_inheritable(1)
sys.stderr.write("done")
"""


COMMAND = [sys.executable, "-c", SERVER]


@pytest.fixture(autouse=True)
def print_is_buffered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


def run_server(data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(COMMAND, input=data, capture_output=True, timeout=25, check=False)


@contextlib.contextmanager
def popen(**streams: Any) -> Generator[subprocess.Popen[bytes], None, None]:
    with subprocess.Popen(COMMAND, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def request(number: int, expression: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": expression}).encode() + b"\n"


def ask(*expressions: str) -> tuple[list[Any], bytes]:
    """Have a server evaluate expressions; return their values, and its stderr."""
    requests = [request(number, each) for number, each in enumerate(expressions)]
    ran = run_server(b"".join(requests))
    assert ran.returncode == 0, ran.stderr.decode()
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["id"] for line in lines] == list(range(len(expressions)))
    return [line["result"]["value"] for line in lines], ran.stderr


@pytest.mark.case("C003", "C004")
@pytest.mark.req("R-081")
@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        ("print('hello')", b"hello\n"),
        ("sys.stdout.write('no newline')", b"no newline"),
        ("os.write(1, b'raw')", b"raw"),
        ("os.system('echo from a child')", b"from a child\n"),
        ("subprocess.run(['echo', 'from another'], check=True) and 1", b"from another\n"),
        ("__import__('ctypes').CDLL(None).puts(b'from C') * 0", b"from C\n"),
    ],
)
def test_what_is_printed_does_not_reach_the_wire(expression: str, printed: bytes) -> None:
    values, stderr = ask(expression, "1 + 1")
    assert values[1] == 2
    assert printed in stderr
    assert stderr.startswith(b"printed before\n")
    assert b"printed at the end\n" in stderr
    assert stderr.endswith(b"done")


@pytest.mark.case("C003")
@pytest.mark.parametrize(
    "expression",
    [
        (
            "subprocess.run([sys.executable, '-c', 'import sys; print(len(sys.stdin.read()))'],"
            " stdout=subprocess.PIPE).stdout.decode().strip()"
        ),
        "os.system('cat >/dev/null')",
        "len(sys.stdin.read())",
        "len(os.read(0, 100))",
    ],
)
def test_a_child_that_reads_stdin_sees_its_end_at_once(expression: str) -> None:
    values, _ = ask(expression, "'next'")
    assert int(values[0]) == 0
    assert values[1] == "next"


@pytest.mark.case("C003")
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_wire_is_private() -> None:
    (zero, one, two, inherited), _ = ask(
        "kind(0)",
        "kind(1) == kind(2)",
        "[fd for fd in range(3, 40) if os.path.exists(f'/proc/self/fd/{fd}') and os.get_inheritable(fd)]",
        "subprocess.run(['ls', '/proc/self/fd'], close_fds=False, stdout=subprocess.PIPE)"
        ".stdout.decode().split()",
    )
    assert zero == os.devnull
    assert one is True
    assert two == []
    assert set(inherited) <= {"0", "1", "2", "3"}  # 3 is the folder that `ls` reads


@pytest.mark.case("C006")
def test_the_wire_has_no_carriage_return() -> None:
    ran = run_server(request(1, "'a\\r\\nb'") + request(2, "2"))
    assert b"\r" not in ran.stdout
    assert ran.stdout.count(b"\n") == 2
    assert ran.stdout.endswith(b"\n")


@pytest.mark.case("C005")
def test_bytes_that_are_no_text_do_not_end_the_server() -> None:
    ran = run_server(b"\xff\xfe\n" + request(1, "1") + b"\x00\n[]\n" + request(2, "2"))
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line.get("id", line.get("params")) for line in lines] == [
        {"code": -32700},
        1,
        {"code": -32700},
        {"code": -32600},
        2,
    ]
    assert ran.returncode == 0


def test_carriage_returns_and_a_byte_order_mark_are_forgiven() -> None:
    ran = run_server(b"\xef\xbb\xbf" + request(1, "1").replace(b"\n", b"\r\n") + b"\r\n")
    assert json.loads(ran.stdout)["result"] == {"value": 1}


def test_files_serve_as_stdin_and_stdout(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(request(1, "1") + request(2, "'x' * 300_000").rstrip(b"\n"))
    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        stdout.write(b"kept\n")
        stdout.flush()
        ran = subprocess.run(COMMAND, stdin=stdin, stdout=stdout, timeout=25, check=False)
    assert ran.returncode == 0
    kept, first, second = (tmp_path / "out").read_bytes().splitlines()
    assert kept == b"kept"
    assert json.loads(first)["id"] == 1
    assert len(json.loads(second)["result"]["value"]) == 300_000


def test_the_null_device_serves_as_both() -> None:
    with Path(os.devnull).open("r+b") as null:
        ran = subprocess.run(COMMAND, stdin=null, stdout=null, timeout=25, check=False)
    assert ran.returncode == 0


def test_a_socket_serves_as_both() -> None:
    here, there = socket.socketpair()
    with here, there, popen(stdin=there, stdout=there) as process:
        there.close()
        here.sendall(request(1, "'x' * 1_000_000"))
        data = b""
        while not data.endswith(b"\n"):
            data += here.recv(1 << 20)
        assert len(json.loads(data)["result"]["value"]) == 1_000_000
        here.shutdown(socket.SHUT_WR)
        assert process.wait(25) == 0


def test_stderr_may_be_the_same_pipe() -> None:
    # O_NONBLOCK on the shared pipe would make the writes to stderr fail.
    expression = "[sys.stderr.write('e' * 999 + '\\n') for _ in range(300)] and 'x' * 300_000"
    pipe = subprocess.PIPE
    with popen(stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT) as process:
        output, _ = process.communicate(request(1, expression), timeout=25)
    assert process.returncode == 0
    assert output.count(b"e" * 999 + b"\n") == 300
    assert b"BlockingIOError" not in output


def test_a_closed_stderr_is_no_obstacle() -> None:
    command = f'{sys.executable} -c "$PROGRAM" 2>&-'
    program = SERVER.replace('sys.stderr.write("done")', "")
    ran = subprocess.run(
        ["sh", "-c", command],
        input=request(1, "print('x')") + request(2, "2"),
        stdout=subprocess.PIPE,
        env={**os.environ, "PROGRAM": program},
        timeout=25,
        check=False,
    )
    assert ran.returncode == 0
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == [1, 2]


USES_TRIO_ON = """
import os, trio
from trio_mcp.transports import stdio_server

async def main():
    for _ in range(2):
        try:
            async with stdio_server():
                print("it opened")
        except OSError as exc:
            os.write(2, f"{exc}\\n".encode())
    # The descriptors that it opened meanwhile are as they were.
    await trio.sleep(0.01)
    await trio.to_thread.run_sync(os.write, 2, b"goes on")

trio.run(main)
"""
RUN = """
from trio_mcp.mcpserver import MCPServer
MCPServer("x").run()
"""


def run_with_closed(closed: str, program: str) -> tuple[int, list[str]]:
    command = f'{sys.executable} -c "$PROGRAM" {closed}'
    ran = subprocess.run(
        ["sh", "-c", command],
        input=b"\n",
        capture_output=True,
        env={**os.environ, "PROGRAM": program},
        timeout=25,
        check=False,
    )
    assert ran.stdout == b""
    return ran.returncode, ran.stderr.decode().splitlines()


@pytest.mark.parametrize(
    ("closed", "name"), [("<&-", "stdin"), (">&-", "stdout"), ("<&- >&-", "stdin")]
)
def test_a_closed_stdin_or_stdout_is_an_error_and_harms_nothing(closed: str, name: str) -> None:
    error = f"{name} is closed: a server on stdio talks with its client over stdin and stdout"
    code, stderr = run_with_closed(closed, USES_TRIO_ON)
    assert (code, stderr) == (0, [f"[Errno 9] {error}"] * 2 + ["goes on"])
    code, stderr = run_with_closed(closed, RUN)
    assert (code, stderr[-1]) == (1, f"OSError: [Errno 9] {error}")
    assert "Exception Group" not in "".join(stderr)


def test_other_ends_do_not_need_stdin_and_stdout() -> None:
    program = """
import io, os, trio
from trio_mcp.transports import stdio_server

async def main():
    out = io.BytesIO()
    async with stdio_server(io.BytesIO(b"nonsense"), out) as channel:
        await channel.receive()
    os.write(2, b"fine")

trio.run(main)
"""
    assert run_with_closed("<&- >&-", program) == (0, ["fine"])


def test_a_stderr_that_breaks_does_not_send_prints_to_the_wire() -> None:
    program = SERVER.replace('print("printed before")', "").replace('sys.stderr.write("done")', "")
    reading, writing = os.pipe()
    os.close(reading)
    expression = "sys.stdout.reconfigure(line_buffering=False) or print('lost', end='')"
    with os.fdopen(writing, "wb") as stderr:
        ran = subprocess.run(
            [sys.executable, "-c", program],
            input=request(1, expression) + request(2, "2"),
            stdout=subprocess.PIPE,
            stderr=stderr,
            timeout=25,
            check=False,
        )
    assert ran.returncode == 0
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == [1, 2]


@pytest.mark.req("R-091")
def test_the_end_of_stdin_ends_it_promptly() -> None:
    pipe = subprocess.PIPE
    with popen(stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request(1, "1"))
        process.stdin.flush()
        process.stdout.readline()
        began = time.monotonic()
        process.stdin.close()
        assert process.wait(25) == 0
        assert time.monotonic() - began < SOON


@pytest.mark.case("C002")
def test_the_death_of_the_parent_ends_it() -> None:
    # The parent has a reader for the server's stdout that outlives it: us.
    parent = f"""
import subprocess, sys, time
process = subprocess.Popen([sys.executable, "-c", {SERVER!r}], stdin=subprocess.PIPE)
process.stdin.write({request(1, "os.getpid()")!r})
process.stdin.flush()
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["id"] == 1
        began = time.monotonic()
        process.kill()
        assert process.stdout.read() == b""  # it has left
        assert time.monotonic() - began < SOON


@pytest.mark.case("C007")
async def test_long_messages_pass_in_both_directions() -> None:
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    async with stdio_client(server, errlog=None, termination_timeout=5) as channel:
        await channel.send([JSONRPCRequest(id=1, method="'x' * (8 << 20)")])
        (response,) = await channel.receive()
        assert isinstance(response, JSONRPCResponse)
        assert len(response.result["value"]) == 8 << 20
        argument = "len('" + "é" * (8 << 20) + "')"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.send, [JSONRPCRequest(id=2, method=argument)])
            (response,) = await channel.receive()
        assert response == JSONRPCResponse(id=2, result={"value": 8 << 20})


async def test_a_client_that_stops_reading_breaks_it() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as stdout:
        async with stdio_server(io.BytesIO(), stdout) as channel:
            with pytest.raises(trio.BrokenResourceError):
                await channel.send([NOTE])


async def binary_files(data: bytes) -> tuple[Any, Any, Callable[[], Awaitable[bytes]]]:
    out = io.BytesIO()

    async def written() -> bytes:
        return out.getvalue()

    return io.BytesIO(data), out, written


async def wrapped_pipes(data: bytes) -> tuple[Any, Any, Callable[[], Awaitable[bytes]]]:
    (r1, w1), (r2, w2) = os.pipe(), os.pipe()
    os.write(w1, data)
    os.close(w1)
    stdout = os.fdopen(w2, "w")
    stdin = os.fdopen(r1)

    async def written() -> bytes:
        stdout.close()
        stdin.close()
        with os.fdopen(r2, "rb") as out:
            return await trio.to_thread.run_sync(out.read)

    return trio.wrap_file(stdin), trio.wrap_file(stdout), written


async def trio_streams(data: bytes) -> tuple[Any, Any, Callable[[], Awaitable[bytes]]]:
    near, far = trio.testing.memory_stream_pair()
    await near.send_all(data)
    await near.send_eof()

    async def written() -> bytes:
        return b"".join([chunk async for chunk in near])

    return far, far, written


@pytest.mark.req("R-079")
@pytest.mark.parametrize("open_ends", [binary_files, wrapped_pipes, trio_streams])
async def test_other_ends_than_stdin_and_stdout(open_ends: Any) -> None:
    before = {fd: os.fstat(fd).st_ino for fd in (0, 1)}
    stdin, stdout, written = await open_ends(b'{"jsonrpc":"2.0","method":"n"}\nnonsense\n')
    async with stdio_server(stdin, stdout) as channel:
        assert {fd: os.fstat(fd).st_ino for fd in (0, 1)} == before
        received: list[object] = []
        while len(received) < 2:
            received += await channel.receive()
        assert received[0] == NOTE
        assert isinstance(received[1], Malformed)
        with pytest.raises(trio.EndOfChannel):
            await channel.receive()
        await channel.send([NOTE])
    with pytest.raises(trio.ClosedResourceError):
        await channel.receive()
    with pytest.raises(trio.ClosedResourceError):
        await channel.send([NOTE])
    assert await written() == b'{"jsonrpc":"2.0","method":"n"}\n'


async def test_text_files_without_descriptor_are_refused() -> None:
    with pytest.raises(TypeError, match="stdin has to be a binary file"):
        async with stdio_server(io.StringIO(), io.BytesIO()):  # type: ignore[arg-type]
            pytest.fail("it opened")
    with pytest.raises(TypeError, match="stdout has to be a binary file"):
        async with stdio_server(io.BytesIO(), io.StringIO()):  # type: ignore[arg-type]
            pytest.fail("it opened")


async def test_a_file_that_breaks_is_a_broken_channel() -> None:
    out = io.BytesIO()
    out.close()
    async with stdio_server(io.BytesIO(), out) as channel:
        with pytest.raises(trio.BrokenResourceError):
            await channel.send([NOTE])


class SlowFile(io.BytesIO):
    """A binary file that has what it has when it is told so."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.go_on = threading.Event()

    def readline(self, size: int | None = -1, /) -> bytes:
        self.go_on.wait(5)
        return super().readline(size)


async def test_a_cancelled_receive_from_a_file_has_lost_nothing() -> None:
    stdin = SlowFile(b'{"jsonrpc":"2.0","method":"n"}\n')
    async with stdio_server(stdin, io.BytesIO()) as channel:
        for _ in range(3):
            with trio.move_on_after(0.01):
                await channel.receive()
        stdin.go_on.set()
        assert await channel.receive() == [NOTE]
        with pytest.raises(trio.EndOfChannel):
            await channel.receive()


async def test_closing_does_not_wait_for_a_file_nor_close_it() -> None:
    stdin, stdout = SlowFile(b""), io.BytesIO()
    async with stdio_server(stdin, stdout) as channel, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def receive() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await channel.receive()

        await trio.testing.wait_all_tasks_blocked()
        await channel.send([NOTE])
        await channel.aclose()
        with pytest.raises(trio.ClosedResourceError):
            await channel.send([NOTE])
    stdin.go_on.set()
    assert stdout.getvalue().count(b"\n") == 1


async def test_standard_descriptors_serve_one_session_at_a_time(
    capfd: pytest.CaptureFixture[str],
) -> None:
    inodes = [os.fstat(fd).st_ino for fd in (0, 1)]
    for _ in range(2):
        async with stdio_server():
            os.write(1, b"to stderr\n")
            with pytest.raises(RuntimeError, match="another session"):
                async with stdio_server():
                    pytest.fail("it opened")
        assert [os.fstat(fd).st_ino for fd in (0, 1)] == inodes
    os.write(1, b"to stdout\n")
    captured = capfd.readouterr()
    assert captured.out == "to stdout\n"
    assert captured.err == "to stderr\nto stderr\n"


async def test_the_error_of_the_body_passes_and_all_is_put_back() -> None:
    inodes = [os.fstat(fd).st_ino for fd in (0, 1)]

    async def fail() -> None:
        with trio.CancelScope() as scope:
            async with stdio_server():
                scope.cancel()
                raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await fail()
    assert [os.fstat(fd).st_ino for fd in (0, 1)] == inodes
