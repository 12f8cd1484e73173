from __future__ import annotations

import inspect
from contextlib import asynccontextmanager
from typing import TypedDict

import pytest
import trio

from trio_mcp import Client, ClientSession, Context, MCPServer, Server
from trio_mcp.client import SubscriptionLost
from trio_mcp.errors import MCPError
from trio_mcp.testing import SessionOptions, open_client, open_session
from trio_mcp.types import CallToolResult, ElicitResult, TextContent

ROADS = ["direct", "memory", "text", "lines"]
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

every_road = pytest.mark.parametrize("road", ROADS)


class Name(TypedDict):
    name: str


def make_server(**options):
    mcp = MCPServer("tested", **options)

    @mcp.tool()
    async def protocol(ctx: Context) -> str:
        return ctx.protocol_version

    @mcp.tool()
    async def nap(seconds: float) -> str:
        await trio.sleep(seconds)
        return "woke"

    @mcp.tool()
    def crash() -> str:
        raise ZeroDivisionError("mine")

    return mcp


def text_of(result):
    [block] = result.content
    return block.text


@every_road
@pytest.mark.parametrize(
    ("mode", "version"),
    [("auto", "2026-07-28"), ("legacy", "2025-11-25"), *zip(VERSIONS, VERSIONS, strict=True)],
)
async def test_every_road_leads_there_in_every_revision(autojump_clock, road, mode, version):
    async with open_client(make_server(), road, mode=mode) as client:
        assert isinstance(client, Client)
        assert text_of(await client.call_tool("protocol")) == version
    async with open_session(make_server(), road, mode=mode) as session:
        assert isinstance(session, ClientSession)
        assert text_of(await session.call_tool("protocol")) == version


@every_road
async def test_an_hour_takes_no_time(autojump_clock, road):
    async with open_client(make_server(), road) as client:
        assert text_of(await client.call_tool("nap", {"seconds": 3600.0})) == "woke"
    assert trio.current_time() >= 3600


@every_road
async def test_a_lowlevel_server_will_do(autojump_clock, road):
    async def call(ctx, params):
        return CallToolResult(content=[TextContent(text=params.name)])

    async with open_client(Server("low", on_call_tool=call), road) as client:
        assert text_of(await client.call_tool("any")) == "any"


@every_road
async def test_the_lifespan_is_entered_and_left(autojump_clock, road):
    events = []

    @asynccontextmanager
    async def lifespan(server):
        events.append("entered")
        yield
        await trio.sleep(1)
        events.append("left")

    async with open_client(make_server(lifespan=lifespan), road):
        assert events == ["entered"]
    assert events == ["entered", "left"]


@every_road
@pytest.mark.parametrize("opener", [open_client, open_session])
async def test_leaving_cancels_handlers_and_waits_for_them(autojump_clock, road, opener):
    mcp, ended = make_server(), []

    @mcp.tool()
    async def stay() -> str:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0.1)
            ended.append("cleaned up")

    async with trio.open_nursery() as nursery:
        async with opener(mcp, road) as client:

            @nursery.start_soon
            async def call() -> None:
                with pytest.raises(MCPError):
                    await client.call_tool("stay")

            await trio.testing.wait_all_tasks_blocked()
        assert ended == ["cleaned up"]
        nursery.cancel_scope.cancel()


@every_road
async def test_the_bodys_own_error_leaves_as_it_is(autojump_clock, road):
    with pytest.raises(ValueError, match="mine"):
        async with open_client(make_server(), road):
            raise ValueError("mine")


@every_road
@pytest.mark.parametrize("opener", [open_client, open_session])
async def test_a_defect_leaves_on_demand(autojump_clock, road, opener):
    server = Server("low")

    async def crash(ctx, params):
        raise ZeroDivisionError("mine")

    server.add_request_handler("tools/call", dict, crash)
    async with opener(server, road) as client:
        with pytest.raises(MCPError, match="Internal"):
            await client.call_tool("crash")
    with pytest.raises(ZeroDivisionError, match="mine"):
        async with opener(server, road, raise_exceptions=True) as client:
            await client.call_tool("crash")


@every_road
async def test_options_reach_the_client(autojump_clock, road):
    mcp = make_server()

    @mcp.tool()
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Name?", Name)).data["name"]

    async def answer(context, params):
        return ElicitResult(action="accept", content={"name": "Ada"})

    for opener in (open_client, open_session):
        async with opener(mcp, road, mode="legacy", elicitation_callback=answer) as client:
            assert text_of(await client.call_tool("ask")) == "Ada"


async def test_a_road_that_is_none_is_told():
    with pytest.raises(ValueError, match="direct, memory, text, lines, not 'pigeon'"):
        async with open_client(make_server(), "pigeon"):
            pass


def test_every_option_of_a_session_is_there():
    parameters = inspect.signature(ClientSession).parameters
    own = {"read_stream", "write_stream", "open_link"}
    assert set(SessionOptions.__annotations__) == set(parameters) - own


@every_road
async def test_leaving_needs_no_time_to_pass(mock_clock, road):
    server, flooded = make_server(), trio.Event()

    @server.tool()
    async def flood(ctx: Context) -> str:
        for number in range(10**9):
            if number == 1000:
                flooded.set()
            await ctx.session.send_log_message("error", "x" * 1000)
        return "done"

    async with (
        trio.open_nursery() as nursery,
        open_client(server, road, log_level="debug") as client,
    ):

        @nursery.start_soon
        async def call() -> None:
            with pytest.raises(MCPError):
                await client.call_tool("flood")

        await flooded.wait()
    assert trio.current_time() == 0


@every_road
async def test_leaving_ends_subscriptions(mock_clock, road):
    async with trio.open_nursery() as nursery, open_client(make_server(), road) as client:
        for _ in range(200):
            nursery.start_soon(listen, client)
        await trio.testing.wait_all_tasks_blocked()
    assert trio.current_time() == 0


async def listen(client):
    with pytest.raises(SubscriptionLost):
        async with client.listen(tools_list_changed=True) as changes:
            await anext(changes)


@every_road
@pytest.mark.parametrize("opens", [open_client, open_session])
@pytest.mark.parametrize("server", [5, None, MCPServer, "https://example.com/mcp"])
async def test_what_is_no_server_is_refused(road, opens, server):
    with pytest.raises(TypeError, match=r"^server: expected a Server or MCPServer, got "):
        async with opens(server, road):
            pass
