from __future__ import annotations

import functools
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp._codec._envelope import Malformed
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.transports import StdioServerParameters, stdio_client
from trio_mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from ._programs import DEAF_TO_EOF, ECHO, STUBBORN, is_unreaped

if TYPE_CHECKING:
    from trio_mcp.transports import Channel

NOTE = JSONRPCNotification(method="n")


def python(program: str, *args: str, **options: Any) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-I", "-S", "-c", program, *args], **options
    )


async def end_of(channel: Channel) -> ConnectionLost:
    """Receive to the end, and return why it came."""

    async def receive_all() -> None:
        while True:
            await channel.receive()

    with pytest.raises(trio.EndOfChannel) as caught:
        await receive_all()
    lost = caught.value.__cause__
    assert isinstance(lost, ConnectionLost)
    return lost


@pytest.mark.req("R-082", "R-542")
async def test_messages_go_there_and_back() -> None:
    async with stdio_client(python(ECHO)) as channel:
        read, write = channel
        await write.send([NOTE, JSONRPCRequest(id="1", method="ü\n\u2028")])
        received: list[object] = []
        while len(received) < 2:
            received += await read.receive()
        assert received == [NOTE, JSONRPCRequest(id="1", method="ü\n\u2028")]
    with pytest.raises(trio.ClosedResourceError):
        await channel.receive()
    with pytest.raises(trio.ClosedResourceError):
        await channel.send([NOTE])


RECORDER = """
import sys
open(sys.argv[1], "wb").write(sys.stdin.buffer.read())
"""


@pytest.mark.case("C006")
@pytest.mark.req("R-080", "R-082")
async def test_the_server_reads_lines_and_nothing_else(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with stdio_client(python(RECORDER, str(record)), termination_timeout=5) as channel:
        await channel.send([NOTE, JSONRPCRequest(id=1, method="m", params={"x": "a\r\nb"})])
    assert record.read_bytes() == (
        b'{"jsonrpc":"2.0","method":"n"}\n'
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":"a\\r\\nb"}}\n'
    )


SHOUTING = """
import sys
out = sys.stdout.buffer
out.write(b"*** Welcome ***\\n\\xff\\xfe\\n")
for line in sys.stdin.buffer:
    out.write(b"DEBUG: got it\\n" + line + b"42\\n")
    out.flush()
"""


@pytest.mark.case("C004")
async def test_what_is_no_message_does_not_end_the_session() -> None:
    async with stdio_client(python(SHOUTING)) as channel:
        for _ in range(3):
            await channel.send([NOTE])
            received: list[object] = []
            while NOTE not in received:
                received += await channel.receive()
            stray = [each for each in received if each != NOTE]
            assert all(isinstance(each, Malformed) and each.excerpt for each in stray)


@pytest.mark.case("C007")
@pytest.mark.parametrize("size", [8 << 20, 16 << 20])
async def test_long_messages_pass(size: int) -> None:
    async with stdio_client(python(ECHO), termination_timeout=5) as channel:
        message = JSONRPCRequest(id=1, method="m", params={"x": "y" * size})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.send, [message])
            assert await channel.receive() == [message]


@pytest.mark.case("C007")
async def test_the_limit_of_a_message_can_be_set() -> None:
    async with stdio_client(python(ECHO), max_line_size=50) as channel:
        await channel.send([JSONRPCRequest(id=9, method="m", params={"x": "y" * 50}), NOTE])
        received: list[object] = []
        while len(received) < 2:
            received += await channel.receive()
        assert isinstance(received[0], Malformed)
        assert received[0].id == 9
        assert received[1] == NOTE


SHOW_ENVIRONMENT = """
import json, os, sys
result = {"env": dict(os.environ), "cwd": os.getcwd()}
print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}), flush=True)
sys.stdin.read()
"""


@pytest.mark.case("C011")
async def test_the_environment_is_a_short_list_and_what_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    server = python(SHOW_ENVIRONMENT, env={"A": "1", "LANG": "de_DE.UTF-8"}, cwd=tmp_path)
    async with stdio_client(server) as channel:
        (response,) = await channel.receive()
    assert isinstance(response, JSONRPCResponse)
    environment = response.result["env"]
    assert environment["PATH"] == os.environ["PATH"]
    assert environment["A"] == "1"
    assert environment["LANG"] == "de_DE.UTF-8"
    assert "SECRET" not in environment
    assert response.result["cwd"] == str(tmp_path)


