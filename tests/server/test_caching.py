from __future__ import annotations

import pytest

from trio_mcp.server import CacheHint, apply_cache_hint
from trio_mcp.server._caching import apply_cache_hint_to_json
from trio_mcp.types import ListToolsResult

HINT = CacheHint(ttl_ms=500, scope="public")


@pytest.mark.parametrize(
    ("ttl_ms", "scope", "ends_as"),
    [
        (None, None, (500, "public")),
        (0, "private", (500, "public")),
        (0, None, (500, "public")),
        (9, None, (9, None)),
        (9, "private", (9, "private")),
        (0, "public", (0, "public")),
        (None, "public", (None, "public")),
    ],
)
def test_a_freshness_that_a_handler_chose_is_kept_in_objects_and_in_json(ttl_ms, scope, ends_as):
    result = ListToolsResult(tools=[], ttl_ms=ttl_ms, cache_scope=scope)
    hinted = apply_cache_hint(result, HINT)
    assert (hinted.ttl_ms, hinted.cache_scope) == ends_as
    given = {"tools": [], "ttlMs": ttl_ms, "cacheScope": scope}
    answer = {name: member for name, member in given.items() if member is not None}
    apply_cache_hint_to_json(answer, HINT)
    assert (answer.get("ttlMs"), answer.get("cacheScope")) == ends_as
