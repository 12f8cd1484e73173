"""The most work that a regular expression can make of a text.

The engine remembers sets of places in the pattern where it may be, and a text can be made to meet
a new set at each character. Then it goes through the places one by one. A place is a character or
class of the pattern, with everything that is repeated a counted number of times written out.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

import attrs

from ._patterns import PEER_STEPS, is_linear

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._budget import Budget

_ENOUGH: Final = 10**6
# The sets of so many places fit into what the engine remembers, and each is worked out once.
_REMEMBERED: Final = 8

_PIECE: Final = re.compile(
    r"(?P<class>\[\^?(?:\\.|[^\]\\])*(?:\]|\\?\Z))"  # what is not closed is read once, too
    r"|\\[uxpP]\{[^}]{0,99}\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}"
    r"|(?P<back>\\[1-9]|\\k<)"
    r"|(?P<nothing>\\[bB]|[\^$])"
    r"|\\."
    r"|(?P<look>\(\?<?[=!])"
    r"|(?P<open>\((?:\?(?:<\w+>|[a-z-]*:))?)"
    r"|(?P<close>\))"
    r"|(?P<repeat>[*+?]|\{(?P<least>\d+)(?P<comma>,(?P<most>\d*))?\})[?+]?"
    r"|(?P<or>\|)"
    r"|.",
    re.DOTALL,
)


# What making a pattern ready takes, in steps of a `Budget`: at all; for each character read, of
# which the most is our own reading; for each place; for a space or its opposite; and for a set of
# characters that is named (the first few make a whole pattern too big). With case ignored a set
# that spans much of Unicode takes 3 ms, each time it is compiled. And the engine spells some
# escapes anew one by one, going through the whole pattern for each, control characters slowest.
_OF_A_PATTERN: Final = 1_000
_OF_A_CHARACTER: Final = 40
_OF_A_PLACE: Final = 20
_OF_ALL_PLACES: Final = 30_000
_OF_A_SPACE: Final = 250
_OF_A_SET: Final = 800
_OF_FIRST_SETS, _FIRST_SETS = 5_000, 8
_OF_A_FOLDED_SET: Final = 70_000
_SPACE: Final = re.compile(r"\\[sS]")
_SET: Final = re.compile(r"\\[pP]")
_CONTROL: Final = re.compile(r"\\c")
# Where blanks and comments count for nothing, they may come before the end of a range.
_WIDE: Final = re.compile(r"\\[pP]|-(?![!\"$-\[\]-~])")
_IGNORES_CASE: Final = re.compile(r"\(\?[a-zA-Z]*i")


def spend_on_patterns(patterns: Iterable[str], budget: Budget) -> None:
    """Take from a budget what it takes to make patterns ready.

    Raises:
      SchemaError: if there is not so much left.

    """
    seen: set[str] = set()
    for pattern in patterns:
        # Each time it is looked up, and once it is compiled.
        budget.spend(_OF_A_CHARACTER + len(pattern) // 8)
        if pattern not in seen:
            seen.add(pattern)
            budget.spend(_OF_A_PATTERN + _OF_A_CHARACTER * len(pattern))
            respelled = pattern.count("\\") // 12 + len(_CONTROL.findall(pattern)) // 2
            budget.spend(_of_sets(pattern) + respelled * len(pattern))
            budget.spend(min(_OF_A_PLACE * _Reading(pattern).places, _OF_ALL_PLACES))


def _of_sets(pattern: str) -> int:
    spaces = _OF_A_SPACE * len(_SPACE.findall(pattern))
    if _IGNORES_CASE.search(pattern):
        return spaces + _OF_A_FOLDED_SET * len(_WIDE.findall(pattern))
    sets = len(_SET.findall(pattern))
    return spaces + _OF_A_SET * sets + _OF_FIRST_SETS * min(sets, _FIRST_SETS)


@attrs.frozen
class PatternCost:
    """What a pattern costs, in evaluations of about 5 ns."""

    text: int
    """For each text."""
    character: int
    """For each character."""
    short: int = 0
    """For each character of texts that a backtracking pattern may see."""
    square: int = 0
    """For the square of the length of each such text."""


@functools.lru_cache(maxsize=1024)
def pattern_cost(pattern: str) -> PatternCost:
    """The bound for one pattern, spelled for the engine."""
    reading = _Reading(pattern)
    if is_linear(pattern):
        at_once = reading.places_at_once()
        return PatternCost(2, 1 if at_once <= _REMEMBERED else at_once)
    places = reading.places
    if not reading.strays:
        # One attempt at each character, in which a look-around reads to the end.
        return PatternCost(8, 0, 2, max(1, places // 16))
    # It takes all its steps, and in each of them a look-around reads to the end.
    return PatternCost(4 * PEER_STEPS, 0, PEER_STEPS * places // 8 if reading.looks else 0)


class _Reading:
    """What has to be known of one pattern."""

    def __init__(self, pattern: str) -> None:
        self._anchored = pattern.startswith("^") and "|" not in pattern
        self._items: list[_Item] = []
        self._open: list[tuple[int, bool]] = []  # for each group: its first item, is look-around
        self._open_looks = 0
        self._choices = 0
        self._loose = 0
        self._strays = False
        self.looks = False
        """Whether there is a look-around."""
        self._is_flat = True
        for piece in _PIECE.finditer(pattern):
            self._read(piece)

    @property
    def places(self) -> int:
        return min(_ENOUGH, sum(item.places for item in self._items))

    @property
    def strays(self) -> bool:
        """Whether backtracking may try far more ways than there are characters."""
        return self._strays or self._choices > 1 or self._loose > (1 if self._anchored else 0)

    def places_at_once(self) -> int:
        """The most places of the pattern where a match can be after one character."""
        if not (self._anchored and self._is_flat):
            return self.places
        spread, after_loop, endless = 0, 0, False
        at_once = 1
        for item in self._items:
            at_once = 1 + spread
            endless = endless or item.spread is None
            if endless:
                after_loop += item.places
            else:
                spread += item.spread or 0
        return min(self.places, at_once + after_loop)

    def _read(self, piece: re.Match[str]) -> None:
        within_look = self._open_looks > 0
        if piece["look"] or piece["open"]:
            self._is_flat = False
            self.looks = self.looks or bool(piece["look"])
            self._strays = self._strays or bool(piece["look"] and within_look)
            self._open.append((len(self._items), bool(piece["look"])))
            self._open_looks += bool(piece["look"])
        elif piece["close"]:
            if self._open:
                start, is_look = self._open.pop()
                self._open_looks -= is_look
                places = sum(item.places for item in self._items[start:])
                self._items[start:] = [_Item(places, is_group=True)]
        elif piece["or"]:
            self._choices += not within_look
        elif piece["repeat"]:
            self._repeat(piece, within_look=within_look)
        elif not piece["nothing"]:
            self._strays = self._strays or bool(piece["back"] and within_look)
            self._items.append(_Item(1))

    def _repeat(self, piece: re.Match[str], *, within_look: bool) -> None:
        if not self._items:
            return
        item = self._items[-1]
        times, item.spread = _times(piece)
        item.places = min(_ENOUGH, item.places * times)
        if not within_look:
            self._strays = self._strays or item.is_group
            self._loose += item.spread != 0


@attrs.define
class _Item:
    """A character, a class or a group, with what repeats it."""

    places: int
    spread: int | None = 0
    """How many characters more or less it may take; None: any number."""
    is_group: bool = False


def _times(piece: re.Match[str]) -> tuple[int, int | None]:
    """How often a repetition is written out, and how much that may vary."""
    if piece["least"] is None:
        return 1, 1 if piece["repeat"].startswith("?") else None
    least = _number(piece["least"])
    if not piece["comma"]:
        return least, 0
    if not piece["most"]:
        return max(least, 1), None
    most = _number(piece["most"])
    return most, most - least


def _number(digits: str) -> int:
    """A number, or enough if it has very many digits."""
    return int(digits.lstrip("0")[: len(str(_ENOUGH))] or "0")
