from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
import trio

from trio_mcp.cli._interrupts import run_until_interrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

BOUND = 6.25 + 3
"""Seconds that ending a server may take, and then some for a machine that is busy."""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("tool", "sign"),
    [("wait", "1 waiting"), ("hold", "1 holding"), ("refuse_to_stop", "1 deaf")],
)
def test_interrupt_during_a_call_ends_cleanly_and_leaves_no_server(
    tool, sign, start, shop, tmp_path
):
    pid_file = tmp_path / "pid"
    running = start("call", shop, tool, "-e", f"PID_FILE={pid_file}")
    running.wait_for(sign)
    server = int(pid_file.read_text())
    assert is_running(server)
    began = time.monotonic()
    running.interrupt()
    done = running.end()
    assert time.monotonic() - began < BOUND
    assert (done.status, done.out, done.err) == (130, "", "interrupted\n")
    assert not is_running(server)


def test_further_interrupts_change_nothing(start, shop, tmp_path):
    pid_file = tmp_path / "pid"
    running = start("call", shop, "refuse_to_stop", "-e", f"PID_FILE={pid_file}")
    running.wait_for("1 deaf")
    running.interrupt()
    running.wait_for("interrupted")
    for _ in range(3):
        running.interrupt()
    done = running.end()
    assert (done.status, done.err) == (130, "")
    assert not is_running(int(pid_file.read_text()))


def test_sigterm_ends_a_call_the_same_way(start, shop):
    running = start("call", shop, "wait")
    running.wait_for("1 waiting")
    running.interrupt(signal.SIGTERM)
    done = running.end()
    assert (done.status, done.err) == (128 + signal.SIGTERM, "interrupted\n")


LIFESPAN = """
import sys
from contextlib import asynccontextmanager
from trio_mcp import MCPServer

@asynccontextmanager
async def lifespan(server):
    try:
        print("open", file=sys.stderr, flush=True)
        yield
    finally:
        print("closed", file=sys.stderr, flush=True)

mcp = MCPServer("slow", lifespan=lifespan)
"""


def test_interrupted_server_ends_with_one_line(start, tmp_path):
    (tmp_path / "slow.py").write_text(LIFESPAN)
    running = start("run", tmp_path / "slow.py")
    running.wait_for("open")
    running.interrupt()
    done = running.end()
    assert (done.status, done.out, done.err) == (130, "", "interrupted\nclosed\n")


# The signal comes between making a coroutine and running it.
INTERRUPT_AT_START = """
import os, signal, sys
from trio_mcp.cli import main
from trio_mcp._rpc._peer import Peer

run = Peer.run

def run_interrupted(self):
    coroutine = run(self)
    os.kill(os.getpid(), {number})
    return coroutine

Peer.run = run_interrupted
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["run", "list", "call"])
def test_interrupt_while_a_connection_starts_leaves_one_line_at_most(shop, command, number):
    words = [command, str(shop), *(["order"] if command == "call" else [])]
    program = INTERRUPT_AT_START.format(number=int(number), words=words)
    with subprocess.Popen(
        [sys.executable, "-W", "always", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stderr is not None
        assert process.wait(timeout=30) == 128 + number
        says_nothing = command == "run" and number == signal.SIGTERM
        assert process.stderr.read() == ("" if says_nothing else "interrupted\n")


def test_sigterm_closes_a_server_in_order_and_says_nothing(start, tmp_path):
    (tmp_path / "slow.py").write_text(LIFESPAN)
    running = start("run", tmp_path / "slow.py")
    running.wait_for("open")
    running.interrupt(signal.SIGTERM)
    done = running.end()
    assert (done.status, done.out, done.err) == (143, "", "closed\n")


def test_interrupt_while_the_file_is_imported_has_no_traceback(start, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import sys, time\nprint('importing', file=sys.stderr, flush=True)\ntime.sleep(60)\n"
    )
    running = start("run", tmp_path / "slow.py")
    running.wait_for("importing")
    running.interrupt()
    done = running.end()
    assert (done.status, done.err) == (130, "interrupted\n")


@pytest.mark.parametrize("interruption", ["KeyboardInterrupt", "typer.Abort"])
def test_interrupt_while_the_command_is_parsed_is_one_line(interruption):
    """By whatever name the releases of typer and click report it."""
    program = (
        "import sys, typer\n"
        "from trio_mcp.cli import _app, main\n"
        "def interrupt(*args):\n"
        f"    raise {interruption}\n"
        "_app._later = interrupt\n"
        "sys.exit(main(['version']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_ignored_interrupt_stays_ignored(shop):
    """As for ``trio-mcp … &`` in a script, where Ctrl-C is meant for somebody else."""
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from trio_mcp.cli._interrupts import run_until_interrupted\n"
        "async def action():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return 5\n"
        "sys.exit(run_until_interrupted(action))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (5, b"")


def test_status_and_error_of_the_action_come_back_as_they_are():
    async def succeed() -> int:
        await trio.lowlevel.checkpoint()
        return 3

    async def fail() -> int:
        await trio.lowlevel.checkpoint()
        raise ValueError("as it is")

    assert run_until_interrupted(succeed) == 3
    with pytest.raises(ValueError, match="as it is"):
        run_until_interrupted(fail)


def test_signal_that_comes_too_late_to_cancel_still_interrupts():
    async def action() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return 4

    with pytest.raises(KeyboardInterrupt):
        run_until_interrupted(action)
