from __future__ import annotations

import threading
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer, Server
from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.server import (
    EventsLost,
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    CallToolResult,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
)

SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
ALL = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["a://1", "a://2"],
}
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS_CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


class Bus(InMemorySubscriptionBus):
    """Tells events without giving anyone a turn."""

    def emit(self, *events):
        for event in events:
            for listener in list(self._listeners.values()):
                listener(event)


async def no_tools(ctx, params):
    return ListToolsResult(tools=[])


async def no_prompts(ctx, params):
    return ListPromptsResult(prompts=[])


async def no_resources(ctx, params):
    return ListResourcesResult(resources=[])


def make_server(handler, **handlers):
    handlers = handlers or {
        "on_list_tools": no_tools,
        "on_list_prompts": no_prompts,
        "on_list_resources": no_resources,
    }
    return Server("x", on_subscriptions_listen=handler, **handlers)


@attrs.define
class Wire:
    channel: object
    read: list = attrs.Factory(list)

    async def listen(self, wanted=ALL, request_id=1, **meta):
        params = {"notifications": wanted, "_meta": {**META, **meta}}
        await self.ask("subscriptions/listen", params, request_id)

    async def ask(self, method, params, request_id):
        await self.channel.send([JSONRPCRequest(id=request_id, method=method, params=params)])

    async def tell(self, method, params):
        await self.channel.send([JSONRPCNotification(method=method, params=params)])

    async def next(self):
        if not self.read:
            self.read = await self.channel.receive()
        return self.read.pop(0)

    async def begin(self, *args, **options):
        await self.listen(*args, **options)
        acknowledged = await self.next()
        assert acknowledged.method == ACKNOWLEDGED
        return acknowledged.params

    async def silence(self, seconds=1):
        assert not self.read
        with trio.move_on_after(seconds):
            raise AssertionError(await self.next())

    def end_input(self):
        self.channel._outbound.sender_closed = True
        self.channel._outbound.wake()


@asynccontextmanager
async def serve(server):
    near, far = open_memory_channel_pair(as_text=True)

    async def run():
        async with near:
            await server.run(near)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        yield Wire(far)
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-059", "R-199", "R-200", "R-203")
@pytest.mark.parametrize("request_id", [1, "1", "listen-7", 0])
async def test_all_of_a_subscription_carries_its_id_and_the_acknowledgement_is_first(
    autojump_clock, request_id
):
    class Eager(Bus):
        def subscribe(self, listener):
            unsubscribe = super().subscribe(listener)
            listener(ToolsListChanged())  # while the subscription opens
            return unsubscribe

    bus = Eager()
    handler = ListenHandler(bus)
    async with serve(make_server(handler)) as wire:
        await wire.listen(request_id=request_id)
        first, early = await wire.next(), await wire.next()
        assert (first.method, early.method) == (ACKNOWLEDGED, TOOLS_CHANGED)
        assert first.params["notifications"] == ALL
        bus.emit(ResourceUpdated("a://2"))
        updated = await wire.next()
        assert updated.params["uri"] == "a://2"
        handler.close()
        result = await wire.next()
        assert result.id == request_id
        assert type(result.id) is type(request_id)
        assert result.result["resultType"] == "complete"
        for params in (first.params, early.params, updated.params, result.result):
            told = params["_meta"][SUBSCRIPTION_ID]
            assert told == request_id
            assert type(told) is type(request_id)


@pytest.mark.req("R-198")
async def test_only_what_was_asked_for_is_told(autojump_clock):
    bus = Bus()
    everything = [
        ToolsListChanged(),
        PromptsListChanged(),
        ResourcesListChanged(),
        ResourceUpdated("a://1"),
        ResourceUpdated("a://1/below"),
        ResourceUpdated("b://1"),
    ]
    wanted = [
        ({"promptsListChanged": True, "toolsListChanged": False}, {"promptsListChanged": True}),
        ({"resourceSubscriptions": ["b://1"]}, {"resourceSubscriptions": ["b://1"]}),
        ({"resourceSubscriptions": []}, {}),
        ({}, {}),
    ]
    async with serve(make_server(ListenHandler(bus))) as wire:
        for number, (asked, honored) in enumerate(wanted):
            acknowledged = await wire.begin(asked, number)
            assert acknowledged["notifications"] == honored
        bus.emit(*everything)
        told = [await wire.next(), await wire.next()]
        assert sorted((each.params["_meta"][SUBSCRIPTION_ID], each.method) for each in told) == [
            (0, "notifications/prompts/list_changed"),
            (1, UPDATED),
        ]
        await wire.silence()


