"""Server-sent events: messages over HTTP, cut out of chunks of any size and written.

The grammar is that of the HTML standard, on bytes: only LF, CR and CRLF end a line there,
while `str.splitlines` would also cut at characters that JSON texts may hold as they are.
"""

from __future__ import annotations

from typing import Final

import attrs

from ._lines import MAX_LINE_SIZE

__all__ = ["KEEP_ALIVE", "EventSplitter", "EventTooLong", "SentEvent", "dump_event"]

KEEP_ALIVE: Final = b": keep-alive\n\n"
"""A comment, which readers skip: it shows intermediaries that the stream is alive."""

_BOM: Final = b"\xef\xbb\xbf"


class EventTooLong(ValueError):
    """An event beyond the limit: the stream cannot be read on."""


@attrs.frozen
class SentEvent:
    """One event of a stream.

    An event without data means nothing by itself; servers send one to make its id known.
    """

    data: bytes
    event: str = "message"
    id: bytes | None = None
    """As it was sent with this very event: any bytes, which are sent back as they are."""


class EventSplitter:
    """Cut a stream of bytes into events, in linear time.

    Args:
      limit: The greatest size of one event, in bytes.

    Attributes:
      last_event_id: What the stream said last; reconnecting names it (``Last-Event-ID``). An
        empty one takes back what was said before.
      retry_ms: How long the server asks to wait before that, if it said so.

    """

    __slots__ = (
        "_after_cr",
        "_at_start",
        "_data",
        "_event",
        "_id",
        "_limit",
        "_parts",
        "_size",
        "last_event_id",
        "retry_ms",
    )

    def __init__(self, limit: int = MAX_LINE_SIZE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []  # of the line whose end has not come
        self._size = 0  # of the event so far
        self._after_cr = False
        self._at_start = True
        self._data: list[bytes] = []
        self._event = ""
        self._id: bytes | None = None
        self.last_event_id: bytes | None = None
        self.retry_ms: int | None = None

    def feed(self, chunk: bytes) -> list[SentEvent]:
        """Take the next bytes, and return the events that they complete.

        What comes after the last event and is not ended by an empty line is no event.

        Raises:
          EventTooLong: if an event is beyond the limit.

        """
        events: list[SentEvent] = []
        if self._after_cr and chunk:
            # The rest of a line end that was cut in two.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._keep(line)
            whole = line if len(self._parts) == 1 else b"".join(self._parts)
            self._parts = []
            self._take_line(whole, events)
        if rest:
            self._keep(rest)
        return events

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            raise EventTooLong(f"an event is longer than {self._limit} bytes")

    def _take_line(self, line: bytes, events: list[SentEvent]) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            self._end_event(events)
            return
        field, _, value = line.partition(b":")
        if not field:
            self._size -= len(line)
            return
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value.decode(errors="replace")
        elif field == b"id" and b"\0" not in value:
            self._id = value
        elif field == b"retry" and value.isdigit():
            self.retry_ms = int(value[:_MOST_DIGITS])

    def _end_event(self, events: list[SentEvent]) -> None:
        if self._id is not None:
            self.last_event_id = self._id
        if self._data or self._id is not None:
            events.append(SentEvent(b"\n".join(self._data), self._event or "message", self._id))
        self._data, self._event, self._id, self._size = [], "", None, 0


_MOST_DIGITS: Final = 10
"""Of a number of milliseconds: four months. Python refuses to read thousands of digits."""


def dump_event(
    data: bytes, *, event: str = "message", id: str | None = None, retry_ms: int | None = None
) -> bytes:
    r"""Write one event.

    Args:
      data: One line: JSON as this package writes it holds no line end.
      event: The name of the event.
      id: What a client that reconnects will name; without NUL, CR and LF.
      retry_ms: How long a client whose stream ends should wait before it reconnects.

    """
    head = b"" if id is None else b"id: %b\n" % id.encode()
    if retry_ms is not None:
        head += b"retry: %d\n" % retry_ms
    return b"event: %b\n%bdata: %b\n\n" % (event.encode(), head, data)
