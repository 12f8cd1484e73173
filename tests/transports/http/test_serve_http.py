"""A server in a nursery of the caller, over real sockets: each option, how it starts and ends."""

from __future__ import annotations

import json
import ssl
import time
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from tests._limits import SOON
from trio_mcp import Client, ConnectionLost, Context, MCPServer, Server
from trio_mcp.transports import (
    InMemoryEventStore,
    TransportSecuritySettings,
    serve_http,
    sse_client,
    streamable_http_client,
)
from trio_mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from ._serving import connected, make_certificate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.transports import HttpServing

VERSION = "2026-07-28"
OLDER = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
BOTH = "application/json, text/event-stream"


def make_server() -> MCPServer:
    mcp = MCPServer("greeter")

    @mcp.tool()
    async def greet(name: str, ctx: Context) -> str:
        await ctx.report_progress(1)
        return f"Hello, {name}!"

    return mcp


@asynccontextmanager
async def serving(
    server: Any = None, *args: Any, **options: Any
) -> AsyncGenerator[HttpServing, None]:
    """Serve until the block is left, which cancels."""
    if not args:
        options.setdefault("port", 0)
    async with trio.open_nursery() as nursery:
        serve = partial(serve_http, server or make_server(), *args, **options)
        yield await nursery.start(serve)
        nursery.cancel_scope.cancel()


def browser(**options: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(trust_env=False, timeout=25, **options)


async def greet(client: Client) -> str:
    [content] = (await client.call_tool("greet", {"name": "Ada"})).content
    assert isinstance(content, TextContent)
    return content.text


def called(
    method: str = "tools/call", params: dict[str, Any] | None = None, **headers: str
) -> dict[str, Any]:
    """Make a request of the modern era."""
    params = {"name": "greet", "arguments": {"name": "Ada"}} if params is None else params
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    sent = {"accept": BOTH, "mcp-protocol-version": VERSION, "mcp-method": method}
    if "name" in params:
        sent["mcp-name"] = params["name"]
    return {"json": message, "headers": {**sent, **headers}}


def initialized() -> dict[str, Any]:
    """Make a request for a session of the older era."""
    params = {
        "protocolVersion": OLDER,
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return {"json": message, "headers": {"accept": BOTH}}


# Where


async def test_it_reports_where_clients_find_it() -> None:
    async with serving(make_server(), "127.0.0.1", 0) as served:
        assert served.url.startswith("http://127.0.0.1:")
        assert served.url.endswith("/mcp")
        assert ":0/" not in served.url
        async with Client(served.url) as client:
            assert client.protocol_version == VERSION
            assert await greet(client) == "Hello, Ada!"
        async with Client(served.url, mode="legacy") as client:
            assert await greet(client) == "Hello, Ada!"


async def test_several_addresses_and_a_unix_socket(tmp_path: Any) -> None:
    path = tmp_path / "socket"
    async with serving(binds=["127.0.0.1:0", "[::1]:0"], unix_socket=path) as served:
        *urls, unix = served.urls
        assert unix == f"unix:{path}"
        for url in urls:
            async with Client(url) as client:
                assert await greet(client) == "Hello, Ada!"
        http_client = browser(transport=httpx.AsyncHTTPTransport(uds=str(path)))
        async with http_client:
            transport = streamable_http_client("http://localhost/mcp", http_client=http_client)
            async with Client(transport) as client:
                assert await greet(client) == "Hello, Ada!"
    assert not path.exists()


@pytest.mark.parametrize("path", ["/tools/here", "tools/here/"])
async def test_the_endpoint_has_the_path_that_is_given(path: str) -> None:
    async with serving(streamable_http_path=path) as served:
        assert served.url.endswith("/tools/here")
        async with Client(served.url) as client:
            assert await greet(client) == "Hello, Ada!"
        with pytest.raises(ConnectionLost):
            async with Client(served.url.replace("/tools/here", "/mcp")):
                pass


@pytest.mark.parametrize("http2", [False, True])
async def test_tls_with_files(tmp_path: Any, http2: bool) -> None:
    files = make_certificate(tmp_path, "SECRET")
    async with serving(**files, keyfile_password="SECRET", http2=http2) as served:
        assert served.url.startswith("https://")
        url = served.url.replace("127.0.0.1", "localhost")
        context = ssl.create_default_context(cafile=files["certfile"])
        async with browser(verify=context, http2=True) as http_client:
            answer = await http_client.post(url, **called())
            assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
            assert answer.json()["result"]["content"][0]["text"] == "Hello, Ada!"
        async with browser(verify=context) as http_client:
            transport = streamable_http_client(url, http_client=http_client)
            async with Client(transport) as client:
                assert await greet(client) == "Hello, Ada!"


async def test_a_low_level_server_is_served_too() -> None:
    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="greet", input_schema={"type": "object"})])

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(text="low")])

    server = Server("low", on_list_tools=list_tools, on_call_tool=call_tool)
    async with serving(server) as served, Client(served.url) as client:
        assert await greet(client) == "low"


