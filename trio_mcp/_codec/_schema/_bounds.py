"""How big a schema may be, and the private copy that everything else works on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

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
    return _Copier(where).copied(schema, 0)


class _Copier:
    def __init__(self, where: str) -> None:
        self._where = where
        self._remaining = MAX_NODES
        self._path: list[str | int] = []  # where in the schema we are

    def copied(self, value: object, depth: int) -> JsonValue:
        self._remaining -= 1
        if self._remaining < 0:
            raise SchemaError(f"has more than {MAX_NODES} values", where=self._where)
        if isinstance(value, str):
            return self._text(value)
        if value.__class__ in _SCALARS:
            return value
        if isinstance(value, (dict, list)):
            if depth >= MAX_DEPTH:
                reason = f"is nested more than {MAX_DEPTH} levels deep"
                raise SchemaError(reason, where=self._where)
            if isinstance(value, dict):
                return self._members(cast("dict[object, object]", value), depth + 1)
            return self._items(cast("list[object]", value), depth + 1)
        return self._number(value)

    def _members(self, value: dict[object, object], depth: int) -> JsonValue:
        result: dict[str, JsonValue] = {}
        for key, member in value.items():
            if not isinstance(key, str):
                raise self._refused(f"a property name is {type(key).__name__}, not a string")
            name = self._text(key)
            self._path.append(name)
            result[name] = self.copied(member, depth)
            self._path.pop()
        return result

    def _items(self, value: list[object], depth: int) -> JsonValue:
        result: list[JsonValue] = []
        for position, item in enumerate(value):
            self._path.append(position)
            result.append(self.copied(item, depth))
            self._path.pop()
        return result

    def _text(self, text: str) -> str:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise self._refused("has a lone surrogate, which is not Unicode text") from None
        return text if text.__class__ is str else str.__str__(text)

    def _number(self, value: object) -> JsonValue:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise self._refused(f"{value!r} is not a JSON number")
            return float(value)
        if isinstance(value, int):  # of a subclass: an enum's member, say
            return int(value)
        raise self._refused(f"{type(value).__name__} is not a JSON value")

    def _refused(self, reason: str) -> SchemaError:
        return SchemaError(reason, path=path_text(self._path), where=self._where)
