"""Texts of a server on their way to a terminal."""

from __future__ import annotations

from typing import Final

CONTROLS: Final = (
    *(code for code in range(0x20) if chr(code) not in "\t\n"),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
"""C0 without tab and line feed, DEL and C1; then what turns the direction of writing."""

_HARMLESS: Final = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in CONTROLS
}


def clean(text: str) -> str:
    """Show control characters instead of sending them to the terminal.

    Names, texts and errors come from a server that need not be trusted; a terminal takes
    orders from some characters.
    """
    return text.translate(_HARMLESS)


def one_line(text: str) -> str:
    """Join the lines of a text, cleaned."""
    return clean(" ".join(text.split()))
