"""What an ``Annotated`` demands of a value and JSON Schema cannot say.

Bounds of what JSON spells as text (dates, bytes), functions that decide (``Predicate`` and ``Not``
of annotated-types), time zones (its ``Timezone``, ``tz`` of ``msgspec.Meta``), and patterns with
flags. They are run on the Python value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from trio_mcp._codec._schema import describe_value

from ._errors import HintError, Mismatch, told_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._shape import Conversion


DECIDES: Final = frozenset(("Predicate", "Not"))
"""Metadata of annotated-types that holds a function of the author's."""


class Check(Protocol):
    """Decides on a Python value."""

    def admits(self, value: Any, /) -> bool: ...

    @property
    def words(self) -> str:
        """What is demanded, to follow "expected"."""
        ...


@attrs.frozen(eq=False)
class Bound:
    """A bound of the value, or of a measure of it."""

    compare: Callable[[Any, Any], bool]
    bound: Any
    words: str
    measure: Callable[[Any], Any] | None = None

    def admits(self, value: Any, /) -> bool:
        measured = value if self.measure is None else self.measure(value)
        try:
            return self.compare(measured, self.bound)
        except TypeError as exc:
            # A time without a zone and one with a zone have no order.
            raise Mismatch(f"something comparable with {self.bound}", str(value)) from exc


@attrs.frozen(eq=False)
class Decided:
    """A function of the author's decides."""

    decide: Callable[[Any], Any]
    words: str
    wanted: bool = True

    def admits(self, value: Any, /) -> bool:
        try:
            return bool(self.decide(value)) is self.wanted
        except (ValueError, AssertionError) as exc:
            # To say no by raising is what validators do elsewhere.
            raise Mismatch(f"{self.words} ({told_by(exc)})", describe_value(value)) from exc


def checked(structure: Conversion | None, checks: tuple[Check, ...]) -> Conversion:
    """Make a conversion that ends with checks."""

    def convert(value: Any) -> Any:
        made = value if structure is None else structure(value)
        for check in checks:
            if not check.admits(made):
                raise Mismatch(check.words, describe_value(value))
        return made

    return convert


def checks_in(metadata: Any, hint: Any) -> Iterator[Check]:
    """Yield what one piece of metadata demands.

    Raises:
      HintError: if it is a validator that nothing here can run.

    """
    kind: type[Any] = metadata.__class__
    if kind.__module__ == "annotated_types" and kind.__name__ in DECIDES:
        yield _decision(metadata.func, wanted=kind.__name__ == "Predicate")
    elif kind.__name__ == "Timezone":
        yield _zone(metadata.tz)
    elif kind.__module__.startswith("msgspec") and getattr(metadata, "tz", None) is not None:
        yield _zone(... if metadata.tz else None)
    elif kind.__module__.startswith("beartype.vale"):
        raise HintError(
            hint, f"nothing here runs {metadata!r:.60}; annotated_types.Predicate does"
        )
    pattern: Any = getattr(metadata, "pattern", None)
    if has_flags(pattern):
        yield Decided(pattern.search, f"a string that matches {pattern.pattern!r}")


def has_flags(pattern: Any) -> bool:
    """Tell whether a pattern is compiled, and means something else than its text."""
    return type(pattern) is re.Pattern and bool(pattern.flags & ~re.UNICODE)


def _decision(decide: Any, *, wanted: bool) -> Check:
    name = getattr(decide, "__qualname__", None) or repr(decide)
    outcome = "true" if wanted else "false"
    return Decided(decide, f"a value for which {name} is {outcome}", wanted)


def _zone(wanted: Any) -> Check:
    """Check the zone of a time: ``...`` for any, None for none, or the one that it must have."""
    if wanted is ...:
        return Decided(_has_zone, "a time with a zone")
    if wanted is None:
        return Decided(_has_zone, "a time without a zone", wanted=False)
    return Decided(lambda value: str(value.tzinfo) == str(wanted), f"a time in the zone {wanted}")


def _has_zone(value: Any) -> bool:
    return value.tzinfo is not None
