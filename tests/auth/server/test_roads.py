"""A protected server on every carrier, and clients that bring their tokens."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio

from tests._limits import SOON
from trio_mcp import Client, MCPError, StdioServerParameters
from trio_mcp.auth import BearerAuth
from trio_mcp.testing import open_client as open_in_memory
from trio_mcp.transports import serve_http, serve_websocket

from ._protected import make_server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ROADS = ["modern", "older", "sse", "websocket", "websocket, older"]


@asynccontextmanager
async def open_server(road: str) -> AsyncGenerator[str]:
    serve: Any = partial(serve_http, make_server())
    if road.startswith("websocket"):
        serve = partial(serve_websocket, make_server())
    elif road == "sse":
        serve = partial(serve_http, make_server(), transport="sse")
    async with trio.open_nursery() as nursery:
        yield (await nursery.start(serve, "127.0.0.1", 0)).url
        nursery.cancel_scope.cancel()


def client_for(url: str, road: str, token: str | None) -> Client:
    auth = None if token is None else BearerAuth(token)
    return Client(url, auth=auth, mode="legacy" if road.endswith("older") else "auto")


@asynccontextmanager
async def open_client(road: str, token: str) -> AsyncGenerator[Client]:
    async with open_server(road) as url, client_for(url, road, token) as client:
        yield client


@pytest.mark.req("R-100", "R-446")
@pytest.mark.parametrize("road", ROADS)
async def test_client_with_a_token_is_served_as_whose_it_is(road):
    async with open_client(road, "ada") as client:
        with trio.fail_after(SOON):
            found = await client.call_tool("whoami", {})
            assert found.structured_content == {"subject": "ada", "scopes": ["use"]}
            in_thread = await client.call_tool("in_thread", {})
            assert in_thread.structured_content == {"result": "client"}


@pytest.mark.req("R-032")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_stdio_nobody_asks_for_a_token_and_none_can_be_sent(mode):
    # The very lines that a process gets on its stdin.
    async with open_in_memory(make_server(), "lines", mode=mode) as client:
        in_thread = await client.call_tool("in_thread", {})
    assert in_thread.structured_content == {"result": "nobody"}
    with pytest.raises(TypeError, match="auth is for a URL"):
        Client(StdioServerParameters(command="server"), auth=BearerAuth("ada"))


@pytest.mark.req("R-457", "R-465")
@pytest.mark.parametrize("road", ROADS)
async def test_call_that_takes_more_fails_alone(road):
    async with open_client(road, "ada") as client:
        with trio.fail_after(SOON):
            with pytest.raises(MCPError, match="files:write"):
                await client.call_tool("change", {})
            assert (await client.call_tool("in_thread", {})).is_error is False
    async with open_client(road, "admin") as client:
        with trio.fail_after(SOON):
            assert (await client.call_tool("change", {})).structured_content == {
                "result": "changed"
            }


@pytest.mark.req("R-448")
@pytest.mark.parametrize("token", [None, "unknown"])
@pytest.mark.parametrize("road", ROADS)
async def test_client_without_a_good_token_is_told_so(road, token):
    async with open_server(road) as url:
        with pytest.raises(MCPError, match=r"401|token"), trio.fail_after(SOON):
            async with client_for(url, road, token):
                pytest.fail("it was let in")
