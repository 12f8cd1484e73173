"""Structured results are what their tool was listed with, or the call fails."""

from __future__ import annotations

import time

import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.client._output_schema import OutputSchemas
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.mcpserver import MCPServer
from trio_mcp.types import CallToolResult, Tool

SCHEMA = {
    "type": "object",
    "properties": {"degrees": {"type": "array", "items": {"type": "number"}}},
    "required": ["degrees"],
}
PAGE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
GOOD = {"degrees": [1, 2.5]}
BAD = {"degrees": [1, "warm"]}


def tool(name="weather", schema=SCHEMA):
    listed = {"name": name, "inputSchema": {"type": "object"}}
    return listed if schema is None else {**listed, "outputSchema": schema}


def answered(content=None, **members):
    result = {"resultType": "complete", "content": [], **members}
    return result if content is None else {**result, "structuredContent": content}


@pytest.fixture
def weather(script, discovery, initialized):
    def weather(result, tools=None):
        return script(
            server__discover=discovery,
            initialize=initialized(),
            tools__list={**PAGE, "tools": [tool()] if tools is None else tools},
            tools__call=result,
        )

    return weather


@pytest.mark.req("R-254", "R-262")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_result_that_does_not_fit_is_one_error_with_the_place(
    autojump_clock, connect, weather, mode
):
    async with connect(weather(answered(BAD)), mode=mode) as client:
        await client.list_tools()
        with pytest.raises(InvalidResponse, match="'weather' does not fit") as caught:
            await client.call_tool("weather")
        assert "structuredContent.degrees[1]: expected number, got string 'warm'" in str(
            caught.value
        )
        assert caught.value.data == {"path": "structuredContent.degrees[1]"}


@pytest.mark.req("R-254")
async def test_a_result_that_fits_is_returned(autojump_clock, connect, weather):
    async with connect(weather(answered(GOOD))) as client:
        await client.list_tools()
        assert (await client.call_tool("weather")).structured_content == GOOD


async def test_missing_structured_content_is_told(autojump_clock, connect, weather):
    async with connect(weather(answered())) as client:
        await client.list_tools()
        with pytest.raises(InvalidResponse, match="no structured content"):
            await client.call_tool("weather")


async def test_the_result_of_a_tool_that_failed_is_not_checked(autojump_clock, connect, weather):
    async with connect(weather(answered(isError=True))) as client:
        await client.list_tools()
        assert (await client.call_tool("weather")).is_error


async def test_asked_for_a_check_the_session_lists_what_it_does_not_know(
    autojump_clock, connect, weather
):
    server = weather(answered(BAD))
    async with connect(server) as client:
        result = CallToolResult(content=[], structured_content=BAD)
        for _ in range(2):
            with pytest.raises(InvalidResponse, match=r"degrees\[1\]"):
                await client.session.validate_tool_result("weather", result)
        await client.session.validate_tool_result("no such tool", result)
        await client.session.validate_tool_result(
            "weather", CallToolResult(content=[], structured_content=GOOD)
        )
    assert server.methods.count("tools/list") == 1


async def test_asked_for_a_check_what_listing_raises_is_raised(autojump_clock, connect, weather):
    server = weather(answered(BAD))
    server.answers["tools/list"] = MCPError(-31000, "not now")
    async with connect(server) as client:
        with pytest.raises(MCPError, match="not now"):
            await client.session.validate_tool_result(
                "weather", CallToolResult(content=[], structured_content=BAD)
            )


async def test_the_tool_may_be_on_a_later_page(autojump_clock, connect, script, discovery):
    def page(params):
        if params.get("cursor") == "2":
            return {**PAGE, "tools": [tool()]}
        return {**PAGE, "tools": [tool("other", None)], "nextCursor": "2"}

    server = script(server__discover=discovery, tools__list=page)
    async with connect(server) as client:
        bad = CallToolResult(content=[], structured_content=BAD)
        with pytest.raises(InvalidResponse, match="'weather'"):
            await client.session.validate_tool_result("weather", bad)


async def test_a_schema_counts_as_it_was_listed_last(autojump_clock, connect, weather):
    server = weather(answered(BAD))
    async with connect(server, cache=None) as client:
        await client.list_tools()
        with pytest.raises(InvalidResponse):
            await client.call_tool("weather")
        server.answers["tools/list"] = {**PAGE, "tools": [tool(schema={"type": "object"})]}
        await client.list_tools()
        assert (await client.call_tool("weather")).structured_content == BAD
        server.answers["tools/list"] = {**PAGE, "tools": [tool(schema=None)]}
        await client.list_tools()
        assert (await client.call_tool("weather")).structured_content == BAD


async def test_lists_from_a_shared_cache_count_too(autojump_clock, connect, weather):
    from trio_mcp.client import CacheConfig, InMemoryResponseCacheStore

    store = InMemoryResponseCacheStore()
    page = {**PAGE, "ttlMs": 60_000, "tools": [tool()]}
    for _ in range(2):
        server = weather(answered(BAD))
        server.answers["tools/list"] = page
        cache = CacheConfig(store=store, target_id="weather", clock=trio.current_time)
        async with connect(server, cache=cache) as client:
            await client.list_tools()
            with pytest.raises(InvalidResponse):
                await client.call_tool("weather")
    assert "tools/list" not in server.methods


