"""Clients that read slowly, and applications that do not read: neither harms the other."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import h2.events
import pytest
import trio

from ._serving import (
    LARGE,
    App,
    connected_http2,
    make_certificate,
    serving,
    until,
    untrusting_context,
)

if TYPE_CHECKING:
    from pathlib import Path

PIECE = 64 * 1024
PAUSE = 0.04
WRITE_TIMEOUT = 1


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate")) | {"http2": True}


@pytest.mark.parametrize("encrypted", [False, True])
async def test_a_client_that_reads_slowly_and_steadily_gets_all(encrypted, tmp_path: Path):
    options = make_certificate(tmp_path) if encrypted else {}
    async with serving(App(), **options, write_timeout=WRITE_TIMEOUT) as (served, _):
        tcp = await trio.open_tcp_stream("127.0.0.1", int(served.url.rpartition(":")[2]))
        # So that it waits at the server, and not in the systems between.
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)
        stream: trio.abc.Stream = tcp
        if encrypted:
            context = untrusting_context()
            stream = trio.SSLStream(tcp, context, server_hostname="x", https_compatible=True)
        async with stream:
            await stream.send_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            began, received = trio.current_time(), 0
            while received < LARGE:
                data = await stream.receive_some(PIECE)
                assert data, f"cut after {received} bytes"
                received += len(data)
                await trio.sleep(PAUSE * len(data) / PIECE)
            assert trio.current_time() - began > 2 * WRITE_TIMEOUT


@pytest.mark.parametrize(
    ("ends", "encrypted"),
    [
        ("the pause that idle connections have", False),
        ("the pause that idle connections have", True),
        ("the server", False),
        ("the server", True),
        # TLS has no end of one direction alone.
        ("what the client says", False),
    ],
)
async def test_an_answer_that_is_read_late_is_not_cut_off_by_what_ends_idle_connections(
    encrypted, ends, tmp_path: Path
):
    options = make_certificate(tmp_path) if encrypted else {}
    async with serving(App(), **options, keep_alive_timeout=0.1) as (served, _):
        tcp = await trio.open_tcp_stream("127.0.0.1", int(served.url.rpartition(":")[2]))
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)
        stream: trio.abc.Stream = tcp
        if encrypted:
            context = untrusting_context()
            stream = trio.SSLStream(tcp, context, server_hostname="x", https_compatible=True)
        async with stream:
            await stream.send_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            # It is complete when its first part is written, and the systems between do not hold it.
            received = len(await stream.receive_some(PIECE))
            if ends == "the server":
                served.stop()
            elif ends == "what the client says":
                await tcp.send_eof()
            await trio.sleep(0.3)
            while data := await stream.receive_some(PIECE):
                received += len(data)
            # Then the connection ends as it would have.
            assert received > LARGE


async def test_an_http2_stream_that_is_read_slowly_and_steadily_is_not_given_up(tls):
    async with (
        serving(App(), **tls, write_timeout=WRITE_TIMEOUT) as (served, _),
        connected_http2(served) as client,
    ):
        client.h2.send_headers(1, client.head(b"/large"), end_stream=True)
        await client.flush()
        began, received = trio.current_time(), 0
        while received < LARGE:
            data = await client.until(h2.events.DataReceived, 1)
            received += len(data.data)
            client.h2.acknowledge_received_data(data.flow_controlled_length, 1)
            await client.flush()
            await trio.sleep(PAUSE * len(data.data) / PIECE)
        await client.until(h2.events.StreamEnded, 1)
        assert trio.current_time() - began > 2 * WRITE_TIMEOUT


async def test_a_body_that_nobody_reads_holds_up_no_other_http2_stream(tls):
    async with serving(App(), **tls) as (served, app), connected_http2(served) as client:
        client.h2.send_headers(1, client.head(b"/unread", b"POST"))
        await client.flush()
        sent = 0
        while client.h2.local_flow_control_window(1):
            size = min(client.h2.local_flow_control_window(1), 16_000)
            client.h2.send_data(1, bytes(size))
            sent += size
        await client.flush()
        assert 16_000 < sent < 1_000_000
        client.h2.send_headers(3, client.head(b"/echo", b"POST"))
        await client.flush()
        # All that the stream that is not read was sent is no part of what others may send.
        while client.h2.local_flow_control_window(3) < 16_000:
            await client.until(h2.events.WindowUpdated)
        client.h2.send_data(3, bytes(16_000), end_stream=True)
        await client.flush()
        await client.until(h2.events.StreamEnded, 3)
        assert app.bodies == [bytes(16_000)]


async def test_a_large_http2_body_is_taken_as_it_is_read(tls):
    async with (
        serving(App(), **tls) as (served, app),
        connected_http2(served) as client,
    ):
        client.h2.send_headers(1, client.head(b"/echo", b"POST"))
        await client.flush()
        left, sent = 300_000, 0
        while left:
            size = min(client.h2.local_flow_control_window(1), 200, left)
            if not size:
                await client.until(h2.events.WindowUpdated)
                continue
            # Padding counts for the window, too, and may be all that a frame holds.
            padding = min(size, 100)
            client.h2.send_data(1, bytes(size - padding), pad_length=padding - 1)
            left -= size
            sent += size - padding
            await client.flush()
        client.h2.end_stream(1)
        await client.flush()
        await until(lambda: app.bodies)
        assert len(app.bodies[0]) == sent > 0
