"""What one hint comes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeGuard

import attrs

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

JsonType: TypeAlias = Literal["null", "boolean", "integer", "number", "string", "array", "object"]

ANY_TYPE: Final[frozenset[JsonType]] = frozenset(
    ("null", "boolean", "integer", "number", "string", "array", "object")
)

Conversion: TypeAlias = Callable[[Any], Any]

_JSON_TYPES: Final[dict[type, JsonType]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}

JSON_CLASSES: Final = frozenset(_JSON_TYPES)
"""The classes that JSON is read into."""


def json_type(value: Any) -> JsonType:
    """Name the type of a JSON value; a float is a "number" even where it is whole."""
    return _JSON_TYPES[type(value)]


def is_class(hint: Any) -> TypeGuard[type[Any]]:
    return isinstance(hint, type)


@attrs.frozen(eq=False)
class Shape:
    """A schema with its conversions.

    Attributes:
      schema: A JSON Schema, 2020-12. Its references point into `Walker.definitions`.
      types: The JSON types of the values that the schema admits.
      structure: Makes the Python value of a JSON value that fits the schema. None where that
          is the value itself. Raises `Mismatch`, and changes nothing it is given.
      unstructure: Makes JSON of a Python value. None where the value is JSON already if it
          is of the hinted type. What is not of that type goes through as well as it can: the
          result is checked against the schema afterwards.
      bounded_by: For scalars that JSON spells as text (dates, bytes): what of them a bound
          in ``Annotated`` is compared with, since JSON Schema would compare the text.
      is_open: It may make something of values that do not fit the schema (`_openings`).

    """

    schema: JsonObject
    types: frozenset[JsonType] = ANY_TYPE
    structure: Conversion | None = None
    unstructure: Conversion | None = None
    bounded_by: Literal["value", "length"] | None = None
    is_open: bool = False

    def takes_only(self, name: JsonType) -> bool:
        """Tell whether the schema admits values of this JSON type alone."""
        return len(self.types) == 1 and name in self.types