async def test_only_what_the_server_announces_is_acknowledged(autojump_clock):
    bus = Bus()
    async with serve(make_server(ListenHandler(bus), on_list_prompts=no_prompts)) as wire:
        acknowledged = await wire.begin()
        assert acknowledged["notifications"] == {"promptsListChanged": True}
        bus.emit(ToolsListChanged(), ResourceUpdated("a://1"))
        await wire.silence()
        acknowledged = await wire.begin({"toolsListChanged": True}, 2)
        assert acknowledged["notifications"] == {}


async def test_a_server_that_announces_no_changes_has_no_subscriptions(autojump_clock):
    async def call(ctx, params):
        return CallToolResult(content=[])

    server = make_server(ListenHandler(Bus()), on_call_tool=call)
    async with serve(server) as wire:
        await wire.listen()
        assert (await wire.next()).error.code == -32601
        server.extensions["com.example/changes"] = {}
        assert (await wire.begin(request_id=2))["notifications"] == {}


async def test_a_resource_may_stand_for_those_below_it(autojump_clock):
    bus = Bus()
    handler = ListenHandler(bus, covers=lambda subscribed, uri: uri.startswith(subscribed + "/"))
    async with serve(make_server(handler)) as wire:
        await wire.begin()
        bus.emit(ResourceUpdated("a://1/x"), ResourceUpdated("a://10"), ResourceUpdated("a://2"))
        assert [(await wire.next()).params["uri"] for _ in range(2)] == ["a://1/x", "a://2"]
        await wire.silence()


# How a subscription ends


@pytest.mark.req("R-203", "R-206", "R-215")
async def test_the_server_ends_it_with_a_result_and_then_a_cancelled(autojump_clock):
    bus = Bus()
    handler = ListenHandler(bus)
    async with serve(make_server(handler)) as wire:
        await wire.begin(request_id="a")
        await wire.begin(request_id="b")
        bus.emit(ToolsListChanged())
        handler.close()
        read = [await wire.next() for _ in range(6)]
        for request_id in ("a", "b"):
            own = [each for each in read if request_id_of(each) == request_id]
            assert [type(each) for each in own] == [
                JSONRPCNotification,
                JSONRPCResponse,
                JSONRPCNotification,
            ]
            assert own[0].method == TOOLS_CHANGED  # what waited still came
            assert own[2].method == "notifications/cancelled"
        # It is over, and the id may be used again.
        bus.emit(ToolsListChanged())
        await wire.silence()
        await wire.begin(request_id="a")


def request_id_of(message):
    if isinstance(message, JSONRPCResponse):
        return message.id
    return message.params.get("requestId", message.params.get("_meta", {}).get(SUBSCRIPTION_ID))


@pytest.mark.req("R-203", "R-206")
async def test_the_end_of_input_ends_it_in_good_order(autojump_clock):
    async with serve(make_server(ListenHandler(Bus()))) as wire:
        await wire.begin()
        wire.end_input()
        assert isinstance(await wire.next(), JSONRPCResponse)
        assert (await wire.next()).params["requestId"] == 1
        with pytest.raises(trio.EndOfChannel):
            await wire.next()
        assert trio.current_time() < 0.5


@pytest.mark.req("R-203", "R-206")
async def test_a_server_that_is_cancelled_ends_it_in_good_order(autojump_clock):
    near, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_server(ListenHandler(Bus())).run, near)
        wire = Wire(far)
        await wire.begin()
        nursery.cancel_scope.cancel()
    result, cancelled = await wire.next(), await wire.next()
    assert result.result["_meta"][SUBSCRIPTION_ID] == 1
    assert result.result["resultType"] == "complete"
    assert (cancelled.method, cancelled.params["requestId"]) == ("notifications/cancelled", 1)


async def test_a_client_that_uses_the_id_again_at_once_loses_nothing(autojump_clock):
    bus = Bus()
    handler = ListenHandler(bus)
    async with serve(make_server(handler)) as wire:
        await wire.begin()
        handler.close()
        assert isinstance(await wire.next(), JSONRPCResponse)
        await wire.begin()
        await trio.sleep(1)
        bus.emit(ToolsListChanged())
        assert (await wire.next()).method == TOOLS_CHANGED
        await wire.silence()


async def test_a_server_that_is_cancelled_as_it_ends_them_says_both(autojump_clock):
    handler = ListenHandler(Bus())
    near, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_server(handler).run, near)
        wire = Wire(far)
        await wire.begin()
        handler.close()
        assert isinstance(await wire.next(), JSONRPCResponse)
        nursery.cancel_scope.cancel()
    assert (await wire.next()).params["requestId"] == 1
    assert trio.current_time() < 0.5


