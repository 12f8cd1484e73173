"""Takes stdin and stdout away from everybody but the protocol."""

from __future__ import annotations

import errno
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
      OSError: if this process was started without stdin.

    """
    with _taken_away(_STDIN) as wire:
        _point_to_null(_STDIN)
        yield wire


@contextmanager
def stdout_taken() -> Generator[int, None, None]:
    """Give the block what descriptor 1 was; meanwhile 1 goes where stderr goes.

    What was or is printed and still buffered goes there too, at once, line by line.

    Raises:
      RuntimeError: if it is taken already.
      OSError: if this process was started without stdout.

    """
    with _taken_away(_STDOUT) as wire:
        # Without it at the start, number 2 may be any file by now.
        if sys.__stderr__ is None:
            _point_to_null(_STDOUT)
        else:
            os.dup2(_STDERR, _STDOUT)
        printed = sys.stdout
        line_buffering = getattr(printed, "line_buffering", True)
        _flush(printed, line_buffering=True)
        try:
            yield wire
        finally:
            if not _flush(printed, line_buffering=line_buffering):
                # Stderr takes nothing any more. What is stuck must not reach the wire later.
                _point_to_null(_STDOUT)
                _flush(printed, line_buffering=line_buffering)
            _flush_c_stdout()


@contextmanager
def _taken_away(fd: int) -> Generator[int, None, None]:
    if fd in _taken:
        raise RuntimeError("stdin and stdout of this process serve another session already")
    _check_given(fd)
    original = private_duplicate(fd)
    _taken.add(fd)
    try:
        yield original
    finally:
        os.dup2(original, fd)
        os.close(original)
        _taken.discard(fd)


def _check_given(fd: int) -> None:
    # Without it at the start, its number is that of whatever was opened next: Trio's epoll.
    name, file = ("stdin", sys.__stdin__) if fd == _STDIN else ("stdout", sys.__stdout__)
    if file is None:
        raise OSError(
            errno.EBADF,
            f"{name} is closed: a server on stdio talks with its client over stdin and stdout",
        )


def _point_to_null(fd: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != fd:
        os.dup2(null, fd)
        os.close(null)


def _flush(file: object, *, line_buffering: bool) -> bool:
    # Whatever stands in place of sys.stdout must not keep us from serving.
    try:
        if isinstance(file, io.TextIOWrapper):
            file.reconfigure(line_buffering=line_buffering)
        file.flush()  # type: ignore[attr-defined]  # or else the AttributeError
    except (OSError, ValueError, AttributeError):
        return False
    return True


def _flush_c_stdout() -> None:
    """Write out what C code printed, which would else go to the wire when the program ends."""
    if sys.platform == "win32":
        return
    import ctypes  # noqa: PLC0415 - 5 ms, and only needed at the end

    with suppress(OSError, ValueError, AttributeError):
        library = ctypes.CDLL(None)
        name = "__stdoutp" if sys.platform == "darwin" else "stdout"
        library.fflush(ctypes.c_void_p.in_dll(library, name))
