"""The authorization code grant, from the first refusal to the token."""

from __future__ import annotations

import pytest

from trio_mcp.auth._pkce import matches


@pytest.mark.req("R-418", "R-421", "R-436", "R-502", "R-507")
def test_whole_flow(world):
    assert world.challenge()
    assert world.requested == [
        "https://h.example/.well-known/oauth-protected-resource/mcp",
        "https://as.example/.well-known/oauth-authorization-server",
        "https://as.example/register",
        "https://as.example/token",
    ]
    [query] = world.queries
    [form] = world.forms()
    assert query.pop("state")
    assert matches(form.pop("code_verifier"), query.pop("code_challenge"))
    assert query == {
        "response_type": "code",
        "client_id": "client-1",
        "redirect_uri": "http://127.0.0.1:3030/callback",
        "code_challenge_method": "S256",
        "resource": "https://h.example/mcp",
    }
    assert form == {
        "grant_type": "authorization_code",
        "code": "the-code",
        "client_id": "client-1",
        "redirect_uri": "http://127.0.0.1:3030/callback",
        "resource": "https://h.example/mcp",
    }
    assert world.memory.tokens.access_token == "access-1"
