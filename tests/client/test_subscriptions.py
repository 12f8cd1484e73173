from __future__ import annotations

import contextlib
import gc
import pickle
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trio_mcp import MCPServer, Server
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.client import (
    Client,
    ListenNotSupportedError,
    PromptsListChanged,
    ResourceUpdated,
    SubscriptionLost,
    ToolsListChanged,
    listen,
)
from trio_mcp.client._subscriptions import MAX_LAG, ListenRoute, Subscription
from trio_mcp.errors import ConnectionLost, MCPError, RequestTimeout
from trio_mcp.server import InMemorySubscriptionBus, ListenHandler
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ListPromptsResult,
    ListToolsResult,
    SubscriptionFilter,
)

SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
TOOLS_CHANGED = "notifications/tools/list_changed"


def script_of_listens(script, discovery, **answers):
    """A modern server that leaves listens open, and lists no tools."""
    tools = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}
    return script(
        **{
            "server__discover": discovery,
            "subscriptions__listen": script.SILENCE,
            "tools__list": tools,
            **answers,
        }
    )


async def acknowledge(server, honored=None, **options):
    """Acknowledge the listen that comes next; return its id."""
    await trio.testing.wait_all_tasks_blocked()
    request = server.received[-1]
    assert request.method == "subscriptions/listen"
    await server.tell(
        "notifications/subscriptions/acknowledged",
        {
            "notifications": request.params["notifications"] if honored is None else honored,
            "_meta": {SUBSCRIPTION_ID: request.id},
        },
    )
    return request.id


@asynccontextmanager
async def listening(client, server, honored=None, **wanted):
    async with open_background_nursery() as nursery:
        nursery.start_soon(acknowledge, server, honored)
        async with client.listen(**wanted or {"tools_list_changed": True}) as changes:
            yield changes


async def tell(server, subscription_id, method=TOOLS_CHANGED, **params):
    await server.tell(method, {**params, "_meta": {SUBSCRIPTION_ID: subscription_id}})


async def no_tools(ctx, params):
    return ListToolsResult(tools=[], ttl_ms=60_000)


async def no_prompts(ctx, params):
    return ListPromptsResult(prompts=[])


def publisher(**options):
    bus = InMemorySubscriptionBus()
    server = Server(
        "x",
        on_list_tools=no_tools,
        on_list_prompts=no_prompts,
        on_subscriptions_listen=ListenHandler(bus, **options),
    )
    return server, bus


@asynccontextmanager
async def over(road, server, **options):
    """Connect to a server in memory: directly, or over a channel as JSON text."""
    if road == "direct":
        async with Client(server, **options) as client:
            yield client
        return
    near, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with Client(near, **options) as client:
            yield client
        nursery.cancel_scope.cancel()


# What arrives


@pytest.mark.parametrize("road", ["direct", "channel"])
async def test_events_come_in_order_until_the_block_is_left(autojump_clock, road):
    server, bus = publisher()
    async with over(road, server) as client:
        async with client.listen(tools_list_changed=True, prompts_list_changed=True) as changes:
            await bus.publish(PromptsListChanged())
            await bus.publish(ToolsListChanged())
            assert await anext(changes) == PromptsListChanged()
            assert await anext(changes) == ToolsListChanged()
        with pytest.raises(StopAsyncIteration):
            await anext(changes)
        await trio.testing.wait_all_tasks_blocked()
        assert not bus._listeners


@pytest.mark.req("R-085", "R-202")
@pytest.mark.parametrize("road", ["direct", "channel"])
async def test_several_subscriptions_share_a_channel(autojump_clock, road):
    server, bus = publisher()
    async with (
        over(road, server) as client,
        client.listen(tools_list_changed=True) as tools,
        client.listen(prompts_list_changed=True) as prompts,
    ):
        async with client.listen(tools_list_changed=True, prompts_list_changed=True) as both:
            await bus.publish(ToolsListChanged())
            await bus.publish(PromptsListChanged())
            assert await anext(tools) == ToolsListChanged()
            assert await anext(prompts) == PromptsListChanged()
            assert [await anext(both), await anext(both)] == [
                ToolsListChanged(),
                PromptsListChanged(),
            ]
            assert len({each.subscription_id for each in (tools, prompts, both)}) == 3
        await bus.publish(ToolsListChanged())
        assert await anext(tools) == ToolsListChanged()
        for each in (tools, prompts):
            with trio.move_on_after(1):
                raise AssertionError(await anext(each))


