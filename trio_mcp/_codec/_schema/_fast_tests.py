"""What generated code asks of a value beyond its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trio_mcp.types._base import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Iterable

MISSING: Final = object()
"""What is found in place of a member that is not there."""


def is_integer(value: Any) -> bool:
    """Whether a value is an integer; 1.0 is one, true is none."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    return isinstance(value, float) and value.is_integer()


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_one_of(value: Any, literals: Iterable[Any]) -> bool:
    """Whether a value is equal to one of some literals, as JSON Schema compares."""
    return any(is_equal(value, literal) for literal in literals)


def is_equal(one: Any, other: Any) -> bool:
    """Compare two values as JSON: 1 is 1.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(is_equal(one[k], other[k]) for k in one)
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other)