@pytest.mark.req("R-207")
async def test_no_cancelled_is_sent_for_anything_else(autojump_clock):
    async def hangs(ctx, params):
        await trio.sleep_forever()

    bus = Bus()
    handler = ListenHandler(bus, max_subscriptions=1)
    server = make_server(handler, on_list_tools=no_tools, on_call_tool=hangs)
    async with serve(server) as wire:
        await wire.begin(request_id=1)
        await wire.listen(request_id=2)
        assert isinstance(await wire.next(), JSONRPCError)  # refused
        await wire.tell("notifications/cancelled", {"requestId": 1})  # the client's own end
        await wire.ask("tools/list", {"_meta": META}, 3)
        assert (await wire.next()).id == 3
        await wire.ask("tools/call", {"name": "x", "_meta": META}, 4)
        await wire.tell("notifications/cancelled", {"requestId": 4})
        bus.emit(ToolsListChanged())
        await wire.silence()
        await wire.ask("tools/call", {"name": "x", "_meta": META}, 5)
        await trio.testing.wait_all_tasks_blocked()
        wire.end_input()
        with pytest.raises(trio.EndOfChannel):
            await wire.next()


@pytest.mark.req("R-323")
async def test_neither_progress_nor_log_messages_travel_on_it(autojump_clock):
    async def talkative(ctx, call_next):
        await ctx.session.report_progress(1)
        await ctx.session.send_log_message("error", "listening")
        return await call_next(ctx)

    server = make_server(ListenHandler(Bus()))
    server.middleware.append(talkative)
    async with serve(server) as wire:
        await wire.begin(**{"progressToken": 5, "io.modelcontextprotocol/logLevel": "debug"})
        await wire.silence()


# Limits


async def test_a_client_that_does_not_read_loses_its_subscription_and_is_told(autojump_clock):
    bus = Bus()
    handler = ListenHandler(bus, max_buffered_events=3, max_subscriptions=2)
    async with serve(make_server(handler)) as wire:
        await wire.begin(request_id=1)
        await wire.begin({"promptsListChanged": True}, 2)
        bus.emit(*[ToolsListChanged()] * 3)
        for _ in range(3):
            assert (await wire.next()).method == TOOLS_CHANGED
        bus.emit(*[ToolsListChanged()] * 4)
        error, cancelled = await wire.next(), await wire.next()
        assert (error.id, error.error.code) == (1, -32603)
        assert "More than 3 events" in error.error.message
        assert cancelled.params["requestId"] == 1
        bus.emit(PromptsListChanged())  # the other one goes on
        assert (await wire.next()).params["_meta"] == {SUBSCRIPTION_ID: 2}
        await wire.begin(request_id=3)


async def test_a_stuck_wire_does_not_keep_the_slot_nor_the_events(autojump_clock):
    bus = Bus()
    handler = ListenHandler(bus, max_subscriptions=1)
    near, far = open_memory_channel_pair(max_buffered=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_server(handler).run, near)
        stuck = Wire(far)
        await stuck.listen()
        for _ in range(1500):
            await bus.publish(ToolsListChanged())
        await trio.testing.wait_all_tasks_blocked()
        assert not handler._streams
        assert not bus._listeners
        async with serve(make_server(handler)) as wire:
            await wire.begin()
        nursery.cancel_scope.cancel()


async def test_more_subscriptions_than_the_limit_are_refused(autojump_clock):
    handler = ListenHandler(Bus(), max_subscriptions=2)
    async with serve(make_server(handler)) as wire:
        await wire.begin(request_id=1)
        await wire.begin(request_id=2)
        await wire.listen(request_id=3)
        refused = await wire.next()
        assert (refused.id, refused.error.code) == (3, -32603)
        await wire.tell("notifications/cancelled", {"requestId": 1})
        await trio.testing.wait_all_tasks_blocked()
        await wire.begin(request_id=4)


async def test_more_subscriptions_than_requests_at_once_stop_no_other_request(autojump_clock):
    bus = Bus()
    handler = ListenHandler(bus)
    async with serve(make_server(handler)) as wire:
        for request_id in range(1024):
            await wire.begin(request_id=request_id)
        await wire.ask("tools/list", {"_meta": META}, "tools")
        assert (await wire.next()).id == "tools"
        await wire.listen(request_id="one more")
        refused = await wire.next()
        assert (refused.id, refused.error.code) == ("one more", -32603)
        bus.emit(ToolsListChanged())
        told = {(await wire.next()).params["_meta"][SUBSCRIPTION_ID] for _ in range(1024)}
        assert told == set(range(1024))


async def test_a_bus_that_fails_to_unsubscribe_harms_nobody(autojump_clock, caplog):
    class Broken(Bus):
        def subscribe(self, listener):
            super().subscribe(listener)
            return self.fail

        def fail(self):
            raise OSError("the broker is gone")

    handler = ListenHandler(Broken())
    async with serve(make_server(handler)) as wire:
        await wire.begin()
        handler.close()
        assert isinstance(await wire.next(), JSONRPCResponse)
    assert not handler._streams
    assert "the broker is gone" in caplog.text


