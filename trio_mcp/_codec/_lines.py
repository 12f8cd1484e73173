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


KEPT: Final = 1024
"""Of a dropped line, at each end: its id is found there by `_envelope`, whoever wrote it."""


@attrs.frozen
class TooLong:
    """Stands for a line beyond the limit, which was dropped."""

    limit: int
    head: bytes = attrs.field(default=b"", eq=False)
    tail: bytes = attrs.field(default=b"", eq=False)


class LineSplitter:
    r"""Cut a stream of bytes into lines, in linear time.

    Only LF ends a line. A CR before it, and a byte order mark at the start of the stream,
    are forgiven: programs that are unaware of their platform's text mode write them. Lines
    of nothing but white space are skipped.

    Args:
      limit: The greatest length of a line, in bytes without its LF. What is longer is
          dropped, and reported once at its end.

    """

    __slots__ = ("_at_start", "_head", "_limit", "_parts", "_size")

    def __init__(self, limit: int = MAX_LINE_SIZE) -> None:
        if limit < 1:
            raise ValueError(f"a line limit is at least 1 byte, not {limit}")
        self._limit = limit
        self._parts: list[bytes] = []  # of the line whose end has not come
        self._size = 0  # of all parts
        self._head: bytes | None = None  # of a line that is being dropped
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """Take the next bytes; return the lines that they complete, without their ends."""
        lines: list[bytes | TooLong] = []
        end = chunk.find(b"\n")
        if end < 0:
            self._keep(chunk)
            return lines
        start = 0
        if self._parts:
            self._keep(chunk[:end])
            self._end_line(lines)
            start = end + 1
            end = chunk.find(b"\n", start)
        while end >= 0:
            self._add(chunk[start:end], lines)
            start = end + 1
            end = chunk.find(b"\n", start)
        self._keep(chunk[start:])
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """Take the end of the stream; return the last line if its LF is missing."""
        lines: list[bytes | TooLong] = []
        if self._parts:
            self._end_line(lines)
        return lines

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            rest = b"".join(self._parts)
            if self._head is None:
                self._head = rest[:KEPT]
            self._parts = [rest[-KEPT:]]

    def _end_line(self, lines: list[bytes | TooLong]) -> None:
        line = b"".join(self._parts)
        if self._head is None:
            self._add(line, lines)
        else:
            lines.append(TooLong(self._limit, self._head, line[-KEPT:]))
        self._parts = []
        self._size = 0
        self._head = None

    def _add(self, line: bytes, lines: list[bytes | TooLong]) -> None:
        if len(line) > self._limit:
            lines.append(TooLong(self._limit, line[:KEPT], line[-KEPT:]))
            return
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if line and line[-1] == _CR:
            line = line[:-1]
        if line and not line.isspace():
            lines.append(line)
