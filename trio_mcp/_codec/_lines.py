"""Lines: one message each, ended by a line feed, split out of chunks of any size."""

from __future__ import annotations

from typing import Final

import attrs

MAX_LINE_SIZE: Final = 64 * 1024 * 1024
"""The longest line taken by default, in bytes: room for files of 48 MB in Base64.

There has to be a limit, since a peer that never ends its line would fill the memory.
"""

_BOM: Final = b"\xef\xbb\xbf"
_CR: Final = 0x0D


@attrs.frozen
class TooLong:
    """Stands for a line beyond the limit, which was dropped."""

    limit: int


class LineSplitter:
    r"""Cut a stream of bytes into lines, in linear time.

    Only LF ends a line. A CR before it, and a byte order mark at the start of the stream,
    are forgiven: programs that are unaware of their platform's text mode write them. Lines
    of nothing but white space are skipped.

    Args:
      limit: The greatest length of a line, in bytes without its LF. What is longer is
          dropped up to its end and reported once, as soon as that is known.

    """

    __slots__ = ("_at_start", "_dropping", "_limit", "_parts", "_size")

    def __init__(self, limit: int = MAX_LINE_SIZE) -> None:
        if limit < 1:
            raise ValueError(f"a line limit is at least 1 byte, not {limit}")
        self._limit = limit
        self._parts: list[bytes] = []  # of the line whose end has not come
        self._size = 0  # of all parts
        self._dropping = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """Take the next bytes; return the lines that they complete, without their ends."""
        lines: list[bytes | TooLong] = []
        end = chunk.find(b"\n")
        if end < 0:
            self._keep(chunk, lines)
            return lines
        start = 0
        if self._parts or self._dropping:
            self._keep(chunk[:end], lines)
            self._end_line(lines)
            start = end + 1
            end = chunk.find(b"\n", start)
        while end >= 0:
            self._add(chunk[start:end], lines)
            start = end + 1
            end = chunk.find(b"\n", start)
        if start < len(chunk):
            self._keep(chunk[start:], lines)
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """Take the end of the stream; return the last line if its LF is missing."""
        lines: list[bytes | TooLong] = []
        self._end_line(lines)
        return lines

    def _keep(self, part: bytes, lines: list[bytes | TooLong]) -> None:
        if self._dropping or not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            self._forget()
            self._dropping = True
            lines.append(TooLong(self._limit))

    def _end_line(self, lines: list[bytes | TooLong]) -> None:
        if self._parts:
            line = b"".join(self._parts)
            self._forget()
            self._add(line, lines)
        self._dropping = False

    def _forget(self) -> None:
        self._parts.clear()
        self._size = 0

    def _add(self, line: bytes, lines: list[bytes | TooLong]) -> None:
        if len(line) > self._limit:
            lines.append(TooLong(self._limit))
            return
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if line and line[-1] == _CR:
            line = line[:-1]
        if line and not line.isspace():
            lines.append(line)