@pytest.mark.req("R-263")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no such type"},
        {"$ref": "https://example.com/schema"},
        {"$schema": "https://example.com/dialect", "type": "object"},
    ],
)
async def test_a_schema_that_cannot_be_used_is_told(autojump_clock, connect, weather, schema):
    async with connect(weather(answered(GOOD), [tool(schema=schema)])) as client:
        await client.list_tools()
        with pytest.raises(InvalidResponse, match="cannot be checked: outputSchema"):
            await client.call_tool("weather")


@pytest.mark.req("R-044")
async def test_a_schema_that_takes_long_for_what_came_does_not_hold_the_client_up(
    autojump_clock, connect, weather
):
    many = {"allOf": [{"minimum": -limit} for limit in range(90)]}
    more = {"allOf": [{"$ref": "#/$defs/many"}] * 90}
    schema = {
        "type": "object",
        "$defs": {"many": many, "more": more},
        "properties": {"degrees": {"items": {"$ref": "#/$defs/more"}}},
    }
    content = {"degrees": [1] * 100_000}
    async with connect(weather(answered(content), [tool(schema=schema)])) as client:
        await client.list_tools()
        begun = time.process_time()
        with pytest.raises(
            InvalidResponse, match="structuredContent: expected a value whose check"
        ):
            await client.call_tool("weather")
        assert time.process_time() - begun < 2  # 4 s and more, if it were checked


@pytest.mark.parametrize("pattern", [r"^[\ud800-\udbff]", r"\q", "a{100000}"])
async def test_a_pattern_that_cannot_be_decided_is_logged_once_and_nothing_is_checked(
    autojump_clock, connect, weather, caplog, pattern
):
    tools = [tool(schema={"type": "object", "properties": {"degrees": {"pattern": pattern}}})]
    server = weather(answered(BAD), tools)
    async with connect(server, cache=None) as client:
        for _ in range(2):
            await client.list_tools()
            assert (await client.call_tool("weather")).structured_content == BAD
        [record] = caplog.records
        assert record.name == "trio_mcp.client"
        assert record.getMessage().startswith(
            "The results of the tool 'weather' are not checked: outputSchema.properties.degrees"
        )
        assert "no regular expression that can be used" in record.getMessage()
        server.answers["tools/call"] = answered()
        with pytest.raises(InvalidResponse, match="no structured content"):
            await client.call_tool("weather")


async def test_what_is_no_object_is_checked_where_the_revision_has_it(
    autojump_clock, connect, weather
):
    tools = [tool(schema={"type": ["array", "null"], "items": {"type": "integer"}})]
    for content, fits in ([1, 2], True), (["a"], False):
        async with connect(weather(answered(content), tools)) as client:
            await client.list_tools()
            if fits:
                assert (await client.call_tool("weather")).structured_content == content
            else:
                with pytest.raises(InvalidResponse, match=r"structuredContent\[0\]"):
                    await client.call_tool("weather")


@pytest.mark.parametrize("fits", [True, False])
async def test_a_null_is_checked_and_is_not_missing(autojump_clock, connect, weather, fits):
    tools = [tool(schema={"type": "null" if fits else "array"})]
    async with connect(weather(answered(structuredContent=None), tools)) as client:
        await client.list_tools()
        if fits:
            assert (await client.call_tool("weather")).structured_content is None
        else:
            with pytest.raises(InvalidResponse, match="structuredContent: expected"):
                await client.call_tool("weather")


def listed(name, schema=SCHEMA):
    return Tool(name=name, input_schema={"type": "object"}, output_schema=schema)


def test_equal_schemas_are_compiled_once(monkeypatch):
    import trio_mcp._codec._schema as schema

    compiled = []

    def compiling(value, **options):
        compiled.append(options)
        return original(value, **options)

    original = schema.compile_validator
    monkeypatch.setattr(schema, "compile_validator", compiling)
    schemas = OutputSchemas()
    good = CallToolResult(content=[], structured_content=GOOD)
    for _ in range(3):
        schemas.learn([listed("a", dict(SCHEMA)), listed("b", dict(SCHEMA))])
        schemas.check("a", good)
        schemas.check("b", good)
    # A peer's schema never becomes code.
    assert compiled == [{"trusted": False, "where": "outputSchema"}]


async def test_our_own_server_passes_in_both_eras():
    mcp = MCPServer("adder")

    @mcp.tool()
    def add(a: int, b: int) -> int:
        return a + b

    for mode in ("auto", "legacy"):
        async with Client(mcp, mode=mode) as client:
            await client.list_tools()
            result = await client.call_tool("add", {"a": 1, "b": 2})
            assert result.structured_content == {"result": 3}
