"""What an endpoint over HTTP can be told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._checks import check_kind, check_text, wrong_value
from trio_mcp._variables import FLAG, TEXTS, Kind, number, or_none, settable, whole

from ._defaults import (
    DEFAULT_BODY_TIMEOUT,
    DEFAULT_KEEP_ALIVE_INTERVAL,
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    DEFAULT_MAX_SESSIONS,
    DEFAULT_MESSAGE_PATH,
    DEFAULT_SESSION_IDLE_TIMEOUT,
    DEFAULT_SSE_PATH,
    DEFAULT_STREAMABLE_HTTP_PATH,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._event_store import EventStore

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "::1")
"""Addresses that only programs on this machine reach."""


_PATH: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/-]*")
# Of RFC 3986 without percent-encoding: what is compared with it is decoded over HTTP, and is not
# over WebSockets.


def _is_path(value: str) -> bool:
    return _PATH.fullmatch(value) is not None


def _check_path(name: str, value: Any) -> None:
    check_text(name, value)
    if not _is_path(value):
        raise wrong_value(name, "the path of a URL, such as /mcp, without its query", value)


URL_PATH: Final = Kind(expected="the path of a URL", check=_check_path, read=str)


def _check_root(name: str, value: Any) -> None:
    check_text(name, value)
    # What begins with two slashes would be a host, to clients that are told to post there.
    if value and (not value.startswith("/") or value.startswith("//") or not _is_path(value)):
        raise wrong_value(name, "nothing, or a path with a slash first, such as /api", value)


MOUNTED_AT: Final = Kind(
    expected="a path with a slash first, such as /api", check=_check_root, read=str
)


@attrs.frozen(kw_only=True)
class HttpPaths:
    """Where an application answers.

    Attributes:
      streamable_http_path: Of the endpoint, with or without a slash at either end.
      sse_path: Of the stream of HTTP with SSE.
      message_path: Where its clients post.

    """

    streamable_http_path: str = settable(DEFAULT_STREAMABLE_HTTP_PATH, URL_PATH)
    sse_path: str = settable(DEFAULT_SSE_PATH, URL_PATH)
    message_path: str = settable(DEFAULT_MESSAGE_PATH, URL_PATH)


@attrs.frozen(kw_only=True)
class TransportSecuritySettings:
    """From where an HTTP server may be called.

    Where none are given, a server on a loopback address accepts the names of that address, and
    another one every ``Host``, and no ``Origin`` but those of ``cors_origins``.

    Attributes:
      enable_dns_rebinding_protection: Whether anything is checked at all.
      allowed_hosts: Values of ``Host``, such as ``"api.example.com"``; ``"localhost:*"`` allows
          every port.
      allowed_origins: Values of ``Origin``, such as ``"https://app.example.com"``; ``":*"`` at
          the end as above. A request without the header is not from a web page, and accepted.

    """

    enable_dns_rebinding_protection: bool = settable(True, FLAG)
    allowed_hosts: list[str] = settable(attrs.Factory(list[str]), TEXTS)
    allowed_origins: list[str] = settable(attrs.Factory(list[str]), TEXTS)

    @classmethod
    def for_host(cls, host: str) -> TransportSecuritySettings | None:
        """Give what holds for a server on this address when nothing else is said."""
        if host not in LOOPBACK_HOSTS:
            return None
        names = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
        return cls(
            allowed_hosts=names,
            allowed_origins=[
                f"{scheme}://{name}" for scheme in ("http", "https") for name in names
            ],
        )


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
      session_idle_timeout: Seconds that a session is kept while its client is not connected,
          whatever it had asked for; None for ever.
      max_sessions: At the same time; more are refused with 503. None for any number.
      transport_security: From where it may be called. If it is not given, it goes by the
          address that is listened on: on a loopback address the names of that are accepted;
          elsewhere every name, and no web page but those of `cors_origins`.
      keep_alive_interval: Seconds after which an answer that has not come becomes a stream,
          and between the comments on a silent stream.
      body_timeout: Seconds for the body of a request.
      cors_origins: Web pages of these origins may call from browsers; ``"*"`` for all.

    """

    json_response: bool = settable(False, FLAG)
    stateless_http: bool = settable(False, FLAG)
    event_store: EventStore | None = None
    retry_interval: int | None = settable(None, or_none(whole(least=0)))
    max_request_body_size: int = settable(DEFAULT_MAX_REQUEST_BODY_SIZE, whole(least=1))
    session_idle_timeout: float | None = settable(
        DEFAULT_SESSION_IDLE_TIMEOUT, or_none(number(above=0))
    )
    max_sessions: int | None = settable(DEFAULT_MAX_SESSIONS, or_none(whole(least=1)))
    transport_security: TransportSecuritySettings | None = None
    keep_alive_interval: float = settable(DEFAULT_KEEP_ALIVE_INTERVAL, number(above=0))
    body_timeout: float = settable(DEFAULT_BODY_TIMEOUT, number(above=0))
    cors_origins: Sequence[str] = settable((), TEXTS)

    def __attrs_post_init__(self) -> None:
        if self.event_store is not None:
            # Not at the top: the command line learns here what it takes, and loads no HTTP.
            from ._event_store import EventStore  # noqa: PLC0415

            check_kind("event_store", self.event_store, EventStore)
        if self.transport_security is not None:
            check_kind("transport_security", self.transport_security, TransportSecuritySettings)
