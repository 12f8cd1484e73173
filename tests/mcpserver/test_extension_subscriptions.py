"""What clients of an extension listen to."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from trio_mcp import Client, MCPServer
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Extension, SubscriptionBinding
from trio_mcp.types import INTERNAL_ERROR, Request

TICK = "notifications/com.example/tick"


def clock(accept: Any, key: str = "ticks") -> MCPServer:
    class Clock(Extension):
        identifier = "com.example/clock"

        def subscriptions(self) -> list[SubscriptionBinding]:
            return [SubscriptionBinding(key, accept)]

    return MCPServer("clock", extensions=[Clock()])


async def listen(client: Client, wanted: Any = True) -> Any:
    params = {"notifications": {"ticks": wanted}}
    return await client.session.send_request(
        Request(method="subscriptions/listen", params=params), dict
    )


async def test_what_is_told_is_what_it_was_then(autojump_clock: Any) -> None:
    @asynccontextmanager
    async def accept(_ctx: Any, wanted: Any, tell: Any) -> Any:
        at = {"at": [1]}
        tell(TICK, at)
        at["at"].append(2)
        tell(TICK, at)
        yield wanted

    heard: list[Any] = []
    async with Client(clock(accept)) as client:
        client.session.on_notification(
            lambda method, params: heard.append(params["at"]) if method == TICK else None
        )
        with trio.move_on_after(1):
            await listen(client)
    assert heard == [[1], [1, 2]]


@pytest.mark.parametrize(
    ("told", "error", "why"),
    [
        ((5, {}), TypeError, "method: expected str, got int"),
        ((TICK, None), TypeError, "params: expected an object of JSON, got NoneType"),
        ((TICK, {1: 2}), TypeError, "a name in params: expected str, got int"),
        ((TICK, {"a": object()}), TypeError, r"params\.a: object has no JSON form"),
        ((TICK, {"a": float("nan")}), ValueError, r"params\.a"),
        ((TICK, {"_meta": 5}), TypeError, r"params\['_meta'\]: expected an object of JSON"),
    ],
)
async def test_what_is_no_notification_is_refused_at_once(
    told: Any, error: type[Exception], why: str
) -> None:
    refused: list[Any] = []

    @asynccontextmanager
    async def accept(_ctx: Any, _wanted: Any, tell: Any) -> Any:
        with pytest.raises(error, match=why) as raised:
            tell(*told)
        refused.append(raised)
        raise MCPError(1, "that was it")
        yield

    async with Client(clock(accept)) as client:
        with pytest.raises(MCPError, match="that was it"):
            await listen(client)
    assert refused


async def no_block(*_args: Any) -> Any:
    yield


@pytest.mark.parametrize("accept", [no_block, lambda *_: None])
async def test_what_is_no_block_is_named(accept: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with Client(clock(accept)) as client:
        with pytest.raises(MCPError, match="Internal server error") as raised:
            await listen(client)
    assert raised.value.code == INTERNAL_ERROR
    assert (
        "what serves the subscription to 'ticks': expected an async context manager" in caplog.text
    )


def test_a_member_of_the_filter_has_a_name() -> None:
    with pytest.raises(ValueError, match="key: expected a name, got an empty text"):
        clock(no_block, "")
