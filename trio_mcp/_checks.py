"""Checks of what a program hands over, with errors that name what is wrong.

For arguments of the public API: without a type checker, a mistake should be told where it was
made, and not by whatever trips over it later. Each error says which argument, what was expected
and what came. A value of the wrong kind is told by its type alone, since it may be a secret.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = [
    "awaited",
    "check_block",
    "check_callable",
    "check_class",
    "check_flag",
    "check_items",
    "check_kind",
    "check_mapping",
    "check_number",
    "check_scope_names",
    "check_text",
    "check_versions",
    "check_whole",
    "check_word",
    "is_async_callable",
    "wrong_kind",
    "wrong_value",
]


T = TypeVar("T")

_SCOPE: Final = re.compile(r"[!#-\[\]-~]+")


def wrong_kind(argument: str, expected: str, value: object) -> TypeError:
    """Make the error for a value of the wrong kind."""
    got = value.__name__ if isinstance(value, type) else type(value).__name__
    article = "the class " if isinstance(value, type) else ""
    return TypeError(f"{argument}: expected {expected}, got {article}{got}")


def wrong_value(argument: str, expected: str, value: object) -> ValueError:
    """Make the error for a value of the right kind that is none of those possible."""
    return ValueError(f"{argument}: expected {expected}, got {value!r:.80}")


def check_kind(
    argument: str, value: object, kinds: type | tuple[type, ...], expected: str | None = None
) -> None:
    """Check that a value is an instance of a class, or of one of several.

    Args:
      argument: The name that the user knows it by, or its path: ``env['HOME']``.
      value: What was given.
      kinds: What it has to be.
      expected: What to say of that; the names of the classes when None.

    Raises:
      TypeError: if it is something else.

    """
    if not isinstance(value, kinds):
        raise wrong_kind(argument, expected or _names(kinds), value)


def check_class(argument: str, value: object, base: type) -> None:
    """Check that a value is a class, and which.

    Raises:
      TypeError: if it is none, or no subclass of the base.

    """
    if not isinstance(value, type) or not issubclass(value, base):
        raise wrong_kind(argument, f"a class of {base.__name__}", value)


def check_text(argument: str, value: object) -> None:
    """Check that a value is a string.

    Raises:
      TypeError: if it is none.

    """
    if not isinstance(value, str):
        raise wrong_kind(argument, "str", value)


def check_flag(argument: str, value: object) -> None:
    """Check that a value is True or False.

    Raises:
      TypeError: if it is neither.

    """
    if not isinstance(value, bool):
        raise wrong_kind(argument, "bool", value)


def check_callable(argument: str, value: object) -> None:
    """Check that a value can be called.

    Raises:
      TypeError: if it cannot.

    """
    if not callable(value):
        raise wrong_kind(argument, "a function", value)


def is_async_callable(fn: Callable[..., Any]) -> bool:
    """Tell whether calling something gives a coroutine; partials and objects are seen through."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(
        getattr(type(fn), "__call__", None)  # noqa: B004 - the method is wanted, not the fact
    )


def awaited(callback: str, returned: Awaitable[T], of: object = None) -> Awaitable[T]:
    """Check that a callback returned something to await, and hand it on.

    When a callback is given, this cannot be known: a plain function may return a coroutine.

    Args:
      callback: The name that the user knows it by.
      returned: What calling it returned.
      of: What the name does not say: a text, or the function itself. Put into words only when
        there is an error, as this is on the way of every call.

    Raises:
      TypeError: if it was no async function.

    """
    if returned.__class__ is CoroutineType or _is_awaitable(returned):
        return returned
    which = callback if of is None else f"{callback} {_name(of)}"
    got = type(returned).__name__
    raise TypeError(f"{which}: expected an async function, got one that returned {got}")


def check_block(argument: str, value: object) -> None:
    """Check that a value is what ``async with`` takes.

    Raises:
      TypeError: if it is something else, as what a function gives that is not decorated.

    """
    if not isinstance(value, AbstractAsyncContextManager):
        expected = "an async context manager (@asynccontextmanager makes one)"
        raise wrong_kind(argument, expected, value)


def check_number(
    argument: str, value: object, *, least: float | None = None, above: float | None = None
) -> None:
    """Check that a value is a number, and large enough.

    Infinity is a number here, and True is none.

    Args:
      argument: Its name.
      value: What was given.
      least: The smallest number allowed.
      above: What it has to be greater than.

    Raises:
      TypeError: if it is no int and no float.
      ValueError: if it is too small, or NaN.

    """
    expected = f"a number{_bounds(least, above)}"
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong_kind(argument, expected, value)
    if math.isnan(value) or not _is_within(value, least, above):
        raise wrong_value(argument, expected, value)


