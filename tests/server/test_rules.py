"""Rules of the protocol that no single part keeps alone."""

from __future__ import annotations

import ast
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

import trio_mcp
from trio_mcp import types
from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import Server
from trio_mcp.server._serving import ServerServing
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    KNOWN_PROTOCOL_VERSIONS,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    FormElicitationCapability,
    InputRequiredResult,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ListRootsRequest,
    ListToolsResult,
    RootsCapability,
    TextContent,
)

PACKAGE = Path(trio_mcp.__file__).parent
SPECIFIED = {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}


def integers_in(path: Path) -> set[int]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
            and type(node.operand.value) is int
        ):
            found.add(-node.operand.value)
    return found


@pytest.mark.req("R-015", "R-018", "R-022")
def test_every_code_in_the_package_is_the_specifications_or_outside_its_range():
    older = {-32002, -32042}  # sent to older clients alone
    local = {-32000, -32001}  # what `mcp` calls these local failures; never sent
    codes = set().union(*(integers_in(path) for path in PACKAGE.rglob("*.py")))
    reserved = {code for code in codes if -32768 <= code <= -32000}
    assert reserved - older - local - {-32768} <= SPECIFIED
    assert types.SERVER_BUSY == -31503


@pytest.mark.req("R-016")
async def test_no_local_failure_is_sent_as_a_code(autojump_clock, caplog):
    from trio_mcp.errors import ConnectionLost, InvalidResponse, RequestTimeout

    for raised in (ConnectionLost(), RequestTimeout("late"), InvalidResponse("odd")):

        async def handler(ctx, params, raised=raised):
            raise raised

        async with Client(Server("x", on_call_tool=handler)) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("x")
            assert caught.value.code == -32603
    assert "late" in caplog.text


@pytest.mark.req("R-019")
def test_codes_of_the_specification_are_made_for_what_they_mean_alone():
    codes = {
        "HEADER_MISMATCH",
        "MISSING_REQUIRED_CLIENT_CAPABILITY",
        "UNSUPPORTED_PROTOCOL_VERSION",
    }
    makers = {"header_mismatch", "missing_client_capability", "unsupported_version"}
    made, used = set(), set()
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            given = [*call.args, *(each.value for each in call.keywords)]
            made |= {(place, each.id) for each in given if getattr(each, "id", "") in codes}
            if getattr(call.func, "id", "") in makers:
                used.add((place, call.func.id))
    # What each of them answers, R-054, R-066 and R-161 prove.
    assert made == {
        ("_protocol/_refusals.py", "HEADER_MISMATCH"),
        ("_protocol/_refusals.py", "MISSING_REQUIRED_CLIENT_CAPABILITY"),
        ("_protocol/_refusals.py", "UNSUPPORTED_PROTOCOL_VERSION"),
    }
    assert used == {
        ("_protocol/_ladder.py", "unsupported_version"),
        ("server/_session.py", "missing_client_capability"),
        ("transports/http/_rules.py", "header_mismatch"),
    }


@pytest.mark.req("R-054")
@pytest.mark.parametrize(
    ("declared", "refused"),
    [
        ({}, True),
        ({"elicitation": {"url": {}}}, True),
        # Neither mode stands for forms.
        ({"elicitation": {}}, False),
        ({"elicitation": {"form": {}}}, False),
        ({"sampling": {}, "elicitation": {"form": {}, "url": {}}}, False),
    ],
)
async def test_a_needed_capability_is_asked_for_by_name(autojump_clock, declared, refused):
    needed = ClientCapabilities(
        elicitation=ElicitationCapability(form=FormElicitationCapability())
    )

    async def handler(ctx, params):
        ctx.session.require_client_capability(needed)
        return CallToolResult(content=[])

    answer = await ask_modern(Server("x", on_call_tool=handler), declared)
    if refused:
        assert answer.error.code == -32021
        assert answer.error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
        assert "the form elicitation capability" in answer.error.message
    else:
        assert isinstance(answer, JSONRPCResponse)


