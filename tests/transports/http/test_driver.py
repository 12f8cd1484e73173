"""One connection cannot harm another, whatever its client does."""

from __future__ import annotations

import logging
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import h2.errors
import h2.events
import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp.transports.http._serve import ServeOptions

from ._serving import (
    App,
    bystander,
    connected,
    connected_http2,
    make_certificate,
    serving,
    until,
    untrusting_context,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

GET = "GET /echo HTTP/1.1\r\nHost: x\r\n"
WEBSOCKET = (
    GET + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


async def assert_serves(served: Any) -> None:
    async with connected(served) as raw:
        await raw.get("/echo", body=b"still here")
        assert b"still here" in await raw.until(b"still here")


# What ends the whole server under hypercorn's own driver


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(WEBSOCKET.encode() + b"\r\n\x00", id="websocket with a byte behind it"),
        pytest.param(
            WEBSOCKET.encode() + b"Sec-WebSocket-Protocol: caf\xe9\r\n\r\n",
            id="websocket with a subprotocol that is not ASCII",
        ),
        pytest.param(
            WEBSOCKET.encode() + b"Sec-WebSocket-Extensions: caf\xe9\r\n\r\n",
            id="websocket with an extension that is not ASCII",
        ),
        pytest.param(
            GET.encode() + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: !!!\r\n\r\n",
            id="h2c with settings that are no Base64",
        ),
        pytest.param(
            GET.encode() + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
            id="h2c in good order",
        ),
    ],
)
async def test_upgrade_is_not_taken_and_harms_nobody(sent):
    async with serving() as (served, app), bystander(served, app):
        async with connected(served) as raw:
            await raw.send(sent)
            head = await raw.until(b"\r\n\r\n")
            # It is a plain request: the application decides.
            assert head.startswith(b"HTTP/1.1 200")
        await assert_serves(served)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"505", id="the preface of HTTP/2"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"400", id="TLS"),
        pytest.param(b"nonsense\r\n\r\n", b"400", id="no request"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", b"400", id="no Host"),
        pytest.param(b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"400", id="path not ASCII"),
        pytest.param(b"G\xc9T / HTTP/1.1\r\nHost: x\r\n\r\n", b"400", id="method not ASCII"),
        pytest.param(GET.encode() + b"X: " + b"x" * 100_000, b"431", id="an endless head"),
        pytest.param(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
            b"400",
            id="a length that is no number",
        ),
    ],
)
async def test_what_is_no_request_is_refused_and_harms_nobody(sent, status):
    async with serving() as (served, app), bystander(served, app):
        async with connected(served) as raw:
            await raw.send(sent)
            assert (await raw.rest()).startswith(b"HTTP/1.1 " + status)
        await assert_serves(served)


async def test_broken_chunk_ends_the_connection_and_tells_the_application():
    async with serving() as (served, app), bystander(served, app):
        async with connected(served) as raw:
            await raw.send(
                b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"
            )
            assert b"400" in await raw.rest()
        await until(lambda: app.disconnects == 1)


async def test_header_values_that_are_not_ascii_reach_the_application():
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(b"GET /echo HTTP/1.1\r\nHost: caf\xe9\r\nX: \xff\r\n\r\n")
        assert b"200" in await raw.until(b"\r\n\r\n")


async def test_whatever_hypercorn_raises_ends_one_connection(monkeypatch, caplog):
    from trio_mcp.transports.http._protocols import Http1

    async def fail(*args: Any) -> None:
        raise ZeroDivisionError("a defect")

    async with serving() as (served, app), bystander(served, app):
        with monkeypatch.context() as patch:
            patch.setattr(Http1, "_create_stream", fail)
            async with connected(served) as raw:
                await raw.get("/echo")
                assert await raw.rest() == b""
        await assert_serves(served)
    assert "dropped: ZeroDivisionError: a defect" in caplog.text


# The same over HTTP/2


@pytest.fixture
def tls(tmp_path: Path) -> dict[str, Any]:
    return {**make_certificate(tmp_path), "http2": True}