def check_whole(
    argument: str, value: object, *, least: int | None = None, most: int | None = None
) -> None:
    """Check that a value is a whole number, and neither too small nor too large.

    Raises:
      TypeError: if it is no int.
      ValueError: if it is too small or too large.

    """
    expected = f"a whole number{_bounds(least, None)}"
    if most is not None:
        expected += f"{' of' if least is None else ' and'} at most {most}"
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_kind(argument, expected, value)
    if not _is_within(value, least, None) or (most is not None and value > most):
        raise wrong_value(argument, expected, value)


def check_word(argument: str, value: object, words: Collection[str]) -> None:
    """Check that a value is one of some words.

    Raises:
      TypeError: if it is no string.
      ValueError: if it is another one.

    """
    expected = f"one of {', '.join(map(repr, words))}"
    if not isinstance(value, str):
        raise wrong_kind(argument, expected, value)
    if value not in words:
        raise wrong_value(argument, expected, value)


def check_items(
    argument: str, value: object, kinds: type | tuple[type, ...], expected: str
) -> None:
    """Check that a value can be gone through again and again, and what is in it.

    A string is refused: it would be taken for its characters.

    Args:
      argument: Its name.
      value: What was given.
      kinds: What each item has to be.
      expected: What to say of the whole: ``a list of strings``.

    Raises:
      TypeError: if it is something else, or an item is.

    """
    items: object = value
    if isinstance(items, str):
        raise TypeError(f"{argument}: expected {expected}, got one str: put it into a list")
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Collection):
        raise wrong_kind(argument, expected, items)
    for index, item in enumerate(cast("Iterable[object]", items)):
        check_kind(f"{argument}[{index}]", item, kinds)


def check_versions(argument: str, value: object, known: Collection[str]) -> None:
    """Check that a value names revisions of the protocol, if it is not None, which names all.

    Raises:
      TypeError: if it is no collection of strings.
      ValueError: if it names none, or one that is not known, or not possible here.

    """
    if value is None:
        return
    check_items(argument, value, str, "a set of strings")
    named = cast("Collection[str]", value)
    if not named or not set(named).issubset(known):
        raise ValueError(
            f"{argument} names one or more of {', '.join(known)} (None for all), "
            f"got {sorted(named)}"
        )


def check_scope_names(argument: str, value: object) -> None:
    """Check that a value is a collection of names of scopes, as OAuth writes them.

    Raises:
      TypeError: if it is no list of strings.
      ValueError: if one holds a blank, a quote, or what is no visible ASCII (RFC 6749, 3.3).

    """
    check_items(argument, value, str, "a list of strings")
    for each in cast("Iterable[str]", value):
        if _SCOPE.fullmatch(each) is None:
            expected = "names of scopes, in visible ASCII without quotes and backslashes"
            raise wrong_value(argument, expected, each)


def check_mapping(
    argument: str,
    value: object,
    kinds: type | tuple[type, ...] = object,
    expected: str = "a dict",
    each: str | None = None,
) -> None:
    """Check that a value is a mapping of names, and what they stand for.

    Args:
      argument: Its name.
      value: What was given.
      kinds: What each value has to be.
      expected: What to say of the whole.
      each: What to say of a value; the names of the classes when None.

    Raises:
      TypeError: if it is something else, or a name or a value is.

    """
    if not isinstance(value, Mapping):
        raise wrong_kind(argument, expected, value)
    for name, member in cast("Mapping[object, object]", value).items():
        check_text(f"a name in {argument}", name)
        check_kind(f"{argument}[{name!r}]", member, kinds, each)


def _is_awaitable(value: object) -> bool:
    return inspect.isawaitable(value)


def _name(of: object) -> str:
    if isinstance(of, str):
        return of
    return str(getattr(of, "__qualname__", None) or type(of).__qualname__)


def _names(kinds: type | tuple[type, ...]) -> str:
    return " or ".join(each.__name__ for each in (kinds if isinstance(kinds, tuple) else (kinds,)))


def _bounds(least: float | None, above: float | None) -> str:
    if least is not None:
        return f" of at least {least:g}"
    return "" if above is None else f" above {above:g}"


def _is_within(value: float, least: float | None, above: float | None) -> bool:
    return (least is None or value >= least) and (above is None or value > above)
