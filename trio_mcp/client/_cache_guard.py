"""A store that fails or hangs costs its client the cache, and never a call."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._rpc._trouble import Trouble

from ._cache_store import CacheEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from ._cache_store import CacheKey, ResponseCacheStore

logger: Final = logging.getLogger("trio_mcp.client")

STORE_TIMEOUT: Final = 1.0
"""Seconds that a store has for what one call needs of it: to look up, or to keep."""

STORE_REST: Final = 30.0
"""Seconds that one which took longer is left alone, so that not every call waits for it."""


class GuardedStore:
    """Looks up and keeps, as long as its store does."""

    __slots__ = ("_rests_until", "_store", "_troubles")

    def __init__(self, store: ResponseCacheStore) -> None:
        self._store = store
        self._troubles: dict[str, Trouble] = {}
        self._rests_until = float("-inf")

    async def find(
        self, keys: Iterable[CacheKey], is_fresh: Callable[[CacheKey, CacheEntry], bool]
    ) -> CacheEntry | None:
        """Return the first entry that is fresh, and forget those before it that are not."""
        found: CacheEntry | None = None
        if self._rests():
            return found
        with self._guard("get"):
            for key in keys:
                entry: Any = await self._store.get(key)
                if entry is None:
                    continue
                if not isinstance(entry, CacheEntry):
                    raise TypeError(f"get: expected a CacheEntry or None, got {entry!r:.80}")
                if is_fresh(key, entry):
                    found = entry
                    break
                await self._store.delete(key)
        return found

    async def keep(self, key: CacheKey, entry: CacheEntry, *, instead_of: CacheKey) -> bool:
        """Keep an entry, and forget another.

        Returns:
          Whether it has. If not, nobody knows what the store holds under both.

        """
        if not self._rests():
            with self._guard("set"):
                await self._store.delete(instead_of)
                await self._store.set(key, entry)
                return True
        return False

    async def forget(self, keys: Iterable[CacheKey]) -> bool:
        """Forget what is kept under these keys, also in a store that is left alone otherwise.

        Returns:
          Whether the store has forgotten them.

        """
        with self._guard("delete"):
            for key in keys:
                await self._store.delete(key)
            return True
        return False

    def _rests(self) -> bool:
        return trio.current_time() < self._rests_until

    @contextmanager
    def _guard(self, what: str) -> Generator[None, None, None]:
        try:
            with trio.move_on_after(STORE_TIMEOUT) as scope:
                yield
        except Exception as exc:  # noqa: BLE001 - logged; whatever a user's store raises
            self._failed(what, f"{type(exc).__name__}: {exc}", exc)
            return
        if scope.cancelled_caught:
            self._rests_until = trio.current_time() + STORE_REST
            self._failed(what, f"no answer within {STORE_TIMEOUT:g} s")
        elif (trouble := self._troubles.get(what)) is not None:
            trouble.works()

    def _failed(self, what: str, why: str, exc: Exception | None = None) -> None:
        # Once, until it works again: a store that is down is asked by every call.
        if self._troubles.setdefault(what, Trouble()).fails():
            logger.warning(
                "The cache store failed (%s), and is done without: %s", what, why, exc_info=exc
            )
