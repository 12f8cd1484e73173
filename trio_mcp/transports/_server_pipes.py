"""The pipes to and from a server process, which end with it, whoever else holds them.

A pipe ends when its last holder closes it. What a server started may have inherited its pipes
and outlive it, and then nothing breaks: a read waits for ever, and so does a write once the
pipe is full. So the keeper of the process, which sees it exit, ends them here.
"""

from __future__ import annotations

import os
import select
import sys
from abc import abstractmethod
from typing import Final, cast, final

import trio

from trio_mcp.transports._fd_streams import READ_SIZE, FdReceiveStream

LAST_WORDS_PAUSE: Final = 0.2
"""Seconds of silence that end what comes from a server that has exited. All that it wrote
itself is in the pipe by then; but a filter that it wrote through may be a little behind."""

LAST_WORDS_TIMEOUT: Final = 1.0
"""Seconds to wait in all for what comes then, when something that it started keeps writing."""

LAST_WORDS_SIZE: Final = 1024 * 1024
"""Bytes that are received then at most: four times what the pipe can hold."""


class _SendPipe(trio.abc.SendStream):
    @abstractmethod
    def close(self) -> None: ...


class _ReceivePipe(trio.abc.ReceiveStream):
    @abstractmethod
    def close(self) -> None: ...


def as_receive_pipe(stream: trio.abc.ReceiveStream | None) -> _ReceivePipe:
    """Take a pipe of a `trio.Process`: their classes differ, and all of them close at once."""
    assert stream is not None
    return cast("_ReceivePipe", stream)


@final
class PipeToServer(trio.abc.SendStream):
    """A server's stdin, which breaks when `end` is called."""

    def __init__(self, stream: trio.abc.SendStream | None) -> None:
        assert stream is not None
        self._stream = cast("_SendPipe", stream)
        self._sending: trio.CancelScope | None = None
        self._ended = False
        self._closed = False

    def end(self) -> None:
        """Wake who is writing: nobody reads any more."""
        self._ended = True
        if self._sending is not None:
            self._sending.cancel(reason="the server process has exited")

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._ended and not self._closed:
            await trio.lowlevel.checkpoint()
            raise trio.BrokenResourceError("the server process has exited")
        rest = self._write_now(data)
        if not rest:
            await trio.lowlevel.cancel_shielded_checkpoint()
            return
        with trio.CancelScope() as scope:
            self._sending = scope
            try:
                await self._stream.send_all(rest)
                return
            finally:
                self._sending = None
        raise trio.BrokenResourceError("the server process has exited")

    def _write_now(self, data: bytes | bytearray | memoryview) -> bytes | bytearray | memoryview:
        """Write what there is room for, which is nearly always all; return what is left."""
        fd = _fileno(self._stream)
        if fd is None or self._sending is not None or not data:
            return data
        try:
            written = os.write(fd, data)
        except OSError:
            return data  # there is no room, or the stream knows what that means
        return b"" if written == len(data) else memoryview(data)[written:]

    async def wait_send_all_might_not_block(self) -> None:
        if self._ended:
            await trio.lowlevel.checkpoint()
        else:
            with trio.CancelScope() as self._sending:
                await self._stream.wait_send_all_might_not_block()

    def close(self) -> None:
        self._closed = True
        self._stream.close()

    async def aclose(self) -> None:
        self.close()
        await trio.lowlevel.checkpoint()


@final
class PipeFromServer(trio.abc.ReceiveStream):
    """A server's stdout, which ends soon after `end` is called.

    What the server wrote itself is received first, all of it: it is in the pipe. What comes
    after that is received until there is silence for `LAST_WORDS_PAUSE` seconds, or the server
    was waited for `LAST_WORDS_TIMEOUT` seconds, or it is `LAST_WORDS_SIZE` bytes.

    Cancellation:
      Nothing is lost.

    """

    def __init__(self, stream: trio.abc.ReceiveStream | None) -> None:
        self._stream = as_receive_pipe(stream)
        self._receiving: trio.CancelScope | None = None
        self._ending = False
        self._patience = LAST_WORDS_TIMEOUT
        self._room = LAST_WORDS_SIZE
        self._closed = False
        self.held = False
        """It was ended while somebody could still write to it."""

    def end(self, patience: float = LAST_WORDS_TIMEOUT) -> None:
        """Let it end, after what is in the pipe and what follows that closely.

        Args:
          patience: Seconds to wait in all for what follows.

        """
        if self._ending:
            return
        self._ending = True
        self._patience = patience
        if self._receiving is not None:
            self._receiving.cancel(reason="the server process has exited")
        fd = _fileno(self._stream)
        if fd is not None:
            trio.lowlevel.notify_closing(fd)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if not self._ending or self._closed:
            fd = None if self._closed else _fileno(self._stream)
            if fd is None:
                with trio.CancelScope() as self._receiving:
                    return bytes(await self._stream.receive_some(max_bytes))
            else:
                try:
                    return await _read(fd, max_bytes)
                except trio.ClosedResourceError:
                    if not self._ending or self._closed:
                        raise
        return await self._receive_last(max_bytes)

    async def _receive_last(self, max_bytes: int | None) -> bytes:
        if self._room > 0:
            began = trio.current_time()
            with trio.move_on_after(min(LAST_WORDS_PAUSE, self._patience)):
                chunk = bytes(await self._stream.receive_some(max_bytes))
                self._patience = max(0.0, self._patience - (trio.current_time() - began))
                self._room -= len(chunk)
                return chunk
            self._patience = 0.0
            # The event loop may have been held up for so long that both came at once.
            if self._closed or _is_readable(self._stream):
                chunk = bytes(await self._stream.receive_some(max_bytes))
                self._room -= len(chunk)
                return chunk
        await trio.lowlevel.checkpoint()
        self._room = 0
        self.held = True
        return b""

    def duplicate(self) -> FdReceiveStream | None:
        """Return another reader of the same pipe, or None where there cannot be one."""
        fd = _fileno(self._stream)
        if fd is None:
            return None
        try:
            # Closing the FdStream makes the pipe blocking again, which this one does not mind.
            return FdReceiveStream(os.dup(fd))
        except OSError:
            return None  # out of descriptors, or closed: the server gets SIGPIPE instead

    def close(self) -> None:
        self._closed = True
        self._stream.close()

    async def aclose(self) -> None:
        self.close()
        await trio.lowlevel.checkpoint()


async def _read(fd: int, max_bytes: int | None) -> bytes:
    # Half of what the stream takes, which always tries first, and finds an empty pipe here.
    while True:
        await trio.lowlevel.wait_readable(fd)
        try:
            return os.read(fd, READ_SIZE if max_bytes is None else max_bytes)
        except BlockingIOError:
            continue
        except OSError as exc:
            raise trio.BrokenResourceError(f"cannot read: {exc.strerror}") from exc


def _is_readable(stream: trio.abc.ReceiveStream) -> bool:
    fd = _fileno(stream)
    if sys.platform == "win32" or fd is None:
        return False
    waiter = select.poll()
    waiter.register(fd, select.POLLIN)
    return bool(waiter.poll(0))


def _fileno(stream: trio.abc.AsyncResource) -> int | None:
    if sys.platform == "win32" or not isinstance(stream, trio.lowlevel.FdStream):
        return None
    fd = stream.fileno()
    return None if fd < 0 else fd  # closed
