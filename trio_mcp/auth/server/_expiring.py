"""Things that are kept for a while, and no more of them than there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Expiring(Generic[T]):
    """Things by name, each until a time of its own. Where there is no room, the oldest goes.

    Args:
      most: How many are kept.
      now: The time, in seconds since the epoch.

    """

    def __init__(self, most: int, now: Callable[[], float]) -> None:
        self._most = most
        self._now = now
        self._kept: dict[str, tuple[float, T]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, name: str, thing: T, until: float) -> None:
        """Keep a thing, as the youngest."""
        self._kept.pop(name, None)
        while self._kept and self._is_to_go(next(iter(self._kept))):
            del self._kept[next(iter(self._kept))]
        self._kept[name] = (until, thing)

    def get(self, name: str) -> T | None:
        """Give a thing; None if its time is over."""
        until, thing = self._kept.get(name, (0.0, None))
        if until <= self._now():
            self._kept.pop(name, None)
            return None
        return thing

    def pop(self, name: str) -> T | None:
        """Give a thing, and keep it no more."""
        thing = self.get(name)
        self._kept.pop(name, None)
        return thing

    def values(self) -> list[T]:
        """Give all that are kept, the oldest first."""
        now = self._now()
        return [thing for until, thing in self._kept.values() if until > now]

    def _is_to_go(self, oldest: str) -> bool:
        return len(self._kept) >= self._most or self._kept[oldest][0] <= self._now()
