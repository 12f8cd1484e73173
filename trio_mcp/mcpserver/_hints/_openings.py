"""Places where a validator of the author's sees a value before anything else does.

``BeforeValidator(split)`` on a ``list[str]`` may make a list of ``"a,b"``. What is published is
the list, since that is what to send; what does not fit is left to the validator there. Such a
place has a mark in its schema while hints are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trio_mcp.types._base import is_array, is_object

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

_MARK: Final = "x-trio-mcp-validated-first"
_TEXTS: Final = frozenset(("title", "description", "examples", "deprecated"))


def marked(schema: JsonObject, as_read: JsonObject) -> JsonObject:
    """Mark the schema of a validated place, unless it demands more than its validators know.

    Args:
      schema: As published.
      as_read: What the library that runs the validators made of the hint.

    """
    added = {name for name, value in schema.items() if as_read.get(name, _MARK) != value}
    return {**schema, _MARK: True} if added <= _TEXTS else schema


def is_marked(schema: JsonObject) -> bool:
    return _MARK in schema


def without_marks(node: Any) -> Any:
    """Copy a schema for publishing."""
    if is_array(node):
        return [without_marks(each) for each in node]
    if is_object(node):
        return {name: without_marks(each) for name, each in node.items() if name != _MARK}
    return node


def opened(node: Any) -> Any:
    """Copy a schema for checking what may be left to validators."""
    if is_array(node):
        return [opened(each) for each in node]
    if not is_object(node):
        return node
    return {} if _MARK in node else {name: opened(each) for name, each in node.items()}
