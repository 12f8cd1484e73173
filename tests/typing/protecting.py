"""Protecting a server, as type checkers see it."""

from __future__ import annotations

from typing import assert_type

from trio_mcp import Context, InsufficientScopeError, MCPServer, Server
from trio_mcp.auth import (
    AccessToken,
    AuthSettings,
    DPoPSettings,
    InMemoryOAuthProvider,
    IntrospectionTokenVerifier,
    JWTVerifier,
    Principal,
    StaticTokenVerifier,
    TokenVerifier,
    VerifierUnavailable,
    get_access_token,
    principal_components,
)
from trio_mcp.transports import HttpApp, SseApp
from trio_mcp.types import wire_model


@wire_model
class OurToken(AccessToken):
    tenant: str


class OurVerifier:
    async def verify_token(self, token: str) -> OurToken | None:
        if token == "away":
            raise VerifierUnavailable("the database is away")
        return OurToken(token=token, client_id="a", scopes=[], tenant="t")


class NoVerifier:
    async def verify_token(self, token: bytes) -> str:
        return token.decode()


settings = AuthSettings(
    issuer_url="https://as.example",
    resource_server_url="https://mcp.example/mcp",
    required_scopes=["use"],
    scope_covers=lambda granted, needed: needed.startswith(granted),
    dpop=DPoPSettings(required=True),
)
ours: TokenVerifier = OurVerifier()
by_keys: TokenVerifier = JWTVerifier(issuer="https://as.example", jwks_uri="https://as.example/k")
by_asking: TokenVerifier = IntrospectionTokenVerifier("https://as.example/introspect")
known: TokenVerifier = StaticTokenVerifier({"a": {"client_id": "a"}})

mcp = MCPServer("typed", auth=settings, token_verifier=ours)
both = MCPServer("typed", auth=settings, auth_server_provider=InMemoryOAuthProvider({"a": "b"}))
MCPServer("typed", auth=settings, token_verifier=NoVerifier())  # type: ignore[arg-type]
MCPServer("typed", auth={})  # type: ignore[arg-type]
AuthSettings(issuer_url="https://as.example")  # type: ignore[call-arg]

low = Server("typed", get_required_scopes=lambda method, params: {method, *params})
low.protect(settings, token_verifier=known)
assert_type(low.streamable_http_app(auth=settings, token_verifier=by_keys), HttpApp)
assert_type(low.sse_app(auth=settings, token_verifier=by_asking), SseApp)


@mcp.tool(required_scopes=["files:read"])
def read(path: str, ctx: Context) -> str:
    assert_type(ctx.principal, Principal | None)
    token = assert_type(get_access_token(), AccessToken | None)
    assert token is not None
    assert_type(principal_components(token), tuple[str, str | None, str | None])
    if path.startswith("/"):
        raise InsufficientScopeError({"files:root"})
    return path


@mcp.resource("files://{path}", required_scopes=("files:read",))
def resource(path: str) -> str:
    return path


@mcp.prompt(required_scopes=["files:read"])
def prompt() -> str:
    return ""
