"""Streams over file descriptors that are not ours alone.

A server's stdin and stdout are shared with whoever holds the other duplicates: the parent,
children, stderr on the same terminal. O_NONBLOCK belongs to the open file description, so
setting it would make *their* writes fail. These streams never set it. They ask the kernel
first, and then read and write no more than cannot block:

* ``poll``: pipes, sockets, terminals. Reading waits until something is there. Writing says
  RWF_NOWAIT where the kernel takes it, and else waits for room and writes PIPE_BUF bytes.
* ``direct``: regular files and devices that cannot be waited for, since they never block long.
* ``thread``: what can be neither waited for nor trusted not to block; everything on Windows.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, final

import trio

if TYPE_CHECKING:
    from collections.abc import Callable

READ_SIZE: Final = 256 * 1024
"""How much to read at once: what a pipe holds after `widen_pipe`."""

PIPE_BUF: Final[int] = getattr(select, "PIPE_BUF", 512)
"""A descriptor that polls as writable takes as much without blocking, and in one piece."""

_NOT_POLLABLE: Final = {errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.ENODEV}
_NO_NOWAIT: Final = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ESPIPE, errno.ENOSYS}
_RWF_NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)

T = TypeVar("T")

Mode: TypeAlias = Literal["poll", "direct", "thread"]


def widen_pipe(fd: int) -> None:
    """Let a pipe hold 256 KiB, where that is possible.

    Long messages then cost a quarter of the task switches. 1 MiB would be faster still, but
    use up what an unprivileged user may have in all his pipes (64 MiB) at 32 servers.
    """
    if sys.platform != "linux":
        return
    from fcntl import F_SETPIPE_SZ, fcntl  # noqa: PLC0415 - not on every platform

    with suppress(OSError):  # no pipe, or the user's budget is used up: 64 KiB work too
        fcntl(fd, F_SETPIPE_SZ, READ_SIZE)


def mode_for(fd: int) -> Mode:
    """Tell how a descriptor can be used without blocking the event loop.

    Raises:
      OSError: if it is not open.

    """
    kind = os.fstat(fd).st_mode
    if sys.platform == "win32":
        return "thread"
    # kqueue takes regular files, and reports them as unreadable at their end.
    return "direct" if stat.S_ISREG(kind) else "poll"


class _OwnedFd:
    """A descriptor that is closed once, and not under a thread that uses it."""

    def __init__(self, fd: int, mode: Mode | None) -> None:
        self.mode: Mode = mode_for(fd) if mode is None else mode
        self._fd = fd  # -1 when closed
        self._limiter = trio.CapacityLimiter(1)  # a thread that hangs takes no other's place
        self._lock = threading.Lock()  # guards the rest
        self._in_thread = False
        self._orphan = -1  # closed while a thread used it: the thread closes it

    def get(self) -> int:
        if self._fd < 0:
            raise trio.ClosedResourceError("this stream is closed")
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if self.mode == "poll":
            trio.lowlevel.notify_closing(fd)
        with self._lock:
            if self._in_thread:
                self._orphan = fd
                return
        os.close(fd)

    async def run_in_thread(self, call: Callable[[int], T]) -> T:
        """Make one system call in a thread, which is left behind on cancellation."""

        def run() -> T:
            with self._lock:
                fd = self.get()
                self._in_thread = True
            try:
                return call(fd)
            finally:
                with self._lock:
                    self._in_thread = False
                    if self._orphan >= 0:
                        os.close(self._orphan)
                        self._orphan = -1

        return await trio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._limiter)


@final
class FdReceiveStream(trio.abc.ReceiveStream):
    """Reads from a descriptor, leaving its flags alone.

    Args:
      fd: Owned, and closed with the stream.
      mode: How to read; None finds it out.

    Cancellation:
      Nothing is lost, except in mode ``thread``: the thread that is left behind may take
      bytes that come later.

    """

    def __init__(self, fd: int, mode: Mode | None = None) -> None:
        self._owned = _OwnedFd(fd, mode)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        size = READ_SIZE if max_bytes is None else max_bytes
        if size < 1:
            raise ValueError("max_bytes must be at least 1")
        try:
            return await self._read(size)
        except OSError as exc:
            raise trio.BrokenResourceError(f"cannot read: {exc.strerror}") from exc

    async def _read(self, size: int) -> bytes:
        owned = self._owned
        while owned.mode == "poll":
            fd = owned.get()
            try:
                await trio.lowlevel.wait_readable(fd)
            except OSError as exc:
                if exc.errno not in _NOT_POLLABLE:
                    raise
                owned.mode = "direct"
                break
            try:
                return os.read(owned.get(), size)
            except BlockingIOError:
                # Somebody else set O_NONBLOCK and read what was there.
                continue
        if owned.mode == "thread":
            owned.get()
            return await owned.run_in_thread(partial(_read, size))
        await trio.lowlevel.checkpoint()
        return os.read(owned.get(), size)

    @property
    def hung_up(self) -> bool:
        """Whether nobody can write any more, though bytes may still wait; False if unknown."""
        if sys.platform == "win32" or self._owned.mode != "poll":
            return False
        waiter = select.poll()
        waiter.register(self._owned.get(), 0)
        return any(events & select.POLLHUP for _, events in waiter.poll(0))

    def close(self) -> None:
        self._owned.close()

    async def aclose(self) -> None:
        self.close()
        await trio.lowlevel.checkpoint()


@final
class FdSendStream(trio.abc.SendStream):
    """Writes to a descriptor, leaving its flags alone.

    Args:
      fd: Owned, and closed with the stream.
      mode: How to write; None finds it out.

    """

    def __init__(self, fd: int, mode: Mode | None = None) -> None:
        self._owned = _OwnedFd(fd, mode)
        self._nowait = hasattr(os, "pwritev") and _RWF_NOWAIT != 0
        self._sending = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        if self._sending:
            raise trio.BusyResourceError("another task is sending")
        self._sending = True
        try:
            await trio.lowlevel.checkpoint_if_cancelled()
            self._owned.get()
            await self._send(memoryview(data))
        except OSError as exc:
            raise trio.BrokenResourceError(f"cannot write: {exc.strerror}") from exc
        finally:
            self._sending = False

    async def send_from(self, buffer: bytearray) -> None:
        """Write what is in a buffer, and take out of it what has been written.

        Cancellation:
          What is in the buffer was not written, so that a later call goes on from there. In
          mode ``thread`` the thread that is left behind may still write, and take out, some of
          it; a later call waits for that first.

        """
        while buffer:
            if self._owned.mode == "thread":
                try:
                    await self._owned.run_in_thread(partial(_write_from, buffer))
                except OSError as exc:
                    raise trio.BrokenResourceError(f"cannot write: {exc.strerror}") from exc
                continue
            await self.wait_send_all_might_not_block()
            try:
                del buffer[: os.write(self._owned.get(), buffer[:PIPE_BUF])]
            except BlockingIOError:
                continue  # somebody else set O_NONBLOCK and was faster
            except OSError as exc:
                raise trio.BrokenResourceError(f"cannot write: {exc.strerror}") from exc

    async def _send(self, rest: memoryview) -> None:
        owned = self._owned
        if owned.mode == "poll":
            # First without asking for room: there nearly always is.
            rest = self._write_now(rest)
            if not rest:
                await trio.lowlevel.cancel_shielded_checkpoint()
                return
        while owned.mode == "poll":
            try:
                await trio.lowlevel.wait_writable(owned.get())
            except OSError as exc:
                if exc.errno not in _NOT_POLLABLE:
                    raise
                owned.mode = "direct"
                break
            rest = self._write_now(rest) if self._nowait else self._write_a_little(rest)
            if not rest:
                return
        while rest:
            if owned.mode == "thread":
                written = await owned.run_in_thread(partial(_write, rest))
            else:
                await trio.lowlevel.checkpoint()
                written = os.write(owned.get(), rest[:READ_SIZE])
            rest = rest[written:]

    def _write_now(self, rest: memoryview) -> memoryview:
        """Write what fits at once, all or nothing of it; return what is left."""
        if sys.platform != "linux" or not self._nowait:
            return rest
        try:
            return rest[os.pwritev(self._owned.get(), [rest], -1, _RWF_NOWAIT) :]
        except BlockingIOError:
            return rest
        except OSError as exc:
            if exc.errno not in _NO_NOWAIT:
                raise
            self._nowait = False
            return rest

    def _write_a_little(self, rest: memoryview) -> memoryview:
        try:
            return rest[os.write(self._owned.get(), rest[:PIPE_BUF]) :]
        except BlockingIOError:
            return rest

    async def wait_send_all_might_not_block(self) -> None:
        fd = self._owned.get()
        if self._owned.mode != "poll":
            await trio.lowlevel.checkpoint()
            return
        try:
            await trio.lowlevel.wait_writable(fd)
        except OSError as exc:
            if exc.errno not in _NOT_POLLABLE:
                raise trio.BrokenResourceError(f"cannot write: {exc.strerror}") from exc
            self._owned.mode = "direct"

    def close(self) -> None:
        self._owned.close()

    async def aclose(self) -> None:
        self.close()
        await trio.lowlevel.checkpoint()


def _read(size: int, fd: int) -> bytes:
    return os.read(fd, size)


def _write(data: memoryview, fd: int) -> int:
    return os.write(fd, data)


def _write_from(buffer: bytearray, fd: int) -> None:
    if buffer:
        # A copy: a buffer that is in use cannot be shortened.
        del buffer[: os.write(fd, bytes(buffer[:PIPE_BUF]))]
