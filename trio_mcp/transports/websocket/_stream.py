"""What lies between a socket and the WebSocket library: limits, and knowing what happened.

The library reads without limits of time, waits for ever for an opening handshake that does not
come, forgets what was sent behind one, and stops reading when it cannot write, so that what the
peer said at last is lost. All of that is put right below it, where bytes pass.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast, final

import trio

from trio_mcp._rpc._nursery import finish_begun
from trio_mcp.errors import ConnectionLost

from ._defaults import CUT_OFF, FINISH_TIMEOUT, READ_SIZE
from ._records import Records

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._frames import Close, FrameGate
    from ._records import TlsStream

    RawStream = trio.SocketStream | TlsStream
    ReadHead = Callable[[RawStream], Awaitable[tuple[bytes, bytes]]]

FRAMES_AT_ONCE: Final = 4 * 1024
"""Bytes of frames that are taken without letting other tasks run. 64 KiB that are read at once can
hold ten thousand frames without content, each of which takes some 40 µs."""

_CLOSE_FRAME: Final = 0x88
_ACCEPTED: Final = b"HTTP/1.1 101 "


@final
class GuardedStream(trio.abc.Stream):
    """A connection, as the WebSocket library sees it.

    Closing it ends nothing but the library's part: the connection itself is closed by `close`,
    after what there is still to say.

    Args:
      stream: The connection.
      gate: Looks at the frames that arrive.
      read_head: Reads the head of the opening handshake, and gives what came behind it.
      is_client: Which side this is.
      peer: Who is at the other end, for errors.
      write_timeout: Seconds that the peer may leave unread what is written to it.

    Attributes:
      request: What a client asked with, to be compared with the answer.
      lost: Why this side gave the connection up.
      ended: The peer sends no more, or is not listened to any more.
      unwritable: Nothing can be sent any more.
      silent_since: When the peer began to be waited for, if it is.
      close_sent: A closing frame was sent: nothing may follow it.
      on_end: Called when it ends.

    """

    def __init__(
        self,
        stream: RawStream,
        gate: FrameGate,
        read_head: ReadHead,
        *,
        is_client: bool,
        peer: str,
        write_timeout: float,
    ) -> None:
        self.gate = gate
        self.is_client = is_client
        self.peer = peer
        self.request = b""
        self.lost: ConnectionLost | None = None
        self.ended = False
        self.unwritable = False
        self.on_end: Callable[[], None] | None = None
        self._stream = stream
        self._read_head = read_head
        self._write_timeout = write_timeout
        self._opened = trio.Event()
        self._head_passed = False
        self._unread = b""
        self._part = bytearray()
        self.silent_since = math.inf
        self._writing = trio.Lock()
        below = stream.transport_stream if isinstance(stream, trio.SSLStream) else None
        self._records = below if isinstance(below, Records) else None
        self._corked: list[bytes] | None = None
        self.close_sent = False
        self._cut = False

    # Reading

    def open(self) -> None:
        """The handshake is done on this side: frames may be decoded."""
        self._opened.set()

    @property
    def silence(self) -> float:
        """Seconds for which the peer has been waited for, and nothing came."""
        return max(0.0, trio.current_time() - self.silent_since)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Give the head first, then frames up to one that is refused."""
        del max_bytes
        try:
            data = await self._receive()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._end()
            raise
        if not data:
            self._end()
        return data

    async def _receive(self) -> bytes:
        if not self._head_passed:
            self._head_passed = True
            head, self._unread = await self._read_head(self._stream)
            return head
        await self._opened.wait()
        while self.gate.refusal is None:
            if self._unread:
                await trio.lowlevel.checkpoint()
            else:
                self._unread = await self._read()
            if not self._unread:
                return b""
            # What is left of a large frame is one piece, however much it is.
            size = max(self.gate.left, FRAMES_AT_ONCE)
            data, self._unread = self._unread[:size], self._unread[size:]
            if passing := self._admit(data):
                return passing
        raise trio.BrokenResourceError("the peer sent what is not taken")

    def _admit(self, data: bytes) -> bytes:
        # A frame that comes byte by byte would be a list of them in the decoder.
        passing, complete = self.gate.admit(data)
        self._part += data[:passing]
        ready = len(self._part) - (passing - complete) if complete else 0
        if len(self._part) >= READ_SIZE:
            ready = len(self._part)
        passed = bytes(self._part[:ready])
        del self._part[:ready]
        return passed

    async def _read(self) -> bytes:
        self.silent_since = trio.current_time()
        try:
            return bytes(await self._stream.receive_some(READ_SIZE))
        finally:
            self.silent_since = math.inf

    def _end(self) -> None:
        self.ended = True
        if self.on_end is not None:
            self.on_end()

    # Writing

    def cork(self) -> None:
        """Collect what is sent from now on."""
        self._corked = []

    async def uncork(self) -> None:
        """Send what was collected, in one go."""
        corked, self._corked = self._corked, None
        if corked:
            async with self._writing:
                await self._write(corked)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send a frame, or do nothing where that is in vain.

        The library would end on an error, though more may have come in than it has read.
        """
        data = bytes(data)
        if self.is_client and not self._opened.is_set():
            self.request = data
        if not self.is_client and not self._opened.is_set() and not data.startswith(_ACCEPTED):
            # The library refuses what it does not like by a bare status. We tell more.
            await trio.lowlevel.checkpoint()
            return
        if self._corked is not None:
            await trio.lowlevel.checkpoint()
            self._corked.append(data)
            return
        async with self._writing:
            await self._write([data])

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def _write(self, frames: list[bytes], *, is_last: bool = False) -> None:
        """Send frames, up to one that closes, if none has been sent. Holds the lock."""
        if self.close_sent:
            return
        # Whoever is cancelled before anything has gone out has cut nothing off, and a closing
        # frame may still be sent.
        await trio.lowlevel.checkpoint_if_cancelled()
        opcodes = [frame[0] for frame in frames]
        is_closing = _CLOSE_FRAME in opcodes
        if is_closing:
            frames = frames[: opcodes.index(_CLOSE_FRAME) + 1]
        rest = memoryview(b"".join(frames))
        if self._records is not None and len(rest) <= READ_SIZE:
            await self._write_records(self._records, rest, is_closing=is_closing)
            return
        if not self._is_over and isinstance(self._stream, trio.SocketStream):
            rest = rest[await self._write_at_once(self._stream.socket, rest) :]
        self.close_sent = is_closing
        if self._is_over or not rest:
            return
        if is_last:
            await self._write_whole(rest)
            return
        # This waits in between, and a record of TLS even before its first byte.
        async with finish_begun(FINISH_TIMEOUT):
            await self._write_whole(rest)

    @property
    def _is_over(self) -> bool:
        return self.unwritable or self._cut

    async def _write_at_once(self, socket: trio.socket.SocketType, data: memoryview) -> int:
        """Send what the system takes in one go, which is all of it as a rule.

        Cancellation:
          Nothing has been sent.

        """
        try:
            with trio.move_on_after(self._write_timeout):
                return await socket.send(data)
        except (OSError, trio.ClosedResourceError):
            self.unwritable = True
        else:
            self._lose_reader()
        return 0

    async def _write_records(
        self, records: Records, data: memoryview, *, is_closing: bool
    ) -> None:
        """Encrypt frames first, and then send what came of them.

        Cancellation:
          Nothing was begun, or the frames go out before whatever is written next.

        """
        try:
            with trio.move_on_after(self._write_timeout):
                await records.flush()
                if not self._is_over:
                    await records.encrypt(cast("TlsStream", self._stream), data)
                self.close_sent = is_closing
                await records.flush()
                return
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            self.unwritable = True
            self.close_sent = is_closing
        else:
            self._lose_reader()

    async def _write_whole(self, rest: memoryview) -> None:
        self._cut = True
        try:
            while rest:
                with trio.move_on_after(self._write_timeout) as scope:
                    await self._stream.send_all(rest[:READ_SIZE])
                if scope.cancelled_caught:
                    self._lose_reader()
                    return
                rest = rest[READ_SIZE:]
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.unwritable = True
            return
        self._cut = False

    def _lose_reader(self) -> None:
        limit = f"{self._write_timeout:g} s"
        self.lose(f"Connection closed: {self.peer} read nothing for {limit}")

    # Ending

    def lose(self, why: str) -> None:
        """Give the connection up."""
        if self.lost is None:
            self.lost = ConnectionLost(why, close_code=CUT_OFF)
        self.close()

    async def part(self, close: Close) -> None:
        """Close in good order: say so, and wait until the peer does. Nobody else may read.

        Bounded by the caller.
        """
        with suppress(OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            self._corked = None
            async with self._writing:
                await self._write([close.dump(is_client=self.is_client)], is_last=True)
                if self._records is not None:
                    await self._records.flush()
            if self._cut:
                return
            self.gate.admit(self._unread)
            while not self.gate.close_seen and (data := await self._read()):
                self.gate.admit(data)

    async def aclose(self) -> None:
        """Note that the library has come to its end."""
        self._end()
        await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Close the connection."""
        self.unwritable = True
        close_socket(self._stream)


def close_socket(stream: RawStream) -> None:
    """Close a connection at once, without a word."""
    plain = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
    plain.socket.close()


async def linger(stream: RawStream) -> None:
    """Let the peer read what was sent, until it goes. Bounded by the caller.

    Closing at once would have the system discard that along with what was not read.
    """
    if isinstance(stream, trio.SocketStream):
        await stream.send_eof()
    while await stream.receive_some(READ_SIZE):
        pass
