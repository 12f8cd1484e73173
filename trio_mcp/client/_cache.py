"""Keeps results that their server calls fresh, and asks once for what many want at a time.

Utilities, caching: a result is fresh until its ``ttlMs`` has passed, under everything that it
depends on (method, URI, cursor, revision, and the user where it is private). A notification
that it has changed makes it stale at once, before anybody sees the notification.
"""

from __future__ import annotations

import copy
import json
import secrets
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp.types import InputRequiredResult

from ._cache_store import (
    MAX_TTL_MS,
    CacheConfig,
    CacheEntry,
    CacheKey,
    CacheMode,
    InMemoryResponseCacheStore,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._cache_store import ResponseCacheStore

# What a notification makes stale: the methods whose results it speaks of.
_STALE_BY: Final = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}

MAX_REMEMBERED: Final = 10_000
"""URIs whose changes, and requests whose results nobody may keep, are remembered singly."""


@attrs.define(eq=False)
class _Flight:
    """A request under way that others wait for."""

    landed: trio.Event = attrs.field(factory=trio.Event)
    result: Any = None
    error: Exception | None = None
    shareable: bool = False


@attrs.frozen(eq=False)
class _Question:
    """What somebody wants to know, and how to ask for it."""

    method: str
    params_key: str
    revision: Revision
    ask: Callable[[], Awaitable[Any]]

    @property
    def subject(self) -> tuple[str, str]:
        return self.method, self.params_key


class ResponseCache:
    """The results that one client keeps."""

    def __init__(self, config: CacheConfig) -> None:
        self._config = config
        self._store: ResponseCacheStore = config.store or InMemoryResponseCacheStore()
        self._target = config.target_id or secrets.token_hex(8)
        # How often what a group of keys stands for has changed, and at which count a key was
        # written: an entry of an earlier count is stale, whoever wrote it.
        self._changes: dict[tuple[str, str], int] = {}
        self._all_changed = 0
        self._written_at: dict[CacheKey, int] = {}
        self._flights: dict[tuple[str, str], _Flight] = {}
        self._uncacheable: set[tuple[str, str]] = set()

    async def fetch(
        self,
        method: str,
        params: JsonObject,
        revision: Revision,
        mode: CacheMode,
        ask: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Return a fresh result: a kept one, or what asking gives.

        Many who want the same at the same time ask once; if the one who asks is cancelled,
        another takes over.
        """
        if mode == "bypass":
            return await ask()
        params_key = json.dumps(params, sort_keys=True) if params else ""
        question = _Question(method, params_key, revision, ask)
        if mode == "refresh":
            return await self._ask_and_keep(question)
        while True:
            entry = await self._read(question)
            if entry is not None:
                return entry.value
            flight = self._flights.get(question.subject)
            if flight is None:
                return await self._fly(question)
            await flight.landed.wait()
            if flight.error is not None:
                # Each who waited raises an error of their own.
                raise copy.copy(flight.error)
            if flight.shareable:
                return flight.result
            if question.subject in self._uncacheable:
                return await self._ask_and_keep(question)

    async def _fly(self, question: _Question) -> Any:
        subject = question.subject
        if subject in self._uncacheable:
            # Its server has called it stale at once: nobody may share it.
            return await self._ask_and_keep(question)
        flight = self._flights[subject] = _Flight()
        try:
            result = await self._ask_and_keep(question)
            flight.result = result
            flight.shareable = subject not in self._uncacheable
        except Exception as exc:
            flight.error = exc
            raise
        finally:
            # A cancelled one lands empty, and the first who waits takes over.
            del self._flights[subject]
            flight.landed.set()
            # The traceback of its error holds this frame, which must not hold it in turn.
            del flight
        return result

    async def _ask_and_keep(self, question: _Question) -> Any:
        subject, revision = question.subject, question.revision
        group = self._group(*subject)
        changes = self._count(group)
        result = await question.ask()
        if isinstance(result, InputRequiredResult):
            return result
        ttl_ms = result.ttl_ms if revision.has_cache_hints else self._config.default_ttl_ms
        if ttl_ms <= 0:
            if len(self._uncacheable) >= MAX_REMEMBERED:
                self._uncacheable.clear()
            self._uncacheable.add(subject)
            return result
        self._uncacheable.discard(subject)
        if self._count(group) == changes:
            public = revision.has_cache_hints and result.cache_scope == "public"
            key = self._key(question, public=public)
            self._written_at[key] = changes
            expires_at = self._config.clock() + min(ttl_ms, MAX_TTL_MS) / 1000
            entry = CacheEntry(result, "public" if public else "private", expires_at)
            await self._store.set(key, entry)
        return result

    async def _read(self, question: _Question) -> CacheEntry | None:
        changes = self._count(self._group(*question.subject))
        for public in (False, True):
            key = self._key(question, public=public)
            entry = await self._store.get(key)
            if entry is None or (public and entry.scope != "public"):
                continue
            expired = entry.expires_at is not None and self._config.clock() >= entry.expires_at
            if expired or self._written_at.get(key, 0) != changes:
                await self._store.delete(key)
                continue
            return entry
        return None

    def notified(self, method: str, params: JsonObject) -> None:
        """Make stale what a notification speaks of. Called before anybody else sees it."""
        if method == "notifications/resources/updated":
            self._change(("resources/read", str(params.get("uri"))))
            return
        for changed in _STALE_BY.get(method, ()):
            self._change((changed, ""))

    def forget_pages(self, method: str) -> None:
        """An invalid cursor makes all pages of its list stale (caching, pagination)."""
        self._change((method, ""))

    def forget_all(self) -> None:
        """Make everything stale that was kept so far."""
        self._all_changed = max((self._all_changed, *self._changes.values())) + 1
        self._changes.clear()
        self._written_at.clear()

    def _change(self, group: tuple[str, str]) -> None:
        if len(self._changes) >= MAX_REMEMBERED:
            # A server that tells of ever new URIs: forget which changed, and trust nothing.
            self.forget_all()
        self._changes[group] = self._count(group) + 1
        for key in [key for key in self._written_at if self._group_of(key) == group]:
            del self._written_at[key]

    def _count(self, group: tuple[str, str]) -> int:
        return self._changes.get(group, self._all_changed)

    def _group(self, method: str, params_key: str) -> tuple[str, str]:
        # All pages of a list are stale together; contents by their URI.
        if method != "resources/read":
            return method, ""
        return method, str(json.loads(params_key).get("uri"))

    def _group_of(self, key: CacheKey) -> tuple[str, str]:
        return self._group(key.method, key.params_key)

    def _key(self, question: _Question, *, public: bool) -> CacheKey:
        user = "" if public and self._config.share_public else self._config.partition
        kind = "public" if public else "private"
        partition = json.dumps([self._target, question.revision.version, kind, user])
        return CacheKey(question.method, question.params_key, partition)
