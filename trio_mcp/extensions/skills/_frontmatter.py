"""The YAML at the head of a ``SKILL.md``, as the JSON that it stands for.

Both sides have to read the same out of it, whatever library each has. So this is the core schema
of YAML 1.2, in which ``yes`` and ``2026-01-31`` are text, and not what PyYAML makes of them by
itself; what JSON cannot say is refused. A client reads what strangers wrote: nothing in it is
constructed but plain values, and there are neither aliases, which grow when they are followed, nor
depths.
"""

from __future__ import annotations

import functools
import math
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, cast

from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml import Node, SafeLoader

    from trio_mcp.types import JsonObject, JsonValue

MAX_FRONTMATTER: Final = 16 * 1024
"""Characters; a description has some hundreds. PyYAML takes up to 0.15 s for as many."""

_MAX_DEPTH: Final = 20

# The line ends are those of either system; what stands between them is YAML.
_HEAD: Final = re.compile(r"---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)

_TAG: Final = "tag:yaml.org,2002:"

_FINITE: Final = r"(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"

# YAML 1.2.2, 10.3.2: what a plain scalar stands for, and the characters it may begin with.
_CORE_SCHEMA: Final = {
    "null": (r"(?:null|Null|NULL|~|)", ["n", "N", "~", ""]),
    "bool": (r"(?:true|True|TRUE|false|False|FALSE)", list("tTfF")),
    "int": (r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)", list("-+0123456789")),
    "float": (
        rf"(?:[-+]?(?:{_FINITE}|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN))",
        list("-+.0123456789"),
    ),
}


class FrontmatterError(ValueError):
    """The head of a ``SKILL.md`` is missing, or cannot be read as JSON."""


def require_yaml(user: str) -> None:
    """Check that the extra is installed, when something that needs it is made.

    Raises:
      ModuleNotFoundError: if it is not.

    """
    if find_spec("yaml") is None:
        raise ModuleNotFoundError(
            f"{user} needs PyYAML: pip install 'trio-mcp[skills]'", name="yaml"
        )


def read_frontmatter(text: str) -> JsonObject:
    """Read the head of a ``SKILL.md``.

    Raises:
      FrontmatterError: if there is none, or it is not what JSON can say.

    """
    head = _HEAD.match(text, 0, MAX_FRONTMATTER)
    # What ends where the search does may go on.
    if head is None or head.end() == MAX_FRONTMATTER:
        raise FrontmatterError(
            "it does not begin with a front matter: a line of '---', YAML, a line of '---', of "
            f"{MAX_FRONTMATTER} characters at most"
        )
    from yaml import YAMLError  # noqa: PLC0415 - an extra

    try:
        node = _loader()(head[1]).get_single_node()
    except (YAMLError, ArithmeticError, ValueError) as exc:
        # The parser hands what it reads to int() and chr(), and lets out what they raise.
        raise FrontmatterError(f"its front matter is no YAML: {_problem(exc)}") from exc
    value: JsonValue = None if node is None else _value(node)
    if not is_object(value):
        raise FrontmatterError("its front matter is no mapping")
    return value


def _problem(exc: Exception) -> str:
    mark = getattr(exc, "problem_mark", None)
    # The first line is that of '---'.
    where = "" if mark is None else f" (line {mark.line + 2})"
    return f"{getattr(exc, 'problem', None) or type(exc).__name__}{where}"


@functools.cache
def _loader() -> type[SafeLoader]:
    import yaml  # noqa: PLC0415 - an extra
    from yaml.composer import ComposerError  # noqa: PLC0415 - as above

    class Loader(yaml.SafeLoader):
        depth = 0

        def compose_node(self, parent: Node | None, index: int) -> Node | None:
            # What has no hints, or has them for the other parser in C, goes by as Any.
            event = cast("Any", self).peek_event()
            if isinstance(event, yaml.AliasEvent) or self.depth >= _MAX_DEPTH:
                why = "it has an alias, or nests too deep"
                raise ComposerError(None, None, why, cast("Any", event).start_mark)
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    # Text, where it is nothing of the core schema.
    Loader.yaml_implicit_resolvers = {}
    for kind, (pattern, first) in _CORE_SCHEMA.items():
        cast("Any", Loader).add_implicit_resolver(_TAG + kind, re.compile(pattern + r"\Z"), first)
    return Loader


def _value(node: Any) -> JsonValue:
    kind: str = node.tag.removeprefix(_TAG)
    if (node.id, kind) == ("mapping", "map"):
        return _mapping(node)
    if (node.id, kind) == ("sequence", "seq"):
        return [_value(each) for each in node.value]
    if node.id == "scalar" and kind in _SCALARS:
        return _scalar(node, kind)
    raise FrontmatterError(f"{_line(node)}: JSON has nothing for {node.tag:.60}")


def _mapping(node: Any) -> JsonObject:
    made: JsonObject = {}
    for key_node, value_node in node.value:
        key = _value(key_node)
        if not isinstance(key, str):
            raise FrontmatterError(f"{_line(key_node)}: the key {key!r} is no text")
        if key in made:
            raise FrontmatterError(f"{_line(key_node)}: the key {key!r} is there twice")
        made[key] = _value(value_node)
    return made


def _scalar(node: Any, kind: str) -> JsonValue:
    try:
        return _SCALARS[kind](node.value)
    except (KeyError, ValueError) as exc:
        raise FrontmatterError(f"{_line(node)}: no {kind} of JSON: {node.value!r:.80}") from exc


def _line(node: Any) -> str:
    return f"line {node.start_mark.line + 2} of its front matter"


def _integer(text: str) -> int:
    bases = {"0o": 8, "0x": 16}
    return int(text.removeprefix(text[:2]), bases[text[:2]]) if text[:2] in bases else int(text)


def _number(text: str) -> float:
    number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _text(text: str) -> str:
    text.encode()  # a lone surrogate is nothing that could be sent
    return text


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _nothing(_text: str) -> None:
    return None


_SCALARS: Final[dict[str, Callable[[str], JsonValue]]] = {
    "null": _nothing,
    "bool": _flag,
    "int": _integer,
    "float": _number,
    "str": _text,
}
