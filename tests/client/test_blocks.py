"""Leaving a block in a wrong task or order is one clear error, and harms nothing."""

from __future__ import annotations

import contextlib
import sys

import pytest
import trio

from trio_mcp.client import Client, ClientSession, ClientSessionGroup
from trio_mcp.mcpserver import MCPServer
from trio_mcp.transports import StdioServerParameters, open_memory_channel_pair, stdio_client

WAITING = StdioServerParameters(command=sys.executable, args=["-c", "input()"])


@pytest.fixture
def server():
    mcp = MCPServer("adder")

    @mcp.tool()
    def add(a: int, b: int) -> int:
        return a + b

    return mcp


BLOCKS = {
    "Client": Client,
    "ClientSession": lambda server: ClientSession(*open_memory_channel_pair()[0]),
    "ClientSessionGroup": lambda server: ClientSessionGroup(),
    "stdio_client": lambda server: stdio_client(WAITING),
}


@pytest.fixture(params=BLOCKS)
def block(request, server):
    return request.param, BLOCKS[request.param](server)


async def trio_still_works():
    """Every kind of bookkeeping that could be broken: scopes, nurseries, deadlines."""
    with trio.move_on_after(0.01) as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
    assert scope.cancelled_caught


@pytest.mark.case("C013")
async def test_left_in_another_task(block):
    name, manager = block
    await manager.__aenter__()

    async def leave():
        with pytest.raises(RuntimeError, match=rf"^{name} was entered in task .*connect\(\)"):
            await manager.__aexit__(None, None, None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave)
    await trio_still_works()
    # It is still open, and can be left where that is right.
    await manager.__aexit__(None, None, None)
    await trio_still_works()


@pytest.mark.case("C013")
async def test_left_before_a_block_that_was_entered_later(block, server):
    name, manager = block
    later = Client(server)
    await manager.__aenter__()
    await later.__aenter__()
    with pytest.raises(RuntimeError, match=f"^{name} cannot be left while"):
        await manager.__aexit__(None, None, None)
    await trio_still_works()
    assert (await later.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    await later.__aexit__(None, None, None)
    await manager.__aexit__(None, None, None)
    await trio_still_works()


@pytest.mark.case("C013")
async def test_left_before_a_cancel_scope_that_was_entered_later(block):
    name, manager = block
    await manager.__aenter__()
    with trio.move_on_after(30):
        with pytest.raises(RuntimeError, match=f"^{name} was left while a cancel scope"):
            await manager.__aexit__(None, None, None)
        await trio_still_works()
    await trio_still_works()
    # Here it has been left for good.
    with pytest.raises(RuntimeError, match="is not open"):
        await manager.__aexit__(None, None, None)


@pytest.mark.case("C013")
async def test_an_exit_stack_in_the_wrong_order_is_one_error(server):
    first, second = contextlib.AsyncExitStack(), contextlib.AsyncExitStack()
    await first.enter_async_context(Client(server))
    client = await second.enter_async_context(Client(server))
    with pytest.raises(RuntimeError, match="Client cannot be left while"):
        await first.aclose()
    await trio_still_works()
    await client.list_tools()
    await second.aclose()
    # Leaving the inner one has made up for it.
    with pytest.raises(RuntimeError, match="Use the client inside"):
        await client.list_tools()
    await trio_still_works()
    assert not trio.lowlevel.current_task().child_nurseries


async def test_listening_is_such_a_block_too(server):
    async with Client(server) as client:
        block = client.listen(tools_list_changed=True)
        await block.__aenter__()

        async def leave():
            with pytest.raises(RuntimeError, match=r"^listen was entered in task"):
                await block.__aexit__(None, None, None)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(leave)
        await block.__aexit__(None, None, None)


async def test_the_keep_alive_of_a_session_does_not_count_as_a_later_block(
    autojump_clock, script, initialized
):
    near, far = open_memory_channel_pair()
    server = script(initialize=initialized(), ping={})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with ClientSession(near, ping_interval=1) as session:
            await session.initialize()
            await trio.sleep(3.5)
        nursery.cancel_scope.cancel()
    assert server.methods.count("ping") == 3


async def test_what_the_body_raises_leaves_as_it_is(server):
    with pytest.raises(KeyError, match="mine"):
        async with Client(server):
            raise KeyError("mine")
