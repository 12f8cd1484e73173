from __future__ import annotations

from contextlib import asynccontextmanager

import attrs
import pytest
import trio
import trio.testing

from trio_mcp.client import Client
from trio_mcp.errors import (
    MCPDeprecationWarning,
    MCPError,
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UrlElicitationRequiredError,
)
from trio_mcp.server import CacheHint, NotificationOptions, Server, ServerRequestContext
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    CallToolResult,
    ClientCapabilities,
    CompleteResult,
    Completion,
    ElicitRequestURLParams,
    EmptyResult,
    Icon,
    InitializedNotification,
    JSONRPCNotification,
    JSONRPCRequest,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceResult,
    RootsCapability,
    ServerCapabilities,
    SetLevelRequestParams,
    TextContent,
)

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


async def call_tool(ctx, params):
    return CallToolResult(content=[TextContent(text=params.name)])


async def list_tools(ctx, params):
    return ListToolsResult(tools=[])


async def list_prompts(ctx, params):
    return ListPromptsResult(prompts=[])


async def complete(ctx, params):
    return CompleteResult(completion=Completion(values=["a"]))


async def empty(ctx, params):
    return EmptyResult()


# What the server says of itself


@BOTH_ERAS
async def test_capabilities_are_those_of_the_handlers(autojump_clock, mode):
    async with Client(Server("bare"), mode=mode) as client:
        said = client.server_capabilities
        assert (said.tools, said.prompts, said.resources, said.completions, said.logging) == (
            (None,) * 5
        )
    server = Server(
        "full", on_list_tools=list_tools, on_completion=complete, on_set_logging_level=empty
    )
    async with Client(server, mode=mode) as client:
        said = client.server_capabilities
        assert said.tools is not None
        assert said.completions is not None
        assert said.logging is not None
        assert said.prompts is None


@BOTH_ERAS
async def test_a_handler_added_while_it_runs_is_served(autojump_clock, mode):
    server = Server("growing")
    async with Client(server, mode=mode) as client:
        session = client.session
        with pytest.raises(MCPError) as caught:
            await session.list_prompts()
        assert caught.value.code == -32601
        server.add_request_handler("prompts/list", PaginatedRequestParams, list_prompts)
        assert (await session.list_prompts()).prompts == []
        server.remove_request_handler("prompts/list")
        with pytest.raises(MCPError):
            await session.list_prompts()


async def test_changes_are_announced_as_told_in_the_older_era(autojump_clock):
    server = Server("changing", on_list_tools=list_tools)
    server.notification_options = NotificationOptions(tools_changed=True)
    async with Client(server, mode="legacy") as client:
        assert client.server_capabilities.tools.list_changed is True
    async with Client(server) as client:
        # Nothing serves subscriptions/listen, so no change can be told.
        assert client.server_capabilities.tools.list_changed is None


@pytest.mark.req("R-528")
async def test_the_handshake_says_who_the_server_is(autojump_clock):
    server = Server(
        "me",
        version="3",
        title="Me",
        description="A server",
        website_url="https://example.org",
        instructions="Use me",
        icons=[Icon(src="https://example.org/i.png")],
    )
    async with Client(server, mode="legacy") as client:
        answer = client.session.initialize_result
        assert answer.protocol_version == "2025-11-25"
        assert answer.capabilities == ServerCapabilities()
        info = client.server_info
        assert info == answer.server_info
        assert (info.name, info.version, info.title) == ("me", "3", "Me")
        assert info.icons[0].src == "https://example.org/i.png"
        assert client.instructions == "Use me"
    async with Client(server, mode="2024-11-05") as client:
        assert client.server_info.title is None
        assert client.server_info.extra == {}


async def test_a_type_of_params_may_be_named_and_loads_on_first_use(autojump_clock):
    seen = []

    async def look(ctx, params):
        seen.append(params)
        return ListPromptsResult(prompts=[])

    server = Server("me")
    server.add_request_handler("prompts/list", "PaginatedRequestParams", look)
    async with Client(server, mode="legacy") as client:
        await client.list_prompts(cursor="a")
        assert (type(seen[0]), seen[0].cursor) == (PaginatedRequestParams, "a")
        with pytest.raises(MCPError, match="cursor") as caught:
            await client.session._require_link().request("prompts/list", {"cursor": 5})
        assert caught.value.code == -32602


