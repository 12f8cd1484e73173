"""Stores of users: what they do wrong costs the cache, and no call."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from trio_mcp.client import CacheConfig, CacheEntry, Client, InMemoryResponseCacheStore
from trio_mcp.client._cache_guard import STORE_REST, STORE_TIMEOUT
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import CacheHint
from trio_mcp.types import ListPromptsResult

from ._caching import Asked, cache, fetch


class Faulty(InMemoryResponseCacheStore):
    """A store of which some operation can be made to raise, to hang or to return something."""

    def __init__(self):
        super().__init__()
        self.faults = {}
        self.asked = []

    async def _stumble(self, what):
        self.asked.append(what)
        fault = self.faults.get(what)
        if fault == "hang":
            await trio.sleep_forever()
        if isinstance(fault, Exception):
            raise fault

    async def get(self, key):
        await self._stumble("get")
        found = await super().get(key)
        return self.faults.get("get", found)

    async def set(self, key, entry):
        await self._stumble("set")
        await super().set(key, entry)

    async def delete(self, key):
        await self._stumble("delete")
        await super().delete(key)


def warnings(caplog):
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


@pytest.mark.parametrize("operation", ["get", "set", "delete"])
@pytest.mark.parametrize("fault", [OSError("the cache is down"), "hang"])
async def test_a_call_does_without_a_store_that_fails(autojump_clock, caplog, operation, fault):
    store = Faulty()
    store.faults[operation] = fault
    mcp = MCPServer(cache_hints={"tools/list": CacheHint(60_000)})
    mcp.add_tool(lambda: 0, "a")
    async with Client(mcp, cache=CacheConfig(store=store, clock=trio.current_time)) as client:
        for _ in range(3):
            [tool] = (await client.list_tools()).tools
            assert tool.name == "a"
    why = "no answer within 1 s" if fault == "hang" else "OSError: the cache is down"
    step = "get" if operation == "get" else "set"
    # Once, not for each call.
    assert warnings(caplog) == [f"The cache store failed ({step}), and is done without: {why}"]
    assert trio.current_time() == pytest.approx(STORE_TIMEOUT if fault == "hang" else 0)


async def test_a_store_that_fails_now_and_then_fills_no_log(autojump_clock, caplog):
    store, ask = Faulty(), Asked(ttl_ms=1_000_000)
    kept = cache(store=store)
    for number in range(100):
        store.faults = {"get": OSError("busy")} if number % 2 else {}
        await fetch(kept, ask)
        await trio.sleep(1)
    assert len(warnings(caplog)) == 2


async def test_a_store_that_hangs_is_left_alone_for_a_while_and_tried_again(
    autojump_clock, caplog
):
    store, ask = Faulty(), Asked(ttl_ms=1_000_000)
    kept = cache(store=store)
    await fetch(kept, ask)
    store.faults["get"] = "hang"
    await fetch(kept, ask)
    store.asked.clear()
    del store.faults["get"]
    await fetch(kept, ask)
    assert (store.asked, ask.count) == ([], 3)
    await trio.sleep(STORE_REST)
    # What it held meanwhile has been superseded.
    assert (await fetch(kept, ask)).meta["n"] == 4
    assert (await fetch(kept, ask)).meta["n"] == 4
    store.faults["get"] = "hang"
    await fetch(kept, ask)
    assert len(warnings(caplog)) == 2


@pytest.mark.parametrize(
    "found",
    [
        {"value": 1},
        "text",
        CacheEntry({"tools": []}, "private", None),
        CacheEntry(ListPromptsResult(prompts=[]), "private", None),
        CacheEntry(None, "private", "tomorrow"),
    ],
)
async def test_what_is_no_result_of_the_method_is_none(autojump_clock, caplog, found):
    store, ask = Faulty(), Asked()
    store.faults["get"] = found
    kept = cache(store=store)
    assert (await fetch(kept, ask)).meta["n"] == 1
    assert (await fetch(kept, ask)).meta["n"] == 2
    [warning] = warnings(caplog)
    assert warning.startswith("The cache store failed (get), and is done without: TypeError: ")


@pytest.mark.parametrize("fault", [OSError("read-only"), "hang"])
async def test_what_could_not_be_kept_leaves_nothing_older_in_force(autojump_clock, caplog, fault):
    store, ask = Faulty(), Asked(ttl_ms=1_000_000)
    kept = cache(store=store)
    await fetch(kept, ask)
    store.faults["set"] = fault
    await fetch(kept, ask, mode="refresh")
    store.faults.clear()
    await trio.sleep(STORE_REST)
    assert (await fetch(kept, ask)).meta["n"] == 3


async def test_cancelled_while_it_is_kept_a_result_is_no_less_shared(autojump_clock):
    store, ask, results = Faulty(), Asked(), []
    store.faults["set"] = "hang"
    kept = cache(store=store)

    async def wait():
        results.append(await fetch(kept, ask))

    async with trio.open_nursery() as nursery:
        leader = trio.CancelScope()

        async def lead():
            with leader:
                await fetch(kept, ask)

        nursery.start_soon(lead)
        await trio.testing.wait_all_tasks_blocked()
        assert ask.count == 1
        nursery.start_soon(wait)
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        leader.cancel()
    assert [each.meta["n"] for each in results] == [1, 1]
    # Nobody knows whether the store has it.
    store.faults.clear()
    assert (await fetch(kept, ask)).meta["n"] == 2


# Stores that several look into


def shared_server():
    mcp = MCPServer(
        cache_hints={
            "tools/list": CacheHint(600_000, scope="public"),
            "resources/read": CacheHint(600_000),
        }
    )
    texts = ["before"]

    @mcp.resource("text://a")
    def text() -> str:
        return texts[-1]

    @mcp.tool()
    async def change(ctx: Context) -> str:
        texts.append("after")
        mcp.add_tool(lambda: 0, "new")
        await ctx.notify_resource_updated("text://a")
        return "changed"

    return mcp


async def look(client):
    [contents] = (await client.read_resource("text://a")).contents
    return [tool.name async for tool in client.iter_tools()], contents.text


@pytest.mark.parametrize("has_looked", [True, False])
async def test_what_has_changed_is_forgotten_by_a_store_for_everybody(autojump_clock, has_looked):
    mcp = shared_server()
    shared = CacheConfig(store=InMemoryResponseCacheStore(), target_id="server", partition="ann")
    async with Client(mcp, cache=shared) as other:
        assert await look(other) == (["change"], "before")
    async with Client(mcp, cache=shared) as client:
        if has_looked:
            assert await look(client) == (["change"], "before")
        async with client.listen(
            tools_list_changed=True, resource_subscriptions=["text://a"]
        ) as events:
            await client.call_tool("change")
            await anext(events)
            await anext(events)
            # Beside the one who heard of it.
            await trio.testing.wait_all_tasks_blocked()
            async with Client(mcp, cache=shared) as other:
                assert await look(other) == (["change", "new"], "after")
    async with Client(mcp, cache=shared) as client:
        assert await look(client) == (["change", "new"], "after")


async def test_a_change_just_before_the_end_is_forgotten_too(autojump_clock):
    mcp = shared_server()
    shared = CacheConfig(store=InMemoryResponseCacheStore(), target_id="server")
    async with Client(mcp, cache=shared) as client:
        await look(client)
        async with client.listen(tools_list_changed=True) as events:
            await client.call_tool("change")
            await anext(events)
    async with Client(mcp, cache=shared) as client:
        assert (await look(client))[0] == ["change", "new"]


async def test_a_store_that_hangs_holds_up_no_end(autojump_clock, caplog):
    mcp, store = shared_server(), Faulty()
    async with Client(mcp, cache=CacheConfig(store=store, target_id="server")) as client:
        await look(client)
        async with client.listen(tools_list_changed=True) as events:
            store.faults["delete"] = "hang"
            await client.call_tool("change")
            await anext(events)
    assert trio.current_time() < 1.5 * STORE_TIMEOUT
    assert warnings(caplog) == [
        "The cache store failed (delete), and is done without: no answer within 1 s"
    ]


@pytest.mark.parametrize("stays", [True, False])
async def test_a_change_that_comes_while_a_store_rests_is_not_forgotten(autojump_clock, stays):
    mcp, store = shared_server(), Faulty()
    shared = CacheConfig(store=store, target_id="server", clock=trio.current_time)
    async with Client(mcp, cache=shared) as client:
        await look(client)
        async with client.listen(tools_list_changed=True) as events:
            store.faults["get"] = "hang"
            await client.list_tools()
            store.faults.clear()
            await client.call_tool("change")
            await anext(events)
            if stays:
                await trio.sleep(STORE_REST + 1)
                async with Client(mcp, cache=shared) as other:
                    assert (await look(other))[0] == ["change", "new"]
    async with Client(mcp, cache=shared) as other:
        assert (await look(other))[0] == ["change", "new"]
