"""Options that are declared once: their default, what they may be, and how text is read as one.

A class of options has a line for each::

    @attrs.frozen(kw_only=True)
    class ServeOptions:
        port: int = settable(8000, whole(least=0, most=65_535))

By it, the argument is checked, the variable ``MCP_PORT`` is read where the argument is not given,
and the command line takes ``--port``.
"""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, TypeVar, final

import attrs

from ._checks import (
    check_flag,
    check_items,
    check_kind,
    check_number,
    check_text,
    check_whole,
    check_word,
    wrong_value,
)
from .errors import WrongVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping

T = TypeVar("T")
P = ParamSpec("P")

PREFIX: Final = "MCP_"

NONE: Final = "none"
"""What a variable says for None, where an option may be that."""

_WORDS_OF_FLAGS: Final = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


@final
class Kind:  # not of attrs: every server loads this, and is to be there soon
    """What an option may be.

    Attributes:
      expected: Describes the texts that can be read as one.
      check: Called with a name for errors and a value; raises `TypeError` or `ValueError`.
      read: Makes a value of a text; raises `ValueError` or `KeyError`.

    """

    __slots__ = ("check", "expected", "read")

    def __init__(
        self, *, expected: str, check: Callable[[str, Any], object], read: Callable[[str], Any]
    ) -> None:
        self.expected: Final = expected
        self.check: Final = check
        self.read: Final = read

    def value_of(self, name: str, text: str) -> Any:
        """Read a text as a value, and check that.

        Raises:
          ValueError: if it cannot be one; it says the name, what was expected and what came.

        """
        try:
            value = self.read(text)
        except (ValueError, KeyError):
            raise wrong_value(name, self.expected, text) from None
        self.check(name, value)
        return value


FLAG: Final = Kind(
    expected="true or false",
    check=check_flag,
    read=lambda text: _WORDS_OF_FLAGS[text.strip().lower()],
)


def _read_texts(text: str) -> list[str]:
    texts = [item for each in text.split(",") if (item := each.strip())]
    if not texts:
        # Nothing at all would be taken for what was not said.
        raise ValueError("there is no text between the commas")
    return texts


TEXT: Final = Kind(expected="a text", check=check_text, read=str)
TEXTS: Final = Kind(
    expected="texts with commas between them",
    check=lambda name, value: check_items(name, value, str, "a list of strings"),
    read=_read_texts,
)


def _check_path(name: str, value: Any) -> None:
    check_kind(name, value, (str, os.PathLike), "a path")
    if not os.fspath(value):
        raise wrong_value(name, "a path", value)


PATH: Final = Kind(expected="a path", check=_check_path, read=str)


def whole(*, least: int | None = None, most: int | None = None) -> Kind:
    """Be a whole number."""
    return Kind(
        expected="a whole number",
        check=lambda name, value: check_whole(name, value, least=least, most=most),
        read=int,
    )


def number(*, least: float | None = None, above: float | None = None) -> Kind:
    """Be any number."""
    return Kind(
        expected="a number",
        check=lambda name, value: check_number(name, value, least=least, above=above),
        read=float,
    )


def word(*words: str) -> Kind:
    """Be one of some words; a text may write them in small or capital letters."""
    known = {each.lower(): each for each in words}
    return Kind(
        expected=f"one of {', '.join(map(repr, words))}",
        check=lambda name, value: check_word(name, value, words),
        read=lambda text: known[text.strip().lower()],
    )


def or_none(kind: Kind) -> Kind:
    """Be that or None."""
    return Kind(
        expected=f"{kind.expected} or {NONE}",
        check=lambda name, value: None if value is None else kind.check(name, value),
        read=lambda text: None if text.strip().lower() == NONE else kind.read(text),
    )


# Declaring


def settable(default: T, kind: Kind, *, repr: bool = True) -> T:
    """Declare an option as a field of an attrs class."""

    def check(_options: object, attribute: attrs.Attribute[Any], value: object) -> None:
        kind.check(attribute.name, value)

    field: T = attrs.field(default=default, validator=check, metadata={Kind: kind}, repr=repr)
    return field


class Option(NamedTuple):
    """One option that a class declares."""

    name: str
    kind: Kind
    default: Any

    @property
    def variable(self) -> str:
        """The name of its variable."""
        return f"{PREFIX}{self.name.upper()}"


@functools.cache
def options_of(cls: type[attrs.AttrsInstance]) -> Mapping[str, Option]:
    """Give the options that a class declares, by their names."""
    return {
        each.name: Option(each.name, each.metadata[Kind], each.default)
        for each in attrs.fields(cls)
        if Kind in each.metadata
    }


# Reading


def from_environment(options: Iterable[Option], given: Collection[str] = ()) -> dict[str, Any]:
    """Read what the environment says of options; an empty variable says nothing.

    Args:
      options: The options.
      given: The names of those that the program sets itself.

    Raises:
      WrongVariable: if a variable has no value that its option may have; it says the variable,
          what was expected and what came.

    """
    found: dict[str, Any] = {}
    for option in options:
        text = "" if option.name in given else os.environ.get(option.variable, "")
        if not text:
            continue
        try:
            found[option.name] = option.kind.value_of(option.variable, text)
        except ValueError as exc:
            raise WrongVariable(str(exc)) from None
    return found


class NeedsAnother(ValueError):
    """An option is of no use without another one.

    Args:
      option: The option.
      why: With ``{}`` in the place of the other one.
      other: That, with the value that it needs if it is a flag: ``stateless_http=True``.

    """

    def __init__(self, option: str, why: str, other: str) -> None:
        super().__init__(f"{option}: {why.format(other)}")
        self._words = option, why, other

    def in_environment(self, given: Collection[str]) -> ValueError:
        """Give the error by the names of variables, if the option was not given otherwise."""
        option, why, other = self._words
        if option in given:
            return self
        name, equals, value = other.partition("=")
        needed = f"{PREFIX}{name.upper()}{equals}{value.lower()}"
        return WrongVariable(f"{PREFIX}{option.upper()}: {why.format(needed)}")


@contextmanager
def naming_variables(given: Collection[str]) -> Generator[None]:
    """Have an option that needs another one named as it was told.

    Args:
      given: Those that were told by other means than the environment.

    """
    try:
        yield
    except NeedsAnother as exc:
        raise exc.in_environment(given) from None


def forget_environment() -> None:
    """Have this process, and those that it starts, read nothing of the environment.

    For a program that is told by it what another one shall do.
    """
    for name in [each for each in os.environ if each.startswith(PREFIX)]:
        del os.environ[name]


def reads_environment(
    cls: type[attrs.AttrsInstance],
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Take arguments by keyword that are not given from the environment, if it has them.

    Args:
      cls: Declares their options.

    """

    def decorate(fn: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(fn)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            kwargs.update(from_environment(options_of(cls).values(), kwargs))
            return fn(*args, **kwargs)

        return call

    return decorate