@pytest.mark.req("R-056", "R-068", "R-008")
async def test_every_modern_result_says_who_answers_and_what_it_is(autojump_clock):
    async def custom(ctx, params):
        return {"own": 1}

    async def nothing(ctx, params):
        return None

    server = Server("me", version="3", on_list_tools=list_tools, on_call_tool=call_tool)
    server.add_request_handler("vendor/custom", dict, custom)
    server.add_request_handler("vendor/nothing", dict, nothing)
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    async with served(server) as far:
        for method, params in (
            ("server/discover", {}),
            ("tools/list", {}),
            ("tools/call", {"name": "x"}),
            ("vendor/custom", {}),
            ("vendor/nothing", {}),
        ):
            await far.send(
                [JSONRPCRequest(id=method, method=method, params={**params, "_meta": envelope})]
            )
            (answer,) = await far.receive()
            assert answer.result["resultType"] == "complete"
            assert answer.result["_meta"][SERVER_INFO] == {"name": "me", "version": "3"}


@asynccontextmanager
async def served(server):
    """Serve over a channel; yields the client's end."""
    near, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, near)
        yield far
        nursery.cancel_scope.cancel()


async def test_meta_of_a_handler_stays_beside_the_servers(autojump_clock):
    mine = {"com.example/x": 1}

    async def handler(ctx, params):
        return CallToolResult(content=[], meta=mine)

    async with Client(Server("me", on_call_tool=handler)) as client:
        result = await client.call_tool("x")
        assert result.meta["com.example/x"] == 1
        assert result.meta[SERVER_INFO]["name"] == "me"
    assert mine == {"com.example/x": 1}


# What a handler knows


async def test_a_handler_knows_its_request(autojump_clock):
    seen = []

    async def handler(ctx, params):
        seen.append(ctx)
        return CallToolResult(content=[])

    server = Server("me", on_call_tool=handler)
    async with Client(server) as client:
        await client.call_tool("x", {"a": 1}, meta={"com.example/k": "v"})
    ctx = seen[0]
    assert isinstance(ctx, ServerRequestContext)
    assert ctx.method == "tools/call"
    assert ctx.protocol_version == "2026-07-28"
    assert ctx.params["arguments"] == {"a": 1}
    assert ctx.meta["com.example/k"] == "v"
    assert ctx.request_id is not None
    assert ctx.session.client_params.client_info.name == "trio-mcp"


@pytest.mark.req("R-026", "R-053")
async def test_a_modern_request_is_judged_by_its_own_capabilities_alone(autojump_clock):
    seen = []

    async def handler(ctx, params):
        wanted = ClientCapabilities(roots=RootsCapability())
        seen.append(ctx.session.check_client_capability(wanted))
        return CallToolResult(content=[])

    server = Server("me", on_call_tool=handler)
    async with served(server) as far:
        for request_id, capabilities in enumerate(({"roots": {}}, {}, {"roots": {}})):
            envelope = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            }
            params = {"name": "x", "_meta": envelope}
            await far.send([JSONRPCRequest(id=request_id, method="tools/call", params=params)])
            await far.receive()
    assert seen == [True, False, True]


@pytest.mark.req("R-027", "R-028")
async def test_both_eras_live_on_one_connection(autojump_clock):
    async def handler(ctx, params):
        return CallToolResult(content=[TextContent(text=ctx.protocol_version)])

    server = Server("me", on_call_tool=handler)
    async with served(server) as far:

        async def ask(method, params, request_id):
            await far.send([JSONRPCRequest(id=request_id, method=method, params=params)])
            (answer,) = await far.receive()
            return answer

        modern = {
            "name": "x",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }
        answer = await ask("tools/call", modern, 1)
        assert answer.result["content"][0]["text"] == "2026-07-28"
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        assert (await ask("initialize", hello, 2)).result["protocolVersion"] == "2025-06-18"
        older = await ask("tools/call", {"name": "x"}, 3)
        assert older.result["content"][0]["text"] == "2025-06-18"
        assert "resultType" not in older.result
        answer = await ask("tools/call", modern, 4)
        assert answer.result["resultType"] == "complete"


async def test_initialize_is_in_force_before_the_next_message(autojump_clock):
    async def slow(ctx, call_next):
        if ctx.method == "initialize":
            await trio.sleep(5)
        return await call_next(ctx)

    server = Server("me", on_call_tool=call_tool)
    server.middleware.append(slow)
    async with served(server) as far:
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        await far.send(
            [
                JSONRPCRequest(id=1, method="initialize", params=hello),
                JSONRPCNotification(method="notifications/initialized"),
                JSONRPCRequest(id=2, method="tools/call", params={"name": "x"}),
            ]
        )
        (first,) = await far.receive()
        assert (first.id, first.result["content"][0]["text"]) == (2, "x")
        assert (await far.receive())[0].id == 1


