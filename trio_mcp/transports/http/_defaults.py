"""What both sides of Streamable HTTP do when nothing else is said."""

from __future__ import annotations

from typing import Final

from trio_mcp._codec._lines import MAX_LINE_SIZE

DEFAULT_STREAMABLE_HTTP_PATH: Final = "/mcp"

DEFAULT_SSE_PATH: Final = "/sse"
DEFAULT_MESSAGE_PATH: Final = "/messages/"

DEFAULT_MAX_REQUEST_BODY_SIZE: Final = 4 * 1024 * 1024
"""Bytes of a request's body."""

DEFAULT_SESSION_IDLE_TIMEOUT: Final = 30 * 60
"""Seconds that a session of the older era is kept while its client is not connected."""

DEFAULT_MAX_SESSIONS: Final = 10_000
"""Sessions of the older era at the same time."""

DEFAULT_KEEP_ALIVE_INTERVAL: Final = 15.0
"""Seconds: proxies commonly cut what is silent for thirty or sixty."""

DEFAULT_BODY_TIMEOUT: Final = 60.0
"""Seconds for the body of a request."""

DEFAULT_MAX_SSE_EVENT_SIZE: Final = MAX_LINE_SIZE
"""Bytes of one event that a client takes: as much as of an answer that is no stream. Which of
the two it is, is a matter of when the server has something to say."""