@pytest.mark.req("R-085", "R-202")
async def test_what_belongs_to_another_subscription_or_to_none_is_not_told(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery)
    async with connect(server) as client, listening(client, server) as changes:
        number = changes.subscription_id
        await tell(server, str(number))
        await tell(server, number + 1)
        await server.tell(TOOLS_CHANGED, {})
        await tell(server, number, "notifications/prompts/list_changed")
        await tell(server, number, "notifications/resources/updated", uri="a://1")
        with trio.move_on_after(1):
            raise AssertionError(await anext(changes))
        await tell(server, number)
        assert await anext(changes) == ToolsListChanged()


@pytest.mark.req("R-201")
async def test_what_was_asked_for_and_what_is_told_can_be_compared(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery)
    wanted = {"tools_list_changed": True, "resource_subscriptions": ("a://1",)}
    async with (
        connect(server) as client,
        listening(client, server, {"toolsListChanged": True}, **wanted) as changes,
    ):
        assert changes.requested == SubscriptionFilter(
            tools_list_changed=True, resource_subscriptions=["a://1"]
        )
        assert changes.honored == SubscriptionFilter(tools_list_changed=True)
        # What was not acknowledged is not expected.
        await tell(server, changes.subscription_id, "notifications/resources/updated", uri="a://1")
        await tell(server, changes.subscription_id)
        assert await anext(changes) == ToolsListChanged()


async def test_an_update_may_lie_below_what_was_subscribed_to(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery)
    async with (
        connect(server) as client,
        listening(client, server, resource_subscriptions=["a://1"]) as changes,
    ):
        updated = "notifications/resources/updated"
        await tell(server, changes.subscription_id, updated, uri="a://1/below")
        await tell(server, changes.subscription_id, updated, uri=7)
        await tell(server, changes.subscription_id, updated, uri="a://1")
        assert await anext(changes) == ResourceUpdated("a://1/below")
        assert await anext(changes) == ResourceUpdated("a://1")


# How it ends


@pytest.mark.parametrize("road", ["direct", "channel"])
async def test_the_loop_ends_when_the_server_ends_the_subscription(autojump_clock, road):
    server, bus = publisher()
    async with (
        over(road, server) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        await bus.publish(ToolsListChanged())
        server.get_request_handler("subscriptions/listen").handler.close()
        assert [change async for change in changes] == [ToolsListChanged()]
        # A notification that comes after the result has nothing left to end.
        assert (await client.list_tools()).tools == []


async def test_a_cancelled_alone_is_an_end_in_good_order(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery)
    async with connect(server) as client, listening(client, server) as changes:
        await tell(server, changes.subscription_id)
        await server.tell("notifications/cancelled", {"requestId": str(changes.subscription_id)})
        await server.tell("notifications/cancelled", {"requestId": changes.subscription_id})
        assert [change async for change in changes] == [ToolsListChanged()]
    assert "notifications/cancelled" not in server.methods


async def test_a_server_cannot_end_another_request_that_way(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery, tools__list=script.SILENCE)
    async with connect(server) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.list_tools)
        await trio.testing.wait_all_tasks_blocked()
        request = server.received[-1]
        await server.tell("notifications/cancelled", {"requestId": request.id})
        await trio.testing.wait_all_tasks_blocked()
        assert nursery.child_tasks
        nursery.cancel_scope.cancel()


