"""One connection cannot harm another, whatever its client does."""

from __future__ import annotations

import logging
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest
import trio
from trio_websocket import connect_websocket_url

from tests._limits import SOON
from tests.transports.http._serving import make_certificate
from trio_mcp import Client
from trio_mcp.transports.websocket import _server_connection

from ._wire import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    Tools,
    address,
    bystander,
    call,
    connected,
    discover,
    frame,
    request,
    serving,
    text,
    until,
    upgraded,
)

CONTINUATION = 0


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(frame(BINARY, b"{}"), 1003, id="binary"),
        pytest.param(frame(BINARY), 1003, id="binary and empty"),
        pytest.param(frame(TEXT, b"x" * 2000), 1009, id="too long"),
        pytest.param(b"\x81\xff" + (2**62).to_bytes(8) + b"\0\0\0\0", 1009, id="endless"),
        pytest.param(
            frame(TEXT, b"x" * 900, fin=False) + frame(CONTINUATION, b"x" * 900), 1009, id="parts"
        ),
        pytest.param(
            frame(TEXT, fin=False) + frame(CONTINUATION, fin=False) * 20_000, 1009, id="no end"
        ),
        pytest.param(frame(TEXT, b"\xff"), 1007, id="no UTF-8"),
        pytest.param(frame(TEXT, b"\xc3", fin=True), 1007, id="half a character"),
        pytest.param(frame(TEXT, b"\xed\xa0\x80"), 1007, id="a surrogate"),
        pytest.param(frame(TEXT, b"{}", mask=False), 1002, id="no mask"),
        pytest.param(b"\xc1\x80\0\0\0\0", 1002, id="a reserved bit"),
        pytest.param(frame(5), 1002, id="a reserved opcode"),
        pytest.param(frame(11), 1002, id="a reserved control opcode"),
        pytest.param(frame(CONTINUATION, b"x"), 1002, id="a part of nothing"),
        pytest.param(frame(TEXT, b"x", fin=False) + frame(TEXT, b"x"), 1002, id="in between"),
        pytest.param(frame(PING, b"x" * 126), 1002, id="a long ping"),
        pytest.param(frame(PING, fin=False), 1002, id="half a ping"),
        pytest.param(b"\x81\xfe\x00\x01\0\0\0\0x", 1002, id="a length that is too long"),
    ],
)
async def test_what_is_not_taken_ends_its_connection_with_the_code_for_that(sent, code, caplog):
    caplog.set_level(logging.INFO, "trio_mcp.websocket")
    async with (
        serving(max_message_size=1000) as (served, _),
        bystander(served),
        upgraded(served) as raw,
    ):
        # What came before it is answered, or at least does no harm.
        await raw.send(discover() + sent)
        assert await raw.close_code() == code
        await raw.send(frame(CLOSE, code.to_bytes(2)))
        assert await raw.rest() == b""
    [told] = caplog.messages
    assert told.startswith("GET /mcp: Connection closed: the client sent ")
    assert told.endswith(f"(code {code})")


@pytest.mark.parametrize("sent", [b"", discover(), discover()[:20]])
async def test_client_that_ends_without_a_closing_handshake_is_told_so(sent):
    async with serving() as (served, _), upgraded(served) as raw:
        await raw.send(sent)
        assert isinstance(raw.stream, trio.SocketStream)
        await raw.stream.send_eof()
        # Not 1001: the server does not go away.
        assert await raw.close_code() == 1002
        assert await raw.rest() == b""


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (text(b""), -32700),
        (text(b"{"), -32700),
        (text(b"\xef\xbb\xbf{"), -32700),
        (text(b"[]"), -32600),
        (text(b"null"), -32600),
        (text({"jsonrpc": "1.0", "id": 1, "method": "ping"}), -32600),
        (text(b"[" * 200), -32700),
    ],
)
async def test_text_that_is_no_message_is_answered_and_the_session_goes_on(sent, error):
    async with serving() as (served, _), upgraded(served) as raw:
        await raw.send(sent)
        assert (await raw.message())["error"]["code"] == error
        await raw.send(discover(7))
        assert (await raw.message())["id"] == 7


@pytest.mark.parametrize("size", [1, 3, 50])
async def test_frames_that_come_in_pieces(size):
    async with serving() as (served, _), upgraded(served) as raw:
        sent = frame(PING, b"?") + discover(1)
        for start in range(0, len(sent), size):
            await raw.send(sent[start : start + size])
        assert await raw.frame() == (PONG, b"?")
        assert (await raw.message())["id"] == 1


@pytest.mark.parametrize("count", [1, 8])
async def test_empty_lines_before_the_request_are_ignored(count):
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(b"\r\n" * count + request(served.url) + discover(1))
        assert b"101" in await raw.head()
        assert (await raw.message())["id"] == 1


async def test_message_in_parts_with_a_ping_between_them():
    async with serving() as (served, _), upgraded(served) as raw:
        payload = discover(1)[8:]
        await raw.send(frame(TEXT, payload[:50], fin=False))
        await raw.send(frame(PING, b"?") + frame(CONTINUATION, payload[50:]))
        assert await raw.frame() == (PONG, b"?")
        assert (await raw.message())["id"] == 1


