"""What is refused before an application is asked: told once, with the reason, and no more."""

from __future__ import annotations

import logging
from typing import Any

import h2.events
import pytest
import trio

from trio_mcp import MCPServer
from trio_mcp.transports.http._http1 import what_is_wrong

from ._serving import connected, connected_http2, make_certificate, serving, until

POST = b"POST /echo?token=SECRET HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
HTTP1 = [
    (b"POST /echo HTTP/1.1\r\n\r\n", "A request was refused with 400: Missing mandatory Host"),
    (POST + b"Content-Length: -2\r\n\r\n", "A request was refused with 400: bad Content-Length"),
    (CHUNKED + b"SECRET\r\n", "POST '/echo' was refused with 400: illegal chunk header"),
    (b"\x16\x03\x01\x02\0\x01\0\r\n\r\n", "A request was refused with 400: illegal request line"),
    (b"SECRET\r\n\r\n", "A request was refused with 400: illegal request line"),
    (b"GET /\xc3\xa4SECRET HTTP/1.1\r\nHost: x\r\n\r\n", "with 400: illegal request line"),
    (POST + b"Authorization : Bearer SECRET\r\n\r\n", "refused with 400: illegal header line"),
    (POST + b"X: " + b"SECRET" * 20_000, "A request was refused with 431: a head, or a line"),
    (POST + b"Transfer-Encoding: SECRET\r\n\r\n", "with 501: Only Transfer-Encoding: chunked"),
]


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate")) | {"http2": True}


def told(caplog: Any) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.INFO]


@pytest.mark.parametrize(("sent", "reason"), HTTP1, ids=lambda each: repr(each)[:60])
async def test_what_is_no_request_is_told_with_its_reason(sent: bytes, reason: str, caplog: Any):
    caplog.set_level(logging.INFO)
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(sent)
        assert (await raw.rest()).startswith(b"HTTP/1.1 ")
    (line,) = told(caplog)
    assert reason in line
    assert "SECRET" not in line
    assert len(line) < 200


async def test_what_breaks_a_request_that_is_being_answered_is_told(caplog: Any):
    caplog.set_level(logging.INFO)
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(CHUNKED.replace(b"/echo", b"/watched") + b"1\r\na\r\n")
        await raw.until(b"begin\n\n")
        await raw.send(b"SECRET\r\n")
        await raw.rest()
    assert told(caplog) == ["The connection of POST '/watched' was ended: illegal chunk header"]


@pytest.mark.parametrize("sent", [b"", b"GET /ec", CHUNKED, CHUNKED + b"1\r\na\r\n"])
async def test_that_a_client_has_gone_is_no_refusal(sent: bytes, caplog: Any):
    caplog.set_level(logging.DEBUG, "trio_mcp.http")
    async with serving() as (served, app):
        async with connected(served) as raw:
            await raw.send(sent)
            if b"chunked" in sent:
                await until(lambda: app.running)
        await until(lambda: not app.running and no_connections())
    assert told(caplog) == []


def no_connections() -> bool:
    """Whether no task of a connection runs."""
    task = trio.lowlevel.current_root_task()
    assert task is not None
    names, tasks = [], [task]
    while tasks:
        children = [
            each for nursery in tasks.pop().child_nurseries for each in nursery.child_tasks
        ]
        names += [each.name for each in children]
        tasks += children
    return not any("_run_handler" in each for each in names)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (
            [(b":method", b"CONNECT"), (b":authority", b"x")],
            "CONNECT '' was refused with 405: this is no proxy",
        ),
        (
            [
                (b":method", b"GET"),
                (b":scheme", b"https"),
                (b":authority", b"x"),
                (b":path", b"/\xff?token=SECRET"),
            ],
            "GET '/\\\\xff' was refused with 400: its path or its method is not ASCII",
        ),
    ],
)
async def test_what_is_no_request_over_http2_is_told(head, reason, tls, caplog: Any):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with serving(**tls) as (served, _), connected_http2(served) as client:
        client.h2.send_headers(1, head, end_stream=True)
        await client.flush()
        await client.until(h2.events.ResponseReceived, 1)
    assert told(caplog) == [reason]


@pytest.mark.parametrize(
    "field", [(b"authorization", b" SECRET"), (b"SECRET", b"x"), (b":path", b"/SECRET")]
)
async def test_what_ends_a_connection_of_http2_is_told(field, tls, caplog: Any):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with serving(**tls) as (served, _), connected_http2(served) as client:
        head = client.head(b"/echo")
        head.insert(4 if field[0] != b":path" else 3, field)
        client.h2.send_headers(1, head, end_stream=True)
        await client.flush()
        await until(lambda: told(caplog))
        await until(no_connections)
    (line,) = told(caplog)
    assert line.startswith("A connection was ended: HTTP/2: ")
    assert "SECRET" not in line


def test_of_what_is_wrong_only_the_names_of_protocols_are_shown():
    shown = {
        "illegal header line: bytearray(b'A : SECRET')": "illegal header line",
        "malformed chunk footer: b\"SECRET'\" (expected b'\\r\\n')": "malformed chunk footer",
        "Received header value surrounded by whitespace b' SECRET'": "Received header value "
        "surrounded by whitespace",
        "Received duplicate pseudo-header field b':path'": "Received duplicate pseudo-header "
        "field b':path'",
        "Missing mandatory Host: header": "Missing mandatory Host: header",
    }
    assert {text: what_is_wrong(ValueError(text)) for text in shown} == shown


async def test_what_is_no_tls_is_told(tls, caplog: Any):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with serving(**tls) as (served, _), connected(served) as raw:
        await raw.send(POST + b"\r\n")
        await raw.rest()
    assert told(caplog) == ["A connection was refused: TLS: HTTP_REQUEST"]


async def test_a_handshake_of_tls_that_does_not_come_is_told(tls, caplog: Any):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with serving(**tls, head_timeout=0.05) as (served, _), connected(served) as raw:
        await raw.rest()
    assert told(caplog) == ["A connection was refused: the handshake of TLS took too long"]


async def test_who_only_looks_whether_tls_is_served_is_not_told_of(tls, caplog: Any):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with serving(**tls) as (served, _):
        async with connected(served):
            pass
        await until(no_connections)
    assert told(caplog) == []


async def test_a_method_that_a_custom_route_does_not_have_is_told(caplog: Any):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    mcp = MCPServer("x")

    @mcp.custom_route("/health", ["GET"])
    async def health(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it is not called")

    async with serving(mcp.streamable_http_app()) as (served, _), connected(served) as raw:
        await raw.get("/health?token=SECRET", body=b"")
        await raw.until(b"405")
    assert "POST '/health' was refused with 405: allowed: GET, HEAD" in told(caplog)
