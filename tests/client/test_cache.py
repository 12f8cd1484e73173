from __future__ import annotations

import pytest
import trio
import trio.testing

from trio_mcp.client._cache import ResponseCache
from trio_mcp.client._cache_store import (
    MAX_TTL_MS,
    CacheConfig,
    CacheEntry,
    CacheKey,
    InMemoryResponseCacheStore,
)
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.types import InputRequiredResult, ListToolsResult, ReadResourceResult
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN


class Asked:
    """A server's answers, counted."""

    def __init__(self, ttl_ms=1000, scope="public", delay=0, kind=ListToolsResult):
        self.count = 0
        self.ttl_ms, self.scope, self.delay, self.kind = ttl_ms, scope, delay, kind
        self.failures = []

    async def __call__(self):
        self.count += 1
        await trio.sleep(self.delay)
        if self.failures:
            raise self.failures.pop(0)
        hint = {"ttl_ms": self.ttl_ms, "cache_scope": self.scope}
        if self.kind is ReadResourceResult:
            return ReadResourceResult(contents=[], **hint)
        return ListToolsResult(tools=[], **hint)


def cache(**config):
    return ResponseCache(CacheConfig(clock=trio.current_time, **config))


async def fetch(
    kept, ask, params=None, *, mode="use", method="tools/list", revision=LATEST_MODERN
):
    return await kept.fetch(method, params or {}, revision, mode, ask)


@pytest.mark.req("R-299", "R-303")
async def test_a_result_is_fresh_until_its_time_has_passed(autojump_clock):
    kept, ask = cache(), Asked(ttl_ms=1000)
    first = await fetch(kept, ask)
    await trio.sleep(0.9)
    assert await fetch(kept, ask) is first
    await trio.sleep(0.2)
    assert await fetch(kept, ask) is not first
    assert ask.count == 2


@pytest.mark.req("R-298")
async def test_no_time_is_stale_at_once(autojump_clock):
    kept, ask = cache(), Asked(ttl_ms=0)
    await fetch(kept, ask)
    await fetch(kept, ask)
    assert ask.count == 2


async def test_no_result_is_kept_longer_than_a_day(autojump_clock):
    kept, ask = cache(), Asked(ttl_ms=MAX_TTL_MS * 10)
    await fetch(kept, ask)
    await trio.sleep(MAX_TTL_MS / 1000 + 1)
    await fetch(kept, ask)
    assert ask.count == 2


@pytest.mark.req("R-296")
async def test_every_page_uri_and_revision_is_kept_apart(autojump_clock):
    kept, ask = cache(), Asked()
    await fetch(kept, ask, {"cursor": "a"})
    await fetch(kept, ask, {"cursor": "b"})
    await fetch(kept, ask)
    assert ask.count == 3
    older = cache(default_ttl_ms=1000)
    await fetch(older, ask, revision=LATEST_HANDSHAKE)
    await fetch(older, ask)
    assert ask.count == 5


async def test_older_servers_say_nothing_so_the_client_may(autojump_clock):
    kept, ask = cache(), Asked()
    await fetch(kept, ask, revision=LATEST_HANDSHAKE)
    await fetch(kept, ask, revision=LATEST_HANDSHAKE)
    assert ask.count == 2
    kept, ask = cache(default_ttl_ms=500), Asked()
    await fetch(kept, ask, revision=LATEST_HANDSHAKE)
    await fetch(kept, ask, revision=LATEST_HANDSHAKE)
    assert ask.count == 1


async def test_modes(autojump_clock):
    kept, ask = cache(), Asked()
    first = await fetch(kept, ask)
    assert await fetch(kept, ask, mode="bypass") is not first
    assert await fetch(kept, ask) is first
    renewed = await fetch(kept, ask, mode="refresh")
    assert renewed is not first
    assert await fetch(kept, ask) is renewed
    assert ask.count == 3


async def test_a_question_is_not_kept(autojump_clock):
    kept = cache()

    async def ask():
        return InputRequiredResult(request_state="s")

    first = await fetch(kept, ask, {"uri": "x://y"}, method="resources/read")
    assert await fetch(kept, ask, {"uri": "x://y"}, method="resources/read") is not first


# Changes


@pytest.mark.parametrize(
    ("notification", "method"),
    [
        ("notifications/tools/list_changed", "tools/list"),
        ("notifications/prompts/list_changed", "prompts/list"),
        ("notifications/resources/list_changed", "resources/list"),
        ("notifications/resources/list_changed", "resources/templates/list"),
    ],
)
async def test_a_changed_list_is_stale_at_once_with_all_its_pages(
    autojump_clock, notification, method
):
    kept, ask = cache(), Asked()
    await fetch(kept, ask, method=method)
    await fetch(kept, ask, {"cursor": "a"}, method=method)
    kept.notified("notifications/other", {})
    await fetch(kept, ask, method=method)
    assert ask.count == 2
    kept.notified(notification, {})
    await fetch(kept, ask, method=method)
    await fetch(kept, ask, {"cursor": "a"}, method=method)
    assert ask.count == 4
    await fetch(kept, ask, method=method)
    assert ask.count == 4