async def test_frames_behind_the_request_are_not_lost():
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(request(served.url) + discover(1) + discover(2)[:20])
        assert b"101" in await raw.head()
        assert (await raw.message())["id"] == 1
        await raw.send(discover(2)[20:])
        assert (await raw.message())["id"] == 2


@pytest.mark.parametrize("sent", [b"", b"G", b"GET /mcp HTTP/1.1\r\nHost: x\r\n"])
async def test_head_that_does_not_come_is_given_up(sent):
    async with (
        serving(head_timeout=0.2) as (served, _),
        bystander(served),
        connected(served) as raw,
    ):
        await raw.send(sent)
        with trio.fail_after(SOON):
            assert b"408" in await raw.head()
            await raw.rest()


async def test_head_that_comes_byte_by_byte_is_given_up():
    async with (
        serving(head_timeout=0.2) as (served, _),
        bystander(served),
        connected(served) as raw,
    ):
        with trio.fail_after(SOON):
            await raw.send_for_ever(b"X", pause=0.02)


async def test_client_that_goes_cancels_its_handlers():
    async with serving() as (served, tools), bystander(served):
        for reset in (False, True):
            async with upgraded(served) as raw:
                await raw.send(call("hold"))
                await until(lambda: tools.running == 1)
                if reset:
                    raw.stream.socket.setsockopt(  # type: ignore[attr-defined]
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )
            await until(lambda: tools.running == 0)
        assert tools.cancelled == 2


@pytest.mark.parametrize("payload", [b"", b"\x03\xe8", b"\x03\xe9bye", b"\x0f\xa0own"])
async def test_client_that_closes_is_answered_and_its_handlers_are_cancelled(payload):
    async with serving() as (served, tools), upgraded(served) as raw:
        await raw.send(call("hold"))
        await until(lambda: tools.running == 1)
        await raw.send(frame(CLOSE, payload))
        opcode, said = await raw.frame()
        assert opcode == CLOSE
        assert said[:2] == payload[:2]
        assert await raw.rest() == b""
        await until(lambda: tools.cancelled == 1)


@pytest.mark.parametrize(
    "payload", [b"\x03", b"\x00\x01", b"\x03\xed", b"\x0b\xb7\xff", b"\x03\xe8\xff"]
)
async def test_closing_frame_that_is_none_ends_the_connection_all_the_same(payload):
    async with serving() as (served, _), bystander(served), upgraded(served) as raw:
        await raw.send(frame(CLOSE, payload))
        assert await raw.close_code() in {1002, 1007}
        assert await raw.rest() == b""


async def test_client_that_is_silent_is_given_up(caplog):
    caplog.set_level(logging.INFO, "trio_mcp.websocket")
    async with (
        serving(ping_interval=0.1, ping_timeout=0.2) as (served, tools),
        upgraded(served) as raw,
    ):
        await raw.send(call("hold"))
        await until(lambda: tools.cancelled == 1)
        assert (await raw.frame())[0] == PING
        await until(lambda: bool(caplog.messages))
    assert caplog.messages == [
        "GET /mcp: Connection closed: the client was silent for 0.2 s (code 1006)"
    ]


async def test_client_that_answers_pings_is_kept():
    async with (
        serving(ping_interval=0.1, ping_timeout=0.2) as (served, tools),
        upgraded(served) as raw,
    ):
        await raw.send(call("hold"))
        for _ in range(5):
            opcode, payload = await raw.frame()
            assert opcode == PING
            await raw.send(frame(PONG, payload))
        assert tools.cancelled == 0


async def test_client_that_sends_something_else_than_a_pong_is_kept():
    async with (
        serving(ping_interval=0.1, ping_timeout=0.2) as (served, _),
        upgraded(served) as raw,
    ):
        for number in range(8):
            await raw.send(discover(number + 1))
            await trio.sleep(0.1)
        await raw.send(frame(CLOSE))
        assert b"\x88" in await raw.rest()


async def test_client_that_does_not_read_is_given_up_and_slows_nobody_down(caplog):
    caplog.set_level(logging.INFO, "trio_mcp.websocket")
    async with (
        serving(write_timeout=0.3, max_message_size=2**24) as (served, _),
        bystander(served) as other,
        upgraded(served) as raw,
    ):
        big = call("echo", text="x" * 10_000_000)
        await raw.send(big)
        await raw.send(big)
        with trio.fail_after(5):
            await other.send(discover(5))
            assert (await other.message())["id"] == 5
            await raw.send_for_ever(frame(PONG), pause=0.01)
        told = "GET /mcp: Connection closed: the client read nothing for 0.3 s (code 1006)"
        await until(lambda: caplog.messages == [told])


async def test_flood_of_pings_that_nobody_reads_the_answers_to_is_given_up():
    async with (
        serving(write_timeout=0.3) as (served, _),
        bystander(served),
        upgraded(served) as raw,
    ):
        with trio.fail_after(8):
            await raw.send_for_ever(frame(PING, b"x" * 125) * 1000)


