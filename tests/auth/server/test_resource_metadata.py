"""What a protected server publishes of itself, and where."""

from __future__ import annotations

import pytest
import trio.testing

from tests.http._asgi import open_app
from trio_mcp import MCPServer
from trio_mcp.auth import (
    DPoPSettings,
    ProtectedResourceMetadata,
    build_resource_metadata_url,
    create_protected_resource_routes,
)
from trio_mcp.auth._algorithms import ASYMMETRIC
from trio_mcp.auth._identifiers import prm_urls

from ._protected import (
    ISSUER,
    URL,
    Verifier,
    bearer,
    call,
    challenges,
    make_server,
    open_protected,
    settings,
)

ROOT = "/.well-known/oauth-protected-resource"


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


@pytest.mark.req("R-417", "R-467", "R-470")
@pytest.mark.parametrize("path", [f"{ROOT}/mcp", f"{ROOT}/mcp/", ROOT])
async def test_metadata_is_there_for_everybody_in_both_places(path):
    verifier = Verifier()
    async with open_protected(make_server(verifier)) as client:
        origin = {"origin": "https://app.example"}
        answer = await client.start("GET", origin, path=path).wait_complete()
        assert answer.status == 200
        assert answer.json() == {
            "resource": URL,
            "authorization_servers": [ISSUER],
            "scopes_supported": ["use"],
            "bearer_methods_supported": ["header"],
        }
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert "max-age" in answer.headers["cache-control"]
        head = await client.start("HEAD", path=path).wait_complete()
        assert head.status == 200
        asked = {"origin": "https://app.example", "access-control-request-method": "GET",
                 "access-control-request-headers": "mcp-protocol-version"}  # fmt: skip
        preflight = await client.start("OPTIONS", asked, path=path).wait_complete()
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-headers"] == "mcp-protocol-version"
        assert (await client.start("POST", path=path).wait_complete()).status == 405
    assert verifier.asked == []


@pytest.mark.req("R-455")
async def test_all_that_is_published_can_be_said():
    auth = settings(
        authorization_servers=["https://b.example", ISSUER],
        scopes_supported=["use", "files:read"],
        resource_name="Files",
        resource_documentation="https://docs.example",
        dpop=DPoPSettings(required=True),
    )
    async with open_protected(make_server(auth=auth)) as client:
        answer = await client.start("GET", path=ROOT).wait_complete()
        read = ProtectedResourceMetadata.from_json(answer.json())
        refused = await call(client, "whoami", None)
    assert read.authorization_servers == [ISSUER, "https://b.example"]
    assert read.scopes_supported == ["use", "files:read"]
    assert (read.resource_name, read.resource_documentation) == ("Files", "https://docs.example")
    assert read.dpop_signing_alg_values_supported == list(ASYMMETRIC)
    assert read.dpop_bound_access_tokens_required
    assert "offline_access" not in str(challenges(refused)) + answer.body.decode()


@pytest.mark.case("C056")
@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("https://h", f"https://h{ROOT}"),
        ("https://h/", f"https://h{ROOT}"),
        ("https://h/mcp", f"https://h{ROOT}/mcp"),
        ("https://h/mcp/", f"https://h{ROOT}/mcp/"),
        ("https://h/mcp?tenant=1", f"https://h{ROOT}/mcp?tenant=1"),
        ("https://H:8443/a/b", f"https://H:8443{ROOT}/a/b"),
        ("http://localhost:8000/mcp", f"http://localhost:8000{ROOT}/mcp"),
    ],
)
async def test_identifier_is_published_byte_for_byte_where_clients_look(url, where):
    assert build_resource_metadata_url(url) == where
    assert prm_urls(None, url)[0].lower() == where.lower()
    async with open_protected(make_server(auth=settings(resource_server_url=url))) as client:
        refused = await call(client, "whoami", None)
        assert challenges(refused)["Bearer"]["resource_metadata"] == where
        path = where.partition("://")[2].partition("?")[0]
        answer = await client.start("GET", path=path[path.index("/") :]).wait_complete()
        assert answer.json()["resource"] == url


