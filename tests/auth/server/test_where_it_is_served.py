"""Where an authorization server can be, and by which names it is called."""

from __future__ import annotations

from functools import partial

import httpx
import pytest
import trio

from tests.auth.server._authorization_server import PUBLIC, answer_in, form_in
from tests.auth.server._protected import make_server
from tests.transports.websocket._wire import connected
from trio_mcp import MCPServer
from trio_mcp.auth import (
    AuthSettings,
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    RevocationOptions,
)
from trio_mcp.transports import serve_websocket

BASE = "http://127.0.0.1:8000"
PATHS = [
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
    ("GET", "/.well-known/oauth-authorization-server"),
    ("GET", "/.well-known/openid-configuration"),
    ("GET", "/authorize"),
    ("GET", "/login"),
    ("POST", "/token"),
    ("OPTIONS", "/token"),
    ("POST", "/register"),
    ("POST", "/revoke"),
]


class Shared(InMemoryOAuthProvider):
    """Says that other processes know what this one has issued."""

    keeps_in_process = False


def authorization_server(kind=InMemoryOAuthProvider, issuer=BASE):
    settings = AuthSettings(
        issuer_url=issuer,
        resource_server_url=f"{issuer}/mcp",
        client_registration_options=ClientRegistrationOptions(enabled=True),
        revocation_options=RevocationOptions(enabled=True),
    )
    provider = kind({"ada": "pw"}, clients=[PUBLIC])
    return MCPServer("notes", auth=settings, auth_server_provider=provider)


def client_of(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE)


@pytest.mark.parametrize("carrier", ["streamable_http_app", "sse_app"])
@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_endpoints_are_for_the_names_of_the_server_alone(method, path, carrier):
    app = getattr(authorization_server(), carrier)(host="127.0.0.1")
    async with client_of(app) as http:
        for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example"):
            refused = await http.request(method, path, headers={"host": host})
            assert refused.status_code == 421
            assert "is not allowed; see allowed_hosts" in refused.text
        answer = await http.request(method, path)
        assert answer.status_code in {200, 204, 400}


async def test_pages_of_other_origins_may_ask_by_the_right_name():
    async with client_of(authorization_server().streamable_http_app(host="127.0.0.1")) as http:
        headers = {"origin": "https://inspector.example", "access-control-request-method": "POST"}
        preflight = await http.options("/token", headers=headers)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == headers["origin"]
        found = await http.get("/.well-known/oauth-authorization-server", headers=headers)
        assert found.headers["access-control-allow-origin"] == headers["origin"]


async def test_server_on_a_public_address_answers_by_any_name():
    async with client_of(authorization_server().streamable_http_app(host="0.0.0.0")) as http:
        headers = {"host": "notes.example"}
        path = "/.well-known/oauth-authorization-server"
        assert (await http.get(path, headers=headers)).status_code == 200


async def test_own_routes_of_an_author_are_checked_by_nobody_else():
    mcp = authorization_server()

    @mcp.custom_route("/health", ["GET"])
    async def health(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with client_of(mcp.streamable_http_app(host="127.0.0.1")) as http:
        assert (await http.get("/health", headers={"host": "probe"})).status_code == 204


async def test_person_logs_in_by_the_name_of_the_server():
    async with client_of(authorization_server().streamable_http_app(host="127.0.0.1")) as http:
        query = {
            "client_id": PUBLIC.client_id,
            "response_type": "code",
            "code_challenge": "c" * 43,
            "code_challenge_method": "S256",
        }
        location = (await http.get("/authorize", params=query)).headers["location"]
        page = await http.get(location)
        form = {**form_in(page), "user": "ada", "password": "pw", "answer": "allow"}
        assert answer_in(await http.post("/login", data=form))["code"]


@pytest.mark.parametrize(("host", "status"), [("evil.example", 421), ("127.0.0.1", 200)])
async def test_metadata_over_a_websocket_are_for_the_names_of_the_server_alone(host, status):
    async with trio.open_nursery() as nursery:
        served = await nursery.start(partial(serve_websocket, make_server(), "127.0.0.1", 0))
        async with connected(served) as raw:
            await raw.send(f"GET {PATHS[0][1]} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert (await raw.rest()).startswith(f"HTTP/1.1 {status} ".encode())
        nursery.cancel_scope.cancel()


# Programs


@pytest.mark.parametrize("options", [{}, {"port": 0}])
def test_program_that_serves_nothing_but_websockets_has_no_place_for_it(options):
    with pytest.raises(ValueError, match=r"'http://127\.0\.0\.1:8000' has no endpoints over"):
        authorization_server().run("websocket", **options)


def test_workers_would_not_know_what_each_has_issued():
    mcp = authorization_server()
    with pytest.raises(ValueError, match="workers: expected 1, since InMemoryOAuthProvider keeps"):
        mcp.run("streamable-http", workers=2, stateless_http=True)


def test_provider_that_shares_what_it_keeps_may_be_in_several_workers():
    with pytest.raises(TypeError, match="did you mean 'port'"):
        authorization_server(Shared).run("streamable-http", workers=2, stateless_http=True, prot=1)
