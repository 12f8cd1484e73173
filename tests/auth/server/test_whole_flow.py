"""Client, authorization server and protected server, all of this package, over sockets."""

from __future__ import annotations

import socket
from functools import partial
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import trio

from tests._limits import SOON
from trio_mcp import Client, Context, MCPServer
from trio_mcp.auth import (
    AuthorizationCodeResult,
    AuthSettings,
    ClientRegistrationOptions,
    DPoPSettings,
    InMemoryOAuthProvider,
    InMemoryTokenStorage,
    OAuthClientMetadata,
    OAuthClientProvider,
)
from trio_mcp.transports import serve_http


class Browser:
    """Goes where it is sent, and comes back with what it was given."""

    def __init__(self) -> None:
        self.scopes: list[str] = []
        self.result: AuthorizationCodeResult | None = None

    async def visit(self, url: str) -> None:
        self.scopes += parse_qs(urlsplit(url).query)["scope"]
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(url)
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        self.result = AuthorizationCodeResult(**{name: each[0] for name, each in query.items()})

    async def wait(self) -> AuthorizationCodeResult:
        await trio.lowlevel.checkpoint()
        assert self.result is not None
        return self.result


def protected_at(url: str, dpop: DPoPSettings | None) -> MCPServer:
    scopes = ["use", "files:write"]
    registration = ClientRegistrationOptions(
        enabled=True, valid_scopes=scopes, default_scopes=["use"]
    )
    mcp = MCPServer(
        "files",
        auth=AuthSettings(
            issuer_url=url,
            resource_server_url=f"{url}/mcp",
            required_scopes=["use"],
            client_registration_options=registration,
            dpop=dpop,
        ),
        auth_server_provider=InMemoryOAuthProvider(auto_approve="ada"),
    )

    @mcp.tool()
    async def read(ctx: Context) -> str:
        return ctx.principal.subject if ctx.principal else "nobody"

    @mcp.tool(required_scopes=["files:write"])
    async def write() -> str:
        return "written"

    return mcp


@pytest.mark.req("R-457", "R-463", "R-466", "R-726", "R-727")
@pytest.mark.case("C054")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("dpop", [None, DPoPSettings(required=True, nonces=True)])
async def test_client_that_knows_nothing_but_the_url_gets_in_and_later_gets_more(mode, dpop):
    # The server is told its URL before it listens, and closes what it is given.
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    browser = Browser()
    auth = OAuthClientProvider(
        f"{url}/mcp",
        OAuthClientMetadata(redirect_uris=["http://127.0.0.1:9/callback"], client_name="x"),
        InMemoryTokenStorage(),
        browser.visit,
        browser.wait,
        dpop=dpop is not None,
    )
    serve = partial(serve_http, protected_at(url, dpop), binds=[f"fd:{listener.detach()}"])
    async with trio.open_nursery() as nursery:
        await nursery.start(serve)
        with trio.fail_after(SOON):
            async with Client(f"{url}/mcp", auth=auth, mode=mode) as client:
                read = await client.call_tool("read", {})
                assert read.structured_content == {"result": "ada"}
                assert browser.scopes == ["use"]
                written = await client.call_tool("write", {})
                assert written.structured_content == {"result": "written"}
                # Once, and for just what the challenge named.
                assert browser.scopes == ["use", "use files:write"]
        nursery.cancel_scope.cancel()
