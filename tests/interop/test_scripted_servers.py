"""Servers of other makes over stdio: how they answer what they do not know, and how they end."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import trio
import trio.testing

import trio_mcp.client._session_agreement
from tests._limits import SOON
from trio_mcp.client import Client
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError, RequestTimeout
from trio_mcp.transports import StdioServerParameters, stdio_client

from ._peers import connect_to_script, script_parameters, server_parameters

CAPABILITIES = {"tools": {}, "prompts": {}}
INFO = {"name": "scripted", "version": "1"}
INITIALIZED = {"protocolVersion": "ASKED", "capabilities": CAPABILITIES, "serverInfo": INFO}
INITIALIZE = [{"result": INITIALIZED}]
ONLY_2024 = [{"result": {**INITIALIZED, "protocolVersion": "2024-11-05"}}]
DISCOVERY = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": CAPABILITIES,
    "ttlMs": 0,
    "cacheScope": "private",
}
DISCOVER = [{"result": DISCOVERY}]
TOOLS = [{"result": {"tools": []}}]
ANSWERED = {"result": {"content": [{"type": "text", "text": "fine"}]}}


def error(code: int, **data: Any) -> list[dict[str, Any]]:
    return [{"error": {"code": code, "message": "no", "data": data}}]


@pytest.mark.req("R-094")
@pytest.mark.case("C032")
@pytest.mark.parametrize(
    "discover",
    [
        error(-32601),
        error(-32602),
        error(-32600),
        error(0),
        [{"result": {}}],
        [{"result": {"supportedVersions": "all"}}],
        [{"result": DISCOVERY | {"supportedVersions": ["2025-11-25", "2024-11-05"]}}],
        # No answer at all, but garbage where one would be.
        [{"raw": "Traceback (most recent call last):\n", "error": {"code": 1, "message": ""}}],
        [{"raw": '{"jsonrpc": "2.0", "id": 1, "result": 3}\n'}],
    ],
    ids=str,
)
async def test_a_server_that_cannot_discover_is_initialized(discover: Any) -> None:
    received: list[str] = []
    script = {"server/discover": discover, "initialize": INITIALIZE, "tools/list": TOOLS}
    async with connect_to_script(script, received) as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info is not None
        assert client.server_info.name == "scripted"
        assert (await client.list_tools()).tools == []
    assert received == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
    ]


@pytest.mark.req("R-094")
async def test_a_server_that_is_silent_about_discovery_is_initialized(monkeypatch: Any) -> None:
    monkeypatch.setattr(trio_mcp.client._session_agreement, "DISCOVER_TIMEOUT_SECONDS", 0.3)
    received: list[str] = []
    script = {"server/discover": [None], "initialize": INITIALIZE, "tools/list": TOOLS}
    async with connect_to_script(script, received) as client:
        assert client.protocol_version == "2025-11-25"
        await client.list_tools()
    assert received == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
    ]


SLOW = """
import runpy, sys, time
time.sleep(1)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.req("R-094")
@pytest.mark.parametrize("sdk", ["trio_mcp", "mcp"])
async def test_a_modern_server_that_starts_slowly_is_spoken_to_as_one(
    monkeypatch: Any, sdk: str
) -> None:
    monkeypatch.setattr(trio_mcp.client._session_agreement, "DISCOVER_TIMEOUT_SECONDS", 0.3)
    at_once = server_parameters(sdk)
    assert at_once.args is not None
    slowly = StdioServerParameters(
        command=at_once.command, args=["-c", SLOW, *at_once.args], env=at_once.env
    )
    client = Client(stdio_client(slowly, errlog=None))
    async with client:
        assert client.protocol_version == "2026-07-28"
        # What the server makes of the `initialize` that it has read as well does no harm.
        assert (await client.list_tools()).tools
        result = await client.call_tool("add", {"a": 1, "b": 2})
        assert not result.is_error


@pytest.mark.parametrize("code", [-32020, -32021])
async def test_an_error_of_a_modern_server_is_never_fallen_back_from(code: int) -> None:
    received: list[str] = []
    script = {"server/discover": error(code), "initialize": INITIALIZE}
    with pytest.raises(MCPError) as caught:
        async with connect_to_script(script, received):
            pytest.fail("it connected")
    assert caught.value.code == code
    assert received == ["server/discover"]


@pytest.mark.req("R-067")
@pytest.mark.parametrize(
    ("offer", "spoken", "asked"),
    [
        (["2026-07-28", "2099-01-01"], "2026-07-28", ["server/discover"]),
        (["2024-11-05", "2025-06-18"], "2025-06-18", ["initialize", "notifications/initialized"]),
        (["2099-01-01", "2025-03-26"], "2025-03-26", ["initialize", "notifications/initialized"]),
    ],
)
async def test_a_version_is_chosen_from_what_the_server_offers(
    offer: list[str], spoken: str, asked: list[str]
) -> None:
    received: list[str] = []
    refusal = error(-32022, supported=offer, requested="2026-07-28")
    script = {"server/discover": [*refusal, *DISCOVER], "initialize": INITIALIZE}
    async with connect_to_script(script, received) as client:
        assert client.protocol_version == spoken
    assert received == ["server/discover", *asked]