async def test_a_refused_initialize_may_be_tried_again(autojump_clock):
    refusals = [MCPError(-32602, "not yet")]

    async def refuse(ctx, call_next):
        if refusals:
            raise refusals.pop()
        return await call_next(ctx)

    server = Server("me")
    server.middleware.append(refuse)
    async with served(server) as far:
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        answers = []
        for request_id in (1, 2):
            await far.send([JSONRPCRequest(id=request_id, method="initialize", params=hello)])
            answers += await far.receive()
        assert answers[0].error.message == "not yet"
        assert answers[1].result["protocolVersion"] == "2025-06-18"


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({}, "params.protocolVersion"),
        ({"protocolVersion": 1, "capabilities": {}, "clientInfo": {}}, "params.protocolVersion"),
        ({"protocolVersion": "x", "capabilities": [], "clientInfo": {}}, "params.capabilities"),
        ({"protocolVersion": "x", "capabilities": {}, "clientInfo": {}}, "params.clientInfo.name"),
    ],
)
async def test_a_wrong_initialize_is_refused_with_the_path(autojump_clock, params, path):
    async with served(Server("me")) as far:
        await far.send([JSONRPCRequest(id=1, method="initialize", params=params)])
        (answer,) = await far.receive()
        assert answer.error.code == -32602
        assert path in answer.error.message
        # It did not count: a right one is accepted.
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        await far.send([JSONRPCRequest(id=2, method="initialize", params=hello)])
        assert (await far.receive())[0].result["protocolVersion"] == "2025-06-18"


@BOTH_ERAS
@pytest.mark.parametrize(
    ("arguments", "path"), [("list", "params.arguments"), ([1], "params.arguments")]
)
async def test_wrong_params_are_refused_with_the_path(
    autojump_clock, ask_raw, mode, arguments, path
):
    async with Client(Server("me", on_call_tool=call_tool), mode=mode) as client:
        with pytest.raises(MCPError, match=path) as caught:
            await ask_raw(client, "tools/call", {"name": "x", "arguments": arguments})
        assert caught.value.code == -32602


# Errors of handlers


@pytest.mark.req("R-020", "R-598")
@pytest.mark.parametrize(
    "raised",
    [ResourceNotFoundError("nothing there"), MCPError(-32602, "nothing there", {"uri": "x://y"})],
)
async def test_a_missing_resource_has_the_code_of_its_era(autojump_clock, raised):
    async def read(ctx, params):
        raise raised

    for mode, code in (("auto", -32602), ("legacy", -32002)):
        async with Client(Server("me", on_read_resource=read), mode=mode) as client:
            with pytest.raises(MCPError, match="nothing there") as caught:
                await client.read_resource("x://y")
            assert caught.value.code == code
            assert caught.value.data == {"uri": "x://y"}


@pytest.mark.req("R-020")
async def test_codes_that_a_modern_client_does_not_know_are_not_sent_to_it(autojump_clock, caplog):
    wanted = ElicitRequestURLParams(message="m", url="https://x", elicitation_id="e")
    raised = [MCPError(-32002, "gone", {"uri": "x://y"}), UrlElicitationRequiredError([wanted])]

    async def handler(ctx, params):
        raise raised[int(params.name)]

    server = Server("me", on_call_tool=handler)
    for mode, codes in (("auto", (-32602, -32603)), ("legacy", (-32002, -32042))):
        async with Client(server, mode=mode) as client:
            for number, code in enumerate(codes):
                with pytest.raises(MCPError) as caught:
                    await client.call_tool(str(number))
                assert caught.value.code == code
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert "ask by an InputRequiredResult" in record.exc_text


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18"])
async def test_the_error_that_asks_for_a_url_is_sent_where_it_exists(caplog, version):
    async def handler(ctx, params):
        wanted = ElicitRequestURLParams(message="m", url="https://x", elicitation_id="e")
        raise UrlElicitationRequiredError([wanted])

    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Server("me", on_call_tool=handler).run, far)
        hello = {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        }
        await near.send([JSONRPCRequest(id=1, method="initialize", params=hello)])
        (welcome,) = await near.receive()
        assert welcome.result["protocolVersion"] == version
        await near.send([JSONRPCRequest(id=2, method="tools/call", params={"name": "pay"})])
        (refused,) = await near.receive()
        assert refused.error.code == -32603
        nursery.cancel_scope.cancel()
    assert f"the error -32042 does not exist in revision {version}" in caplog.text


