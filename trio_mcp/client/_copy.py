"""Copies of results: what many get is nobody's to change."""

from __future__ import annotations

import copy
from typing import Any, Final

import attrs

from trio_mcp.types._base import WireModel

_UNCHANGEABLE: Final = frozenset({str, int, float, bool, type(None)})

_field_names: Final[dict[type, tuple[str, ...]]] = {}


def copied(value: Any) -> Any:
    """Copy a result with all that can be changed in it: a third of what `copy.deepcopy` takes."""
    cls = value.__class__
    if cls is dict:
        return {
            name: each if each.__class__ in _UNCHANGEABLE else copied(each)
            for name, each in value.items()
        }
    if cls is list:
        return [each if each.__class__ in _UNCHANGEABLE else copied(each) for each in value]
    if not isinstance(value, WireModel):
        return value if cls in _UNCHANGEABLE else copy.deepcopy(value)
    made = object.__new__(cls)
    # It is frozen; its values have been checked when it was made.
    put = object.__setattr__
    for name in _names_of(cls):
        each = getattr(value, name)
        put(made, name, each if each.__class__ in _UNCHANGEABLE else copied(each))
    return made


def _names_of(cls: type[WireModel]) -> tuple[str, ...]:
    names = _field_names.get(cls)
    if names is None:
        names = _field_names[cls] = tuple(field.name for field in attrs.fields(cls))
    return names
