"""A server that sends what is wrong without an end does not fill the log of its client."""

from __future__ import annotations

import json
import logging

import pytest
import trio
import trio.testing

from trio_mcp.client import Client
from trio_mcp.client._mirrors import MAX_TOLD, Mirrors
from trio_mcp.transports._line_channel import LineChannel
from trio_mcp.types import ListToolsResult, Tool

from .conftest import handshake

COUNT = 150


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def warnings_of(caplog):
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


async def hear(message):
    pass


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize(
    ("junk", "words"),
    [
        (b"junk\n", "what is no message"),
        (line(id=None, error={"code": 1, "message": "x"}), "for no open request"),
        (
            line(method="notifications/message", params={"level": 5}),
            "notifications/message of the server was dropped",
        ),
        (line(id=5, method="ping"), "does not allow"),
    ],
)
async def test_each_kind_is_told_a_few_times(autojump_clock, caplog, mode, junk, words):
    near, far = trio.testing.memory_stream_pair()

    async def initialize():
        request = json.loads(await far.receive_some())
        await far.send_all(line(id=request["id"], result=handshake()))

    async with trio.open_nursery() as nursery:
        if mode == "legacy":
            nursery.start_soon(initialize)
        async with Client(LineChannel(near, near), mode=mode, message_handler=hear):
            await far.send_all(junk * COUNT)
            await trio.testing.wait_all_tasks_blocked()
    told = warnings_of(caplog)
    if mode == "legacy" and words == "does not allow":
        assert told == []
        return
    assert len(told) == 3
    assert all(words in each for each in told)
    assert told[2].endswith("(100 times by now)")


def tool(name, header):
    schema = {"type": "object", "properties": {"n": {"type": "string", "x-mcp-header": header}}}
    return Tool(name=name, input_schema=schema)


def listed(*tools):
    return ListToolsResult(tools=list(tools), ttl_ms=0, cache_scope="private")


def test_each_tool_that_is_left_out_is_told_once(caplog):
    mirrors = Mirrors()
    for _ in range(3):
        kept = mirrors.keep_usable(listed(tool("a", "no good"), tool("b", ""), tool("c", "Fine")))
        assert [each.name for each in kept.tools] == ["c"]
    mirrors.keep_usable(listed(tool("a", "another fault")))
    told = warnings_of(caplog)
    assert [each.partition(" is left out")[0] for each in told] == [
        "The tool 'a'",
        "The tool 'b'",
        "The tool 'a'",
    ]


def test_of_many_tools_that_are_left_out_some_are_told_and_all_left_out(caplog):
    mirrors = Mirrors()
    for page in range(3):
        many = [tool(f"t{page}-{number}", "no good") for number in range(MAX_TOLD)]
        assert mirrors.keep_usable(listed(*many)).tools == []
    told = warnings_of(caplog)
    assert len(told) == MAX_TOLD + 1
    assert "DEBUG" in told[-1]


def test_a_tool_that_is_left_out_is_told_in_short(caplog):
    Mirrors().keep_usable(listed(tool("x\n" * 300_000, "y\n" * 300_000)))
    (told,) = warnings_of(caplog)
    assert len(told) < 2000
    assert told.isprintable()
