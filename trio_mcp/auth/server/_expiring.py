"""Things that are kept for a while, and no more of them than there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@attrs.frozen
class _Kept(Generic[T]):
    thing: T
    until: float
    whose: str


class Expiring(Generic[T]):
    """Things by name, each until a time of its own. Where there is no room, the oldest goes.

    Args:
      most: How many are kept.
      now: The time, in seconds since the epoch.
      most_each: How many of one owner, so that nobody's push out those of all others; None for
        any number.
      gone: Is told of each that is kept no more.

    """

    def __init__(
        self,
        most: int,
        now: Callable[[], float],
        *,
        most_each: int | None = None,
        gone: Callable[[T], None] | None = None,
    ) -> None:
        self._most = most
        self._now = now
        self._most_each = most if most_each is None else most_each
        self._gone = gone
        self._kept: dict[str, _Kept[T]] = {}
        self._names_of: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, name: str, thing: T, until: float, whose: str = "") -> None:
        """Keep a thing, as the youngest of its owner and of all."""
        self._take_out(name, is_back=True)
        while self._kept and self._is_to_go(next(iter(self._kept))):
            self._take_out(next(iter(self._kept)))
        own = self._names_of.get(whose, {})
        if len(own) >= self._most_each:
            self._take_out(next(iter(own)))
        self._names_of.setdefault(whose, {})[name] = None
        self._kept[name] = _Kept(thing, until, whose)

    def get(self, name: str) -> T | None:
        """Give a thing; None if its time is over."""
        kept = self._kept.get(name)
        if kept is None:
            return None
        if kept.until <= self._now():
            self._take_out(name)
            return None
        return kept.thing

    def pop(self, name: str) -> T | None:
        """Give a thing, and keep it no more."""
        thing = self.get(name)
        self._take_out(name)
        return thing

    def values(self) -> list[T]:
        """Give all that are kept, the oldest first."""
        now = self._now()
        return [each.thing for each in self._kept.values() if each.until > now]

    def _is_to_go(self, oldest: str) -> bool:
        return len(self._kept) >= self._most or self._kept[oldest].until <= self._now()

    def _take_out(self, name: str, *, is_back: bool = False) -> None:
        kept = self._kept.pop(name, None)
        if kept is None:
            return
        own = self._names_of[kept.whose]
        del own[name]
        if not own:
            del self._names_of[kept.whose]
        if self._gone is not None and not is_back:
            self._gone(kept.thing)
