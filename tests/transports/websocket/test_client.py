"""The client's end: how a server is reached, and what is told when there is none any more."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from tests._limits import SOON
from tests.transports.http._serving import make_certificate, untrusting_context
from trio_mcp import Client, ConnectionLost, MCPError
from trio_mcp.client import (
    ClientSession,
    ClientSessionGroup,
    RestartPolicy,
    WebSocketServerParameters,
)
from trio_mcp.transports import serve_websocket, websocket_client
from trio_mcp.transports.websocket import _channel
from trio_mcp.types import JSONRPCNotification

from ._wire import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    Raw,
    accepted,
    frame,
    scripted,
    serving,
    until,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Protocol: mcp\r\n"

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def call(client: Client, text: str = "hi") -> Any:
    result = await client.call_tool("echo", {"text": text})
    assert result.structured_content is not None
    return result.structured_content["result"]


# In good order


@ERAS
@pytest.mark.req("R-077")
async def test_url_is_all_that_a_client_needs(mode):
    async with serving() as (served, _), Client(served.url, mode=mode) as client:
        assert await call(client) == "hi"


@ERAS
async def test_session_takes_the_two_ends(mode):
    async with (
        serving() as (served, _),
        websocket_client(served.url) as (read, write),
        ClientSession(read, write) as session,
    ):
        await (session.initialize() if mode == "legacy" else session.discover())
        assert len((await session.list_tools()).tools) == 4


async def test_long_messages_pass_in_both_directions():
    async with serving() as (served, _), Client(served.url) as client:
        long = "\u00e9" * 1_000_000
        assert await call(client, long) == long


async def test_many_calls_at_once():
    async with serving() as (served, _), Client(served.url) as client:
        answers = []

        async def ask(number: int) -> None:
            answers.append(await call(client, str(number)))

        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(ask, number)
        assert sorted(answers, key=int) == [str(number) for number in range(100)]


async def test_progress_comes_in_order_and_before_the_answer():
    async with serving() as (served, _), Client(served.url) as client:
        steps = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

        await client.call_tool("report", {}, progress_callback=note)
        assert steps == list(range(200))


@ERAS
async def test_cancelled_call_cancels_the_handler(mode):
    async with serving() as (served, tools), Client(served.url, mode=mode) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "hold", {})
            await tools.entered.wait()
            nursery.cancel_scope.cancel()
        await until(lambda: tools.cancelled == 1)
        assert await call(client) == "hi"


async def test_leaving_cancels_what_still_runs_and_takes_no_time(monkeypatch):
    monkeypatch.setattr(_channel, "CLOSE_TIMEOUT", 60)
    async with serving() as (served, tools):
        with trio.fail_after(SOON):
            async with Client(served.url) as client, trio.open_nursery() as nursery:
                nursery.start_soon(client.call_tool, "hold", {})
                await tools.entered.wait()
                nursery.cancel_scope.cancel()
            await until(lambda: tools.cancelled == 1)


async def test_defect_of_a_handler_is_an_answer_and_harms_nothing():
    async with serving() as (served, _), Client(served.url) as client:
        result = await client.call_tool("fail", {})
        assert result.is_error
        assert "SECRET" not in repr(result)
        assert await call(client) == "hi"


async def test_tls(tmp_path):
    files = make_certificate(tmp_path)
    context = ssl.create_default_context(cafile=files["certfile"])
    async with serving(**files) as (served, _):
        assert served.url.startswith("wss://127.0.0.1:")
        url = served.url.replace("127.0.0.1", "localhost")
        async with Client(websocket_client(url, ssl_context=context)) as client:
            assert await call(client, "x" * 300_000) == "x" * 300_000
        parameters = WebSocketServerParameters(url=served.url, ssl_context=untrusting_context())
        async with Client(parameters) as client:
            assert await call(client) == "hi"
        with pytest.raises(ConnectionLost, match="certificate verify failed"):
            async with Client(url):
                pass


async def test_group_takes_urls_and_parameters():
    async with serving() as (one, _), serving() as (two, _), ClientSessionGroup() as group:
        await group.connect_to_server(WebSocketServerParameters(url=one.url))
        async with Client(WebSocketServerParameters(url=two.url)) as client:
            assert await call(client) == "hi"
        assert "echo" in group.tools


async def test_headers_are_sent():
    heads = []

    async def script(raw: Raw) -> None:
        heads.append(await raw.head())

    async with scripted(script) as url:
        with pytest.raises(ConnectionLost):
            async with websocket_client(f"{url}?a=1", headers={"Authorization": "Bearer x"}):
                pass
    assert heads[0].startswith(b"GET /mcp?a=1 HTTP/1.1\r\n")
    assert b"Authorization: Bearer x\r\n" in heads[0]
    assert b"Sec-WebSocket-Protocol: mcp\r\n" in heads[0]
    host = url.partition("://")[2].partition("/")[0]
    assert f"Host: {host}\r\n".encode() in heads[0]


# No connection


@pytest.mark.parametrize(
    ("answer", "says", "status"),
    [
        (b"", "ended the connection", None),
        (b"nonsense\r\n\r\n", "does not speak HTTP", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "status 200, and no WebSocket 'hi'", 200),
        (b"HTTP/1.1 404 Not Found\r\n\r\nno such thing", "status 404.*no such thing", 404),
        (b"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n", "Bearer", 401),
        (b"HTTP/1.1 302 Found\r\nLocation: http://x/?SECRET\r\n\r\n", "leads to http://x/", 302),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 200_000, "status 200", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\ncut", "status 200", 200),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "does not speak HTTP", None),
        (
            SWITCHING + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
            "no WebSocket handshake: Sec-WebSocket-Accept is not that of this request",
            None,
        ),
        (
            SWITCHING + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            "no WebSocket handshake: Sec-WebSocket-Accept is missing",
            None,
        ),
        (SWITCHING + b"\r\n", "no WebSocket handshake: it does not say 'Upgrade: websocket'", None),
        (SWITCHING + b"X: " + b"x" * 100_000 + b"\r\n\r\n", "does not speak HTTP", None),
        (
            SWITCHING + b"Upgrade: \xff\r\nConnection: \xff\r\n\r\n",
            "no WebSocket handshake",
            None,
        ),
    ],
)  # fmt: skip
async def test_answer_that_is_no_upgrade_is_one_error_with_its_status(answer, says, status):
    async def script(raw: Raw) -> None:
        await raw.head()
        await raw.send(answer)

    async with scripted(script) as url:
        with pytest.raises(ConnectionLost, match=says) as caught:
            async with Client(url):
                pass
    assert caught.value.status == status
    assert "SECRET" not in str(caught.value)
    assert url in str(caught.value)


@pytest.mark.parametrize("subprotocol", [None, "chat", "caf\u00e9"])
async def test_server_has_to_agree_on_the_subprotocol(subprotocol):
    async def script(raw: Raw) -> None:
        head = await raw.head()
        await raw.send(accepted(head).replace(b"Protocol: mcp\r\n", b"Protocol: %s\r\n" % other))

    other = (subprotocol or "").encode()
    async with scripted(script) as url:
        with pytest.raises(ConnectionLost, match="no MCP server"):
            async with Client(url):
                pass


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (b"Sec-WebSocket-Protocol: mcp", "2 of Sec-WebSocket-Protocol"),
        (b"Sec-WebSocket-Extensions: permessage-deflate", "an extension .* 'permessage-deflate'"),
        (b"Sec-WebSocket-Extensions: caf\xe9", "an extension .* 'caf\u00e9'"),
        (b"Sec-WebSocket-Accept: x", "Sec-WebSocket-Accept is not that of this request"),
    ],
)
async def test_answer_that_says_too_much_is_told_by_what_it_says(more, says):
    async def script(raw: Raw) -> None:
        head = await raw.head()
        await raw.send(accepted(head).replace(b"\r\n\r\n", b"\r\n%s\r\n\r\n" % more))

    async with scripted(script) as url:
        with pytest.raises(ConnectionLost, match=f"no WebSocket handshake: .*{says}"):
            async with Client(url):
                pass


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 101", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
async def test_server_that_does_not_answer_is_given_up(says):
    async def script(raw: Raw) -> None:
        await raw.head()
        await raw.send(says)
        await raw.rest()

    async with scripted(script) as url:
        with trio.fail_after(SOON), pytest.raises(ConnectionLost, match="in time"):
            async with websocket_client(url, connect_timeout=0.2):
                pass


async def test_cancelled_while_it_waits_for_the_upgrade_it_leaves_nothing_open():
    ended = trio.Event()

    async def script(raw: Raw) -> None:
        await raw.head()
        await raw.rest()
        ended.set()

    async with scripted(script) as url:
        with trio.move_on_after(0.1) as scope:
            async with Client(url):
                pass
        assert scope.cancelled_caught
        await ended.wait()


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_early_hints_are_passed_over(times):
    async def script(raw: Raw) -> None:
        head = await raw.head()
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        await raw.send(times * hints + accepted(head))
        await raw.frame()

    async with scripted(script) as url, websocket_client(url):
        pass


async def test_message_that_comes_with_the_upgrade_is_not_lost():
    note = {"jsonrpc": "2.0", "method": "n"}

    async def script(raw: Raw) -> None:
        head = await raw.head()
        message = frame(1, b'{"jsonrpc":"2.0","method":"n"}', mask=False)
        await raw.send(accepted(head) + message)
        await raw.close_code()

    async with scripted(script) as url, websocket_client(url) as channel:
        (received,) = await channel.receive()
        assert received.method == note["method"]  # type: ignore[union-attr]


async def test_port_where_nobody_listens():
    with trio.socket.socket() as probe:
        await probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ConnectionLost, match=r"[Cc]onnection refused"):
        async with Client(f"ws://127.0.0.1:{port}/mcp"):
            pass


async def test_tls_where_there_is_none():
    async with serving() as (served, _):
        with pytest.raises(ConnectionLost, match="wss://"):
            async with Client(served.url.replace("ws:", "wss:")):
                pass


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"headers": {"Host": "x"}}, ValueError, "Host belongs to the opening handshake"),
        ({"headers": {"Sec-WebSocket-Protocol": "x"}}, ValueError, "belongs"),
        ({"headers": {"X": "a\r\nSECRET: b"}}, ValueError, "no header"),
        ({"headers": {"X Y": "SECRET"}}, ValueError, "no header"),
        ({"headers": {"X": "\u20ac"}}, ValueError, "no header"),
        ({"headers": {"X": 1}}, TypeError, r"headers\['X'\]"),
        ({"headers": "X: y"}, TypeError, "headers"),
        ({"ssl_context": True}, TypeError, "ssl_context"),
        ({"ssl_context": ssl.create_default_context()}, ValueError, "use wss://"),
        ({"max_message_size": 0}, ValueError, "max_message_size"),
        ({"connect_timeout": 0}, ValueError, "connect_timeout: expected a number above 0"),
        ({"write_timeout": 0}, ValueError, "write_timeout"),
        ({"ping_interval": 0}, ValueError, "ping_interval"),
        ({"ping_timeout": "1"}, TypeError, "ping_timeout"),
    ],
)
async def test_wrong_arguments_are_told_before_anything_is_opened(options, error, says):
    with pytest.raises(error, match=says) as caught:
        async with websocket_client("ws://127.0.0.1:1/", **options):
            pass
    assert "SECRET" not in str(caught.value)


# What ends it


@asynccontextmanager
async def waiting_call(script: Any, **options: Any) -> AsyncGenerator[list[ConnectionLost]]:
    """Have a call wait for a scripted server; gives the error that it ends with."""
    errors: list[ConnectionLost] = []

    async def upgrade(raw: Raw) -> None:
        await raw.send(accepted(await raw.head()))
        await raw.frame()
        await script(raw)

    async with (
        scripted(upgrade) as url,
        websocket_client(url, **options) as channel,
        ClientSession(channel, channel) as session,
    ):
        with trio.fail_after(5), pytest.raises(ConnectionLost) as caught:
            await session.initialize()
        errors.append(caught.value)
        with pytest.raises(ConnectionLost):
            await session.initialize()
    yield errors


def closing(code: int | None, reason: str = "") -> bytes:
    payload = b"" if code is None else code.to_bytes(2) + reason.encode()
    return frame(CLOSE, payload, mask=False)


@pytest.mark.parametrize(
    ("code", "reason"),
    [(1000, ""), (1001, "away"), (1011, "broken"), (1013, "later"), (4000, "own"), (None, "")],
)
async def test_code_that_the_server_closed_with_is_told_to_every_call(code, reason):
    async def script(raw: Raw) -> None:
        await raw.send(closing(code, reason))
        opcode, payload = await raw.frame()
        assert opcode == CLOSE
        assert payload[:2] == (b"" if code is None else code.to_bytes(2))

    async with waiting_call(script) as (error,):
        assert error.close_code == (1005 if code is None else code)
        assert reason in str(error)


async def test_server_that_dies_is_told_with_1006():
    async def script(raw: Raw) -> None:
        pass

    async with waiting_call(script) as (error,):
        assert error.close_code == 1006
        assert "without a closing handshake" in str(error)


async def test_connection_that_is_reset_is_told_with_1006():
    async def script(raw: Raw) -> None:
        import socket
        import struct

        assert isinstance(raw.stream, trio.SocketStream)
        raw.stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async with waiting_call(script) as (error,):
        assert error.close_code == 1006


@pytest.mark.parametrize(
    ("sent", "code", "says"),
    [
        (frame(BINARY, b"{}", mask=False), 1003, "a binary message"),
        (frame(1, b"x" * 2000, mask=False), 1009, "more than 1000 bytes"),
        (frame(1, b"\xff\xfe", mask=False), 1007, "frames that are none"),
        (frame(1, b"masked", mask=True), 1002, "masked"),
        (b"\xf1\x00", 1002, "Reserved bit"),
        (frame(3, b"", mask=False), 1002, "Invalid opcode"),
        (frame(0, b"", mask=False), 1002, "CONTINUATION"),
    ],
)
async def test_what_a_server_must_not_send_ends_it_with_the_code_for_that(sent, code, says):
    answered = []

    async def script(raw: Raw) -> None:
        await raw.send(sent)
        answered.append(await raw.close_code())

    async with waiting_call(script, max_message_size=1000) as (error,):
        assert error.close_code == code
        assert says in str(error)
        await until(lambda: answered == [code])


async def test_ping_of_the_server_is_answered_also_while_it_is_closed():
    ponged = []

    async def script(raw: Raw) -> None:
        await raw.send(accepted(await raw.head()))
        await raw.send(frame(PING, b"a", mask=False))
        ponged.append(await raw.frame())
        assert await raw.close_code() == 1000
        await raw.send(frame(PING, b"b", mask=False) * 5 + closing(1000))
        await raw.rest()

    async with scripted(script) as url, websocket_client(url):
        await until(lambda: ponged == [(PONG, b"a")])


async def test_server_that_is_silent_is_given_up():
    async def script(raw: Raw) -> None:
        await raw.rest()

    async with waiting_call(script, ping_interval=0.1, ping_timeout=0.2) as (error,):
        assert error.close_code == 1006
        assert "silent" in str(error)


async def test_server_that_answers_pings_is_not_given_up():
    pings = []

    async def script(raw: Raw) -> None:
        await raw.send(accepted(await raw.head()))
        while True:
            opcode, payload = await raw.frame()
            if opcode == CLOSE:
                await raw.send(closing(1000))
                return
            pings.append(payload)
            await raw.send(frame(PONG, payload, mask=False))

    async with (
        scripted(script) as url,
        websocket_client(url, ping_interval=0.1, ping_timeout=0.2) as channel,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(channel.receive)
        await until(lambda: len(pings) >= 5)
        nursery.cancel_scope.cancel()


async def test_server_that_does_not_read_is_given_up():
    async def script(raw: Raw) -> None:
        await raw.send(accepted(await raw.head()))
        await trio.sleep_forever()

    async with scripted(script) as url, websocket_client(url, write_timeout=0.2) as channel:
        note = JSONRPCNotification(method="n", params={"x": "y" * 20_000_000})
        with trio.fail_after(5), pytest.raises(trio.BrokenResourceError) as caught:
            await channel.send([note])
        assert isinstance(caught.value.__cause__, ConnectionLost)
        assert "read nothing" in str(caught.value.__cause__)


async def test_server_that_does_not_answer_the_close_is_left_in_a_second():
    async def script(raw: Raw) -> None:
        await raw.send(accepted(await raw.head()))
        await trio.sleep_forever()

    async with scripted(script) as url:
        async with websocket_client(url):
            began = trio.current_time()
        assert 1 <= trio.current_time() - began < SOON


async def test_cancelled_from_outside_it_is_left_in_good_order():
    codes = []

    async def script(raw: Raw) -> None:
        await raw.send(accepted(await raw.head()))
        codes.append(await raw.close_code())
        await raw.send(closing(1000))

    async with scripted(script) as url:
        with trio.CancelScope() as scope:
            async with websocket_client(url) as channel:
                scope.deadline = trio.current_time() + 0.1
                await channel.receive()
        assert scope.cancelled_caught
        await until(lambda: codes == [1000])


async def test_error_of_the_body_leaves_as_it_is():
    async with serving() as (served, _):
        with pytest.raises(KeyError):
            async with websocket_client(served.url):
                raise KeyError
        with pytest.raises(MCPError, match="Unknown tool"):
            async with Client(served.url) as client:
                await client.call_tool("nothing", {})


async def test_client_starts_anew_after_a_server_that_died():
    async with serving() as (first, tools):
        port = int(first.url.rpartition(":")[2].partition("/")[0])
        async with Client(first.url, restart=RestartPolicy()) as client:
            assert await call(client) == "hi"
            first.stop()
            async with trio.open_nursery() as nursery:
                serve = partial(serve_websocket, tools.mcp, "127.0.0.1", port)
                second = None
                while second is None:
                    try:
                        second = await nursery.start(serve)
                    except OSError:
                        await trio.sleep(0.02)
                while True:
                    try:
                        assert await call(client) == "hi"
                        break
                    except ConnectionLost:
                        await trio.sleep(0.02)
                nursery.cancel_scope.cancel()
