"""Arguments of tools that HTTP clients repeat in headers (2026-07-28, `x-mcp-header`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trio_mcp.types._base import JsonObject, JsonValue

HEADER_KEYWORD: Final = "x-mcp-header"

HEADER_PREFIX: Final = "Mcp-Param-"

Path = tuple[str, ...]
"""The names that lead from the arguments to one of them."""


def mirrored_arguments(schema: Mapping[str, JsonValue]) -> dict[str, Path]:
    """Find the arguments that a tool's input schema wants repeated in headers.

    Args:
      schema: One without faults in its annotations: only properties that others lead to are
          looked at.

    Returns:
      For each header (``Mcp-Param-Region``) the way to its argument.

    """
    return {HEADER_PREFIX + name: path for name, path in _annotated(schema, ())}


def _annotated(schema: Mapping[str, JsonValue], path: Path) -> Iterator[tuple[str, Path]]:
    properties = schema.get("properties")
    if not is_object(properties):
        return
    for name, inner in properties.items():
        if not is_object(inner):
            continue
        header = inner.get(HEADER_KEYWORD)
        if isinstance(header, str):
            yield header, (*path, name)
        if "properties" in inner:
            yield from _annotated(inner, (*path, name))


def argument_at(arguments: JsonObject, path: Path) -> JsonValue:
    """Give the argument that a path leads to; None if it is absent or null."""
    value: JsonValue = arguments
    for name in path:
        if not is_object(value):
            return None
        value = value.get(name)
    return value
