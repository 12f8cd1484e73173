"""Providers for programs that act for themselves, and for people whom a company vouches for."""

from __future__ import annotations

import base64
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from trio_mcp import Client
from trio_mcp.auth import (
    ClientCredentialsOAuthProvider,
    DPoPKey,
    EnterpriseOAuthProvider,
    IdentityAssertionOAuthProvider,
    InMemoryTokenStorage,
    OAuth,
    OAuthFlowError,
    OAuthTokenError,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
    WorkloadIdentityOAuthProvider,
    static_assertion_provider,
)
from trio_mcp.auth._jwt import generate_key, import_key, verify_jwt

from ._town import Answer, Person, Seen, Town, as_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    import httpx

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@asynccontextmanager
async def connected(town: Town, auth: Any) -> AsyncGenerator[Client, None]:
    async with Client(town.transport(auth), mode="2026-07-28") as client:
        yield client


async def forms_of(town: Town, auth: Any, calls: int = 1) -> list[dict[str, str]]:
    async with connected(town, auth) as client:
        for _ in range(calls):
            await client.call_tool("work")
    return [each.form for each in town.asked("/token")]


def basic(client_id: str, secret: str) -> str:
    return f"Basic {base64.b64encode(f'{client_id}:{secret}'.encode()).decode()}"


# Client credentials


@pytest.mark.req("R-720")
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_program_has_an_id_and_a_secret(method: Any) -> None:
    town = Town()
    provider = ClientCredentialsOAuthProvider(
        town.url, InMemoryTokenStorage(), "me", "hush", method, scope="run"
    )
    (form,) = await forms_of(town, provider, calls=2)
    assert form["grant_type"] == "client_credentials"
    assert (form["resource"], form["scope"]) == (town.url, "run")
    (seen,) = town.asked("/token")
    if method == "client_secret_basic":
        assert seen.headers["authorization"] == basic("me", "hush")
        assert "client_secret" not in form
    else:
        assert form["client_secret"] == "hush"
    assert town.logins == town.registrations == 0


async def test_a_program_asks_again_where_a_token_has_ended() -> None:
    town = Town()
    provider = ClientCredentialsOAuthProvider(town.url, InMemoryTokenStorage(), "me", "hush")
    async with connected(town, provider) as client:
        await client.call_tool("work")
        first = provider.principal
        town.expire()
        await client.call_tool("work")
    assert len(town.asked("/token")) == 2
    assert provider.principal == first != ""


@pytest.mark.req("R-449", "R-495")
async def test_credentials_go_to_their_issuer_alone() -> None:
    town = Town()
    provider = ClientCredentialsOAuthProvider(
        town.url, InMemoryTokenStorage(), "me", "hush", issuer="https://mine.example"
    )
    with pytest.raises(OAuthFlowError, match=r"expected the issuer 'https://mine\.example'"):
        await forms_of(town, provider)
    assert town.asked("/token") == []


def new_pem(algorithm: str = "ES256") -> str:
    return generate_key(algorithm).as_pem(private=True).decode()


@pytest.mark.req("R-720", "R-728")
async def test_a_program_signs_who_it_is() -> None:
    town = Town()
    pem = new_pem()
    parameters = SignedJWTParameters(
        issuer="me",
        subject="me",
        signing_key=pem,
        signing_algorithm="ES256",
        additional_claims={"tenant": "t"},
    )
    provider = PrivateKeyJWTOAuthProvider(
        town.url, InMemoryTokenStorage(), "me", parameters.create_assertion_provider()
    )
    async with connected(town, provider) as client:
        for _ in range(2):
            await client.call_tool("work")
            town.expire()
    forms = [each.form for each in town.asked("/token")]
    found = [
        verify_jwt(form["client_assertion"], [import_key(pem)], algorithms=["ES256"]).claims
        for form in forms
    ]
    for claims in found:
        assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", town.issuer)
        assert claims["exp"] - claims["iat"] == 300
        assert claims["tenant"] == "t"
    assert found[0]["jti"] != found[1]["jti"]
    assert forms[0]["client_assertion_type"].endswith("client-assertion-type:jwt-bearer")
    assert pem not in repr(parameters)


async def test_an_assertion_of_somebody_else_is_sent_as_it_is() -> None:
    town = Town()
    provider = PrivateKeyJWTOAuthProvider(
        town.url, InMemoryTokenStorage(), "me", static_assertion_provider("signed")
    )
    (form,) = await forms_of(town, provider)
    assert form["client_assertion"] == "signed"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"signing_key": "no key"}, ValueError),
        ({"signing_algorithm": "RS256"}, ValueError),
        ({"signing_algorithm": "HS256"}, ValueError),
        ({"signing_algorithm": "none"}, ValueError),
        ({"lifetime_seconds": 0}, ValueError),
        ({"issuer": 1}, TypeError),
        ({"additional_claims": []}, TypeError),
    ],
)
@pytest.mark.req("R-728")
def test_a_key_that_cannot_sign_is_told_at_once(
    changes: dict[str, Any], error: type[Exception]
) -> None:
    fitting: dict[str, Any] = {
        "issuer": "me",
        "subject": "me",
        "signing_key": new_pem(),
        "signing_algorithm": "ES256",
    }
    with pytest.raises(error) as caught:
        SignedJWTParameters(**{**fitting, **changes}).create_assertion_provider()
    assert "PRIVATE" not in str(caught.value)


