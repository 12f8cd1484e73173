"""Leaving a block in a wrong task or order is one clear error, and harms nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import sys

import pytest
import trio

from trio_mcp.client import Client, ClientSession, ClientSessionGroup
from trio_mcp.mcpserver import MCPServer
from trio_mcp.server import Server
from trio_mcp.testing import open_client, open_session
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


# Entered by hand, and never left


async def abandoned(block, then=None):
    await block.__aenter__()
    del block
    gc.collect()
    await trio.sleep(0.01)
    gc.collect()
    await trio_still_works()
    if then is not None:
        raise then


@pytest.mark.case("C013")
@pytest.mark.parametrize("name", [*BLOCKS, "open_client", "open_session"])
@pytest.mark.parametrize("then", [None, KeyError("mine")], ids=["returns", "raises"])
def test_a_block_that_is_let_go_is_not_collected_and_told_once(name, then, server, caplog):
    make = {**BLOCKS, "open_client": open_client, "open_session": open_session}[name]

    async def main():
        await abandoned(make(server), then)

    with pytest.raises(RuntimeError, match=r"^Nursery stack corrupted") as caught:
        trio.run(main)
    assert caught.value.__context__ is then
    [record] = caplog.records
    assert re.match(
        rf"Task '.*main' has ended without leaving what it entered: {name}\b.* Use `async with`",
        record.message,
    )


@pytest.mark.case("C013")
def test_so_are_a_subscription_and_the_client_that_it_belongs_to(server, caplog):
    async def main():
        async with Client(server) as client:
            await abandoned(client.listen(tools_list_changed=True))
            assert len((await client.list_tools()).tools) == 1

    with pytest.raises(RuntimeError, match=r"^Nursery stack corrupted"):
        trio.run(main)
    [record] = caplog.records
    assert "entered: listen, Client" in record.message


@pytest.mark.case("C013")
def test_so_is_a_group_with_servers(server, caplog):
    async def main():
        group = ClientSessionGroup()
        await group.__aenter__()
        await group.connect_to_server(server)
        del group
        gc.collect()
        await trio_still_works()

    with pytest.raises(RuntimeError, match=r"^Nursery stack corrupted"):
        trio.run(main)
    [record] = caplog.records
    assert "entered: ClientSessionGroup." in record.message


def test_a_block_of_a_task_that_has_ended_harms_no_other_task(server, caplog):
    async def main():
        with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="^Nursery stack corrupted")):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(abandoned, Client(server))
        await trio_still_works()
        async with Client(server) as client:
            await client.list_tools()

    trio.run(main)
    [record] = caplog.records
    assert "abandoned' has ended without leaving what it entered: Client" in record.message


@pytest.mark.parametrize("name", [*BLOCKS, "open_client"])
def test_a_block_outside_of_trio_says_that_it_needs_it(name, server):
    block = {**BLOCKS, "open_client": open_client}[name](server)

    async def main():
        async with block:
            pass

    with pytest.raises(RuntimeError, match=rf"^{name} needs Trio, .*`trio\.run\(main\)`"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "serve"),
    [
        ("Server.run", lambda: Server("me").run(open_memory_channel_pair()[0])),
        ("stdio_server", lambda: MCPServer("me").run_stdio_async()),
    ],
)
def test_so_does_a_server(name, serve):
    with pytest.raises(RuntimeError, match=rf"^{name} needs Trio, .*`trio\.run\(main\)`"):
        asyncio.run(serve())