@pytest.mark.req("R-067")
@pytest.mark.parametrize("offer", [["2099-01-01", "2098-01-01"], []])
async def test_no_version_in_common_is_told_and_not_fallen_back_from(offer: list[str]) -> None:
    received: list[str] = []
    refusal = error(-32022, supported=offer, requested="2026-07-28")
    script = {"server/discover": refusal, "initialize": INITIALIZE}
    with pytest.raises(MCPError, match="2026-07-28") as caught:
        async with connect_to_script(script, received):
            pytest.fail("it connected")
    assert caught.value.code == -32022
    assert all(version in caught.value.message for version in offer)
    assert received == ["server/discover"]


async def test_a_server_that_offers_what_it_then_refuses_is_asked_once_more_only() -> None:
    received: list[str] = []
    refusal = error(-32022, supported=["2026-07-28"], requested="2026-07-28")
    script = {"server/discover": refusal, "initialize": INITIALIZE}
    with pytest.raises(MCPError) as caught:
        async with connect_to_script(script, received):
            pytest.fail("it connected")
    assert caught.value.code == -32022
    assert received == ["server/discover", "server/discover"]


@pytest.mark.case("C033")
async def test_a_server_of_the_first_revision_is_spoken_to_in_it() -> None:
    received: list[str] = []
    script = {"initialize": ONLY_2024, "tools/list": TOOLS, "ping": [{"result": {}}]}
    async with connect_to_script(script, received) as client:
        assert client.protocol_version == "2024-11-05"
        await client.list_tools()
        await client.send_ping()
    assert received[:3] == ["server/discover", "initialize", "notifications/initialized"]
    with pytest.raises(InvalidResponse, match=r"'2024-11-05'.*2025-06-18"):
        async with connect_to_script(script, [], mode="2025-06-18"):
            pytest.fail("it connected")


@pytest.mark.req("R-072")
async def test_a_server_that_was_older_once_is_not_probed_again(capfd: Any) -> None:
    client = Client(script_parameters({"initialize": ONLY_2024}))
    for _ in range(2):
        async with client:
            assert client.protocol_version == "2024-11-05"
    assert capfd.readouterr().err.split() == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "initialize",
        "notifications/initialized",
    ]


@pytest.mark.case("C004")
@pytest.mark.parametrize("discover", [DISCOVER, error(-32601)], ids=["modern", "legacy"])
async def test_lines_that_are_no_messages_are_skipped_and_reported(discover: Any) -> None:
    told: list[Any] = []

    async def handle(message: Any) -> None:
        told.append(message)

    noise = 'DEBUG: {"not": "closed"\n\n[1, 2\n\x00\x01\n"text"\n'
    script = {
        "banner": "Welcome to scripted 1.0!\n  ____\n\n",
        "server/discover": discover,
        "initialize": [{**INITIALIZE[0], "before": noise}],
        "tools/call": [{**ANSWERED, "before": noise}],
    }
    async with connect_to_script(script, [], message_handler=handle) as client:
        for _ in range(3):
            result = await client.call_tool("x")
            assert result.content[0].text == "fine"
    assert all(isinstance(each, InvalidResponse) for each in told)
    assert len(told) >= 2 + 3 * 4


@pytest.mark.case("C009")
@pytest.mark.parametrize("discover", [DISCOVER, error(-32601)], ids=["modern", "legacy"])
async def test_a_server_that_dies_in_a_call_fails_every_call_at_once(discover: Any) -> None:
    script = {
        "server/discover": discover,
        "initialize": INITIALIZE,
        "prompts/list": [None],
        "tools/call": [{"raw": '{"jsonrpc": "2.0", "id": 3, "resu', "exit": 3}],
    }
    lost: list[ConnectionLost] = []

    async def wait_for_answer(ask: Any) -> None:
        with pytest.raises(ConnectionLost) as caught:
            await ask
        lost.append(caught.value)

    async with connect_to_script(script, []) as client:
        with trio.fail_after(SOON):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait_for_answer, client.list_prompts())
                await trio.testing.wait_all_tasks_blocked()
                nursery.start_soon(wait_for_answer, client.call_tool("x"))
            # And what is asked later, too.
            await wait_for_answer(client.list_tools())
    assert len(lost) == 3
    for each in lost:
        assert each.exit_status == 3
        assert each.code == -32000
        assert "status 3" in str(each)
        assert each.stderr is not None
        assert "tools/call" in each.stderr


async def test_a_server_that_never_reads_can_be_given_up() -> None:
    script = {"server/discover": [{**DISCOVER[0], "deaf": True}]}
    async with connect_to_script(script, [], termination_timeout=0.2) as client:
        with pytest.raises(RequestTimeout):
            await client.call_tool("x", read_timeout_seconds=0.1)
        # More than the pipe holds: the request is still being written.
        with trio.move_on_after(0.1) as scope:
            await client.call_tool("x", {"text": "x" * (4 << 20)})
        assert scope.cancelled_caught
        with trio.move_on_after(0.1) as scope:
            await client.call_tool("y")
        assert scope.cancelled_caught


async def test_a_server_that_never_reads_at_all_cannot_hold_up_connecting() -> None:
    program = "import signal\nsignal.pause()"
    parameters = StdioServerParameters(command=sys.executable, args=["-I", "-S", "-c", program])

    def transport() -> Any:
        return stdio_client(parameters, termination_timeout=0.2)

    with trio.move_on_after(0.2) as scope:
        async with Client(transport()):
            pytest.fail("it connected")
    assert scope.cancelled_caught
    with pytest.raises(RequestTimeout, match="initialize: no answer within"):
        async with Client(transport(), read_timeout_seconds=0.1):
            pytest.fail("it connected")
