"""Regular expressions of ECMA-262 for an engine that has its own spelling, and their bounds.

Those that are regular run in time that grows with the text; look-around and back-references
backtrack, and are kept away from a peer's long texts.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

import jsonschema_rs

from trio_mcp.types._base import is_object

from ._errors import UnsupportedPattern
from ._paths import path_text, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._dialects import Dialect
    from ._graph import Node

# Bytes of a compiled pattern; steps.
_OWN_SIZE: Final = 2 * 1024 * 1024
_OWN_STEPS: Final = 100_000
_PEER_SIZE: Final = 256 * 1024
PEER_STEPS: Final = 10_000
# A backtracking pattern may be tried from each character on, so that time grows with the square.
MAX_BACKTRACKED_LENGTH: Final = 1_000

# What the engine spells in another way: a pair of escaped surrogates, which means one character, a
# reference to a named group, NUL, and classes of nothing and of everything. The rest of a pattern
# is taken over, piece by piece, so that no piece is found inside another one.
_PIECE: Final = re.compile(
    r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\k<(?P<reference>\w+)>"
    r"|(?P<nul>\\0)(?![0-9])"
    r"|\\."
    r"|(?P<group>\((?:\?<(?P<name>[A-Za-z_$]\w*)>|(?!\?)))"
    r"|(?P<everything>\[\^\])|(?P<nothing>\[\])"
    r"|(?P<begin>\[\^?)|(?P<end>\])"
    r"|.",
    re.DOTALL,
)


def pattern_options(*, trusted: bool) -> jsonschema_rs.FancyRegexOptions:
    """The bounds of patterns. A peer's are small enough to match a MiB in a blink."""
    size = _OWN_SIZE if trusted else _PEER_SIZE
    return jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_OWN_STEPS if trusted else PEER_STEPS,
        size_limit=size,
        dfa_size_limit=size,
    )


@functools.lru_cache(maxsize=1024)
def translated(pattern: str) -> str:
    """A pattern as the engine spells it.

    Escapes count as with ECMA-262's flag ``u``, which JSON Schema asks for.
    """
    return "".join(_pieces(pattern)) if "\\" in pattern or "[" in pattern else pattern


def _pieces(pattern: str) -> Iterator[str]:
    groups = _groups(pattern)
    inside = False  # of a class
    for piece in _PIECE.finditer(pattern):
        text = piece[0]
        if piece["high"]:
            pair = bytes.fromhex(piece["high"] + piece["low"]).decode("utf-16-be")
            text = f"\\u{{{ord(pair):X}}}"
        elif piece["nul"]:
            text = "\\x00"
        elif inside:
            inside = not piece["end"]
            text = "\\x08" if text == "\\b" else text
        elif piece["reference"]:
            number = groups.get(piece["reference"])
            text = text if number is None else f"(?:\\{number})"
        elif piece["everything"]:
            text = r"[\s\S]"
        elif piece["nothing"]:
            text = r"[^\s\S]"
        elif piece["begin"]:
            inside = True
        yield text


def _groups(pattern: str) -> dict[str, int]:
    """The numbers of the named groups."""
    numbers: dict[str, int] = {}
    count, inside = 0, False
    for piece in _PIECE.finditer(pattern):
        if inside:
            inside = not piece["end"]
        elif piece["begin"]:
            inside = True
        elif piece["group"]:
            count += 1
            if piece["name"]:
                numbers.setdefault(piece["name"], count)
    return numbers


def translate_patterns(nodes: list[Node]) -> None:
    """Spell the patterns of a schema as the engine does, in place."""
    for node in nodes:
        pattern = node.schema.get("pattern")
        if isinstance(pattern, str):
            node.schema["pattern"] = translated(pattern)
        members = node.schema.get("patternProperties")
        if is_object(members):
            names = [translated(name) for name in members]
            # In place: what refers to the members goes on to find them.
            if names != [*members] and len({*names}) == len(names):
                moved = [*zip(names, members.values(), strict=True)]
                members.clear()
                members.update(moved)


@functools.lru_cache(maxsize=1024)
def is_linear(pattern: str) -> bool:
    """Whether the engine matches a pattern without backtracking."""
    options = jsonschema_rs.RegexOptions(size_limit=_PEER_SIZE, dfa_size_limit=_PEER_SIZE)
    return _compiles(pattern, options)


def _compiles(
    pattern: str, options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions
) -> bool:
    try:
        jsonschema_rs.Draft202012Validator(
            {"pattern": pattern}, offline=True, pattern_options=options
        )
    except ValueError:
        return False
    return True


def guard_patterns(nodes: list[Node], dialect: Dialect, where: str) -> None:
    """Keep a peer's backtracking patterns away from long strings.

    In place: such patterns then stand behind a check of the length.

    Raises:
      UnsupportedPattern: if one cannot be used.

    """
    for node in nodes:
        by_name = node.schema.get("patternProperties")
        for name in by_name if is_object(by_name) else ():
            if not is_linear(name):
                raise _unusable(name, node, "patternProperties", where)
        pattern = node.schema.get("pattern")
        if not isinstance(pattern, str) or is_linear(pattern):
            continue
        has_if = dialect.name not in ("draft-04", "draft-06")
        if not has_if or not _compiles(pattern, pattern_options(trusted=False)):
            raise _unusable(pattern, node, "pattern", where)
        del node.schema["pattern"]
        short = {"maxLength": MAX_BACKTRACKED_LENGTH}
        node.schema["allOf"] = [
            *node.schema.get("allOf", ()),
            {"if": short, "then": {"pattern": pattern}, "else": short},
        ]


def _unusable(pattern: str, node: Node, keyword: str, where: str) -> UnsupportedPattern:
    return UnsupportedPattern(
        f"{quote(pattern)} is no regular expression that can be used here",
        path=path_text((*node.path, keyword)),
        where=where,
    )
