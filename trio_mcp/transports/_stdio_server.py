"""The server's end of stdio: this process's stdin and stdout, one message a line."""

from __future__ import annotations

import io
from collections import deque
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVarTuple, final

import trio

from trio_mcp._codec._lines import MAX_LINE_SIZE
from trio_mcp._rpc._open_blocks import entering_task
from trio_mcp.transports._fd_streams import READ_SIZE, FdReceiveStream, FdSendStream
from trio_mcp.transports._line_channel import LineChannel
from trio_mcp.transports._standard_fds import private_duplicate, stdin_taken, stdout_taken

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from trio_mcp._rpc._channel import Channel

Ts = TypeVarTuple("Ts")


class SupportsFileno(Protocol):
    """Anything with a descriptor: a file, a socket, ``trio.wrap_file(sys.stdin)``."""

    def fileno(self) -> int: ...


StdioInput: TypeAlias = SupportsFileno | io.BufferedIOBase | trio.abc.ReceiveStream
StdioOutput: TypeAlias = SupportsFileno | io.BufferedIOBase | trio.abc.SendStream


@asynccontextmanager
async def stdio_server(
    stdin: StdioInput | None = None,
    stdout: StdioOutput | None = None,
    *,
    max_line_size: int = MAX_LINE_SIZE,
) -> AsyncGenerator[Channel, None]:
    """Open the channel to the client that started this process.

    Inside the block, descriptors 0 and 1 are not the wire: the channel has private duplicates
    that no child inherits, 0 reads the null device and 1 goes to stderr. So neither print(),
    nor C code, nor a child process can write into the protocol or read from it. Both are put
    back at the end. The flags of the descriptors, which others share, are not changed.

    Args:
      stdin: What to read instead of stdin: an object with ``fileno()``, whose descriptor is
          duplicated (and nothing that it has buffered is seen); a stream of Trio, which is
          closed with the channel; or a binary file without a descriptor, which stays open.
          Descriptor 0 is left alone then.
      stdout: What to write to instead of stdout, and as before for descriptor 1.
      max_line_size: The longest message that is received, in bytes; a longer one is answered
          with an error.

    Returns:
      The channel, which unpacks into two ends: ``read, write``. Its end comes when the client
      closes its side, or dies.

    Raises:
      RuntimeError: if stdin or stdout already serves a session, or outside of Trio.
      OSError: if this process was started with one of them closed.

    Cancellation:
      Entering and leaving do not wait.

    """
    entering_task("stdio_server")
    with ExitStack() as stack:
        receive_stream = _open_input(
            stack.enter_context(stdin_taken()) if stdin is None else stdin, stack
        )
        send_stream = _open_output(
            stack.enter_context(stdout_taken()) if stdout is None else stdout, stack
        )
        channel = LineChannel(receive_stream, send_stream, max_line_size=max_line_size)
        try:
            yield channel
        finally:
            await channel.finish()  # noqa: ASYNC102 - shields itself, with a timeout


def _open_input(source: int | StdioInput, stack: ExitStack) -> trio.abc.ReceiveStream:
    if isinstance(source, trio.abc.ReceiveStream):
        return source
    fd = source if isinstance(source, int) else _fileno(source)
    if fd is not None:
        stream = FdReceiveStream(private_duplicate(fd))
        stack.callback(stream.close)
        return stream
    return _FileReceiveStream(_unwrapped(source))


def _open_output(target: int | StdioOutput, stack: ExitStack) -> trio.abc.SendStream:
    if isinstance(target, trio.abc.SendStream):
        return target
    fd = target if isinstance(target, int) else _fileno(target)
    if fd is not None:
        if not isinstance(target, int) and hasattr(file := _unwrapped(target), "flush"):
            file.flush()  # what was written before comes before
        stream = FdSendStream(private_duplicate(fd))
        stack.callback(stream.close)
        return stream
    return _FileSendStream(_unwrapped(target))


def _fileno(file: Any) -> int | None:
    try:
        fd = file.fileno()
    except (AttributeError, io.UnsupportedOperation):
        return None
    assert isinstance(fd, int)
    return fd


def _unwrapped(file: Any) -> Any:
    """Return the file inside one of `trio.wrap_file`."""
    return getattr(file, "wrapped", file)


class _File:
    """A binary file that has no descriptor: called in threads, since it may block.

    It stays its owner's to close: who hands over a buffer wants to read it afterwards.
    """

    def __init__(self, file: Any, name: str) -> None:
        if isinstance(file, io.TextIOBase):
            raise TypeError(f"{name} has to be a binary file or have a descriptor")
        self._file = file
        # Its methods are called one after the other, also by a thread that was let go.
        self._limiter = trio.CapacityLimiter(1)
        self._call_scope = trio.CancelScope()
        self._closed = False

    async def _call(self, fn: Callable[[*Ts], None], *args: *Ts) -> None:
        if self._closed:
            raise trio.ClosedResourceError("this stream is closed")
        with trio.CancelScope() as self._call_scope:
            await trio.to_thread.run_sync(fn, *args, abandon_on_cancel=True, limiter=self._limiter)
            return
        raise trio.ClosedResourceError("this stream was closed")

    async def aclose(self) -> None:
        self._closed = True
        self._call_scope.cancel(reason="the stream was closed")
        await trio.lowlevel.checkpoint()


@final
class _FileReceiveStream(_File, trio.abc.ReceiveStream):
    def __init__(self, file: Any) -> None:
        super().__init__(file, "stdin")
        self._chunks: deque[bytes] = deque()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await self._call(self._read, READ_SIZE if max_bytes is None else max_bytes)
        return self._chunks.popleft()

    def _read(self, size: int) -> None:
        # The thread of a call that was cancelled may have brought something since.
        if not self._chunks:
            self._chunks.append(self._file.readline(size))


@final
class _FileSendStream(_File, trio.abc.SendStream):
    def __init__(self, file: Any) -> None:
        super().__init__(file, "stdout")

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._call(self._write, data)

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        try:
            self._file.write(data)
            self._file.flush()
        except (OSError, ValueError) as exc:
            raise trio.BrokenResourceError("cannot write") from exc

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()
