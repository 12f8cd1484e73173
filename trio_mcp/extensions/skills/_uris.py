"""How the URIs of skills are made, and what lies in what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from ._wire import SKILL_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEME: Final = "skill://"

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME: Final = 64

# What separates names, or a control character; a drive; nothing but dots and blanks, which
# Windows leaves away.
_NO_NAME: Final = re.compile(r"[/\\\x00-\x1f\x7f]|\A[A-Za-z]:|\A[. ]*\Z")

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?")
_FOLDED: Final = SKILL_FILE.casefold()

# How often a name may be encoded. One that was not has none of it, and most have not.
_DEPTH: Final = 3

# RFC 3986: what a segment of a path may hold as it is.
_IN_SEGMENTS: Final = "!$&'()*+,;=:@"


def is_skill_name(name: object) -> bool:
    """Tell whether a text may be the name of a skill."""
    return (
        isinstance(name, str) and len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None
    )


def skill_uri(parts: Iterable[str]) -> str:
    """Write the names of directories, and of a file, as a URI."""
    return SCHEME + "/".join(map(_encoded, parts))


def manifest_in(directory: str) -> str:
    """Give the URI of the ``SKILL.md`` in a directory, whether or not there is one."""
    return f"{directory}/{SKILL_FILE}"


def is_plain_name(name: str) -> bool:
    """Tell whether a text is the name of something in a directory, and nothing else anywhere.

    Hosts keep the files of skills on another system than servers do, so this is about all of
    them: what separates, ends or leaves a path on one is a name on none.
    """
    return _NO_NAME.search(name) is None


def is_servable_name(name: str) -> bool:
    """Tell whether clients take the URI of a name for that name, and nothing else."""
    return _decoded(_encoded(name)) == name


def root_of(uri: str) -> str | None:
    """Give the directory of a ``SKILL.md``; None if that is not what the URI is of."""
    root, slash, name = uri.rpartition("/")
    scheme = _SCHEME.match(root)
    if not slash or name != SKILL_FILE or scheme is None:
        return None
    # What stands before the first slash may be nobody: file:///…
    authority, *segments = root[scheme.end() :].split("/")
    if authority and _decoded(authority) is None:
        return None
    return None if None in map(_decoded, segments) else root


def path_in(uri: str, root: str) -> tuple[str, ...] | None:
    """Give the names on the way from a directory to what lies in it; None if it does not.

    However a server or a host joins them: what any of these might take for a way out, or for
    more than one name, lies nowhere.
    """
    if not uri.startswith(root + "/"):
        return None
    names = [_decoded(segment) for segment in uri[len(root) + 1 :].split("/")]
    return None if None in names else tuple(map(str, names))


def is_another_spelling(uri: str, manifest: str, root: str) -> bool:
    """Tell whether a URI is that of a ``SKILL.md`` for a server that does not look closely."""
    path = path_in(uri, root)
    if uri == manifest or path is None or len(path) != 1:
        return False
    # Windows knows streams of files, and leaves dots and blanks at the end away.
    return unquote(path[0]).partition(":")[0].rstrip(". ").casefold() == _FOLDED


def _encoded(name: str) -> str:
    return quote(name, safe=_IN_SEGMENTS)


def _decoded(segment: str) -> str | None:
    # RFC 3986: what begins a query or a fragment is no part of a path.
    if "?" in segment or "#" in segment:
        return None
    # What somebody decodes more often than it was encoded must not become something else.
    names = [segment]
    for _ in range(_DEPTH):
        names.append(unquote(names[-1], errors="replace"))
    is_plain = names[-1] == names[-2] and all(map(is_plain_name, names))
    return names[1] if is_plain else None
