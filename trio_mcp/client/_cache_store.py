"""Where a client keeps results (utilities, caching): the interface, and the one in memory."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, runtime_checkable

import attrs
import trio

from trio_mcp._checks import (
    check_callable,
    check_flag,
    check_kind,
    check_number,
    check_text,
    check_whole,
)
from trio_mcp._codec import checked_copy

if TYPE_CHECKING:
    from collections.abc import Callable

CacheMode = Literal["use", "refresh", "bypass"]
"""``"use"``: take what is fresh, keep what comes; ``"refresh"``: ask, and keep what comes;
``"bypass"``: ask, and leave the cache alone."""

MAX_TTL_MS: Final = 24 * 60 * 60 * 1000
"""A day: no result is kept longer, whatever its server says."""


@attrs.frozen
class CacheKey:
    """What a result is kept under.

    Attributes:
      method: Of the request.
      params_key: Whatever else the result depends on: the URI, the cursor.
      partition: Whose result it is: the server and revision, and the user where it is private.

    """

    method: str
    params_key: str = ""
    partition: str = ""


@attrs.frozen
class CacheEntry:
    """A result that is kept.

    Attributes:
      value: The result.
      scope: ``"private"``: only for the one who asked; ``"public"``: for anybody.
      expires_at: On the clock of `CacheConfig`; None for never.

    """

    value: Any
    scope: Literal["public", "private"]
    expires_at: float | None


@runtime_checkable
class ResponseCacheStore(Protocol):
    """Keeps entries; several clients may share one.

    A store may forget anything at any time. It need not look at `CacheEntry.expires_at`. It must
    not change the results it keeps, and it must be cancellable: what one call needs of it may take
    a second; one that takes longer, or raises, is done without, which is logged.
    """

    async def get(self, key: CacheKey) -> CacheEntry | None:
        """Return what is kept under the key, if anything is."""
        ...

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        """Keep an entry in place of what was kept before."""
        ...

    async def delete(self, key: CacheKey) -> None:
        """Forget what is kept under the key, if anything is."""
        ...

    async def clear(self) -> None:
        """Forget everything."""
        ...


@attrs.frozen
class CacheConfig:
    """How a client keeps results.

    Attributes:
      store: Where; a store of this client alone, in memory, when None.
      partition: The user that private results belong to, in a store that several share.
      target_id: The server's name in such a store; without it, results are this client's own.
      default_ttl_ms: How long to keep the results of servers that do not say: those of the
          older era.
      clock: The time in seconds.
      share_public: Let every user of the store see what is public.

    """

    store: ResponseCacheStore | None = None
    partition: str = ""
    target_id: str | None = None
    default_ttl_ms: int = 0
    clock: Callable[[], float] = time.time
    share_public: bool = False

    def __attrs_post_init__(self) -> None:
        if self.store is not None:
            check_kind("store", self.store, ResponseCacheStore)
        # They are parts of keys, which are JSON.
        check_text("partition", self.partition)
        checked_copy(self.partition, "partition")
        if self.target_id is not None:
            check_text("target_id", self.target_id)
            checked_copy(self.target_id, "target_id")
        check_number("default_ttl_ms", self.default_ttl_ms, least=0)
        check_callable("clock", self.clock)
        check_flag("share_public", self.share_public)


class InMemoryResponseCacheStore:
    """Keeps entries in memory, up to a number; beyond it the one longest unused is forgotten."""

    def __init__(self, *, max_entries: int = 1024) -> None:
        check_whole("max_entries", max_entries, least=1)
        self._max_entries = max_entries
        self._entries: OrderedDict[CacheKey, CacheEntry] = OrderedDict()

    async def get(self, key: CacheKey) -> CacheEntry | None:
        """See `ResponseCacheStore.get`."""
        await trio.lowlevel.checkpoint()
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        """See `ResponseCacheStore.set`."""
        await trio.lowlevel.checkpoint()
        self._entries[key] = entry
        self._entries.move_to_end(key)
        while len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    async def delete(self, key: CacheKey) -> None:
        """See `ResponseCacheStore.delete`."""
        await trio.lowlevel.checkpoint()
        self._entries.pop(key, None)

    async def clear(self) -> None:
        """See `ResponseCacheStore.clear`."""
        await trio.lowlevel.checkpoint()
        self._entries.clear()
