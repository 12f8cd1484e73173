"""The official SDK's OAuth client, and our server with our authorization server, over sockets."""

from __future__ import annotations

import json
import socket
import sys
from functools import partial
from pathlib import Path

import pytest
import trio

from trio_mcp import MCPServer
from trio_mcp.auth import (
    AuthSettings,
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    RevocationOptions,
    get_access_token,
)
from trio_mcp.transports import serve_http

PROGRAM = Path(__file__).parent / "peers" / "oauth_client.py"


def make_server(url: str) -> MCPServer:
    provider = InMemoryOAuthProvider({"alice": "wonderland"}, resources=[f"{url}/mcp"])
    settings = AuthSettings(
        issuer_url=url,
        resource_server_url=f"{url}/mcp",
        required_scopes=["use"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["use", "change"]
        ),
        revocation_options=RevocationOptions(enabled=True),
    )
    mcp = MCPServer("protected", auth=settings, auth_server_provider=provider)

    @mcp.tool()
    def whoami() -> str:
        token = get_access_token()
        assert token is not None
        return f"{token.subject} {' '.join(token.scopes)}"

    @mcp.tool(required_scopes=["change"])
    def change() -> str:
        return "changed"

    return mcp


@pytest.mark.limit(60)
@pytest.mark.req("R-415", "R-419", "R-442", "R-457", "R-499")
@pytest.mark.parametrize(
    ("backend", "method"),
    [("asyncio", None), ("asyncio", "none"), ("asyncio", "client_secret_post"), ("trio", None)],
)
async def test_client_registers_logs_in_steps_up_and_refreshes(backend, method):
    # The port has to be known before the server is made: it is in all names of OAuth.
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    serve = partial(serve_http, make_server(url), binds=[f"fd:{listener.detach()}"])
    async with trio.open_nursery() as nursery:
        serving = await nursery.start(serve)
        ran = await trio.run_process(
            [sys.executable, str(PROGRAM), backend, f"{url}/mcp", *filter(None, [method])],
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        serving.stop()
    assert ran.returncode == 0, ran.stderr.decode()
    report = json.loads(ran.stdout)
    assert report["first"] == "alice use"
    assert report["more"] == "changed"
    assert report["refreshed"] == "alice use change"
    assert len(set(report["tokens"])) == 3
    assert [set(each.split()) for each in report["logins"]] == [{"use"}, {"use", "change"}]
    assert report["method"] == (method or "client_secret_basic")
