"""Everything that may be done with a group, at once."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trio_mcp.client import (
    ClientSessionGroup,
    ClientSessionParameters,
)
from trio_mcp.errors import MCPError
from trio_mcp.transports import open_memory_channel_pair

from ._group_servers import (
    Servers,
    over_channel,
)


@pytest.fixture
def servers():
    return Servers()


class Storm:
    """Tasks that do whatever may be done with a group, all at once, until it is closed."""

    def __init__(self, seed, servers):
        self.chance = random.Random(seed)
        self.servers = servers
        self.number = 0
        self.wires = []
        self.done = Counter()

    def server(self):
        self.number += 1
        server = self.servers.make(f"s{self.number}", self.chance.choice("xyz"))
        kind = self.chance.randrange(5)
        if kind == 0:
            return open_memory_channel_pair()[0]  # nobody ever answers there
        return server if kind < 3 else self.over_mortal_channel(server)

    @asynccontextmanager
    async def over_mortal_channel(self, server):
        async with over_channel(server) as near:
            self.wires.append(near)
            yield near

    async def kill(self, group):
        if self.wires:
            await self.wires.pop(self.chance.randrange(len(self.wires))).aclose()

    async def rage(self, group):
        while True:
            verb = self.chance.choice(
                [
                    *(self.connect, self.connect_many, self.disconnect),
                    *(self.refresh, self.call, self.kill),
                ]
            )
            try:
                with trio.move_on_after(self.chance.choice([0, 0.1, 1, 5])):
                    await self.checkpoints()
                    await verb(group)
                    self.done[verb.__name__] += 1
            except MCPError as exc:
                self.done[type(exc).__name__] += 1
            except RuntimeError:
                assert not group._membership.is_open
                return

    async def checkpoints(self):
        for _ in range(self.chance.randrange(4)):
            await trio.lowlevel.checkpoint()

    async def connect(self, group):
        mode = self.chance.choice(["auto", "legacy"])
        await group.connect_to_server(self.server(), ClientSessionParameters(mode=mode))

    async def connect_many(self, group):
        count = self.chance.randrange(4)
        outcomes = await group.connect_all(
            [self.server() for _ in range(count)], connect_timeout=self.chance.choice([0.1, 2])
        )
        assert len(outcomes) == count

    async def disconnect(self, group):
        if group.sessions:
            await group.disconnect_from_server(self.chance.choice(group.sessions))

    async def refresh(self, group):
        if group.sessions:
            await group.refresh(self.chance.choice(group.sessions))

    async def call(self, group):
        tools = list(group.tools)
        if tools:
            await group.call_tool(self.chance.choice(tools))


@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_of_everything_at_once(autojump_clock, servers, seed):
    storm = Storm(seed, servers)
    before = trio.lowlevel.current_statistics().tasks_living
    async with trio.open_nursery() as nursery:
        async with ClientSessionGroup() as group:
            for _ in range(8):
                nursery.start_soon(storm.rage, group)
            for _ in range(20):
                await trio.sleep(storm.chance.random() * 2)
                assert len(group.sessions) == len(group._membership.catalog.tools._by_owner)
                owners = group._membership.catalog.tools._owner_of
                assert {owner.session for owner in owners.values()} <= set(group.sessions)
                assert len(servers.connected) >= len(group.sessions)
        assert (group.sessions, group.tools, servers.connected) == ([], {}, [])
    assert trio.lowlevel.current_statistics().tasks_living == before
    assert (
        min(storm.done[verb] for verb in ("connect", "disconnect", "refresh", "call", "kill")) > 3
    )
    assert storm.done["ConnectionLost"] > 3
