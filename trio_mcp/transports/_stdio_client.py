"""The client's end of stdio: a server as a child process, one message a line."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal, TextIO, final

import attrs
import trio

from trio_mcp._checks import (
    check_items,
    check_kind,
    check_mapping,
    check_number,
    check_text,
    check_whole,
    check_word,
)
from trio_mcp._codec._lines import MAX_LINE_SIZE
from trio_mcp._rpc._block import guarded_block
from trio_mcp.transports._environment import get_default_environment
from trio_mcp.transports._line_channel import LineChannel
from trio_mcp.transports._process import (
    FORCE_KILL_TIMEOUT,
    PROCESS_TERMINATION_TIMEOUT,
    open_server_process,
)
from trio_mcp.transports._stderr import StderrPump, check_errlog

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from trio_mcp._codec._envelope import Frame
    from trio_mcp._rpc._channel import Channel
    from trio_mcp.transports._process import ServerProcess
    from trio_mcp.types import JSONRPCMessage

_ERROR_HANDLERS: Final = ("strict", "ignore", "replace")
_STDERR_AT_IMPORT: Final = sys.stderr
_TEXT_OR_PATH: Final = (str, os.PathLike)


def _names_only(env: dict[str, str] | None) -> str:
    """Show which variables are set, and no values: they are often secrets."""
    return "None" if env is None else f"<{', '.join(env)}>"


@attrs.frozen
class StdioServerParameters:
    """How to start a server that speaks over its stdin and stdout.

    Raises:
      TypeError: if something is of the wrong kind, such as `args` that are one string.
      ValueError: if the encoding is not UTF-8: MCP knows no other.

    """

    command: str
    """The program, looked for on PATH as the server will see it, or a path."""

    args: list[str] = attrs.field(factory=list[str])
    """Its arguments."""

    env: dict[str, str] | None = attrs.field(default=None, repr=_names_only)
    """Variables for the server, laid over `get_default_environment`. Nothing else of this
    process's environment is handed on; ``env={**os.environ}`` does that."""

    cwd: str | Path | None = None
    """Its working directory; None for that of this process."""

    encoding: str = "utf-8"
    """Has to be UTF-8."""

    encoding_error_handler: Literal["strict", "ignore", "replace"] = "strict"
    """What to do with a line of the server that is not UTF-8: ``strict`` reports it as no
    message, the others repair it."""

    def __attrs_post_init__(self) -> None:
        check_kind("command", self.command, _TEXT_OR_PATH, "str")
        check_items("args", self.args, _TEXT_OR_PATH, "a list of strings")
        if self.env is not None:
            check_mapping("env", self.env, str, "a dict of strings")
        if self.cwd is not None:
            check_kind("cwd", self.cwd, _TEXT_OR_PATH, "str or a path")
        check_text("encoding", self.encoding)
        try:
            encoding = codecs.lookup(self.encoding).name
        except LookupError:
            encoding = ""
        if encoding != "utf-8":
            raise ValueError(f"MCP messages are UTF-8; the encoding cannot be {self.encoding!r}")
        check_word("encoding_error_handler", self.encoding_error_handler, _ERROR_HANDLERS)


@guarded_block("stdio_client")
@asynccontextmanager
async def stdio_client(
    server: StdioServerParameters,
    errlog: TextIO | Callable[[str], object] | None = sys.stderr,
    *,
    max_line_size: int = MAX_LINE_SIZE,
    termination_timeout: float = PROCESS_TERMINATION_TIMEOUT,
    force_kill_timeout: float = FORCE_KILL_TIMEOUT,
) -> AsyncGenerator[Channel, None]:
    """Start a server and open a channel to it; leaving the block ends the server.

    The server runs in a session of its own. To end it, its stdin is closed; if it stays, its
    process group gets SIGTERM, and then SIGKILL, which also ends what it started. (Windows:
    a job object is terminated.) stderr is always read, so that the server never blocks on
    it, and its last 64 KiB are kept: when the server dies, the error tells how and quotes
    them.

    Args:
      server: What to run.
      errlog: Where the server's stderr goes: a text file, a function (not an async one) that
          is called with each line, or None for nowhere. A file without a descriptor, and the
          function, are called in the event loop and should not block.
      max_line_size: The longest message that is received, in bytes.
      termination_timeout: Seconds that the server has to leave when its stdin is closed.
      force_kill_timeout: Seconds that it has to leave after SIGTERM.

    Returns:
      The channel, which unpacks into two ends: ``read, write``. When the server closes its
      stdout or exits, `Channel.receive` raises `trio.EndOfChannel` with a `ConnectionLost` as
      its cause that has the exit status and the end of stderr. Other processes that hold its
      pipes do not count: a command that starts the server has to wait for it, or become it
      by ``exec``.

    Raises:
      ConnectionLost: if the command is not found or cannot be run.
      TypeError: if an argument is of the wrong kind.
      ValueError: if the command, an argument or a variable holds NUL, or a number is out of
          range.

    Cancellation:
      Entering: no process is left. Leaving takes at most `termination_timeout` +
      `force_kill_timeout` + 2.25 seconds (6.25 as it is), also when cancelled, and leaves no
      process of the server's group, no zombie and no descriptor.

    """
    check_kind("server", server, StdioServerParameters)
    check_errlog(errlog)
    check_whole("max_line_size", max_line_size, least=1)
    check_number("termination_timeout", termination_timeout, least=0)
    check_number("force_kill_timeout", force_kill_timeout, least=0)
    if errlog is _STDERR_AT_IMPORT:
        errlog = sys.stderr  # as it is now
    env = {**get_default_environment(), **(server.env or {})}
    async with open_server_process(
        [server.command, *server.args],
        StderrPump(errlog),
        env=env,
        cwd=server.cwd,
        termination_timeout=termination_timeout,
        force_kill_timeout=force_kill_timeout,
    ) as process:
        yield _ServerProcessChannel(process, max_line_size, server.encoding_error_handler)


@final
class _ServerProcessChannel(LineChannel):
    """A line channel whose end says what became of the process."""

    __slots__ = ("_process",)

    def __init__(self, process: ServerProcess, max_line_size: int, encoding_errors: str) -> None:
        super().__init__(
            process.stdout,
            process.stdin,
            max_line_size=max_line_size,
            encoding_errors=encoding_errors,
        )
        self._process = process

    async def receive(self) -> list[Frame]:
        """Wait for the next messages; see `Channel.receive`."""
        try:
            return await super().receive()
        except trio.EndOfChannel:
            raise trio.EndOfChannel from await self._process.explain()

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """Write messages to the server's stdin; see `Channel.send`."""
        with suppress(trio.BrokenResourceError):
            await super().send(messages)
            return
        lost = await self._process.explain()
        # What it answered until now has been received. Who waits longer waits in vain.
        self._process.stdout.end(patience=0)
        raise trio.BrokenResourceError("the server no longer reads") from lost

    async def aclose(self) -> None:
        """End the server, as leaving the block does, in the same bounded time."""
        await self._process.stop()
