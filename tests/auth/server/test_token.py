"""The token endpoint: what it takes for a token, and what is refused."""

from __future__ import annotations

import logging

import pytest
import trio

from tests.auth.server._authorization_server import (
    BASIC,
    POST,
    PUBLIC,
    REDIRECT,
    RESOURCE,
    authorization_server,
    error_of,
)
from tests.http._asgi import AsgiClient
from trio_mcp.auth import (
    JWT_BEARER_GRANT_TYPE,
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    OAuthToken,
    TokenError,
)

OTHER = PUBLIC.evolve(client_id="other")
CLIENTS = [PUBLIC, BASIC, POST, OTHER]


class Scripted(InMemoryOAuthProvider):
    """Changes what it finds."""

    def __init__(self, **changes):
        super().__init__(auto_approve="alice", clients=CLIENTS)
        self.changes = changes
        self.exchanged = []

    async def load_authorization_code(self, client, authorization_code):
        found = await super().load_authorization_code(client, authorization_code)
        return found.evolve(**self.changes)

    async def load_refresh_token(self, client, refresh_token):
        found = await super().load_refresh_token(client, refresh_token)
        return found.evolve(**self.changes)

    async def exchange_authorization_code(self, client, authorization_code):
        self.exchanged.append(authorization_code)
        return await super().exchange_authorization_code(client, authorization_code)


@pytest.mark.req("R-442", "R-498")
@pytest.mark.parametrize("client", [PUBLIC, BASIC, POST], ids=lambda each: each.client_id)
async def test_code_is_exchanged_for_short_lived_tokens(client):
    async with authorization_server() as server:
        response = await server.redeem(await server.code(client), client)
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        assert response.headers["cache-control"] == "no-store"
        token = OAuthToken.from_json(response.content)
        assert token.token_type == "Bearer"
        assert token.expires_in == 600
        assert token.scope == "read"
        found = await server.provider.load_access_token(token.access_token)
        assert (found.client_id, found.subject) == (client.client_id, "alice")
        assert (found.scopes, found.resource) == (["read"], RESOURCE)


@pytest.mark.req("R-442", "R-502")
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"grant_type": None}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": JWT_BEARER_GRANT_TYPE}, "unsupported_grant_type"),
        ({"code": None}, "invalid_request"),
        ({"code": ""}, "invalid_request"),
        ({"code": "unknown"}, "invalid_grant"),
        ({"code": "x.y"}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"code_verifier": "v" * 42}, "invalid_grant"),
        ({"code_verifier": "v" * 129}, "invalid_grant"),
        ({"code_verifier": "ü" * 43}, "invalid_grant"),
        ({"redirect_uri": None}, "invalid_grant"),
        ({"redirect_uri": f"{REDIRECT}/"}, "invalid_grant"),
        ({"resource": f"{RESOURCE}/"}, "invalid_target"),
        ({"resource": "https://other.example"}, "invalid_target"),
        ({"client_id": "other"}, "invalid_grant"),
    ],
)
async def test_code_is_not_exchanged_otherwise(changes, error):
    async with authorization_server(clients=CLIENTS) as server:
        code = await server.code()
        response = await server.redeem(code, **changes)
        assert response.status_code == 400
        assert error_of(response) == error
        # And whoever comes with what is right still gets it.
        assert (await server.redeem(code)).status_code == 200


async def test_resource_that_the_person_did_not_see_is_refused():
    async with authorization_server() as server:
        code = await server.code(resource=None)
        assert error_of(await server.redeem(code)) == "invalid_target"
        assert (await server.redeem(code, resource=None)).status_code == 200


async def test_redirect_uri_that_was_not_named_need_not_be_but_has_to_be_right():
    async with authorization_server() as server:
        code = await server.code(redirect_uri=None)
        wrong = await server.redeem(code, redirect_uri=f"{REDIRECT}2")
        assert error_of(wrong) == "invalid_grant"
        assert (await server.redeem(code, redirect_uri=None)).status_code == 200


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"expires_at": 1.0}, "expired"), ({"client_id": "other"}, "not known")],
)
async def test_endpoint_checks_what_a_provider_found(changes, says):
    provider = Scripted(**changes)
    async with authorization_server(provider) as server:
        response = await server.redeem(await server.code())
        assert error_of(response) == "invalid_grant"
        assert says in response.json()["error_description"]
        assert provider.exchanged == []


