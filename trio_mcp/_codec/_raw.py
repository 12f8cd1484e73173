"""Values that are JSON on both sides: one function per plain kind and direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import _strict
from ._decode_error import DecodeError
from ._json import checked_copy
from ._strict import encode_object, mistaken, wrong

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PLAIN_DECODERS", "PLAIN_ENCODERS", "encode_form"]


def _as_is(value: Any, _where: str = "") -> Any:
    return value


def _decoder_of(expected: str, *classes: type) -> Callable[[Any], Any]:
    def decode_plain(value: Any) -> Any:
        if value.__class__ in classes:
            return value
        raise wrong(expected, value)

    return decode_plain


def _decode_integer(value: Any) -> int:
    return value if value.__class__ is int else _strict.decode_integer(value)


def _decode_meta(value: Any) -> Any:
    """Read ``_meta`` of a request, whose progress token has an attribute's name in Python."""
    if value.__class__ is not dict:
        raise wrong("an object", value)
    if "progressToken" not in value:
        return value
    token = value["progressToken"]
    if token.__class__ is not str and token.__class__ is not int:
        raise wrong("a string or an integer", token, "progressToken")
    return {
        ("progress_token" if name == "progressToken" else name): each
        for name, each in value.items()
    }


def _encode_object(value: Any, where: str) -> Any:
    return checked_copy(encode_object(value, where), where)


def _encode_meta(value: Any, where: str) -> Any:
    meta = _encode_object(value, where)
    if "progress_token" not in meta:
        return meta
    return {
        ("progressToken" if name == "progress_token" else name): each
        for name, each in meta.items()
    }


_FORM_VALUES: Final = (str, int, float, bool, type(None))


def _decode_form_value(value: Any) -> Any:
    if value.__class__ in _FORM_VALUES:
        return value
    if value.__class__ is list:
        for index, each in enumerate(value):
            if each.__class__ is not str:
                raise wrong("a string", each, index)
        return value
    raise DecodeError("a string, a number, a boolean or an array of strings", "an object")


def _encode_form_value(value: Any, where: str) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _strict.encode_text(value, where)
    if isinstance(value, (int, float)):
        return _strict.encode_number(value, where)
    if isinstance(value, (list, tuple)):
        return [_strict.encode_text(each, where) for each in _strict.encode_list(value, where)]
    return mistaken(where, "str, int, float, bool or list[str]", value)


def encode_form(values: Any, where: str) -> Any:
    """Write what was filled into a form; fields that are None were left empty."""
    values = encode_object(values, where)
    return {
        name: _encode_form_value(value, where)
        for name, value in values.items()
        if value is not None
    }


PLAIN_DECODERS: Final[dict[str, Callable[[Any], Any]]] = {
    "any": _as_is,
    "model": _as_is,
    "string": _decoder_of("a string", str),
    "integer": _decode_integer,
    "number": _decoder_of("a number", float, int),
    "boolean": _decoder_of("a boolean", bool),
    "id": _decoder_of("a string or an integer", str, int),
    "object": _decoder_of("an object", dict),
    "meta": _decode_meta,
    "form value": _decode_form_value,
}

PLAIN_ENCODERS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "any": checked_copy,
    "string": _strict.encode_text,
    "integer": _strict.encode_integer,
    "number": _strict.encode_number,
    "boolean": lambda value, where: (
        value if isinstance(value, bool) else _strict.encode_bool(value, where)
    ),
    "id": _strict.encode_id,
    "object": _encode_object,
    "meta": _encode_meta,
}
