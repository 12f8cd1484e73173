"""What stands round the handlers of a server."""

from __future__ import annotations

import functools

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.server import Server
from trio_mcp.testing import open_client
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    EmptyResult,
    JSONRPCNotification,
    JSONRPCRequest,
    ListToolsResult,
    NotificationParams,
    Request,
    Result,
)

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


class Notes:
    def __init__(self):
        self.seen = []

    async def __call__(self, ctx, call_next):
        self.seen.append((ctx.method, ctx.request_id is None))
        return await call_next(ctx)


async def send(client, method):
    return await client.session.send_request(Request(method=method, params={}), Result)


@BOTH_ERAS
async def test_it_sees_what_no_handler_is_there_for_and_may_answer_it(mode):
    notes = Notes()

    async def answer(ctx, call_next):
        if ctx.method == "com.example/known":
            return {"by": "middleware"}
        return await call_next(ctx)

    server = Server("me")
    server.middleware += [notes, answer]
    async with Client(server, mode=mode) as client:
        assert (await send(client, "com.example/known")).extra["by"] == "middleware"
        for method in ("com.example/unknown", "prompts/list"):
            with pytest.raises(MCPError, match=f"Method not found: {method}") as caught:
                await send(client, method)
            assert caught.value.code == -32601
        # What the revision does not have is refused before.
        gone = "server/discover" if mode == "legacy" else "logging/setLevel"
        before = len(notes.seen)
        with pytest.raises(MCPError) as caught:
            await send(client, gone)
        assert (caught.value.code, len(notes.seen)) == (-32601, before)
    assert ("com.example/unknown", False) in notes.seen


async def test_it_sees_notifications_in_order_and_may_keep_them_back(autojump_clock):
    heard = []

    async def hear(ctx, params):
        heard.append((ctx.method, params.meta))

    async def filter_out(ctx, call_next):
        if ctx.method == "com.example/secret":
            return None
        if ctx.method == "com.example/told":
            params = {**ctx.params, "_meta": {"com.example/by": "middleware"}}
            return await call_next(attrs.evolve(ctx, params=params))
        return await call_next(ctx)

    notes = Notes()
    server = Server("me")
    for method in ("com.example/told", "com.example/secret"):
        server.add_notification_handler(method, NotificationParams, hear)
    server.middleware += [notes, filter_out]
    async with Client(server, mode="legacy") as client:
        for method in ("com.example/told", "com.example/secret", "com.example/unheard"):
            await client.session._require_link().notify(method, {})
        await wait_all_tasks_blocked()
    assert heard == [("com.example/told", {"com.example/by": "middleware"})]
    assert notes.seen == [
        ("initialize", False),
        ("notifications/initialized", True),
        ("com.example/told", True),
        ("com.example/secret", True),
        ("com.example/unheard", True),
    ]


async def test_one_that_fails_for_a_notification_harms_nobody(autojump_clock, caplog):
    async def broken(ctx, call_next):
        if ctx.request_id is None:
            raise KeyError("secret")
        return await call_next(ctx)

    async def ping(ctx, params):
        return EmptyResult()

    server = Server("me", on_ping=ping)
    server.middleware.append(broken)
    async with Client(server, mode="legacy") as client:
        await wait_all_tasks_blocked()
        await client.send_ping()
    assert "KeyError" in caplog.text


class Callable:
    async def __call__(self, context, then):
        return await then(context)


async def named_otherwise(request, next_one):
    return await next_one(request)


async def by_position_only(request, next_one, /):
    return await next_one(request)


async def of_any(*arguments):
    request, then = arguments
    return await then(request)


async def with_more(more, request, then):
    return await then(request)


def plain_that_returns_a_coroutine(request, then):
    return then(request)


@pytest.mark.parametrize(
    "middleware",
    [
        named_otherwise,
        by_position_only,
        of_any,
        functools.partial(with_more, "more"),
        plain_that_returns_a_coroutine,
        Callable(),
    ],
)
@BOTH_ERAS
async def test_its_parameters_may_be_called_anything(mode, middleware):
    async def tell(ctx, params):
        return {"told": params["text"]}

    server = Server("me")
    server.add_request_handler("com.example/tell", dict, tell)
    server.middleware = [middleware, middleware]
    async with Client(server, mode=mode) as client:
        request = Request(method="com.example/tell", params={"text": "hi"})
        assert (await client.session.send_request(request, Result)).extra["told"] == "hi"


