from __future__ import annotations

import pytest
import trio
import trio.testing

from trio_mcp.client._cache_store import (
    MAX_TTL_MS,
    CacheEntry,
    CacheKey,
    InMemoryResponseCacheStore,
)
from trio_mcp.client._copy import copied
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.types import (
    Icon,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    Tool,
)
from trio_mcp.types._revisions import LATEST_HANDSHAKE

from ._caching import Asked, cache, fetch


@pytest.mark.req("R-299", "R-303")
async def test_a_result_is_fresh_until_its_time_has_passed(autojump_clock):
    kept, ask = cache(), Asked(ttl_ms=1000)
    first = await fetch(kept, ask)
    await trio.sleep(0.9)
    assert await fetch(kept, ask) == first
    await trio.sleep(0.2)
    assert await fetch(kept, ask) != first
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
    assert await fetch(kept, ask, mode="bypass") != first
    assert await fetch(kept, ask) == first
    renewed = await fetch(kept, ask, mode="refresh")
    assert renewed != first
    assert await fetch(kept, ask) == renewed
    assert ask.count == 3


async def test_a_question_is_not_kept(autojump_clock):
    kept = cache()

    async def ask():
        return InputRequiredResult(request_state="s")

    first = await fetch(kept, ask, {"uri": "x://y"}, method="resources/read")
    assert await fetch(kept, ask, {"uri": "x://y"}, method="resources/read") is not first


# Changes


@pytest.mark.parametrize(
    ("notification", "method", "kind"),
    [
        ("tools", "tools/list", ListToolsResult),
        ("prompts", "prompts/list", ListPromptsResult),
        ("resources", "resources/list", ListResourcesResult),
        ("resources", "resources/templates/list", ListResourceTemplatesResult),
    ],
)
async def test_a_changed_list_is_stale_at_once_with_all_its_pages(
    autojump_clock, notification, method, kind
):
    kept, ask = cache(), Asked(kind=kind)
    await fetch(kept, ask, method=method)
    await fetch(kept, ask, {"cursor": "a"}, method=method)
    kept.notified("notifications/other", {})
    await fetch(kept, ask, method=method)
    assert ask.count == 2
    kept.notified(f"notifications/{notification}/list_changed", {})
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


@pytest.mark.req("R-307")
@pytest.mark.parametrize(
    "change",
    [
        lambda kept: kept.notified("notifications/tools/list_changed", {}),
        lambda kept: kept.forget_pages("tools/list"),
        lambda kept: kept.forget_all(),
    ],
)
async def test_who_comes_after_a_change_does_not_wait_for_what_was_asked_before(
    autojump_clock, change
):
    kept, ask, early, late = cache(), Asked(delay=1), [], []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gather, kept, ask, 3, early)
        await trio.sleep(0.5)
        change(kept)
        nursery.start_soon(gather, kept, ask, 3, late)
        await trio.sleep(0.7)
        # Those that were asked for before have landed; others still join the newer one.
        nursery.start_soon(gather, kept, ask, 3, late)
    assert [each.meta["n"] for each in early] == [1] * 3
    assert [each.meta["n"] for each in late] == [2] * 6
    assert (await fetch(kept, ask)).meta["n"] == 2
    assert trio.current_time() == pytest.approx(1.5)


async def test_a_change_while_the_store_looks_up_makes_what_it_finds_stale(autojump_clock):
    class Slow(InMemoryResponseCacheStore):
        async def get(self, key):
            entry = await super().get(key)
            await trio.sleep(0.2)
            return entry

    kept, ask = cache(store=Slow()), Asked(ttl_ms=5000)
    await fetch(kept, ask)
    async with trio.open_nursery() as nursery:
        results = []
        nursery.start_soon(gather, kept, ask, 1, results)
        await trio.sleep(0.1)
        kept.notified("notifications/tools/list_changed", {})
    assert results[0].meta["n"] == 2


async def test_an_invalid_cursor_makes_all_pages_stale(autojump_clock):
    kept, ask = cache(), Asked()
    await fetch(kept, ask)
    kept.forget_pages("tools/list")
    await fetch(kept, ask)
    assert ask.count == 2


