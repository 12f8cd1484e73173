"""What goes over the wire while a client connects, and what it makes of the answers."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError, RequestTimeout
from trio_mcp.server import Server
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    LATEST_MODERN,
    METHODS,
    Implementation,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    ListToolsRequest,
    ListToolsResult,
    PromptReference,
)

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
INFO = "io.modelcontextprotocol/clientInfo"
TOOLS = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}


@pytest.mark.req("R-049", "R-052", "R-074", "R-077", "R-093")
async def test_a_modern_server_is_discovered_and_every_request_names_the_version(
    autojump_clock, connect, script, discovery
):
    server = script(server__discover=discovery, tools__list=TOOLS)
    me = Implementation(name="me", version="2")
    async with connect(server, client_info=me) as client:
        assert client.protocol_version == "2026-07-28"
        assert client.server_info.name == "scripted"
        await client.list_tools()
    assert server.methods == ["server/discover", "tools/list"]
    for request in server.received:
        meta = request.params["_meta"]
        assert meta[VERSION] == "2026-07-28"
        assert meta[CAPABILITIES] == {}
        assert meta[INFO] == {"name": "me", "version": "2"}


@pytest.mark.req("R-049", "R-052", "R-077", "R-663")
async def test_there_is_no_request_of_a_modern_client_without_its_envelope(
    autojump_clock, connect, script, discovery
):
    everything = {name: {} for name in ("tools", "prompts", "resources", "completions")}
    asking = [{"resultType": "input_required", "requestState": "s"}, {"content": []}]
    server = script(
        server__discover={**discovery, "capabilities": everything},
        tools__call=lambda params: asking.pop(0),
    )
    async with connect(server) as client:
        await client.call_tool("x", meta={"com.example/a": 1})
        for verb in (
            client.list_tools,
            client.list_prompts,
            client.list_resources,
            client.list_resource_templates,
            lambda: client.get_prompt("x"),
            lambda: client.read_resource("a:b"),
            lambda: client.complete(PromptReference(name="x"), {"name": "a", "value": ""}),
            lambda: client.listen(tools_list_changed=True).__aenter__(),
            lambda: client.session.send_request(ListToolsRequest(), ListToolsResult),
        ):
            with pytest.raises(MCPError):
                await verb()
    asked = [each for each in server.received if isinstance(each, JSONRPCRequest)]
    assert {each.method for each in asked} == {
        name
        for name, method in METHODS.items()
        if not method.is_notification and method.may_be_sent_by("client", LATEST_MODERN)
    }
    assert [each.method for each in asked].count("tools/call") == 2
    for request in asked:
        meta = request.params["_meta"]
        assert meta[VERSION] == "2026-07-28"
        assert meta[CAPABILITIES] == {}
        assert meta[INFO]["name"]


@pytest.mark.req("R-094")
@pytest.mark.case("C032")
@pytest.mark.parametrize(
    "answer",
    [
        MCPError(-32601, "Method not found"),
        MCPError(-32602, "Invalid request parameters"),
        MCPError(-32600, "Bad Request: Server not initialized"),
        MCPError(-32000, "no"),
        MCPError(0, "no"),
        {},
        {"garbage": True},
        {"supportedVersions": 3},
    ],
    ids=str,
)
async def test_an_old_server_is_initialized_in_one_round_trip_more(
    autojump_clock, connect, script, initialized, answer
):
    server = script(server__discover=answer, initialize=initialized())
    async with connect(server) as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info.name == "scripted"
        await trio.testing.wait_all_tasks_blocked()
    assert server.methods == ["server/discover", "initialize", "notifications/initialized"]


@pytest.mark.req("R-094")
async def test_a_silent_server_is_initialized_when_the_probe_has_waited(
    autojump_clock, connect, script, initialized
):
    server = script(server__discover=script.SILENCE, initialize=initialized())
    async with connect(server) as client:
        assert client.protocol_version == "2025-11-25"
        assert trio.current_time() == pytest.approx(10)
    # A probe is not cancelled: an old server would not know what to make of it.
    assert "notifications/cancelled" not in server.methods


class SlowStart:
    """A transport to a server that reads nothing for 12 seconds, then says what it was told to.

    It says it to the first client; for later ones it is quick.
    """

    def __init__(self, script, *answers):
        self.script = script
        self.answers = answers

    async def run(self, channel):
        self.script.channel = channel
        if self.answers:
            answers, self.answers = self.answers, ()
            await trio.sleep(12)
            by_method = {}
            while len(by_method) < 2:
                for each in await channel.receive():
                    self.script.received.append(each)
                    by_method[each.method] = each.id
            for at_once in answers:
                messages = []
                for method, result in at_once.items():
                    kind = {"error": result.error} if isinstance(result, MCPError) else None
                    answer = JSONRPCResponse if kind is None else JSONRPCError
                    messages.append(answer(id=by_method[method], **(kind or {"result": result})))
                await channel.send(messages)
                await trio.sleep(1)
        await self.script.run(channel)

    @asynccontextmanager
    async def open(self):
        near, far = open_memory_channel_pair(as_text=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.run, far)
            yield near
            nursery.cancel_scope.cancel()

    async def __aenter__(self):
        self.block = self.open()
        return await self.block.__aenter__()

    async def __aexit__(self, *exc):
        return await self.block.__aexit__(*exc)


PROBE = "server/discover"
MODERN = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "ttlMs": 0,
    "cacheScope": "private",
}
OLDER_ONLY = {**MODERN, "supportedVersions": ["2025-11-25"]}
OLDER = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "scripted", "version": "1"},
}
REFUSED = MCPError(-32022, "no", {"supported": ["2026-07-28"], "requested": "2025-11-25"})


@pytest.mark.req("R-067", "R-072", "R-094")
@pytest.mark.parametrize(
    ("answers", "first", "again"),
    [
        ([{PROBE: MODERN}], "2026-07-28", "2026-07-28"),
        ([{PROBE: MODERN}, {"initialize": OLDER}], "2026-07-28", "2026-07-28"),
        ([{PROBE: MODERN}, {"initialize": REFUSED}], "2026-07-28", "2026-07-28"),
        ([{PROBE: MODERN, "initialize": OLDER}], "2026-07-28", "2026-07-28"),
        ([{PROBE: MODERN, "initialize": REFUSED}], "2026-07-28", "2026-07-28"),
        ([{"initialize": OLDER, PROBE: MODERN}], "2026-07-28", "2026-07-28"),
        ([{"initialize": OLDER}, {PROBE: MODERN}], "2025-11-25", "2026-07-28"),
        ([{"initialize": OLDER}], "2025-11-25", "2025-11-25"),
        ([{PROBE: {}}, {"initialize": OLDER}], "2025-11-25", "2025-11-25"),
        ([{PROBE: OLDER_ONLY}, {"initialize": OLDER}], "2025-11-25", "2025-11-25"),
        ([{PROBE: MCPError(-32601, "no")}, {"initialize": OLDER}], "2025-11-25", "2025-11-25"),
    ],
    ids=str,
)
async def test_a_slow_start_does_not_decide_the_era(autojump_clock, script, answers, first, again):
    # Once it is up, the server speaks both eras.
    server = script(server__discover=MODERN, initialize=OLDER, tools__list=TOOLS)
    client = Client(SlowStart(server, *answers))
    async with client:
        assert client.protocol_version == first
        await trio.sleep(10)
        await client.list_tools()
        assert client.protocol_version == first
    async with client:
        assert client.protocol_version == again
        await client.list_tools()
    told = server.methods.count("notifications/initialized")
    assert told == [first, again].count("2025-11-25")
    assert "notifications/cancelled" not in server.methods


@pytest.mark.case("C032")
@pytest.mark.parametrize("code", [-32020, -32021])
async def test_modern_errors_never_fall_back(autojump_clock, connect, script, code):
    server = script(server__discover=MCPError(code, "modern"))
    with pytest.raises(MCPError) as caught:
        async with connect(server):
            pass
    assert caught.value.code == code
    assert server.methods == ["server/discover"]


@pytest.mark.req("R-067")
async def test_an_offer_of_an_older_version_is_initialized(
    autojump_clock, connect, script, initialized
):
    refusal = MCPError(-32022, "no", {"supported": ["2025-06-18"], "requested": "2026-07-28"})
    server = script(server__discover=refusal, initialize=initialized("2025-06-18"))
    async with connect(server) as client:
        assert client.protocol_version == "2025-06-18"
    assert server.received[1].params["protocolVersion"] == "2025-06-18"


@pytest.mark.req("R-067")
async def test_no_common_version_is_one_error_that_names_them(autojump_clock, connect, script):
    refusal = MCPError(-32022, "no", {"supported": ["2099-01-01"], "requested": "2026-07-28"})
    with pytest.raises(MCPError, match=r"2099-01-01.*2026-07-28"):
        async with connect(script(server__discover=refusal)):
            pass


@pytest.mark.req("R-526", "R-527", "R-529", "R-530", "R-532")
async def test_the_handshake_says_what_it_has_to_and_nothing_before(
    autojump_clock, connect, script, initialized
):
    server = script(initialize=initialized(), tools__list={"tools": []})

    async def roots(context):
        raise AssertionError

    async with connect(server, mode="legacy", list_roots_callback=roots) as client:
        await client.list_tools()
    assert server.methods == ["initialize", "notifications/initialized", "tools/list"]
    params = server.received[0].params
    assert params["protocolVersion"] == "2025-11-25"
    assert params["capabilities"] == {"roots": {"listChanged": True}}
    assert params["clientInfo"]["name"]
    assert "_meta" not in params
    assert server.received[2].params is None


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_revision_can_be_pinned(autojump_clock, connect, script, initialized, version):
    server = script(initialize=lambda params: initialized(params["protocolVersion"]))
    async with connect(server, mode=version) as client:
        assert client.protocol_version == version


async def test_a_pinned_modern_revision_asks_nothing(autojump_clock, connect, script):
    server = script(tools__list=TOOLS)
    async with connect(server, mode="2026-07-28") as client:
        assert server.received == []
        await client.list_tools()
    assert server.methods == ["tools/list"]


@pytest.mark.req("R-537", "R-541")
@pytest.mark.case("C033")
async def test_an_answer_with_an_unknown_version_ends_the_attempt(
    autojump_clock, connect, script, initialized
):
    server = script(initialize=initialized("2099-01-01"))
    with pytest.raises(InvalidResponse, match=r"2099-01-01.*2025-11-25"):
        async with connect(server, mode="legacy"):
            pass
    assert server.methods == ["initialize"]


@pytest.mark.req("R-576")
async def test_a_cancelled_handshake_sends_no_cancel(autojump_clock, connect, script):
    server = script(initialize=script.SILENCE)
    with trio.move_on_after(1) as scope:
        async with connect(server, mode="legacy"):
            raise AssertionError
    assert scope.cancelled_caught
    assert server.methods == ["initialize"]


@pytest.mark.req("R-210", "R-541")
async def test_a_handshake_keeps_to_the_read_timeout(autojump_clock, connect, script):
    with pytest.raises(RequestTimeout):
        async with connect(
            script(initialize=script.SILENCE), mode="legacy", read_timeout_seconds=2
        ):
            pass
    assert trio.current_time() == pytest.approx(2)


async def test_a_connection_that_ends_meanwhile_is_one_error(autojump_clock):
    near, far = open_memory_channel_pair()
    await far.aclose()
    with pytest.raises(ConnectionLost):
        async with Client(near):
            pass


@pytest.mark.req("R-072")
async def test_the_verdict_about_an_old_server_is_remembered(autojump_clock, script, initialized):
    server = script(initialize=initialized())

    class Transport:
        @asynccontextmanager
        async def open(self):
            near, far = open_memory_channel_pair()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.run, far)
                yield near
                nursery.cancel_scope.cancel()

        async def __aenter__(self):
            self.block = self.open()
            return await self.block.__aenter__()

        async def __aexit__(self, *exc):
            return await self.block.__aexit__(*exc)

    client = Client(Transport())
    async with client:
        pass
    async with client:
        pass
    assert server.methods.count("server/discover") == 1
    assert server.methods.count("initialize") == 2


@pytest.mark.parametrize("mode", ["2099-01-01", "", "modern"])
def test_an_unknown_mode_is_refused_at_once(mode):
    with pytest.raises(ValueError, match="mode: expected one of 'auto', 'legacy', '2024-11-05'"):
        Client(Server("x"), mode=mode)


@pytest.mark.parametrize("server", [7, object(), None, ["python"]])
async def test_what_is_no_server_is_refused_with_what_would_be(server):
    with pytest.raises(TypeError, match="StdioServerParameters"):
        async with Client(server):
            pass


def test_a_closed_client_says_how_to_use_it():
    with pytest.raises(RuntimeError, match="async with"):
        Client(Server("x")).session  # noqa: B018


async def test_one_client_is_one_connection():
    client = Client(Server("x"))
    async with client:
        with pytest.raises(RuntimeError, match="open already"):
            async with client:
                pass
