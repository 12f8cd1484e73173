"""What has changed is forgotten in a store that others look into, too.

A client of its own knows by `Changes` what is stale, whatever its store says. Others who share
the store, and this user's next session, know only what they find there.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._rpc._nursery import finish_within, open_background_nursery

from ._cache_guard import STORE_REST, STORE_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ._cache_changes import Group
    from ._cache_guard import GuardedStore
    from ._cache_store import CacheKey

MAX_KNOWN: Final = 10_000
"""Keys that are remembered to be in the store; what came before them ages out by its time."""


class Eviction:
    """Deletes the keys of groups that have changed, beside everything else."""

    def __init__(self, store: GuardedStore) -> None:
        self._store = store
        self._known: dict[CacheKey, Group] = {}
        self._due: dict[CacheKey, object] = {}
        self._wake = trio.Event()

    def saw(self, keys: Iterable[CacheKey], group: Group) -> None:
        """Remember that something may be kept under these keys."""
        for key in keys:
            self._known.pop(key, None)
            self._known[key] = group
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]

    def changed(self, group: Group | None) -> None:
        """Have the keys of a group deleted; those of all groups if it is None."""
        stale = [key for key, each in self._known.items() if group is None or each == group]
        change = object()
        for key in stale:
            del self._known[key]
            self._due[key] = change
        if stale:
            self._wake.set()

    def written(self, keys: Iterable[CacheKey]) -> None:
        """What these keys hold now is newer than the change that they were to be deleted for."""
        for key in keys:
            self._due.pop(key, None)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None, None]:
        """Delete what becomes due until the block is left, and then what is due still.

        Cancellation:
          Leaving takes up to `STORE_TIMEOUT` seconds, if the store does.

        """
        async with open_background_nursery() as nursery:
            nursery.start_soon(self._run, name="evict from the cache")
            try:
                yield
            finally:
                if self._due:
                    # The store is given up after `STORE_TIMEOUT`, and that is logged.
                    with finish_within(2 * STORE_TIMEOUT):
                        await self._delete_due()  # noqa: ASYNC102 - it shields itself, bounded

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while not await self._delete_due():  # noqa: ASYNC110 - the store tells nobody
                # No call waits for this, but a store that is down need not be asked all the time.
                await trio.sleep(STORE_REST)

    async def _delete_due(self) -> bool:
        due = dict(self._due)
        if not await self._store.forget(due):
            return False
        # Not before: whoever is cancelled here leaves it to the end of the block.
        for key, change in due.items():
            if self._due.get(key) is change:
                del self._due[key]
        return True