async def test_a_changed_resource_is_stale_and_others_are_not(autojump_clock):
    kept, ask = cache(), Asked(kind=ReadResourceResult)
    for uri in ("x://a", "x://b"):
        await fetch(kept, ask, {"uri": uri}, method="resources/read")
    kept.notified("notifications/resources/updated", {"uri": "x://a"})
    for uri in ("x://a", "x://b"):
        await fetch(kept, ask, {"uri": uri}, method="resources/read")
    assert ask.count == 3


async def test_what_changes_while_it_is_asked_for_is_not_kept(autojump_clock):
    kept, ask = cache(), Asked(delay=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fetch, kept, ask)
        await trio.sleep(0.5)
        kept.notified("notifications/tools/list_changed", {})
    await fetch(kept, ask)
    assert ask.count == 2


async def test_an_invalid_cursor_makes_all_pages_stale(autojump_clock):
    kept, ask = cache(), Asked()
    await fetch(kept, ask)
    kept.forget_pages("tools/list")
    await fetch(kept, ask)
    assert ask.count == 2


async def test_a_flood_of_changes_takes_bounded_memory_and_trusts_nothing(
    autojump_clock, monkeypatch
):
    monkeypatch.setattr("trio_mcp.client._cache.MAX_REMEMBERED", 10)
    kept, ask = cache(), Asked()
    await fetch(kept, ask)
    for n in range(25):
        kept.notified("notifications/resources/updated", {"uri": f"x://{n}"})
    assert len(kept._changes) <= 10
    await fetch(kept, ask)
    await fetch(kept, ask)
    assert ask.count == 2


# Many at once


async def gather(kept, ask, count, results):
    async def one():
        try:
            results.append(await fetch(kept, ask))
        except Exception as exc:  # noqa: BLE001 - looked at by the test
            results.append(exc)

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(one)


async def test_many_who_want_the_same_ask_once(autojump_clock):
    kept, ask, results = cache(), Asked(delay=1), []
    await gather(kept, ask, 20, results)
    assert ask.count == 1
    assert len({id(each) for each in results}) == 1


async def test_what_nobody_may_keep_is_asked_for_by_each_side_by_side(autojump_clock):
    kept, ask, results = cache(), Asked(ttl_ms=0, delay=1), []
    await gather(kept, ask, 20, results)
    assert ask.count == 20
    assert trio.current_time() == pytest.approx(2)
    await gather(kept, ask, 20, results)
    # Now it is known, so nobody waits for another.
    assert trio.current_time() == pytest.approx(3)


async def test_when_the_one_who_asks_is_cancelled_another_takes_over(autojump_clock):
    kept, ask, results = cache(), Asked(delay=10), []
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def leader():
            with scope:
                await fetch(kept, ask)

        nursery.start_soon(leader)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(gather, kept, ask, 3, results)
        await trio.sleep(5)
        scope.cancel()
    assert ask.count == 2
    assert len({id(each) for each in results}) == 1
    assert trio.current_time() == pytest.approx(15)


@pytest.mark.parametrize("error", [MCPError(-31000, "no", {"a": 1}), ConnectionLost("gone")])
async def test_an_error_is_everybodys_own_and_not_kept(autojump_clock, error):
    kept, ask, results = cache(), Asked(delay=1), []
    ask.failures.append(error)
    await gather(kept, ask, 3, results)
    assert ask.count == 1
    assert {(type(each), each.code, each.message) for each in results} == {
        (type(error), error.code, error.message)
    }
    assert len({id(each) for each in results}) == 3
    await fetch(kept, ask)
    assert ask.count == 2


# Stores that several share


@pytest.mark.req("R-306")
async def test_private_results_are_their_users_and_public_ones_only_shared_when_asked(
    autojump_clock,
):
    for scope, share, asked in (
        ("private", True, 2),
        ("public", False, 2),
        ("public", True, 1),
    ):
        store, ask = InMemoryResponseCacheStore(), Asked(scope=scope)
        for user in ("alice", "bob"):
            kept = cache(store=store, partition=user, target_id="s", share_public=share)
            await fetch(kept, ask)
        assert ask.count == asked, scope


@pytest.mark.req("R-306")
async def test_clients_of_one_user_and_server_share_and_others_do_not(autojump_clock):
    store, ask = InMemoryResponseCacheStore(), Asked(scope="private")
    for target in ("s", "s", "t", None, None):
        await fetch(cache(store=store, partition="alice", target_id=target), ask)
    assert ask.count == 4


async def test_the_store_in_memory_forgets_what_is_longest_unused():
    store = InMemoryResponseCacheStore(max_entries=2)
    a, b, c = (CacheKey("tools/list", name) for name in "abc")
    entry = CacheEntry("value", "public", None)
    await store.set(a, entry)
    await store.set(b, entry)
    await store.get(a)
    await store.set(c, entry)
    assert await store.get(b) is None
    assert await store.get(a) is entry
    await store.delete(a)
    assert await store.get(a) is None
    await store.clear()
    assert await store.get(c) is None
    with pytest.raises(ValueError, match="at least 1"):
        InMemoryResponseCacheStore(max_entries=0)
