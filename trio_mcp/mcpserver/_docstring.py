"""What a docstring says of each argument: Google, NumPy and Sphinx style.

Only the sections that list arguments or attributes are read. A text in no such style is all
description.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_SECTIONS: Final = frozenset(
    (
        "args",
        "arguments",
        "attributes",
        "keyword args",
        "keyword arguments",
        "other parameters",
        "parameters",
        "params",
    )
)
_OTHER_SECTIONS: Final = frozenset(
    (
        "cancellation",
        "example",
        "examples",
        "note",
        "notes",
        "raises",
        "references",
        "return",
        "returns",
        "see also",
        "todo",
        "warning",
        "warnings",
        "warns",
        "yield",
        "yields",
    )
)
_GOOGLE_HEADING: Final = re.compile(r"(?P<name>[A-Za-z][A-Za-z ]*):\s*$")
_GOOGLE_ENTRY: Final = re.compile(
    r"(?P<names>\*{0,2}\w+)\s*(?:\((?P<type>[^)]*(?:\([^)]*\)[^)]*)*)\))?\s*:(?:\s+(?P<text>.*))?$"
)
_NUMPY_ENTRY: Final = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_ENTRY: Final = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword|ivar|var)\s+(?:[^:]*\s)?"
    r"(?P<names>\*{0,2}\w+)\s*:(?:\s+(?P<text>.*))?$"
)
_SPHINX_TYPE: Final = re.compile(r":type\s+\*{0,2}(?P<name>\w+)\s*:")
_BLANK_LINES: Final = re.compile(r"\n(?:[ \t]*\n){2,}")
_SPHINX_FIELD: Final = re.compile(r":\w+[^:]*:")


@attrs.frozen
class Docstring:
    """A docstring in its parts.

    Attributes:
      text: What comes before the first section.
      params: Argument names and what is said of each, lines joined.
      sections: Where arguments are told of: first line, line after the last, and their names.

    """

    text: str
    params: dict[str, str]
    sections: tuple[tuple[int, int, frozenset[str]], ...] = ()


def parse_docstring(docstring: str | None) -> Docstring:
    """Read a docstring without indentation (`inspect.cleandoc`, which is not to be done twice).

    What is not understood is left out of `Docstring.params`.
    """
    if not docstring:
        return Docstring("", {})
    lines = docstring.splitlines()
    found: dict[str, list[str]] = {}
    sections: list[tuple[int, int, frozenset[str]]] = []
    end = len(lines)
    place = 0
    while place < len(lines):
        heading, entries_at = _heading(lines, place)
        sphinx = _SPHINX_FIELD.match(lines[place])
        if heading is not None or sphinx:
            end = min(end, place)
        if heading in _SECTIONS:
            body = _body(lines, entries_at, is_numpy=entries_at == place + 2)
            entries = _numpy_entries(body) if entries_at == place + 2 else _google_entries(body)
            told = [name for names, text in entries for name in _add(found, names, text)]
            sections.append((place, entries_at + len(body), frozenset(told)))
            place = entries_at + len(body)
        elif sphinx:
            body = _continued(lines, place + 1)
            match = _SPHINX_ENTRY.match(lines[place])
            typed = _SPHINX_TYPE.match(lines[place])
            if match:
                told = _add(found, match["names"], [match["text"] or "", *body])
                sections.append((place, place + 1 + len(body), frozenset(told)))
            elif typed:
                sections.append((place, place + 1 + len(body), frozenset((typed["name"],))))
            place += 1 + len(body)
        else:
            place = max(place + 1, entries_at)
    description = "\n".join(lines[:end]).strip()
    params = {name: " ".join(" ".join(said).split()) for name, said in found.items()}
    return Docstring(
        description, {name: said for name, said in params.items() if said}, tuple(sections)
    )


def leave_out_params(docstring: str, names: Collection[str]) -> str:
    """Take out of a docstring what it says of arguments, which the schema says.

    A section stays as a whole if it tells of anything else, too.

    Args:
      docstring: Without indentation.
      names: The parameters of the function.

    """
    told_elsewhere = [
        (start, end)
        for start, end, told in parse_docstring(docstring).sections
        if told and told.issubset(names)
    ]
    if not told_elsewhere:
        return docstring
    lines = docstring.splitlines()
    for start, end in reversed(told_elsewhere):
        del lines[start:end]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _heading(lines: list[str], place: int) -> tuple[str | None, int]:
    """Return the section that begins at a line, in lower case, and where its body begins."""
    line = lines[place]
    name = line.strip().lower()
    if line[:1].isspace():
        return None, place
    underline = lines[place + 1].strip() if place + 1 < len(lines) else ""
    if name and len(underline) >= 3 and set(underline) == {"-"}:
        return name, place + 2
    match = _GOOGLE_HEADING.match(line)
    if match and match["name"].lower() in _SECTIONS | _OTHER_SECTIONS:
        return match["name"].lower(), place + 1
    return None, place


def _body(lines: list[str], start: int, *, is_numpy: bool) -> list[str]:
    body: list[str] = []
    for place in range(start, len(lines)):
        line = lines[place]
        is_flush = bool(line) and not line[0].isspace()
        if is_flush and (not is_numpy or _heading(lines, place)[0] is not None):
            break
        body.append(line)
    return body


def _google_entries(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    indents = [_indent(line) for line in body if line.strip()]
    level = min(indents, default=0)
    return _entries(body, level, _GOOGLE_ENTRY)


def _numpy_entries(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    return _entries(body, 0, _NUMPY_ENTRY)


def _entries(
    body: list[str], level: int, pattern: re.Pattern[str]
) -> Iterator[tuple[str, list[str]]]:
    names, text = "", list[str]()
    for line in body:
        match = pattern.match(line.strip()) if line.strip() and _indent(line) == level else None
        if match is None:
            text.append(line.strip())
            continue
        if names:
            yield names, text
        names, text = match["names"], [match.groupdict().get("text") or ""]
    if names:
        yield names, text


def _continued(lines: list[str], start: int) -> list[str]:
    body: list[str] = []
    for line in lines[start:]:
        if not line.strip() or not line[0].isspace():
            break
        body.append(line.strip())
    return body


def _add(found: dict[str, list[str]], names: str, text: list[str]) -> list[str]:
    told = [name.strip().lstrip("*") for name in names.split(",")]
    for name in told:
        found.setdefault(name, text)
    return told


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
