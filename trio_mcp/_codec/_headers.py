"""Values of arguments and names in HTTP headers (2026-07-28, Streamable HTTP, value encoding)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonValue

__all__ = ["HeaderValueError", "decode_header_value", "encode_header_value", "header_text"]

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="

_PLAIN: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?|")
"""Visible ASCII with spaces inside: what every intermediary hands on as it is."""


class HeaderValueError(ValueError):
    """A header whose value says that it is encoded, and is not."""


def header_text(value: JsonValue) -> str | None:
    """Write an argument as the text that a header mirrors.

    Returns:
      The text; None for a value that headers do not carry (null, numbers with a fraction,
      arrays, objects).

    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def encode_header_value(text: str) -> str:
    """Write a text as the value of a header: as it is where that is safe, else in Base64.

    Raises:
      ValueError: if it holds a lone surrogate.

    """
    looks_encoded = text.startswith(_PREFIX) and text.endswith(_SUFFIX)
    if _PLAIN.fullmatch(text) and not looks_encoded:
        return text
    return _PREFIX + base64.b64encode(text.encode()).decode() + _SUFFIX


def decode_header_value(value: str) -> str:
    """Read what `encode_header_value` wrote.

    Raises:
      HeaderValueError: if what is marked as Base64 is not the Base64 of a text, or is not
          written the one way there is.

    """
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    if len(value) < len(_PREFIX) + len(_SUFFIX):
        return value
    encoded = value[len(_PREFIX) : -len(_SUFFIX)]
    try:
        raw = base64.b64decode(encoded, validate=True)
        text = raw.decode()
    except (binascii.Error, ValueError) as exc:
        raise HeaderValueError(f"{value!a} is marked as Base64 and is not: {exc}") from None
    if base64.b64encode(raw).decode() != encoded:
        raise HeaderValueError(f"{value!a} is Base64 with stray bits at its end")
    return text
