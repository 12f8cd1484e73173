from __future__ import annotations

import threading
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.client import Client
from trio_mcp.errors import MCPDeprecationWarning, MCPError
from trio_mcp.server import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import JSONRPCNotification, JSONRPCRequest, ResourceUpdatedNotification

TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"

ALL = {
    "tools_list_changed": True,
    "prompts_list_changed": True,
    "resources_list_changed": True,
    "resource_subscriptions": ["note://1"],
}


def make_server(**options):
    mcp = MCPServer("notes", **options)

    @mcp.tool()
    def nothing() -> str:
        return ""

    @mcp.resource("note://1")
    def note() -> str:
        return "one"

    @mcp.prompt()
    def greet() -> str:
        return "hello"

    return mcp


def numbered(number):
    def tool() -> int:
        return number

    return tool


@asynccontextmanager
async def over(road, server, **options):
    if road == "direct":
        async with Client(server, **options) as client:
            yield client
        return
    near, far = open_memory_channel_pair(as_text=True)
    async with open_background_nursery() as nursery:
        nursery.start_soon(server.lowlevel_server.run, far)
        async with Client(near, **options) as client:
            yield client


class Heard(list):
    """The methods of the notifications that a client heard."""

    def __init__(self):
        super().__init__()
        self.more = trio.Event()

    def append(self, method):
        super().append(method)
        self.more.set()

    async def wait(self):
        await self.more.wait()


@asynccontextmanager
async def hearing(server, mode="legacy", road="channel"):
    """Connect a client that hears everything; yields it and the methods of what it heard."""
    heard = Heard()

    async def handler(message):
        heard.append(message.method)

    async with over(road, server, mode=mode, message_handler=handler) as client:
        # The session is ready when the server has heard so.
        await trio.testing.wait_all_tasks_blocked()
        if mode == "legacy":
            yield client, heard
        else:
            async with client.listen(**ALL):
                await trio.testing.wait_all_tasks_blocked()
                heard.clear()
                heard.more = trio.Event()
                yield client, heard


both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])
both_roads = pytest.mark.parametrize("road", ["direct", "channel"])


# By itself


@both_eras
@both_roads
@pytest.mark.req("R-239", "R-597")
@pytest.mark.case("C036")
async def test_a_loop_that_adds_tools_tells_so_once(autojump_clock, mode, road):
    server = make_server()
    async with hearing(server, mode, road) as (client, heard):
        for number in range(100):
            server.add_tool(numbered(number), name=f"tool{number}")
        await trio.sleep(2)
        assert heard == [TOOLS]
        for _ in range(3):
            assert len((await client.list_tools()).tools) == 101
        for number in range(100):
            server.remove_tool(f"tool{number}")
            await trio.lowlevel.checkpoint()
        await trio.sleep(2)
        assert heard == [TOOLS, TOOLS]


@pytest.mark.case("C036")
async def test_changes_that_go_on_and_on_are_told_now_and_then(autojump_clock):
    server = make_server()
    async with hearing(server) as (_, heard):
        for number in range(300):
            server.add_tool(numbered(number), name=f"tool{number}")
            await trio.sleep(0.01)
        await trio.sleep(2)
        assert 3 <= len(heard) <= 5


@both_eras
async def test_what_changes_nothing_is_not_told(autojump_clock, mode):
    server = make_server(warn_on_duplicate_tools=False)
    server.add_tool(numbered(1), name="early")
    async with hearing(server, mode) as (client, heard):
        server.add_tool(numbered(2), name="nothing")
        await client.list_tools()
        await client.list_prompts()
        await client.list_resources()
        await trio.sleep(2)
        assert heard == []


@both_eras
async def test_a_tool_in_a_thread_may_add_tools(autojump_clock, mode):
    server = make_server()

    @server.tool()
    def grow() -> str:
        for number in range(100):
            server.add_tool(numbered(number), name=f"tool{number}")
        return "grown"

    async with hearing(server, mode) as (client, heard):
        await client.call_tool("grow")
        assert heard == []
        await trio.sleep(1)
        assert heard == [TOOLS]


def test_nothing_is_told_while_nobody_serves(recwarn):
    server = make_server()

    async def serve():
        async with hearing(server) as (_, heard):
            await trio.sleep(1)
            return heard

    clock = trio.testing.MockClock(autojump_threshold=0)
    assert trio.run(serve, clock=clock) == []
    thread = threading.Thread(target=server.add_tool, args=(numbered(1), "between"))
    thread.start()
    thread.join()
    clock = trio.testing.MockClock(autojump_threshold=0)
    assert trio.run(serve, clock=clock) == []
    assert not recwarn.list


