"""Requests that nobody has answered yet, kept in the URLs of their pages.

Anybody may ask, as often as they like. If the server kept what they ask for, they could have it
keep a lot, or have it forget what somebody else is in the middle of answering. So a page has all
of its request in its own URL, sealed by a key of this process.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp._codec import dumps
from trio_mcp._codec._json import loads

from ._provider import AuthorizationParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types._base import JsonObject

_TAG = hashlib.sha256().digest_size


@attrs.frozen
class Pending:
    """A request of a client that nobody has answered yet.

    Attributes:
      name: Its own.
      until: When it can be answered no more, in seconds since the epoch.
      client_id: Who asks.
      client_name: What the client calls itself.
      params: What it asks for.

    """

    name: str
    until: float
    client_id: str
    client_name: str | None
    params: AuthorizationParams


class SealedRequests:
    """Writes requests as text that only this process can have written.

    Args:
      key: What the seal is made with.
      now: The time, in seconds since the epoch.

    """

    def __init__(self, key: bytes, now: Callable[[], float]) -> None:
        self._key = key
        self._now = now

    def seal(
        self, client_id: str, client_name: str | None, params: AuthorizationParams, seconds: float
    ) -> str:
        """Write a request that can be answered for a while."""
        members = attrs.asdict(params, filter=lambda each, _: each.name != "extra")
        written = dumps(
            {
                "name": secrets.token_urlsafe(16),
                "until": self._now() + seconds,
                "client_id": client_id,
                "client_name": client_name,
                "params": members,
            }
        )
        return _encode(self._tag(written) + written)

    def open(self, text: str) -> Pending | None:
        """Read a request; None if it was not written here, or its time is over."""
        try:
            raw = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        tag, written = raw[:_TAG], raw[_TAG:]
        if _encode(raw) != text or not hmac.compare_digest(tag, self._tag(written)):
            return None
        found: JsonObject = loads(written)
        params: dict[str, Any] = found.pop("params")
        pending = Pending(**found, params=AuthorizationParams(**params))
        return pending if self._now() < pending.until else None

    def _tag(self, written: bytes) -> bytes:
        return hmac.digest(self._key, b"request " + written, hashlib.sha256)


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
