"""What is told of a user's HTTP client that is closed under an open client of this package."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest
import trio

from trio_mcp import Client
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports import sse_client, streamable_http_client
from trio_mcp.transports.http import _client_retry

from ._scripted import OlderScripted, Scripted, Seen, scripted
from ._serving import until
from .test_sse_client import Old

WORDS = r"the HTTP client \(http_client\) was closed while it was still in use"


class Holding:
    """Answers the tool ``x``, and no other; ``stream`` begins a stream of events for it."""

    async def tools_call(self, seen: Seen) -> None:
        name = seen.params["name"]
        if name == "x":
            await seen.result({"resultType": "complete", "content": []})
            return
        if name == "stream":
            await seen.events(": here\n\n")
        await seen.gone.wait()


class Modern(Holding, Scripted):
    pass


class Older(Holding, OlderScripted):
    pass


def no_defects(caplog: Any) -> bool:
    return not [each for each in caplog.records if each.levelno >= logging.ERROR]


@pytest.mark.parametrize("kind", [Modern, Older])
async def test_calls_that_run_and_calls_that_come_are_told(kind, caplog):
    server = kind()
    told: list[str] = []

    async def call(client: Client, name: str) -> None:
        with pytest.raises(ConnectionLost, match=WORDS):
            await client.call_tool(name)
        told.append(name)

    http_client = httpx.AsyncClient(trust_env=False)
    async with scripted(server) as url:
        transport = streamable_http_client(url, http_client=http_client)
        with trio.fail_after(5):
            async with Client(transport) as client:
                await client.call_tool("x")
                async with trio.open_nursery() as nursery:
                    for name in ("hold", "stream"):
                        nursery.start_soon(call, client, name)
                    await until(lambda: len(server.asked("tools/call")) == 3)
                    await http_client.aclose()
                await call(client, "x")
    assert sorted(told) == ["hold", "stream", "x"]
    assert no_defects(caplog)


async def test_the_stream_of_a_session_is_not_asked_for_again(monkeypatch, caplog):
    monkeypatch.setattr(_client_retry, "DEFAULT_RETRY_SECONDS", 0.01)

    class Streaming(Older):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.message({"method": "notifications/tools/list_changed"})
            await seen.gone.wait()

    is_open = trio.Event()

    async def hear(message: Any) -> None:
        is_open.set()

    http_client = httpx.AsyncClient(trust_env=False)
    async with scripted(Streaming()) as url:
        transport = streamable_http_client(url, http_client=http_client)
        with trio.fail_after(5):
            async with Client(transport, mode="legacy", message_handler=hear):
                await is_open.wait()
                await http_client.aclose()
                await until(lambda: "is not listened to any more" in caplog.text)
    assert no_defects(caplog)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_is_closed_already_connects_nobody(mode):
    http_client = httpx.AsyncClient(trust_env=False)
    await http_client.aclose()
    async with scripted(Modern()) as url:
        with pytest.raises(ConnectionLost, match=WORDS):
            async with Client(streamable_http_client(url, http_client=http_client), mode=mode):
                pytest.fail("it cannot connect")


async def test_over_http_with_sse_it_is_told_as_well(caplog):
    http_client = httpx.AsyncClient(trust_env=False)

    def make(headers: Any = None, auth: Any = None) -> httpx.AsyncClient:
        return http_client

    async with scripted(Old()) as url:
        transport = sse_client(url, httpx_client_factory=make)
        with trio.fail_after(5):
            async with Client(transport, mode="legacy") as client:
                await client.call_tool("x")
                await http_client.aclose()
                with pytest.raises(ConnectionLost, match=WORDS):
                    await client.call_tool("x")
    assert no_defects(caplog)


async def test_another_runtime_error_is_not_taken_for_that():
    class Failing(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Any:
            raise RuntimeError("a defect")

    async with scripted(Modern()) as url, httpx.AsyncClient(trust_env=False) as http_client:
        transport = streamable_http_client(url, http_client=http_client, auth=Failing())
        with pytest.raises(RuntimeError, match="a defect"):
            async with Client(transport):
                pytest.fail("it cannot connect")
