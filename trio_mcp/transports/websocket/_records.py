"""What lies between TLS and a socket: records wait here until the system takes them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

import trio

from trio_mcp._rpc._nursery import finish_within

from ._defaults import FINISH_TIMEOUT

if TYPE_CHECKING:
    TlsStream = trio.SSLStream["Records"]


@final
class Records(trio.abc.Stream):
    """A connection, as TLS sees it. A record that was made goes out, before anything else.

    TLS cannot go on behind a record that was given up. Here it only waits: whoever waits for the
    system to take it can be cancelled, and the next one who writes goes on with it.

    Args:
      stream: The connection.

    """

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._unsent: deque[memoryview] = deque()
        self._flushing = trio.Lock()
        self._is_keeping = False

    @property
    def socket(self) -> trio.socket.SocketType:
        """The socket of the connection."""
        return self._stream.socket

    async def encrypt(self, tls: TlsStream, data: memoryview) -> None:
        """Make records of data, which waits for nobody unless TLS itself has begun to speak.

        Raises:
          trio.BrokenResourceError: if that goes on for too long, or TLS is at its end.

        Cancellation:
          Ignored, for `FINISH_TIMEOUT` seconds at most.

        """
        self._is_keeping = True
        try:
            with finish_within(FINISH_TIMEOUT) as limit:
                await tls.send_all(data)
        finally:
            self._is_keeping = False
        if limit.cancelled_caught:
            raise trio.BrokenResourceError("TLS did not come to an end with what it had to say")

    async def flush(self) -> None:
        """Wait until the system has taken all that was made. No checkpoint if it has.

        Raises:
          OSError, trio.ClosedResourceError: if it takes no more.

        Cancellation:
          What it has not taken goes out with the next flush.

        """
        if not self._unsent and not self._flushing.locked():
            return
        async with self._flushing:
            while self._unsent:
                sent = await self.socket.send(self._unsent[0])
                self._unsent[0] = self._unsent[0][sent:]
                if not self._unsent[0]:
                    self._unsent.popleft()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Take records. TLS itself may have something to say, too, as in its handshake."""
        self._unsent.append(memoryview(bytes(data)))
        if not self._is_keeping:
            try:
                await self.flush()
            except OSError as exc:
                raise trio.BrokenResourceError("the connection broke") from exc

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        return await self._stream.receive_some(max_bytes)

    async def aclose(self) -> None:
        await self._stream.aclose()