def plain(ctx, call_next):
    return {}


class Plain:
    def __call__(self, ctx, call_next):
        return {}


@pytest.mark.parametrize(("middleware", "name"), [(plain, "plain"), (Plain(), "Plain")])
async def test_one_that_is_no_async_function_is_named(middleware, name, caplog):
    server = Server("me")
    async with Client(server) as client:
        server.middleware.append(middleware)
        with pytest.raises(MCPError) as caught:
            await send(client, "com.example/unknown")
        assert caught.value.code == -32603
    assert f"middleware {name}: expected an async function, got one that returned dict" in (
        caplog.text
    )


@pytest.mark.parametrize(
    "add",
    [
        lambda server: server.middleware.append(5),
        lambda server: server.middleware.insert(0, 5),
        lambda server: server.middleware.extend([named_otherwise, 5]),
        lambda server: server.middleware.__iadd__([named_otherwise, 5]),
        lambda server: server.middleware.__setitem__(0, 5),
        lambda server: server.middleware.__setitem__(slice(0, 1), [5]),
        lambda server: setattr(server, "middleware", [5]),
    ],
)
def test_what_cannot_be_called_is_refused_however_it_is_added(add):
    server = Server("me")
    middleware = server.middleware
    server.middleware += [named_otherwise]
    assert server.middleware is middleware
    with pytest.raises(TypeError, match=r"^middleware: expected a function, got int$"):
        add(server)
    assert server.middleware == [named_otherwise]
    server.middleware[:] = [of_any, of_any]
    server.middleware[0] = named_otherwise
    server.middleware.insert(0, by_position_only)
    assert server.middleware == [by_position_only, named_otherwise, of_any]


@pytest.mark.parametrize("road", ["direct", "memory", "text"])
async def test_initialized_is_seen_before_a_later_call(autojump_clock, road):
    async def look(ctx, params):
        return ListToolsResult(tools=[])

    server = Server("me", on_list_tools=look)
    notes = Notes()
    server.middleware.append(notes)
    for _ in range(30):  # the order of tasks in one turn of Trio's is drawn
        async with open_client(server, road, mode="legacy") as client:
            await client.list_tools()
    assert [name for name, _ in notes.seen] == [
        "initialize",
        "notifications/initialized",
        "tools/list",
    ] * 30


@pytest.mark.parametrize("split", [False, True])
async def test_a_notification_is_seen_before_requests_that_arrive_with_it(autojump_clock, split):
    async def look(ctx, params):
        return ListToolsResult(tools=[])

    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    told = JSONRPCNotification(method="notifications/roots/list_changed")
    messages = [
        JSONRPCRequest(id=1, method="initialize", params=hello),
        JSONRPCNotification(method="notifications/initialized"),
        JSONRPCRequest(id=2, method="tools/list"),
        told,
        JSONRPCRequest(id=3, method="ping"),
    ]
    for _ in range(30):
        server = Server("me", on_list_tools=look)
        notes = Notes()
        server.middleware.append(notes)
        near, far = open_memory_channel_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.run, near)
            for burst in [[each] for each in messages] if split else [messages]:
                await far.send(burst)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        seen = [name for name, _ in notes.seen]
        assert seen[:2] == ["initialize", "notifications/initialized"]
        assert seen.index(told.method) < seen.index("ping")


@pytest.mark.parametrize("road", ["direct", "memory", "text"])
async def test_a_slow_look_at_a_notification_holds_up_no_call(autojump_clock, road):
    async def look(ctx, params):
        return ListToolsResult(tools=[])

    async def slow(ctx, call_next):
        if ctx.request_id is None:
            await trio.sleep_forever()
        return await call_next(ctx)

    server = Server("me", on_list_tools=look)
    server.middleware.append(slow)
    async with open_client(server, road, mode="legacy") as client:
        for _ in range(3):
            await client.session._require_link().notify("notifications/roots/list_changed")
            await client.list_tools()
        assert trio.current_time() < 1
