"""A result of a tool that nobody has listed is checked, too: the tools are listed for it, once."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from trio_mcp.client import CacheConfig, Client, InMemoryResponseCacheStore
from trio_mcp.client._tool_lookup import LOOKUP_REST, LOOKUP_TIMEOUT
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.mcpserver import MCPServer
from trio_mcp.types import CallToolResult, Tool

PAGE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
BAD = {"n": "one"}


def listed(*names, schema=SCHEMA, **members):
    tools = [
        {"name": name, "inputSchema": {"type": "object"}, "outputSchema": schema} for name in names
    ]
    if schema is None:
        for tool in tools:
            del tool["outputSchema"]
    return {**PAGE, "tools": tools, **members}


def answered(content):
    return {"resultType": "complete", "content": [], "structuredContent": content}


@pytest.fixture
def counting(script, discovery, initialized):
    """A server whose results do not fit its schema."""

    def counting(tools=None, content=BAD):
        return script(
            server__discover=discovery,
            initialize=initialized(),
            tools__list=listed("a", "b") if tools is None else tools,
            tools__call=answered(content),
        )

    return counting


def listings(server):
    return server.methods.count("tools/list")


@pytest.mark.req("R-254", "R-262")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
@pytest.mark.parametrize("cache", [None, CacheConfig()])
async def test_the_result_of_a_tool_that_nobody_listed_is_checked(
    autojump_clock, connect, counting, mode, cache
):
    server = counting()
    async with connect(server, mode=mode, cache=cache) as client:
        for name in "a", "b", "a":
            with pytest.raises(InvalidResponse, match=r"structuredContent\.n: expected number"):
                await client.call_tool(name)
        with pytest.raises(InvalidResponse, match=r"structuredContent\.n"):
            await client.session.call_tool("a")
    assert listings(server) == 1


@pytest.mark.parametrize("tools", [listed("a", schema=None), listed("b"), listed()])
async def test_what_has_no_schema_or_is_not_listed_is_remembered_as_such(
    autojump_clock, connect, counting, tools
):
    server = counting(tools)
    async with connect(server) as client:
        for _ in range(3):
            assert (await client.call_tool("a")).structured_content == BAD
    assert listings(server) == 1


async def test_a_result_with_nothing_to_check_lists_nothing(autojump_clock, connect, counting):
    server = counting()
    async with connect(server) as client:
        for members in {"structuredContent": BAD, "isError": True}, {}:
            server.answers["tools/call"] = {**PAGE, "content": [], **members}
            await client.call_tool("a")
    assert listings(server) == 0


async def test_a_server_that_announces_no_tools_is_not_asked_for_them(
    autojump_clock, connect, counting, discovery
):
    server = counting()
    server.answers["server/discover"] = {**discovery, "capabilities": {}}
    async with connect(server) as client:
        assert (await client.call_tool("a")).structured_content == BAD
    assert listings(server) == 0


async def test_every_page_is_listed(autojump_clock, connect, counting):
    def page(params):
        if params.get("cursor") == "2":
            return listed("a")
        return listed("b", nextCursor="2")

    server = counting(page)
    async with connect(server) as client:
        for name in "b", "a", "c":
            if name == "c":
                assert (await client.call_tool(name)).structured_content == BAD
                continue
            with pytest.raises(InvalidResponse):
                await client.call_tool(name)
    assert listings(server) == 2


async def test_many_calls_at_once_list_once(autojump_clock, connect, counting):
    server = counting()
    errors = []
    async with connect(server) as client:

        async def call():
            try:
                await client.call_tool("a")
            except InvalidResponse as exc:
                errors.append(exc)

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(call)
    assert (len(errors), listings(server)) == (10, 1)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_many_calls_at_once_learn_together_that_listing_fails(
    autojump_clock, connect, counting, caplog, mode
):
    server = counting(MCPError(-32000, "no list"))
    async with connect(server, mode=mode) as client, trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(client.call_tool, "a")
    assert listings(server) == 1
    assert len(warnings(caplog)) == 1


async def test_a_list_that_has_changed_is_listed_again(autojump_clock, connect, counting):
    server = counting()
    async with connect(server, mode="legacy") as client:
        with pytest.raises(InvalidResponse):
            await client.call_tool("a")
        server.answers["tools/list"] = listed("a", schema={"type": "object"})
        await server.tell("notifications/tools/list_changed")
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(2):
            assert (await client.call_tool("a")).structured_content == BAD
    assert listings(server) == 2


@pytest.mark.parametrize("asked_by", ["user", "call"])
async def test_a_list_that_changes_on_its_way_says_nothing(
    autojump_clock, connect, counting, script, asked_by
):
    server = counting(script.SILENCE)
    async with connect(server, mode="legacy") as client, trio.open_nursery() as nursery:
        nursery.start_soon(
            client.list_tools if asked_by == "user" else client.call_tool,
            *(() if asked_by == "user" else ("a",)),
        )
        await trio.testing.wait_all_tasks_blocked()
        asked = server.received[-1]
        assert asked.method == "tools/list"
        await server.tell("notifications/tools/list_changed")
        server.answers["tools/list"] = listed("a")
        await server.answer(asked)
        server.answers["tools/list"] = listed("a", schema=None)
        await trio.testing.wait_all_tasks_blocked()
        assert (await client.call_tool("a")).structured_content == BAD
    assert listings(server) == 2


# It costs no call its result


def warnings(caplog):
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        (MCPError(-31000, "not now"), "not now"),
        ({**PAGE, "tools": 5}, "tools/list: the server's answer is invalid"),
        (listed(nextCursor="again"), "the server repeats the cursor 'again'"),
    ],
)
async def test_where_listing_fails_the_result_is_returned_and_it_is_tried_again_later(
    autojump_clock, connect, counting, caplog, tools, why
):
    server = counting(tools)
    async with connect(server) as client:
        for _ in range(3):
            assert (await client.call_tool("a")).structured_content == BAD
        [warning] = warnings(caplog)
        assert warning.startswith("Results are not checked, since the tools could not be listed")
        assert why in warning
        server.answers["tools/list"] = listed("a")
        await trio.sleep(LOOKUP_REST)
        with pytest.raises(InvalidResponse):
            await client.call_tool("a")


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({}, LOOKUP_TIMEOUT),
        ({"read_timeout_seconds": 5}, 5),
        ({"read_timeout_seconds": 5, "reset_timeout_on_progress": True}, 5),
        ({"max_total_timeout": 8}, 4),
        ({"read_timeout_seconds": 100}, LOOKUP_TIMEOUT),
    ],
)
async def test_a_list_that_does_not_come_takes_no_more_than_the_time_of_the_call(
    autojump_clock, connect, counting, script, caplog, options, seconds
):
    async with connect(counting(script.SILENCE)) as client:
        began = trio.current_time()
        assert (await client.call_tool("a", **options)).structured_content == BAD
        assert trio.current_time() - began == pytest.approx(seconds)
        # The next one does not wait.
        assert (await client.call_tool("a", **options)).structured_content == BAD
        assert trio.current_time() - began == pytest.approx(seconds)
    assert len(warnings(caplog)) == 1


async def test_a_call_may_be_cancelled_while_it_lists_and_another_takes_over(
    autojump_clock, connect, counting, script
):
    server = counting(script.SILENCE)
    errors = []
    async with connect(server) as client, trio.open_nursery() as nursery:

        async def call():
            try:
                await client.call_tool("a")
            except InvalidResponse as exc:
                errors.append(exc)

        leader = trio.CancelScope()

        async def lead():
            with leader:
                await client.call_tool("a")

        nursery.start_soon(lead)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        assert listings(server) == 1
        server.answers["tools/list"] = listed("a")
        leader.cancel()
    assert leader.cancelled_caught
    assert len(errors) == 1


async def test_a_lost_connection_costs_no_result_that_has_come(
    autojump_clock, connect, counting, script
):
    server = counting(script.SILENCE)
    async with connect(server) as client, trio.open_nursery() as nursery:
        results = []

        async def call():
            results.append(await client.call_tool("a"))

        nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        await server.channel.aclose()
    assert results[0].structured_content == BAD


# Where it lists


async def test_a_list_that_another_client_has_kept_is_enough(autojump_clock, connect, counting):
    store, servers = InMemoryResponseCacheStore(), [counting(), counting()]
    for server in servers:
        server.answers["tools/list"] = listed("a", ttlMs=60_000)
        cache = CacheConfig(store=store, target_id="x", clock=trio.current_time)
        async with connect(server, cache=cache) as client:
            with pytest.raises(InvalidResponse):
                await client.call_tool("a")
    assert [listings(server) for server in servers] == [1, 0]


async def test_what_the_user_does_to_a_list_changes_no_check(autojump_clock, connect, counting):
    async with connect(counting()) as client:
        for tool in (await client.session.list_tools()).tools:
            tool.output_schema.clear()
        with pytest.raises(InvalidResponse):
            await client.call_tool("a")


async def test_schemas_that_are_listed_again_stay_compiled(monkeypatch):
    from trio_mcp.client import _output_schema

    schemas, good = _output_schema.OutputSchemas(), {"n": 1}
    result = CallToolResult(content=[], structured_content=good)

    def page(schema):
        return [Tool(name="a", input_schema={"type": "object"}, output_schema=schema)]

    schemas.learn(page(dict(SCHEMA)))
    schemas.check("a", result)
    schemas.learn(page(dict(SCHEMA)))
    monkeypatch.setattr(_output_schema.hashlib, "sha256", None)
    schemas.check("a", result)


async def test_a_server_of_this_process_is_asked_once():
    mcp, seen = MCPServer(), []

    async def watch(ctx, call_next):
        seen.append(ctx.method)
        return await call_next(ctx)

    mcp.middleware.append(watch)

    @mcp.tool()
    def add(a: int, b: int) -> int:
        return a + b

    async with Client(mcp) as client:
        for _ in range(3):
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content
    assert [each for each in seen if each.startswith("tools/")] == [
        "tools/call", "tools/list", "tools/call", "tools/call",
    ]  # fmt: skip
