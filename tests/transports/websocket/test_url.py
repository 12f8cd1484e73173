from __future__ import annotations

import pytest

from trio_mcp import Client
from trio_mcp.transports.websocket._url import read_url


@pytest.mark.parametrize(
    ("url", "host", "port", "authority", "target"),
    [
        ("ws://example.com", "example.com", 80, "example.com", "/"),
        ("wss://example.com/mcp", "example.com", 443, "example.com", "/mcp"),
        ("WS://Example.com:8000/mcp/?a=1", "example.com", 8000, "Example.com:8000", "/mcp/?a=1"),
        ("ws://[::1]:8000/mcp", "::1", 8000, "[::1]:8000", "/mcp"),
        ("ws://example.com:0/mcp", "example.com", 0, "example.com:0", "/mcp"),
        ("ws://b\u00fccher.example/x", "b\u00fccher.example", 80, "xn--bcher-kva.example", "/x"),
    ],
)
def test_url_is_taken_apart(url, host, port, authority, target):
    read = read_url(url)
    assert (read.host, read.port, read.authority, read.target) == (host, port, authority, target)
    assert read.is_secure == url.startswith("wss")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://example.com", "expected ws://"),
        ("ws://", "expected ws://"),
        ("ws:///mcp", "expected ws://"),
        ("ws://example.com/#part", "fragment"),
        ("ws://me:SECRET@example.com/", "use a header"),
        ("ws://example.com/b\u00fccher", "percent-encoded"),
        ("ws://example.com/a b", "percent-encoded"),
        ("ws://" + "x" * 64 + ".example/", "looked up"),
        ("ws://example..com/", "looked up"),
        ("ws://example.com:99999/", "expected a port of at most 65535"),
        ("ws://example.com:http/", "expected a port of at most 65535"),
        ("ws://me:SECRET@example.com:99999/?SECRET", "expected a port of at most 65535"),
        ("ws://[::1/mcp", "expected ws://"),
        ("ws://example.com/\udcff", "expected ws://"),
        ("ws://example.com/a\tb", "expected ws://"),
    ],
)
def test_what_is_no_url_of_a_server_is_refused_before_anything_is_opened(url, says):
    with pytest.raises(ValueError, match=says) as caught:
        read_url(url)
    assert "SECRET" not in str(caught.value)
    if url.startswith("ws"):
        with pytest.raises(ValueError, match=says.replace("expected ws", ".* ws")):
            Client(url)


def test_query_is_not_shown():
    assert read_url("ws://example.com/mcp?token=SECRET").shown == "ws://example.com/mcp"
