"""Streams of changes over each transport: what is acknowledged, and how they end."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from tests._limits import SOON
from trio_mcp import Client, Server
from trio_mcp.server import InMemorySubscriptionBus, ListenHandler, PromptsListChanged
from trio_mcp.testing import open_client
from trio_mcp.transports import serve_http, serve_websocket
from trio_mcp.types import ListPromptsResult, SubscriptionFilter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ROADS = ["direct", "text", "lines", "http", "websocket"]


async def no_prompts(ctx: Any, params: Any) -> ListPromptsResult:
    return ListPromptsResult(prompts=[])


@asynccontextmanager
async def connected(server: Server, road: str) -> AsyncGenerator[Client]:
    if road not in {"http", "websocket"}:
        async with open_client(server, road) as client:
            yield client
        return
    serve: Any = serve_http if road == "http" else serve_websocket
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve, server, "127.0.0.1", 0)
        async with Client(served.url) as client:
            yield client
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-203")
@pytest.mark.parametrize("road", ROADS)
async def test_what_a_server_does_not_offer_is_not_acknowledged_and_the_end_is_told(road):
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    server = Server("prompts", on_list_prompts=no_prompts, on_subscriptions_listen=handler)
    async with connected(server, road) as client:
        with trio.fail_after(SOON):
            async with client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=["a://1"],
            ) as changes:
                assert changes.honored == SubscriptionFilter(prompts_list_changed=True)
                await bus.publish(PromptsListChanged())
                assert await anext(changes) == PromptsListChanged()
                handler.close()
                # In good order: a stream that only broke off would raise.
                assert [each async for each in changes] == []
            # The connection is as good as before.
            assert (await client.list_prompts()).prompts == []