async def test_client_that_is_not_registered_for_a_grant_does_not_get_it():
    client = PUBLIC.evolve(grant_types=["authorization_code"])
    async with authorization_server(clients=[client]) as server:
        tokens = await server.log_in(client)
        assert "refresh_token" not in tokens
        response = await server.refresh("any", client)
        assert error_of(response) == "unauthorized_client"


@pytest.mark.parametrize(
    ("body", "headers", "status", "error"),
    [
        (b"grant_type=x", {"content-type": "application/json"}, 400, "invalid_request"),
        (b"grant_type=x", {}, 400, "invalid_request"),
        (b"", {"content-type": "application/x-www-form-urlencoded"}, 400, "invalid_request"),
        (b"a=%ff", {"content-type": "application/x-www-form-urlencoded"}, 400, "invalid_request"),
        (b"a=\xff", {"content-type": "application/x-www-form-urlencoded"}, 400, "invalid_request"),
        (
            b"code=" + b"x" * 70_000,
            {"content-type": "application/x-www-form-urlencoded"},
            413,
            "invalid_request",
        ),
        (
            b"client_id=public&client_id=public",
            {"content-type": "application/x-www-form-urlencoded; charset=utf-8"},
            400,
            "invalid_request",
        ),
        (
            b"client_id=public&grant_type=authorization_code&resource=a:a&resource=a:b",
            {"content-type": "application/x-www-form-urlencoded"},
            400,
            "invalid_target",
        ),
    ],
)
async def test_bodies_that_are_no_clear_form_are_refused(body, headers, status, error):
    async with authorization_server() as server:
        response = await server.post("/token", body, headers)
        assert response.status_code == status
        assert error_of(response) == error


async def test_client_that_goes_before_its_body_has_come_is_not_answered():
    app = await app_of(authorization_server())
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/token",
        "headers": [(b"content-type", b"application/x-www-form-urlencoded")],
    }
    coming = [
        {"type": "http.request", "body": b"grant", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent = []

    async def receive():
        await trio.lowlevel.checkpoint()
        return coming.pop(0)

    async def send(message):
        await trio.lowlevel.checkpoint()
        sent.append(message)

    await app(scope, receive, send)
    assert coming == sent == []


async def test_body_that_does_not_come_is_not_waited_for(autojump_clock):
    app = await app_of(authorization_server())
    async with trio.open_nursery() as nursery:
        client = AsgiClient(app, nursery)
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer = client.start("POST", form, path="/token", chunks=[b"grant", 100.0])
        await answer.wait_complete()
    assert answer.status == 408
    assert answer.json()["error"] == "invalid_request"


async def app_of(opened):
    async with opened as server:
        return server.http._transport.app


async def test_parameters_in_the_query_are_not_read():
    async with authorization_server() as server:
        code = await server.code()
        response = await server.http.post(
            f"/token?grant_type=authorization_code&client_id=public&code={code}",
            headers={"content-type": "application/x-www-form-urlencoded"},
        )
        assert response.status_code == 400


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD"])
async def test_other_methods_are_refused(method):
    async with authorization_server() as server:
        assert (await server.http.request(method, "/token")).status_code == 405


# Refresh tokens


@pytest.mark.req("R-499")
@pytest.mark.parametrize("client", [PUBLIC, BASIC], ids=lambda each: each.client_id)
async def test_refresh_token_is_exchanged_for_another_one(client):
    async with authorization_server() as server:
        tokens = await server.log_in(client, scope="read write")
        response = await server.refresh(tokens["refresh_token"], client)
        assert response.status_code == 200
        fresh = response.json()
        assert fresh["refresh_token"] != tokens["refresh_token"]
        assert fresh["access_token"] != tokens["access_token"]
        assert fresh["scope"] == "read write"
        found = await server.provider.load_access_token(fresh["access_token"])
        assert (found.resource, found.subject) == (RESOURCE, "alice")


async def test_fewer_scopes_can_be_asked_for_and_all_again_later():
    async with authorization_server() as server:
        tokens = await server.log_in(scope="read write")
        fewer = (await server.refresh(tokens["refresh_token"], scope="write")).json()
        assert fewer["scope"] == "write"
        found = await server.provider.load_access_token(fewer["access_token"])
        assert found.scopes == ["write"]
        assert (await server.refresh(fewer["refresh_token"])).json()["scope"] == "read write"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"refresh_token": None}, "invalid_request"),
        ({"refresh_token": "unknown"}, "invalid_grant"),
        ({"scope": "read admin"}, "invalid_scope"),
        ({"scope": "write"}, "invalid_scope"),
        ({"resource": "https://other.example"}, "invalid_target"),
        ({"client_id": "other"}, "invalid_grant"),
    ],
)
async def test_refresh_token_is_not_exchanged_otherwise(changes, error):
    async with authorization_server(clients=CLIENTS) as server:
        tokens = await server.log_in()
        form = {"refresh_token": tokens["refresh_token"], **changes}
        assert error_of(await server.token({"grant_type": "refresh_token", **form})) == error
        assert (await server.refresh(tokens["refresh_token"])).status_code == 200