@pytest.mark.case("C011")
async def test_everything_is_inherited_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    async with stdio_client(python(SHOW_ENVIRONMENT, env={**os.environ})) as channel:
        (response,) = await channel.receive()
    assert isinstance(response, JSONRPCResponse)
    assert response.result["env"]["SECRET"] == "x"


@pytest.mark.case("C012")
@pytest.mark.skipif(sys.platform == "win32", reason="makes a POSIX program")
async def test_the_command_is_looked_for_on_the_path_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "my-server").write_text("#!/bin/sh\nexec cat\n")
    (tmp_path / "my-server").chmod(0o755)
    server = StdioServerParameters(
        command="my-server", env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    )
    async with stdio_client(server) as channel:
        await channel.send([NOTE])
        assert await channel.receive() == [NOTE]


@pytest.mark.case("C010")
async def test_a_missing_command_is_one_plain_error() -> None:
    began = time.monotonic()
    with pytest.raises(MCPError, match=r"^command not found: '/no/such'$") as caught:
        async with stdio_client(StdioServerParameters(command="/no/such")):
            pytest.fail("it started")
    assert isinstance(caught.value, ConnectionLost)
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    assert time.monotonic() - began < SOON


@pytest.mark.case("C010")
async def test_a_server_that_exits_at_once_says_why(capfd: pytest.CaptureFixture[str]) -> None:
    program = "import sys; sys.stderr.write('API_KEY missing\\n'); sys.exit(2)"
    began = time.monotonic()
    async with stdio_client(python(program)) as channel:
        for _ in range(2):
            lost = await end_of(channel)
            assert str(lost) == "server exited with status 2: API_KEY missing"
            assert lost.exit_status == 2
            assert lost.stderr == "API_KEY missing\n"
    assert time.monotonic() - began < SOON
    assert capfd.readouterr().err == "API_KEY missing\n"


@pytest.mark.case("C009")
async def test_a_server_that_dies_in_the_middle_of_a_line() -> None:
    program = """
import os, sys
sys.stdin.readline()
os.write(1, b'{"jsonrpc":"2.0","id":1,"res')
os._exit(3)
"""
    async with stdio_client(python(program), errlog=None) as channel:
        await channel.send([JSONRPCRequest(id=1, method="m")])
        (half,) = await channel.receive()
        assert isinstance(half, Malformed)
        lost = await end_of(channel)
        assert str(lost) == "server exited with status 3"
        with pytest.raises(trio.BrokenResourceError) as caught:
            await channel.send([NOTE])
        assert isinstance(caught.value.__cause__, ConnectionLost)
        assert caught.value.__cause__.exit_status == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (11, "SIGSEGV"), (40, "signal 40")])
async def test_a_server_that_is_killed(number: int, name: str) -> None:
    program = f"import os; os.kill(os.getpid(), {number})"
    async with stdio_client(python(program), errlog=None) as channel:
        lost = await end_of(channel)
        assert str(lost) == f"server was killed by {name}"
        assert lost.exit_status == -number
        assert lost.stderr == ""


async def test_a_server_that_closes_stdout_and_lives_on() -> None:
    program = (
        "import os, sys; os.close(1); sys.stderr.write('hm'); sys.stderr.flush(); sys.stdin.read()"
    )
    async with stdio_client(python(program), errlog=None, termination_timeout=5) as channel:
        began = time.monotonic()
        lost = await end_of(channel)
        assert 1 <= time.monotonic() - began < SOON
        assert str(lost) == "server closed the connection but is still running: hm"
        assert lost.exit_status is None


@pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX processes")
async def test_a_process_that_holds_stderr_open_does_not_delay_the_news() -> None:
    program = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL)
