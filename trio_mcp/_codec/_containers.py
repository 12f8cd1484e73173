"""Arrays, objects, words and foreign classes: functions made of functions for what is inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._decode_error import DecodeError
from ._strict import chosen, encode_list, encode_object, found_in, wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._generate import Hook

__all__ = [
    "foreign_decoder",
    "items_decoder",
    "items_encoder",
    "members_decoder",
    "members_encoder",
    "words_decoder",
]


def foreign_decoder(hook: Callable[[Any, Any], Any], cls: type) -> Hook:
    """Use a hook of cattrs' own or of a user, for a class that is no wire type."""

    def decode_foreign(value: Any) -> Any:
        try:
            return hook(value, cls)
        except DecodeError:
            raise
        except Exception as exc:
            raise DecodeError(f"a {cls.__name__}", str(exc)) from exc

    return decode_foreign


def words_decoder(words: tuple[str, ...]) -> Hook:
    def decode_word(value: Any) -> Any:
        if value.__class__ is str and value in words:
            return value
        raise chosen(words, value)

    return decode_word


def items_decoder(one: Hook) -> Hook:
    def decode_items(values: Any) -> Any:
        if values.__class__ is not list:
            raise wrong("an array", values)
        try:
            return [one(each) for each in values]
        except DecodeError:
            # Not counted until it matters.
            for index, each in enumerate(values):
                try:
                    one(each)
                except DecodeError as exc:
                    raise exc.inside(index) from None
            raise

    return decode_items


def members_decoder(one: Hook) -> Hook:
    def decode_members(values: Any) -> Any:
        if values.__class__ is not dict:
            raise wrong("an object", values)
        decoded: dict[str, Any] = {}
        for name, each in values.items():
            try:
                decoded[name] = one(each)
            except DecodeError as exc:
                raise exc.inside(name) from None
        return decoded

    return decode_members


def items_encoder(one: Hook, where: str) -> Hook:
    def encode_items(values: Any) -> Any:
        items: list[Any] = values if values.__class__ is list else encode_list(values, where)
        try:
            return [one(each) for each in items]
        except (TypeError, ValueError) as exc:
            # Not counted until it matters.
            _note_refused(exc, one, enumerate(items))
            raise

    return encode_items


def members_encoder(one: Hook, where: str) -> Hook:
    def encode_members(values: Any) -> Any:
        if values.__class__ is not dict:
            values = encode_object(values, where)
        try:
            return {name: one(each) for name, each in values.items()}
        except (TypeError, ValueError) as exc:
            _note_refused(exc, one, values.items())
            raise

    return encode_members


def _note_refused(
    refused: TypeError | ValueError, one: Hook, values: Iterable[tuple[str | int, Any]]
) -> None:
    """Write the values once more, to find the one that was refused."""
    for step, each in values:
        try:
            one(each)
        except (TypeError, ValueError):
            found_in(refused, step)
            return
