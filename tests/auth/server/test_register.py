"""The registration endpoint: what a client may say of itself, and what it gets."""

from __future__ import annotations

import json
import time

import pytest

from tests.auth.server._authorization_server import (
    POST,
    REDIRECT,
    authorization_server,
    error_of,
)
from trio_mcp.auth import (
    JWT_BEARER_GRANT_TYPE,
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    OAuthClientInformationFull,
    RegistrationError,
)
from trio_mcp.auth._jwt import generate_key, public_jwk

KEY = generate_key("ES256")
KEYS = {"keys": [public_jwk(KEY)]}


async def register(document=None, *, server_options=None, **changes):
    """Register a client that is good but for what is changed."""
    metadata = {"redirect_uris": [REDIRECT], "client_name": "Notes", **changes}
    sent = {name: value for name, value in metadata.items() if value is not ...}
    async with authorization_server(registration=server_options) as server:
        return await server.http.post("/register", json=document or sent)


@pytest.mark.parametrize(
    ("asked", "method", "has_secret"),
    [
        (..., "client_secret_basic", True),
        ("client_secret_basic", "client_secret_basic", True),
        ("client_secret_post", "client_secret_post", True),
        ("none", "none", False),
    ],
)
async def test_client_gets_an_id_and_a_secret_if_it_shall_have_one(asked, method, has_secret):
    response = await register(token_endpoint_auth_method=asked)
    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    client = OAuthClientInformationFull.from_json(response.content)
    assert client.token_endpoint_auth_method == method
    assert client.redirect_uris == [REDIRECT]
    assert len(client.client_id) >= 32
    assert abs(client.client_id_issued_at - time.time()) < 100
    assert (client.client_secret is not None) == has_secret
    if has_secret:
        assert len(client.client_secret) == 64
        assert response.json()["client_secret_expires_at"] == 0
    else:
        assert "client_secret" not in response.json()


async def test_secret_expires_when_the_options_say():
    options = ClientRegistrationOptions(enabled=True, client_secret_expiry_seconds=3600)
    found = (await register(server_options=options)).json()
    assert found["client_secret_expires_at"] == found["client_id_issued_at"] + 3600


async def test_ids_and_secrets_are_made_here_and_never_taken():
    taken = {"client_id": "admin", "client_secret": "x", "client_id_issued_at": 1, "issuer": "y"}
    found = (await register(**taken, client_secret_expires_at=5)).json()
    assert found["client_id"] != "admin"
    assert found["client_secret"] != "x"
    assert found["client_id_issued_at"] > 1
    assert found["client_secret_expires_at"] == 0
    assert "issuer" not in found


async def test_whatever_else_a_client_says_is_kept():
    found = (await register(tos_uri="https://a.example/t", dpop_bound_access_tokens=True)).json()
    assert found["tos_uri"] == "https://a.example/t"
    assert found["dpop_bound_access_tokens"] is True


@pytest.mark.req("R-501")
@pytest.mark.parametrize(
    ("uri", "application_type"),
    [
        (REDIRECT, "web"),
        (REDIRECT, "native"),
        ("http://127.0.0.1:53682/", "native"),
        ("http://[::1]:53682/callback", "native"),
        ("http://localhost/callback?a=b", ...),
    ],
)
async def test_redirect_uris_are_https_or_on_the_persons_own_machine(uri, application_type):
    response = await register(redirect_uris=[uri], application_type=application_type)
    assert response.status_code == 201
    assert response.json()["redirect_uris"] == [uri]


@pytest.mark.req("R-501", "R-510")
@pytest.mark.parametrize(
    ("uris", "application_type"),
    [
        (..., ...),
        ([], ...),
        (["http://client.example.com/callback"], ...),
        (["http://127.0.0.1.evil.example/callback"], ...),
        (["http://localhost@evil.example/callback"], ...),
        (["http://evil.example\\@localhost/"], ...),
        (["https://user:pw@client.example.com/"], ...),
        ([f"{REDIRECT}#part"], ...),
        (["/callback"], ...),
        (["https://"], ...),
        (["https://client.example.com/a b"], ...),
        (["https://client.example.com/\r\nlocation:x"], ...),
        (["javascript:alert(1)"], ...),
        (["data:text/html,x"], ...),
        (["file:///etc/passwd"], ...),
        (["com.example.app:/callback"], ...),
        ([REDIRECT, "http://evil.example/"], ...),
        ([f"{REDIRECT}?{'x' * 2048}"], ...),
        ([f"{REDIRECT}{number}" for number in range(21)], ...),
        (["http://127.0.0.1/callback"], "web"),
        (["http://localhost:3000/callback"], "web"),
    ],
)
async def test_other_redirect_uris_are_refused(uris, application_type):
    response = await register(redirect_uris=uris, application_type=application_type)
    assert response.status_code == 400
    assert error_of(response) == "invalid_redirect_uri"


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uris": REDIRECT},
        {"redirect_uris": [1]},
        {"client_name": 5},
        {"grant_types": ["refresh_token"]},
        {"grant_types": ["authorization_code", JWT_BEARER_GRANT_TYPE]},
        {"response_types": ["token"]},
        {"application_type": "desktop"},
        {"token_endpoint_auth_method": "tls_client_auth"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"jwks": KEYS, "jwks_uri": "https://client.example.com/keys"},
        {"jwks": {}},
        {"jwks": {"keys": []}},
        {"jwks": {"keys": ["x"]}},
        {"jwks": {"keys": KEYS["keys"] * 21}},
        {"jwks": {"keys": [KEY.as_dict(private=True)]}},
        {"jwks": {"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}},
        {"jwks": "https://client.example.com/keys"},
        {"jwks_uri": "http://client.example.com/keys"},
        {"scope": "read admin"},
    ],
)
async def test_what_cannot_work_is_refused(changes):
    response = await register(**changes)
    assert response.status_code == 400
    assert error_of(response) == "invalid_client_metadata"
    assert response.json()["error_description"]


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"<html>", "text/html", 400),
        (b"{}", "text/plain", 400),
        (b"[" * 1000, "application/json", 400),
        (json.dumps({"redirect_uris": [REDIRECT] * 4000}).encode(), "application/json", 413),
    ],
)
async def test_what_is_no_json_object_of_bounded_size_is_refused(body, content_type, status):
    async with authorization_server() as server:
        response = await server.post("/register", body, {"content-type": content_type})
        assert response.status_code == status
        assert error_of(response) == "invalid_client_metadata"


