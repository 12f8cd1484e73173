"""``examples/authorization_server.py``: a login by hand, in the process of the test."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

from trio_mcp.auth import PKCEParameters

EXAMPLE = Path(__file__).parents[2] / "examples" / "authorization_server.py"
URL = "http://127.0.0.1:8000"
REDIRECT = "http://127.0.0.1:3000/callback"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def load():
    spec = importlib.util.spec_from_file_location("authorization_server_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


async def call(http, token=None):
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "whoami",
    }
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    params = {"name": "whoami", "arguments": {}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await http.post("/mcp", json=message, headers=headers)


async def log_in(http, client_id, pkce):
    """Go where a browser is sent, and come back with a code."""
    query = {
        "client_id": client_id,
        "response_type": "code",
        "redirect_uri": REDIRECT,
        "code_challenge": pkce.code_challenge,
        "code_challenge_method": "S256",
        "scope": "notes",
        "resource": f"{URL}/mcp",
    }
    sent = await http.get("/authorize", params=query)
    page = await http.get(sent.headers["location"])
    fields = dict(re.findall(r'name="([a-z]+)" value="([^"]*)"', page.text))
    form = {**fields, "user": "alice", "password": "wonderland", "answer": "allow"}
    done = await http.post("/login", data=form)
    return parse_qs(urlsplit(done.headers["location"]).query)["code"][0]


async def test_client_that_nobody_knows_gets_in_by_alice():
    app = load().mcp.streamable_http_app()
    transport = httpx.ASGITransport(app)
    async with (
        app.session_manager.run(),
        httpx.AsyncClient(transport=transport, base_url=URL) as http,
    ):
        refused = await call(http)
        assert refused.status_code == 401
        challenge = refused.headers["www-authenticate"]
        published = await http.get(re.search(r'resource_metadata="([^"]*)"', challenge)[1])
        assert published.json()["authorization_servers"] == [URL]
        registered = await http.post(
            "/register", json={"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
        )
        client_id = registered.json()["client_id"]
        pkce = PKCEParameters.generate()
        form = {
            "grant_type": "authorization_code",
            "client_id": client_id,
            "code": await log_in(http, client_id, pkce),
            "redirect_uri": REDIRECT,
            "code_verifier": pkce.code_verifier,
            "resource": f"{URL}/mcp",
        }
        token = (await http.post("/token", data=form)).json()["access_token"]
        answer = await call(http, token)
        assert answer.json()["result"]["content"][0]["text"] == f"alice, by {client_id}"
        await http.post("/revoke", data={"client_id": client_id, "token": token})
        assert (await call(http, token)).status_code == 401
