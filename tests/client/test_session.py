"""What a session makes of what a server sends."""

from __future__ import annotations

import pydantic
import pytest
import trio
import trio.testing

from trio_mcp.client import Client, ClientSession, ClientSessionGroup, ClientSessionParameters
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.mcpserver import MCPServer
from trio_mcp.server import Server
from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    ErrorData,
    JSONRPCError,
    JSONRPCResponse,
    ListRootsResult,
    Request,
    Root,
    TextContent,
)

DONE = {"resultType": "complete", "content": []}


@pytest.mark.req("R-011")
async def test_an_absent_result_type_is_complete(autojump_clock, connect, script, discovery):
    server = script(server__discover=discovery, tools__call={"content": []})
    async with connect(server) as client:
        result = await client.call_tool("x")
        assert result.result_type == "complete"
        assert result.structured_content is None


@pytest.mark.req("R-009", "R-010")
@pytest.mark.parametrize("kind", ["task", "foo", "", 7, None])
async def test_an_unknown_result_type_makes_the_answer_invalid(
    autojump_clock, connect, script, discovery, kind
):
    server = script(server__discover=discovery, tools__call={"resultType": kind, "content": []})
    async with connect(server) as client:
        with pytest.raises(InvalidResponse, match="resultType"):
            await client.call_tool("x")


async def test_the_older_era_knows_no_result_types(autojump_clock, connect, script, initialized):
    server = script(initialize=initialized(), tools__call={"resultType": "task", "content": []})
    async with connect(server, mode="legacy") as client:
        assert (await client.call_tool("x")).content == []


async def test_input_is_required_only_where_it_may_be(autojump_clock, connect, script, discovery):
    wanted = {"resultType": "input_required", "requestState": "s"}
    server = script(server__discover=discovery, tools__call=wanted, tools__list=wanted)
    async with connect(server) as client:
        result = await client.session.call_tool("x", allow_input_required=True)
        assert result.request_state == "s"
        with pytest.raises(InvalidResponse):
            await client.list_tools()


ANSWERS = {"q": ElicitResult(action="decline")}
STRAYS = [
    ("input_responses", {"input_responses": ANSWERS}),
    ("input_responses", {"input_responses": {}}),
    ("request_state", {"request_state": "s"}),
    ("request_state", {"request_state": ""}),
]


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
@pytest.mark.parametrize(("argument", "stray"), STRAYS)
async def test_answers_and_states_are_refused_where_the_revision_has_none(
    autojump_clock, connect, script, initialized, version, argument, stray
):
    server = script(initialize=initialized(version))
    request = CallToolRequest(params=CallToolRequestParams(name="x", **stray))
    async with connect(server, mode=version) as client:
        session = client.session
        for call in (
            client.call_tool("x", **stray),
            client.get_prompt("x", **stray),
            client.read_resource("a://b", **stray),
            session.call_tool("x", allow_input_required=True, **stray),
            session.get_prompt("x", **stray),
            session.read_resource("a://b", **stray),
            session.send_request(request, CallToolResult),
        ):
            with pytest.raises(ValueError, match=f"{argument}: expected None at .*{version}"):
                await call
    assert server.methods == ["initialize", "notifications/initialized"]


@pytest.mark.parametrize(("argument", "stray"), STRAYS)
async def test_a_group_refuses_answers_and_states_alike(argument, stray):
    mcp = MCPServer("older")
    mcp.add_tool(lambda: "done", name="x")
    options = ClientSessionParameters(mode="legacy")
    async with ClientSessionGroup() as group:
        await group.connect_to_server(mcp, options)
        with pytest.raises(ValueError, match=f"{argument}: expected None at .*2025-11-25"):
            await group.call_tool("x", {}, **stray)


@pytest.mark.parametrize(
    ("result", "path"),
    [
        ({"content": "no list"}, "result.content"),
        ({"content": [{"type": "text"}]}, r"result.content\[0\].text"),
        ({"content": [{"type": "text", "text": 5}]}, r"result.content\[0\].text"),
        ({"content": [{"type": "odd"}]}, r"result.content\[0\]"),
        ({"content": [], "isError": "yes"}, "result.isError"),
    ],
)
async def test_an_answer_of_the_wrong_shape_is_one_error_with_the_path(
    autojump_clock, connect, script, discovery, result, path
):
    server = script(server__discover=discovery, tools__call=result)
    async with connect(server) as client:
        with pytest.raises(InvalidResponse, match=path):
            await client.call_tool("x")


@pytest.mark.case("C030")
@pytest.mark.req("R-045")
async def test_unknown_members_are_kept_where_the_user_can_see_them(
    autojump_clock, connect, script, discovery
):
    found = {**discovery, "capabilities": {"tools": {}, "telepathy": {"range": 3}}, "future": 1}
    result = {**DONE, "_meta": {"io.modelcontextprotocol/new": [1]}, "more": {"x": 1}}
    server = script(server__discover=found, tools__call=result)
    async with connect(server) as client:
        assert client.server_capabilities.extra == {"telepathy": {"range": 3}}
        answer = await client.call_tool("x")
        assert answer.meta == {"io.modelcontextprotocol/new": [1]}
        assert answer.extra == {"more": {"x": 1}}


