"""What people read in place of the values of an Enum."""

from __future__ import annotations

import enum
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from ._hints import Scope
from ._hints._pydantic import is_pydantic_model
from ._hints._records import field_hints, read_record

if TYPE_CHECKING:
    from collections.abc import Iterator


def titles_of_choices(cls: Any) -> dict[str, dict[str, str]]:
    """Find, for each field whose hint is an Enum or a list of one, the titles of its members.

    A member has a title if it has an attribute ``title`` that is a string: a property of the
    Enum, for example. Fields whose Enum has none are left out.

    Raises:
      UnknownName: if a hint cannot be evaluated.

    """
    return {
        field: titles
        for field, hint in _hints(get_origin(cls) or cls)
        if (titles := _titles(_enum_in(hint)))
    }


def _hints(cls: Any) -> Iterator[tuple[str, Any]]:
    if is_pydantic_model(cls):
        for name, field in cls.model_fields.items():
            yield field.validation_alias or field.alias or name, field.annotation
        return
    record = read_record(cls)
    if record is None:
        return
    hints = field_hints(cls, Scope.of_class(cls), {})
    for each in record.fields:
        if each.attribute in hints:
            yield each.wire, hints[each.attribute][0]


def _enum_in(hint: Any) -> type[enum.Enum] | None:
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin is Annotated:
        inner = inner[:1]
    elif origin not in (typing.Union, types.UnionType) and not (
        isinstance(origin, type) and len(inner) in (1, 2)
    ):
        inner = ()
    found = [each for each in map(_enum_in, inner) if each is not None]
    return found[0] if len(found) == 1 else None


def _titles(cls: type[enum.Enum] | None) -> dict[str, str]:
    titles: dict[str, str] = {}
    for member in cls or ():
        title = getattr(member, "title", None)  # of a str it is a method
        if isinstance(title, str) and isinstance(member.value, str):
            titles[member.value] = title
    return titles
