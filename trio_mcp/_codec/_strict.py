"""Plain values, taken at their word: checks for both directions.

Nothing is converted. The one exception is JSON Schema's: a number without a fraction, such as
``1.0``, is an integer.

The functions for decoding raise `DecodeError`; those for encoding meet values that a program
gave, and raise TypeError or ValueError with the attribute's name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ._decode_error import DecodeError, kind_of
from ._excerpt import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = [
    "chosen",
    "decode_integer",
    "decode_number",
    "encode_bool",
    "encode_id",
    "encode_integer",
    "encode_list",
    "encode_number",
    "encode_object",
    "encode_text",
    "encode_word",
    "found_in",
    "listing",
    "located",
    "missing",
    "mistaken",
    "wrong",
]


def wrong(expected: str, value: object, name: str | int | None = None) -> DecodeError:
    """Make the error for a value of the wrong kind, found under `name`."""
    error = DecodeError(expected, kind_of(value))
    return error if name is None else error.inside(name)


def missing(expected: str, name: str) -> DecodeError:
    """Make the error for a member that is not there."""
    return DecodeError(expected, "nothing").inside(name)


def chosen(words: tuple[str, ...], value: object, name: str | None = None) -> DecodeError:
    """Make the error for a value that is none of some words."""
    got = repr(excerpt(value)) if isinstance(value, str) else kind_of(value)
    error = DecodeError(listing(words), got)
    return error if name is None else error.inside(name)


def listing(words: tuple[str, ...]) -> str:
    """Write some words for people, as ``"a", "b" or "c"``."""
    quoted = [f'"{each}"' for each in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def decode_integer(value: Any, name: str | None = None) -> int:
    """Take a whole number; the caller has seen that it is no int."""
    if value.__class__ is float and value.is_integer():
        return int(value)
    raise wrong("an integer", value, name)


def decode_number(value: Any, least: float | None, greatest: float | None, name: str) -> NoReturn:
    """Refuse what the caller has seen to be no number within bounds."""
    if value.__class__ is not int and value.__class__ is not float:
        raise wrong("a number", value, name)
    raise DecodeError(f"a number from {least} to {greatest}", repr(value)).inside(name)


def mistaken(where: str, expected: str, value: object) -> NoReturn:
    """Refuse what a program gave."""
    msg = f"{where}: expected {expected}, got {type(value).__name__}"
    raise TypeError(msg)


def found_in(exc: TypeError | ValueError, step: str | int) -> None:
    """Note on the way out what holds the value that was refused: a member or an index."""
    steps: list[str | int] = exc.__dict__.setdefault("_steps", [])
    steps.append(step)


def located(exc: TypeError | ValueError) -> None:
    """Add to the message how the value is reached, as ``tools[3].icons[0]``, if that was noted.

    A single step is not told: messages begin with the class and the attribute.
    """
    steps: list[str | int] = exc.__dict__.pop("_steps", [])
    if len(steps) > 1 and type(exc) in (TypeError, ValueError):
        path = "".join(
            f"[{each}]" if isinstance(each, int) else f".{each}" for each in steps[::-1]
        )
        exc.args = (f"{exc} (at {path.removeprefix('.')})",)


def encode_text(value: Any, where: str) -> str:
    """Take a string, or a string of a subclass such as an enum's as the string it is."""
    if isinstance(value, str):
        return str.__str__(value)
    mistaken(where, "str", value)


def encode_word(value: Any, words: tuple[str, ...], where: str) -> str:
    """Take one of some words."""
    text = encode_text(value, where)
    if text in words:
        return text
    msg = f"{where}: expected {listing(words)}, got {text!r}"
    raise ValueError(msg)


def encode_bool(value: Any, where: str) -> NoReturn:
    """Refuse what the caller has seen to be no bool."""
    mistaken(where, "bool", value)


def encode_integer(value: Any, where: str) -> int:
    """Take a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    mistaken(where, "int", value)


def encode_number(value: Any, where: str) -> float:
    """Take a finite number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if not isinstance(value, float):
        mistaken(where, "float", value)
    if not math.isfinite(value):
        msg = f"{where}: {value} does not exist in JSON"
        raise ValueError(msg)
    return float(value)


def encode_id(value: Any, where: str) -> str | int:
    """Take a string or an integer."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    mistaken(where, "str or int", value)


def encode_object(value: Any, where: str) -> dict[str, Any]:
    """Take a mapping as the dict it is."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    mistaken(where, "dict", value)


def encode_list(value: Any, where: str) -> list[Any]:
    """Take a list or a tuple."""
    if isinstance(value, (list, tuple)):
        return list(cast("Iterable[Any]", value))
    mistaken(where, "list", value)