async def test_http_with_sse_is_another_transport() -> None:
    async with serving(transport="sse", sse_path="/stream", message_path="/post") as served:
        assert served.url.endswith("/stream")
        async with Client(served.url) as client:
            assert await greet(client) == "Hello, Ada!"


async def test_other_routes_are_served_beside_the_endpoint() -> None:
    mcp = make_server()

    @mcp.custom_route("/health", ["GET"])
    async def health(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    for transport in ("streamable-http", "sse"):
        async with serving(mcp, transport=transport) as served, browser() as http:
            assert (await http.get(httpx.URL(served.url).join("/health"))).status_code == 204


# How


async def test_json_response() -> None:
    asked = called()
    asked["json"]["params"]["_meta"] = {**META, "progressToken": 1}
    for json_response, media_type in ((True, "application/json"), (False, "text/event-stream")):
        async with serving(json_response=json_response) as served, browser() as http:
            answer = await http.post(served.url, **asked)
            assert answer.headers["content-type"].startswith(media_type)


async def test_stateless_http_and_sessions() -> None:
    for stateless in (True, False):
        async with serving(stateless_http=stateless) as served, browser() as http:
            answer = await http.post(served.url, **initialized())
            assert answer.status_code == 200
            assert ("mcp-session-id" in answer.headers) is not stateless


async def test_event_store_and_retry_interval() -> None:
    store = InMemoryEventStore()
    async with serving(event_store=store, retry_interval=70) as served, browser() as http:
        session = (await http.post(served.url, **initialized())).headers["mcp-session-id"]
        headers = {"accept": BOTH, "mcp-session-id": session, "mcp-protocol-version": OLDER}
        params = {"name": "greet", "arguments": {"name": "Ada"}}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        text = (await http.post(served.url, json=message, headers=headers)).text
    assert "id: " in text
    assert "retry: 70" in text


async def test_max_request_body_size() -> None:
    async with serving(max_request_body_size=400) as served, browser() as http:
        assert (await http.post(served.url, **called())).status_code == 200
        asked = called(params={"name": "greet", "arguments": {"name": "x" * 400}})
        assert (await http.post(served.url, **asked)).status_code == 413


async def test_body_timeout() -> None:
    async with serving(body_timeout=0.05) as served, connected_to(served) as raw:
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {BOTH}\r\n"
        await raw.send(f"{head}Content-Type: application/json\r\n".encode())
        await raw.send(b"Content-Length: 100\r\n\r\n{")
        assert b" 408 " in await raw.rest()


async def test_max_sessions_and_session_idle_timeout() -> None:
    async with serving(max_sessions=1, session_idle_timeout=1) as served, browser() as http:
        assert (await http.post(served.url, **initialized())).status_code == 200
        assert (await http.post(served.url, **initialized())).status_code == 503
        with trio.fail_after(SOON):
            # What is waited for happens behind a socket, which tells no event.
            while (await http.post(served.url, **initialized())).status_code != 200:  # noqa: ASYNC110
                await trio.sleep(0.05)


async def test_transport_security() -> None:
    security = TransportSecuritySettings(allowed_hosts=["app.example"])
    async with serving(transport_security=security) as served, browser() as http:
        assert (await http.post(served.url, **called())).status_code == 421
        answer = await http.post(served.url, **called(host="app.example"))
        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"host": "127.0.0.1"}, 421),
        ({"host": "localhost"}, 421),
        ({"binds": ["127.0.0.1:0", "[::1]:0"]}, 421),
        ({"host": "0.0.0.0"}, 200),
        ({"binds": ["127.0.0.1:0", "0.0.0.0:0"]}, 200),
    ],
)
async def test_names_of_others_are_refused_where_this_machine_alone_is_served(
    options: dict[str, Any], status: int
) -> None:
    async with serving(**options) as served, browser() as http:
        url = served.url.replace("0.0.0.0", "127.0.0.1")
        answer = await http.post(url, **called(host="app.example"))
        assert answer.status_code == status


