"""An authorization server in the process of the test, and a client that asks it."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs
import httpx

from trio_mcp.auth import (
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    OAuthClientInformationFull,
    PKCEParameters,
    RevocationOptions,
    create_auth_routes,
)
from trio_mcp.transports.http._app import Application

ISSUER = "https://auth.example.com"
RESOURCE = "https://mcp.example.com/mcp"
REDIRECT = "https://client.example.com/callback"
PASSWORD = "correct horse"

PUBLIC = OAuthClientInformationFull(
    client_id="public",
    client_name="Notes",
    redirect_uris=[REDIRECT],
    token_endpoint_auth_method="none",
    scope="read write",
)
BASIC = PUBLIC.evolve(
    client_id="basic", client_secret="s3cret/ä", token_endpoint_auth_method="client_secret_basic"
)
POST = BASIC.evolve(client_id="post", token_endpoint_auth_method="client_secret_post")

PKCE = PKCEParameters(
    code_verifier="v" * 43, code_challenge="7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM"
)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: float = 1_900_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@attrs.define(eq=False)
class AuthorizationServer:
    """A client of one server: what people and programs do with it."""

    provider: Any
    http: httpx.AsyncClient

    async def authorize(self, client=PUBLIC, **changes: str | None) -> httpx.Response:
        """Ask at the authorization endpoint; None leaves a parameter out."""
        query = {
            "client_id": client.client_id,
            "response_type": "code",
            "redirect_uri": client.redirect_uris[0],
            "code_challenge": PKCE.code_challenge,
            "code_challenge_method": "S256",
            "state": "xyz",
            "scope": "read",
            "resource": RESOURCE,
            **changes,
        }
        given = {name: value for name, value in query.items() if value is not None}
        return await self.http.get("/authorize", params=given)

    async def code(self, client=PUBLIC, **changes: str | None) -> str:
        """Get a code from a provider that asks nobody."""
        answer = answer_in(await self.authorize(client, **changes))
        assert "error" not in answer, answer
        return answer["code"]

    async def token(self, form: dict[str, str | None], client=PUBLIC, **headers: str):
        """Ask at the token endpoint, as the client has to."""
        auth = None
        form = {"client_id": client.client_id, **form}
        match client.token_endpoint_auth_method:
            case "client_secret_basic":
                auth = basic(client.client_id, client.client_secret)
            case "client_secret_post":
                form = {"client_secret": client.client_secret, **form}
            case _:
                pass
        given = {name: value for name, value in form.items() if value is not None}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if auth is not None:
            named.setdefault("authorization", auth)
        return await self.http.post("/token", data=given, headers=named)

    async def redeem(self, a_code: str, client=PUBLIC, headers=None, **changes: str | None):
        """Exchange a code."""
        form = {
            "grant_type": "authorization_code",
            "code": a_code,
            "redirect_uri": client.redirect_uris[0],
            "code_verifier": PKCE.code_verifier,
            "resource": RESOURCE,
            **changes,
        }
        return await self.token(form, client, **(headers or {}))

    async def refresh(self, refresh_token: str, client=PUBLIC, headers=None, **changes):
        """Exchange a refresh token."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token, **changes}
        return await self.token(form, client, **(headers or {}))

    async def log_in(self, client=PUBLIC, headers=None, **changes: str | None) -> dict[str, Any]:
        """Get tokens."""
        code = await self.code(client, **changes)
        resource = changes.get("resource", RESOURCE)
        answer = await self.redeem(code, client, headers, resource=resource)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """Post a body as it is."""
        url = self.http.base_url.join(path)
        return await self.http.send(httpx.Request("POST", url, headers=headers, stream=Body(body)))

    async def is_good(self, access_token: str) -> bool:
        return await self.provider.load_access_token(access_token) is not None


@asynccontextmanager
async def authorization_server(
    provider=None,
    *,
    issuer=ISSUER,
    clients=(PUBLIC, BASIC, POST),
    registration=None,
    routes=None,
    **options,
):
    """Serve a provider, in memory and asking nobody unless another is given."""
    if provider is None:
        provider = InMemoryOAuthProvider(auto_approve="alice", clients=clients)
    routes = routes or create_auth_routes(
        provider,
        issuer,
        client_registration_options=registration
        or ClientRegistrationOptions(enabled=True, valid_scopes=["read", "write"]),
        revocation_options=RevocationOptions(enabled=True),
        **options,
    )
    transport = httpx.ASGITransport(Application(_no_lifespan, {}, routes))
    async with httpx.AsyncClient(transport=transport, base_url=issuer) as http:
        yield AuthorizationServer(provider, http)


@asynccontextmanager
async def _no_lifespan():
    yield


class Body(httpx.AsyncByteStream):
    """A body in one piece, which nobody has to read to its end: no generator is left then."""

    def __init__(self, content: bytes) -> None:
        self._parts = [content]

    def __aiter__(self):
        return self

    async def __anext__(self) -> bytes:
        if not self._parts:
            raise StopAsyncIteration
        return self._parts.pop()


def basic(client_id: str, secret: str) -> str:
    """Write the header of a client that shows its secret there."""
    from base64 import b64encode
    from urllib.parse import quote

    pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def answer_in(response: httpx.Response, redirect=REDIRECT) -> dict[str, str]:
    """Read what a browser is sent back to a client with."""
    assert response.status_code in {302, 303}, response.text
    location = response.headers["location"]
    assert location.startswith(f"{redirect}?"), location
    found = parse_qs(urlsplit(location).query, keep_blank_values=True, strict_parsing=True)
    assert all(len(values) == 1 for values in found.values()), found
    return {name: values[0] for name, values in found.items()}


def told_on_page(response: httpx.Response, redirect=REDIRECT) -> dict[str, str]:
    """Read what a client hears once the person who sees a page goes on."""
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "location" not in response.headers
    [link] = re.findall(r'<a href="([^"]*)">', response.text)
    return answer_in(httpx.Response(302, headers={"location": unescape(link)}), redirect)


def form_in(response: httpx.Response) -> dict[str, str]:
    """Read the hidden fields of a page."""
    return dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', response.text))


def error_of(response: httpx.Response) -> str:
    """Read an error as OAuth tells it, and hold it to that."""
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    body = response.json()
    assert set(body) <= {"error", "error_description"}
    assert re.fullmatch(r"[ !#-\[\]-~]*", body.get("error_description", ""))
    return body["error"]