async def test_a_result_without_acknowledgement_is_a_subscription_that_is_over(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery, subscriptions__listen={"resultType": "complete"})
    async with (
        connect(server) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        assert changes.honored == SubscriptionFilter()
        assert [change async for change in changes] == []


async def test_a_lost_connection_is_told_apart(autojump_clock, script, discovery, connect):
    server = script_of_listens(script, discovery)
    async with connect(server) as client, listening(client, server) as changes:
        await tell(server, changes.subscription_id)
        await server.channel.aclose()
        assert await anext(changes) == ToolsListChanged()
        for _ in range(2):
            with pytest.raises(SubscriptionLost, match="was lost: Connection closed") as caught:
                await anext(changes)
            assert isinstance(caught.value.__cause__, ConnectionLost)
            assert isinstance(caught.value, MCPError)
            assert isinstance(caught.value, RuntimeError)


async def test_a_subscription_that_overflows_on_the_server_is_lost(autojump_clock):
    server, bus = publisher(max_buffered_events=2)
    async with (
        over("channel", server) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        for _ in range(3):
            for listener in list(bus._listeners.values()):
                listener(ToolsListChanged())
        with pytest.raises(SubscriptionLost, match="More than 2 events") as caught:
            await anext(changes)
        assert caught.value.__cause__.code == -32603


@pytest.mark.parametrize("mode", ["legacy", "2024-11-05"])
async def test_the_older_era_has_none(mode):
    server, _ = publisher()
    async with Client(server, mode=mode) as client:
        with pytest.raises(ListenNotSupportedError, match="subscribe_resource") as caught:
            async with client.listen(tools_list_changed=True):
                pass
        assert caught.value.negotiated_version == client.protocol_version


async def test_a_modern_server_may_have_none(autojump_clock):
    async with Client(MCPServer("x", subscriptions=False)) as client:
        with pytest.raises(ListenNotSupportedError) as caught:
            async with client.listen(tools_list_changed=True):
                pass
        assert caught.value.code == -32601
        assert caught.value.__cause__.message == "Method not found: subscriptions/listen"


async def test_a_refusal_is_the_servers_error(autojump_clock):
    server, _ = publisher(max_subscriptions=0)
    async with Client(server) as client:
        with pytest.raises(MCPError, match="limit reached") as caught:
            async with client.listen(tools_list_changed=True):
                pass
        assert type(caught.value) is MCPError


async def test_a_connection_that_ends_before_the_beginning(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery)
    async with connect(server) as client, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def end():
            await trio.testing.wait_all_tasks_blocked()
            await server.channel.aclose()

        with pytest.raises(ConnectionLost):
            async with client.listen(tools_list_changed=True):
                pass


async def test_an_acknowledgement_that_does_not_come(autojump_clock, script, discovery, connect):
    server = script_of_listens(script, discovery)
    async with connect(server, read_timeout_seconds=3) as client:
        with pytest.raises(RequestTimeout, match="within 3 s"):
            async with client.listen(tools_list_changed=True):
                pass
        assert trio.current_time() == pytest.approx(3)
        await trio.testing.wait_all_tasks_blocked()
        assert server.methods[-1] == "notifications/cancelled"


async def test_an_acknowledgement_that_is_none_is_logged(
    autojump_clock, script, discovery, connect, caplog
):
    server = script_of_listens(script, discovery)
    async with (
        connect(server, read_timeout_seconds=3) as client,
        open_background_nursery() as nursery,
    ):
        nursery.start_soon(acknowledge, server, {"toolsListChanged": "yes"})
        with pytest.raises(RequestTimeout):
            async with client.listen(tools_list_changed=True):
                pass
    assert "toolsListChanged" in caplog.text


@pytest.mark.req("R-205")
async def test_leaving_the_block_tells_the_server(autojump_clock, script, discovery, connect):
    server = script_of_listens(script, discovery)
    async with connect(server) as client:
        async with listening(client, server) as changes:
            number = changes.subscription_id
        await trio.testing.wait_all_tasks_blocked()
        cancelled = server.received[-1]
        assert cancelled.method == "notifications/cancelled"
        assert cancelled.params["requestId"] == number
        async with listening(client, server) as changes:
            await changes.aclose()
            await trio.testing.wait_all_tasks_blocked()
            assert server.received[-1].params["requestId"] == changes.subscription_id
            assert [change async for change in changes] == []


async def test_the_bodys_own_exception_leaves_as_it_is(autojump_clock):
    server, _ = publisher()
    async with Client(server) as client:
        with pytest.raises(KeyError, match="mine"):
            async with client.listen(tools_list_changed=True):
                raise KeyError("mine")


async def test_one_uri_is_not_a_list_of_uris(autojump_clock):
    server, _ = publisher()
    async with Client(server) as client:
        with pytest.raises(TypeError, match="expected a list of URIs, got one str"):
            async with client.listen(resource_subscriptions="a://1"):
                pass


@pytest.mark.parametrize("error", [ListenNotSupportedError("2025-11-25"), SubscriptionLost("x")])
def test_errors_pickle(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.args, str(again)) == (type(error), error.args, str(error))


# Loops that are left


@pytest.mark.case("C014")
async def test_a_loop_may_be_left_anywhere(autojump_clock):
    server, bus = publisher()
    async with Client(server) as client:
        with contextlib.suppress(KeyError):
            async with client.listen(tools_list_changed=True) as changes:
                await bus.publish(ToolsListChanged())
                async for _ in changes:
                    break
                gc.collect()
                await bus.publish(ToolsListChanged())
                async for _ in changes:
                    raise KeyError
        gc.collect()
        async with client.listen(tools_list_changed=True) as changes:
            abandoned = changes.__aiter__()
            with trio.move_on_after(1) as scope:
                await anext(abandoned)
            assert scope.cancelled_caught
            del abandoned, changes
            gc.collect()
            assert (await client.list_tools()).tools == []
    gc.collect()


async def test_a_cancelled_wait_loses_nothing(autojump_clock):
    server, bus = publisher()
    async with Client(server) as client, client.listen(tools_list_changed=True) as changes:
        with trio.move_on_after(1):
            await anext(changes)
        await bus.publish(ToolsListChanged())
        with trio.CancelScope() as scope:
            scope.cancel()
            await anext(changes)
        with trio.testing.assert_checkpoints():
            assert await anext(changes) == ToolsListChanged()


# Before and behind the user


async def test_a_barrier_is_waited_for_before_each_event(autojump_clock):
    server, bus = publisher()
    seen = []

    async def barrier(event):
        await trio.sleep(1)
        seen.append(event)

    async with (
        Client(server) as client,
        listen(client.session, tools_list_changed=True, on_event=barrier) as changes,
    ):
        await bus.publish(ToolsListChanged())
        with trio.move_on_after(0.5):
            await anext(changes)
        assert seen == []
        assert await anext(changes) == ToolsListChanged()
        assert seen == [ToolsListChanged()]


@pytest.mark.parametrize("road", ["direct", "channel"])
async def test_what_was_kept_is_out_of_date_before_the_change_is_told(autojump_clock, road):
    server, bus = publisher()
    listed = []

    async def count(ctx, call_next):
        listed.append(ctx.method)
        return await call_next(ctx)

    server.middleware.append(count)
    async with (
        over(road, server) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        await client.list_tools()
        await client.list_tools()
        assert listed.count("tools/list") == 1
        await bus.publish(ToolsListChanged())
        await anext(changes)
        await client.list_tools()
        assert listed.count("tools/list") == 2


async def test_each_notification_is_heard_by_listeners_of_the_session_first(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery)
    order = []

    async def handler(message):
        order.append("message_handler")

    async with connect(server, message_handler=handler) as client:
        remove = client.session.on_notification(lambda method, params: order.append(method))
        async with listening(client, server) as changes:
            await trio.testing.wait_all_tasks_blocked()
            order.clear()
            await tell(server, changes.subscription_id)
            await anext(changes)
            order.append("the loop")
            await trio.testing.wait_all_tasks_blocked()
            assert order[0] == TOOLS_CHANGED
            assert sorted(order[1:]) == ["message_handler", "the loop"]
            remove()
            order.clear()
            await tell(server, changes.subscription_id)
            await anext(changes)
            assert TOOLS_CHANGED not in order


async def test_whoever_lags_far_behind_loses_the_oldest_counted(caplog):
    wanted = SubscriptionFilter(resource_subscriptions=["a://"])
    route = ListenRoute(wanted)
    route.acknowledge(wanted, 1)
    for number in range(MAX_LAG + 3):
        route.take("notifications/resources/updated", {"uri": f"a://{number}"})
    changes = Subscription(route, 1, wanted)
    assert changes.lost_events == 3
    assert await anext(changes) == ResourceUpdated("a://3")
    assert caplog.text.count("are lost") == 1


# Changes without end


@pytest.mark.case("C036")
async def test_a_burst_costs_one_refresh_and_one_more(autojump_clock):
    server, bus = publisher()
    listed = []
    async with Client(server) as client, client.listen(tools_list_changed=True) as changes:
        for _ in range(100):
            await bus.publish(ToolsListChanged())
        with trio.move_on_after(10):
            async for _ in changes:
                listed.append(await client.list_tools())
                if len(listed) == 1:
                    for _ in range(100):
                        await bus.publish(ToolsListChanged())
    assert len(listed) == 2


@pytest.mark.case("C036")
async def test_a_server_that_takes_listing_for_a_change_is_listed_a_handful_of_times(
    autojump_clock, script, discovery, connect
):
    server = script_of_listens(script, discovery)
    listed = 0
    async with connect(server, cache=None) as client, listening(client, server) as changes:
        await tell(server, changes.subscription_id)
        with trio.move_on_after(10):
            async for _ in changes:
                await client.list_tools()
                listed += 1
                for _ in range(50):
                    await tell(server, changes.subscription_id)
    assert 2 <= listed <= 8


async def test_the_last_change_is_told_however_often_the_list_changed(autojump_clock):
    server, bus = publisher()
    told = []
    async with (
        Client(server) as client,
        client.listen(tools_list_changed=True) as changes,
        open_background_nursery() as nursery,
    ):

        @nursery.start_soon
        async def hear():
            told.extend([trio.current_time() async for _ in changes])

        for _ in range(30):
            await bus.publish(ToolsListChanged())
            await trio.sleep(0.1)
        last = trio.current_time() - 0.1
        await trio.sleep(10)
        await changes.aclose()
        await trio.testing.wait_all_tasks_blocked()
    assert told[0] == 0
    assert len(told) < 10
    assert told[-1] >= last


async def test_changes_that_are_apart_are_told_at_once(autojump_clock):
    server, bus = publisher()
    async with Client(server) as client, client.listen(tools_list_changed=True) as changes:
        for _ in range(5):
            await trio.sleep(1)
            await bus.publish(ToolsListChanged())
            before = trio.current_time()
            await anext(changes)
            assert trio.current_time() == before


async def test_messages_of_a_channel_are_what_the_specification_says(autojump_clock):
    near, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def scripted():
            async def read():
                (message,) = await far.receive()
                return message

            request = await read()
            assert isinstance(request, JSONRPCRequest)
            assert request.params["notifications"] == {"toolsListChanged": True}
            meta = request.params["_meta"]
            assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
            stamp = {"_meta": {SUBSCRIPTION_ID: request.id}}
            acknowledged = JSONRPCNotification(
                method="notifications/subscriptions/acknowledged",
                params={"notifications": {"toolsListChanged": True}, **stamp},
            )
            result = JSONRPCResponse(id=request.id, result={"resultType": "complete", **stamp})
            await far.send([acknowledged, result])

        async with (
            Client(near, mode="2026-07-28") as client,
            client.listen(tools_list_changed=True, prompts_list_changed=False) as changes,
        ):
            assert [change async for change in changes] == []