async def test_meta_of_a_call_goes_along_and_cannot_replace_the_envelope(
    autojump_clock, connect, script, discovery
):
    server = script(server__discover=discovery, tools__call=DONE)
    async with connect(server) as client:
        version = "io.modelcontextprotocol/protocolVersion"
        await client.call_tool("x", meta={"com.example/a": 1, version: "1", "progress_token": "t"})
    meta = server.received[-1].params["_meta"]
    assert meta["com.example/a"] == 1
    assert meta[version] == "2026-07-28"
    assert meta["progressToken"] == "t"


@pytest.mark.case("C031")
async def test_unknown_notifications_and_broken_callbacks_harm_nobody(
    autojump_clock, connect, script, discovery, caplog
):
    async def broken(params):
        raise ValueError("my callback")

    server = script(server__discover=discovery, tools__call=DONE)
    async with connect(server, logging_callback=broken) as client:
        await server.tell("notifications/vendor/x")
        await server.tell("notifications/vendor/x", {"a": 1})
        await server.tell("notifications/message", {"level": "info", "data": 1})
        await server.tell("notifications/message", {"level": "odd"})
        await trio.testing.wait_all_tasks_blocked()
        await client.call_tool("x")
    assert "my callback" in caplog.text


async def test_log_messages_and_notifications_arrive_in_order(
    autojump_clock, connect, script, discovery
):
    seen, handled = [], []

    async def log(params):
        await trio.sleep(1)
        seen.append(params.data)

    async def handle(message):
        handled.append(type(message).__name__)

    server = script(server__discover=discovery)
    async with connect(server, logging_callback=log, message_handler=handle):
        for n in range(3):
            await server.tell("notifications/message", {"level": "info", "data": n})
        await server.tell("notifications/tools/list_changed")
        await trio.sleep(10)
    assert seen == [0, 1, 2]
    assert handled == ["LoggingMessageNotification"] * 3 + ["ToolListChangedNotification"]


@pytest.mark.req("R-084")
async def test_a_modern_client_answers_nothing(autojump_clock, connect, script, discovery, caplog):
    async def sample(context, params):
        raise AssertionError

    server = script(server__discover=discovery, tools__call=DONE)
    async with connect(server, sampling_callback=sample) as client:
        await server.ask("sampling/createMessage", {})
        await server.ask("ping")
        await client.call_tool("x")
    assert not [
        each for each in server.received if isinstance(each, JSONRPCResponse | JSONRPCError)
    ]
    assert "sampling/createMessage" in caplog.text


# What an older server may ask


async def answered(server):
    await trio.testing.wait_all_tasks_blocked()
    return next(
        each for each in server.received if isinstance(each, JSONRPCResponse | JSONRPCError)
    )


@pytest.mark.req("R-578")
async def test_ping_is_answered_with_nothing(autojump_clock, connect, script, initialized):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy"):
        await server.ask("ping", None, "p")
        assert await answered(server) == JSONRPCResponse(id="p", result={})


async def test_callbacks_answer(autojump_clock, connect, script, initialized):
    async def sample(context, params):
        text = params.messages[0].content.text
        return CreateMessageResult(
            role="assistant", content=TextContent(text=text.upper()), model="m"
        )

    server = script(initialize=initialized())
    async with connect(server, mode="legacy", sampling_callback=sample):
        message = {"role": "user", "content": {"type": "text", "text": "hi"}}
        await server.ask("sampling/createMessage", {"messages": [message], "maxTokens": 1})
        answer = await answered(server)
        assert answer.result["content"] == {"type": "text", "text": "HI"}


@pytest.mark.req("R-596")
@pytest.mark.parametrize("method", ["roots/list", "sampling/createMessage", "elicitation/create"])
async def test_what_the_client_does_not_offer_is_not_found(
    autojump_clock, connect, script, initialized, method
):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy"):
        await server.ask(method, {"message": "m", "requestedSchema": {}})
        assert (await answered(server)).error.code == -32601


@pytest.mark.req("R-596")
async def test_roots_are_listed_and_a_broken_callback_is_an_internal_error(
    autojump_clock, connect, script, initialized, caplog
):
    async def roots(context):
        return ListRootsResult(roots=[Root(uri="file:///x")])

    server = script(initialize=initialized())
    async with connect(server, mode="legacy", list_roots_callback=roots):
        await server.ask("roots/list")
        assert (await answered(server)).result == {"roots": [{"uri": "file:///x"}]}

    async def broken(context):
        raise ValueError("secret")

    server = script(initialize=initialized())
    async with connect(server, mode="legacy", list_roots_callback=broken):
        await server.ask("roots/list")
        error = (await answered(server)).error
        assert error.code == -32603
        assert "secret" not in error.message
    assert "secret" in caplog.text


