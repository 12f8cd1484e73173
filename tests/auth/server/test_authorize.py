"""The authorization endpoint: whom it sends where, and whom nowhere."""

from __future__ import annotations

import logging
import re
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.auth.server._authorization_server import (
    ISSUER,
    PKCE,
    PUBLIC,
    REDIRECT,
    RESOURCE,
    answer_in,
    authorization_server,
    told_on_page,
)
from trio_mcp.auth import (
    AuthorizeError,
    ClientRegistrationOptions,
    DPoPSettings,
    InMemoryOAuthProvider,
    OAuthClientInformationFull,
)

TWO_URIS = PUBLIC.evolve(client_id="two", redirect_uris=[REDIRECT, f"{REDIRECT}2"])


class Provider(InMemoryOAuthProvider):
    """Keeps what it is asked."""

    def __init__(self, clients=(PUBLIC, TWO_URIS), error=None):
        super().__init__(auto_approve="alice", clients=clients)
        self.asked = []
        self.error = error

    async def authorize(self, client, params):
        self.asked.append(params)
        if self.error is not None:
            raise self.error
        return await super().authorize(client, params)


@pytest.mark.req("R-415", "R-430")
async def test_browser_goes_back_with_a_code_the_state_and_the_issuer():
    async with authorization_server() as server:
        response = await server.authorize(state="a b&c=ü")
        answer = answer_in(response)
        assert answer.keys() == {"code", "state", "iss"}
        assert answer["state"] == "a b&c=ü"
        assert answer["iss"] == ISSUER
        assert response.status_code == 302
        assert response.headers["cache-control"] == "no-store"


async def test_a_form_is_answered_with_a_redirect_that_is_got():
    async with authorization_server() as server:
        form = {
            "client_id": "public",
            "response_type": "code",
            "code_challenge": PKCE.code_challenge,
            "code_challenge_method": "S256",
        }
        response = await server.http.post("/authorize", data=form)
        assert response.status_code == 303
        assert answer_in(response).keys() == {"code", "iss"}


@pytest.mark.parametrize("method", ["HEAD", "PUT", "OPTIONS"])
async def test_other_methods_issue_nothing(method):
    provider = Provider()
    async with authorization_server(provider) as server:
        response = await server.http.request(method, "/authorize")
        assert response.status_code == 405
        assert provider.asked == []


@pytest.mark.req("R-508", "R-510", "R-501")
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"client_id": None}, id="no client"),
        pytest.param({"client_id": ""}, id="empty client"),
        pytest.param({"client_id": "nobody"}, id="unknown client"),
        pytest.param({"client_id": "p" * 3000}, id="long client"),
        pytest.param({"redirect_uri": f"{REDIRECT}/"}, id="slash"),
        pytest.param({"redirect_uri": f"{REDIRECT}?a=b"}, id="query"),
        pytest.param({"redirect_uri": f"{REDIRECT}#f"}, id="fragment"),
        pytest.param({"redirect_uri": f"{REDIRECT}/../evil"}, id="dots"),
        pytest.param({"redirect_uri": REDIRECT.upper()}, id="case"),
        pytest.param({"redirect_uri": REDIRECT.replace(".com", ".com:443")}, id="port"),
        pytest.param({"redirect_uri": REDIRECT.replace("https", "http")}, id="scheme"),
        pytest.param({"redirect_uri": "https://client.example.com@evil.example/"}, id="user"),
        pytest.param({"redirect_uri": "https://evil.example/callback"}, id="host"),
        pytest.param({"redirect_uri": "//evil.example"}, id="relative"),
        pytest.param({"redirect_uri": "javascript:alert(1)"}, id="script"),
        pytest.param({"redirect_uri": f" {REDIRECT}"}, id="blank"),
    ],
)
async def test_browser_is_sent_nowhere_without_a_known_client_and_its_own_uri(changes):
    provider = Provider()
    async with authorization_server(provider) as server:
        response = await server.authorize(**changes)
        assert response.status_code == 400
        assert "location" not in response.headers
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert provider.asked == []


async def test_uri_has_to_be_named_where_there_are_several():
    async with authorization_server(Provider()) as server:
        assert (await server.authorize(TWO_URIS, redirect_uri=None)).status_code == 400
        assert answer_in(await server.authorize(TWO_URIS, redirect_uri=REDIRECT))["code"]


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
async def test_browser_is_sent_nowhere_if_two_clients_or_uris_are_named(name):
    async with authorization_server() as server:
        value = {"client_id": "public", "redirect_uri": REDIRECT}[name]
        query = f"client_id=public&redirect_uri={REDIRECT}&response_type=code&{name}={value}"
        response = await server.http.get(f"/authorize?{query}")
        assert response.status_code == 400
        assert f"The parameter {name} came twice" in response.text