async def test_every_run_in_every_thread_is_told_once():
    server = make_server()
    ready, heard_there = threading.Event(), []

    async def in_thread():
        async with hearing(server) as (_, heard):
            ready.set()
            await heard.wait()
            heard_there.extend(heard)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, trio.run, in_thread)
        await trio.to_thread.run_sync(ready.wait)
        async with hearing(server, "auto") as (_, heard):
            await trio.to_thread.run_sync(server.add_tool, numbered(1), "x")
            await heard.wait()
            assert heard == [TOOLS]
    assert heard_there == [TOOLS]


async def test_what_a_run_has_still_to_tell_is_told_by_another(autojump_clock):
    server = make_server()
    async with open_background_nursery() as nursery:
        first = trio.CancelScope()

        @nursery.start_soon
        async def run_for_a_while():
            with first:
                async with server.open():
                    await trio.sleep_forever()

        await trio.testing.wait_all_tasks_blocked()
        async with hearing(server) as (_, heard):
            server.add_tool(numbered(1), name="x")
            first.cancel()
            await trio.sleep(1)
            assert heard == [TOOLS]


async def test_a_bus_that_fails_harms_nobody(autojump_clock, caplog):
    class Broken(InMemorySubscriptionBus):
        async def publish(self, event):
            await trio.lowlevel.checkpoint()
            raise OSError("the broker is gone")

    server = make_server(subscriptions=Broken())
    async with hearing(server) as (client, _):
        for name in ("x", "y"):
            server.add_tool(numbered(1), name=name)
            await trio.sleep(1)
        assert len((await client.list_tools()).tools) == 3
    assert caplog.text.count("OSError: the broker is gone") == 2


# What is announced


@both_eras
@pytest.mark.req("R-597")
@pytest.mark.parametrize("empty", [True, False])
async def test_changes_of_every_list_are_announced(autojump_clock, mode, empty):
    async with Client(MCPServer("x") if empty else make_server(), mode=mode) as client:
        capabilities = client.server_capabilities
        assert capabilities.tools.list_changed is True
        assert capabilities.prompts.list_changed is True
        assert capabilities.resources.list_changed is True
        assert capabilities.resources.subscribe is True


async def test_a_session_is_not_told_what_it_was_not_announced(autojump_clock):
    server = MCPServer("x")
    server.lowlevel_server.remove_request_handler("tools/list")
    async with hearing(server) as (client, heard):
        server.add_tool(numbered(1), name="x")
        server.prompt("second")(lambda: "x")
        await trio.sleep(1)
        assert heard == [PROMPTS]
        assert client.server_capabilities.tools is None


async def test_the_first_entries_of_lists_are_told(autojump_clock):
    server = MCPServer("x")
    async with hearing(server) as (client, heard):
        assert (await client.list_tools()).tools == []
        server.add_tool(numbered(1), name="x")
        await trio.sleep(1)
        assert heard == [TOOLS]
        assert [each.name for each in (await client.list_tools()).tools] == ["x"]


async def test_a_session_is_told_nothing_before_it_is_ready(autojump_clock):
    server = make_server()
    near, far = open_memory_channel_pair()
    async with open_background_nursery() as nursery:
        nursery.start_soon(server.lowlevel_server.run, near)
        params = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        await far.send([JSONRPCRequest(id=1, method="initialize", params=params)])
        assert (await far.receive())[0].id == 1
        server.add_tool(numbered(1), name="x")
        with trio.move_on_after(1):
            raise AssertionError(await far.receive())
        await far.send([JSONRPCNotification(method="notifications/initialized")])
        await trio.testing.wait_all_tasks_blocked()
        server.add_tool(numbered(1), name="y")
        told = await far.receive()
        assert [(each.method, each.params) for each in told] == [(TOOLS, None)]


async def test_a_client_that_does_not_read_keeps_nobody_from_hearing(autojump_clock):
    server = make_server()
    near, far = open_memory_channel_pair(max_buffered=1)
    async with open_background_nursery() as nursery, hearing(server) as (_, heard):
        nursery.start_soon(server.lowlevel_server.run, near)
        params = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        await far.send([JSONRPCRequest(id=1, method="initialize", params=params)])
        await far.receive()
        await far.send([JSONRPCNotification(method="notifications/initialized")])
        for _ in range(1000):
            await server.notify_tools_changed()
        await trio.testing.wait_all_tasks_blocked()
        assert TOOLS in heard
        heard.clear()
        await server.notify_tools_changed()
        await trio.testing.wait_all_tasks_blocked()
        assert heard == [TOOLS]


