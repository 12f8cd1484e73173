"""What is wrong with ``x-mcp-header`` annotations (2026-07-28, SEP-2243)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from trio_mcp.types._base import is_array, is_object

from ._mirrors import HEADER_KEYWORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trio_mcp.types._base import JsonObject, JsonValue

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_TYPES: Final = ("string", "integer", "boolean")

# Keywords of 2020-12 by what they hold: a schema, a list of schemas, schemas by name.
_SINGLE: Final = frozenset(
    (
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
_LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_MAPS: Final = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties"))

_Path = tuple[str, ...]


def header_fault(schema: Mapping[str, JsonValue]) -> str | None:
    """Say what is wrong with the ``x-mcp-header`` annotations of an input schema, if anything.

    A client would leave a tool with a wrong one out of its list.
    """
    seen: dict[str, str] = {}
    for path, node in _schemas(schema, ()):
        if HEADER_KEYWORD not in node:
            continue
        if not path:
            return (
                f"{HEADER_KEYWORD} {node[HEADER_KEYWORD]!r} is not on a property that is reached "
                "from the root through `properties` alone"
            )
        where = ".".join(path)
        fault = _fault(node)
        if fault is not None:
            return f"{HEADER_KEYWORD} of {where!r}: {fault}"
        name = node[HEADER_KEYWORD].lower()
        if name in seen:
            return f"{HEADER_KEYWORD} {node[HEADER_KEYWORD]!r} is on {seen[name]!r} and {where!r}"
        seen[name] = where
    return None


def _fault(node: JsonObject) -> str | None:
    name = node[HEADER_KEYWORD]
    if not isinstance(name, str):
        return f"a string is wanted, not {type(name).__name__}"
    if not _TOKEN.fullmatch(name):
        return f"{name!r} cannot be part of a header's name"
    if node.get("type") not in _TYPES:
        return (
            "only a string, an integer or a boolean can be repeated in a header; "
            f"its type is {node.get('type', 'not stated')!r}"
        )
    return None


def _schemas(node: Any, path: _Path | None) -> Iterator[tuple[_Path | None, JsonObject]]:
    """Yield every subschema, with its path where that goes through ``properties`` alone."""
    if not is_object(node):
        return
    yield path, node
    for keyword, value in node.items():
        if keyword == "properties" and is_object(value):
            for name, inner in value.items():
                yield from _schemas(inner, None if path is None else (*path, name))
        elif keyword in _SINGLE:
            yield from _schemas(value, None)
        elif keyword in _LISTS and is_array(value):
            for inner in value:
                yield from _schemas(inner, None)
        elif keyword in _MAPS and is_object(value):
            for inner in value.values():
                yield from _schemas(inner, None)
