"""Python values to JSON, by the class of each value.

What a hint says about a result may be less than what the value is (``Any``, a base class),
so the way back goes by class. How a class is written is found once and kept.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import enum
import pathlib
import sys
import uuid
from collections import abc, deque
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import msgspec

from trio_mcp.types import WireModel

from ._errors import ReadError
from ._records import Record, read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from trio_mcp.types._base import JsonValue

_PLAIN: Final = frozenset((str, int, float, bool, type(None)))
_PLAIN_OR_CONTAINER: Final = _PLAIN | {list, dict, tuple}


def to_json(value: Any) -> JsonValue:
    """Make JSON of a value: records, containers and scalars, at any depth.

    Raises:
      TypeError: if something in it has no JSON form.

    """
    cls: type[Any] = value.__class__
    if cls in _PLAIN:
        return value
    if cls is list:
        return [to_json(each) for each in value]
    if cls is dict:
        return _object(value)
    return _writer_of(cls)(value)


def is_unread(value: Any, *, as_array: bool) -> bool:
    """Tell whether a value shows what it holds only by being iterated, perhaps just once.

    Args:
      value: Anything.
      as_array: An array is wanted, so that whatever can be iterated will do unless it has
        another form in JSON.

    """
    if value.__class__ in _PLAIN_OR_CONTAINER:
        return False
    writer = _writer_of(value.__class__)
    return writer is _iterated or (
        as_array and writer is _refuse and isinstance(value, abc.Iterable)
    )


def read_items(value: Iterable[Any]) -> list[Any]:
    """Iterate over what an author's function returned.

    Raises:
      ReadError: in place of a TypeError or ValueError raised by the iterator.

    """
    try:
        return list(value)
    except (TypeError, ValueError) as exc:
        raise ReadError(exc) from exc


def _writer_of(cls: type[Any]) -> Callable[[Any], Any]:
    writer = _writers.get(cls)
    if writer is None:
        writer = _writers[cls] = _writer_for(cls)
    return writer


_writers: WeakKeyDictionary[type, Callable[[Any], Any]] = WeakKeyDictionary()


def _writer_for(cls: type[Any]) -> Callable[[Any], Any]:
    if issubclass(cls, enum.Enum):
        return _enum_value
    for kind, writer in _SCALARS:
        if issubclass(cls, kind):
            return writer
    if issubclass(cls, WireModel):
        return _wire_model
    dump = getattr(cls, "model_dump", None)
    if callable(dump) and hasattr(cls, "model_json_schema"):
        return pydantic_dump
    if hasattr(cls, "__pydantic_serializer__") or cls.__module__.startswith("pydantic."):
        return _pydantic_value
    record = read_record(cls)
    if record is not None:
        return _record_writer(record)
    if issubclass(cls, abc.Mapping):
        return _object
    if issubclass(cls, (abc.Sequence, abc.Set, abc.ValuesView, deque)):
        return _array
    return _iterated if issubclass(cls, abc.Iterator) else _refuse


def pydantic_dump(value: Any) -> Any:
    """Write a pydantic model under the names of its schema."""
    return value.model_dump(mode="json", by_alias=True)


def _pydantic_value(value: Any) -> Any:
    """Write an object of a pydantic dataclass, or of one of pydantic's own types."""
    # Loaded: something of pydantic has been made. It is not for this package to import.
    return sys.modules["pydantic_core"].to_jsonable_python(value, by_alias=True)


def _object(value: Any) -> dict[str, Any]:
    return {
        name if type(name) is str else _member_name(name): to_json(member)
        for name, member in value.items()
    }


def _member_name(name: Any) -> str:
    written = to_json(name)
    if isinstance(written, str):
        return written
    if isinstance(written, int) and not isinstance(written, bool):
        return str(written)
    msg = f"the name of an object's member is text, not {name!r}"
    raise TypeError(msg)


def _array(value: Any) -> list[Any]:
    return [to_json(each) for each in value]


def _iterated(value: Any) -> list[Any]:
    return _array(read_items(value))


def _enum_value(value: Any) -> Any:
    return to_json(value.value)


def _base64(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode("ascii")


def _iso_8601(value: dt.datetime | dt.date | dt.time) -> str:
    text = value.isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def _wire_model(value: WireModel) -> Any:
    from trio_mcp._codec._converter import encode  # noqa: PLC0415 - heavy, and seldom needed
    from trio_mcp.types._revisions import LATEST_MODERN  # noqa: PLC0415 - the same

    return encode(value, LATEST_MODERN)


def _record_writer(record: Record) -> Callable[[Any], Any]:
    fields = tuple((each.attribute, each.wire) for each in record.fields if each.readable)
    tag = record.tag

    def write(value: Any) -> dict[str, Any]:
        written = {} if tag is None else {tag[0]: tag[1]}
        for attribute, wire in fields:
            # A field may have no value: a slot never set, an attribute only annotated.
            member = getattr(value, attribute, _MISSING)
            if member is not _MISSING and member is not msgspec.UNSET:
                written[wire] = to_json(member)
        return written

    return write


def _refuse(value: Any) -> Any:
    msg = f"{type(value).__qualname__} has no JSON form"
    raise TypeError(msg)


_MISSING: Final = object()

# In this order: a datetime is a date, a bool is an int.
_SCALARS: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (str, str.__str__),
    (bool, bool),
    (int, int.__int__),
    (float, float.__float__),
    ((bytes, bytearray, memoryview), _base64),
    ((dt.datetime, dt.date, dt.time), _iso_8601),
    (dt.timedelta, msgspec.to_builtins),
    ((uuid.UUID, decimal.Decimal, pathlib.PurePath), str),
)