@pytest.mark.parametrize("raised", [ToolError("text to show"), ResourceError("text to show")])
async def test_errors_made_to_be_shown_show_their_text(autojump_clock, raised):
    async def handler(ctx, params):
        raise raised

    async with Client(Server("me", on_call_tool=handler)) as client:
        with pytest.raises(MCPError, match="text to show") as caught:
            await client.call_tool("x")
        assert caught.value.code == -32603


async def test_a_handler_that_returns_no_result_is_a_defect(autojump_clock, caplog):
    async def handler(ctx, params):
        return "text"

    async with Client(Server("me", on_call_tool=handler)) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("x")
        assert caught.value.code == -32603
    assert "not str" in caplog.text


@BOTH_ERAS
@pytest.mark.parametrize(
    "result", [{"x": b"bytes"}, {"x": {1, 2}}, {1: "x"}, {"x": float("nan")}, {"x": "\ud800"}]
)
async def test_a_result_that_is_no_json_is_a_defect_of_the_handler(
    autojump_clock, mode, result, caplog
):
    async def raw(ctx, params):
        return result

    async def typed(ctx, params):
        return CallToolResult(content=[], structured_content=result)

    for handler in (raw, typed):
        async with Client(Server("me", on_call_tool=handler), mode=mode) as client:
            with pytest.raises(MCPError, match="Internal server error"):
                await client.call_tool("x")
        (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
        assert record.exc_info is not None
        caplog.clear()


# Middleware and lifespan


@BOTH_ERAS
async def test_middleware_is_round_every_request_the_first_outermost(autojump_clock, mode):
    seen = []

    def named(name):
        async def middleware(ctx, call_next):
            seen.append((name, ctx.method))
            result = await call_next(ctx)
            seen.append((name, "after"))
            return result

        return middleware

    server = Server("me", on_call_tool=call_tool)
    server.middleware += [named("outer"), named("inner")]
    async with Client(server, mode=mode) as client:
        await trio.testing.wait_all_tasks_blocked()
        seen.clear()
        await client.call_tool("x")
    assert seen == [
        ("outer", "tools/call"),
        ("inner", "tools/call"),
        ("inner", "after"),
        ("outer", "after"),
    ]


async def test_middleware_may_refuse_change_and_answer(autojump_clock):
    async def middleware(ctx, call_next):
        name = ctx.params.get("name")
        if name == "refuse":
            raise MCPError(-31000, "not today")
        if name == "answer":
            return CallToolResult(content=[TextContent(text="by middleware")])
        if name == "change":
            return await call_next(attrs.evolve(ctx, params={**ctx.params, "name": "changed"}))
        return await call_next(ctx)

    server = Server("me", on_call_tool=call_tool)
    server.middleware.append(middleware)
    async with Client(server, mode="legacy") as client:
        with pytest.raises(MCPError, match="not today"):
            await client.call_tool("refuse")
        assert (await client.call_tool("answer")).content[0].text == "by middleware"
        assert (await client.call_tool("change")).content[0].text == "changed"


async def test_the_lifespan_is_round_the_run_and_its_value_in_the_context(autojump_clock):
    events = []

    @asynccontextmanager
    async def lifespan(server):
        events.append(f"open {server.name}")
        yield {"db": 1}
        events.append("close")

    async def handler(ctx, params):
        events.append(ctx.lifespan_context)
        return CallToolResult(content=[])

    server = Server("me", lifespan=lifespan, on_call_tool=handler)
    async with Client(server) as client:
        await client.call_tool("x")
        async with Client(server) as second:
            await second.call_tool("x")
    assert events == ["open me", {"db": 1}, "open me", {"db": 1}, "close", "close"]


async def test_a_lifespan_that_fails_is_the_error_of_the_client(autojump_clock):
    @asynccontextmanager
    async def lifespan(server):
        raise ValueError("no database")
        yield

    with pytest.raises(ValueError, match="no database"):
        async with Client(Server("me", lifespan=lifespan)):
            pass


# Caching


@pytest.mark.parametrize("hint", [None, CacheHint(ttl_ms=5000, scope="public")])
async def test_results_say_how_long_they_may_be_kept(autojump_clock, hint):
    hints = {} if hint is None else {"tools/list": hint}
    async with Client(Server("me", cache_hints=hints, on_list_tools=list_tools)) as client:
        result = await client.list_tools()
        assert (result.ttl_ms, result.cache_scope) == (
            (0, "private") if hint is None else (5000, "public")
        )


async def test_a_handler_that_chose_a_freshness_keeps_it(autojump_clock):
    async def read(ctx, params):
        return ReadResourceResult(contents=[], ttl_ms=7)

    server = Server(
        "me", cache_hints={"resources/read": CacheHint(ttl_ms=5)}, on_read_resource=read
    )
    async with Client(server) as client:
        assert (await client.read_resource("x://y")).ttl_ms == 7


def test_hints_are_checked_when_they_are_given():
    with pytest.raises(ValueError, match="tools/call"):
        Server("me", cache_hints={"tools/call": CacheHint()})
    with pytest.raises(TypeError, match="CacheHint"):
        Server("me", cache_hints={"tools/list": 5})
    with pytest.raises(ValueError, match="at least 0"):
        CacheHint(ttl_ms=-1)
    with pytest.raises(ValueError, match="'public' or 'private'"):
        CacheHint(scope="all")


# Notifications and logging


async def test_notification_handlers_are_called_with_what_was_sent(autojump_clock):
    seen = []

    async def changed(ctx, params):
        seen.append((ctx.method, ctx.request_id))

    async def vendor(ctx, params):
        seen.append(params)

    server = Server("me", on_roots_list_changed=changed)
    server.add_notification_handler("vendor/x", dict, vendor)
    async with Client(server, mode="legacy") as client:
        with pytest.warns(MCPDeprecationWarning):
            await client.send_roots_list_changed()
        await client.session._link.notify("vendor/x", {"a": 1})
        await client.session._link.notify("vendor/unknown", {"a": 1})
        await client.session.send_notification(InitializedNotification())
    assert seen == [("notifications/roots/list_changed", None), {"a": 1}]


@pytest.mark.req("R-322")
@pytest.mark.parametrize(
    ("wanted", "heard"), [(None, []), ("warning", ["error"]), ("debug", ["debug", "error"])]
)
async def test_a_modern_client_hears_only_the_levels_it_asked_for(autojump_clock, wanted, heard):
    async def handler(ctx, params):
        await ctx.session.send_log_message("debug", "d")
        await ctx.session.send_log_message("error", "e", "my.logger")
        return CallToolResult(content=[])

    seen = []

    async def log(params):
        seen.append(params.level)

    server = Server("me", on_call_tool=handler, on_set_logging_level=empty)
    async with Client(server, log_level=wanted, logging_callback=log) as client:
        await client.call_tool("x")
    assert seen == heard


@pytest.mark.req("R-599")
async def test_an_older_client_sets_the_level_of_its_session(autojump_clock, ask_raw):
    async def handler(ctx, params):
        for level in ("debug", "warning", "alert"):
            await ctx.session.send_log_message(level, level)
        return CallToolResult(content=[])

    async def broken(ctx, params):
        raise ValueError("mine")

    seen = []

    async def log(params):
        seen.append(params.level)

    server = Server("me", on_call_tool=handler, on_set_logging_level=empty)
    async with Client(server, mode="legacy", logging_callback=log) as client:
        await client.call_tool("x")
        with pytest.warns(MCPDeprecationWarning):
            await client.set_logging_level("error")
        await client.call_tool("x")
        with pytest.raises(MCPError) as caught:
            await ask_raw(client, "logging/setLevel", {"level": "loud"})
        assert caught.value.code == -32602
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, broken)
        with pytest.raises(MCPError) as caught:
            await ask_raw(client, "logging/setLevel", {"level": "debug"})
        assert caught.value.code == -32603
        await client.call_tool("x")
    assert seen == ["debug", "warning", "alert", "alert", "alert"]


async def test_an_unknown_level_and_data_that_is_no_json_are_the_handlers_mistake(autojump_clock):
    async def handler(ctx, params):
        with pytest.raises(ValueError, match="level must be one of"):
            await ctx.session.send_log_message("loud", 1)
        with pytest.raises(TypeError, match="data"):
            await ctx.session.send_log_message("error", object())
        return CallToolResult(content=[])

    async with Client(Server("me", on_call_tool=handler), log_level="debug") as client:
        await client.call_tool("x")


@pytest.mark.parametrize("era", ["modern", "older"])
async def test_a_custom_method_is_served_at_the_revisions_it_is_for(autojump_clock, era):
    async def custom(ctx, params):
        return {"got": params["x"]}

    server = Server("me")
    server.add_request_handler(
        "vendor/x", dict, custom, protocol_versions=frozenset({"2026-07-28"})
    )
    async with Client(server, mode="auto" if era == "modern" else "legacy") as client:
        link, params = client.session._link, {"x": 1}
        if era == "modern":
            params["_meta"] = dict(client.session._envelope)
            assert (await link.request("vendor/x", params))["got"] == 1
        else:
            with pytest.raises(MCPError) as caught:
                await link.request("vendor/x", params)
            assert caught.value.code == -32601
