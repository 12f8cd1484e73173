"""Keeps results that their server calls fresh, and asks once for what many want at a time.

Utilities, caching: a result is fresh until its ``ttlMs`` has passed, under everything that it
depends on (method, URI, cursor, revision, and the user where it is private). A notification
that it has changed makes it stale at once, before anybody sees the notification.
"""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp import types
from trio_mcp._codec import dumps
from trio_mcp._rpc._flight import Flight
from trio_mcp.types._methods import METHODS

from ._cache_changes import Changes
from ._cache_eviction import Eviction
from ._cache_guard import GuardedStore
from ._cache_store import (
    MAX_TTL_MS,
    CacheConfig,
    CacheEntry,
    CacheKey,
    CacheMode,
    InMemoryResponseCacheStore,
)
from ._copy import copied

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._cache_changes import Group

# What a notification makes stale: the methods whose results it speaks of.
_STALE_BY: Final = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}

MAX_UNCACHEABLE: Final = 10_000
"""Requests whose results nobody may keep are remembered, up to this many."""


@attrs.frozen
class _Shared:
    """What those who waited get.

    Attributes:
      result: As nobody can change it; None if something came only for the one who asked.

    """

    result: Any


@attrs.frozen(eq=False)
class _Asking:
    """A request under way that others wait for, unless what it asks for has changed since.

    Attributes:
      count: Of the changes, when it was asked.

    """

    count: int
    flight: Flight[_Shared] = attrs.field(factory=Flight[_Shared])


@attrs.frozen(eq=False)
class _Question:
    """What somebody wants to know, and how to ask for it."""

    method: str
    params_key: str
    group: Group
    revision: Revision
    principal: str
    ask: Callable[[], Awaitable[Any]]

    @property
    def subject(self) -> tuple[str, str, str]:
        return self.method, self.params_key, self.principal


@attrs.frozen(eq=False)
class _Answer:
    """What came, and a copy to keep for a time, unless nobody may."""

    result: Any
    count: int
    kept: Any = None
    ttl_ms: int = 0