async def test_a_flood_of_changes_takes_bounded_memory_and_trusts_nothing(
    autojump_clock, monkeypatch
):
    monkeypatch.setattr("trio_mcp.client._cache_changes.MAX_REMEMBERED", 10)
    kept, ask = cache(), Asked()
    await fetch(kept, ask)
    for n in range(25):
        kept.notified("notifications/resources/updated", {"uri": f"x://{n}"})
    assert len(kept._changes._counts) <= 10
    await fetch(kept, ask)
    await fetch(kept, ask)
    assert ask.count == 2


@pytest.mark.parametrize("changed", [False, True])
async def test_ever_new_uris_take_bounded_memory(autojump_clock, monkeypatch, changed):
    monkeypatch.setattr("trio_mcp.client._cache_changes.MAX_REMEMBERED", 10)
    kept, ask = cache(), Asked(kind=ReadResourceResult)
    if changed:
        kept.forget_all()
    for n in range(25):
        await fetch(kept, ask, {"uri": f"x://{n}"}, method="resources/read")
    assert len(kept._changes._written_at) == (10 if changed else 0)
    # What is still remembered, and all where nothing has changed, is served.
    for n in range(15 if changed else 0, 25):
        await fetch(kept, ask, {"uri": f"x://{n}"}, method="resources/read")
    assert ask.count == 25
    await fetch(kept, ask, {"uri": "x://3"}, method="resources/read")
    assert ask.count == (26 if changed else 25)


@pytest.mark.parametrize(("before", "after"), [("private", "public"), ("public", "private")])
async def test_a_result_supersedes_one_that_was_for_others(autojump_clock, before, after):
    kept, ask = cache(), Asked(scope=before)
    await fetch(kept, ask)
    ask.scope = after
    await fetch(kept, ask, mode="refresh")
    assert (await fetch(kept, ask)).meta["n"] == 2


async def test_a_result_that_nobody_may_keep_supersedes_one_that_was_kept(autojump_clock):
    kept, ask = cache(), Asked()
    await fetch(kept, ask)
    ask.ttl_ms = 0
    await fetch(kept, ask, mode="refresh")
    assert (await fetch(kept, ask)).meta["n"] == 3


# Whose they are


async def test_what_many_get_is_each_ones_own(autojump_clock):
    async def ask():
        await trio.sleep(1)
        schema = {"type": "object", "properties": {"a": {"enum": [1]}}}
        tool = Tool(name="a", input_schema=schema, icons=[Icon(src="x:", sizes=["1x1"])])
        return ListToolsResult(tools=[tool], meta={}, ttl_ms=10_000, cache_scope="public")

    kept, whole, seen = cache(), await ask(), []

    async def spoil():
        result = await fetch(kept, ask)
        seen.append(result == whole)
        result.tools[0].input_schema["properties"]["a"]["enum"].append(2)
        result.tools[0].icons[0].sizes.clear()
        result.tools[0].extra["x"] = result.meta["x"] = 1
        result.tools.clear()

    for _ in range(2):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(spoil)
    await spoil()
    assert seen == [True] * 7
    assert trio.current_time() == pytest.approx(2)


async def test_a_kept_result_is_of_the_same_kind_whatever_its_values_are():
    class Text(str):
        __slots__ = ()

    whole = ListToolsResult(tools=[], meta={"a": Text("b"), "c": (1, [2]), "d": 1.5, "e": None})
    copy = copied(whole)
    assert copy == whole
    assert type(copy.meta["a"]) is Text
    assert copy.meta["c"][1] is not whole.meta["c"][1]


async def test_a_question_is_for_the_one_who_asked(autojump_clock):
    kept, asked, states = cache(), [], []

    async def ask():
        asked.append(len(asked))
        state = str(asked[-1])
        await trio.sleep(1)
        return InputRequiredResult(request_state=state)

    async def one():
        result = await fetch(kept, ask, {"uri": "x://y"}, method="resources/read")
        states.append(result.request_state)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(one)
    assert sorted(states) == ["0", "1", "2"]
    assert trio.current_time() == pytest.approx(2)


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
    assert [each.meta for each in results] == [{"n": 1}] * 20


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
    assert [each.meta for each in results] == [{"n": 2}] * 3
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