sys.exit("gone")
"""
    async with stdio_client(python(program), errlog=None) as channel:
        began = time.monotonic()
        lost = await end_of(channel)
        assert time.monotonic() - began < SOON
        assert str(lost) == "server exited with status 1: gone"


async def test_a_long_stderr_is_quoted_from_its_end() -> None:
    program = "import sys; sys.exit('\\n'.join(f'{n}: ' + 'x' * 300 for n in range(30)))"
    async with stdio_client(python(program), errlog=None) as channel:
        lost = await end_of(channel)
    assert str(lost).startswith("server exited with status 1:\n…xxx")
    assert str(lost).endswith("\n29: " + "x" * 300)
    assert len(str(lost)) < 2100
    assert lost.stderr is not None
    assert lost.stderr.startswith("0: xxx")


async def test_a_traceback_is_quoted_whole() -> None:
    async with stdio_client(python("raise KeyError('API_KEY')"), errlog=None) as channel:
        lost = await end_of(channel)
    assert str(lost).startswith(
        "server exited with status 1:\nTraceback (most recent call last):\n"
    )
    assert str(lost).endswith("\nKeyError: 'API_KEY'")


@pytest.mark.req("R-083")
async def test_stderr_is_no_error() -> None:
    program = "import sys; sys.stderr.write('ERROR: all is lost\\n'); sys.stderr.flush()\n" + ECHO
    async with stdio_client(python(program), errlog=None) as channel:
        await channel.send([NOTE])
        assert await channel.receive() == [NOTE]


async def test_stderr_goes_where_sys_stderr_goes_now(capsys: pytest.CaptureFixture[str]) -> None:
    async with stdio_client(python("import sys; sys.exit('here')")) as channel:
        await end_of(channel)
    assert capsys.readouterr().err == "here\n"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_aclose_ends_the_server_in_bounded_time() -> None:
    program = "import os\nos.write(1, b'%d\\n' % os.getpid())\n" + STUBBORN
    timeouts = {"termination_timeout": 0.2, "force_kill_timeout": 0.2}
    async with stdio_client(python(program), errlog=None, **timeouts) as channel:
        number, *_ = await channel.receive()  # what it writes may come in one piece or in two
        assert isinstance(number, Malformed)
        pid = int(number.excerpt or "")
        with trio.testing.assert_checkpoints():
            await channel.aclose()
        assert not is_unreaped(pid)
        await channel.aclose()
        with pytest.raises(trio.ClosedResourceError):
            await channel.receive()
    async with stdio_client(python(program), errlog=None, **timeouts) as channel:
        number, *_ = await channel.receive()  # what it writes may come in one piece or in two
        assert isinstance(number, Malformed)
        await trio.aclose_forcefully(channel)
        assert not is_unreaped(int(number.excerpt or ""))


async def test_who_receives_while_it_closes_is_told() -> None:
    async with (
        stdio_client(python(DEAF_TO_EOF), errlog=None, termination_timeout=0.1) as channel,
        trio.open_nursery() as nursery,
    ):
        await channel.receive()

        async def receive() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await channel.receive()

        nursery.start_soon(receive)
        await trio.testing.wait_all_tasks_blocked(0.02)
        await channel.aclose()


def test_parameters_have_the_defaults_people_know() -> None:
    parameters = StdioServerParameters(command="x")
    assert parameters.args == []
    assert parameters.env is None
    assert parameters.cwd is None
    assert parameters.encoding == "utf-8"
    assert parameters.encoding_error_handler == "strict"
    assert parameters == StdioServerParameters("x", [], None, None, "utf-8", "strict")


def test_parameters_do_not_show_secrets() -> None:
    shown = repr(StdioServerParameters(command="x", env={"TOKEN": "s3cret", "B": "y"}))
    assert "env=<TOKEN, B>" in shown
    assert "s3cret" not in shown
    assert "env=None" in repr(StdioServerParameters(command="x"))


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf_8"])
def test_utf_8_has_many_spellings(encoding: str) -> None:
    assert StdioServerParameters(command="x", encoding=encoding).encoding == encoding


@pytest.mark.req("R-075")
@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"encoding": "latin-1"}, ValueError, "UTF-8; the encoding cannot be 'latin-1'"),
        ({"encoding": "klingon"}, ValueError, "UTF-8; the encoding cannot be 'klingon'"),
        ({"encoding_error_handler": "x"}, ValueError, "'ignore', 'replace', got 'x'"),
        ({"args": "server.py"}, TypeError, "args: expected a list of strings, got one"),
        ({"args": [b"x"]}, TypeError, r"args\[0\]: expected str or PathLike, got bytes"),
        ({"args": 5}, TypeError, "args: expected a list of strings, got int"),
        ({"env": {"A": 1}}, TypeError, r"env\['A'\]: expected str, got int"),
        ({"env": {1: "A"}}, TypeError, "a name in env: expected str, got int"),
        ({"env": [("A", "1")]}, TypeError, "env: expected a dict of strings, got list"),
        ({"command": 5}, TypeError, "command: expected str, got int"),
        ({"cwd": 5}, TypeError, "cwd: expected str or a path, got int"),
        ({"encoding": 5}, TypeError, "encoding: expected str, got int"),
    ],
)
def test_wrong_parameters_are_refused(
    arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        StdioServerParameters(**{"command": "x", **arguments})


@pytest.mark.parametrize(
    ("server", "options", "message"),
    [
        (5, {}, "server: expected StdioServerParameters, got int"),
        (StdioServerParameters, {}, "got the class StdioServerParameters"),
        (
            None,
            {"max_line_size": 0},
            "max_line_size: expected a whole number of at least 1, got 0",
        ),
        (
            None,
            {"termination_timeout": -1},
            "termination_timeout: expected a number of at least 0",
        ),
        (None, {"force_kill_timeout": "1"}, "force_kill_timeout: expected a number of at least 0"),
    ],
)
async def test_wrong_arguments_start_nothing(
    server: Any, options: dict[str, Any], message: str
) -> None:
    server = server or StdioServerParameters(command="/no/such/program")
    with pytest.raises((TypeError, ValueError), match=message):
        async with stdio_client(server, **options):
            pass


def note_line(line: str, *, into: list[str]) -> None:
    into.append(line)


@pytest.mark.parametrize(
    ("errlog", "got"),
    [
        (2, "int"),
        (subprocess.DEVNULL, "int"),
        ("x", "str"),
        (b"x", "bytes"),
        (Path("log"), type(Path()).__name__),
        (io.StringIO, "the class StringIO"),
        (io.BytesIO(), "BytesIO"),
        (trio.wrap_file(io.StringIO()), "AsyncIOWrapper"),
        (trio.sleep, "an async function"),
        (functools.partial(trio.sleep, 1), "an async function"),
    ],
)
async def test_errlog_is_a_file_or_a_plain_function(errlog: Any, got: str) -> None:
    expected = f"errlog: expected a text file, a function that is not async, or None, got {got}"
    with pytest.raises(TypeError, match=f"^{expected}$"):
        async with stdio_client(StdioServerParameters(command="/no/such"), errlog):
            pytest.fail("it started")


async def test_whatever_can_be_written_to_may_be_errlog(tmp_path: Path) -> None:
    lines: list[str] = []
    text = io.StringIO()
    with (tmp_path / "text").open("w") as file, (tmp_path / "binary").open("wb") as binary:
        note = functools.partial(note_line, into=lines)
        sinks: list[Any] = [lines.append, note, text, file, binary, None]
        for errlog in sinks:
            async with stdio_client(python("import sys; sys.exit('here')"), errlog) as channel:
                await end_of(channel)
    assert lines == ["here", "here"]
    assert text.getvalue() == "here\n"
    assert (tmp_path / "text").read_text() == "here\n"
    assert (tmp_path / "binary").read_text() == "here\n"


async def test_broken_utf_8_is_repaired_on_request() -> None:
    program = """
import sys
sys.stdout.buffer.write(b'{"jsonrpc":"2.0","method":"\\xff"}\\n')
"""
    async with stdio_client(python(program)) as channel:
        (frame,) = await channel.receive()
        assert isinstance(frame, Malformed)
        assert frame.code == -32700
    async with stdio_client(python(program, encoding_error_handler="replace")) as channel:
        assert await channel.receive() == [JSONRPCNotification(method="\ufffd")]


async def test_a_mapping_of_json_is_what_arrives() -> None:
    program = "import sys, json; print(json.dumps(json.loads(sys.stdin.readline())), flush=True)"
    params = {"n": 2**70, "f": 1.0, "t": [True, None, "x"], "deep": {"a": {"b": []}}}
    async with stdio_client(python(program)) as channel:
        await channel.send([JSONRPCRequest(id=1, method="m", params=params)])
        (echo,) = await channel.receive()
    assert isinstance(echo, JSONRPCRequest)
    assert echo.params == json.loads(json.dumps(params))
    assert echo.params is not None
    assert isinstance(echo.params["f"], float)
