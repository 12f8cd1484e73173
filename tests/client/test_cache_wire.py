"""What the response cache asks a server for, and when."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trio_mcp.client import CacheConfig, Client
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import CacheHint
from trio_mcp.types import ElicitResult, InputRequiredResult

FRESH = {"resultType": "complete", "ttlMs": 10_000, "cacheScope": "public"}


def tool(name):
    return {"name": name, "inputSchema": {"type": "object"}}


def clocked():
    return CacheConfig(clock=trio.current_time)


def asked(server, method):
    return [each.params for each in server.received if getattr(each, "method", "") == method]


def cursors(server):
    return [params.get("cursor") for params in asked(server, "tools/list")]


@pytest.fixture
def pages():
    """Two pages of tools, which stay fresh for ten seconds."""

    def list_tools(params):
        cursor = params.get("cursor")
        if cursor is None:
            return {**FRESH, "tools": [tool("a")], "nextCursor": "second"}
        if cursor == "second":
            return {**FRESH, "tools": [tool("b")]}
        raise AssertionError(cursor)

    return list_tools


@pytest.mark.req("R-303", "R-304", "R-308", "R-309")
async def test_an_expired_page_is_asked_for_again_when_it_is_wanted(
    autojump_clock, connect, script, discovery, pages
):
    server = script(server__discover=discovery, tools__list=pages)
    async with connect(server, cache=clocked()) as client:
        assert [each.name async for each in client.iter_tools()] == ["a", "b"]
        await trio.sleep(5)
        await client.list_tools(cursor="second")
        assert cursors(server) == [None, "second"]
        # Nobody asks in the background, however stale it has become.
        await trio.sleep(1000)
        assert cursors(server) == [None, "second"]
        await client.list_tools(cursor="second")
        assert cursors(server) == [None, "second", "second"]
        # The whole list begins without a cursor.
        assert [each.name async for each in client.iter_tools()] == ["a", "b"]
        assert cursors(server) == [None, "second", "second", None]


@pytest.mark.req("R-310")
async def test_a_cursor_that_has_become_invalid_makes_the_list_begin_anew(
    autojump_clock, connect, script, discovery, pages
):
    answers = [pages]

    def list_tools(params):
        return answers[-1](params)

    def refuse(params):
        if params.get("cursor") is not None:
            return MCPError(-32602, "Invalid cursor")
        return {**FRESH, "tools": [tool("c")]}

    server = script(server__discover=discovery, tools__list=list_tools)
    async with connect(server, cache=clocked()) as client:
        first = await client.list_tools()
        answers.append(refuse)
        with pytest.raises(MCPError, match="Invalid cursor"):
            await client.list_tools(cursor=first.next_cursor)
        # The first page was fresh, and belongs to a list that there is no more.
        assert [each.name async for each in client.iter_tools()] == ["c"]


@pytest.mark.req("R-298", "R-300", "R-301")
@pytest.mark.parametrize("ttl", [{"ttlMs": 0}, {}, {"ttlMs": -5}])
async def test_what_is_not_said_to_be_fresh_is_stale_at_once(
    autojump_clock, connect, script, discovery, ttl
):
    answer = {"resultType": "complete", "cacheScope": "public", "tools": [], **ttl}
    server = script(server__discover=discovery, tools__list=answer)
    async with connect(server) as client:
        result = await client.list_tools()
        await client.list_tools()
    assert result.ttl_ms in (0, None)
    assert len(cursors(server)) == 2


@pytest.mark.req("R-296")
async def test_an_answer_serves_its_own_method_and_params_alone(
    autojump_clock, connect, script, discovery
):
    def read(params):
        return {**FRESH, "contents": [{"uri": params["uri"], "text": params["uri"]}]}

    server = script(
        server__discover={**discovery, "capabilities": {"resources": {}, "prompts": {}}},
        resources__read=read,
        resources__list={**FRESH, "resources": []},
        resources__templates__list={**FRESH, "resourceTemplates": []},
        prompts__list={**FRESH, "prompts": []},
    )
    async with connect(server, cache=clocked()) as client:
        for _ in range(2):
            for uri in ("x://a", "x://b"):
                assert (await client.read_resource(uri)).contents[0].text == uri
            await client.list_resources()
            await client.list_resource_templates()
            await client.list_prompts()
    methods = server.methods[1:]
    assert methods == [
        "resources/read", "resources/read", "resources/list", "resources/templates/list",
        "prompts/list",
    ]  # fmt: skip


@pytest.mark.req("R-297")
async def test_what_came_of_answers_is_not_kept(autojump_clock, connect, script, discovery):
    question = {
        "resultType": "input_required",
        "inputRequests": {
            "who": {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "message": "Who?",
                    "requestedSchema": {"type": "object", "properties": {}},
                },
            }
        },
        "requestState": "s",
    }

    def read(params):
        if "inputResponses" not in params:
            return question
        return {**FRESH, "contents": [{"uri": params["uri"], "text": "yours"}]}

    async def accept(context, params):
        return ElicitResult(action="accept", content={})

    server = script(
        server__discover={**discovery, "capabilities": {"resources": {}}}, resources__read=read
    )
    async with connect(server, cache=clocked(), elicitation_callback=accept) as client:
        for _ in range(2):
            assert (await client.read_resource("x://y")).contents[0].text == "yours"
    assert len(asked(server, "resources/read")) == 4


@pytest.mark.req("R-297")
@pytest.mark.parametrize(
    "given",
    [
        {"input_responses": {"who": ElicitResult(action="accept", content={})}},
        {"request_state": "s"},
    ],
    ids=["answers", "a state"],
)
async def test_what_came_of_answers_by_hand_is_neither_kept_nor_found_among_what_was(
    autojump_clock, connect, script, discovery, given
):
    def read(params):
        is_retry = "inputResponses" in params or "requestState" in params
        text = "for you" if is_retry else "for all"
        return {**FRESH, "contents": [{"uri": params["uri"], "text": text}]}

    server = script(
        server__discover={**discovery, "capabilities": {"resources": {}}}, resources__read=read
    )
    async with connect(server, cache=clocked()) as client:
        for more, text in (
            (given, "for you"),
            ({}, "for all"),
            (given, "for you"),
            ({}, "for all"),
        ):
            result = await client.read_resource("x://y", **more)
            assert result.contents[0].text == text
    # What is for all was asked for once.
    assert len(asked(server, "resources/read")) == 3


@pytest.mark.req("R-307")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_was_told_to_have_changed_is_asked_for_again(autojump_clock, mode):
    mcp = MCPServer(cache_hints={"tools/list": CacheHint(ttl_ms=1_000_000)})
    listings = []

    async def count(ctx, call_next):
        if ctx.method == "tools/list":
            listings.append(1)
        return await call_next(ctx)

    mcp.middleware.append(count)
    mcp.add_tool(lambda: 0, "a")
    config = CacheConfig(clock=trio.current_time, default_ttl_ms=1_000_000)
    async with Client(mcp, mode=mode, cache=config) as client:
        seen = []

        listening = trio.Event()

        async def listen():
            async with client.listen(tools_list_changed=True) as subscription:
                listening.set()
                async for _ in subscription:
                    listed = (await client.list_tools()).tools
                    seen.append([each.name for each in listed])

        async with trio.open_nursery() as nursery:
            if mode == "auto":
                nursery.start_soon(listen)
                await listening.wait()
            await client.list_tools()
            await client.list_tools()
            assert len(listings) == 1
            mcp.add_tool(lambda: 0, "b")
            await trio.sleep(1)
            await wait_all_tasks_blocked()
            names = [each.name for each in (await client.list_tools()).tools]
            assert names == ["a", "b"]
            assert len(listings) == 2
            if mode == "auto":
                # Evicted before the event was handed out.
                assert seen == [["a", "b"]]
            nursery.cancel_scope.cancel()


@pytest.mark.req("R-311")
async def test_all_pages_of_a_list_say_the_same_of_who_may_keep_them(autojump_clock):
    mcp = MCPServer(list_page_size=2, cache_hints={"tools/list": CacheHint(5000, "public")})
    for name in "abcde":
        mcp.add_tool(lambda: 0, name)
    async with Client(mcp) as client:
        said, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            said.append((page.ttl_ms, page.cache_scope))
            cursor = page.next_cursor
            if cursor is None:
                break
    assert said == [(5000, "public")] * 3


@pytest.mark.req("R-295", "R-297")
async def test_a_question_says_nothing_of_freshness():
    mcp = MCPServer(cache_hints={"resources/read": CacheHint(5000, "public")})

    @mcp.resource("ask://{name}")
    async def ask(name: str, ctx: Context) -> str | InputRequiredResult:
        if ctx.request_state is None:
            return InputRequiredResult(request_state="state")
        return name

    async with Client(mcp) as client:
        asked_back = await client.session.read_resource("ask://a", allow_input_required=True)
        assert isinstance(asked_back, InputRequiredResult)
        assert not {"ttlMs", "cacheScope"} & set(asked_back.extra)
        assert (await client.read_resource("ask://a")).ttl_ms == 5000
