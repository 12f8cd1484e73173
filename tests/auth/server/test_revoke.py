"""The revocation endpoint (RFC 7009)."""

from __future__ import annotations

import pytest

from tests.auth.server._authorization_server import (
    BASIC,
    POST,
    PUBLIC,
    authorization_server,
    basic,
    error_of,
)
from trio_mcp.auth import InMemoryOAuthProvider, create_auth_routes


async def revoke(server, client_id="public", headers=None, **form):
    return await server.http.post(
        "/revoke", data={"client_id": client_id, **form}, headers=headers or {}
    )


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
@pytest.mark.parametrize("hint", [None, "access_token", "refresh_token", "something_else"])
async def test_login_ends_by_either_of_its_tokens(kind, hint):
    async with authorization_server() as server:
        tokens = await server.log_in()
        form = {"token": tokens[kind]} | ({} if hint is None else {"token_type_hint": hint})
        response = await revoke(server, **form)
        assert (response.status_code, response.content) == (200, b"")
        assert response.headers["cache-control"] == "no-store"
        assert not await server.is_good(tokens["access_token"])
        assert error_of(await server.refresh(tokens["refresh_token"])) == "invalid_grant"
        # Once more is no error.
        assert (await revoke(server, **form)).status_code == 200


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_tokens_of_others_stay_and_nobody_learns_of_them(kind):
    async with authorization_server() as server:
        tokens = await server.log_in(POST)
        response = await revoke(server, token=tokens[kind])
        unknown = await revoke(server, token="unknown")
        assert response.status_code == unknown.status_code == 200
        assert response.content == unknown.content
        assert await server.is_good(tokens["access_token"])
        assert (await server.refresh(tokens["refresh_token"], POST)).status_code == 200


@pytest.mark.parametrize(
    ("form", "headers", "status", "error"),
    [
        ({}, {}, 400, "invalid_request"),
        ({"client_id": "nobody", "token": "x"}, {}, 401, "invalid_client"),
        ({"client_id": "post", "token": "x"}, {}, 401, "invalid_client"),
        ({"client_id": "basic", "token": "x"}, {}, 401, "invalid_client"),
        (
            {"client_id": "basic", "token": "x"},
            {"authorization": basic("basic", "wrong")},
            401,
            "invalid_client",
        ),
    ],
)
async def test_client_has_to_show_who_it_is(form, headers, status, error):
    async with authorization_server() as server:
        response = await revoke(server, headers=headers, **form)
        assert (response.status_code, error_of(response)) == (status, error)


async def test_confidential_client_revokes():
    async with authorization_server() as server:
        tokens = await server.log_in(BASIC)
        headers = {"authorization": basic("basic", BASIC.client_secret)}
        await revoke(server, "basic", headers, token=tokens["access_token"])
        assert not await server.is_good(tokens["access_token"])


def test_there_is_no_endpoint_where_it_is_not_enabled():
    provider = InMemoryOAuthProvider(auto_approve="alice", clients=[PUBLIC])
    routes = create_auth_routes(provider, "https://auth.example.com")
    assert {"/revoke", "/register"}.isdisjoint(each.path for each in routes)
