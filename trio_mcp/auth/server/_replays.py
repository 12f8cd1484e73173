"""What may come once: the identifiers of signed statements, until they have expired."""

from __future__ import annotations

import hashlib
import heapq
from typing import Final

MAX_REMEMBERED: Final = 10_000
"""How many identifiers are remembered; some 2 MB."""


class Replays:
    """Remembers what came, for as long as it could come again.

    Nothing is forgotten earlier, so when there is no room left nothing new is taken.

    Args:
      most: How many are remembered.

    """

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._seen: set[bytes] = set()
        self._by_end: list[tuple[float, bytes]] = []

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
          Whether it does; False, too, if there is no room to remember it.

        """
        while self._by_end and self._by_end[0][0] <= now:
            self._seen.discard(heapq.heappop(self._by_end)[1])
        # Of one size, whatever a client puts in; a NUL cannot be in an id of a client or a URL.
        key = hashlib.sha256(f"{whose}\0{identifier}".encode()).digest()
        if key in self._seen or len(self._seen) >= self._most:
            return False
        self._seen.add(key)
        heapq.heappush(self._by_end, (until, key))
        return True
