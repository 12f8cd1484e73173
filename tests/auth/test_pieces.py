"""The pieces of the flow, by the names that people know."""

from __future__ import annotations

import json

import httpx
import pytest

from trio_mcp import auth
from trio_mcp.auth import OAuthClientMetadata, OAuthMetadata
from trio_mcp.errors import OAuthFlowError, OAuthRegistrationError, OAuthTokenError

ASM = OAuthMetadata(
    issuer="https://as.example",
    token_endpoint="https://as.example/token",
    registration_endpoint="https://as.example/reg",
    authorization_response_iss_parameter_supported=True,
)


def refusal(*headers, status=401):
    return httpx.Response(status, headers=[("WWW-Authenticate", each) for each in headers])


def test_challenge_is_taken_apart():
    found = refusal('Basic scope="no"', 'Bearer scope="a b", resource_metadata="https://h/x"')
    assert auth.extract_scope_from_www_auth(found) == "a b"
    assert auth.extract_resource_metadata_from_www_auth(found) == "https://h/x"
    assert auth.extract_field_from_www_auth(found, "Scope") == "a b"
    assert auth.extract_field_from_www_auth(found, "error") is None
    assert auth.extract_scope_from_www_auth(refusal('Bearer scope=""')) is None
    assert auth.extract_scope_from_www_auth(httpx.Response(401)) is None


@pytest.mark.parametrize(
    ("status", "is_read"), [(401, True), (403, True), (200, False), (404, False)]
)
def test_place_of_the_metadata_is_named_by_refusals(status, is_read):
    found = refusal("Bearer resource_metadata=https://h/x", status=status)
    assert auth.extract_resource_metadata_from_www_auth(found) == (
        "https://h/x" if is_read else None
    )


@pytest.mark.req("R-472", "R-475", "R-476")
def test_places_are_listed_in_order():
    prm = auth.build_protected_resource_metadata_discovery_urls
    assert prm("https://h/x", "https://h/mcp") == [
        "https://h/x",
        "https://h/.well-known/oauth-protected-resource/mcp",
        "https://h/.well-known/oauth-protected-resource",
    ]
    assert prm("", "https://h") == ["https://h/.well-known/oauth-protected-resource"]
    asm = auth.build_oauth_authorization_server_metadata_discovery_urls
    assert asm(None, "https://h/mcp") == ["https://h/.well-known/oauth-authorization-server"]
    assert asm("https://as/t", "https://h/mcp") == [
        "https://as/.well-known/oauth-authorization-server/t",
        "https://as/.well-known/openid-configuration/t",
        "https://as/t/.well-known/openid-configuration",
    ]


PRM_DOCUMENT = {"resource": "https://h", "authorization_servers": ["https://as"]}
ASM_DOCUMENT = {"issuer": "https://as", "token_endpoint": "https://as/token"}


@pytest.mark.parametrize(
    ("response", "is_there"),
    [
        (httpx.Response(200, json=PRM_DOCUMENT), True),
        (httpx.Response(200, json={**PRM_DOCUMENT, "authorization_servers": []}), False),
        (httpx.Response(200, html="<p>"), False),
        (httpx.Response(404, json=PRM_DOCUMENT), False),
        (httpx.Response(500), False),
    ],
)
async def test_metadata_of_a_server_is_read(response, is_there):
    found = await auth.handle_protected_resource_response(response)
    assert (found is not None) == is_there
    assert found is None or found.resource == "https://h"


@pytest.mark.parametrize(
    ("response", "goes_on", "is_there"),
    [
        (httpx.Response(200, json=ASM_DOCUMENT), True, True),
        (httpx.Response(200, html="<p>"), True, False),
        (httpx.Response(404), True, False),
        (httpx.Response(302), True, False),
        (httpx.Response(503), False, False),
    ],
)
async def test_metadata_of_an_authorization_server_is_read(response, goes_on, is_there):
    went_on, found = await auth.handle_auth_metadata_response(response)
    assert went_on == goes_on
    assert (found is not None) == is_there


@pytest.mark.req("R-432")
@pytest.mark.parametrize(
    ("iss", "metadata", "message"),
    [
        ("https://as.example", ASM, None),
        ("https://as.example/", ASM, "comes from the issuer 'https://as.example/'"),
        (None, ASM, "has no iss"),
        (None, None, None),
        ("https://as.example", None, "expected no iss"),
        (None, OAuthMetadata(issuer="https://a", token_endpoint="https://a/t"), None),
    ],
)
def test_answering_issuer_is_checked(iss, metadata, message):
    if message is None:
        auth.validate_authorization_response_iss(iss, metadata)
        return
    with pytest.raises(OAuthFlowError, match=message):
        auth.validate_authorization_response_iss(iss, metadata)


def test_issuer_of_metadata_is_checked():
    auth.validate_metadata_issuer(ASM, "https://as.example")
    with pytest.raises(OAuthFlowError, match="expected 'https://as"):
        auth.validate_metadata_issuer(ASM, "https://as.example/")


def test_requests_are_made():
    request = auth.create_oauth_metadata_request("https://h/x")
    assert (request.method, request.headers["mcp-protocol-version"]) == ("GET", "2026-07-28")
    client = OAuthClientMetadata(redirect_uris=["http://localhost/cb"])
    request = auth.create_client_registration_request(ASM, client, "https://h/mcp")
    assert (request.method, str(request.url)) == ("POST", "https://as.example/reg")
    assert json.loads(request.content) == client.to_json()
    assert request.headers["content-type"] == "application/json"
    request = auth.create_client_registration_request(None, client, "https://h/mcp")
    assert str(request.url) == "https://h/register"


async def test_registration_is_read():
    found = await auth.handle_registration_response(
        httpx.Response(201, json={"client_id": "c", "issuer": "https://evil"})
    )
    assert (found.client_id, found.issuer) == ("c", None)
    refused = httpx.Response(
        400,
        json={"error": "invalid_redirect_uri"},
        request=httpx.Request("POST", "https://as/reg"),
    )
    with pytest.raises(OAuthRegistrationError, match="'https://as/reg' answered 400: invalid_red"):
        await auth.handle_registration_response(refused)


async def test_token_is_read():
    found = await auth.handle_token_response_scopes(
        httpx.Response(200, json={"access_token": "a", "expires_in": "60"})
    )
    assert found.expires_in == 60
    with pytest.raises(OAuthTokenError, match=r"json\.access_token"):
        await auth.handle_token_response_scopes(httpx.Response(200, json={}))
    with pytest.raises(OAuthTokenError, match="no JSON"):
        await auth.handle_token_response_scopes(httpx.Response(200, html="<p>"))