# Workload identity


@pytest.mark.req("R-729")
async def test_a_platform_says_who_a_program_is() -> None:
    town = Town()
    audiences: list[str] = []

    async def platform(audience: str) -> str:
        await trio.lowlevel.checkpoint()
        audiences.append(audience)
        return "token of the platform"

    provider = WorkloadIdentityOAuthProvider(
        town.url, InMemoryTokenStorage(), platform, scope="run"
    )
    (form,) = await forms_of(town, provider)
    assert form == {
        "grant_type": JWT_BEARER,
        "assertion": "token of the platform",
        "resource": town.url,
        "scope": "run",
    }
    assert audiences == [town.issuer]


@pytest.mark.req("R-729")
async def test_a_refused_assertion_is_not_sent_again() -> None:
    town = Town()
    town.hooks["/token"] = lambda seen: as_json(
        {"error": "invalid_grant", "error_description": "expired"}, 400
    )
    provider = WorkloadIdentityOAuthProvider(
        town.url, InMemoryTokenStorage(), static_assertion_provider("old")
    )
    async with connected(town, provider) as client:
        for _ in range(3):
            with pytest.raises(OAuthTokenError, match=r"invalid_grant \(expired\)") as caught:
                await client.call_tool("work")
            assert caught.value.error_code == "invalid_grant"
            assert "old" not in str(caught.value)
    assert len(town.asked("/token")) == 1


async def test_what_a_source_of_assertions_raises_is_the_error_of_the_call() -> None:
    async def platform(audience: str) -> str:
        await trio.lowlevel.checkpoint()
        raise FileNotFoundError("no token of the platform")

    town = Town()
    provider = WorkloadIdentityOAuthProvider(town.url, InMemoryTokenStorage(), platform)
    with pytest.raises(FileNotFoundError, match="no token"):
        await forms_of(town, provider)


# Enterprise


@pytest.mark.req("R-722")
async def test_an_identity_assertion_becomes_a_token() -> None:
    town = Town()
    asked: list[tuple[str, str]] = []

    async def get_assertion(audience: str, resource: str) -> str:
        await trio.lowlevel.checkpoint()
        asked.append((audience, resource))
        return "id-jag"

    provider = IdentityAssertionOAuthProvider(
        town.url, InMemoryTokenStorage(), "me", "hush", town.issuer, get_assertion, "run"
    )
    (form,) = await forms_of(town, provider)
    assert form["grant_type"] == JWT_BEARER
    assert (form["assertion"], form["client_id"], form["client_secret"]) == (
        "id-jag",
        "me",
        "hush",
    )
    assert asked == [(town.issuer, town.url)]
    assert town.logins == 0


@pytest.mark.req("R-721", "R-722", "R-724")
async def test_both_exchanges_are_made(caplog: pytest.LogCaptureFixture) -> None:
    town = Town()

    def identity_provider(seen: Seen) -> Answer:
        assert seen.form == {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "audience": town.issuer,
            "resource": town.url,
            "scope": "run",
            "subject_token": "id token",
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "client_id": "me-at-the-idp",
        }
        return as_json(
            {
                "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                "access_token": "secret-id-jag",
                "token_type": "N_A",
            }
        )

    async def subject_token(audience: str) -> str:
        await trio.lowlevel.checkpoint()
        assert audience == "https://idp.example"
        return "id token"

    town.hooks["/idp/token"] = identity_provider
    provider = EnterpriseOAuthProvider(
        town.url,
        InMemoryTokenStorage(),
        "me",
        "hush",
        town.issuer,
        subject_token,
        idp_issuer="https://idp.example",
        idp_token_endpoint="https://idp.example/idp/token",
        idp_client_id="me-at-the-idp",
        scope="run",
    )
    with caplog.at_level("DEBUG"):
        (form,) = await forms_of(town, provider)
    assert form["assertion"] == "secret-id-jag"
    assert town.asked("/token")[0].headers["authorization"] == basic("me", "hush")
    assert town.asked("/authorize") == []
    assert "secret-id-jag" not in caplog.text
    assert not any("secret-id-jag" in each.path for each in town.seen)


# DPoP


def proof_of(seen: Seen) -> dict[str, Any]:
    header, claims, _ = seen.headers["dpop"].split(".")
    read = [json.loads(base64.urlsafe_b64decode(each + "==")) for each in (header, claims)]
    assert read[0]["typ"] == "dpop+jwt"
    return {**read[1], "alg": read[0]["alg"]}


