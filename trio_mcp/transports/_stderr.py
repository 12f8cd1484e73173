"""What becomes of a server's stderr: passed on as it comes, its end kept for errors."""

from __future__ import annotations

import codecs
import io
import logging
import os
import sys
from types import CoroutineType
from typing import TYPE_CHECKING, Final, TextIO, TypeAlias, final

import trio

from trio_mcp._checks import is_async_callable, wrong_kind
from trio_mcp.transports._fd_streams import PIPE_BUF, FdSendStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.transports._fd_streams import Mode

    ErrLog: TypeAlias = TextIO | Callable[[str], object] | None

TAIL_SIZE: Final = 64 * 1024
"""How much of the end of stderr is kept, in bytes."""

_MAX_BACKLOG: Final = 1024 * 1024
# What waits for a reader of ours that has stopped reading; beyond it the oldest is dropped,
# since the server must never wait for our terminal.

_logger = logging.getLogger(__name__)


def check_errlog(errlog: object) -> None:
    """Check that a server's stderr can be passed on to something.

    Raises:
      TypeError: if it is no text file, no plain function, and not None.

    """
    expected = "a text file, a function that is not async, or None"
    if errlog is None:
        return
    if callable(errlog) and not isinstance(errlog, type):
        if is_async_callable(errlog):
            raise TypeError(f"errlog: expected {expected}, got an async function")
    elif isinstance(errlog, type) or not _is_writable(errlog):
        raise wrong_kind("errlog", expected, errlog)


def _is_writable(file: object) -> bool:
    if not isinstance(file, (io.RawIOBase, io.BufferedIOBase)):
        write = getattr(file, "write", None)
        return callable(write) and not is_async_callable(write)
    try:
        file.fileno()
    except (OSError, ValueError):
        return False  # it takes no text, and it has no descriptor to write bytes to
    return True


@final
class StderrPump:
    """Reads a server's stderr to its end, so that the server never blocks on it.

    Args:
      errlog: Where it goes: a text file, a function that is called with each line (without
          its end), or None for nowhere. A file with a descriptor gets the very bytes, and
          need not keep up; any other object is written to in the event loop.

    """

    def __init__(self, errlog: ErrLog) -> None:
        self.ended = trio.Event()
        """All of it was read."""

        self._tail = bytearray()
        self._backlog = bytearray()
        # Being written, maybe by a thread that a cancellation left behind, and so apart from
        # the backlog, whose beginning may be dropped.
        self._piece = bytearray()
        self._dropped = 0
        self._news = trio.Event()
        self._line = b""  # unfinished, for the function
        self._write: Callable[[str], object] | None = None
        self._sink: FdSendStream | None = None
        if callable(errlog):
            self._write = errlog
        elif errlog is not None:
            self._sink = _open_sink(errlog)
            if self._sink is None:
                self._write = _writer_for(errlog)
        self._by_line = callable(errlog)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def tail(self) -> str:
        """Return the end of what came so far."""
        return self._tail[-TAIL_SIZE:].decode("utf-8", "replace")

    async def pump(self, stream: trio.abc.ReceiveStream) -> None:
        """Read and pass on, until the end. May be cancelled, and called again."""
        async with trio.open_nursery() as nursery:
            if self._sink is not None:
                nursery.start_soon(self._pass_on, self._sink)
            await self._read(stream)

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()
        if self._line:
            self._deliver(self._line.decode("utf-8", "replace"))
            self._line = b""

    async def _read(self, stream: trio.abc.ReceiveStream) -> None:
        while not self.ended.is_set():
            try:
                chunk = await stream.receive_some(TAIL_SIZE)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                chunk = b""
            if chunk:
                self._take(bytes(chunk))
            else:
                self.ended.set()
        self._news.set()

    def _take(self, chunk: bytes) -> None:
        self._tail += chunk
        if len(self._tail) > 2 * TAIL_SIZE:
            del self._tail[:-TAIL_SIZE]
        if self._sink is not None:
            self._backlog += chunk
            if (excess := len(self._backlog) - _MAX_BACKLOG) > 0:
                del self._backlog[:excess]
                self._dropped += excess
            self._news.set()
        elif self._by_line:
            *lines, self._line = (self._line + chunk).split(b"\n")
            for line in lines:
                self._deliver(line.removesuffix(b"\r").decode("utf-8", "replace"))
            if len(self._line) > TAIL_SIZE:
                self._deliver(self._line.decode("utf-8", "replace"))
                self._line = b""
        elif self._write is not None:
            self._deliver(self._decoder.decode(chunk))

    def _deliver(self, text: str) -> None:
        if self._write is None:
            return
        try:
            returned = self._write(text)
            if isinstance(returned, CoroutineType):
                returned.close()
                raise TypeError("it is async")
        except Exception:
            _logger.exception("errlog failed; the server's stderr is no longer passed to it")
            self._write = None

    async def _pass_on(self, sink: FdSendStream) -> None:
        while True:
            if not self._piece and not self._next_piece():
                if self.ended.is_set():
                    return
                self._news = trio.Event()
                await self._news.wait()
                continue
            try:
                await sink.send_from(self._piece)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                # Our own stderr is gone. The server's goes on being read, for its tail.
                self._sink = None
                sink.close()
                return

    def _next_piece(self) -> bool:
        if self._dropped:
            self._piece = bytearray(b"\n[%d bytes of stderr dropped]\n" % self._dropped)
            self._dropped = 0
        else:
            self._piece = self._backlog[:PIPE_BUF]
            del self._backlog[:PIPE_BUF]
        return bool(self._piece)


def _open_sink(errlog: TextIO) -> FdSendStream | None:
    try:
        errlog.flush()  # what we wrote before comes before
        fd = os.dup(errlog.fileno())
    except (AttributeError, OSError, ValueError, io.UnsupportedOperation):
        return None
    # A terminal that polls as writable may still block, when somebody presses Ctrl-S.
    mode: Mode | None = "thread" if sys.platform == "win32" or os.isatty(fd) else None
    return FdSendStream(fd, mode)


def _writer_for(errlog: TextIO) -> Callable[[str], object]:
    def write(text: str) -> None:
        errlog.write(text)
        errlog.flush()

    return write