async def test_a_unix_socket_goes_by_the_names_of_its_proxy(tmp_path: Any) -> None:
    path = tmp_path / "socket"
    transport = httpx.AsyncHTTPTransport(uds=str(path))
    async with serving(unix_socket=path), browser(transport=transport) as http:
        answer = await http.post("http://app.example/mcp", **called())
        assert answer.status_code == 200


async def test_cors_origins() -> None:
    asked = {"origin": "https://app.example", "access-control-request-method": "POST"}
    async with serving(cors_origins=["https://app.example"]) as served, browser() as http:
        answer = await http.options(served.url, headers=asked)
        assert answer.status_code == 204
        assert answer.headers["access-control-allow-origin"] == "https://app.example"


async def test_keep_alive_interval() -> None:
    listening = called("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    body = json.dumps(listening["json"])
    sent = {**listening["headers"], "content-type": "application/json", "host": "127.0.0.1"}
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    async with serving(keep_alive_interval=0.05) as served, connected_to(served) as raw:
        await raw.send(
            f"POST /mcp HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n{body}".encode()
        )
        await raw.until(b"acknowledged")
        # A comment, which every client passes over.
        await raw.until(b"\n:")


async def test_max_connections() -> None:
    async with (
        serving(max_connections=1) as served,
        connected_to(served),
        connected_to(served) as second,
    ):
        assert await second.rest() == b""


@asynccontextmanager
async def connected_to(served: HttpServing) -> AsyncGenerator[Any, None]:
    class Address:
        url = served.url.removesuffix("/mcp")

    async with connected(Address) as raw:  # type: ignore[arg-type]
        yield raw


# Its end


class Slow:
    """A server with a tool that waits to be released, and a lifespan that tells its end."""

    def __init__(self) -> None:
        self.release = trio.Event()
        self.running = trio.Event()
        self.story: list[str] = []
        self.mcp = MCPServer("slow", lifespan=self.lifespan)
        self.mcp.add_tool(self.wait, name="wait")

    @asynccontextmanager
    async def lifespan(self, server: Any) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.story.append("lifespan left")

    async def wait(self) -> str:
        self.running.set()
        try:
            await self.release.wait()
        except trio.Cancelled:
            self.story.append("cancelled")
            raise
        return "done"


async def test_stop_answers_what_runs_ends_streams_and_takes_nothing_new() -> None:
    slow = Slow()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(partial(serve_http, slow.mcp, port=0))
        async with Client(served.url) as client, client.listen(tools_list_changed=True) as news:
            answers: list[Any] = []

            async def call() -> None:
                answers.append(await client.call_tool("wait"))

            async with trio.open_nursery() as calls:
                calls.start_soon(call)
                await slow.running.wait()
                served.stop()
                # A graceful end of the stream, and no loss.
                assert [event async for event in news] == []
                with pytest.raises(OSError):
                    await trio.open_tcp_stream(*address_of(served))
                slow.release.set()
            [result] = answers
            assert result.content == [TextContent(text="done")]
    assert slow.story == ["lifespan left"]


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_stop_is_bounded(transport: Any) -> None:
    slow = Slow()
    serve = partial(serve_http, slow.mcp, port=0, transport=transport, graceful_timeout=0.2)
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve)
        target = sse_client(served.url) if transport == "sse" else served.url
        with pytest.RaisesGroup(ConnectionLost):
            async with Client(target) as client, trio.open_nursery() as calls:
                calls.start_soon(client.call_tool, "wait")
                await slow.running.wait()
                began = time.monotonic()
                served.stop()
    assert time.monotonic() - began < 3
    assert slow.story == ["cancelled", "lifespan left"]


