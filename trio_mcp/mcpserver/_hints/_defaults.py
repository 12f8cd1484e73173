"""Defaults: which one a schema shows, and which one does not fit its own hint.

A default is what the function gets when a client leaves the argument out. Nothing converts or
checks it then, so it may be more than a client could send: infinity, an object of a class, a
number beyond the bounds of its own ``Annotated``. It is shown if a client could send it.
"""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin

from trio_mcp._codec._json import checked_copy

from ._records import NOTHING
from ._shape import Shape, json_type
from ._to_json import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trio_mcp.types._base import JsonObject

    from ._walk import Walker

# Of schemas with nothing else, the type alone tells what fits.
_SAYS_NOTHING: Final = frozenset(("type", "title", "description", "format", "contentEncoding"))


def show_default(shape: Shape, schema: JsonObject, default: Any) -> None:
    """Put a default into a schema, if it has a JSON form of a type that the shape has."""
    schema.pop("default", None)
    form = _json_form(default)
    if form is not NOTHING and _admits_type(shape, form):
        schema["default"] = form


def default_fits(walker: Walker, shape: Shape, hint: Any, default: Any) -> tuple[bool, bool]:
    """Tell whether a default fits its hint, and whether a client could send it.

    Args:
      walker: What read the hint.
      shape: What it made of it.
      hint: The hint, evaluated.
      default: The value.

    """
    if default is None:
        return True, True  # that None is taken has been added to the hint
    form = _json_form(default)
    if isinstance(default, (bytes, bytearray)) and not _is_instance(default, hint):
        return False, False  # though Base64 would fit
    if form is not NOTHING and _takes(walker, shape, default, form):
        return True, True
    if not shape.schema or _is_instance(default, hint):
        return True, False
    if get_origin(hint) is Annotated and form is not NOTHING:
        return _takes(walker, walker.shape(get_args(hint)[0]), default, form), False
    return False, False


def _json_form(default: Any) -> Any:
    try:
        return checked_copy(to_json(default), "default")
    except (TypeError, ValueError):
        return NOTHING


def _takes(walker: Walker, shape: Shape, default: Any, form: Any) -> bool:
    if not _admits_type(shape, form):
        return False
    if not _SAYS_NOTHING.issuperset(shape.schema) and not walker.matcher(shape.schema)(form):
        return False
    if shape.structure is not None and isinstance(default, (str, int, float)):
        try:
            shape.structure(form)
        except Exception:  # noqa: BLE001 - validators of the author's may raise anything
            # "tomorrow" for a date.
            return False
    return True


def _admits_type(shape: Shape, form: Any) -> bool:
    kind = json_type(form)
    return kind in shape.types or (
        kind == "number" and "integer" in shape.types and float(form).is_integer()
    )


def _is_instance(value: Any, hint: Any) -> bool:
    # By its ancestry: some classes refuse to be asked by isinstance.
    return any(each in type(value).__mro__ for each in _arms(hint))


def _arms(hint: Any) -> Iterator[Any]:
    """Yield what a hint may be, except for containers whose items it says something of."""
    if get_origin(hint) is Annotated:
        yield from _arms(get_args(hint)[0])
    elif get_origin(hint) in (typing.Union, types.UnionType):
        for each in get_args(hint):
            yield from _arms(each)
    elif get_origin(hint) is None:
        yield hint