# The bus


async def test_one_listener_that_fails_does_not_keep_the_others_from_hearing(caplog):
    bus, heard = InMemorySubscriptionBus(), []

    def broken(event):
        raise ValueError("deaf")

    bus.subscribe(broken)
    first = bus.subscribe(heard.append)
    bus.subscribe(heard.append)
    with trio.testing.assert_checkpoints():
        await bus.publish(ToolsListChanged())
    first()
    first()
    await bus.publish(ResourceUpdated("a://1"))
    assert heard == [ToolsListChanged(), ToolsListChanged(), ResourceUpdated("a://1")]
    assert "deaf" in caplog.text


async def test_publishing_is_cancelled_before_or_not_at_all():
    bus, heard = InMemorySubscriptionBus(), []
    bus.subscribe(heard.append)
    with trio.CancelScope() as scope:
        scope.cancel()
        await bus.publish(ToolsListChanged())
    assert heard == []


async def test_one_bus_serves_runs_in_several_threads():
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    ready, heard, ended = threading.Event(), [], []

    async def listen_in_thread():
        async with (
            Client(make_server(handler)) as client,
            client.listen(tools_list_changed=True) as changes,
        ):
            ready.set()
            heard.extend([change async for change in changes])
        ended.append(True)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, trio.run, listen_in_thread)
        await trio.to_thread.run_sync(ready.wait)
        async with (
            Client(make_server(handler)) as client,
            client.listen(tools_list_changed=True) as changes,
        ):
            await bus.publish(ToolsListChanged())
            assert await anext(changes) == ToolsListChanged()
            await trio.to_thread.run_sync(handler.close)
            assert [change async for change in changes] == []
    assert heard == [ToolsListChanged()]
    assert ended == [True]
    await bus.publish(ToolsListChanged())  # nobody is left to be called


# What cannot be told


@pytest.mark.parametrize("uri", ["file:///r\udcff", 5])
def test_a_uri_that_cannot_be_told_is_an_error_of_who_tells_it(uri):
    with pytest.raises((TypeError, ValueError), match=r"^uri: "):
        ResourceUpdated(uri)


@pytest.mark.parametrize("where", ["bus", "server", "announce"])
@pytest.mark.parametrize("event", [ToolsListChanged, "tools/list_changed", EventsLost(), [], None])
async def test_what_is_no_event_is_an_error_of_who_tells_it(where, event):
    bus, server = InMemorySubscriptionBus(), make_server(None)
    server.serve_changes(bus)
    heard = []
    bus.subscribe(heard.append)

    async def announce(event):
        server.announce(event)

    tell = {"bus": bus.publish, "server": server.publish, "announce": announce}[where]
    with pytest.raises(TypeError, match="event: expected an event, such as"):
        await tell(event)
    assert heard == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_handler_that_tells_such_a_uri_fails_alone(mode):
    mcp = MCPServer("x")
    mcp.resource("a://{+name}", name="all")(lambda name: name)

    @mcp.tool()
    async def tell(uri: str, ctx: Context) -> str:
        await ctx.notify_resource_updated(uri + "\udcff" * uri.endswith("bad"))
        return "told"

    async with Client(mcp, mode=mode) as client:
        assert (await client.call_tool("tell", {"uri": "a://bad"})).is_error
        assert not (await client.call_tool("tell", {"uri": "a://good"})).is_error


async def test_a_bus_of_others_is_told_what_it_may_not_bring():
    class Careless(InMemorySubscriptionBus):
        def __init__(self) -> None:
            super().__init__()
            self.tells = []

        def subscribe(self, listener):
            self.tells.append(listener)
            return super().subscribe(listener)

    bus = Careless()
    mcp = MCPServer("x", subscriptions=bus)
    mcp.add_tool(lambda: "", name="one")
    async with Client(mcp, mode="legacy") as client:

        def tell():
            with pytest.raises(TypeError, match="expected an event"):
                bus.tells[0]("junk")

        tell()
        # From a thread it would come out where nobody is, and end everything.
        await trio.to_thread.run_sync(tell)
        assert not (await client.call_tool("one")).is_error


# Errors of use


async def test_a_subscription_needs_a_modern_request(autojump_clock):
    async with Client(make_server(ListenHandler(Bus())), mode="legacy") as client:
        from trio_mcp.types import (
            SubscriptionFilter,
            SubscriptionsListenRequest,
            SubscriptionsListenRequestParams,
            SubscriptionsListenResult,
        )

        request = SubscriptionsListenRequest(
            params=SubscriptionsListenRequestParams(notifications=SubscriptionFilter())
        )
        with pytest.raises(MCPError) as caught:
            await client.session.send_request(request, SubscriptionsListenResult)
        assert caught.value.code == -32601
