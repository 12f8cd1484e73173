"""h11's view of a connection, for servers whose clients send a little more than they should."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import h11

if TYPE_CHECKING:
    H11Event = h11.Event | type[h11.NEED_DATA | h11.PAUSED]

MAX_EMPTY_LINES: Final = 8
"""Empty lines before a request. Old clients send one behind a body that they did not count in
its length; RFC 9112, 2.2, wants that one ignored at least."""

_OVER: Final = frozenset({h11.MUST_CLOSE, h11.CLOSED})
_NEWLINE: Final = b"\r\n"


_BYTES: Final = re.compile(r""":?\s*(?:bytearray\()?b(['"])(?!:[a-z]+\1).*""", re.DOTALL)
# Bytes that a library shows in an error; all but the names of HTTP/2's own fields.


def what_is_wrong(exc: Exception) -> str:
    """Say what a client did wrong, without what it sent: that may be long, or hold secrets."""
    text = str(exc)
    if text.startswith("Receive buffer"):
        return "a head, or a line between the parts of a body, that is too long"
    return _BYTES.sub("", text)


class ServerConnection(h11.Connection):
    """The server's side of HTTP/1.1, which overlooks what is no request.

    h11 takes these for errors of the client, and an error ends also the request that runs:

    * whatever comes behind the last request that the connection can carry, and
    * empty lines before a request.

    Args:
      max_head_size: Bytes of the head of a request.

    """

    def __init__(self, max_head_size: int) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=max_head_size)
        self._empty_lines = 0
        self._is_at_start = True
        self.has_more = False
        """Whether something came behind the last request, and was dropped."""
        self.fault = ""
        """What the client did wrong, which ended the connection."""

    @property
    def is_in_head(self) -> bool:
        """Whether a part of a head has come, and more of it must."""
        return self.their_state is h11.IDLE and not self._is_at_start

    def receive_data(self, data: bytes) -> None:
        """Take what has come; behind the last request it is not kept."""
        if data and self.their_state in _OVER:
            self.has_more = True
        else:
            super().receive_data(data)

    def next_event(self) -> H11Event:
        """Give what the client did next."""
        if self.their_state in _OVER:
            self.has_more = self.has_more or bool(self._receive_buffer)
            return h11.NEED_DATA
        if self._is_at_start and self._skip_empty_lines():
            return h11.NEED_DATA
        try:
            return super().next_event()
        except h11.RemoteProtocolError as exc:
            self.fault = self.fault or what_is_wrong(exc)
            raise

    def start_next_cycle(self) -> None:
        """Be ready for another request."""
        super().start_next_cycle()
        self._is_at_start = True
        self._empty_lines = 0

    def _skip_empty_lines(self) -> bool:
        """Take them out of the buffer, and say whether there may come another."""
        buffer: Any = self._receive_buffer
        for _ in range(self._empty_lines, MAX_EMPTY_LINES):
            start = bytes(buffer)[: len(_NEWLINE)]
            if start != _NEWLINE:
                is_half = start == _NEWLINE[:1] and not self.trailing_data[1]
                self._is_at_start = is_half or not start
                return is_half
            buffer.maybe_extract_at_most(len(_NEWLINE))
            self._empty_lines += 1
        self._is_at_start = not buffer
        return False
