"""How big a schema may be, and the private copy that everything else works on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ._errors import SchemaError
from ._paths import path_text

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonValue

# The codec lets no message nest deeper; the full engine would give up near 250.
MAX_DEPTH: Final = 100
# Every value of the schema's JSON counts. The biggest schemas seen in tools have a few thousand.
MAX_NODES: Final = 20_000

_SCALARS: Final = frozenset({bool, int, type(None)})


def private_copy(schema: JsonValue, *, where: str = "schema") -> JsonValue:
    """Copy a schema, so that neither we nor an engine touch what the caller holds.

    Raises:
      SchemaError: if it is not plain JSON, nests deeper than `MAX_DEPTH` levels, or has more than
        `MAX_NODES` values.

    """
    remaining = MAX_NODES
    path: list[str | int] = []

    def refuse(reason: str) -> SchemaError:
        return SchemaError(reason, path=path_text(path), where=where)

    def copied(value: object, depth: int) -> JsonValue:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise SchemaError(f"has more than {MAX_NODES} values", where=where)
        if isinstance(value, str):
            if not value.isascii():
                check_text(value)
            return value if value.__class__ is str else str.__str__(value)
        if value.__class__ in _SCALARS:
            return value  # type: ignore[return-value] # narrowed by its exact class
        if isinstance(value, float):
            if not math.isfinite(value):
                raise refuse(f"{value!r} is not a JSON number")
            return float(value)
        if isinstance(value, int):
            return int(value)
        if depth >= MAX_DEPTH:
            raise SchemaError(f"is nested more than {MAX_DEPTH} levels deep", where=where)
        if isinstance(value, dict):
            return copied_members(value, depth)
        if isinstance(value, list):
            return copied_items(value, depth)
        raise refuse(f"{type(value).__name__} is not a JSON value")

    def copied_members(value: dict[object, object], depth: int) -> JsonValue:
        result: dict[str, JsonValue] = {}
        for key, member in value.items():
            if not isinstance(key, str):
                raise refuse(f"a property name must be a string, not {type(key).__name__}")
            if not key.isascii():
                check_text(key)
            path.append(key)
            result[key if key.__class__ is str else str.__str__(key)] = copied(member, depth + 1)
            path.pop()
        return result

    def copied_items(value: list[object], depth: int) -> JsonValue:
        result: list[JsonValue] = []
        for position, item in enumerate(value):
            path.append(position)
            result.append(copied(item, depth + 1))
            path.pop()
        return result

    def check_text(text: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise refuse("has a lone surrogate, which is not Unicode text") from None

    return copied(schema, 0)
