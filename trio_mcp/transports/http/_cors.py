"""Cross-origin requests: what browsers want to be told before pages of other origins may call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._rules import LAST_EVENT_HEADER, SESSION_HEADER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._headers import Headers

_EXPOSED: Final = f"{SESSION_HEADER}, WWW-Authenticate, DPoP-Nonce, Retry-After"

_ALLOWED: Final = frozenset(
    ("accept", "authorization", "content-type", "dpop", LAST_EVENT_HEADER.lower())
)
_ALLOWED_PREFIX: Final = "mcp-"

_MAX_AGE: Final = 600
# Seconds in which a browser need not ask again; Chromium takes no more than 7,200.


def answer_headers(headers: Headers, origins: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """Give what an answer carries so that the page which asked may read it."""
    if not origins:
        return []
    vary = [(b"vary", b"origin")]
    origin = headers.get("origin")
    if origin is None or not _is_allowed(origin, origins):
        return vary
    return [
        *vary,
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED.encode()),
    ]


def is_preflight(method: str, headers: Headers, origins: Sequence[str]) -> bool:
    """Tell whether a browser asks if it may send a request. Nobody authenticates for that."""
    return (
        method == "OPTIONS"
        and "access-control-request-method" in headers
        and _is_allowed(headers.get("origin", ""), origins)
    )


def preflight_headers(headers: Headers, methods: tuple[str, ...]) -> list[tuple[str, str]]:
    """Give what a browser is told that asks, beside `answer_headers`."""
    # Names of Mcp-Param-* are the tools' own, so what is asked for is what is allowed.
    asked = headers.get("access-control-request-headers", "").lower().split(",")
    names = [name for each in asked if _may_be_sent(name := each.strip())]
    return [
        ("access-control-allow-methods", ", ".join(methods)),
        ("access-control-allow-headers", ", ".join(names)),
        ("access-control-max-age", str(_MAX_AGE)),
    ]


def _may_be_sent(name: str) -> bool:
    return name in _ALLOWED or name.startswith(_ALLOWED_PREFIX)


def _is_allowed(origin: str, origins: Sequence[str]) -> bool:
    return "*" in origins or origin.lower() in [each.lower() for each in origins]
