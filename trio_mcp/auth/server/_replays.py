"""What may come once: the identifiers of signed statements, until they have expired."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from typing import Final

MAX_REMEMBERED: Final = 100_000
"""How many identifiers are remembered; some 20 MB."""


class Replays:
    """Remembers what came, for as long as it could come again.

    Nothing is forgotten earlier, so when there is no room left nothing new is taken.

    Args:
      most: How many are remembered.
      most_each: How many of one who chose them, so that one alone does not take all the room;
        None for any number.

    """

    def __init__(self, most: int = MAX_REMEMBERED, most_each: int | None = None) -> None:
        self._most = most
        self._most_each = most if most_each is None else most_each
        self._seen: set[bytes] = set()
        self._by_end: list[tuple[float, bytes, str]] = []
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._seen)

    def is_first(self, whose: str, identifier: str, until: float, now: float) -> bool:
        """Tell whether something comes for the first time, and remember that it came.

        Args:
          whose: Who chose the identifier.
          identifier: The ``jti`` of a JWT.
          until: When it has expired, in seconds since the epoch.
          now: The same.

        Returns:
          Whether it does; False, too, if there is no room to remember it. See `has_come`.

        """
        while self._by_end and self._by_end[0][0] <= now:
            self._forget()
        key = _key(whose, identifier)
        is_full = len(self._seen) >= self._most or self._counts[whose] >= self._most_each
        if key in self._seen or is_full:
            return False
        self._seen.add(key)
        self._counts[whose] += 1
        heapq.heappush(self._by_end, (until, key, whose))
        return True

    def has_come(self, whose: str, identifier: str) -> bool:
        """Tell whether something is known, of what was not the first: or else there is no room."""
        return _key(whose, identifier) in self._seen

    def _forget(self) -> None:
        _, key, whose = heapq.heappop(self._by_end)
        self._seen.discard(key)
        self._counts[whose] -= 1
        if not self._counts[whose]:
            del self._counts[whose]


def _key(whose: str, identifier: str) -> bytes:
    # Of one size, whatever a client puts in; a NUL cannot be in an id of a client or a URL.
    return hashlib.sha256(f"{whose}\0{identifier}".encode()).digest()


def why_not_first(replays: Replays, whose: str, identifier: str) -> str:
    """Say why something is not taken, after `Replays.is_first` has not."""
    if replays.has_come(whose, identifier):
        return "it came before"
    return "too many have come that are still good: try again when some have expired"
