"""The standard streams of a command, which may be closed, or full, or read by nobody."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from trio_mcp.cli._mistakes import Failure

if TYPE_CHECKING:
    from collections.abc import Generator


def replace_missing_stderr() -> None:
    """Where this process was started without stderr, let it be the null device.

    No file that is opened later can have the number of a standard stream then, and what has a
    line to say for people need not ask whether there is a place for it.
    """
    if sys.stderr is None:
        for fd in range(3):
            try:
                os.fstat(fd)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
        sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - for ever


def say(line: str) -> None:
    """Print a line to stderr, if it takes one."""
    with spared(sys.stderr):
        print(line, file=sys.stderr, flush=True)


def say_interrupted() -> None:
    """Print the one line that an interrupted command leaves."""
    # Over the ^C that the terminal shows.
    say("\rinterrupted" if sys.stderr.isatty() else "interrupted")


@contextmanager
def spared(stream: TextIO) -> Generator[None, None, None]:
    """Go on without what the block cannot write to a stream for people."""
    try:
        yield
    except OSError:
        silence(stream)


@contextmanager
def stdout_for_results() -> Generator[None, None, None]:
    """Let the block write results to stdout.

    Raises:
      Failure: if there is no stdout, or the block cannot write to it.
      BrokenPipeError: if whoever read it has gone.

    """
    if sys.stdout is None:
        raise Failure("cannot write to stdout: it is closed")
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
        raise
    except OSError as exc:
        silence(sys.stdout)
        raise Failure(f"cannot write to stdout: {exc.strerror or exc}") from exc


def silence(stream: Any) -> None:
    """Send to nowhere what is still buffered: Python would complain of it at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)
