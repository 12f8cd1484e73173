"""What a server says it offers, and what a client may make of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
import trio.testing

from trio_mcp.client import CacheMode, Client
from trio_mcp.errors import MCPError, RequestTimeout, ToolError
from trio_mcp.mcpserver import Context, MCPServer, Message, TextResource
from trio_mcp.server import Server
from trio_mcp.types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ListToolsResult,
    PromptReference,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


def names(listing: Any) -> list[str]:
    return [each.name for each in listing]


# Discovery


@pytest.mark.req("R-230")
async def test_what_discovery_answers_says_who_answers() -> None:
    async with Client(MCPServer("lister", version="3", title="Lister")) as client:
        found = await client.session.discover()
    assert found.meta is not None
    assert found.meta[SERVER_INFO] == {"name": "lister", "version": "3", "title": "Lister"}


@pytest.mark.req("R-057", "R-058", "R-231", "R-232")
async def test_who_the_server_says_it_is_changes_nothing() -> None:
    async def sent_to(name: str, version: str) -> list[Any]:
        received: list[Any] = []

        async def note(ctx: Any, call_next: Any) -> Any:
            received.append((ctx.method, ctx.params, ctx.request_id))
            return await call_next(ctx)

        mcp = MCPServer(name, version=version, middleware=[note])
        mcp.add_tool(lambda: 0, "zero")
        async with Client(mcp) as client:
            assert client.server_info is not None
            assert client.server_info.name == name
            await client.list_tools()
            await client.call_tool("zero")
        return received

    assert await sent_to("unknown", "0") == await sent_to("trusted", "99")


@both_eras
@pytest.mark.req("R-241")
async def test_what_a_tool_says_of_itself_changes_nothing(mode: str) -> None:
    async def sent_for(annotations: ToolAnnotations | None) -> list[Any]:
        received: list[Any] = []

        async def note(ctx: Any, call_next: Any) -> Any:
            received.append((ctx.method, ctx.params))
            return await call_next(ctx)

        mcp = MCPServer(middleware=[note])
        mcp.add_tool(lambda: 0, "zero", annotations=annotations)
        async with Client(mcp, mode=mode) as client:
            await client.list_tools()
            received.append(await client.call_tool("zero"))
        return received

    harmless = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
    harmful = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)
    assert await sent_for(None) == await sent_for(harmless) == await sent_for(harmful)


# Lists


@both_eras
@pytest.mark.req("R-234", "R-235", "R-266", "R-283")
async def test_a_list_may_be_empty_at_first_and_become_so_again(mode: str) -> None:
    mcp = MCPServer()
    async with Client(mcp, mode=mode) as client:
        said = client.server_capabilities
        for each in (said.tools, said.resources, said.prompts):
            assert each is not None
            assert each.list_changed is True
        assert (await client.list_tools()).tools == []
        mcp.add_tool(lambda: 0, "zero")
        mcp.add_resource(TextResource(uri="a://b", name="b", text="c"))
        mcp.prompt("hello")(lambda: "Hi")
        refresh: CacheMode = "refresh"
        assert names((await client.list_tools(cache_mode=refresh)).tools) == ["zero"]
        assert names((await client.list_resources(cache_mode=refresh)).resources) == ["b"]
        assert names((await client.list_prompts(cache_mode=refresh)).prompts) == ["hello"]
        assert (await client.call_tool("zero")).content == [TextContent(text="0")]
        mcp.remove_tool("zero")
        assert (await client.list_tools(cache_mode=refresh)).tools == []


@both_eras
@pytest.mark.req("R-236", "R-237")
async def test_all_clients_see_the_same_tools_in_the_same_order(mode: str) -> None:
    mcp = MCPServer()
    for name in ("m", "z", "a", "k"):
        mcp.add_tool(lambda: 0, name)
    seen = []
    async with Client(mcp, mode=mode) as one, Client(mcp) as other:
        for client in (one, other):
            for _ in range(2):
                seen.append(names((await client.list_tools(cache_mode="bypass")).tools))
                # What was called before changes nothing.
                await client.call_tool("z")
    assert seen == [["m", "z", "a", "k"]] * 4


@both_eras
@pytest.mark.req("R-243", "R-246")
async def test_names_are_told_apart_by_case_and_are_there_once(mode: str, caplog: Any) -> None:
    mcp = MCPServer()
    mcp.add_tool(lambda: "lower", "getuser")
    mcp.add_tool(lambda: "upper", "getUser")
    mcp.add_tool(lambda: "again", "getUser")
    assert caplog.messages == ["Tool already exists: getUser"]
    async with Client(mcp, mode=mode) as client:
        assert names((await client.list_tools()).tools) == ["getuser", "getUser"]
        for name, text in (("getuser", "lower"), ("getUser", "upper")):
            assert (await client.call_tool(name)).content == [TextContent(text=text)]
        with pytest.raises(MCPError, match="Unknown tool: GETUSER"):
            await client.call_tool("GETUSER")


@both_eras
@pytest.mark.req("R-292", "R-328")
async def test_lists_of_prompts_come_in_pages_and_are_gone_through(mode: str) -> None:
    mcp = MCPServer(list_page_size=2)
    for name in "abcde":
        mcp.prompt(name)(lambda: "")
    async with Client(mcp, mode=mode) as client:
        first = await client.list_prompts()
        assert (names(first.prompts), first.next_cursor is not None) == (["a", "b"], True)
        assert [each.name async for each in client.iter_prompts()] == list("abcde")


@both_eras
@pytest.mark.req("R-293")
async def test_what_is_not_announced_is_not_served(mode: str) -> None:
    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[])

    async with Client(Server("bare", on_list_tools=list_tools), mode=mode) as client:
        assert client.server_capabilities.prompts is None
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("hello")
        assert caught.value.code == -32601
    async with Client(MCPServer(), mode=mode) as client:
        assert client.server_capabilities.completions is None
        reference = PromptReference(name="hello")
        with pytest.raises(MCPError) as caught:
            await client.complete(reference, {"name": "a", "value": ""})
        assert caught.value.code == -32601


# Results


@both_eras
@pytest.mark.req("R-255")
async def test_what_a_tool_failed_with_is_there_for_the_model(mode: str) -> None:
    mcp = MCPServer()

    @mcp.tool()
    def fly() -> str:
        raise ToolError("There is no wind.")

    async with Client(mcp, mode=mode) as client:
        result = await client.call_tool("fly")
    assert result.is_error
    assert result.content == [TextContent(text="Error executing tool fly: There is no wind.")]


@pytest.mark.req("R-252")
@pytest.mark.case("C062")
@pytest.mark.parametrize("value", [[1, 2], "text", 3, True, None, []])
async def test_structured_content_that_is_no_object_is_sent_as_it_is_with_its_text(
    value: Any,
) -> None:
    mcp = MCPServer()

    @mcp.tool()
    def give() -> CallToolResult:
        if value is None:
            # Where None stands for no structured content.
            return CallToolResult(content=[], extra={"structuredContent": None})
        return CallToolResult(content=[], structured_content=value)

    async def give_too(ctx: Any, params: Any) -> dict[str, Any]:
        return {"content": [], "structuredContent": value}

    for server in (mcp, Server("low", on_call_tool=give_too)):
        async with Client(server) as client:
            modern = await client.call_tool("give")
        assert modern.structured_content == value
        # Clients of the older era know of objects alone.
        async with Client(server, mode="legacy") as client:
            older = await client.call_tool("give")
        assert older.content == modern.content
        [block] = modern.content
        assert isinstance(block, TextContent)
        assert block.text in ("[1,2]", '"text"', "3", "true", "null", "[]")


@pytest.mark.req("R-251")
@pytest.mark.case("C062")
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_list_has_one_form_and_one_schema_in_every_revision(version: str) -> None:
    mcp = MCPServer()

    @mcp.tool()
    def primes() -> list[int]:
        return [2, 3]

    async with Client(mcp, mode=version) as client:
        [listed] = (await client.list_tools()).tools
        result = await client.call_tool("primes")
    assert listed.output_schema is not None
    assert listed.output_schema["properties"]["result"]["type"] == "array"
    assert listed.output_schema["required"] == ["result"]
    assert result.structured_content == {"result": [2, 3]}


async def test_a_text_that_says_it_already_is_enough() -> None:
    async def give(ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(text="One.")], structured_content=[1])

    async with Client(Server("low", on_call_tool=give)) as client:
        assert (await client.call_tool("give")).content == [TextContent(text="One.")]


@both_eras
@pytest.mark.req("R-289")
async def test_a_resource_in_a_prompt_says_where_it_is_from_and_what_it_is(mode: str) -> None:
    mcp = MCPServer()
    text = TextResourceContents(uri="notes://1", mime_type="text/markdown", text="# One")
    blob = BlobResourceContents(uri="pics://1", mime_type="image/png", blob="iVBORw==")

    @mcp.prompt()
    def show() -> list[Message]:
        return [
            Message(role="user", content=EmbeddedResource(resource=each)) for each in (text, blob)
        ]

    async with Client(mcp, mode=mode) as client:
        messages = (await client.get_prompt("show")).messages
    assert [each.content for each in messages] == [
        EmbeddedResource(resource=text),
        EmbeddedResource(resource=blob),
    ]


# Calls


@both_eras
@pytest.mark.req("R-250")
async def test_a_server_whose_tools_return_resources_serves_resources(mode: str) -> None:
    mcp = MCPServer()
    note = TextResourceContents(uri="notes://1", mime_type="text/plain", text="One")
    mcp.add_resource(TextResource(uri=note.uri, text=note.text))

    @mcp.tool()
    def find() -> EmbeddedResource:
        return EmbeddedResource(resource=note)

    async with Client(mcp, mode=mode) as client:
        [found] = (await client.call_tool("find")).content
        assert isinstance(found, EmbeddedResource)
        assert client.server_capabilities.resources is not None
        assert (await client.read_resource(found.resource.uri)).contents == [note]


@both_eras
@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
@pytest.mark.req("R-326")
async def test_no_log_message_of_the_package_itself_is_sent(mode: str, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    mcp = MCPServer()

    @mcp.tool()
    async def break_down(ctx: Context) -> None:
        await ctx.log("info", "mine")
        raise ValueError("secret")

    @mcp.resource("broken://disk")
    def broken() -> str:
        raise ValueError("secret")

    @mcp.prompt()
    def fail() -> str:
        raise ValueError("secret")

    heard: list[Any] = []

    async def hear(params: Any) -> None:
        heard.append(params.data)

    async with Client(mcp, mode=mode, logging_callback=hear, log_level="debug") as client:
        assert (await client.call_tool("break_down")).is_error
        for failing in (client.read_resource("broken://disk"), client.get_prompt("fail")):
            with pytest.raises(MCPError):
                await failing
        with pytest.raises(MCPError):
            await client.call_tool("nothing")
        await trio.testing.wait_all_tasks_blocked()
    # It has a lot to say, to who runs it.
    assert "secret" in caplog.text
    assert heard == ["mine"]


@both_eras
@pytest.mark.req("R-264")
async def test_a_call_may_be_given_a_time(mode: str, autojump_clock: Any) -> None:
    mcp = MCPServer()
    stopped: list[float] = []

    @mcp.tool()
    async def think() -> None:
        try:
            await trio.sleep_forever()
        finally:
            stopped.append(trio.current_time())

    async with Client(mcp, mode=mode) as client:
        start = trio.current_time()
        with pytest.raises(RequestTimeout):
            await client.call_tool("think", read_timeout_seconds=5)
        with trio.move_on_after(5):
            await client.call_tool("think")
    assert [at - start for at in stopped] == pytest.approx([5, 10])


@both_eras
@pytest.mark.req("R-265")
async def test_each_use_of_a_tool_can_be_logged_without_its_arguments(
    mode: str, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG, "trio_mcp.client")
    mcp = MCPServer()
    mcp.add_tool(lambda: 0, "zero")

    @mcp.tool()
    def keep(word: str) -> None:
        del word

    async with Client(mcp, mode=mode) as client:
        await client.call_tool("zero")
        await client.call_tool("keep", {"word": "password"})
    assert caplog.messages == ["The tool 'zero' is called", "The tool 'keep' is called"]


@both_eras
@pytest.mark.req("R-258", "R-259", "R-281")
async def test_middleware_may_limit_who_calls_what_and_how_often(
    mode: str, autojump_clock: Any
) -> None:
    mcp = MCPServer()
    mcp.add_tool(lambda: "done", "work")
    mcp.add_tool(lambda: "secret", "admin")

    @mcp.resource("vault://gold")
    def gold() -> str:
        return "gold"

    calls: list[float] = []

    async def guard(ctx: Any, call_next: Any) -> Any:
        params = ctx.params or {}
        if params.get("name") == "admin" or params.get("uri") == "vault://gold":
            raise MCPError(-31403, "Forbidden")
        if ctx.method == "tools/call":
            now = trio.current_time()
            calls[:] = [at for at in calls if at > now - 60]
            if len(calls) == 2:
                raise MCPError(-31429, "Too many calls", {"retryAfter": 60})
            calls.append(now)
        return await call_next(ctx)

    mcp.middleware.append(guard)
    async with Client(mcp, mode=mode) as client:
        for refused in (client.call_tool("admin"), client.read_resource("vault://gold")):
            with pytest.raises(MCPError, match="Forbidden"):
                await refused
        for _ in range(2):
            await client.call_tool("work")
        with pytest.raises(MCPError, match="Too many calls"):
            await client.call_tool("work")
        await trio.sleep(61)
        assert not (await client.call_tool("work")).is_error
