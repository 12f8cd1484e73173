"""Which request states have come back already."""

from __future__ import annotations

import heapq
import threading


class UsedStates:
    """Remembers states until they expire; threads may share one."""

    def __init__(self) -> None:
        self._until: list[tuple[float, str]] = []
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def claim(self, state_id: str, expires_at: float, now: float) -> bool:
        """Use a state; False if it has been used before."""
        with self._lock:
            while self._until and self._until[0][0] <= now:
                self._seen.discard(heapq.heappop(self._until)[1])
            if state_id in self._seen:
                return False
            self._seen.add(state_id)
            heapq.heappush(self._until, (expires_at, state_id))
            return True