async def test_a_callback_may_answer_an_error(autojump_clock, connect, script, initialized):
    async def refuse(context, params):
        return ErrorData(code=-1, message="the user said no")

    server = script(initialize=initialized())
    async with connect(server, mode="legacy", elicitation_callback=refuse):
        await server.ask("elicitation/create", {"message": "m", "requestedSchema": SCHEMA})
        error = (await answered(server)).error
        assert (error.code, error.message) == (-1, "the user said no")


SCHEMA = {"type": "object", "properties": {}}


async def test_a_question_is_cancelled_with_its_callback(
    autojump_clock, connect, script, initialized
):
    stopped = []

    async def ask(context, params):
        try:
            await trio.sleep_forever()
        finally:
            stopped.append(1)

    server = script(initialize=initialized(), tools__call={"content": []})
    async with connect(server, mode="legacy", elicitation_callback=ask) as client:
        await server.ask("elicitation/create", {"message": "m", "requestedSchema": SCHEMA}, "q")
        await trio.testing.wait_all_tasks_blocked()
        await server.tell("notifications/cancelled", {"requestId": "q"})
        await client.call_tool("x")
        assert stopped == [1]
        assert not [each for each in server.received if isinstance(each, JSONRPCResponse)]


@pytest.mark.case("C026")
async def test_a_callback_may_call_the_server(autojump_clock, connect, script, initialized):
    async def ask(context, params):
        await context.session.call_tool("x")
        return ElicitResult(action="decline")

    server = script(initialize=initialized(), tools__call={"content": []})
    async with connect(server, mode="legacy", elicitation_callback=ask):
        await server.ask("elicitation/create", {"message": "m", "requestedSchema": SCHEMA})
        assert (await answered(server)).result == {"action": "decline"}


# A session by hand


@pytest.mark.req("R-077", "R-529")
async def test_a_session_is_made_of_the_two_ends_of_a_transport(
    autojump_clock, script, initialized
):
    from trio_mcp.transports import create_client_server_memory_streams

    server = script(initialize=initialized(), ping={})
    async with (
        create_client_server_memory_streams() as ((read, write), (far, _)),
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(server.run, far)
        async with ClientSession(read, write) as session:
            result = await session.initialize()
            assert result.server_info.name == "scripted"
            assert session.initialize_result == result
            await session.send_ping()
        nursery.cancel_scope.cancel()


async def test_a_session_used_too_early_says_what_is_missing(autojump_clock, script, discovery):
    from trio_mcp.transports import open_memory_channel_pair

    near, _ = open_memory_channel_pair()
    session = ClientSession(near)
    with pytest.raises(RuntimeError, match="async with session"):
        await session.discover()
    async with session:
        with pytest.raises(RuntimeError, match=r"discover\(\) or initialize\(\)"):
            await session.list_tools()
    with pytest.raises(RuntimeError, match="entered before"):
        async with session:
            pass
    with pytest.raises(TypeError, match="streams of a transport"):
        ClientSession()


async def test_any_request_and_notification_can_be_sent(
    autojump_clock, connect, script, initialized
):
    from trio_mcp.types import InitializedNotification, ListToolsRequest, ListToolsResult

    server = script(initialize=initialized(), tools__list={"tools": []})
    async with connect(server, mode="legacy") as client:
        result = await client.session.send_request(ListToolsRequest(), ListToolsResult)
        assert result.tools == []
        await client.session.send_notification(InitializedNotification())
        await trio.testing.wait_all_tasks_blocked()
    assert server.methods[-2:] == ["tools/list", "notifications/initialized"]


async def test_an_unknown_version_is_refused_with_what_is_served(autojump_clock):
    from trio_mcp.client import Client
    from trio_mcp.server import Server

    async with Client(Server("x")) as client:
        with pytest.raises(MCPError) as caught:
            await client.session.send_discover("2099-01-01")
        assert caught.value.code == -32022
        assert caught.value.data == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_results_of_own_methods_are_read_into_what_is_asked_for(mode):
    class Sum(pydantic.BaseModel):
        total: int

    async def add(ctx, params):
        return {"total": params["a"] + params["b"]}

    server = Server("me")
    server.add_request_handler("com.example/add", dict, add)
    request = Request(method="com.example/add", params={"a": 1, "b": 2})
    wrong = Request(method="com.example/add", params={"a": "1", "b": "x"})
    async with Client(server, mode=mode) as client:
        send = client.session.send_request
        assert (await send(request, Sum)).total == 3
        assert (await send(request, dict))["total"] == 3
        with pytest.raises(InvalidResponse, match=r"result\.total: Input should be a valid int"):
            await send(wrong, Sum)
        with pytest.raises(TypeError, match="result_type: expected a wire type, a pydantic model"):
            await send(request, list)
