"""What both sides of a WebSocket do when nothing else is said."""

from __future__ import annotations

from typing import Final

SUBPROTOCOL: Final = "mcp"
"""What a message is has to be agreed on: other programs speak over WebSockets, too."""

DEFAULT_WEBSOCKET_PATH: Final = "/mcp"

DEFAULT_MAX_MESSAGE_SIZE: Final = 4 * 1024 * 1024
"""Bytes of one message that a server takes: as of the body of an HTTP request."""

DEFAULT_MAX_ANSWER_SIZE: Final = 64 * 1024 * 1024
"""Bytes of one message that a client takes: as of a line on stdio."""

DEFAULT_PING_INTERVAL: Final = 20.0
"""Seconds of silence before a side asks whether the other is there. Proxies commonly cut what
is silent for thirty or sixty."""

DEFAULT_PING_TIMEOUT: Final = 20.0
"""Seconds in which something has to come then."""

DEFAULT_WRITE_TIMEOUT: Final = 20.0
"""Seconds that a peer may leave unread what is written to it."""

CONNECT_TIMEOUT: Final = 30.0
"""Seconds to reach a server, as over HTTP."""

CLOSE_TIMEOUT: Final = 1.0
"""Seconds for the closing handshake."""

PARTING_TIMEOUT: Final = 0.5
"""Seconds of a stop's time in which clients that wait for answers are told that there are none."""

FINISH_TIMEOUT: Final = 0.5
"""Seconds that a cancellation leaves a frame that is half written: nothing can follow on one that
was cut off, and so the peer would not be told why the connection ends."""

MAX_CHARACTERS: Final = 2**62
"""For the library's own limit, which counts characters: bytes have been counted before."""

READ_SIZE: Final = 64 * 1024

NORMAL: Final = 1000
GOING_AWAY: Final = 1001
PROTOCOL_ERROR: Final = 1002
NOT_TEXT: Final = 1003
CUT_OFF: Final = 1006
NOT_UTF8: Final = 1007
POLICY_VIOLATION: Final = 1008
TOO_BIG: Final = 1009
INTERNAL_ERROR: Final = 1011
