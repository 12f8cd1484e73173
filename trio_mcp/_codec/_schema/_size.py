"""How big a value is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp._codec._json import length_of
from trio_mcp.types._base import is_array, is_object

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonValue

# Of values. The fast engine may then take 10 ms for each alternative.
_BIG: Final = 2_000


def is_big(value: JsonValue) -> bool:
    """Whether a value has thousands of others in it."""
    length = length_of(value)
    if length is not None and length < _BIG:
        # Each takes a byte of JSON, so that counting them, which takes longer, is not needed.
        return False
    return measure(value, _BIG)[0] >= _BIG


def measure(value: JsonValue, enough: int) -> tuple[int, int]:
    """How many values there are in a value (counting stops at enough), and how deep it is."""
    size, depth, level = 1, 0, [value]
    while size < enough:
        level = [
            child
            for container in level
            if (is_object(container) or is_array(container))
            for child in (container.values() if is_object(container) else container)
        ]
        if not level:
            break
        size += len(level)
        depth += 1
    return size, depth
