"""Serving as a program and in a nursery, as type checkers see it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, assert_type

from trio_mcp import Client, MCPServer, Server
from trio_mcp.client import WebSocketServerParameters
from trio_mcp.transports import (
    Channel,
    HttpApp,
    HttpServing,
    InMemoryEventStore,
    SseApp,
    TransportSecuritySettings,
    WebSocketServing,
    serve_http,
    serve_websocket,
    websocket_client,
)

if TYPE_CHECKING:
    import trio

mcp = MCPServer("typed")
low = Server("typed")


def run_it(how: str) -> None:
    if how == "stdio":
        mcp.run()
        mcp.run("stdio", port=1)  # type: ignore[call-overload]
    elif how == "sse":
        mcp.run("sse", host="127.0.0.1", port=0, sse_path="/sse", max_sessions=None)
        mcp.run("sse", json_response=True)  # type: ignore[call-overload]
    elif how == "websocket":
        mcp.run("websocket", host="127.0.0.1", port=0, websocket_path="/ws", ping_interval=None)
        mcp.run("websocket", json_response=True)  # type: ignore[call-overload]
    else:
        mcp.run(
            "streamable-http",
            host="127.0.0.1",
            port=8000,
            json_response=True,
            event_store=InMemoryEventStore(),
            transport_security=TransportSecuritySettings(allowed_hosts=["app.example"]),
            certfile="cert.pem",
            cors_origins=["*"],
        )
        mcp.run("streamable-http", port="8000")  # type: ignore[call-overload]
        mcp.run("streamable-http", prot=8000)  # type: ignore[call-overload]


async def serve_it(nursery: trio.Nursery) -> None:
    serving: HttpServing = await nursery.start(serve_http, mcp, "127.0.0.1", 0)
    assert_type(serving.url, str)
    await nursery.start(partial(serve_http, low, port=0, transport="sse", graceful_timeout=1.0))
    await serve_http(mcp, prot=0)  # type: ignore[call-arg]
    await mcp.run_streamable_http_async(port=0, binds=["127.0.0.1:0"], max_sessions=5)
    await mcp.run_streamable_http_async(stateless="yes")  # type: ignore[call-arg]
    await mcp.run_sse_async(unix_socket="/run/server")


async def serve_it_over_websockets(nursery: trio.Nursery) -> None:
    serving: WebSocketServing = await nursery.start(serve_websocket, low, "127.0.0.1", 0)
    assert_type(serving.url, str)
    await nursery.start(partial(serve_websocket, mcp, port=0, max_message_size=1_000))
    await serve_websocket(mcp, prot=0)  # type: ignore[call-arg]
    await mcp.run_websocket_async(port=0, certfile="cert.pem")
    async with websocket_client("wss://example.com/mcp", headers={"X": "y"}) as (read, write):
        assert_type(read, Channel)
        assert_type(write, Channel)
    async with Client(WebSocketServerParameters(url="ws://127.0.0.1/mcp", timeout=3)):
        pass


assert_type(mcp.streamable_http_app(streamable_http_path="/x", host="0.0.0.0"), HttpApp)
assert_type(low.streamable_http_app(stateless_http=True, custom_starlette_routes=[]), HttpApp)
assert_type(mcp.sse_app(message_path="/post", body_timeout=3.0), SseApp)
mcp.streamable_http_app(port=1)  # type: ignore[call-arg]
