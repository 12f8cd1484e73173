"""What the head of a request says of its target, its body and what is to follow."""

from __future__ import annotations

import h2.events
import pytest

from trio_mcp import MCPServer
from trio_mcp.transports.http._headers import Headers

from ._serving import connected, connected_http2, make_certificate, serving


class Told:
    """An application that answers with what it was told of the request."""

    async def __call__(self, scope, receive, send):
        assert scope["type"] == "http"
        message = await receive()
        headers = scope["headers"]
        names = [name.decode() for name, _ in headers]
        hosts = [value.decode() for name, value in headers if name == b"host"]
        told = [scope["path"], scope["query_string"].decode(), *hosts, *names]
        body = " ".join(told).encode() + message["body"]
        length = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("http://real.example/mcp", "/mcp "),
        ("HTTPS://real.example/a/b?c=d", "/a/b c=d"),
        ("http://real.example", "/ "),
        ("http://real.example?c", "/ c"),
    ],
)
async def test_a_target_may_be_a_whole_url_which_says_the_host(target, path):
    async with serving(Told()) as (served, _), connected(served) as raw:
        await raw.send(f"GET {target} HTTP/1.1\r\nHost: other.example\r\n\r\n".encode())
        answer = await raw.until(b"host")
        assert f"\r\n\r\n{path} real.example host".encode() in answer


async def test_the_host_of_a_whole_url_is_the_one_that_is_checked():
    app = MCPServer("tests").streamable_http_app()
    async with serving(app) as (served, _), connected(served) as raw:
        await raw.send(b"GET http://evil.example/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert (await raw.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 421")


async def test_nothing_follows_a_body_of_which_two_lengths_are_told():
    async with serving(Told()) as (served, _), connected(served) as raw:
        await raw.send(
            b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"4\r\nbody\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        answer = await raw.rest()
        assert answer.count(b"HTTP/1.1 200") == 1
        assert b"connection: close\r\n" in answer
        # The one that does not count is not told.
        assert answer.endswith(b"/x  x host transfer-encodingbody")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Length": "9999999999"}, 413),
        ({"Host": "evil.example"}, 421),
        ({"Accept": "text/html"}, 406),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
async def test_a_body_that_is_refused_anyway_is_not_asked_for(headers, status):
    app = MCPServer("tests").streamable_http_app()
    given = {
        "Host": "127.0.0.1",
        "Accept": "*/*",
        "Content-Type": "application/json",
        "Content-Length": "2",
        "Expect": "100-continue",
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    async with serving(app) as (served, _), connected(served) as raw:
        await raw.send(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode())
        answer = await raw.until(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 %d" % status)
        assert b"connection: close\r\n" in answer


async def test_a_client_need_not_wait_until_its_body_is_asked_for():
    async with serving() as (served, app), connected(served) as raw:
        head = (
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
        )
        for body in (b"body", b"next"):
            await raw.send(head + body)
            await raw.until(b"HTTP/1.1 200")
            await raw.until(body)
        assert app.bodies == [b"body", b"next"]


async def test_a_body_is_asked_for_over_http2_as_well(tmp_path):
    tls = make_certificate(tmp_path) | {"http2": True}
    async with serving(**tls) as (served, app), connected_http2(served) as client:
        expect = (b"expect", b"100-continue")
        client.h2.send_headers(1, [*client.head(b"/echo", b"POST"), expect])
        client.h2.send_headers(3, [*client.head(b"/early", b"POST"), expect])
        await client.flush()
        await client.until(h2.events.InformationalResponseReceived, 1)
        client.h2.send_data(1, b"body", end_stream=True)
        await client.flush()
        await client.until(h2.events.StreamEnded, 1)
        assert app.bodies == [b"body"]
        # What is answered without its body is not asked for it.
        answer = await client.until(h2.events.ResponseReceived, 3)
        assert dict(answer.headers)[b":status"] == b"413"
        kinds = [type(each) for each in client.seen]
        assert h2.events.InformationalResponseReceived not in kinds


def test_a_header_that_comes_many_times_is_read_in_one_pass():
    count = 200_000
    headers = Headers([(b"a", b"%d" % number) for number in range(count)])
    assert headers.all("A") == tuple(str(number) for number in range(count))
