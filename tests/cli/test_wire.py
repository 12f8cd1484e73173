from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp.cli._wire import WireChannel
from trio_mcp.testing import check_channel
from trio_mcp.transports import Batch, Malformed, open_memory_channel_pair
from trio_mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse


async def test_messages_are_told_and_passed_on_in_both_directions():
    ours, theirs = open_memory_channel_pair()
    lines: list[str] = []
    channel = WireChannel(ours, lines.append)
    request = JSONRPCRequest(id=1, method="ping", params={"ü": 1})
    notice = JSONRPCNotification(method="notifications/x")
    answer = JSONRPCResponse(id=1, result={})

    await channel.send([request, notice])
    assert await theirs.receive() == [request, notice]
    await theirs.send([answer])
    assert await channel.receive() == [answer]

    assert lines == [
        '→ {"jsonrpc":"2.0","id":1,"method":"ping","params":{"ü":1}}',
        '→ {"jsonrpc":"2.0","method":"notifications/x"}',
        '← {"jsonrpc":"2.0","id":1,"result":{}}',
    ]


async def test_what_is_no_message_is_told_too():
    class Strange(WireChannel.__base__):
        async def receive(self):
            await trio.lowlevel.checkpoint()
            bad = Malformed(-32700, "Parse error: x", excerpt="Welcome!")
            return [bad, Batch((JSONRPCNotification(method="a"), bad))]

        async def send(self, messages):
            raise NotImplementedError

        async def aclose(self):
            await trio.lowlevel.checkpoint()

    lines: list[str] = []
    frames = await WireChannel(Strange(), lines.append).receive()
    assert len(frames) == 2
    assert lines == ["← (Parse error: x) Welcome!", '← [{"jsonrpc":"2.0","method":"a"},null]']


async def test_closing_closes_the_channel():
    ours, theirs = open_memory_channel_pair()
    await WireChannel(ours, [].append).aclose()
    with pytest.raises(trio.EndOfChannel):
        await theirs.receive()


def test_wire_shows_the_whole_conversation_on_stderr(cli, shop):
    done = cli("call", shop, "order", "article=tea", "--wire")
    assert done.status == 0
    assert json.loads(done.out)["article"] == "tea"
    lines = done.err.splitlines()
    messages = [(line[0], json.loads(line[2:])) for line in lines]
    assert [arrow for arrow, _ in messages] == ["→", "←"] * (len(messages) // 2)
    methods = [message["method"] for arrow, message in messages if arrow == "→"]
    assert methods == ["server/discover", "tools/list", "tools/call"]
    assert messages[-1][1]["result"]["structuredContent"]["article"] == "tea"


async def test_it_keeps_the_promises_of_the_channel_inside(autojump_clock):
    @asynccontextmanager
    async def open_pair():
        near, far = open_memory_channel_pair(as_text=True)
        async with near, far:
            yield WireChannel(near, lambda line: None), far

    await check_channel(open_pair)