async def ask_modern(server, capabilities, info=None):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    if info is not None:
        meta["io.modelcontextprotocol/clientInfo"] = info
    near, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, near)
        params = {"name": "x", "_meta": meta}
        await far.send([JSONRPCRequest(id=1, method="tools/call", params=params)])
        (answer,) = await far.receive()
        nursery.cancel_scope.cancel()
    return answer


@pytest.mark.req("R-409", "R-540")
@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
@pytest.mark.parametrize(
    "require",
    [
        lambda session: session.require_client_capability(
            ClientCapabilities(roots=RootsCapability())
        ),
        lambda session: session.require_for(ListRootsRequest()),
    ],
)
async def test_older_clients_hear_alike_what_they_did_not_declare(
    autojump_clock, version, require
):
    async def handler(ctx, params):
        require(ctx.session)

    async with Client(Server("x", on_call_tool=handler), mode=version) as client:
        with pytest.raises(MCPError, match="roots") as caught:
            await client.call_tool("x")
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"roots": {}}}


@pytest.mark.req("R-057", "R-058", "R-374")
async def test_who_a_client_says_it_is_changes_nothing(autojump_clock):
    async def handler(ctx, params):
        return CallToolResult(content=[TextContent(text="same")])

    server = Server("x", on_call_tool=handler)
    answers = [
        await ask_modern(server, {}, info)
        for info in (None, {"name": "admin", "version": "1"}, {"name": "x", "version": "0"})
    ]
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.req("R-002", "R-539")
@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
async def test_every_revision_is_served_from_start_to_end(autojump_clock, version):
    mcp = MCPServer("x")

    @mcp.tool()
    async def add(a: int, b: int) -> int:
        return a + b

    @mcp.resource("data://x")
    def data() -> str:
        return "text"

    @mcp.prompt()
    def ask(what: str) -> str:
        return f"Tell me {what}"

    async with Client(mcp, mode=version) as client:
        assert client.protocol_version == version
        assert [tool.name async for tool in client.iter_tools()] == ["add"]
        result = await client.call_tool("add", {"a": 1, "b": 2})
        assert result.content[0].text == "3"
        has_structure = version >= "2025-06-18"
        assert bool(result.structured_content) is has_structure
        assert (await client.read_resource("data://x")).contents[0].text == "text"
        prompt = await client.get_prompt("ask", {"what": "more"})
        assert prompt.messages[0].content.text == "Tell me more"
        if version in HANDSHAKE_PROTOCOL_VERSIONS:
            await client.send_ping()


@pytest.mark.req("R-021", "R-275")
async def test_a_missing_resource_of_an_older_server_is_the_same_exception(autojump_clock):
    from trio_mcp.errors import ResourceNotFoundError

    async def read(ctx, params):
        raise ResourceNotFoundError("nothing")

    for mode in ("auto", "legacy"):
        async with Client(Server("x", on_read_resource=read), mode=mode) as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource("a://b")
            assert caught.value.is_resource_not_found


@pytest.mark.req("R-025", "R-001")
async def test_a_notification_has_no_id(autojump_clock):
    from trio_mcp._codec import message_to_json

    assert "id" not in message_to_json(JSONRPCNotification(method="notifications/x"))
    assert message_to_json(JSONRPCNotification(method="notifications/x"))["jsonrpc"] == "2.0"


@pytest.mark.req("R-060")
async def test_trace_context_is_carried_unchanged(autojump_clock):
    trace = {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        "tracestate": "vendor=opaque",
        "baggage": "user=1",
    }
    seen = {}

    async def handler(ctx, params):
        seen.update(ctx.meta)
        return CallToolResult(content=[], meta=trace)

    async with Client(Server("x", on_call_tool=handler)) as client:
        answer = await client.call_tool("x", meta=trace)
    assert trace.items() <= seen.items()
    assert trace.items() <= answer.meta.items()


