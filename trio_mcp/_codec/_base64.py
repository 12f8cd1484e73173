"""Base64: how bytes stand in JSON. Written in the standard alphabet, read in either."""

from __future__ import annotations

import base64
from typing import Final

_TO_STANDARD: Final = str.maketrans("-_", "+/")


def decode_base64(text: str) -> bytes:
    """Decode Base64 of either alphabet, padded or not.

    Raises:
      ValueError: if it is not Base64.

    """
    standard = text.translate(_TO_STANDARD).rstrip("=")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
