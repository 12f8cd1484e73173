"""Tokens that are bound to a key (RFC 9449, section 5), at the token endpoint."""

from __future__ import annotations

import time
import uuid

import pytest

from tests.auth.server._authorization_server import (
    BASIC,
    ISSUER,
    PUBLIC,
    RESOURCE,
    Clock,
    authorization_server,
    error_of,
)
from trio_mcp.auth import (
    AuthSettings,
    DPoPSettings,
    InMemoryOAuthProvider,
    create_auth_routes,
)
from trio_mcp.auth._jwt import generate_key, public_jwk, sign_jwt, thumbprint
from trio_mcp.auth.server._protect import make_protection

KEY, OTHER = generate_key("ES256"), generate_key("ES256")
BOUND = PUBLIC.evolve(client_id="bound", extra={"dpop_bound_access_tokens": True})


def proof(key=KEY, typ="dpop+jwt", jwk=..., algorithm="ES256", **changes):
    claims = {
        "jti": str(uuid.uuid4()),
        "htm": "POST",
        "htu": f"{ISSUER}/token",
        "iat": int(time.time()),
        **changes,
    }
    claims = {name: value for name, value in claims.items() if value is not None}
    shown = public_jwk(key) if jwk is ... else jwk
    return sign_jwt(claims, key, algorithm, typ=typ, jwk=shown)


def bound_server(**options):
    return authorization_server(dpop=DPoPSettings(), **options)


def headers(key=KEY, **changes):
    return {"dpop": proof(key, **changes)}


async def key_of(server, tokens):
    found = await server.provider.load_access_token(tokens["access_token"])
    return found.claims.get("cnf", {}).get("jkt")


@pytest.mark.req("R-727")
async def test_token_is_bound_to_the_key_that_the_client_proved_to_have():
    async with bound_server() as server:
        tokens = await server.log_in(headers=headers())
        assert tokens["token_type"] == "DPoP"
        assert await key_of(server, tokens) == thumbprint(KEY)


async def test_token_of_a_client_that_proves_nothing_is_bound_to_nothing():
    async with bound_server() as server:
        tokens = await server.log_in()
        assert tokens["token_type"] == "Bearer"
        assert await key_of(server, tokens) is None


@pytest.mark.req("R-727", "R-728")
@pytest.mark.parametrize(
    "changes",
    [
        {"typ": "JWT"},
        {"typ": None},
        {"jwk": None},
        {"jwk": public_jwk(OTHER)},
        {"jwk": KEY.as_dict(private=True)},
        {"jwk": {"kty": "oct", "k": "c2VjcmV0"}},
        {"jti": None},
        {"jti": "x" * 1000},
        {"htm": "GET"},
        {"htm": None},
        {"htu": f"{ISSUER}/register"},
        {"htu": "https://other.example/token"},
        {"htu": None},
        {"iat": None},
        {"iat": int(time.time()) - 1000},
        {"iat": int(time.time()) + 1000},
    ],
)
async def test_proof_of_something_else_is_refused(changes):
    async with bound_server() as server:
        code = await server.code()
        response = await server.redeem(code, headers=headers(**changes))
        assert response.status_code == 400
        assert error_of(response) == "invalid_dpop_proof"
        # And neither the code is used by that,
        assert (await server.redeem(code, headers=headers())).status_code == 200


@pytest.mark.req("R-727")
async def test_proof_is_good_once():
    async with bound_server() as server:
        shown = headers()
        # Nor a proof by a request that gets nothing: strangers could fill the memory.
        for _ in range(2):
            assert error_of(await server.redeem("unknown", headers=shown)) == "invalid_grant"
        await server.log_in(headers=shown)
        response = await server.redeem(await server.code(), headers=shown)
        assert error_of(response) == "invalid_dpop_proof"


@pytest.mark.parametrize("shown", ["x", "a.b.c", "é".encode()])
async def test_what_is_no_proof_is_refused(shown):
    async with bound_server() as server:
        response = await server.redeem(await server.code(), headers={"dpop": shown})
        assert error_of(response) == "invalid_dpop_proof"


async def test_two_proofs_are_refused():
    async with bound_server() as server:
        form = {"grant_type": "refresh_token", "refresh_token": "x", "client_id": "public"}
        shown = [("dpop", proof()), ("dpop", proof())]
        response = await server.http.post("/token", data=form, headers=shown)
        assert error_of(response) == "invalid_dpop_proof"


@pytest.mark.req("R-727")
async def test_code_that_was_asked_for_by_a_key_is_exchanged_by_that_key_alone():
    async with bound_server() as server:
        code = await server.code(dpop_jkt=thumbprint(KEY))
        assert error_of(await server.redeem(code)) == "invalid_grant"
        assert error_of(await server.redeem(code, headers=headers(OTHER))) == "invalid_grant"
        tokens = (await server.redeem(code, headers=headers())).json()
        assert await key_of(server, tokens) == thumbprint(KEY)