class ResponseCache:
    """The results that one client keeps. Whoever gets one may change it: it is a copy.

    Attributes:
      signs: What signs requests, and says in whose name: nobody else gets the results.

    """

    def __init__(self, config: CacheConfig) -> None:
        self._config = config
        self.signs: Any = None
        self._store = GuardedStore(config.store or InMemoryResponseCacheStore())
        self._target = config.target_id or secrets.token_hex(8)
        self._changes = Changes()
        # A store that nobody else looks into may hold what is stale.
        self._eviction = None if config.store is None else Eviction(self._store)
        self._revision: Revision | None = None
        self._asking: dict[tuple[str, str, str], _Asking] = {}
        self._uncacheable: set[tuple[str, str, str]] = set()

    async def fetch(
        self,
        method: str,
        params: JsonObject,
        revision: Revision,
        mode: CacheMode,
        ask: Callable[[], Awaitable[Any]],
        *,
        alone: bool = False,
    ) -> Any:
        """Return a fresh result: a kept one, or what asking gives.

        Many who want the same at the same time ask once; if the one who asks is cancelled,
        another takes over. Who comes after a change does not wait for what was asked before,
        and nobody shares the asking of one who asks ``alone``, in a time of their own.
        """
        params_key = None if mode == "bypass" else _params_key(params)
        if params_key is None:
            return await ask()
        group, principal = _group(method, params), self._principal()
        question = _Question(method, params_key, group, revision, principal, ask)
        if mode == "refresh":
            return await self._refresh(question)
        while True:
            kept = await self._read(question)
            if kept is not None:
                return copied(kept)
            if alone:
                return await self._ask_and_keep(question)
            asking = self._asking.get(question.subject)
            if asking is None or asking.count != self._changes.count(question.group):
                return await self._ask_for_all(question)
            shared = await asking.flight.wait()
            if shared is not None and shared.result is not None:
                return copied(shared.result)
            if shared is not None:
                return await self._ask_and_keep(question)

    async def _refresh(self, question: _Question) -> Any:
        result = await self._ask_and_keep(question)
        if question.subject in self._uncacheable:
            # What was kept of it before has been superseded.
            self._changed(question.group)
        return result

    async def _ask_for_all(self, question: _Question) -> Any:
        subject = question.subject
        if subject in self._uncacheable:
            # Its server has called it stale at once: nobody may share it.
            return await self._ask_and_keep(question)
        asking = self._asking[subject] = _Asking(self._changes.count(question.group))
        try:
            with asking.flight as flight:
                answer = await self._ask(question)
                flight.outcome = _Shared(answer.kept)
                await self._keep(question, answer)
        finally:
            if self._asking.get(subject) is asking:
                del self._asking[subject]
        return answer.result

    async def _ask_and_keep(self, question: _Question) -> Any:
        answer = await self._ask(question)
        await self._keep(question, answer)
        return answer.result

    async def _ask(self, question: _Question) -> _Answer:
        count = self._changes.count(question.group)
        result = await question.ask()
        ttl_ms = self._ttl_of(result, question)
        # The one who asked may change what they get, before anybody else gets it.
        return _Answer(result, count, copied(result) if ttl_ms > 0 else None, ttl_ms)

    def _ttl_of(self, result: Any, question: _Question) -> int:
        if isinstance(result, types.InputRequiredResult):
            return 0
        ttl_ms: int = self._config.default_ttl_ms
        if question.revision.has_cache_hints:
            ttl_ms = result.ttl_ms
        if ttl_ms > 0:
            self._uncacheable.discard(question.subject)
            return min(ttl_ms, MAX_TTL_MS)
        if len(self._uncacheable) >= MAX_UNCACHEABLE:
            self._uncacheable.clear()
        self._uncacheable.add(question.subject)
        return 0

    async def _keep(self, question: _Question, answer: _Answer) -> None:
        value, count = answer.kept, answer.count
        if value is None or self._changes.count(question.group) != count:
            return
        if self._principal() != question.principal:
            # Somebody has logged in meanwhile: nobody knows in whose name this came.
            return
        is_public = question.revision.has_cache_hints and value.cache_scope == "public"
        private, public = self._keys_of(question)
        key, other = (public, private) if is_public else (private, public)
        if self._eviction is not None:
            self._eviction.saw((key,), question.group)
        expires_at = self._config.clock() + answer.ttl_ms / 1000
        entry = CacheEntry(value, "public" if is_public else "private", expires_at)
        kept = False
        try:
            kept = await self._store.keep(key, entry, instead_of=other)
        finally:
            if kept:
                self._changes.wrote(key, count)
                if self._eviction is not None:
                    self._eviction.written((key, other))
            else:
                # The store may hold what came before, which is not to come back.
                self._changes.happened(question.group)

    async def _read(self, question: _Question) -> Any:
        changes, group = self._changes, question.group
        count = changes.count(group)
        private, public = self._keys_of(question)
        if self._eviction is not None:
            self._eviction.saw((private, public), group)

        def is_fresh(key: CacheKey, entry: CacheEntry) -> bool:
            if key is public and entry.scope != "public":
                return False
            if entry.expires_at is not None and self._config.clock() >= entry.expires_at:
                return False
            if not isinstance(entry.value, METHODS[question.method].result_type()):
                raise TypeError(f"get: expected a result of {question.method}, got {entry!r:.80}")
            # Both: it may have changed, and been written anew, while the store looked it up.
            return changes.is_current(key, group) and changes.count(group) == count

        entry = await self._store.find((private, public), is_fresh)
        return None if entry is None else entry.value

    def notified(self, method: str, params: JsonObject) -> None:
        """Make stale what a notification speaks of. Called before anybody else sees it."""
        if method == "notifications/resources/updated":
            self._changed(_group("resources/read", params))
            return
        for changed in _STALE_BY.get(method, ()):
            self._changed((changed, ""))

    def forget_pages(self, method: str) -> None:
        """An invalid cursor makes all pages of its list stale (caching, pagination)."""
        self._changed((method, ""))

    def forget_all(self) -> None:
        """Make everything stale that was kept so far."""
        self._changes.everywhere()
        if self._eviction is not None:
            self._eviction.changed(None)

    def _changed(self, group: Group) -> None:
        self._changes.happened(group)
        if self._eviction is not None:
            if self._revision is not None:
                # Others may have kept what this client has not asked for.
                method, uri = group
                params_key = _params_key({"uri": uri} if uri else {})
                if params_key is not None:
                    keys = self._keys(method, params_key, self._revision, self._principal())
                    self._eviction.saw(keys, group)
            self._eviction.changed(group)

    def open(self, revision: Revision | None) -> AbstractAsyncContextManager[None]:
        """Forget in a store that others share what has changed, for as long as the block lasts."""
        self._revision = revision
        return nullcontext() if self._eviction is None else self._eviction.open()

    def _principal(self) -> str:
        principal = getattr(self.signs, "principal", "")
        return principal if isinstance(principal, str) else ""

    def _keys_of(self, question: _Question) -> tuple[CacheKey, CacheKey]:
        method, params_key = question.method, question.params_key
        return self._keys(method, params_key, question.revision, question.principal)

    def _keys(
        self, method: str, params_key: str, revision: Revision, principal: str
    ) -> tuple[CacheKey, CacheKey]:
        """Make the keys of a private and of a public result."""
        user = [self._config.partition, *filter(None, [principal])]
        shared = [""] if self._config.share_public else user
        parts = ("private", *user), ("public", *shared)
        private, public = (dumps([self._target, revision.version, *each]) for each in parts)
        return (
            CacheKey(method, params_key, private.decode()),
            CacheKey(method, params_key, public.decode()),
        )


def _params_key(params: JsonObject) -> str | None:
    """Write params as the part of a key; None if they cannot be sent, which sending tells."""
    try:
        return dumps(dict(sorted(params.items()))).decode() if params else ""
    except (TypeError, ValueError):
        return None


def _group(method: str, params: JsonObject) -> Group:
    # All pages of a list are stale together; contents by their URI.
    return (method, str(params.get("uri")) if method == "resources/read" else "")