async def test_more_connections_than_there_may_be_are_closed():
    async with serving(max_connections=2) as (served, _), upgraded(served):
        async with upgraded(served), connected(served) as raw:
            assert await raw.rest() == b""
        await until_served(served)


async def until_served(served: Any) -> None:
    while True:
        async with connected(served) as raw:
            try:
                await raw.send(request(served.url))
                if b"101" in await raw.head():
                    return
            except trio.BrokenResourceError:
                pass
        await trio.sleep(0.01)


@pytest.mark.parametrize("sent", [b"", b"\x16\x03", b"GET /mcp HTTP/1.1\r\n\r\n"])
async def test_tls_that_does_not_begin_is_given_up(tmp_path, sent):
    files = make_certificate(tmp_path)
    async with serving(head_timeout=0.2, **files) as (served, _), connected(served) as raw:
        with trio.fail_after(SOON):
            await raw.send(sent)
            await raw.rest()


async def test_nothing_is_left_of_clients_that_are_gone():
    async with serving() as (served, tools), bystander(served):
        before = tasks_and_descriptors()
        for number in range(20):
            async with upgraded(served) as raw:
                await raw.send(call("hold") if number % 2 else discover())
                if number % 3:
                    await raw.send(frame(CLOSE))
                    await raw.rest()
            async with Client(served.url) as client:
                with trio.move_on_after(0.01):
                    await client.call_tool("hold", {})
        await until(lambda: tasks_and_descriptors() == before)
        assert tools.running == 0


def tasks_and_descriptors() -> tuple[int, int]:
    root = trio.lowlevel.current_root_task()
    assert root is not None
    found, waiting = 0, [root]
    while waiting:
        task = waiting.pop()
        found += 1
        for nursery in task.child_nurseries:
            waiting += nursery.child_tasks
    folder = Path("/proc/self/fd")
    return found, len(list(folder.iterdir())) if folder.exists() else 0


async def test_many_idle_connections_and_a_call():
    async with serving() as (served, _), trio.open_nursery() as nursery:
        streams = []

        async def idle() -> None:
            streams.append(await trio.open_tcp_stream(*address(served.url)))

        for _ in range(300):
            nursery.start_soon(idle)
        await until(lambda: len(streams) == 300)
        async with Client(served.url) as client:
            assert not (await client.call_tool("echo", {"text": "hi"})).is_error
        for stream in streams:
            await stream.aclose()


async def test_defect_of_this_package_ends_one_connection_with_1011(monkeypatch, caplog):
    class Defect(Exception):
        pass

    async with serving() as (served, _), bystander(served):
        with monkeypatch.context() as patch:

            def fail(*args: Any, **kwargs: Any) -> Any:
                raise Defect("SECRET")

            patch.setattr(_server_connection, "open_peer", fail)
            async with upgraded(served) as raw:
                opcode, payload = await raw.frame()
                assert (opcode, payload[:2]) == (CLOSE, (1011).to_bytes(2))
                assert b"SECRET" not in payload
        await until(lambda: "A connection failed" in caplog.text)


async def test_whatever_the_library_raises_ends_one_connection(monkeypatch, caplog):
    from trio_websocket import WebSocketConnection

    caplog.set_level(logging.DEBUG, "trio_mcp.websocket")

    async def fail(self: Any, event: Any) -> None:
        raise ZeroDivisionError("a defect")

    async with serving() as (served, _), bystander(served):
        with monkeypatch.context() as patch:
            patch.setattr(WebSocketConnection, "_handle_ping_event", fail)
            async with upgraded(served) as raw:
                await raw.send(frame(PING))
                assert await raw.close_code() == 1011
    assert "ZeroDivisionError: a defect" in caplog.text


async def test_client_that_pings_while_it_is_closed_harms_nobody():
    tools = Tools()
    async with serving(tools) as (served, _), bystander(served), upgraded(served) as raw:
        await raw.send(frame(CLOSE) + frame(PING) * 10 + frame(TEXT, b"x"))
        assert await raw.frame() == (CLOSE, b"")


async def test_another_library_can_be_the_client():
    async with serving() as (served, _), trio.open_nursery() as nursery:
        connection = await connect_websocket_url(nursery, served.url, subprotocols=["mcp"])
        assert connection.subprotocol == "mcp"
        await connection.send_message(discover(1)[8:].decode())
        assert '"id":1' in await connection.get_message()
        await connection.ping()
        await connection.aclose()


async def test_event_loop_that_was_held_up_does_not_lose_clients():
    async with (
        serving(ping_interval=0.1, ping_timeout=0.2) as (served, _),
        Client(served.url) as client,
    ):
        for _ in range(3):
            await trio.sleep(0.15)
            time.sleep(0.5)  # noqa: ASYNC251 - the loop is held up
            await trio.sleep(0.05)
        assert not (await client.call_tool("echo", {"text": "hi"})).is_error
