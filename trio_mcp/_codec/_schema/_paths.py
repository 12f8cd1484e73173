"""Places in JSON, as people read them: ``items[0].city``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")

# Long enough for real names, short enough that a hostile key cannot fill a log line.
_NAME_WIDTH: Final = 60


def shorten(text: str, width: int = _NAME_WIDTH) -> str:
    """Cut a text to a width, with an ellipsis in place of what is gone."""
    return text if len(text) <= width else text[: width - 1] + "…"


def quote(text: str, width: int = _NAME_WIDTH) -> str:
    """A short quoted form of a text, control characters and lone surrogates escaped."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")


def path_text(parts: Iterable[str | int]) -> str:
    """Write a list of property names and array positions as one path."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_NAME.match(part) and len(part) <= _NAME_WIDTH:
            text += f".{part}" if text else part
        else:
            text += f"[{quote(part)}]"
    return text