@pytest.mark.req("R-531")
async def test_a_server_asks_nothing_before_it_is_asked(autojump_clock):
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(MCPServer("x").lowlevel_server.run, near)
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"sampling": {}, "roots": {}},
            "clientInfo": {"name": "c", "version": "1"},
        }
        await far.send([JSONRPCRequest(id=1, method="initialize", params=hello)])
        (answer,) = await far.receive()
        assert isinstance(answer, JSONRPCResponse)
        with trio.move_on_after(100) as silence:
            await far.receive()
        assert silence.cancelled_caught
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-531")
@pytest.mark.parametrize(("says_so", "asked_after"), [(True, 1), (False, 5)])
async def test_a_client_that_calls_before_it_is_ready_is_asked_when_it_is(
    autojump_clock, says_so, asked_after
):
    mcp = MCPServer("x")

    @mcp.tool()
    async def ask(ctx: Context) -> str:
        await ctx.session.send_ping()
        answer = await ctx.session.elicit("?", {"type": "object", "properties": {}})
        return answer.action

    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mcp.lowlevel_server.run, near)
        hello = {**HELLO, "capabilities": {"elicitation": {}}}
        await far.send([JSONRPCRequest(id=1, method="initialize", params=hello)])
        await far.receive()
        began = trio.current_time()
        await far.send([JSONRPCRequest(id=2, method="tools/call", params={"name": "ask"})])
        (ping,) = await far.receive()
        assert (ping.method, trio.current_time()) == ("ping", began)
        await far.send([JSONRPCResponse(id=ping.id, result={})])
        await trio.sleep(1)
        if says_so:
            await far.send([JSONRPCNotification(method="notifications/initialized")])
        (question,) = await far.receive()
        # A client that never says it is asked in the end: it may be one that has forgotten it.
        assert question.method == "elicitation/create"
        assert trio.current_time() - began == pytest.approx(asked_after)
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-540")
@pytest.mark.parametrize(
    "method", ["prompts/list", "resources/list", "completion/complete", "logging/setLevel"]
)
async def test_what_was_not_negotiated_is_not_served(autojump_clock, method):
    async def list_tools(ctx, params):
        return ListToolsResult(tools=[])

    async with Client(Server("x", on_list_tools=list_tools), mode="legacy") as client:
        with pytest.raises(MCPError) as caught:
            await client.session._link.request(method, {})
        assert caught.value.code == -32601


def test_a_run_of_a_server_keeps_nothing_of_the_connections_that_ended():
    serving = ServerServing(Server("x"), None, None)
    one, other = serving.connect(None), serving.connect(None)
    assert serving.connections == {one, other}
    serving.disconnect(one)
    assert serving.connections == {other}


@pytest.mark.req("R-029")
async def test_one_process_serves_any_number_of_conversations(autojump_clock):
    async def handler(ctx, params):
        await trio.sleep(1)
        return CallToolResult(content=[TextContent(text=str(ctx.request_id))])

    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Server("x", on_call_tool=handler).run, near)
        async with Client(far) as client, trio.open_nursery() as conversations:
            answers = []

            async def converse():
                for _ in range(3):
                    result = await client.call_tool("x")
                    answers.append(result.content[0].text)

            for _ in range(5):
                conversations.start_soon(converse)
        assert len(set(answers)) == 15
        assert trio.current_time() == pytest.approx(3)
        nursery.cancel_scope.cancel()


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}


@asynccontextmanager
async def served(server):
    """Serve over a channel; yields what sends a request and what waits for the next message."""
    near, far = open_memory_channel_pair(as_text=True)

    async def ask(method, params=None, request_id=1):
        await far.send([JSONRPCRequest(id=request_id, method=method, params=params)])

    async def hear():
        (message,) = await far.receive()
        return message

    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, near)
        yield ask, hear
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-526")
async def test_nothing_but_ping_is_answered_before_a_handshake(autojump_clock):
    async def list_tools(ctx, params):
        return ListToolsResult(tools=[])

    async with served(Server("x", on_list_tools=list_tools)) as (ask, hear):
        await ask("tools/list")
        refused = await hear()
        assert refused.error.code == -32602
        assert "initialize" in refused.error.message
        await ask("ping", request_id=2)
        assert await hear() == JSONRPCResponse(id=2, result={})
        await ask("initialize", HELLO, 3)
        assert isinstance(await hear(), JSONRPCResponse)
        await ask("tools/list", request_id=4)
        assert (await hear()).result == {"tools": []}


