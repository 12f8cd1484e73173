"""In memory, too, what notifications ask of user code runs behind: no call waits for it."""

from __future__ import annotations

import contextvars
import gc
import weakref

import pytest
import trio
import trio.testing

from trio_mcp.client import Client
from trio_mcp.errors import ConnectionLost
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import Server
from trio_mcp.testing import open_client

every_road = pytest.mark.parametrize("road", ["direct", "memory", "text"])

mcp = MCPServer("chatty")


@mcp.tool()
async def chat(count: int, ctx: Context) -> str:
    for number in range(count):
        await ctx.session.send_log_message("info", number)
    return "said"


async def never(*args):
    await trio.sleep_forever()


@every_road
async def test_a_callback_that_lags_holds_up_no_call_and_gets_all_in_order(autojump_clock, road):
    got = []

    async def listen(params):
        await trio.sleep(1)
        got.append(params.data)

    async with open_client(mcp, road, log_level="info", logging_callback=listen) as client:
        assert not (await client.call_tool("chat", {"count": 10})).is_error
        assert trio.current_time() < 0.5
        assert got == []
        await trio.sleep(10.5)
        assert got == list(range(10))


@every_road
async def test_a_callback_that_never_returns_holds_up_neither_calls_nor_leaving(
    autojump_clock, road
):
    async with open_client(
        mcp, road, log_level="info", logging_callback=never, message_handler=never
    ) as client:
        for _ in range(3):
            await client.call_tool("chat", {"count": 3}, read_timeout_seconds=1)
        left = trio.current_time()
    assert trio.current_time() - left < 0.5


@every_road
async def test_a_callback_that_is_quick_has_been_called_when_the_block_was_left(road):
    got = []

    async def listen(params):
        got.append(params.data)

    async with open_client(mcp, road, log_level="info", logging_callback=listen) as client:
        await client.call_tool("chat", {"count": 3})
    assert got == [0, 1, 2]


@every_road
async def test_a_handler_of_the_server_that_never_returns_holds_up_no_client(autojump_clock, road):
    begun = trio.Event()

    async def hear(ctx, params):
        begun.set()
        await trio.sleep_forever()

    server = Server("hears", on_roots_list_changed=hear)
    async with open_client(server, road, mode="legacy") as client:
        for _ in range(2):
            with pytest.warns(match="deprecated"):
                await client.session.send_roots_list_changed()
        await begun.wait()
        await client.send_ping()


async def test_a_callback_may_call_and_is_cancelled_when_the_block_is_left(autojump_clock, caplog):
    slow = MCPServer("slow")
    ended = []

    @slow.tool()
    async def chat_and_wait(ctx: Context) -> str:
        await ctx.session.send_log_message("info", "hello")
        return "said"

    @slow.tool()
    async def wait() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("wait")

    async def listen(params):
        ended.append(len((await client.list_tools()).tools))
        await client.call_tool("wait")

    async with Client(slow, log_level="info", logging_callback=listen) as client:
        await client.call_tool("chat_and_wait")
        await trio.testing.wait_all_tasks_blocked()
    assert ended == [2, "wait"]
    assert caplog.text == ""
    assert trio.current_time() == 0


VARIABLE = contextvars.ContextVar("VARIABLE", default="outside")


@every_road
async def test_a_callback_has_the_context_in_which_the_client_was_opened(road):
    got = []

    async def listen(params):
        got.append(VARIABLE.get())

    VARIABLE.set("opened")
    async with open_client(mcp, road, log_level="info", logging_callback=listen) as client:
        VARIABLE.set("called")
        await client.call_tool("chat", {"count": 1})
    assert got == ["opened"]


async def test_what_still_waits_for_a_callback_is_freed_with_the_client():
    kept = []

    async def use() -> None:
        async with Client(mcp, log_level="info", logging_callback=never) as client:
            await client.call_tool("chat", {"count": 5})
            kept.extend(weakref.ref(each) for each in (client.session, client.session._link))

    gc.collect()
    gc.disable()
    try:
        await use()
        assert [ref() for ref in kept] == [None, None]
    finally:
        gc.enable()


async def test_nothing_is_heard_of_a_connection_that_was_left():
    async with Client(mcp, mode="legacy") as client:
        session = client.session
    with pytest.warns(match="deprecated"), pytest.raises(ConnectionLost):
        await session.send_roots_list_changed()