async def test_refresh_token_of_a_public_client_is_bound_to_its_key():
    async with bound_server() as server:
        tokens = await server.log_in(headers=headers())
        refresh_token = tokens["refresh_token"]
        assert error_of(await server.refresh(refresh_token)) == "invalid_grant"
        wrong = await server.refresh(refresh_token, headers=headers(OTHER))
        assert error_of(wrong) == "invalid_grant"
        fresh = (await server.refresh(refresh_token, headers=headers())).json()
        assert fresh["token_type"] == "DPoP"
        assert await key_of(server, fresh) == thumbprint(KEY)


async def test_client_with_a_secret_may_change_its_key():
    async with bound_server() as server:
        tokens = await server.log_in(BASIC, headers())
        fresh = (await server.refresh(tokens["refresh_token"], BASIC, headers(OTHER))).json()
        assert await key_of(server, fresh) == thumbprint(OTHER)


@pytest.mark.req("R-727")
async def test_client_that_is_registered_for_bound_tokens_gets_no_others():
    async with bound_server(clients=[BOUND]) as server:
        code = await server.code(BOUND)
        assert error_of(await server.redeem(code, BOUND)) == "invalid_dpop_proof"
        assert (await server.redeem(code, BOUND, headers())).json()["token_type"] == "DPoP"


async def test_server_that_binds_nothing_looks_at_no_proofs():
    async with authorization_server() as server:
        tokens = await server.log_in(headers={"dpop": "nonsense"}, dpop_jkt="nonsense")
        assert tokens["token_type"] == "Bearer"
        published = (await server.http.get("/.well-known/oauth-authorization-server")).json()
        assert "dpop_signing_alg_values_supported" not in published


@pytest.mark.req("R-727")
async def test_server_that_wants_bound_tokens_issues_no_others():
    async with authorization_server(dpop=DPoPSettings(required=True)) as server:
        code = await server.code()
        assert error_of(await server.redeem(code)) == "invalid_dpop_proof"
        tokens = (await server.redeem(code, headers=headers())).json()
        assert tokens["token_type"] == "DPoP"
        # Nor to a client that may change its key.
        tokens = await server.log_in(BASIC, headers())
        response = await server.refresh(tokens["refresh_token"], BASIC)
        assert error_of(response) == "invalid_dpop_proof"
        response = await server.refresh(tokens["refresh_token"], BASIC, headers())
        assert response.json()["token_type"] == "DPoP"


@pytest.mark.req("R-727")
async def test_proof_has_to_hold_a_nonce_where_one_is_wanted(monkeypatch):
    clock = Clock(time.time())
    monkeypatch.setattr("trio_mcp.auth.server._key_proofs.time.time", clock)
    async with authorization_server(dpop=DPoPSettings(nonces=True)) as server:
        code = await server.code()
        for changes in ({}, {"nonce": "wrong"}, {"nonce": 5}):
            response = await server.redeem(code, headers=headers(**changes))
            assert response.status_code == 400
            assert error_of(response) == "use_dpop_nonce"
        nonce = response.headers["dpop-nonce"]
        tokens = (await server.redeem(code, headers=headers(nonce=nonce))).json()
        assert tokens["token_type"] == "DPoP"
        clock.now += 299
        answer = await server.refresh(tokens["refresh_token"], headers=headers(nonce=nonce))
        assert answer.status_code == 200
        clock.now += 2
        fresh = answer.json()["refresh_token"]
        response = await server.refresh(fresh, headers=headers(nonce=nonce))
        assert error_of(response) == "use_dpop_nonce"
        assert response.headers["dpop-nonce"] != nonce


async def test_nonce_of_the_server_is_good_at_its_token_endpoint():
    made = InMemoryOAuthProvider(auto_approve="alice", clients=[PUBLIC])
    settings = AuthSettings(
        issuer_url=ISSUER, resource_server_url=RESOURCE, dpop=DPoPSettings(nonces=True)
    )
    protection = make_protection(settings, None, made)
    async with authorization_server(made, routes=protection.routes) as server:
        nonce = protection.guard._nonces.make(time.time())
        assert await server.log_in(headers=headers(nonce=nonce))


async def test_proof_is_signed_by_an_algorithm_that_is_allowed():
    async with authorization_server(dpop=DPoPSettings(algorithms=["ES384"])) as server:
        response = await server.redeem(await server.code(), headers=headers())
        assert error_of(response) == "invalid_dpop_proof"
        key = generate_key("ES384")
        shown = {"dpop": proof(key, algorithm="ES384")}
        assert (await server.log_in(headers=shown))["token_type"] == "DPoP"
        published = (await server.http.get("/.well-known/oauth-authorization-server")).json()
        assert published["dpop_signing_alg_values_supported"] == ["ES384"]


def test_provider_that_binds_nothing_cannot_be_asked_to():
    provider = InMemoryOAuthProvider(auto_approve="alice")
    provider.binds_tokens = False
    with pytest.raises(ValueError, match="binds_tokens"):
        create_auth_routes(provider, ISSUER, dpop=DPoPSettings())


async def test_old_proof_is_refused_by_the_clock_of_the_server(monkeypatch):
    clock = Clock(time.time())
    async with bound_server() as server:
        shown = headers()
        code = await server.code()
        monkeypatch.setattr("trio_mcp.auth.server._key_proofs.time.time", clock)
        clock.now += 400
        assert error_of(await server.redeem(code, headers=shown)) == "invalid_dpop_proof"
