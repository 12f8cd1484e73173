"""What an older server keeps for a session is said to it after each handshake."""

from __future__ import annotations

import pytest
import trio

from trio_mcp.client import Client, RestartPolicy
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.types import EmptyResult, SetLevelRequest, SetLevelRequestParams

from .test_restart import DONE, NO_DELAY, Mortal

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")

OF_THE_SESSION = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
HANDSHAKE = ["initialize", "notifications/initialized"]


def asked(script):
    """What a script was asked for its session, with the one thing that each says."""
    return [
        (each.method, *each.params.values())
        for each in script.received
        if getattr(each, "method", "") in OF_THE_SESSION
    ]


@pytest.fixture
def older(script, initialized):
    """Make a script of the older era that announces these capabilities."""

    def older(*capabilities, **answers):
        hello = {**initialized(), "capabilities": {each: {} for each in ("tools", *capabilities)}}
        known = {method.replace("/", "__"): {} for method in OF_THE_SESSION}
        return script(**{"initialize": hello, "tools__call": DONE, **known, **answers})

    return older


@pytest.mark.parametrize("announced", [True, False])
async def test_the_log_level_is_said_where_logs_are_announced(
    autojump_clock, connect, older, announced
):
    server = older(*(["logging"] if announced else []))
    async with connect(server, mode="legacy", log_level="warning") as client:
        await client.call_tool("x")
    assert asked(server) == ([("logging/setLevel", "warning")] if announced else [])
    said = ["logging/setLevel"] if announced else []
    assert server.methods == [*HANDSHAKE, *said, "tools/call"]


async def test_without_a_log_level_nothing_is_said(autojump_clock, connect, older):
    server = older("logging")
    async with connect(server, mode="legacy"):
        pass
    assert server.methods == HANDSHAKE


@pytest.mark.parametrize("mode", ["legacy", "2025-03-26"])
async def test_the_session_says_it_too(autojump_clock, connect, older, initialized, mode):
    version = "2025-11-25" if mode == "legacy" else mode
    hello = {**initialized(version), "capabilities": {"logging": {}}}
    server = older(initialize=hello)
    async with connect(server, mode=mode, log_level="error"):
        assert asked(server) == [("logging/setLevel", "error")]


@pytest.mark.parametrize("answer", ["error", "silence", "nonsense"])
async def test_a_server_that_does_not_take_it_is_of_use_all_the_same(
    autojump_clock, connect, older, script, caplog, answer
):
    answers = {
        "error": MCPError(-32602, "no such level"),
        "silence": script.SILENCE,
        "nonsense": [],
    }
    server = older("logging", logging__setLevel=answers[answer])
    async with connect(server, mode="legacy", log_level="debug") as client:
        assert trio.current_time() == pytest.approx(5 if answer == "silence" else 0)
        await client.call_tool("x")
    if answer != "nonsense":
        assert "logging/setLevel" in caplog.text


async def test_a_connection_that_ends_meanwhile_is_lost(autojump_clock, connect, older):
    class Dying(type(older())):
        async def answer(self, request):
            if request.method == "logging/setLevel":
                await self.channel.aclose()
            else:
                await super().answer(request)

    server = Dying(
        **{name.replace("/", "__"): each for name, each in older("logging").answers.items()}
    )
    with pytest.raises(ConnectionLost):
        async with connect(server, mode="legacy", log_level="debug"):
            pytest.fail("it is lost")


async def test_a_restarted_server_is_told_all_that_is_in_force(autojump_clock, older):
    first, second = older("logging", "resources"), older("logging", "resources")
    mortal = Mortal(first, second)
    async with Client(mortal, mode="legacy", log_level="info", restart=NO_DELAY) as client:
        for uri in ("a://3", "a://1", "a://2"):
            await client.subscribe_resource(uri)
        await client.unsubscribe_resource("a://1")
        await client.set_logging_level("error")
        await mortal.die()
        await client.call_tool("x")
    # Side by side: the order is anything.
    assert sorted(asked(second)) == [
        ("logging/setLevel", "error"),
        ("resources/subscribe", "a://2"),
        ("resources/subscribe", "a://3"),
    ]
    # Before calls go on.
    assert second.methods == [*HANDSHAKE, *(each[0] for each in asked(second)), "tools/call"]


async def test_what_was_sent_by_hand_or_refused_is_told_apart(autojump_clock, older):
    refusing = {"resources__subscribe": MCPError(-32602, "no such resource")}
    first, second = older("logging", **refusing), older("logging")
    mortal = Mortal(first, second, older("logging"))
    async with Client(mortal, mode="legacy", restart=NO_DELAY) as client:
        with pytest.raises(MCPError, match="no such resource"):
            await client.subscribe_resource("a://1")
        request = SetLevelRequest(params=SetLevelRequestParams(level="notice"))
        await client.session.send_request(request, EmptyResult)
        await mortal.die()
        await client.call_tool("x")
    assert asked(second) == [("logging/setLevel", "notice")]


