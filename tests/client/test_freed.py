"""What a client and a server in this process held is freed at once, however the two parted.

`MCPServer` and the `Server` below it know each other, so the two are watched from outside: what
each connection and each request made is gone, and so is what a program gave to it.
"""

from __future__ import annotations

import gc
import logging
import sys
import weakref
from contextlib import asynccontextmanager, suppress

import pytest
import trio
import trio.testing

from trio_mcp.client import (
    Client,
    ClientSession,
    ClientSessionGroup,
    RestartPolicy,
    SubscriptionLost,
    connect,
)
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.transports import StdioServerParameters, open_memory_channel_pair
from trio_mcp.types import ElicitResult


class Watch:
    """Remembers what should be gone later, without holding it."""

    def __init__(self):
        self.seen = []

    def __call__(self, *things):
        self.seen.extend((type(each).__name__, weakref.ref(each)) for each in things)

    @property
    def left(self):
        return [name for name, ref in self.seen if ref() is not None]


class Held:
    """Something of the program's."""


def make_server(watch, name="watched"):
    @asynccontextmanager
    async def lifespan(server):
        held = Held()
        watch(held)
        yield held

    mcp = MCPServer(name, lifespan=lifespan)

    def look(ctx):
        exchange = ctx.request_context.exchange
        watch(ctx, exchange, exchange.connection, ctx.request_context.lifespan_context)

    @mcp.tool()
    async def add(a: int, b: int, ctx: Context) -> int:
        look(ctx)
        await ctx.report_progress(1)
        return a + b

    @mcp.tool()
    def in_a_thread(ctx: Context) -> str:
        look(ctx)
        return "done"

    @mcp.tool()
    async def fail(ctx: Context) -> str:
        look(ctx)
        raise ValueError(ctx)

    @mcp.tool()
    async def refuse(ctx: Context) -> str:
        look(ctx)
        raise MCPError(5, "no")

    @mcp.tool()
    async def sleep(ctx: Context) -> str:
        look(ctx)
        await trio.sleep_forever()

    @mcp.tool()
    async def ask(ctx: Context) -> str:
        look(ctx)
        if ctx.session.can_send_request:
            await ctx.session.elicit_form("?", {"type": "object", "properties": {}})
        return "asked"

    return mcp


async def ignore(*args):
    pass


async def use(client, watch):
    """Call in every way in which a call can end."""
    watch(client, client.session, client.session._link)
    await client.list_tools()
    await client.call_tool("add", {"a": 1, "b": 2}, progress_callback=ignore)
    await client.call_tool("in_a_thread")
    assert (await client.call_tool("fail")).is_error
    assert (await client.call_tool("add", {"a": "x"})).is_error
    for call in (
        lambda: client.call_tool("refuse"),
        lambda: client.call_tool("nothing"),
        lambda: client.read_resource("a://b"),
        lambda: client.call_tool("sleep", read_timeout_seconds=0.01),
    ):
        with pytest.raises(MCPError):
            await call()
    with trio.move_on_after(0.01):
        await client.call_tool("sleep", progress_callback=ignore)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(client.call_tool, "sleep")
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def call_to_the_end(client):
    with suppress(ConnectionLost):
        await client.call_tool("sleep")


# How client and server part


async def left_in_good_order(mcp, mode, watch):
    async with Client(mcp, mode=mode) as client:
        await use(client, watch)


async def left_by_an_error(mcp, mode, watch):
    with suppress(KeyError):
        async with Client(mcp, mode=mode) as client:
            await use(client, watch)
            raise KeyError


async def left_by_a_cancel(mcp, mode, watch):
    with trio.CancelScope() as scope:
        async with Client(mcp, mode=mode) as client, trio.open_nursery() as nursery:
            await use(client, watch)
            nursery.start_soon(client.call_tool, "sleep")
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()


async def left_while_others_call(mcp, mode, watch):
    async with trio.open_nursery() as nursery, Client(mcp, mode=mode) as client:
        await use(client, watch)
        for _ in range(3):
            nursery.start_soon(call_to_the_end, client)
        await trio.testing.wait_all_tasks_blocked()


async def refused(mcp, mode, watch):
    async def deny(ctx, call_next):
        raise MCPError(-32021, "no", {})

    mcp.middleware.append(deny)
    client = Client(mcp, mode=mode)
    watch(client)
    with suppress(MCPError):
        async with client:
            pytest.fail("it connected")


async def asked_by_the_server(mcp, mode, watch):
    async def answer(context, params):
        watch(context)
        return ElicitResult(action="decline")

    async with Client(mcp, mode=mode, elicitation_callback=answer) as client:
        await client.call_tool("ask")
        await use(client, watch)


async def over_a_channel(mcp, mode, watch):
    near, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mcp.lowlevel_server.run, far)
        async with Client(near, mode=mode) as client:
            await use(client, watch)
        nursery.cancel_scope.cancel()


