"""A lifespan that ends while a server runs ends the server, on every carrier."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio

from tests._limits import SOON
from trio_mcp import Client, ConnectionLost, MCPServer
from trio_mcp.server import InMemorySubscriptionBus
from trio_mcp.transports import InMemoryEventStore, serve_http, serve_websocket

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

CARRIERS = {
    "streamable-http": serve_http,
    "sse": partial(serve_http, transport="sse"),
    "websocket": serve_websocket,
}


class Fails:
    """A block in which a task fails when it is told to."""

    def __init__(self) -> None:
        self.told = trio.Event()

    async def run(self) -> None:
        await self.told.wait()
        raise LookupError("the database is gone")

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None, None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.run)
            yield
            nursery.cancel_scope.cancel()


class FailingBus(InMemorySubscriptionBus):
    def __init__(self, fails: Fails) -> None:
        super().__init__()
        self.open = fails.open


class FailingStore(InMemoryEventStore):
    def __init__(self, fails: Fails) -> None:
        super().__init__()
        self.open = fails.open  # type: ignore[method-assign]


async def assert_ends(
    serve: Callable[..., Awaitable[None]], fails: Fails, seen: list[str]
) -> None:
    """Have it fail while a call runs, which is what ends the server."""

    async def call(url: str) -> None:
        with pytest.raises(ConnectionLost):
            async with Client(url) as client:
                await client.call_tool("hold")

    async def run(*, task_status: Any) -> None:  # noqa: ASYNC114, ASYNC128 - what it serves does
        with pytest.RaisesGroup(pytest.RaisesExc(LookupError, match="is gone")):
            await serve(task_status=task_status)
        seen.append("ended")

    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            served = await nursery.start(run)
            nursery.start_soon(call, served.url)
    assert seen == ["cancelled", "ended"]


def make_server(fails: Fails, seen: list[str], **options: Any) -> MCPServer:
    mcp = MCPServer("x", **options)

    @mcp.tool()
    async def hold() -> str:
        fails.told.set()
        try:
            await trio.sleep_forever()
        finally:
            seen.append("cancelled")

    return mcp


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("what", ["lifespan", "bus"])
async def test_what_a_server_runs_in_ends_it_when_it_fails(carrier, what):
    fails, seen = Fails(), list[str]()

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncGenerator[dict[str, Any], None]:
        async with fails.open():
            yield {}

    options = (
        {"lifespan": lifespan} if what == "lifespan" else {"subscriptions": FailingBus(fails)}
    )
    mcp = make_server(fails, seen, **options)
    await assert_ends(partial(CARRIERS[carrier], mcp, "127.0.0.1", 0), fails, seen)


async def test_an_event_store_that_fails_ends_the_server():
    fails, seen = Fails(), list[str]()
    mcp = make_server(fails, seen)
    serve = partial(serve_http, mcp, "127.0.0.1", 0, event_store=FailingStore(fails))
    await assert_ends(serve, fails, seen)


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_lifespan_that_ends_what_runs_in_it_is_the_end_of_the_server(carrier, caplog):
    caplog.set_level(logging.INFO, "trio_mcp")
    scope = trio.CancelScope()

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncGenerator[dict[str, Any], None]:
        with scope:
            yield {}

    async with trio.open_nursery() as nursery:
        serve = partial(CARRIERS[carrier], MCPServer("x", lifespan=lifespan), "127.0.0.1", 0)
        served = await nursery.start(serve)
        async with Client(served.url):
            scope.cancel()
            with trio.fail_after(SOON):
                while nursery.child_tasks:  # noqa: ASYNC110 - it has no event for its end
                    await trio.sleep(0.01)
    assert "The lifespan has ended, and the server ends with it" in caplog.messages