@pytest.mark.req("R-086", "R-175", "R-176")
async def test_a_modern_client_is_asked_by_answers_alone(autojump_clock):
    async def call(ctx, params):
        return InputRequiredResult(input_requests={"where": ListRootsRequest()})

    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    }
    async with served(Server("x", on_call_tool=call)) as (ask, hear):
        await ask("tools/call", {"name": "x", "_meta": meta})
        answer = await hear()
        assert isinstance(answer, JSONRPCResponse)
        assert answer.result["resultType"] == "input_required"
        assert answer.result["inputRequests"]["where"]["method"] == "roots/list"
        # Whether it is ever answered, the server does not wait for.
        with trio.move_on_after(1000) as silence:
            raise AssertionError(await hear())
        assert silence.cancelled_caught


@pytest.mark.req("R-578")
@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_ping_is_answered_with_nothing_and_at_once(autojump_clock, version):
    async def handler(ctx, params):
        await trio.sleep_forever()

    async with served(Server("x", on_call_tool=handler)) as (ask, hear):
        await ask("ping", request_id="before")
        assert await hear() == JSONRPCResponse(id="before", result={})
        await ask("initialize", {**HELLO, "protocolVersion": version})
        assert (await hear()).result["protocolVersion"] == version
        for number in range(5):
            await ask("tools/call", {"name": "x"}, f"call {number}")
        await ask("ping", {"_meta": {"progressToken": 1}}, "during")
        assert await hear() == JSONRPCResponse(id="during", result={})
    assert trio.current_time() == 0


@pytest.mark.case("C033")
@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        *((version, version) for version in HANDSHAKE_PROTOCOL_VERSIONS),
        ("1999-01-01", "2025-11-25"),
        ("2099-12-31", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ],
)
async def test_a_client_of_any_revision_is_answered_and_served(autojump_clock, asked, answered):
    async def handler(ctx, params):
        return CallToolResult(content=[TextContent(text=ctx.protocol_version)])

    async with served(Server("x", on_call_tool=handler)) as (ask, hear):
        await ask("initialize", {**HELLO, "protocolVersion": asked})
        assert (await hear()).result["protocolVersion"] == answered
        await ask("tools/call", {"name": "x"}, 2)
        assert (await hear()).result["content"][0]["text"] == answered


@pytest.mark.req("R-045")
@pytest.mark.case("C030")
@pytest.mark.parametrize("era", ["modern", "older"])
async def test_unknown_members_of_a_client_are_kept_where_a_handler_can_see_them(
    autojump_clock, era
):
    seen = []
    capabilities = {"roots": {"future": [1]}, "telepathy": {"range": 3}}
    info = {"name": "c", "version": "1", "mood": "calm"}

    async def handler(ctx, params):
        seen.append((ctx.session.client_params, ctx.session.client_capabilities, ctx.meta, params))
        return CallToolResult(content=[])

    meta = {"com.example/x": {"y": 1}, "io.modelcontextprotocol/new": 7}
    async with served(Server("x", on_call_tool=handler)) as (ask, hear):
        if era == "older":
            hello = {**HELLO, "capabilities": capabilities, "clientInfo": info, "more": True}
            await ask("initialize", hello)
            assert isinstance(await hear(), JSONRPCResponse)
        else:
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28"
            meta["io.modelcontextprotocol/clientCapabilities"] = capabilities
            meta["io.modelcontextprotocol/clientInfo"] = info
        await ask("tools/call", {"name": "x", "colour": "red", "_meta": meta}, 2)
        assert isinstance(await hear(), JSONRPCResponse)
    [(client, declared, got, params)] = seen
    assert declared.extra == {"telepathy": {"range": 3}}
    assert declared.roots.extra == {"future": [1]}
    assert client.client_info.extra == {"mood": "calm"}
    assert meta.items() <= got.items()
    assert params.extra == {"colour": "red"}
