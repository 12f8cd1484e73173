"""Which of many takes the most, without looking at all of them."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Ranking(Generic[T]):
    """Things by how much they take, in classes of which each takes up to twice the one below."""

    def __init__(self) -> None:
        self._classes: list[dict[T, None]] = []
        self._class_of: dict[T, int] = {}

    def put(self, thing: T, amount: int) -> None:
        """Know what a thing takes now; with nothing, it is forgotten."""
        before = self._class_of.pop(thing, None)
        if before is not None:
            del self._classes[before][thing]
        if amount <= 0:
            return
        rank = amount.bit_length()
        while len(self._classes) <= rank:
            self._classes.append({})
        self._class_of[thing] = rank
        self._classes[rank][thing] = None

    def largest(self) -> T:
        """Give one of those that take the most: of these, the one that was put longest ago.

        Raises:
          LookupError: if there is none.

        """
        for each in reversed(self._classes):
            if each:
                return next(iter(each))
        raise LookupError("nothing is ranked")