async def test_a_cancel_from_outside_is_immediate() -> None:
    slow = Slow()
    async with trio.open_nursery() as outer:
        async with trio.open_nursery() as nursery:
            served = await nursery.start(
                partial(serve_http, slow.mcp, port=0, graceful_timeout=60)
            )
            client = await connect_in(outer, served.url)
            outer.start_soon(lost, client)
            await slow.running.wait()
            began = time.monotonic()
            nursery.cancel_scope.cancel()
        assert time.monotonic() - began < SOON
        assert slow.story == ["cancelled", "lifespan left"]


async def connect_in(nursery: trio.Nursery, url: str) -> Any:
    from trio_mcp import connect

    return await connect(nursery, url)


async def lost(client: Any) -> None:
    async with client:
        with pytest.raises(ConnectionLost):
            await client.call_tool("wait")


# What is wrong


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"prot": 1}, TypeError, "'streamable-http' has no option 'prot'; did you mean 'port'"),
        ({"sse_path": "/x"}, TypeError, "'streamable-http' has no option 'sse_path'"),
        ({"transport": "sse", "json_response": True}, TypeError, "'sse' has no option 'json_r"),
        ({"transport": "smoke"}, ValueError, "transport: expected one of 'streamable-http', 's"),
        ({"port": 70_000}, ValueError, "port: expected a whole number of at least 0 and at most"),
        ({"host": 5}, TypeError, "host: expected str, got int"),
        ({"max_sessions": 0}, ValueError, "max_sessions: expected a whole number of at least 1"),
        ({"session_idle_timeout": 0}, ValueError, "session_idle_timeout: expected a number above"),
        ({"host": ""}, ValueError, "host: expected a host, such as"),
        ({"http2": True}, ValueError, "http2: it needs TLS: give certfile, too"),
        ({"certfile": 5}, TypeError, "certfile: expected a path, got int"),
        ({"streamable_http_path": 5}, TypeError, "streamable_http_path: expected str, got int"),
        ({"body_timeout": "1"}, TypeError, "body_timeout: expected a number above 0, got str"),
    ],
)
async def test_a_wrong_option_is_refused_by_name(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        await serve_http(make_server(), **options)


async def test_what_is_no_server_is_refused() -> None:
    with pytest.raises(TypeError, match="server: expected a Server or an MCPServer, got str"):
        await serve_http("greeter")  # type: ignore[arg-type]


@pytest.mark.case("C019")
async def test_an_address_that_is_taken_is_named() -> None:
    async with serving() as served:
        host, port = address_of(served)
        with pytest.raises(OSError, match=f"cannot listen on {host}:{port}: .*in use"):
            await serve_http(make_server(), host, port)


async def test_files_for_tls_that_cannot_be_read_are_named(tmp_path: Any) -> None:
    gone = tmp_path / "gone.pem"
    with pytest.raises(OSError, match=r"gone\.pem"):
        await serve_http(make_server(), certfile=gone)
    (tmp_path / "wrong.pem").write_text(json.dumps("no certificate"))
    with pytest.raises(OSError, match=r"wrong\.pem"):
        await serve_http(make_server(), certfile=tmp_path / "wrong.pem")


def address_of(served: HttpServing) -> tuple[str, int]:
    url = httpx.URL(served.url)
    assert url.port is not None
    return url.host, url.port
