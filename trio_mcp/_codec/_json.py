"""JSON text to plain Python values and back, exactly or not at all.

msgspec's codec is strict where it matters: NaN, lone surrogates, invalid UTF-8 and numbers
beyond a float are refused, and integers come and go digit by digit. Two things are added
here. Nesting has a stated limit, so that no recursive code behind this door meets more. And
what the encoder would quietly bend (bytes to Base64, sets to arrays, NaN to null, numbers to
keys) is refused by `checked_copy`, which stands where user data enters.
"""

from __future__ import annotations

import math
import re
import sys
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Final

import msgspec.json

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonValue

MAX_JSON_DEPTH: Final = 100
"""How deep arrays and objects may nest, in either direction.

Deeper than any schema or argument that a person wrote, and far from the depth at which
recursive validators and serializers fail (about 1,000 in Python).
"""

MAX_INTEGER_DIGITS: Final = 4300
"""How long an integer may be that is read.

The decoder's own limit. Python's, `sys.set_int_max_str_digits`, can only lower it: reading takes
time that grows with the square of the length.
"""

_LEAST_DEEP: Final = 2 * MAX_JSON_DEPTH
# A text that is no longer cannot nest deeper.

_SMALL: Final = 4096
# Longer texts are searched for brackets by memchr instead of being counted byte by byte.

_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_AS_ARRAYS: Final = bytes.maketrans(b"{}", b"[]")
_AS_STEPS: Final = bytes.maketrans(b"[]", b"\x01\xff")
# One level down and one up, as signed bytes.

_SHALLOW: Final = 8
# Levels that are taken off one by one, which is faster than counting for nearly every text.


class JsonError(ValueError):
    """A text that is not JSON, or JSON that this package refuses."""


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines


def loads(data: bytes | str) -> JsonValue:
    """Parse one JSON text.

    Of members with the same name the last one counts.

    Raises:
      JsonError: if it is not JSON or not UTF-8, nests deeper than `MAX_JSON_DEPTH`, or holds
          a number that Python cannot take (1e999, an integer of more than
          `MAX_INTEGER_DIGITS`).

    """
    try:
        value: JsonValue = _decode(data)
    except (msgspec.MsgspecError, UnicodeError) as exc:
        raise JsonError(_what_is_wrong(data, str(exc))) from exc
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    if len(data) > _LEAST_DEEP and _is_too_deep(data.encode() if isinstance(data, str) else data):
        raise JsonError(_TOO_DEEP)
    return value


def dumps(value: JsonValue) -> bytes:
    """Write a JSON value without spaces and without a newline.

    User data has passed `checked_copy` before.

    Raises:
      TypeError: if something in it has no JSON form.
      ValueError: if it nests deeper than `MAX_JSON_DEPTH`, or holds a lone surrogate or an
          endless integer.

    """
    try:
        written = _encode(value)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if len(written) > _LEAST_DEEP and _is_too_deep(written):
        raise ValueError(_TOO_DEEP)
    return written


def dumps_lines(values: list[JsonValue]) -> bytes:
    """Write JSON values as `dumps` does, each followed by a line feed."""
    try:
        written = _encode_lines(values)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if len(written) > _LEAST_DEEP and _is_too_deep(written):
        raise ValueError(_TOO_DEEP)
    return written


def length_of(value: JsonValue) -> int | None:
    """How many bytes a JSON value takes as `dumps` writes it; None if it cannot be written.

    Of one that nests too deep for `dumps` the length may be told all the same.
    """
    try:
        return len(_encode(value))
    except (TypeError, ValueError, RecursionError):
        return None


def checked_copy(value: object, where: str) -> JsonValue:
    """Copy user data into plain JSON values, refusing what JSON cannot say.

    Tuples become arrays; subclasses of str, int, float, dict and list become the plain type.

    Args:
      value: What a user's code handed over.
      where: What it is, the beginning of the path in errors: ``arguments``.

    Raises:
      TypeError: if a value or key has no JSON form; the message has its path.
      ValueError: if a number is not finite, a string holds a lone surrogate, an integer is
          too long to print, or it nests deeper than `MAX_JSON_DEPTH` (or holds itself).

    """
    try:
        return _copy(value, MAX_JSON_DEPTH)
    except _Refused as refused:
        path = where + _shortened(refused.path[::-1])
        raise refused.kind(f"{path}: {refused.reason}") from None