@pytest.mark.parametrize(
    ("left", "asked", "granted"),
    [
        (["read", "write"], None, "read write"),
        (["read"], None, "read"),
        (["read"], "read", "read"),
        (["read"], "read write", "invalid_scope"),
        (["other"], None, "invalid_scope"),
        (["other"], "other", "invalid_scope"),
        (None, None, "read write"),
    ],
)
async def test_scopes_that_there_are_no_more_go_with_the_next_refresh(left, asked, granted):
    provider = InMemoryOAuthProvider(auto_approve="alice", clients=[PUBLIC])
    async with authorization_server(provider) as server:
        tokens = await server.log_in(scope="read write")
    options = ClientRegistrationOptions(valid_scopes=left)
    async with authorization_server(provider, registration=options) as server:
        response = await server.refresh(tokens["refresh_token"], scope=asked)
    answer = response.json()
    assert answer.get("scope", answer.get("error")) == granted


@pytest.mark.parametrize("scope", ["x" * 4097, " ".join(map(str, range(101)))])
async def test_scopes_without_end_are_not_looked_at(scope):
    async with authorization_server() as server:
        tokens = await server.log_in()
        response = await server.refresh(tokens["refresh_token"], scope=scope)
        assert error_of(response) == "invalid_scope"
        assert "more than" in response.json()["error_description"]


async def test_expired_refresh_token_is_refused_though_a_provider_finds_it():
    provider = Scripted()
    async with authorization_server(provider) as server:
        tokens = await server.log_in()
        provider.changes = {"expires_at": 1}
        response = await server.refresh(tokens["refresh_token"])
        assert error_of(response) == "invalid_grant"


# Providers that fail


@pytest.mark.parametrize(
    ("raised", "status", "error"),
    [
        (TokenError("invalid_grant", "no more"), 400, "invalid_grant"),
        (ValueError("the key is s3cret"), 500, "server_error"),
    ],
)
async def test_what_a_provider_raises_is_answered(raised, status, error, caplog):
    caplog.set_level(logging.CRITICAL, "trio_mcp.auth")

    class Failing(InMemoryOAuthProvider):
        async def exchange_authorization_code(self, client, authorization_code):
            raise raised

    async with authorization_server(Failing(auto_approve="a", clients=[PUBLIC])) as server:
        response = await server.redeem(await server.code())
        assert response.status_code == status
        assert error_of(response) == error
        assert "s3cret" not in response.text


async def test_log_holds_no_secret(caplog):
    caplog.set_level(logging.DEBUG, "trio_mcp.auth")
    async with authorization_server() as server:
        code = await server.code(POST)
        await server.redeem(code, POST, code_verifier="w" * 43)
        tokens = (await server.redeem(code, POST)).json()
        await server.redeem(code, POST)
        await server.refresh(tokens["refresh_token"], POST)
        await server.refresh(tokens["refresh_token"], POST.evolve(client_secret="wr0ng"))
    assert "invalid_grant" in caplog.text
    for secret in (code, POST.client_secret, "wr0ng", "w" * 43, *tokens.values()):
        assert str(secret) not in caplog.text or secret in {"read", "Bearer", 600}