@asynccontextmanager
async def streams_that_live_on(served: Any, app: Any, client: Any) -> AsyncGenerator[None, None]:
    """Stream 1 of this connection, and of another one: both are to outlive what the block does."""
    async with connected_http2(served) as other:
        for each in (client, other):
            each.h2.send_headers(1, each.head(b"/events"), end_stream=True)
            await each.flush()
            await until_it_says(each, b"begin")
        yield
        app.tick.set()
        for each in (client, other):
            await until_it_says(each, b"tick")


async def until_it_says(client: Any, what: bytes) -> None:
    with trio.fail_after(5):
        while what not in (await client.until(h2.events.DataReceived, 1)).data:
            pass


async def test_data_behind_an_early_answer_stops_the_upload_alone(tls):
    async with (
        serving(**tls) as (served, app),
        connected_http2(served) as client,
        streams_that_live_on(served, app, client),
    ):
        client.h2.send_headers(3, client.head(b"/early", b"POST"))
        await client.flush()
        await client.until(h2.events.StreamEnded, 3)
        client.h2.send_data(3, b"x" * 1000)
        await client.flush()
        reset = await client.until(h2.events.StreamReset, 3)
        assert reset.error_code == h2.errors.ErrorCodes.NO_ERROR
        await assert_other_stream_lives(client)


async def assert_other_stream_lives(client: Any) -> None:
    client.h2.send_headers(101, client.head(b"/echo", b"POST"))
    client.h2.send_data(101, b"hello", end_stream=True)
    await client.flush()
    assert (await client.until(h2.events.DataReceived, 101)).data == b"hello"


@pytest.mark.parametrize(
    ("pseudo", "status"),
    [
        pytest.param({b":path": b"/caf\xe9"}, b"400", id="path not ASCII"),
        pytest.param({b":method": b"G\xc9T"}, b"400", id="method not ASCII"),
        pytest.param({b":method": b"CONNECT", b":path": None}, b"405", id="CONNECT"),
        pytest.param(
            {b":method": b"CONNECT", b":protocol": b"websocket"}, b"405", id="a WebSocket"
        ),
    ],
)
async def test_odd_head_is_answered_and_its_connection_goes_on(tls, pseudo, status):
    async with (
        serving(**tls) as (served, app),
        connected_http2(served) as client,
        streams_that_live_on(served, app, client),
    ):
        head = {**dict(client.head(b"/echo")), **pseudo}
        if pseudo.get(b":path", b"") is None:
            del head[b":scheme"]
        client.h2.send_headers(3, [(k, v) for k, v in head.items() if v is not None])
        client.h2.end_stream(3)
        await client.flush()
        answer = await client.until(h2.events.ResponseReceived, 3)
        assert dict(answer.headers)[b":status"] == status
        await assert_other_stream_lives(client)


async def test_two_thousand_priorities_are_ignored(tls):
    async with (
        serving(**tls) as (served, app),
        connected_http2(served) as client,
        streams_that_live_on(served, app, client),
    ):
        for number in range(2_000):
            client.h2.prioritize(2 * number + 101)
        await client.flush()
        client.h2.send_headers(4301, client.head(b"/echo"), end_stream=True)
        await client.flush()
        await client.until(h2.events.StreamEnded, 4301)


async def test_http2_garbage_harms_no_other_connection(tls):
    async with serving(**tls) as (served, _), connected_http2(served) as other:
        async with connected_http2(served) as client:
            # DATA on the stream that is the connection itself.
            await client.stream.send_all(bytes(9))
            with pytest.raises((AssertionError, trio.BrokenResourceError)):
                await client.until(h2.events.ResponseReceived)
        await assert_other_stream_lives(other)


