"""What is no request of the endpoint: told with a status and a code, and logged once."""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import Any

import httpx
import pytest
import trio

from trio_mcp import MCPServer
from trio_mcp.transports import ServeOptions, TransportSecuritySettings, serve_http_app
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._options import HttpOptions

from ._asgi import BOTH, LATEST, META, open_app
from ._tools import add

OLDER = {"mcp-protocol-version": "2025-11-25", "mcp-method": None}
LIST = {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": META}}
BARE = {**LIST, "params": {}}
UNKNOWN = {**LIST, "method": "x/y"}

BAD = [
    ("body", {}, b"x" * 3000, 413, -32600, "larger than 2048 bytes"),
    ("media type", {"content-type": "text/plain"}, LIST, 415, -32600, "text/plain"),
    ("accept", {"accept": "text/html"}, LIST, 406, -32600, "text/event-stream"),
    ("json", {}, b"{", 400, -32700, "Parse error"),
    ("batch", {}, b"[1]", 400, -32600, "batch"),
    ("many", {}, b"[" + b"1," * 1000 + b"1]", 400, -32600, "a batch of 1001 messages"),
    ("many older", OLDER, b"[" + b"1," * 1000 + b"1]", 400, -32600, "a batch of 1001 messages"),
    ("host", {"host": "evil.example"}, LIST, 421, -32600, "evil.example"),
    ("origin", {"origin": "https://evil.example"}, LIST, 403, -32600, "evil.example"),
    ("header", {"mcp-method": "tools/call"}, LIST, 400, -32020, "Mcp-Method"),
    ("method", {"mcp-method": "x/y"}, UNKNOWN, 404, -32601, "x/y"),
    ("session", {**OLDER, "mcp-session-id": "none"}, BARE, 404, -32600, "no such session"),
]


def make_app() -> HttpApp:
    mcp = MCPServer("tests")
    mcp.add_tool(add)
    security = TransportSecuritySettings.for_host("127.0.0.1")
    return HttpApp(mcp, HttpOptions(max_request_body_size=2048, transport_security=security))


async def ask_in_process(*requests: tuple[dict[str, str], bytes]) -> list[tuple[int, bytes]]:
    answers = []
    async with open_app(make_app()) as client:
        for headers, body in requests:
            answer = await client.start("POST", headers, body).wait_complete()
            answers.append((answer.status or 0, answer.body))
    return answers


async def ask_over_socket(*requests: tuple[dict[str, str], bytes]) -> list[tuple[int, bytes]]:
    answers = []
    serve = partial(serve_http_app, make_app(), ServeOptions(port=0))
    async with trio.open_nursery() as nursery, httpx.AsyncClient() as client:
        serving = await nursery.start(serve)
        for headers, body in requests:
            answer = await client.post(f"{serving.url}/mcp", content=body, headers=headers)
            answers.append((answer.status_code, answer.content))
        nursery.cancel_scope.cancel()
    return answers


def headers_with(changed: dict[str, str | None]) -> dict[str, str]:
    given: dict[str, str | None] = {
        "content-type": "application/json",
        "accept": BOTH,
        "mcp-protocol-version": LATEST,
        "mcp-method": "tools/list",
        **changed,
    }
    return {name: value for name, value in given.items() if value is not None}


@pytest.mark.parametrize("ask", [ask_in_process, ask_over_socket], ids=["in process", "socket"])
@pytest.mark.parametrize(
    ("changed", "message", "status", "code", "words"),
    [row[1:] for row in BAD],
    ids=[row[0] for row in BAD],
)
@pytest.mark.req("R-097", "R-098", "R-105")
async def test_each_refusal_is_told_and_logged_once_with_its_reason(
    ask: Any, changed: Any, message: Any, status: Any, code: Any, words: Any, caplog: Any
):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    good = (headers_with({}), json.dumps(LIST).encode())
    refused, served = await ask((headers_with(changed), body), good)
    assert served[0] == 200
    assert refused[0] == status
    error = json.loads(refused[1])["error"]
    assert error["code"] == code
    assert words in error["message"]
    assert b"Traceback" not in refused[1]
    records = [each for each in caplog.records if each.name == "trio_mcp.http"]
    assert len(records) == 1
    assert words in records[0].getMessage()
    assert str(status) in records[0].getMessage()
    assert records[0].exc_info is None