async def test_what_the_next_server_refuses_stops_nothing(autojump_clock, older, caplog):
    gone = older("logging", "resources", resources__subscribe=MCPError(-32002, "gone"))
    mortal = Mortal(older("logging", "resources"), gone)
    async with Client(mortal, mode="legacy", restart=NO_DELAY) as client:
        await client.subscribe_resource("a://1")
        await client.subscribe_resource("a://2")
        await mortal.die()
        await client.call_tool("x")
    assert sorted(asked(gone)) == [
        ("resources/subscribe", "a://1"),
        ("resources/subscribe", "a://2"),
    ]
    assert caplog.text.count("gone") == 2


@pytest.mark.parametrize("count", [1, 3, 250])
@pytest.mark.parametrize(("read_timeout", "takes"), [(None, 5), (3, 1.5), (60, 5)])
async def test_what_the_next_server_does_not_answer_in_time_is_left(
    autojump_clock, older, script, caplog, read_timeout, takes, count
):
    silent = older("resources", resources__subscribe=script.SILENCE)
    mortal = Mortal(older("resources"), silent, older("resources"))
    # Less than that takes: the server has agreed long before.
    policy = RestartPolicy(initial_delay=1, connect_timeout=2)
    async with Client(
        mortal, mode="legacy", restart=policy, read_timeout_seconds=read_timeout
    ) as client:
        for number in range(count):
            await client.subscribe_resource(f"a://{number}")
        await mortal.die()
        await trio.sleep(1)
        await client.call_tool("x", read_timeout_seconds=30)
        assert trio.current_time() == pytest.approx(1 + takes)
    assert mortal.opened_at == pytest.approx([0, 1])
    assert f"and {count - 1} more: no answer within {takes} s" in caplog.text


async def test_all_of_it_is_said_side_by_side(autojump_clock, older, script):
    class Patient(type(older())):
        async def answer(self, request):
            if request.method != "resources/subscribe":
                await super().answer(request)
            elif len(asked(self)) == 30:
                for each in self.received:
                    if getattr(each, "method", "") == "resources/subscribe":
                        await super().answer(each)

    patient = Patient(
        **{name.replace("/", "__"): each for name, each in older("resources").answers.items()}
    )
    mortal = Mortal(older("resources"), patient)
    async with Client(mortal, mode="legacy", restart=NO_DELAY) as client:
        for number in range(30):
            await client.subscribe_resource(f"a://{number}")
        await mortal.die()
        await client.call_tool("x")
        assert trio.current_time() == 0
    assert len(asked(patient)) == 30


async def test_a_server_that_dies_meanwhile_is_started_again(autojump_clock, older):
    class Dying(type(older())):
        async def answer(self, request):
            if request.method == "resources/subscribe":
                await self.channel.aclose()
            else:
                await super().answer(request)

    dying = Dying(
        **{name.replace("/", "__"): each for name, each in older("resources").answers.items()}
    )
    last = older("resources")
    mortal = Mortal(older("resources"), dying, last)
    async with Client(mortal, mode="legacy", restart=NO_DELAY) as client:
        for number in range(3):
            await client.subscribe_resource(f"a://{number}")
        await mortal.die()
        await client.call_tool("x")
    assert len(asked(last)) == 3


async def test_calls_of_the_same_methods_wait_for_the_restart(autojump_clock, older):
    first, second = older("logging"), older("logging")
    mortal = Mortal(first, second)
    policy = RestartPolicy(initial_delay=5)
    async with Client(mortal, mode="legacy", restart=policy) as client:
        await mortal.die()
        await client.set_logging_level("alert")
        assert trio.current_time() == pytest.approx(5)
    assert second.methods == [*HANDSHAKE, "logging/setLevel"]


async def test_a_modern_successor_is_asked_in_its_own_way(
    autojump_clock, older, script, discovery
):
    first = older("logging", "resources", server__discover=MCPError(-32601, "no"))
    second = script(
        server__discover=discovery, tools__call=DONE, initialize=MCPError(-32601, "no")
    )
    mortal = Mortal(first, second)
    async with Client(mortal, log_level="info", restart=NO_DELAY) as client:
        await client.subscribe_resource("a://1")
        await mortal.die()
        await client.call_tool("x")
        assert client.protocol_version == "2026-07-28"
    assert asked(first) == [("logging/setLevel", "info"), ("resources/subscribe", "a://1")]
    assert asked(second) == []
    meta = second.received[-1].params["_meta"]
    assert meta["io.modelcontextprotocol/logLevel"] == "info"
