"""How long, and for whom, a client may keep a result (utilities, caching)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import attrs

from trio_mcp._checks import check_kind, check_mapping
from trio_mcp.types._methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.types import CacheableResult
    from trio_mcp.types._base import JsonObject

CacheableMethod = Literal[
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
]
ResultT = TypeVar("ResultT", bound="CacheableResult")


@attrs.frozen
class CacheHint:
    """What a result says of its own freshness.

    Attributes:
      ttl_ms: Milliseconds that it stays fresh; 0 for stale at once.
      scope: ``"private"``: only for the one who asked; ``"public"``: for anybody.

    """

    ttl_ms: int = 0
    scope: Literal["public", "private"] = "private"

    def __attrs_post_init__(self) -> None:
        ttl_ms: Any = self.ttl_ms
        if ttl_ms.__class__ is not int or ttl_ms < 0:
            raise ValueError(f"ttl_ms must be a whole number of at least 0, got {ttl_ms!r}")
        if self.scope not in ("public", "private"):
            raise ValueError(f"scope must be 'public' or 'private', got {self.scope!r}")


NO_HINT: Final = CacheHint()


def apply_cache_hint(result: ResultT, hint: CacheHint) -> ResultT:
    """Give a result the hint, unless its handler chose a freshness of its own."""
    if _has_freshness(result.ttl_ms, result.cache_scope):
        return result
    return result.evolve(ttl_ms=hint.ttl_ms, cache_scope=hint.scope)


def apply_cache_hint_to_json(answer: JsonObject, hint: CacheHint) -> None:
    """Give a result that is JSON already the hint, as `apply_cache_hint` does."""
    if not _has_freshness(answer.get("ttlMs"), answer.get("cacheScope")):
        answer["ttlMs"] = hint.ttl_ms
        answer["cacheScope"] = hint.scope


def _has_freshness(ttl_ms: object, scope: object) -> bool:
    # Stale at once, and private, is what a result says that was given nothing.
    return bool(ttl_ms) or scope not in (None, "private")


def validate_cache_hints(cache_hints: Mapping[Any, Any] | None) -> dict[str, CacheHint]:
    """Check a mapping of methods to hints.

    Raises:
      ValueError: if a method's results cannot be cached.
      TypeError: if a value is no `CacheHint`.

    """
    checked: dict[str, CacheHint] = {}
    if cache_hints is not None:
        check_mapping("cache_hints", cache_hints, expected="a dict of CacheHint by method")
    for method, hint in (cache_hints or {}).items():
        spec = METHODS.get(method)
        if spec is None or not spec.cacheable:
            cacheable = sorted(name for name, each in METHODS.items() if each.cacheable)
            raise ValueError(
                f"cache_hints: {method!r} cannot be cached; these can: {', '.join(cacheable)}"
            )
        check_kind(f"cache_hints[{method!r}]", hint, CacheHint)
        checked[method] = hint
    return checked
