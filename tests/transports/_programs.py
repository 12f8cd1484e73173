"""Small programs to run as servers, and ways to see what became of them."""

from __future__ import annotations

import contextlib
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from tests._limits import SOON
from trio_mcp.transports._process import ServerProcess, open_server_process
from trio_mcp.transports._stderr import StderrPump

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PYTHON = [sys.executable, "-I", "-S", "-c"]

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""

# Says "ready" once what matters is set up, and then never leaves by itself.
STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(60)
"""

DEAF_TO_EOF = """
import sys, time
print("ready", flush=True)
time.sleep(60)
"""

# Starts a process that keeps stdin, stdout and stderr open, and says its number.
WITH_GRANDCHILD = """
import subprocess, sys
inner = {inner!r}
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", inner], start_new_session={session})
print(child.pid, flush=True)
{then}
"""

SLEEPER = "import time; time.sleep(60)"
TERM_IGNORER = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


def with_grandchild(
    inner: str = SLEEPER, then: str = "sys.stdin.read()", session: bool = False
) -> str:
    return WITH_GRANDCHILD.format(inner=inner, then=then, session=session)


@asynccontextmanager
async def running(
    program: str,
    *,
    termination_timeout: float = 0.2,
    force_kill_timeout: float = 0.2,
    stderr: StderrPump | None = None,
) -> AsyncGenerator[ServerProcess, None]:
    async with open_server_process(
        [*PYTHON, program],
        StderrPump(None) if stderr is None else stderr,
        env=dict(os.environ),
        termination_timeout=termination_timeout,
        force_kill_timeout=force_kill_timeout,
    ) as server:
        yield server


async def read_line(server: ServerProcess) -> str:
    data = b""
    while not data.endswith(b"\n"):
        chunk = await server.stdout.receive_some(1)
        assert chunk, "the program ended early"
        data += chunk
    return data.decode().strip()


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie that somebody else has to reap does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def is_unreaped(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def wait_gone(pid: int, seconds: float = SOON) -> None:
    """Wait for the end of any process, not only of a child."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with trio.fail_after(seconds):
            await trio.lowlevel.wait_readable(pidfd)
    finally:
        os.close(pidfd)


def open_descriptors() -> dict[str, str]:
    found = {}
    for each in Path("/proc/self/fd").iterdir():
        try:
            found[each.name] = str(each.readlink())
        except FileNotFoundError:
            continue  # that of the listing itself
    return found


def children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # an idle thread of Trio that just ended
            found.update(map(int, (task / "children").read_text().split()))
    return found