@pytest.mark.parametrize(
    ("valid", "default", "asked", "registered"),
    [
        (None, None, ..., None),
        (None, None, "read", "read"),
        (None, ["read"], ..., "read"),
        (None, ["read"], "write", "write"),
        (["read", "write"], None, ..., "read write"),
        (["read", "write"], ["read"], "read", "read write"),
    ],
)
async def test_client_is_registered_for_what_it_may_ask_people_for(
    valid, default, asked, registered
):
    options = ClientRegistrationOptions(enabled=True, valid_scopes=valid, default_scopes=default)
    response = await register(server_options=options, scope=asked)
    assert response.json().get("scope") == registered


@pytest.mark.parametrize(
    "scope", ["x" * 4097, " ".join(f"s{number}" for number in range(101))], ids=["long", "many"]
)
async def test_client_is_registered_for_no_more_scopes_than_it_may_ask_for(scope):
    response = await register(scope=scope, server_options=ClientRegistrationOptions(enabled=True))
    assert error_of(response) == "invalid_client_metadata"


@pytest.mark.parametrize(("length", "status"), [(16_000, 201), (17_000, 400)])
async def test_client_says_no_more_of_itself_than_can_be_kept(length, status):
    response = await register(software_id="x" * length)
    assert response.status_code == status
    if status == 400:
        assert error_of(response) == "invalid_client_metadata"


@pytest.mark.parametrize(("length", "status"), [(253, 201), (254, 400)])
async def test_host_of_a_redirect_uri_is_no_longer_than_names_are(length, status):
    host = f"{'a.' * 100}{'b' * (length - 200)}"
    response = await register(redirect_uris=[f"https://{host}/callback"])
    assert response.status_code == status
    if status == 400:
        assert error_of(response) == "invalid_redirect_uri"


async def test_registered_client_logs_in_by_its_key():
    async with authorization_server() as server:
        metadata = {
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "private_key_jwt",
            "jwks": KEYS,
        }
        response = await server.http.post("/register", json=metadata)
        assert response.status_code == 201
        client = OAuthClientInformationFull.from_json(response.content)
        assert client.client_secret is None
        assert await server.code(client)


async def test_registered_client_logs_in_with_its_secret():
    async with authorization_server() as server:
        response = await server.http.post("/register", json={"redirect_uris": [REDIRECT]})
        client = OAuthClientInformationFull.from_json(response.content)
        assert await server.is_good((await server.log_in(client))["access_token"])


async def test_provider_may_refuse_a_client():
    class Choosy(InMemoryOAuthProvider):
        async def register_client(self, client_info):
            raise RegistrationError("unapproved_software_statement", "Not you")

    async with authorization_server(Choosy(auto_approve="alice")) as server:
        response = await server.http.post("/register", json={"redirect_uris": [REDIRECT]})
        assert response.status_code == 400
        assert response.json() == {
            "error": "unapproved_software_statement",
            "error_description": "Not you",
        }


async def test_nobody_registers_where_it_is_not_enabled():
    async with authorization_server(registration=ClientRegistrationOptions()) as server:
        response = await server.http.post("/register", json={"redirect_uris": [REDIRECT]})
        assert response.status_code == 404


async def test_provider_without_a_register_has_no_clients():
    class Nothing(InMemoryOAuthProvider):
        async def get_client(self, client_id):
            raise NotImplementedError

    async with authorization_server(Nothing(auto_approve="alice")) as server:
        assert (await server.authorize()).status_code == 400
        assert error_of(await server.redeem("code", POST)) == "invalid_client"


async def test_provider_that_finds_clients_in_any_case_does_not_confuse_them():
    class Lenient(InMemoryOAuthProvider):
        async def get_client(self, client_id):
            return await super().get_client(client_id.lower())

    async with authorization_server(Lenient(auto_approve="a", clients=[POST])) as server:
        assert (await server.authorize(POST, client_id="POST")).status_code == 400
        assert await server.code(POST)
