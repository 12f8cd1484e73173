"""What has changed since it was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._cache_store import CacheKey

    Group = tuple[str, str]
    """What is stale together: a method, and the URI where its results have one."""

MAX_REMEMBERED: Final = 10_000
"""Groups whose changes, and keys whose writing, are remembered singly."""


class Changes:
    """Counts how often each group of keys has changed, and at which count a key was written.

    An entry of an earlier count is stale, whoever wrote it. Nothing is gone through when a
    group changes, however many keys it has.
    """

    __slots__ = ("_all_changed", "_counts", "_written_at")

    def __init__(self) -> None:
        self._counts: dict[Group, int] = {}
        self._all_changed = 0
        # Only for groups that have changed: what is missing here was written before any change.
        self._written_at: dict[CacheKey, int] = {}

    def count(self, group: Group) -> int:
        """How often a group has changed: what was asked for at another count is out of date."""
        return self._counts.get(group, self._all_changed)

    def happened(self, group: Group) -> None:
        """Make stale what was kept of a group."""
        if len(self._counts) >= MAX_REMEMBERED:
            # A server that tells of ever new URIs: forget which changed, and trust nothing.
            self.everywhere()
        self._counts[group] = self.count(group) + 1

    def everywhere(self) -> None:
        """Make everything stale that was kept so far."""
        self._all_changed = max((self._all_changed, *self._counts.values())) + 1
        self._counts.clear()
        self._written_at.clear()

    def wrote(self, key: CacheKey, count: int) -> None:
        """Remember that an entry was written that was asked for at this count of its group."""
        self._written_at.pop(key, None)
        if count == 0:
            return
        if len(self._written_at) >= MAX_REMEMBERED:
            # The oldest: it counts as stale from now on.
            del self._written_at[next(iter(self._written_at))]
        self._written_at[key] = count

    def is_current(self, key: CacheKey, group: Group) -> bool:
        """Whether a key was written since its group has changed last."""
        return self._written_at.get(key, 0) == self.count(group)
