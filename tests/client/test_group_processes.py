"""Groups whose servers are processes: none is left, whatever happens."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio
import trio.testing

from trio_mcp.client import (
    ClientSessionGroup,
    ClientSessionParameters,
)
from trio_mcp.errors import ConnectionLost, MCPError, RequestTimeout
from trio_mcp.transports import StdioServerParameters

from ._group_servers import (
    BOTH_ERAS,
    Servers,
    children,
    needs_proc,
)


@pytest.fixture
def servers():
    return Servers()


RUN = """
from trio_mcp.transports import stdio_server

async def main():
    async with stdio_server() as channel:
        await server.run(channel)

trio.run(main)
"""
FAILING = (
    """
import sys, trio
from trio_mcp.server import Server
from trio_mcp.types import ListToolsResult, Tool

async def list_tools(ctx, params):
    if sys.argv[1] == "list":
        raise ValueError("no list")
    if sys.argv[1] in ("timeout", "cancelled", "closed"):
        await trio.sleep_forever()
    return ListToolsResult(tools=[Tool(name=sys.argv[1], input_schema={"type": "object"})])

server = Server("failing", on_list_tools=list_tools)
"""
    + RUN
)


def failing(way):
    return StdioServerParameters(command=sys.executable, args=["-c", FAILING, way])


def hook_that_may_fail(name, info):
    if name == "hook":
        raise KeyError(name)
    return name


@needs_proc
@pytest.mark.case("C017")
@pytest.mark.parametrize(
    ("way", "error"),
    [
        ("refused", MCPError),
        ("hook", KeyError),
        ("list", MCPError),
        ("timeout", RequestTimeout),
        ("cancelled", trio.TooSlowError),
    ],
)
async def test_whatever_keeps_a_server_out_leaves_no_process(way, error, servers):
    async def join(group):
        if way == "timeout":
            [outcome] = await group.connect_all([failing(way)], connect_timeout=1)
            raise outcome.error
        if way == "cancelled":
            with trio.fail_after(1):
                await group.connect_to_server(failing(way))
        await group.connect_to_server(failing(way))

    async with ClientSessionGroup(None, hook_that_may_fail, on_collision="refuse") as group:
        await group.connect_to_server(servers.make("first", "refused"))
        with pytest.raises(error):
            await join(group)
        # It is gone when the exception leaves, not some time later.
        assert children() == set()
        assert len(group.sessions) == 1
        assert (await group.call_tool("refused")).content[0].text == "done"


@needs_proc
@pytest.mark.case("C017")
async def test_a_group_that_closes_leaves_no_process_of_those_who_were_about_to_join():
    async def join(group):
        with pytest.raises(ConnectionLost, match="The group was closed"):
            await group.connect_to_server(failing("closed"))

    async with trio.open_nursery() as nursery, ClientSessionGroup() as group:
        nursery.start_soon(join, group)
        while not children():  # noqa: ASYNC110 - nothing tells when a process begins
            await trio.sleep(0.01)
    assert children() == set()


EMPTY = (
    """
import trio
from trio_mcp.server import Server
server = Server("empty")
"""
    + RUN
)


@needs_proc
@pytest.mark.case("C018")
@BOTH_ERAS
async def test_letting_an_empty_server_go_ends_its_process(mode):
    parameters = StdioServerParameters(command=sys.executable, args=["-c", EMPTY])
    async with ClientSessionGroup() as group:
        session = await group.connect_to_server(parameters, ClientSessionParameters(mode=mode))
        assert group.sessions == [session]
        assert (group.tools, group.resources, group.prompts) == ({}, {}, {})
        assert len(children()) == 1
        await group.disconnect_from_server(session)
        assert group.sessions == []
        assert children() == set()


STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
from trio_mcp.mcpserver import MCPServer
try:
    MCPServer("stubborn").run("stdio")
finally:
    while True:
        time.sleep(60)
"""


@needs_proc
@pytest.mark.limit(60)
async def test_servers_that_refuse_to_die_are_killed_at_the_same_time():
    parameters = StdioServerParameters(command=sys.executable, args=["-c", STUBBORN])
    with trio.CancelScope() as scope:
        async with ClientSessionGroup() as group:
            outcomes = await group.connect_all([parameters] * 3)
            assert [each.error for each in outcomes] == [None] * 3
            assert len(children()) == 3
            began = trio.current_time()
            scope.cancel()
    assert children() == set()
    assert trio.current_time() - began < 8


@needs_proc
async def test_a_server_that_is_killed_while_it_is_let_go_or_called_harms_nobody(servers):
    program = "from trio_mcp.mcpserver import MCPServer\nMCPServer('x').run('stdio')"
    parameters = StdioServerParameters(command=sys.executable, args=["-c", program])
    async with ClientSessionGroup() as group:
        await group.connect_to_server(servers.make("a", "y"))
        for _ in range(3):
            session = await group.connect_to_server(parameters)
            [pid] = children()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(group.disconnect_from_server, session)
                os.kill(pid, signal.SIGKILL)
            assert len(group.sessions) == 1
        assert (await group.call_tool("y")).content[0].text == "done"
    assert children() == set()


@needs_proc
@pytest.mark.limit(60)
async def test_groups_leave_no_process_no_descriptor_and_no_task(servers):
    mortal = StdioServerParameters(command=sys.executable, args=["-c", "import sys; sys.exit(3)"])
    parameters = StdioServerParameters(command=sys.executable, args=["-c", EMPTY])

    async def use():
        async with ClientSessionGroup() as group:
            outcomes = await group.connect_all(
                [parameters, mortal, servers.make("a", "x"), failing("list")]
            )
            assert [each.error is None for each in outcomes] == [True, False, True, False]
            with trio.move_on_after(0.05):
                await group.connect_to_server(failing("cancelled"))
            [pid] = children()
            os.kill(pid, signal.SIGKILL)
            while len(group.sessions) == 2:
                await trio.testing.wait_all_tasks_blocked()

    def held():
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        return descriptors, children(), trio.lowlevel.current_statistics().tasks_living

    await use()
    before = held()
    for _ in range(3):
        await use()
        assert held() == before
