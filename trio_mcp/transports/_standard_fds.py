"""Takes stdin and stdout away from everybody but the protocol."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2

_taken: set[int] = set()


def private_duplicate(fd: int) -> int:
    """Duplicate a descriptor so that no child inherits it and no standard one is taken.

    Raises:
      OSError: if it is not open.

    """
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - Windows alone has it

        duplicate = os.dup(fd)
        msvcrt.setmode(duplicate, os.O_BINARY)  # or LF would become CRLF
        return duplicate
    from fcntl import F_DUPFD_CLOEXEC, fcntl  # noqa: PLC0415 - not on Windows

    return fcntl(fd, F_DUPFD_CLOEXEC, _STDERR + 1)


@contextmanager
def stdin_taken() -> Generator[int, None, None]:
    """Give the block what descriptor 0 was; meanwhile 0 reads the null device.

    Raises:
      RuntimeError: if it is taken already.
      OSError: if stdin is not open.

    """
    with _taken_away(_STDIN) as wire:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, _STDIN)
        if null != _STDIN:
            os.close(null)
        yield wire


@contextmanager
def stdout_taken() -> Generator[int, None, None]:
    """Give the block what descriptor 1 was; meanwhile 1 goes where stderr goes.

    What was or is printed and still buffered goes there too, at once, line by line.

    Raises:
      RuntimeError: if it is taken already.
      OSError: if stdout is not open.

    """
    with _taken_away(_STDOUT) as wire:
        try:
            os.dup2(_STDERR, _STDOUT)
        except OSError:  # stderr is closed
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, _STDOUT)
            os.close(null)
        printed = sys.stdout
        line_buffering = getattr(printed, "line_buffering", True)
        _reconfigure(printed, line_buffering=True)
        try:
            yield wire
        finally:
            _reconfigure(printed, line_buffering=line_buffering)


@contextmanager
def _taken_away(fd: int) -> Generator[int, None, None]:
    if fd in _taken:
        raise RuntimeError("stdin and stdout of this process serve another session already")
    original = private_duplicate(fd)
    _taken.add(fd)
    try:
        yield original
    finally:
        os.dup2(original, fd)
        os.close(original)
        _taken.discard(fd)


def _reconfigure(file: object, *, line_buffering: bool) -> None:
    # Both flush. Whatever stands in place of sys.stdout must not keep us from serving.
    with suppress(OSError, ValueError, AttributeError):
        if isinstance(file, io.TextIOWrapper):
            file.reconfigure(line_buffering=line_buffering)
        else:
            file.flush()  # type: ignore[attr-defined]
