from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from trio_mcp.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SHOP = """
import os, signal, sys, time
import trio
from pathlib import Path
from trio_mcp import BlobResourceContents, Context, MCPServer, ToolError

mcp = MCPServer("shop", version="1.2", instructions="Sells tea.", list_page_size=2)
if pid_file := os.environ.get("PID_FILE"):
    Path(pid_file).write_text(str(os.getpid()))

@mcp.tool()
def order(article: str, amount: int = 1, gift: bool = False) -> dict[str, str | int | bool]:
    '''Order something.

    It is delivered.
    '''
    return {"article": article, "amount": amount, "gift": gift}

@mcp.tool()
def fail() -> str:
    raise ToolError("sold out")

@mcp.tool()
def where(variable: str) -> str:
    return f"{os.getcwd()} {os.environ.get(variable)}"

@mcp.tool()
async def count(to: int, ctx: Context) -> str:
    print("counting", file=sys.stderr, flush=True)
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"step {number}")
    return "counted"

@mcp.tool()
async def work(ctx: Context) -> str:
    for number in range(1, 5):
        await trio.sleep(0.15)
        await ctx.report_progress(number, 4, "\\x1b[31mstep")
    return "\\x1b[31mdone"

@mcp.tool()
async def warn(ctx: Context) -> str:
    await ctx.session.send_log_message("warning", "low on tea", "stock")
    return "warned"

@mcp.tool()
async def wait(ctx: Context) -> str:
    await ctx.report_progress(1, message="waiting")
    await trio.sleep_forever()

@mcp.tool()
async def hold(ctx: Context) -> str:
    await ctx.report_progress(1, message="holding")
    await trio.sleep(0.2)  # the report goes out
    while True:
        time.sleep(60)

@mcp.tool()
async def refuse_to_stop(ctx: Context) -> str:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    await ctx.report_progress(1, message="deaf")
    await trio.sleep(0.2)  # the report goes out
    while True:
        time.sleep(60)

@mcp.resource("shop://hours", mime_type="text/plain")
def hours() -> str:
    return "9 to 5"

@mcp.resource("shop://logo", mime_type="image/png")
def logo() -> bytes:
    return b"\\x89PNG\\x00\\xff"

@mcp.resource("shop://strange")
def strange() -> str:
    return "\\x1b[31mred"

@mcp.resource("shop://shelf/{number}")
def shelf(number: str) -> str:
    return f"shelf {number}"

@mcp.prompt()
def complain(about: str, tone: str = "polite") -> str:
    return f"Complain about {about}, be {tone}."

if __name__ == "__main__":
    raise AssertionError("not to be executed")
"""


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server file with one of everything."""
    file = tmp_path_factory.mktemp("servers") / "shop.py"
    file.write_text(SHOP, "utf-8")
    return file


@attrs.frozen
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def command_line(*words: object) -> list[str]:
    return [sys.executable, "-m", "trio_mcp.cli", *map(str, words)]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run a command in this process, which saves one; the server is a process all the same."""

    def run(*words: object, cwd: Path | None = None) -> Done:
        with monkeypatch.context() as patch:
            if cwd is not None:
                patch.chdir(cwd)
            capfd.readouterr()
            status = main([str(word) for word in words])
        return Done(status, *capfd.readouterr())

    return run


@pytest.fixture
def cli_process() -> Callable[..., Done]:
    """Run a command to its end as a process."""

    def run(*words: object, **env: str) -> Done:
        done = subprocess.run(
            command_line(*words),
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@attrs.define(eq=False)
class Running:
    """A command that runs, the leader of a process group as in a terminal."""

    process: subprocess.Popen[str]

    def wait_for(self, text: str) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if text in line:
                return
        raise AssertionError(f"it ended without saying {text!r}")

    def interrupt(self, number: int = signal.SIGINT) -> None:
        os.killpg(self.process.pid, number)

    def end(self) -> Done:
        out, err = self.process.communicate(timeout=30)
        return Done(self.process.returncode, out, err)


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Start a command, and go on at once."""
    started: list[subprocess.Popen[str]] = []

    def run(*words: object) -> Running:
        process = subprocess.Popen(
            command_line(*words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        started.append(process)
        return Running(process)

    yield run
    for process in started:
        process.kill()
        process.communicate()


@attrs.frozen
class Shown:
    """What a command wrote to its terminal."""

    status: int
    written: str

    def last_state(self) -> list[str]:
        """Return the lines that stay, where each is drawn again and again."""
        lines: list[str] = []
        for line in self.written.split("\n"):
            if "\x1b[1A" in line and lines:
                lines.pop()
            shown = line.rpartition("\x1b[2K")[2]
            lines.append(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).strip("\r"))
        return lines


@pytest.fixture
def terminal() -> Callable[..., Shown]:
    """Run a command to its end in a terminal of 120 columns."""
    pty = pytest.importorskip("pty")

    def run(*words: object, keys: bytes = b"", **env: str) -> Shown:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command_line(*words),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **env},
        )
        os.close(theirs)
        os.write(ours, keys)
        written = b""
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
        except OSError:
            pass  # EIO: the other side is closed
        os.close(ours)
        return Shown(process.wait(), written.decode())

    return run
