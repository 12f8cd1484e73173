"""Wire types that a program has filled in: checked where that was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from trio_mcp.types._base import is_array, is_object
from trio_mcp.types._revisions import LATEST_MODERN

from ._converter import encode
from ._json import checked_copy

if TYPE_CHECKING:
    from trio_mcp.types._base import WireModel


def check_wire(value: WireModel) -> None:
    """Refuse an object that could not be written later, or has JSON in place of an object.

    Raises:
      TypeError: if an attribute has a value of another type than it says; the message begins
        with the attribute, and says what was expected and given.
      ValueError: if something in it has no JSON form, such as a lone surrogate.

    """
    _refuse_json(value)
    try:
        checked_copy(encode(value, LATEST_MODERN), "")
    except (TypeError, ValueError) as exc:
        said = str(exc).removeprefix(f"{type(value).__name__}.").removeprefix(".")
        raise (TypeError if isinstance(exc, TypeError) else ValueError)(said) from None


def _refuse_json(value: WireModel) -> None:
    # Encoding takes JSON objects for objects, which is right for what other programs hand over.
    # What is written by hand has one form, which type checkers can read.
    for field in attrs.fields(type(value)):
        hint = str(field.type).removesuffix(" | None")
        given: object = getattr(value, field.name)
        if hint == "Any" or hint.startswith("dict[") or "JsonObject" in hint:
            continue
        if hint.startswith("list["):
            for index, each in enumerate(given if is_array(given) else ()):
                if is_object(each):
                    place = f"{field.name}[{index}]"
                    raise TypeError(f"{field.name}: expected {hint[5:-1]}, got dict (at {place})")
        elif is_object(given):
            raise TypeError(f"{field.name}: expected {hint}, got dict")