async def test_server_without_a_name_publishes_nothing_and_still_needs_tokens():
    auth = settings(resource_server_url=None, validate_token_resource=False)
    async with open_protected(make_server(auth=auth)) as client:
        assert (await client.start("GET", path=ROOT).wait_complete()).status == 404
        refused = await call(client, "whoami", None)
        assert refused.status == 401
        assert challenges(refused) == {"Bearer": {"scope": "use"}}
        assert (await call(client, "whoami", "aimless")).status == 200


async def test_application_round_it_may_serve_the_metadata():
    mcp = MCPServer("outer")
    routes = create_protected_resource_routes(URL, [ISSUER], ["use"], "Files", "https://d.example")
    app = mcp.lowlevel_server.streamable_http_app(custom_starlette_routes=routes)
    async with open_app(app) as client:
        answer = await client.start("GET", path=f"{ROOT}/mcp").wait_complete()
    assert answer.json() == {
        "resource": URL,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["use"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Files",
        "resource_documentation": "https://d.example",
    }
    with pytest.raises(ValueError, match="authorization_servers is empty"):
        create_protected_resource_routes(URL, [])
    with pytest.raises(ValueError, match="http or https"):
        create_protected_resource_routes("mcp.example", [ISSUER])


async def test_mounted_below_a_path_the_endpoint_still_needs_a_token():
    async with open_protected() as client:
        client.scope["root_path"] = "/api"
        refused = await client.start("POST", path="/api/mcp").wait_complete()
        assert refused.status == 401
        answer = await client.start("GET", path=f"/api{ROOT}").wait_complete()
        assert answer.json()["resource"] == URL


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"auth": settings()}, ValueError, "nobody could tell"),
        ({"token_verifier": Verifier()}, ValueError, "token_verifier= is given without auth="),
        ({"auth": {}, "token_verifier": Verifier()}, TypeError, "auth: expected AuthSettings"),
        ({"auth": settings(), "token_verifier": object()}, TypeError, "verify_token"),
        ({"auth": settings(), "auth_server_provider": object()}, TypeError, "load_access_token"),
    ],
)
def test_server_is_protected_wholly_or_not_at_all(given, error, told):
    with pytest.raises(error, match=told):
        MCPServer("x", **given)
    with pytest.raises(error, match=told):
        MCPServer("x").lowlevel_server.streamable_http_app(**given)
    with pytest.raises(error, match=told):
        MCPServer("x").lowlevel_server.sse_app(**given)


def test_tokens_are_verified_by_one_party_alone():
    from trio_mcp.auth import InMemoryOAuthProvider

    provider = InMemoryOAuthProvider(auto_approve="ada")
    with pytest.raises(ValueError, match="both given"):
        MCPServer("x", auth=settings(), token_verifier=Verifier(), auth_server_provider=provider)
    with pytest.raises(ValueError, match="auth_server_provider= is given without auth="):
        MCPServer("x", auth_server_provider=provider)


async def test_authorization_server_in_the_same_process_is_served_beside_the_endpoint():
    from trio_mcp.auth import InMemoryOAuthProvider

    origin = "https://mcp.example"
    auth = settings(issuer_url=origin)
    provider = InMemoryOAuthProvider(auto_approve="ada")
    mcp = MCPServer("both", auth=auth, auth_server_provider=provider)
    async with open_app(mcp.streamable_http_app()) as client:
        path = "/.well-known/oauth-authorization-server"
        metadata = (await client.start("GET", path=path).wait_complete()).json()
        assert metadata["issuer"] == origin
        assert metadata["token_endpoint"] == f"{origin}/token"
        assert (await client.start("POST", path="/token").wait_complete()).status in {400, 401}
        refused = await client.ask("tools/list", headers=bearer("unknown")).wait_complete()
        assert refused.status == 401
