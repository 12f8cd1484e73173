"""What an authorization server publishes, where, and who may read its answers."""

from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route as StarletteRoute

from tests.auth.server._authorization_server import ISSUER, RESOURCE, authorization_server
from trio_mcp.auth import (
    ID_JAG_GRANT_PROFILE,
    JWT_BEARER_GRANT_TYPE,
    ClientMetadataDocuments,
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    OAuthMetadata,
    RevocationOptions,
    build_metadata,
    create_auth_routes,
    validate_issuer_url,
)
from trio_mcp.auth._algorithms import ASYMMETRIC
from trio_mcp.auth._identifiers import asm_urls

ORIGIN = "https://inspector.example.com"


@pytest.mark.req("R-419", "R-431", "R-506")
@pytest.mark.parametrize("issuer", [ISSUER, f"{ISSUER}/", f"{ISSUER}/tenant1", f"{ISSUER}/a/b/"])
async def test_metadata_is_at_every_place_where_clients_look(issuer):
    async with authorization_server(issuer=issuer) as server:
        for url in asm_urls(issuer):
            response = await server.http.get(url)
            assert response.status_code == 200
            assert response.headers["content-type"] == "application/json"
            found = OAuthMetadata.from_json(response.content)
            assert found.issuer == issuer
            assert found.code_challenge_methods_supported == ["S256"]
            assert found.authorization_response_iss_parameter_supported is True
            assert found.token_endpoint == f"{issuer.rstrip('/')}/token"


@pytest.mark.parametrize("root_path", ["", "/tenant1"])
async def test_endpoints_are_found_where_the_app_is_mounted_and_where_it_is_not(root_path):
    async with authorization_server(issuer=f"{ISSUER}/tenant1") as server:
        app = server.http._transport.app
        transport = httpx.ASGITransport(app, root_path=root_path)
        async with httpx.AsyncClient(transport=transport) as http:
            for name in ("authorize", "token", "register", "revoke"):
                response = await http.post(f"{ISSUER}/tenant1/{name}")
                assert response.status_code == 400


def test_metadata_tells_what_is_offered_and_nothing_else():
    found = build_metadata(ISSUER, None, ClientRegistrationOptions(), RevocationOptions())
    assert found.registration_endpoint is None
    assert found.revocation_endpoint is None
    assert found.scopes_supported is None
    assert found.client_id_metadata_document_supported is None
    assert found.authorization_response_iss_parameter_supported is None
    assert found.dpop_signing_alg_values_supported is None
    assert found.authorization_grant_profiles_supported is None
    assert found.grant_types_supported == ["authorization_code", "refresh_token"]


@pytest.mark.req("R-728")
def test_metadata_tells_of_everything_that_is_offered():
    found = build_metadata(
        ISSUER,
        "https://docs.example.com",
        ClientRegistrationOptions(enabled=True, valid_scopes=["read"]),
        RevocationOptions(enabled=True),
        True,
        sends_issuer=True,
        dpop_algorithms=ASYMMETRIC,
        reads_client_documents=True,
    )
    assert found.service_documentation == "https://docs.example.com"
    assert found.registration_endpoint == f"{ISSUER}/register"
    assert found.revocation_endpoint == f"{ISSUER}/revoke"
    assert found.scopes_supported == ["read"]
    assert found.grant_types_supported[-1] == JWT_BEARER_GRANT_TYPE
    assert found.authorization_grant_profiles_supported == [ID_JAG_GRANT_PROFILE]
    assert found.client_id_metadata_document_supported is True
    for listed in (
        found.dpop_signing_alg_values_supported,
        found.token_endpoint_auth_signing_alg_values_supported,
    ):
        assert "ES256" in listed
        assert not [each for each in listed if each == "none" or each.startswith("HS")]


@pytest.mark.req("R-416", "R-484")
async def test_documents_are_advertised_where_they_are_read():
    for documents in (None, ClientMetadataDocuments()):
        provider = InMemoryOAuthProvider(auto_approve="a", client_documents=documents)
        async with authorization_server(provider) as server:
            found = (await server.http.get("/.well-known/openid-configuration")).json()
            expected = None if documents is None else True
            assert found.get("client_id_metadata_document_supported") is expected


@pytest.mark.req("R-500", "R-518")
@pytest.mark.parametrize(
    "issuer",
    [
        "http://auth.example.com",
        "http://127.0.0.1.example.com",
        "ftp://auth.example.com",
        "auth.example.com",
        "https://",
        "https://user:pw@auth.example.com",
        f"{ISSUER}?a=b",
        f"{ISSUER}?",
        f"{ISSUER}#part",
        f"{ISSUER} ",
        "",
    ],
)
def test_issuer_is_https_or_on_this_machine_without_query_and_fragment(issuer):
    with pytest.raises(ValueError, match="The issuer URL must"):
        validate_issuer_url(issuer)
    with pytest.raises(ValueError, match="The issuer URL must"):
        create_auth_routes(InMemoryOAuthProvider(auto_approve="alice"), issuer)


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:8000", "http://[::1]", "http://localhost:1"])
def test_issuer_on_this_machine_needs_no_tls(issuer):
    validate_issuer_url(issuer)


# Pages of other origins


@pytest.mark.parametrize("path", ["/token", "/register", "/revoke"])
async def test_clients_in_browsers_may_read_answers(path):
    async with authorization_server() as server:
        asking = {
            "origin": ORIGIN,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type, authorization, dpop, x-other",
        }
        preflight = await server.http.options(path, headers=asking)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == ORIGIN
        assert preflight.headers["access-control-allow-methods"] == "POST"
        allowed = preflight.headers["access-control-allow-headers"]
        assert allowed == "content-type, authorization, dpop"
        answer = await server.http.post(path, headers={"origin": ORIGIN})
        assert answer.status_code == 400
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert "access-control-allow-credentials" not in answer.headers


async def test_metadata_may_be_read_by_any_page_and_kept():
    async with authorization_server() as server:
        url = "/.well-known/oauth-authorization-server"
        response = await server.http.get(url, headers={"origin": ORIGIN})
        assert response.headers["access-control-allow-origin"] == ORIGIN
        assert response.headers["cache-control"] == "public, max-age=3600"
        assert (await server.http.post(url)).status_code == 405


async def test_options_of_nobody_in_particular_lists_the_methods():
    async with authorization_server() as server:
        response = await server.http.options("/token")
        assert (response.status_code, response.headers["allow"]) == (204, "POST, OPTIONS")


async def test_pages_of_other_origins_cannot_read_where_people_are_sent():
    async with authorization_server() as server:
        response = await server.authorize(resource=RESOURCE)
        assert "access-control-allow-origin" not in response.headers


async def test_routes_fit_into_an_application_of_starlette():
    provider = InMemoryOAuthProvider(auto_approve="alice")
    routes = create_auth_routes(provider, ISSUER)
    app = Starlette(
        routes=[StarletteRoute(each.path, each, methods=each.methods) for each in routes]
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ISSUER) as http:
        response = await http.get("/.well-known/oauth-authorization-server")
        assert response.json()["issuer"] == ISSUER
        assert (await http.post("/token")).status_code == 400
        assert (await http.get("/token")).status_code == 405
