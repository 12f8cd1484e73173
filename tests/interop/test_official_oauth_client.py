"""The official SDK's OAuth client, and our server with our authorization server, over sockets."""

from __future__ import annotations

import json
import socket
import sys
import time
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from trio_mcp import MCPServer
from trio_mcp.auth import (
    JWT_BEARER_GRANT_TYPE,
    AuthSettings,
    ClientRegistrationOptions,
    IdentityAssertionVerifier,
    IdentityProvider,
    InMemoryOAuthProvider,
    OAuthClientInformationFull,
    RevocationOptions,
    get_access_token,
)
from trio_mcp.auth._jwt import generate_key, public_jwk, sign_jwt
from trio_mcp.transports import serve_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PEERS = Path(__file__).parent / "peers"
IDP = "https://login.acme.example"
KEY = generate_key("ES256")
ASSISTANT = OAuthClientInformationFull(
    client_id="assistant",
    client_secret="from a vault",
    token_endpoint_auth_method="client_secret_post",
    grant_types=[JWT_BEARER_GRANT_TYPE],
)


def make_server(url: str) -> MCPServer:
    resources = [f"{url}/mcp"]
    acme = IdentityProvider(issuer=IDP, jwks={"keys": [public_jwk(KEY)]})
    provider = InMemoryOAuthProvider(
        {"alice": "wonderland"},
        clients=[ASSISTANT],
        resources=resources,
        identity_assertions=IdentityAssertionVerifier([acme], issuer=url, resources=resources),
    )
    settings = AuthSettings(
        issuer_url=url,
        resource_server_url=f"{url}/mcp",
        required_scopes=["use"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["use", "change"]
        ),
        revocation_options=RevocationOptions(enabled=True),
        identity_assertion_enabled=True,
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


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    # The port has to be known before the server is made: it is in all names of OAuth.
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    serve = partial(serve_http, make_server(url), binds=[f"fd:{listener.detach()}"])
    async with trio.open_nursery() as nursery:
        serving = await nursery.start(serve)
        yield url
        serving.stop()


async def run(program: str, *arguments: str | None) -> str:
    ran = await trio.run_process(
        [sys.executable, str(PEERS / program), *filter(None, arguments)],
        capture_stdout=True,
        capture_stderr=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout.decode()


@pytest.mark.limit(60)
@pytest.mark.req("R-415", "R-419", "R-442", "R-457", "R-499")
@pytest.mark.parametrize(
    ("backend", "method"),
    [("asyncio", None), ("asyncio", "none"), ("asyncio", "client_secret_post"), ("trio", None)],
)
async def test_client_registers_logs_in_steps_up_and_refreshes(backend, method):
    async with served() as url:
        report = json.loads(await run("oauth_client.py", backend, f"{url}/mcp", method))
    assert report["first"] == "alice use"
    assert report["more"] == "changed"
    assert report["refreshed"] == "alice use change"
    assert len(set(report["tokens"])) == 3
    assert [set(each.split()) for each in report["logins"]] == [{"use"}, {"use", "change"}]
    assert report["method"] == (method or "client_secret_basic")


@pytest.mark.limit(60)
@pytest.mark.req("R-722", "R-723")
async def test_client_gets_in_by_the_word_of_an_identity_provider():
    async with served() as url:
        now = int(time.time())
        claims = {
            "iss": IDP,
            "sub": "U17",
            "aud": url,
            "client_id": "assistant",
            "resource": f"{url}/mcp",
            "scope": "use",
            "jti": "one",
            "iat": now,
            "exp": now + 300,
        }
        assertion = sign_jwt(claims, KEY, "ES256", typ="oauth-id-jag+jwt")
        secret = ASSISTANT.client_secret
        said = await run("enterprise_client.py", f"{url}/mcp", assertion, secret)
    assert said.strip() == f"{IDP}#U17 use"
