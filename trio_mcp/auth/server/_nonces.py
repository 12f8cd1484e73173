"""Nonces for proofs (RFC 9449, section 8), which nobody has to remember."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from typing import Final

NONCE_SECONDS: Final = 300.0
"""How long a nonce is good for."""

_TIME_BYTES: Final = 8
_TAG_BYTES: Final = 16


class Nonces:
    """Makes nonces that say themselves when they were made, and that nobody else can make.

    Args:
      key: What they are made with; one of this process alone when None.

    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(32) if key is None else key

    def make(self, now: float) -> str:
        """Make one."""
        made = int(now).to_bytes(_TIME_BYTES, "big")
        return base64.urlsafe_b64encode(made + self._tag(made)).decode()

    def is_good(self, nonce: str, now: float) -> bool:
        """Tell whether one was made here (or with this key), and not long ago."""
        try:
            raw = base64.b64decode(nonce.encode("ascii"), b"-_", validate=True)
        except (binascii.Error, ValueError):
            return False
        made, tag = raw[:_TIME_BYTES], raw[_TIME_BYTES:]
        if not hmac.compare_digest(tag, self._tag(made)):
            return False
        return abs(now - int.from_bytes(made, "big")) < NONCE_SECONDS

    def _tag(self, made: bytes) -> bytes:
        return hmac.digest(self._key, made, hashlib.sha256)[:_TAG_BYTES]
