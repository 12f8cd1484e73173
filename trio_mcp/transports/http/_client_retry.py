"""Taking up a stream again: where it has got to, and how long to wait before each attempt."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

import attrs
import trio

from ._http_errors import is_for_closed_client

if TYPE_CHECKING:
    from trio_mcp._codec._sse import EventSplitter
    from trio_mcp.errors import ConnectionLost

DEFAULT_RETRY_SECONDS: Final = 1.0
"""The pause where a server asks for none."""

LEAST_RETRY_SECONDS: Final = 0.1
"""The shortest pause that a server may ask for: without any, both would do nothing else."""

MAX_RETRY_SECONDS: Final = 300.0
"""The longest pause that a server may ask for."""

LONGEST_PAUSE: Final = 30.0
"""Seconds between two attempts, unless the server asks for more."""

MAX_FAILURES: Final = 5
"""Attempts in a row that bring nothing new, after which a call is given up."""

LASTING_SECONDS: Final = 2.0
"""A stream that was open for so long was worth its while, whatever came."""

_SENDABLE: Final = re.compile(rb"[\t\x20-\x7e\x80-\xff]+")
# RFC 9110, section 5.5, field values.

_SECONDS: Final = re.compile(r"[0-9]{1,9}")

_PASSING: Final = frozenset({408, 409, 425, 429})
# As when the server takes the stream of before for open yet (409).


@attrs.define(eq=False)
class Position:
    """Where a stream that may be taken up again has got to.

    Attributes:
      last_event_id: What to name; None where the stream cannot be taken up there.
      retry_ms: How long the server asks to wait before that.

    """

    last_event_id: bytes | None = None
    retry_ms: int | None = None
    _not_before: float = -math.inf

    def put_off(self, retry_after: str) -> None:
        """Take over from a refusal when to ask again, if it says that in seconds."""
        if _SECONDS.fullmatch(retry_after):
            seconds = min(float(retry_after), MAX_RETRY_SECONDS)
            self._not_before = trio.current_time() + seconds

    def moved(self, splitter: EventSplitter) -> None:
        """Take over what a stream has said of itself."""
        if splitter.last_event_id is not None:
            self.last_event_id = _as_header(splitter.last_event_id)
        if splitter.retry_ms is not None:
            self.retry_ms = splitter.retry_ms

    @property
    def retry_seconds(self) -> float:
        """How long to wait before that."""
        put_off = self._not_before - trio.current_time()
        if self.retry_ms is None:
            return max(DEFAULT_RETRY_SECONDS, put_off)
        return max(min(self.retry_ms / 1000, MAX_RETRY_SECONDS), LEAST_RETRY_SECONDS, put_off)


def _as_header(event_id: bytes) -> bytes | None:
    # An empty id says that there is none (HTML standard, server-sent events). White space
    # around a header's value is not part of it.
    value = event_id.strip(b" \t")
    return value if _SENDABLE.fullmatch(value) else None


@attrs.define(eq=False)
class Patience:
    """How long to wait before a stream is taken up again: the longer, the more often in vain.

    Attributes:
      position: Of the stream.
      failures: Attempts in a row that have brought nothing new.

    """

    position: Position
    failures: int = 0
    _polls: int = 0

    def failed(self) -> None:
        """The stream could not be opened, or brought nothing."""
        self.failures += 1

    def succeeded(self) -> None:
        """The stream brought something new, or was open for long."""
        self.failures = self._polls = 0

    def polled(self) -> None:
        """The stream was there and is to be asked for again: nothing has happened yet."""
        self.failures = 0
        self._polls += 1

    async def wait(self) -> None:
        """Wait until it is time for the next attempt."""
        await trio.sleep(max(self.position.retry_seconds, self._pause()))

    def _pause(self) -> float:
        if self.failures:
            return min(2.0 ** (self.failures - 1), LONGEST_PAUSE)
        return DEFAULT_RETRY_SECONDS if self._polls else 0.0


def is_final(lost: ConnectionLost) -> bool:
    """Whether asking again is of no use: the server has answered, and does not want to.

    Nor is it where there is no HTTP client any more to ask with.
    """
    if is_for_closed_client(lost):
        return True
    status = lost.status
    if status is None or status in _PASSING:
        return False
    return status < 500 or status == 501
