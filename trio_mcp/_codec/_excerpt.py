"""What a peer sent, as a line of the log shows it."""

from __future__ import annotations

from typing import Final, overload

EXCERPT: Final = 200
"""Characters of it that are shown: enough to recognise a stray line by, and who sends megabytes
must not write as many to our log."""

_LARGEST: Final = 10**EXCERPT


@overload
def excerpt(value: str) -> str: ...
@overload
def excerpt(value: str | int | None) -> str | int | None: ...
def excerpt(value: str | int | None) -> str | int | None:
    """Cut a text or an id of a peer, and keep it on its line and harmless to terminals."""
    if value is None:
        return None
    if isinstance(value, int):
        return value if -_LARGEST < value < _LARGEST else excerpt(str(value))
    shown = value if len(value) <= EXCERPT else value[:EXCERPT] + "…"
    return shown if shown.isprintable() else "".join(map(_escaped, shown))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()
