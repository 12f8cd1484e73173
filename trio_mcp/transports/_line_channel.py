"""Messages as lines over any stream of bytes: pipes, and as well sockets of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._codec._envelope import Malformed, dump_lines, parse_line
from trio_mcp._codec._lines import MAX_LINE_SIZE, LineSplitter
from trio_mcp._rpc._channel import Channel
from trio_mcp._rpc._nursery import finish_within
from trio_mcp.transports._fd_streams import READ_SIZE, FdReceiveStream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp._codec._envelope import Frame
    from trio_mcp._codec._lines import TooLong
    from trio_mcp.types import JSONRPCMessage

CLOSE_TIMEOUT: Final = 1.0
"""Seconds that a stream may take to close. Those of stdio close at once."""

LINES_AT_ONCE: Final = 1_000
"""Lines that are parsed without letting other tasks run. 256 KiB that are read at once can hold
more than a hundred thousand that are no messages, each of which takes some 6 µs."""


class LineChannel(Channel):
    """A channel over a pair of byte streams, one message a line, as on stdio.

    Every message ends with one LF, on every platform; CR never occurs. A line that is no
    message is received as `Malformed`, and so is one beyond the limit.

    Args:
      receive_stream: Closed with the channel.
      send_stream: Closed with the channel; may be the same object.
      max_line_size: The longest line that is received, in bytes.
      encoding_errors: What to do with a line that is not UTF-8: ``strict`` receives it as
          malformed, ``replace`` and ``ignore`` repair it.

    """

    __slots__ = (
        "_closed",
        "_ended",
        "_errors",
        "_receive_stream",
        "_receiving",
        "_send_stream",
        "_splitter",
        "_waiting",
    )

    def __init__(
        self,
        receive_stream: trio.abc.ReceiveStream,
        send_stream: trio.abc.SendStream,
        *,
        max_line_size: int = MAX_LINE_SIZE,
        encoding_errors: str = "strict",
    ) -> None:
        self._receive_stream = receive_stream
        self._send_stream = send_stream
        self._splitter = LineSplitter(max_line_size)
        self._errors = encoding_errors
        self._receiving = False
        self._ended = False
        self._closed = False
        self._waiting: list[bytes | TooLong] = []  # lines that have come, and were too many

    async def receive(self) -> list[Frame]:
        """Wait for the next messages; see `Channel.receive`.

        Raises:
          trio.BusyResourceError: if another task is receiving.

        """
        if self._receiving:
            raise trio.BusyResourceError("another task is receiving from this channel")
        self._receiving = True
        try:
            while True:
                if self._waiting and not self._closed:
                    await trio.lowlevel.checkpoint()
                    return self._parse(self._take(self._waiting))
                if self._ended and not self._closed:
                    # A terminal says so only once: it must not be asked again.
                    await trio.lowlevel.checkpoint()
                    raise trio.EndOfChannel
                chunk = await self._receive_stream.receive_some(READ_SIZE)
                if not chunk:
                    self._ended = True
                    frames = self._parse(self._splitter.finish())
                    # What breaks off there says less than the end of the connection does.
                    last = [_without_call(frame) for frame in frames]
                    if last:
                        return last
                elif lines := self._splitter.feed(bytes(chunk)):
                    return self._parse(self._take(lines))
        finally:
            self._receiving = False

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """Write messages, each with its line feed, in one go; see `Channel.send`.

        Raises:
          trio.BusyResourceError: if another task is sending.
          TypeError, ValueError: if a message holds what JSON cannot say; nothing is sent.

        """
        await self._send_stream.send_all(dump_lines(messages))

    @property
    def hung_up(self) -> bool:
        """See `Channel.hung_up`; known of stdin alone."""
        stream = self._receive_stream
        return not self._closed and isinstance(stream, FdReceiveStream) and stream.hung_up

    async def aclose(self) -> None:
        """Close both streams, within `CLOSE_TIMEOUT` seconds each, also when cancelled."""
        await self.finish()
        await trio.lowlevel.checkpoint()

    async def finish(self) -> None:
        """Close as `aclose` does, without raising `trio.Cancelled`, for the end of a block."""
        self._closed = True
        try:
            with finish_within(CLOSE_TIMEOUT):
                await self._send_stream.aclose()
        finally:
            with finish_within(CLOSE_TIMEOUT):
                await self._receive_stream.aclose()

    def _take(self, lines: list[bytes | TooLong]) -> list[bytes | TooLong]:
        """Take as many as are parsed at once; the others wait."""
        self._waiting = lines[LINES_AT_ONCE:]
        return lines[:LINES_AT_ONCE] if self._waiting else lines

    def _parse(self, lines: Sequence[bytes | TooLong]) -> list[Frame]:
        if self._errors == "strict":
            return [parse_line(line) for line in lines]
        return [
            parse_line(line.decode("utf-8", self._errors).encode())
            if isinstance(line, bytes)
            else parse_line(line)
            for line in lines
        ]


def _without_call(frame: Frame) -> Frame:
    return attrs.evolve(frame, answers=None) if isinstance(frame, Malformed) else frame