class BoundTown(Town):
    """Issues tokens that are bound to a key, and gives a nonce with each refusal."""

    nonce: str | None = None

    def issue(self, scope: str, login: int | None) -> Answer:
        status, headers, body = super().issue(scope, login)
        return status, headers, json.dumps({**json.loads(body), "token_type": "DPoP"}).encode()

    def answer(self, seen: Seen) -> Answer:
        if self.nonce is None or "dpop" not in seen.headers:
            return super().answer(seen)
        if proof_of(seen).get("nonce") == self.nonce:
            return super().answer(seen)
        fresh = {"dpop-nonce": self.nonce}
        if seen.path == "/token":
            return as_json({"error": "use_dpop_nonce"}, 400, **fresh)
        return 401, {"www-authenticate": 'DPoP error="use_dpop_nonce"', **fresh}, b""


@pytest.mark.req("R-725", "R-728")
@pytest.mark.parametrize("make_key", [lambda: True, lambda: DPoPKey.generate("EdDSA")])
async def test_tokens_may_be_bound_to_a_key(make_key: Callable[[], Any]) -> None:
    town = BoundTown()
    async with connected(town, OAuth(callback=Person(town), dpop=make_key())) as client:
        for _ in range(3):
            await client.call_tool("work")
    signed = [each for each in town.seen if "dpop" in each.headers]
    assert [each.path for each in signed] == ["/token", "/mcp", "/mcp", "/mcp"]
    proofs = [proof_of(each) for each in signed]
    assert len({each["jti"] for each in proofs}) == len(proofs)
    assert {each["htu"] for each in proofs[1:]} == {town.url}
    assert all("ath" in each for each in proofs[1:])
    assert "ath" not in proofs[0]
    assert {each.headers["authorization"] for each in signed[1:]} == {"DPoP access-1"}


@pytest.mark.req("R-726")
async def test_a_nonce_is_used_as_soon_as_it_is_asked_for() -> None:
    town = BoundTown()
    town.nonce = "first"
    async with connected(town, OAuth(callback=Person(town), dpop=True)) as client:
        await client.call_tool("work")
        town.nonce = "second"
        await client.call_tool("work")
        await client.call_tool("work")
    assert town.logins == 1
    nonces = [proof_of(each).get("nonce") for each in town.seen if "dpop" in each.headers]
    # The two endpoints have the origin in common, and so the nonce.
    assert nonces == [None, "first", "first", "first", "second", "second"]


# Arguments


URL: Any = "https://example.com/mcp"
STORE: Any = InMemoryTokenStorage()
Credentials: Any = ClientCredentialsOAuthProvider
Key: Any = PrivateKeyJWTOAuthProvider
Workload: Any = WorkloadIdentityOAuthProvider
Assertion: Any = IdentityAssertionOAuthProvider
fixed: Any = static_assertion_provider


async def assertion(audience: str) -> str:
    return audience


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Credentials(1, STORE, "a", "b"), "server_url: expected str"),
        (lambda: Credentials(URL, STORE, 1, "b"), "client_id: expected str"),
        (lambda: Credentials(URL, STORE, "a", None), "client_secret: expected"),
        (
            lambda: Credentials(URL, STORE, "a", "b", "none"),
            "token_endpoint_au",
        ),
        (lambda: Credentials(URL, None, "a", "b"), "storage: expected a Token"),
        (lambda: Credentials(URL, STORE, "a", "b", scope=1), "scope: expected"),
        (lambda: Credentials(URL, STORE, "a", "b", issuer=1), "issuer: "),
        (lambda: Credentials(URL, STORE, "a", "b", x=1), "has no argument 'x'"),
        (lambda: Key(URL, STORE, "a", "signed"), "assertion_provider: "),
        (lambda: Workload(URL, STORE, "signed"), "assertion_provider: "),
        (
            lambda: Assertion(URL, STORE, "a", "b", "https://i", "signed"),
            "assertion_provider: ",
        ),
        (
            lambda: Assertion(URL, STORE, "a", "b", None, assertion),
            "issuer: expected",
        ),
        (lambda: fixed(1), "token: expected"),
    ],
)
def test_wrong_arguments_are_told_at_once(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


async def test_a_client_of_the_user_sends_what_oauth_asks() -> None:
    town = Town()
    hosts: list[str] = []
    async with town.http_client() as client:

        async def watch(request: httpx.Request) -> None:
            hosts.append(request.url.path)

        client.event_hooks = {"request": [watch]}
        provider = ClientCredentialsOAuthProvider(
            town.url, InMemoryTokenStorage(), "me", "hush", http_client=client
        )
        await forms_of(town, provider)
    assert "/token" in hosts
    assert "/mcp" not in hosts