# By a call


@both_eras
@both_roads
async def test_one_call_reaches_both_eras(autojump_clock, mode, road):
    server = make_server()

    @server.tool()
    async def tell(ctx: Context) -> str:
        await ctx.notify_tools_changed()
        await ctx.notify_prompts_changed()
        await ctx.notify_resources_changed()
        await ctx.notify_resource_updated("note://1")
        return "told"

    async with (
        hearing(server, mode, road) as (client, heard),
        hearing(server, "legacy", "direct") as (_, heard_by_another),
    ):
        if mode == "legacy":
            with pytest.warns(MCPDeprecationWarning):
                await client.subscribe_resource("note://1")
        await client.call_tool("tell")
        await trio.testing.wait_all_tasks_blocked()
        assert heard == [TOOLS, PROMPTS, RESOURCES, UPDATED]
        await server.notify_resource_updated("note://1")
        await server.notify_resources_changed()
        await server.notify_prompts_changed()
        await server.notify_tools_changed()
        await trio.testing.wait_all_tasks_blocked()
        assert heard[4:] == [UPDATED, RESOURCES, PROMPTS, TOOLS]
        assert heard_by_another == [TOOLS, PROMPTS, RESOURCES, RESOURCES, PROMPTS, TOOLS]


async def test_what_is_told_by_a_call_is_not_told_again(autojump_clock):
    server = make_server()

    @server.tool()
    async def grow(ctx: Context) -> str:
        server.add_tool(numbered(1), name="one")
        await ctx.notify_tools_changed()
        return "grown"

    async with hearing(server) as (client, heard):
        await client.call_tool("grow")
        await trio.sleep(1)
        assert heard == [TOOLS]


async def test_a_context_may_have_a_bus_of_its_own():
    told = []
    bus = InMemorySubscriptionBus()
    bus.subscribe(told.append)
    context = Context(subscriptions=bus)
    await context.notify_tools_changed()
    await context.without_input().notify_resource_updated("a://1")
    assert told == [ToolsListChanged(), ResourceUpdated("a://1")]
    with pytest.raises(ValueError, match="no request"):
        await Context().notify_tools_changed()


async def test_one_bus_may_serve_several_servers(autojump_clock):
    bus = InMemorySubscriptionBus()
    here, there = make_server(subscriptions=bus), make_server(subscriptions=bus)
    async with hearing(here, "auto") as (_, first), hearing(there) as (_, second):
        here.add_tool(numbered(1), name="x")
        await trio.sleep(1)
        await bus.publish(PromptsListChanged())
        await bus.publish(ResourcesListChanged())
        await trio.testing.wait_all_tasks_blocked()
        assert first == second == [TOOLS, PROMPTS, RESOURCES]


async def test_without_subscriptions_older_clients_still_hear(autojump_clock):
    server = make_server(subscriptions=False)
    async with Client(server) as client:
        assert client.server_capabilities.tools.list_changed is None
        assert client.server_capabilities.resources.subscribe is None
    async with hearing(server) as (_, heard):
        server.add_tool(numbered(1), name="x")
        await trio.sleep(1)
        assert heard == [TOOLS]


# Resources that older clients subscribe to


@both_roads
@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_a_session_hears_of_the_resources_it_subscribed_to(autojump_clock, road):
    server = make_server()
    heard = []

    async def handler(message):
        assert isinstance(message, ResourceUpdatedNotification)
        heard.append(message.params.uri)

    async with (
        over(road, server, mode="legacy", message_handler=handler) as client,
        hearing(server) as (_, heard_by_another),
    ):
        for uri in ("note://1", "note://1", "note://later"):
            await client.subscribe_resource(uri)
        for uri in ("note://1", "note://2", "note://later"):
            await server.notify_resource_updated(uri)
        await trio.testing.wait_all_tasks_blocked()
        assert heard == ["note://1", "note://later"]
        await client.unsubscribe_resource("note://1")
        await client.unsubscribe_resource("note://1")
        for uri in ("note://1", "note://later"):
            await server.notify_resource_updated(uri)
        await trio.testing.wait_all_tasks_blocked()
        assert heard == ["note://1", "note://later", "note://later"]
        assert heard_by_another == []


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_a_session_may_not_subscribe_without_end():
    async with Client(make_server(), mode="legacy") as client:
        for number in range(1024):
            await client.subscribe_resource(f"note://{number}")
        await client.subscribe_resource("note://7")
        with pytest.raises(MCPError, match="limit reached"):
            await client.subscribe_resource("note://one-more")
        await client.unsubscribe_resource("note://7")
        await client.subscribe_resource("note://one-more")
