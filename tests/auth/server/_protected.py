"""A protected server over ASGI, and tokens for it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import attrs

from tests.http._asgi import AsgiClient, OlderClient, open_app
from trio_mcp import Context, MCPServer
from trio_mcp.auth import AccessToken, AuthSettings, StaticTokenVerifier, get_access_token
from trio_mcp.auth._challenges import parse_challenges

URL = "https://mcp.example/mcp"
ISSUER = "https://as.example"
METADATA_URL = "https://mcp.example/.well-known/oauth-protected-resource/mcp"


def settings(**changes: Any) -> AuthSettings:
    given = {"issuer_url": ISSUER, "resource_server_url": URL, "required_scopes": ["use"]}
    return AuthSettings(**{**given, **changes})


def token(**changes: Any) -> AccessToken:
    given = {"token": "…", "client_id": "client", "scopes": ["use"], "resource": URL}
    return AccessToken(**{**given, **changes})


TOKENS = {
    "ada": token(subject="ada"),
    "bob": token(subject="bob"),
    "admin": token(subject="ada", scopes=["use", "files:read", "files:write"]),
    "reader": token(subject="ada", scopes=["use", "files:read"]),
    "weak": token(scopes=[]),
    "service": token(client_id="robot"),
    "old": token(expires_at=1_000_000),
    "foreign": token(resource="https://other.example/mcp"),
    "aimless": token(resource=None),
}


@attrs.define(eq=False)
class Verifier:
    """Knows some tokens, and counts who asks."""

    known: dict[str, AccessToken] = attrs.Factory(lambda: dict(TOKENS))
    asked: list[str] = attrs.Factory(list)
    error: Exception | None = None

    async def verify_token(self, token: str) -> AccessToken | None:
        self.asked.append(token)
        if self.error is not None:
            raise self.error
        return await StaticTokenVerifier(self.known).verify_token(token)


def make_server(
    verifier: Any = None, auth: AuthSettings | None = None, **options: Any
) -> MCPServer:
    mcp = MCPServer(
        "protected", auth=auth or settings(), token_verifier=verifier or Verifier(), **options
    )

    @mcp.tool()
    async def whoami(ctx: Context) -> dict[str, Any]:
        found = get_access_token()
        assert ctx.principal is not None
        assert found is ctx.principal.details
        return {"subject": ctx.principal.subject, "scopes": found.scopes}

    @mcp.tool()
    def in_thread() -> str:
        found = get_access_token()
        return "nobody" if found is None else found.client_id

    @mcp.tool(required_scopes=["files:read", "files:write"])
    async def change() -> str:
        return "changed"

    @mcp.resource("files://all", required_scopes=["files:read"])
    def every() -> str:
        return "all files"

    @mcp.resource("files://one/{name}", required_scopes=["files:read"])
    def one(name: str) -> str:
        return name

    @mcp.prompt(required_scopes=["files:read"])
    def summarize(style: str = "short") -> str:
        return style

    return mcp


@asynccontextmanager
async def open_protected(mcp: MCPServer | None = None, **options: Any):
    """Serve a protected server; yields a client without a token."""
    app = (mcp or make_server()).streamable_http_app(**options)
    async with open_app(app) as client:
        yield client


def bearer(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}"}


def challenges(answer: Any) -> dict[str, dict[str, str]]:
    """Read the challenges of an answer, by their schemes."""
    found = parse_challenges([answer.headers["www-authenticate"]])
    return {each.scheme: dict(each.params) for each in found}


async def call(client: AsgiClient, tool: str, name: str | None, **arguments: Any):
    """Call a tool in the modern era with a token; the answer, whole."""
    headers = {} if name is None else bearer(name)
    answer = client.ask("tools/call", {"name": tool, "arguments": arguments}, headers=headers)
    return await answer.wait_complete()


def older(client: AsgiClient, name: str, revision: str = "2025-11-25") -> OlderClient:
    """Give a client of the older era with a token of its own."""

    class WithToken(OlderClient):
        def post(self, message: Any, **headers: Any) -> Any:
            return super().post(message, **{**bearer(name), **headers})

    return WithToken(client, revision)
