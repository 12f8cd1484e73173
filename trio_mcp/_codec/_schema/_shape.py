"""What a JSON value is, in a form that type checkers follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject, JsonValue


def is_object(value: JsonValue) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


def is_array(value: JsonValue) -> TypeGuard[list[JsonValue]]:
    return isinstance(value, list)
