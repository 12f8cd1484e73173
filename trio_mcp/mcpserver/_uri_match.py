"""Taking a URI apart by a template, in linear time and without missing a match.

A template is a row of *atoms*: fixed text, and captures that take a run of characters up to
their first stop character. Which positions of the URI can be reached after each atom is kept as
the bits of one integer (bit ``p``: "before character ``p``"). A capture extends every reached
position to the end of the run of allowed characters that it stands in; for all positions at once
this is one addition, whose carry runs through the ones of the mask of allowed characters:

    allowed    0 1 1 1 0 1 1 0      (read from the right, as the carry runs)
    reached    0 0 0 1 0 0 0 0
    after      0 1 1 1 ...          every position that one capture can end at

If the end of the URI is among the positions after the last atom, the way back from there picks
one position for each atom. So nothing is tried twice and no match is missed, which a search for
the next literal cannot promise when the literal also occurs inside a value.

Where several ways lead through (``{a}-{b}`` and ``x-y-z``), the first variable takes as much as
it can; before a variable that spans segments each takes as little as it can, and that one
takes the rest.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ONE: Final = ord("1")


class UnclearTemplate(Exception):
    """These atoms can match in ways between which nothing decides."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def decode(text: str) -> str | None:
    """Percent-decode once; None if the octets are no UTF-8."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return None


class _BitTable(dict[int, str]):
    """A table for `str.translate`: one bit for the characters given, the other for the rest."""

    def __init__(self, characters: str, bit: str, rest: str) -> None:
        super().__init__(dict.fromkeys(range(128), rest))  # all ASCII: a miss costs a call
        self.update(dict.fromkeys(map(ord, characters), bit))
        self._rest = rest

    def __missing__(self, key: int) -> str:
        return self._rest

    def mask(self, uri: str) -> int:
        return int(uri.translate(self)[::-1] or "0", 2)


class _Text:
    """A piece of text, to be looked for among the positions that were reached."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.length = len(text)
        self._single = _BitTable(text, "1", "0") if len(text) == 1 else None

    def among(self, reached: int, uri: str) -> int:
        """Keep those of the reached positions at which the text stands."""
        first = reached.bit_length() - 1
        if reached == 1 << first:
            return reached if uri.startswith(self.text, first) else 0
        if self._single is not None:
            return self._single.mask(uri) & reached
        bits = bytearray(b"0") * (len(uri) + 1)
        start = uri.find(self.text)
        while start >= 0:
            bits[start] = _ONE
            start = uri.find(self.text, start + 1)
        return int(bits[::-1], 2) & reached


class Fixed:
    """Text that stands in the URI as it is, or percent-encoded."""

    def __init__(self, text: str, encoded: str) -> None:
        self._forms = [_Text(text)] if text == encoded else [_Text(text), _Text(encoded)]

    def reach(self, uri: str, reached: int) -> int:
        after = 0
        for form in self._forms:
            after |= form.among(reached, uri) << form.length
        return after

    def start_of(self, uri: str, reached: int, end: int) -> int:
        for form in self._forms:
            start = end - form.length
            if start >= 0 and reached >> start & 1 and uri.startswith(form.text, start):
                return start
        raise AssertionError("the way back left the positions that were reached")


@attrs.frozen
class Capture:
    """The place of one variable.

    Attributes:
      name: The variable's name.
      stops: The characters that its text cannot hold.
      position: Where its expression stands in the template, for error messages.
      lead: If not empty, the text is either empty or begins with this character.
      separator: Of an exploded variable, what stands before each item.
      item_prefix: Of an exploded variable, what each item begins with (``name=``).
      spans_segments: Whether it takes all that the other variables leave.

    """

    name: str
    stops: str
    position: int
    lead: str = ""
    separator: str = ""
    item_prefix: str = ""
    spans_segments: bool = False
    _allowed: _BitTable = attrs.field(
        init=False, default=attrs.Factory(lambda self: _BitTable(self.stops, "0", "1"), True)
    )
    _lead: _Text = attrs.field(
        init=False, default=attrs.Factory(lambda self: _Text(self.lead), True)
    )

    def reach(self, uri: str, reached: int) -> int:
        allowed = self._allowed.mask(uri)
        starts = self._lead.among(reached, uri) if self.lead else reached
        return ((starts & allowed) + allowed) ^ allowed | reached

    def start_of(self, uri: str, reached: int, end: int, *, longest: bool) -> int:
        candidates = reached & ((2 << end) - 1)
        if self.lead:
            candidates = self._lead.among(candidates, uri) | candidates & 1 << end
        if longest:
            barred = ~self._allowed.mask(uri) & ((1 << end) - 1)
            run_start = barred.bit_length()
            candidates = candidates >> run_start << run_start
            return (candidates & -candidates).bit_length() - 1
        return candidates.bit_length() - 1

    def value_of(self, text: str) -> str | list[str] | None:
        """Decode the text that was captured; None if it is no value of this variable."""
        if not self.separator:
            return decode(text.removeprefix(self.lead) if self.lead else text)
        items: list[str] = []
        for written in text.split(self.separator)[1:]:
            item = written
            if self.item_prefix:
                # ";x=1", and ";x" for an empty item.
                name, _, item = written.partition("=")
                if name != self.name:
                    return None
            value = decode(item)
            if value is None:
                return None
            items.append(value)
        return items


@attrs.frozen
class Matcher:
    """The atoms of one template, ready to take URIs apart."""

    _atoms: tuple[Fixed | Capture, ...]
    _longest: tuple[bool, ...]

    @classmethod
    def of(cls, atoms: Sequence[Fixed | Capture]) -> Matcher:
        """Check that each match of these atoms is clear.

        Raises:
          UnclearTemplate: if two captures touch, or two span segments.

        """
        spanning: int | None = None
        for index, atom in enumerate(atoms):
            if not isinstance(atom, Capture) or not atom.spans_segments:
                continue
            if spanning is not None:
                raise UnclearTemplate(
                    f"Only one variable may span segments, {atom.name!r} is the second",
                    atom.position,
                )
            spanning = index
        for left, right in pairwise(atoms):
            if not (isinstance(left, Capture) and isinstance(right, Capture)):
                continue
            if not right.lead or right.lead not in left.stops:
                raise UnclearTemplate(
                    f"Nothing stands between the variables {left.name!r} and {right.name!r}, "
                    "so no match could tell where one ends",
                    right.position,
                )
        longest = tuple(spanning is not None and index <= spanning for index in range(len(atoms)))
        return cls(tuple(atoms), longest)

    def match(self, uri: str) -> dict[str, str | list[str]] | None:
        """Find the value of every variable; None if the URI does not match."""
        before: list[int] = []
        reached = 1
        for atom in self._atoms:
            before.append(reached)
            reached = atom.reach(uri, reached)
            if not reached:
                return None
        if not reached >> len(uri) & 1:
            return None
        return self._values(uri, before)

    def _values(self, uri: str, before: list[int]) -> dict[str, str | list[str]] | None:
        found: list[tuple[str, str | list[str]]] = []
        end = len(uri)
        for atom, reached, longest in self._way_back(before):
            if isinstance(atom, Fixed):
                end = atom.start_of(uri, reached, end)
                continue
            start = atom.start_of(uri, reached, end, longest=longest)
            value = atom.value_of(uri[start:end])
            if value is None:
                return None
            found.append((atom.name, value))
            end = start
        return dict(reversed(found))

    def _way_back(self, before: list[int]) -> Iterable[tuple[Fixed | Capture, int, bool]]:
        return zip(reversed(self._atoms), reversed(before), reversed(self._longest), strict=True)