async def over_a_channel_that_breaks(mcp, mode, watch):
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mcp.lowlevel_server.run, far)
        async with Client(near, mode=mode) as client:
            await use(client, watch)
            async with trio.open_nursery() as calls:
                calls.start_soon(call_to_the_end, client)
                await trio.testing.wait_all_tasks_blocked()
                await far.aclose()


async def by_hand(mcp, mode, watch):
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mcp.lowlevel_server.run, far)
        async with ClientSession(near) as session:
            await (session.discover() if mode == "auto" else session.initialize())
            watch(session, session._link)
            await session.list_tools()
            with trio.move_on_after(0.01):
                await session.call_tool("sleep")
        nursery.cancel_scope.cancel()


async def by_a_handle(mcp, mode, watch):
    async with trio.open_nursery() as nursery:
        client = await connect(nursery, mcp, mode=mode)
        await use(client, watch)
        await client.aclose()


async def by_a_handle_whose_nursery_is_cancelled(mcp, mode, watch):
    async with trio.open_nursery() as nursery:
        client = await connect(nursery, mcp, mode=mode)
        await use(client, watch)
        nursery.cancel_scope.cancel()


async def in_a_group(mcp, mode, watch):
    async with ClientSessionGroup() as group:
        watch(group)
        session = await group.connect_to_server(mcp)
        other = await group.connect_to_server(make_server(ignore_all, "other"))
        watch(session, session._link, other, other._link)
        with trio.move_on_after(0.01):
            await group.call_tool("sleep")
        with suppress(MCPError):
            await group.call_tool("refuse")
        await group.disconnect_from_server(session)


async def refused_by_a_group(mcp, mode, watch):
    async with ClientSessionGroup(on_collision="refuse") as group:
        watch(group)
        watch(await group.connect_to_server(mcp))
        with suppress(MCPError):
            await group.connect_to_server(mcp)


def ignore_all(*things):
    pass


async def listening(mcp, mode, watch):
    async with Client(mcp) as client:
        await use(client, watch)
        async with client.listen(tools_list_changed=True) as changes:
            watch(changes)
            mcp.add_tool(lambda: "", name="new")
            async for _ in changes:
                break
        with suppress(KeyError):
            async with client.listen(tools_list_changed=True) as changes:
                watch(changes)
                raise KeyError


async def listening_to_the_end(mcp, mode, watch):
    async def listen(client):
        with suppress(SubscriptionLost, MCPError):
            async with client.listen(tools_list_changed=True) as changes:
                watch(changes)
                async for _ in changes:
                    pass

    async with trio.open_nursery() as nursery, Client(mcp) as client:
        await use(client, watch)
        nursery.start_soon(listen, client)
        await trio.testing.wait_all_tasks_blocked()


MORTAL = """
import os
from trio_mcp import MCPServer
mcp = MCPServer("mortal")

@mcp.tool()
def die() -> None:
    os._exit(3)

@mcp.tool()
def pid() -> int:
    return os.getpid()

mcp.run("stdio")
"""


async def after_a_restart(mcp, mode, watch):
    server = StdioServerParameters(command=sys.executable, args=["-c", MORTAL])
    async with Client(server, mode=mode, restart=RestartPolicy(initial_delay=0)) as client:
        watch(client, client.session, client.session._link)
        first = await client.call_tool("pid")
        with suppress(ConnectionLost):
            await client.call_tool("die")
        assert (await client.call_tool("pid")).content != first.content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    "part",
    [
        left_in_good_order,
        left_by_an_error,
        left_by_a_cancel,
        left_while_others_call,
        refused,
        asked_by_the_server,
        over_a_channel,
        over_a_channel_that_breaks,
        by_hand,
        by_a_handle,
        by_a_handle_whose_nursery_is_cancelled,
        in_a_group,
        refused_by_a_group,
        listening,
        listening_to_the_end,
        after_a_restart,
    ],
    ids=lambda part: part.__name__,
)
async def test_what_a_client_and_a_server_held_is_freed_without_the_garbage_collector(
    part, mode, monkeypatch
):
    # pytest keeps the records of the log, with the exceptions in them.
    monkeypatch.setattr(logging.getLogger("trio_mcp"), "disabled", True)
    monkeypatch.setattr(logging.getLogger("trio_mcp.mcpserver"), "disabled", True)
    await part(make_server(ignore_all), mode, Watch())  # what is made once and kept is made
    watch = Watch()
    mcp = make_server(watch)
    gc.collect()
    gc.disable()
    try:
        await part(mcp, mode, watch)
        await trio.testing.wait_all_tasks_blocked()
        assert len(watch.seen) >= 2
        assert watch.left == []
    finally:
        gc.enable()