@pytest.mark.parametrize("path", [b"/raise-after", b"/two-parts-cut"])
async def test_answer_that_breaks_off_resets_its_stream_alone(tls, path, caplog):
    class Cutting(App):
        async def two_parts_cut(self, scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async with serving(Cutting(), **tls) as (served, _), connected_http2(served) as client:
        client.h2.send_headers(1, client.head(path), end_stream=True)
        await client.flush()
        await client.until(h2.events.StreamReset, 1)
        await assert_other_stream_lives(client)
    assert "SECRET" in caplog.text or "returned without an answer" in caplog.text


async def test_http2_stream_that_is_reset_tells_its_application(tls):
    async with serving(**tls) as (served, app), connected_http2(served) as client:
        client.h2.send_headers(1, client.head(b"/hooked"), end_stream=True)
        await client.flush()
        await client.until(h2.events.DataReceived, 1)
        client.h2.reset_stream(1)
        await client.flush()
        await until(lambda: app.hook_calls == 2 and not app.running)
        await assert_other_stream_lives(client)


async def test_http2_stream_that_nobody_reads_is_given_up(tls):
    async with (
        serving(**tls, write_timeout=1) as (served, app),
        connected_http2(served) as client,
    ):
        client.h2.send_headers(1, client.head(b"/flood"), end_stream=True)
        await client.flush()
        # The windows are never opened again, and the connection is read.
        reset = await client.until(h2.events.StreamReset, 1)
        assert reset.error_code == h2.errors.ErrorCodes.CANCEL
        assert app.sent < 500_000
        app.release.set()
        await until(lambda: not app.running)


async def test_http2_stream_goes_on_when_its_client_reads_on(tls):
    async with serving(**tls) as (served, app), connected_http2(served) as client:
        client.h2.send_headers(1, client.head(b"/flood"), end_stream=True)
        await client.flush()
        received = 0
        while received < 1_000_000:
            data = await client.until(h2.events.DataReceived, 1)
            received += data.flow_controlled_length
            client.h2.acknowledge_received_data(data.flow_controlled_length, 1)
            await client.flush()
        app.release.set()


# Clients that are slow


async def test_client_that_does_not_read_is_cut_off_and_the_application_told():
    class Flooding(App):
        async def flood(self, scope: Any, receive: Any, send: Any) -> None:
            gone = trio.Event()
            scope["extensions"]["trio_mcp"]["disconnect"](gone.set)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while not gone.is_set():
                part = {"type": "http.response.body", "body": bytes(100_000), "more_body": True}
                await send(part)

    async with (
        serving(Flooding(), write_timeout=0.2) as (served, app),
        bystander(served, app),
        connected(served) as raw,
    ):
        await raw.get("/flood")
        await until(lambda: app.running == 2)
        await until(lambda: app.running == 1)


async def test_slow_head_is_refused_also_while_it_drips():
    async with (
        serving(head_timeout=0.3) as (served, app),
        bystander(served, app),
        connected(served) as raw,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(drip, raw, GET)
        assert (await raw.rest()).startswith(b"HTTP/1.1 408")
        nursery.cancel_scope.cancel()


async def drip(raw: Any, text: str) -> None:
    for character in text:
        try:
            await raw.send(character.encode())
        except trio.BrokenResourceError:
            return
        await trio.sleep(0.02)


async def test_connection_that_says_nothing_is_closed_without_a_word():
    async with serving(head_timeout=0.1) as (served, _), connected(served) as raw:
        assert await raw.rest() == b""


async def test_second_head_has_its_time_limit_too():
    async with serving(head_timeout=0.2) as (served, _), connected(served) as raw:
        await raw.get("/echo", body=b"first")
        await raw.until(b"first")
        await raw.send(b"GET /ec")
        assert (await raw.rest()).startswith(b"HTTP/1.1 408")


async def test_pause_between_requests_has_a_limit():
    async with serving(keep_alive_timeout=0.1) as (served, _), connected(served) as raw:
        await raw.get("/echo", body=b"first")
        await raw.until(b"first")
        assert await raw.rest() == b""


async def test_slow_body_is_refused_also_while_it_drips():
    async with serving(body_timeout=0.3) as (served, app), bystander(served, app):
        async with connected(served) as raw, trio.open_nursery() as nursery:
            await raw.send(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
            nursery.start_soon(drip, raw, "x" * 1000)
            assert (await raw.rest()).startswith(b"HTTP/1.1 408")
            nursery.cancel_scope.cancel()
        assert app.disconnects == 1


async def test_slow_body_over_http2_is_refused(tls):
    async with serving(**tls, body_timeout=0.2) as (served, app):
        async with connected_http2(served) as client:
            client.h2.send_headers(1, client.head(b"/echo", b"POST"))
            await client.flush()
            answer = await client.until(h2.events.ResponseReceived, 1)
            assert dict(answer.headers)[b":status"] == b"408"
            await assert_other_stream_lives(client)
        assert app.disconnects == 1


async def test_time_limits_do_not_touch_running_requests():
    limits = {"head_timeout": 0.05, "body_timeout": 0.05, "keep_alive_timeout": 0.05}
    async with serving(**limits) as (served, app), bystander(served, app):
        await trio.sleep(0.2)


async def test_body_that_nobody_receives_is_not_read_on():
    async with serving() as (served, app), connected(served) as raw:
        await raw.send(b"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n")
        sent = 0
        with trio.move_on_after(0.5):
            while True:
                await raw.send(bytes(100_000))
                sent += 100_000
        # Sockets and the queue take a few MiB.
        assert sent < 50_000_000
        assert app.running == 1


async def test_application_that_gives_up_sending_in_the_middle_cuts_the_connection():
    class Hasty(App):
        async def hasty(self, scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            part = {"type": "http.response.body", "body": bytes(99_999), "more_body": True}
            is_stuck = False
            while not is_stuck:
                with trio.move_on_after(0.5) as sending:
                    await send(part)
                is_stuck = sending.cancelled_caught
            await send({"type": "http.response.body", "body": b"behind a torn part"})

    async with (
        serving(Hasty()) as (served, app),
        bystander(served, app),
        connected(served) as raw,
    ):
        await raw.get("/hasty")
        await until(lambda: app.running == 2)
        await until(lambda: app.running == 1)
        assert b"behind a torn part" not in await raw.rest()


# Clients that leave


@pytest.mark.parametrize("path", ["/watched", "/hooked"])
async def test_client_that_leaves_is_noticed_at_once(path):
    async with serving() as (served, app), bystander(served, app):
        async with connected(served) as raw:
            await raw.get(path)
            await raw.until(b"begin\n\n")
        with trio.fail_after(SOON):
            await until(lambda: app.running == 1)
        assert app.disconnects + app.hook_calls == (1 if path == "/watched" else 2)


async def test_client_that_leaves_is_noticed_although_more_than_its_request_has_come():
    async with serving() as (served, app):
        async with connected(served) as raw:
            await raw.get("/watched")
            await raw.until(b"begin\n\n")
            await raw.get("/echo")
        with trio.fail_after(SOON):
            await until(lambda: app.disconnects == 1)


async def test_client_that_leaves_is_noticed_however_much_more_than_its_request_has_come():
    async with serving() as (served, app):
        async with connected(served) as raw:
            await raw.get("/watched")
            await raw.until(b"begin\n\n")
            # More than systems keep between two sockets, so it is read.
            await raw.get("/echo", body=bytes(10_000_000))
        with trio.fail_after(SOON):
            await until(lambda: app.disconnects == 1)


async def test_connection_with_too_much_behind_a_request_ends_after_it():
    async with serving() as (served, app), connected(served) as raw:
        await raw.get("/hold")
        await raw.get("/echo", body=bytes(10_000_000))
        await until(lambda: app.running == 1)
        app.release.set()
        answer = await raw.rest()
        assert answer.count(b"HTTP/1.1") == 1
        assert b"connection: close\r\n" in answer
        assert answer.endswith(b"held")
        assert app.bodies == []


async def test_disconnect_hook_is_silent_when_the_answer_was_complete():
    async with serving() as (served, app):
        async with connected(served) as raw:
            await raw.get("/hooked-echo", body=b"x")
            await raw.until(b"\r\n\r\nx")
        await until(lambda: not app.running)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert app.hook_calls == 0


async def test_application_that_ignores_disconnects_runs_on_and_sends_nowhere():
    async with serving(max_connections=1) as (served, app):
        async with connected(served) as raw:
            await raw.get("/events")
            await raw.until(b"begin\n\n")
        await until(lambda: app.running == 1)
        # It holds no connection any more.
        while True:
            async with connected(served) as raw:
                if b"next" in await try_echo(raw, b"next"):
                    break
        app.tick.set()
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert app.running == 1


# Keep-alive and pipelining


async def test_connection_carries_many_requests_in_order():
    async with serving() as (served, _), connected(served) as raw:
        for number in range(3):
            await raw.get("/echo", body=b"<%d>" % number)
        for number in range(3):
            await raw.until(b"<%d>" % number)


async def test_request_behind_another_waits_for_its_end():
    async with serving() as (served, app), connected(served) as raw:
        await raw.get("/hold")
        await raw.get("/echo", body=b"second")
        await until(lambda: app.running == 1)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert app.bodies == []
        app.release.set()
        before = await raw.until(b"second")
        assert b"held" in before


async def test_request_that_comes_in_pieces_behind_another_is_served_in_its_turn():
    async with serving() as (served, app), connected(served) as raw:
        await raw.get("/hold")
        await raw.send(b"POST /echo HTTP/1.1\r\n")
        await until(lambda: app.running == 1)
        await trio.testing.wait_all_tasks_blocked(0.01)
        await raw.send(b"Host: x\r\nContent-Length: 6\r\n\r\n123")
        await raw.send(b"456")
        await trio.testing.wait_all_tasks_blocked(0.01)
        app.release.set()
        assert b"held" in await raw.until(b"123456")


@pytest.mark.parametrize("extra", ["", "Connection: close\r\n"])
async def test_head_and_body_are_one_write(extra, monkeypatch):
    writes: list[bytes] = []

    async with serving() as (served, _), connected(served) as raw:
        assert isinstance(raw.stream, trio.SocketStream)
        kind = type(raw.stream.socket)
        send = kind.send

        async def record(sock: trio.socket.SocketType, data: bytes, flags: int = 0) -> int:
            sent = await send(sock, data, flags)
            if bytes(data).startswith(b"HTTP/1.1"):
                writes.append(bytes(data[:sent]))
            return sent

        monkeypatch.setattr(kind, "send", record)
        await raw.get("/echo", body=b"whole", extra=extra)
        await raw.until(b"whole")
    assert [write.count(b"whole") for write in writes] == [1]


@pytest.mark.parametrize("sent", ["with the head", "after the answer"])
async def test_early_answer_says_whether_the_connection_can_carry_another_request(sent):
    async with serving() as (served, _), connected(served) as raw:
        head = b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
        if sent == "with the head":
            await raw.send(head + b"body")
            assert b"connection: close" not in await raw.until(b"too big")
            await raw.get("/echo", body=b"another")
            assert (await raw.until(b"another")).startswith(b"HTTP/1.1 200")
        else:
            await raw.send(head)
            assert b"connection: close\r\n" in await raw.until(b"too big")
            await raw.send(b"body")
            assert await raw.rest() == b""


async def test_early_answer_reaches_a_client_that_still_sends():
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n")
        await raw.send(bytes(1_000_000))
        received = await raw.rest()
        assert received.startswith(b"HTTP/1.1 413")
        assert received.endswith(b"too big")


async def test_expected_continue_is_sent_when_the_body_is_wanted():
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        assert b"100" in await raw.until(b"\r\n\r\n")
        await raw.send(b"ok")
        await raw.until(b"\r\n\r\nok")


# Applications that fail


@pytest.mark.parametrize("path", ["/raise-before", "/raise-after-head", "/raise-group", "/silent"])
async def test_application_that_fails_before_its_answer_is_answered_for(path, caplog):
    async with serving() as (served, app), bystander(served, app):
        async with connected(served) as raw:
            await raw.get(path)
            received = await raw.rest()
        # Nothing was written yet, but the head: an answer that says 200 cannot be taken back.
        if path == "/raise-after-head":
            assert b"SECRET" not in received
        else:
            assert received.startswith(b"HTTP/1.1 500")
            assert received.endswith(b"\r\n\r\n")
        assert b"SECRET" not in received
    assert re.search("SECRET|returned without an answer", caplog.text)


async def test_application_that_fails_in_its_answer_cuts_the_connection(caplog):
    async with serving() as (served, app), bystander(served, app):
        async with connected(served) as raw:
            await raw.get("/raise-after")
            received = await raw.rest()
        assert b"part" in received
        assert not received.endswith(b"0\r\n\r\n")
        assert b"SECRET" not in received
    assert "SECRET-AFTER" in caplog.text


async def test_header_that_cannot_be_sent_is_the_applications_fault(caplog):
    async with serving() as (served, app), bystander(served, app), connected(served) as raw:
        await raw.get("/bad-header")
        assert (await raw.rest()).startswith(b"HTTP/1.1 500")
    assert "The application failed" in caplog.text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
async def test_what_ends_the_program_ends_the_server(kind):
    class Ending(App):
        async def end(self, scope: Any, receive: Any, send: Any) -> None:
            raise kind

    with pytest.RaisesGroup(kind, flatten_subgroups=True):
        async with serving(Ending()) as (served, _), connected(served) as raw:
            await raw.get("/end")
            await trio.sleep_forever()


# Many


async def test_thousand_idle_connections_are_held_and_a_new_one_served():
    pytest.importorskip("resource")
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3_000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("the limit for file descriptors is too low")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    streams: list[trio.SocketStream] = []
    try:
        async with serving() as (served, app), bystander(served, app):
            port = int(served.url.rpartition(":")[2])
            for _ in range(1_000):
                streams.append(await trio.open_tcp_stream("127.0.0.1", port))  # noqa: PERF401
            await assert_serves(served)
            for stream in streams[::100]:
                await stream.send_all(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
                assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
    finally:
        for stream in streams:
            stream.socket.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_connections_beyond_the_cap_are_closed_and_the_next_one_is_served(caplog):
    async with serving(max_connections=2) as (served, app), bystander(served, app):
        async with connected(served) as second:
            await second.get("/echo", body=b"ok")
            await second.until(b"\r\n\r\nok")
            for _ in range(3):
                async with connected(served) as third:
                    assert await third.rest() == b""
        with trio.fail_after(SOON):
            while True:
                async with connected(served) as raw:
                    if b"again" in await try_echo(raw, b"again"):
                        break
    refusals = [record for record in caplog.records if "more are refused" in record.message]
    assert len(refusals) >= 1
    assert refusals[0].levelno == logging.WARNING


async def try_echo(raw: Any, body: bytes) -> bytes:
    try:
        await raw.get("/echo", body=body, extra="Connection: close\r\n")
    except trio.BrokenResourceError:
        return b""
    received: bytes = await raw.rest()
    return received


def test_default_cap_leaves_connections_for_others():
    from trio_mcp.transports._connections import MAX_CONNECTIONS, max_connections

    assert 0 < max_connections() <= MAX_CONNECTIONS
    assert ServeOptions().max_connections is None


async def test_tls_without_a_handshake_is_closed_in_time(tmp_path):
    options = make_certificate(tmp_path)
    async with serving(**options, head_timeout=0.5) as (served, _):
        async with connected(served) as raw:
            assert await raw.rest() == b""
        async with connected(served) as raw:
            await raw.send(b"GET / HTTP/1.1\r\n\r\n")
            await raw.rest()
        tcp = await trio.open_tcp_stream("127.0.0.1", int(served.url.rpartition(":")[2]))
        stream = trio.SSLStream(tcp, untrusting_context(), https_compatible=True)
        async with stream:
            await stream.send_all(b"GET /scope HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"1.1 https" in await stream.receive_some()