@pytest.mark.req("R-442", "R-502", "R-503", "R-430")
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code id_token"}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"response_mode": "form_post"}, "invalid_request"),
        ({"request": "ey.J.x"}, "invalid_request"),
        ({"request_uri": "https://evil.example/r"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "v" * 42}, "invalid_request"),
        ({"code_challenge": "v" * 44}, "invalid_request"),
        ({"code_challenge": "+" * 43}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"scope": "read admin"}, "invalid_scope"),
        ({"resource": "/mcp"}, "invalid_target"),
        ({"resource": "mcp.example.com"}, "invalid_target"),
        ({"resource": f"{RESOURCE}#part"}, "invalid_target"),
        ({"resource": f"{RESOURCE}/{'x' * 2048}"}, "invalid_target"),
        ({"dpop_jkt": "short"}, "invalid_request"),
    ],
)
async def test_client_is_told_what_is_wrong(changes, error):
    provider = Provider()
    async with authorization_server(provider, dpop=DPoPSettings()) as server:
        answer = answer_in(await server.authorize(**changes))
        assert answer["error"] == error
        assert answer["error_description"]
        assert answer["state"] == "xyz"
        assert answer["iss"] == ISSUER
        assert "code" not in answer
        assert provider.asked == []


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"code_challenge": None}, "invalid_request"),
        ({"resource": "/mcp"}, "invalid_target"),
    ],
)
async def test_link_to_this_server_leads_to_no_place_that_a_stranger_chose(changes, error):
    redirect = "https://evil.example/phish?a=b"
    async with authorization_server() as server:
        document = {"redirect_uris": [redirect], "token_endpoint_auth_method": "none"}
        registered = (await server.http.post("/register", json=document)).content
        client = OAuthClientInformationFull.from_json(registered)
        response = await server.authorize(client, **changes)
        assert response.status_code == 400
        assert ">evil.example</a>" in response.text
        assert response.headers["x-frame-options"] == "DENY"
        # A person who means to goes on, and the client hears of it.
        link = re.search(r'href="([^"]*)"', response.text)[1]
        assert link.startswith("https://evil.example/phish?a=b&amp;error=")
        told = dict(parse_qsl(urlsplit(unescape(link)).query))
        assert (told["error"], told["state"], told["iss"]) == (error, "xyz", ISSUER)


@pytest.mark.parametrize(
    ("raised", "status", "error"),
    [
        (AuthorizeError("access_denied", "not you"), 400, "access_denied"),
        (ValueError("the key is s3cret"), 500, "server_error"),
    ],
)
async def test_refusal_of_a_provider_leads_no_stranger_away_either(raised, status, error, caplog):
    caplog.set_level(logging.CRITICAL, "trio_mcp.auth")
    client = PUBLIC.evolve(client_id_issued_at=1_900_000_000)
    async with authorization_server(Provider([client], raised)) as server:
        response = await server.authorize(client)
        assert response.status_code == status
        assert told_on_page(response)["error"] == error
        assert "s3cret" not in response.text


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("&scope=read&scope=write", "invalid_request"),
        ("&state=a&state=b", "invalid_request"),
        ("&unknown=a&unknown=a", "invalid_request"),
        (f"&resource={RESOURCE}&resource={RESOURCE}2", "invalid_target"),
    ],
)
async def test_parameter_that_came_twice_is_told_to_the_client(query, error):
    async with authorization_server() as server:
        request = (
            f"client_id=public&response_type=code&code_challenge={PKCE.code_challenge}"
            f"&code_challenge_method=S256{query}"
        )
        answer = answer_in(await server.http.get(f"/authorize?{request}"))
        assert answer["error"] == error
        assert "state" not in answer


@pytest.mark.parametrize(
    "query",
    [
        f"client_id=public&state={'x' * 9000}",
        "client_id=%ff",
        "client_id=ü",
        "&".join(f"p{i}=1" for i in range(101)),
        "state=%0a",
    ],
)
async def test_parameters_that_cannot_be_read_get_a_page(query):
    async with authorization_server() as server:
        response = await server.http.get("/authorize", params=query)
        assert response.status_code == 400
        assert "location" not in response.headers


@pytest.mark.parametrize(
    "changes", [{"grant_types": ["refresh_token"]}, {"response_types": ["none"]}]
)
async def test_client_that_is_not_registered_for_codes_gets_none(changes):
    client = PUBLIC.evolve(**changes)
    async with authorization_server(clients=[client]) as server:
        assert answer_in(await server.authorize(client))["error"] == "unauthorized_client"


async def test_own_query_of_a_redirect_uri_stays_as_it_is():
    client = PUBLIC.evolve(redirect_uris=[f"{REDIRECT}?Tenant=%41+b&x"])
    async with authorization_server(clients=[client]) as server:
        location = (await server.authorize(client)).headers["location"]
        assert location.startswith(f"{REDIRECT}?Tenant=%41+b&x&code=")


