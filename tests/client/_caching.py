"""A response cache, and what it asks."""

from __future__ import annotations

import trio

from trio_mcp.client._cache import ResponseCache
from trio_mcp.client._cache_store import CacheConfig
from trio_mcp.types import (
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
)
from trio_mcp.types._revisions import LATEST_MODERN

# What each kind of result lists.
ITEMS = {
    ListPromptsResult: "prompts",
    ListResourcesResult: "resources",
    ListResourceTemplatesResult: "resource_templates",
    ListToolsResult: "tools",
    ReadResourceResult: "contents",
}


class Asked:
    """A server's answers, counted."""

    def __init__(self, ttl_ms=1000, scope="public", delay=0, kind=ListToolsResult):
        self.count = 0
        self.ttl_ms, self.scope, self.delay, self.kind = ttl_ms, scope, delay, kind
        self.failures = []

    async def __call__(self):
        self.count += 1
        number = self.count
        await trio.sleep(self.delay)
        if self.failures:
            raise self.failures.pop(0)
        hint = {"ttl_ms": self.ttl_ms, "cache_scope": self.scope}
        # Told apart by their number.
        return self.kind(**{ITEMS[self.kind]: []}, meta={"n": number}, **hint)


def cache(**config):
    return ResponseCache(CacheConfig(clock=trio.current_time, **config))


async def fetch(
    kept, ask, params=None, *, mode="use", method="tools/list", revision=LATEST_MODERN
):
    return await kept.fetch(method, params or {}, revision, mode, ask)
