from __future__ import annotations

import pytest

from trio_mcp import Client, ClientSessionGroup
from trio_mcp.client import SseServerParameters, StreamableHttpParameters
from trio_mcp.transports import sse_client, streamable_http_client

NO_URLS = {
    "ws://example.com/mcp": "expected http://host/path",
    "http:///mcp": "expected http://host/path",
    "http://[::1/mcp": "expected http://host/path",
    "http://example.com/\udcff": "expected http://host/path",
    "http://example.com/a\nb": "expected http://host/path",
    " http://example.com/": "expected http://host/path",
    "http://example.com:99999/": "expected a port of at most 65535",
    "http://me:SECRET@example.com:http/?SECRET#SECRET": "expected a port of at most 65535",
    "http://example..com/": "expected a host that can be looked up, got 'example..com'",
    f"http://{'x' * 64}.com/": "expected a host that can be looked up",
}


@pytest.mark.parametrize("open_transport", [streamable_http_client, sse_client])
@pytest.mark.parametrize(("url", "says"), NO_URLS.items())
async def test_what_is_no_url_of_a_server_is_refused_before_anything_is_opened(
    url, says, open_transport
):
    with pytest.raises(ValueError, match=says) as caught:
        async with open_transport(url):
            pass
    assert "SECRET" not in str(caught.value)
    assert not isinstance(caught.value, UnicodeError)


@pytest.mark.parametrize("url", [url for url in NO_URLS if "ws:" not in url])
def test_client_refuses_it_when_it_is_made(url):
    with pytest.raises(ValueError, match="expect") as caught:
        Client(url)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("parameters", [StreamableHttpParameters, SseServerParameters])
async def test_parameters_for_http_lead_nowhere_else(parameters):
    async with ClientSessionGroup() as group:
        with pytest.raises(ValueError, match=r"^url: expected http://host/path or https://…, got"):
            await group.connect_to_server(parameters(url="ws://127.0.0.1:1/mcp"))
