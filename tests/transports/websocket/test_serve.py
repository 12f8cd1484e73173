"""The server's end: where it listens, whom it serves, and how it stops."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp import Client, ConnectionLost, MCPServer
from trio_mcp.server import Server
from trio_mcp.transports import (
    RunWebSocketOptions,
    ServeOptions,
    ServeWebSocketOptions,
    TransportSecuritySettings,
    WebSocketOptions,
    serve_websocket,
)
from trio_mcp.transports.websocket import _serve
from trio_mcp.transports.websocket._options import LISTENING, read_options

from ._wire import (
    CLOSE,
    KEY,
    Raw,
    Tools,
    bystander,
    call,
    connected,
    discover,
    frame,
    request,
    serving,
    upgraded,
)

# Where


async def test_free_port_and_path_are_reported():
    async with serving(websocket_path="/tools/") as (served, _):
        assert served.url.startswith("ws://127.0.0.1:")
        assert served.url.endswith("/tools")
        async with Client(served.url), Client(served.url + "/"):
            pass


@pytest.mark.parametrize("path", ["tools", "//tools", "tools/", "/a/b", "a/b/", "", "/"])
async def test_a_path_is_served_as_it_is_reported(path):
    async with serving(websocket_path=path) as (served, _):
        assert served.url.endswith("/" + path.strip("/"))
        async with Client(served.url), Client(served.url.rstrip("/") + "/"):
            pass


async def test_several_addresses_are_served_at_once(tmp_path):
    path = tmp_path / "socket"
    tools = Tools()
    binds = ["127.0.0.1:0", "[::1]:0", f"unix:{path}"]
    async with trio.open_nursery() as nursery:
        served = await nursery.start(partial(serve_websocket, tools.mcp, binds=binds))
        four, six, unix = served.urls
        assert unix == f"unix:{path}"
        async with Client(four), Client(six):
            pass
        async with await trio.open_unix_socket(path) as stream:
            raw = Raw(stream)
            await raw.send(request())
            assert b"101" in await raw.head()
        nursery.cancel_scope.cancel()
    assert not path.exists()


async def test_nothing_is_left_where_one_of_several_addresses_cannot_be_had(tmp_path):
    path = tmp_path / "socket"
    async with serving() as (served, tools):
        port = served.url.rpartition(":")[2].partition("/")[0]
        binds = [f"unix:{path}", f"127.0.0.1:{port}"]
        with pytest.raises(OSError, match="in use"):
            await serve_websocket(tools.mcp, binds=binds)
    assert not path.exists()


async def test_a_unix_socket_is_removed_when_a_stop_begins(tmp_path):
    path = tmp_path / "socket"
    tools = Tools()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(partial(serve_websocket, tools.mcp, unix_socket=path))
        async with await trio.open_unix_socket(path) as stream:
            raw = Raw(stream)
            await raw.send(request())
            assert b"101" in await raw.head()
            served.stop()
            await trio.testing.wait_all_tasks_blocked()
            assert not path.exists()


async def test_port_that_is_taken_is_an_error_of_the_caller():
    async with serving() as (served, tools):
        port = int(served.url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(OSError, match="in use"):
            await serve_websocket(tools.mcp, "127.0.0.1", port)


async def test_low_level_server_is_served():
    async def ping(ctx: Any, params: Any) -> dict[str, Any]:
        return {"pong": True}

    server = Server("low")
    from trio_mcp.types import RequestParams

    server.add_request_handler("x/ping", RequestParams, ping)
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_websocket, server, "127.0.0.1", 0)
        async with Client(served.url) as client:
            assert (await client.session.discover()).capabilities is not None
        nursery.cancel_scope.cancel()


async def test_lifespan_is_entered_once_for_all_clients():
    seen = []

    @asynccontextmanager
    async def lifespan(server: Any) -> Any:
        seen.append("begin")
        yield {}
        seen.append("end")

    mcp = MCPServer("x", lifespan=lifespan)
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_websocket, mcp, "127.0.0.1", 0)
        async with Client(served.url), Client(served.url):
            assert seen == ["begin"]
        served.stop()
    assert seen == ["begin", "end"]


async def test_lifespan_that_fails_is_an_error_of_the_caller():
    @asynccontextmanager
    async def lifespan(server: Any) -> Any:
        raise KeyError("no database")
        yield {}

    with pytest.raises(KeyError, match="no database"):
        await serve_websocket(MCPServer("x", lifespan=lifespan), "127.0.0.1", 0)


async def test_lifespan_that_fails_at_its_end_is_an_error_of_the_caller():
    @asynccontextmanager
    async def lifespan(server: Any) -> Any:
        yield {}
        raise KeyError("no database")

    mcp = MCPServer("x", lifespan=lifespan)
    with pytest.RaisesGroup(pytest.RaisesExc(KeyError, match="no database")):
        async with trio.open_nursery() as nursery:
            served = await nursery.start(serve_websocket, mcp, "127.0.0.1", 0)
            served.stop()


async def test_lifespan_can_wait_at_its_end_though_the_server_is_cancelled():
    seen = []

    @asynccontextmanager
    async def lifespan(server: Any) -> Any:
        try:
            yield {}
        finally:
            await trio.sleep(0.05)
            seen.append("flushed")

    mcp = MCPServer("x", lifespan=lifespan)
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_websocket, mcp, "127.0.0.1", 0)
        async with Client(served.url):
            nursery.cancel_scope.cancel()
    assert seen == ["flushed"]


async def test_lifespan_that_is_being_entered_is_cancelled_at_once():
    seen = []

    @asynccontextmanager
    async def lifespan(server: Any) -> Any:
        try:
            scope.cancel()
            await trio.sleep_forever()
        finally:
            seen.append("cancelled")
        yield {}

    with trio.CancelScope() as scope:
        await serve_websocket(MCPServer("x", lifespan=lifespan), "127.0.0.1", 0)
    assert seen == ["cancelled"]


# Options


async def test_what_is_not_given_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("MCP_WEBSOCKET_PATH", "/there")
    monkeypatch.setenv("MCP_PORT", "0")
    monkeypatch.setenv("MCP_HOST", "0.0.0.0")
    monkeypatch.setenv("MCP_PING_INTERVAL", "none")
    monkeypatch.setenv("MCP_ALLOWED_HOSTS", "example.com")
    listening, options = read_options({"host": "127.0.0.1"})
    assert (listening.host, listening.port) == ("127.0.0.1", 0)
    assert options.websocket_path == "/there"
    assert options.ping_interval is None
    assert options.transport_security == TransportSecuritySettings(allowed_hosts=["example.com"])


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"port": 65_536}, ValueError, "port"),
        ({"websocket_path": 1}, TypeError, "websocket_path"),
        ({"max_message_size": 0}, ValueError, "max_message_size"),
        ({"ping_interval": 0}, ValueError, "ping_interval"),
        ({"ping_timeout": None}, TypeError, "ping_timeout"),
        ({"transport_security": "no"}, TypeError, "transport_security"),
        ({"pign_interval": 1}, TypeError, "did you mean 'ping_interval'"),
        ({"http2": True}, TypeError, "no option 'http2'"),
        ({"keyfile": "x"}, ValueError, "certfile"),
    ],
)
async def test_wrong_options_are_refused_before_anything_begins(options, error, says):
    with pytest.raises(error, match=says):
        await serve_websocket(MCPServer("x"), **options)


async def test_what_is_no_server_is_refused():
    with pytest.raises(TypeError, match="server: expected a Server or MCPServer, got str"):
        await serve_websocket("x")  # type: ignore[arg-type]


def test_type_checkers_know_what_is_taken():
    fields = {
        each.name: each.type
        for cls in (ServeOptions, WebSocketOptions)
        for each in attrs.fields(cls)
    }
    own = {each.name for each in attrs.fields(WebSocketOptions)}
    declared = {name: fields[name] for name in {*own, *LISTENING}}
    hints = RunWebSocketOptions.__annotations__
    assert {name: hint.__forward_arg__ for name, hint in hints.items()} == declared
    assert {"host", "port"} == set(hints) - set(ServeWebSocketOptions.__annotations__)


# Whom


def absolute(target: str) -> bytes:
    """Ask with a URL in place of a path."""
    return request().replace(b"GET /mcp", f"GET {target}".encode())


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        (request("ws://x/other?token=SECRET"), 404, b"nothing at /other"),
        (request().replace(b"GET", b"POST"), 405, b"GET"),
        (request(connection=None), 426, b"WebSocket endpoint"),
        (request(upgrade="h2c"), 426, b"WebSocket endpoint"),
        (request(sec_websocket_version="8"), 426, b"13"),
        (request(sec_websocket_key=None), 400, b"Sec-WebSocket-Key has to be there once"),
        (request(sec_websocket_key="x"), 400, b"Sec-WebSocket-Key has to be there once"),
        (request(sec_websocket_key="\xe9"), 400, b"Sec-WebSocket-Key has to be there once"),
        (request(sec_websocket_key=KEY + "!"), 400, b"Sec-WebSocket-Key has to be there once"),
        (request(sec_websocket_key=KEY[4:]), 400, b"Sec-WebSocket-Key has to be there once"),
        (request(**{"Sec-WebSocket-Key": KEY}), 400, b"Sec-WebSocket-Key has to be there once"),
        (request(**{"Sec-WebSocket-Version": "13"}), 426, b"13"),
        (request().replace(b"HTTP/1.1", b"HTTP/1.0"), 400, b"HTTP/1.1"),
        (request(x="x" * 20_000), 431, b"a head of 20"),
        (request(x="x" * 60_000), 431, b"a head of 60"),
        (absolute("http://127.0.0.1/other?token=SECRET"), 404, b"nothing at /other"),
        (absolute("http://evil.example/mcp"), 421, b"allowed_hosts"),
        (absolute("ftp://127.0.0.1/mcp"), 404, b"nothing at ftp:"),
        (request(sec_websocket_protocol=None), 400, b"subprotocol mcp"),
        (request(sec_websocket_protocol="chat, mcp2"), 400, b"subprotocol mcp"),
        (request(host="evil.example"), 421, b"allowed_hosts"),
        (request(origin="http://evil.example"), 403, b"allowed_origins"),
        (request(sec_websocket_protocol="mcp, caf\xe9"), 400, b"not ASCII"),
        (request(sec_websocket_extensions="caf\xe9"), 400, b"not ASCII"),
        (request(host="127.0.0.1:caf\xe9"), 421, b"allowed_hosts"),
        (request(content_length="5") + b"hello", 400, b"without a body"),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, b"Bad request"),
        (b"nonsense SECRET\r\n\r\n", 400, b"Bad request: illegal request line"),
        (
            b"GET /mcp HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer SECRET\r\n\r\n",
            400,
            b"Bad request: illegal header line",
        ),
        (b"GET /mcp HTTP/1.1\r\n\r\n", 400, b"Bad request"),
        (b"GET /mcp HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000, 431, b"Bad request"),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400, b"Bad request"),
    ],
)
async def test_request_that_opens_nothing_is_refused_once_with_its_reason(
    sent, status, says, caplog
):
    caplog.set_level(logging.INFO, "trio_mcp.websocket")
    async with serving() as (served, _), bystander(served), connected(served) as raw:
        await raw.send(sent)
        head = await raw.head()
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"connection: close" in head
        body = await raw.rest()
        assert says in body
        assert b"Traceback" not in body
    assert sum(f"was refused with {status}" in each for each in caplog.messages) == 1
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://localhost:3000"},
        {"sec_websocket_protocol": "chat, mcp"},
        {"sec_websocket_extensions": "permessage-deflate"},
        {"connection": "keep-alive, Upgrade", "upgrade": "WebSocket"},
        {"cookie": "a=caf\xe9"},
    ],
)
async def test_request_in_good_order_is_accepted_with_the_subprotocol(headers):
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(request(served.url, **headers))
        head = await raw.head()
        assert head.startswith(b"HTTP/1.1 101")
        assert b"sec-websocket-protocol: mcp\r\n" in head.lower()
        assert b"extensions" not in head.lower()
        await raw.send(discover())
        assert (await raw.message())["id"] == 1


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1/mcp", "HTTPS://localhost:80/mcp/?a=1", "http://x@[::1]:1/mcp"]
)
async def test_url_is_taken_as_the_target_of_a_request_with_the_host_in_it(target):
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(absolute(target).replace(b"host: 127.0.0.1", b"host: evil.example"))
        assert (await raw.head()).startswith(b"HTTP/1.1 101")
        await raw.send(discover())
        assert (await raw.message())["id"] == 1


async def test_security_settings_say_who_may_call():
    security = TransportSecuritySettings(
        allowed_hosts=["app.example"], allowed_origins=["https://app.example"]
    )
    async with serving(transport_security=security) as (served, _):
        for host, status in (("app.example", b"101"), ("127.0.0.1", b"421")):
            async with connected(served) as raw:
                await raw.send(request(host=host, origin="https://app.example"))
                assert status in await raw.head()


async def test_host_that_is_no_name_is_refused_by_the_library_and_harms_nobody():
    anybody = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    async with (
        serving(transport_security=anybody) as (served, _),
        bystander(served),
        connected(served) as raw,
    ):
        await raw.send(request(host="xn--a" + "x" * 70 + ".example"))
        assert (await raw.head()).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
async def test_a_server_that_others_reach_says_so_in_its_own_log(host, caplog):
    async with trio.open_nursery() as nursery:
        await nursery.start(serve_websocket, Tools().mcp, host, 0)
        nursery.cancel_scope.cancel()
    told = [each.name for each in caplog.records if "can be reached from elsewhere" in each.msg]
    assert told == ["trio_mcp.websocket"] * (host == "0.0.0.0")


# How it stops


async def test_idle_connections_are_closed_with_1001_at_once():
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_websocket, Tools().mcp, "127.0.0.1", 0)
        async with upgraded(served) as raw:
            served.stop()
            assert await raw.close_code() == 1001
            await raw.send(frame(CLOSE, b"\x03\xe9"))
            assert await raw.rest() == b""


async def test_running_requests_are_answered_before_it_stops():
    tools = Tools()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_websocket, tools.mcp, "127.0.0.1", 0)
        async with Client(served.url) as client:
            results = []

            async def hold() -> None:
                results.append(await client.call_tool("hold", {}))

            async with trio.open_nursery() as calls:
                calls.start_soon(hold)
                await tools.entered.wait()
                served.stop()
                await _until_nobody_listens(served)
                tools.release.set()
            assert results[0].structured_content == {"result": "held"}
            error = await client.session.wait_lost()
            assert error.close_code == 1001


async def test_what_still_runs_is_cancelled_when_the_time_is_over(monkeypatch):
    monkeypatch.setattr(_serve, "PARTING_TIMEOUT", SOON)
    tools = Tools()
    serve = partial(serve_websocket, tools.mcp, "127.0.0.1", 0, graceful_timeout=0.1)
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve)
        async with Client(served.url) as client:
            nursery.start_soon(_stop_when_entered, tools, served)
            with pytest.raises(ConnectionLost) as caught:
                await client.call_tool("hold", {})
            assert caught.value.close_code == 1001
    assert tools.cancelled == 1


@pytest.mark.parametrize("grace", [60, 0])
async def test_a_client_that_does_not_answer_its_close_takes_no_longer_than_the_rest(
    mock_clock, grace
):
    tools = Tools()
    serve = partial(serve_websocket, tools.mcp, "127.0.0.1", 0, graceful_timeout=grace)
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve)
        async with upgraded(served) as raw:
            await raw.send(call("hold"))
            await tools.entered.wait()
            served.stop()
            await _until_nobody_listens(served, pause=0)
            await trio.testing.wait_all_tasks_blocked()
            assert tools.cancelled == 0 or not grace
            mock_clock.jump(max(grace - 0.5, 0))
            # For the last half second it is told why, and may say that it has heard.
            assert await raw.close_code() == 1001
            assert tools.cancelled == 1
            mock_clock.jump(0.5)
            assert await raw.rest() == b""
            while nursery.child_tasks:  # noqa: ASYNC110 - it has no event for its end
                await trio.lowlevel.checkpoint()


async def test_cancelled_it_closes_all_connections_and_is_over_soon():
    tools = Tools()
    async with serving(tools) as (served, _):
        pass
    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            serve = partial(serve_websocket, tools.mcp, "127.0.0.1", 0, graceful_timeout=60)
            served = await nursery.start(serve)
            async with upgraded(served), connected(served), Client(served.url) as client:
                nursery.start_soon(_expect_lost, client)
                await tools.entered.wait()
                nursery.cancel_scope.cancel()
    assert tools.cancelled == 1


async def test_half_a_request_does_not_hold_up_the_end():
    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            served = await nursery.start(
                partial(serve_websocket, Tools().mcp, "127.0.0.1", 0, graceful_timeout=60)
            )
            async with connected(served) as raw:
                await raw.send(b"GET /mcp HTTP/1.1\r\n")
                await trio.sleep(0.05)
                served.stop()
                assert await raw.rest() == b""


async def test_stream_of_notifications_ends_in_good_order():
    tools = Tools()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_websocket, tools.mcp, "127.0.0.1", 0)
        async with (
            Client(served.url) as client,
            client.listen(tools_list_changed=True) as changes,
        ):
            served.stop()
            assert [each async for each in changes] == []


async def _until_nobody_listens(served: Any, pause: float = 0.005) -> None:
    while True:
        try:
            await (await trio.open_tcp_stream("127.0.0.1", _port(served))).aclose()
        except OSError:
            return
        await trio.sleep(pause)


def _port(served: Any) -> int:
    return int(served.url.rpartition(":")[2].partition("/")[0])


async def _stop_when_entered(tools: Tools, served: Any) -> None:
    await tools.entered.wait()
    served.stop()


async def _expect_lost(client: Client) -> None:
    with pytest.raises(ConnectionLost):
        await client.call_tool("hold", {})
