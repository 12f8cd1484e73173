"""Over a WebSocket the request that opens the connection brings the token."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace

import pytest
import trio

from tests.transports.websocket._wire import (
    address,
    connected,
    request,
    text,
)
from trio_mcp.transports import serve_websocket
from trio_mcp.transports.http import _guard

from ._protected import METADATA_URL, URL, Verifier, make_server, token


@asynccontextmanager
async def serving(mcp):
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve_websocket, mcp, "127.0.0.1", 0))
        nursery.cancel_scope.cancel()


async def answer_to(served, **headers) -> tuple[int, str, dict]:
    async with connected(served) as raw:
        await raw.send(request(served.url, **headers))
        head, _, body = (await raw.rest()).partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode(), json.loads(body or b"null")


@asynccontextmanager
async def upgraded(served, name):
    async with connected(served) as raw:
        await raw.send(request(served.url, authorization=f"Bearer {name}"))
        assert (await raw.head()).startswith(b"HTTP/1.1 101")
        yield raw


def called(tool: str, number: int = 1) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": {}, "_meta": meta}
    return text({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


@pytest.mark.req("R-448", "R-100", "R-414")
async def test_without_a_good_token_there_is_no_connection():
    async with serving(make_server()) as served:
        status, head, _ = await answer_to(served)
        assert status == 401
        assert f'Bearer resource_metadata="{METADATA_URL}", scope="use"' in head
        status, head, _ = await answer_to(served, authorization="Bearer unknown")
        assert (status, 'error="invalid_token"' in head) == (401, True)
        status, head, _ = await answer_to(served, authorization="Bearer weak")
        assert (status, 'error="insufficient_scope"' in head) == (403, True)
        status, head, _ = await answer_to(served, authorization="Bearer a b")
        assert (status, 'error="invalid_request"' in head) == (400, True)


@pytest.mark.req("R-417", "R-470")
@pytest.mark.parametrize("path", ["", "/mcp"])
async def test_metadata_is_served_beside_the_endpoint(path):
    async with serving(make_server()) as served:
        host, port = address(served.url)
        async with connected(served) as raw:
            url = f"ws://{host}:{port}/.well-known/oauth-protected-resource{path}"
            await raw.send(request(url, upgrade=None, connection=None))
            head, _, body = (await raw.rest()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"access-control-allow-origin: *" in head
    assert json.loads(body)["resource"] == URL


async def test_handlers_know_who_opened_the_connection():
    async with serving(make_server()) as served, upgraded(served, "ada") as raw:
        await raw.send(called("whoami"))
        found = (await raw.message())["result"]["structuredContent"]
        assert found == {"subject": "ada", "scopes": ["use"]}


@pytest.mark.req("R-465")
async def test_what_takes_more_scopes_is_refused_by_an_error():
    async with serving(make_server()) as served:
        async with upgraded(served, "ada") as raw:
            await raw.send(called("change"))
            error = (await raw.message())["error"]
            assert error["code"] == -31403
            assert error["data"] == {"requiredScopes": ["use", "files:read", "files:write"]}
        async with upgraded(served, "admin") as raw:
            await raw.send(called("change"))
            assert (await raw.message())["result"]["structuredContent"] == {"result": "changed"}


@pytest.mark.req("R-174")
async def test_connection_ends_with_its_token(monkeypatch):
    expires = int(time.time()) + 3600
    verifier = Verifier({"short": token(expires_at=expires), "long": token()})
    # The connection is opened in the last moment.
    clock = SimpleNamespace(time=lambda: expires - 0.1)
    monkeypatch.setattr(_guard, "time", clock)
    async with serving(make_server(verifier)) as served:
        async with upgraded(served, "short") as raw:
            assert await raw.close_code() == 1008
        async with upgraded(served, "long") as raw:
            await raw.send(called("whoami"))
            assert "result" in await raw.message()
