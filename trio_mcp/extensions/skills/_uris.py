"""How the URIs of skills are made, and what lies in what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ._wire import SKILL_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEME: Final = "skill://"

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME: Final = 64

# RFC 3986: what a segment of a path may hold as it is.
_IN_SEGMENTS: Final = "!$&'()*+,;=:@"


def is_skill_name(name: object) -> bool:
    """Tell whether a text may be the name of a skill."""
    return (
        isinstance(name, str) and len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None
    )


def skill_uri(parts: Iterable[str]) -> str:
    """Write the names of directories, and of a file, as a URI."""
    return SCHEME + "/".join(quote(part, safe=_IN_SEGMENTS) for part in parts)


def root_of(uri: str) -> str | None:
    """Give the directory of a ``SKILL.md``; None if that is not what the URI is of."""
    root, slash, name = uri.rpartition("/")
    return root if slash and name == SKILL_FILE and not root.endswith("/") else None


def lies_in(uri: str, root: str) -> bool:
    """Tell whether a URI is of something in a directory, however a server joins it."""
    if not uri.startswith(root + "/"):
        return False
    segments = uri[len(root) + 1 :].split("/")
    # Of any other spelling of two dots somebody might make them.
    return not any(segment.lower().replace("%2e", ".") in ("", ".", "..") for segment in segments)