async def test_provider_is_told_everything_once_checked():
    provider = Provider()
    async with authorization_server(provider, dpop=DPoPSettings()) as server:
        await server.authorize(scope="write read write", dpop_jkt="k" * 43)
        await server.authorize(scope=None, state=None, resource=None, redirect_uri=None)
    first, second = provider.asked
    assert first.scopes == ["write", "read"]
    assert (first.resource, first.state, first.issuer) == (RESOURCE, "xyz", ISSUER)
    assert (first.redirect_uri, first.redirect_uri_provided_explicitly) == (REDIRECT, True)
    assert first.dpop_jkt == "k" * 43
    assert (second.scopes, second.state, second.resource) == (None, None, None)
    assert (second.redirect_uri, second.redirect_uri_provided_explicitly) == (REDIRECT, False)


async def test_default_scopes_are_for_those_who_name_none():
    provider = Provider()
    options = ClientRegistrationOptions(default_scopes=["read"])
    async with authorization_server(provider, registration=options) as server:
        await server.authorize(scope=None)
        await server.authorize(scope="write")
    assert [each.scopes for each in provider.asked] == [["read"], ["write"]]


@pytest.mark.parametrize(
    ("valid", "scope", "error"),
    [
        (["read"], "read", None),
        (["read"], "write", "invalid_scope"),
        (None, "read", "invalid_scope"),
    ],
)
async def test_client_of_which_no_scopes_are_known_may_ask_for_the_valid_ones(valid, scope, error):
    client = PUBLIC.evolve(scope=None)
    options = ClientRegistrationOptions(valid_scopes=valid)
    async with authorization_server(clients=[client], registration=options) as server:
        assert answer_in(await server.authorize(client, scope=scope)).get("error") == error


async def test_no_client_gets_a_scope_that_there_is_not():
    greedy = PUBLIC.evolve(scope="read admin")
    options = ClientRegistrationOptions(valid_scopes=["read"])
    async with authorization_server(clients=[greedy], registration=options) as server:
        refused = answer_in(await server.authorize(greedy, scope="read admin"))
        assert refused["error"] == "invalid_scope"
        assert answer_in(await server.authorize(greedy, scope="read"))["code"]


@pytest.mark.parametrize(
    ("scope", "is_taken"),
    [
        (" ".join(f"s{number}" for number in range(100)), True),
        (" ".join(f"s{number}" for number in range(101)), False),
        ("s" * 4096, True),
        ("s" * 4097, False),
        ("s1 " * 1000, True),
    ],
)
async def test_scopes_are_as_many_as_people_can_read(scope, is_taken):
    client = PUBLIC.evolve(scope=scope)
    options = ClientRegistrationOptions()
    async with authorization_server(clients=[client], registration=options) as server:
        answer = answer_in(await server.authorize(client, scope=scope))
        assert answer.get("error") == (None if is_taken else "invalid_scope")


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "s" * 8192},
        {"state": "\u00e9" * 4096},
        {"unknown": "x" * 8192},
        {f"p{number}": "x" * 200 for number in range(50)},
    ],
)
async def test_parameters_are_as_long_as_a_url_can_hold_them(changes):
    async with authorization_server() as server:
        response = await server.authorize(**changes)
        assert response.status_code == 400
        assert "8192 bytes together" in response.text


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (AuthorizeError("access_denied", 'the "owner" said nö'), "access_denied"),
        (AuthorizeError("temporarily_unavailable"), "temporarily_unavailable"),
        (ValueError("the key is s3cret"), "server_error"),
    ],
)
async def test_what_a_provider_raises_is_told_to_the_client(raised, error, caplog):
    caplog.set_level(logging.CRITICAL, "trio_mcp.auth")
    async with authorization_server(Provider(error=raised)) as server:
        response = await server.authorize()
        answer = answer_in(response)
        assert answer["error"] == error
        assert (answer["state"], answer["iss"]) == ("xyz", ISSUER)
        assert answer.get("error_description") in {None, "the 'owner' said n?"}
        assert "s3cret" not in response.headers["location"]


@pytest.mark.req("R-431")
async def test_issuer_is_sent_and_advertised_only_by_providers_that_do_so_always():
    provider = Provider(error=AuthorizeError("access_denied"))
    provider.sends_issuer = False
    async with authorization_server(provider) as server:
        assert "iss" not in answer_in(await server.authorize())
        assert "iss" not in answer_in(await server.authorize(scope="admin"))
        published = (await server.http.get("/.well-known/oauth-authorization-server")).json()
        assert "authorization_response_iss_parameter_supported" not in published


async def test_page_escapes_what_came():
    async with authorization_server() as server:
        response = await server.authorize(redirect_uri="https://x/<script>alert(1)</script>")
        assert response.status_code == 400
        assert "<script>" not in response.text
        assert response.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]


async def test_log_tells_why_and_no_secret(caplog):
    caplog.set_level(logging.DEBUG, "trio_mcp.auth")
    async with authorization_server() as server:
        await server.authorize(redirect_uri="https://evil.example/\u2028x")
        await server.authorize(state="my-state", scope="admin")
        code = await server.code()
    assert "is not registered for the client" in caplog.text
    assert "invalid_scope" in caplog.text
    assert code not in caplog.text
    assert "my-state" not in caplog.text
    assert all(record.getMessage().isprintable() for record in caplog.records)
