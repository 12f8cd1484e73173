"""The frames of one direction, walked by their headers: what is refused before it is decoded.

The decoder behind takes binary messages as well, counts characters in place of bytes, and
collects the parts of a message without counting those that are empty. So what may be in a
message is decided here, from what a header announces. What is wrong with the frames themselves
(masks, reserved bits, text that is no UTF-8) is the decoder's to find.
"""

from __future__ import annotations

from typing import Final

import attrs
from wsproto.frame_protocol import FrameProtocol, Opcode

from ._defaults import NOT_TEXT, TOO_BIG

MAX_PARTS: Final = 10_000
"""Frames that one message may be divided into. Each costs memory, however little is in it."""

_CONTROL: Final = 0x8
_SHORTEST_HEADER: Final = 2
_EXTENDED: Final = {126: 2, 127: 8}
# Bytes of the length that follow the first two.
_MASK: Final = 4


@attrs.frozen
class Close:
    """With what a connection is closed: a code of RFC 6455, section 7.4, and a reason."""

    code: int
    reason: str = ""

    def dump(self, *, is_client: bool) -> bytes:
        """Write it as a frame; a long reason is cut."""
        return bytes(FrameProtocol(is_client, []).close(self.code, self.reason or None))


class FrameGate:
    """Lets the bytes of frames through, up to one that is refused or that closes.

    Args:
      max_message_size: The longest message, in bytes.

    """

    __slots__ = ("_header", "_max_size", "_parts", "_size", "close_seen", "left", "refusal")

    def __init__(self, max_message_size: int) -> None:
        self._max_size = max_message_size
        self._header = bytearray()
        self.left = 0
        """Bytes of the current frame that are still to come."""
        # Of the current message.
        self._size = 0
        self._parts = 0
        self.refusal: Close | None = None
        self.close_seen = False

    def admit(self, data: bytes) -> tuple[int, int]:
        """Walk over what has come next.

        Returns:
          How many of the bytes may pass; and how many of those are up to the end of a frame.
          Behind a refusal nothing passes, but what closes the connection is still noticed.

        """
        passing = len(data) if self.refusal is None else 0
        position = complete = 0
        while position < len(data):
            if not self.left:
                begin = position
                if self.close_seen:
                    passing = min(passing, begin)
                    break
                was_refused = self.refusal is not None
                position = self._read_header(data, position)
                if self.refusal is not None and not was_refused:
                    passing = begin
            step = min(self.left, len(data) - position)
            self.left -= step
            position += step
            if not self.left and not self._header:
                complete = position
        return passing, min(passing, complete)

    def _read_header(self, data: bytes, position: int) -> int:
        header = self._header
        while (missing := _header_size(header) - len(header)) > 0:
            more = data[position : position + missing]
            if not more:
                return position
            header += more
            position += len(more)
        self._begin_frame(header[0] & 0x0F, _length_in(header))
        header.clear()
        return position

    def _begin_frame(self, opcode: int, length: int) -> None:
        self.left = length
        if opcode & _CONTROL:
            self.close_seen = opcode == Opcode.CLOSE
            return
        if opcode != Opcode.CONTINUATION:
            self._size = self._parts = 0
        self._size += length
        self._parts += 1
        if opcode == Opcode.BINARY:
            self._refuse(NOT_TEXT, "a binary message: those of MCP are text")
        elif self._size > self._max_size:
            self._refuse(TOO_BIG, f"a message of more than {self._max_size} bytes")
        elif self._parts > MAX_PARTS:
            self._refuse(TOO_BIG, f"a message in more than {MAX_PARTS} parts")

    def _refuse(self, code: int, reason: str) -> None:
        if self.refusal is None:
            self.refusal = Close(code, reason)


def _header_size(header: bytearray) -> int:
    if len(header) < _SHORTEST_HEADER:
        return _SHORTEST_HEADER
    is_masked = header[1] & 0x80
    return _SHORTEST_HEADER + _EXTENDED.get(header[1] & 0x7F, 0) + (_MASK if is_masked else 0)


def _length_in(header: bytearray) -> int:
    short = header[1] & 0x7F
    size = _EXTENDED.get(short, 0)
    return int.from_bytes(header[2 : 2 + size]) if size else short
