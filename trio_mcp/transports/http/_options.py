"""What a Streamable HTTP endpoint can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from trio_mcp._checks import check_flag, check_items, check_kind, check_number, check_whole

from ._defaults import (
    DEFAULT_BODY_TIMEOUT,
    DEFAULT_KEEP_ALIVE_INTERVAL,
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    DEFAULT_MAX_SESSIONS,
    DEFAULT_SESSION_IDLE_TIMEOUT,
)
from ._event_store import EventStore
from ._security import TransportSecuritySettings

if TYPE_CHECKING:
    from collections.abc import Sequence


@attrs.frozen(kw_only=True)
class HttpOptions:
    """How requests over HTTP are answered, in both eras.

    Attributes:
      json_response: Answer as JSON alone. What is sent before an answer is lost, and nobody
          can be asked; ``subscriptions/listen`` is a stream all the same.
      stateless_http: Keep no sessions for clients of the older era: each request stands alone,
          so any process may answer it, and nobody can be asked.
      event_store: Keeps what was sent on the streams of the older era, so that they can be
          resumed.
      retry_interval: Milliseconds that clients are to wait before they resume a stream.
      max_request_body_size: In bytes.
      session_idle_timeout: Seconds that a session is kept while its client is not connected;
          None for ever.
      max_sessions: At the same time; None for any number.
      transport_security: From where it may be called.
      keep_alive_interval: Seconds after which an answer that has not come becomes a stream,
          and between the comments on a silent stream.
      body_timeout: Seconds for the body of a request.
      cors_origins: Web pages of these origins may call from browsers; ``"*"`` for all.

    """

    json_response: bool = False
    stateless_http: bool = False
    event_store: EventStore | None = None
    retry_interval: int | None = None
    max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE
    session_idle_timeout: float | None = DEFAULT_SESSION_IDLE_TIMEOUT
    max_sessions: int | None = DEFAULT_MAX_SESSIONS
    transport_security: TransportSecuritySettings | None = None
    keep_alive_interval: float = DEFAULT_KEEP_ALIVE_INTERVAL
    body_timeout: float = DEFAULT_BODY_TIMEOUT
    cors_origins: Sequence[str] = ()

    def __attrs_post_init__(self) -> None:
        check_items("cors_origins", self.cors_origins, str, "a list of strings")
        check_flag("json_response", self.json_response)
        check_flag("stateless_http", self.stateless_http)
        check_whole("max_request_body_size", self.max_request_body_size, least=1)
        check_number("keep_alive_interval", self.keep_alive_interval, above=0)
        check_number("body_timeout", self.body_timeout, above=0)
        if self.event_store is not None:
            check_kind("event_store", self.event_store, EventStore)
        if self.retry_interval is not None:
            check_whole("retry_interval", self.retry_interval, least=0)
        if self.session_idle_timeout is not None:
            check_number("session_idle_timeout", self.session_idle_timeout, least=0)
        if self.max_sessions is not None:
            check_whole("max_sessions", self.max_sessions, least=1)
        if self.transport_security is not None:
            check_kind("transport_security", self.transport_security, TransportSecuritySettings)