class SharedArray(tuple[Any, ...]):
    """A checked array that many results hold, such as a list of tools until it changes.

    It is written as it is. Whoever hands it on inside this process makes a copy first, by
    `unshared`.
    """

    __slots__ = ()


def unshared(value: dict[str, Any]) -> dict[str, Any]:
    """Give an object whose members nobody else holds."""
    if SharedArray not in map(type, value.values()):
        return value
    # Writing and reading them again is twice as fast as copying them.
    return {
        name: _decode(dumps(member)) if member.__class__ is SharedArray else member
        for name, member in value.items()
    }


# The bounds of a machine word, in which every integer can be written.
_LEAST: Final = -(1 << 63)
_BEYOND: Final = 1 << 63

_TOO_DEEP: Final = f"nested deeper than {MAX_JSON_DEPTH} levels"


class _Refused(Exception):
    def __init__(self, kind: type[TypeError | ValueError], reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.path: list[str] = []  # innermost first


def _copy(value: Any, depth: int) -> Any:
    cls = value.__class__
    if cls is dict:
        return _copy_object(value, depth)
    if cls is str:
        return value if value.isascii() else _checked_str(value)
    if value is None or cls is bool:
        return value
    if cls is int:
        return value if _LEAST <= value < _BEYOND else _checked_int(value)
    if cls is float:
        return _checked_float(value)
    if cls is list or cls is tuple:
        return _copy_array(value, depth)
    return _copy_unusual(value, depth)


def _copy_object(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    if not depth:
        raise _Refused(ValueError, _TOO_DEEP)
    copied: dict[str, Any] = {}
    name: Any = None
    try:
        for name, member in value.items():
            # The commonest first, without a call: most members are short texts.
            if name.__class__ is str and name.isascii():
                cls = member.__class__
                if (
                    (cls is str and member.isascii())
                    or (cls is int and _LEAST <= member < _BEYOND)
                    or cls is bool
                    or member is None
                ):
                    copied[name] = member
                elif cls is dict:
                    copied[name] = _copy_object(member, depth - 1)
                else:
                    copied[name] = _copy(member, depth - 1)
            else:
                copied[_checked_name(name)] = _copy(member, depth - 1)
    except _Refused as refused:
        refused.path.append(_step(name))
        raise
    return copied


def _copy_array(value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
    if not depth:
        raise _Refused(ValueError, _TOO_DEEP)
    copied: list[Any] = []
    try:
        for item in value:
            if item.__class__ is str and item.isascii():
                copied.append(item)
            else:
                # The length of the copy is the index in errors.
                copied.append(_copy(item, depth - 1))
    except _Refused as refused:
        refused.path.append(f"[{len(copied)}]")
        raise
    return copied


def _copy_unusual(value: Any, depth: int) -> Any:
    cls: type[Any] = value.__class__
    # The unbound methods give the plain value whatever the subclass overrides.
    if issubclass(cls, str):
        return _checked_str(str.__str__(value))
    if issubclass(cls, int):
        return _checked_int(int.__index__(value))
    if issubclass(cls, float):
        return _checked_float(float.__float__(value))
    if issubclass(cls, dict):
        return _copy_object(value, depth)
    if issubclass(cls, (list, tuple)):
        return _copy_array(value, depth)
    raise _Refused(TypeError, f"{cls.__qualname__} has no JSON form")


def _checked_str(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Refused(ValueError, "the text holds a lone surrogate") from None
    return value


def _checked_int(value: int) -> int:
    if value.bit_length() > 64:
        try:
            str(value)
        except ValueError:  # beyond sys.get_int_max_str_digits()
            raise _Refused(ValueError, "the integer has too many digits") from None
    return value


def _checked_float(value: float) -> float:
    if not math.isfinite(value):
        raise _Refused(ValueError, f"JSON has no {value}")
    return value


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise _Refused(TypeError, f"the name of a member is a string, not {name!r}")
    return _checked_str(str.__str__(name))


def _shortened(steps: list[str]) -> str:
    if len(steps) > _SHOWN_STEPS:
        left_out = len(steps) - _SHOWN_STEPS
        steps = [*steps[: _SHOWN_STEPS // 2], f"…({left_out})…", *steps[-_SHOWN_STEPS // 2 :]]
    return "".join(steps)


_SHOWN_STEPS: Final = 16
# Of the way to a value that nests too deep, at both ends.


def _step(name: object) -> str:
    return f".{name}" if isinstance(name, str) and name.isidentifier() else f"[{name!a}]"


# Half a pair: a first one that no second follows, or a second one that follows no first. A
# backslash that is itself escaped begins nothing.
_LONE_SURROGATE: Final = re.compile(
    rb"(?<!\\)(?:\\\\)*(\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|[c-fC-F]..)"
    rb"(?<!\\u[dD][89abAB]..\\u[dD][c-fC-F]..))",
    re.DOTALL,
)


def _what_is_wrong(data: bytes | str, said: str) -> str:
    """Name what the decoder stumbled over, where its own words lead astray."""
    if "out of range" in said:
        return _number_out_of_range(data) or said
    if "surrogate" not in said and "truncated" not in said:
        return said
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    # Before a quote the decoder takes half a pair for the end of the text.
    lone = _LONE_SURROGATE.search(data)
    if lone is not None and lone.end() < len(data):
        return f"a lone surrogate, {lone[1].decode('ascii', 'replace')} (byte {lone.start(1)})"
    return "the text ends too early" if "truncated" in said else said


# A text, which may hold digits that are none, or a number.
_TEXT_OR_NUMBER: Final = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"|(-?(\d+)(\.\d+)?([eE][-+]?\d+)?)', re.DOTALL
)


def _number_out_of_range(data: bytes | str) -> str | None:
    """Name the first number that cannot be read, and where it stands, if it stands early."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    limit = min(MAX_INTEGER_DIGITS, sys.get_int_max_str_digits() or MAX_INTEGER_DIGITS)
    for found in islice(_TEXT_OR_NUMBER.finditer(data), _SEARCHED):
        number, digits, fraction, exponent = found.groups()
        if number is None:
            continue
        place = f"(byte {found.start()})"
        if fraction is None and exponent is None:
            if len(digits) > limit:
                return f"an integer of {len(digits)} digits, {limit} at most are read {place}"
        elif math.isinf(float(number)):
            shown = number.decode() if len(number) <= _SHOWN_DIGITS else "one of many digits"
            return f"a number beyond what a float holds, {shown} {place}"
    return None


_SHOWN_DIGITS: Final = 40

_SEARCHED: Final = 10_000
# Texts and numbers before it: to name a place in a large text must not take seconds.


def _is_too_deep(data: bytes) -> bool:
    """Tell whether a valid JSON text nests deeper than the limit."""
    # Few texts need the exact answer: most are without many brackets.
    if len(data) <= _SMALL:
        has_many = data.count(b"{") + data.count(b"[") > MAX_JSON_DEPTH
    else:
        has_many = _has_many_brackets(data)
    return has_many and _depth_exceeds(data, MAX_JSON_DEPTH)


def _has_many_brackets(data: bytes) -> bool:
    left = MAX_JSON_DEPTH
    for bracket in (b"{", b"["):
        at = data.find(bracket)
        while at >= 0:
            if not left:
                return True
            left -= 1
            at = data.find(bracket, at + 1)
    return False


def _depth_exceeds(data: bytes, limit: int) -> bool:
    # Each round takes off the innermost level. Of deep texts all of it would be copied a
    # hundred times.
    brackets = _brackets(data)
    for _ in range(_SHALLOW):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    steps = memoryview(brackets.translate(_AS_STEPS)).cast("b")
    return max(accumulate(steps), default=0) > limit - _SHALLOW


def is_balanced(data: bytes) -> bool:
    """Tell whether a text that may be no JSON closes as many brackets as it opens."""
    brackets = _brackets(data)
    return brackets.count(b"[") == brackets.count(b"]")


def _brackets(data: bytes) -> bytes:
    """Return the brackets of a text that are outside of strings, all as square ones."""
    # All in C, since a list of tools has thousands of brackets. Escapes go first, so that
    # every quote left begins or ends a string; removing a pair of neighbouring quotes keeps
    # inside inside and outside outside.
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = data.translate(_AS_ARRAYS, _NO_BRACKETS).replace(b'""', b"")
    return b"".join(marks.split(b'"')[::2])
