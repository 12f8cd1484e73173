"""Token endpoints: who asks, what comes back, and what is kept of it."""

from __future__ import annotations

import base64
import json

import pytest

from trio_mcp.auth import OAuthClientInformationFull, OAuthToken
from trio_mcp.auth._memory import ClientCredentialsGrant
from trio_mcp.auth._step_types import AssertionStep, HttpAnswer, HttpStep, SaveTokensStep, Stored
from trio_mcp.errors import OAuthFlowError, OAuthTokenError

TOKEN = "https://as.example/token"


def mine(**more):
    return OAuthClientInformationFull(client_id="m e", **more)


# Authentication of the client

SECRET = "s3cret/+ ä"


@pytest.mark.parametrize(
    ("client", "supported", "signs", "way"),
    [
        (mine(), None, False, "none"),
        (mine(token_endpoint_auth_method="none", client_secret=SECRET), None, False, "none"),
        (mine(token_endpoint_auth_method="client_secret_post", client_secret=SECRET), None, False, "post"),
        (mine(token_endpoint_auth_method="client_secret_basic", client_secret=SECRET), None, False, "basic"),
        (mine(token_endpoint_auth_method="private_key_jwt"), None, True, "jwt"),
        (mine(client_secret=SECRET), None, False, "basic"),
        (mine(client_secret=SECRET), ["client_secret_post", "client_secret_basic"], False, "basic"),
        (mine(client_secret=SECRET), ["client_secret_post"], False, "post"),
        (mine(client_secret=SECRET), ["private_key_jwt"], False, "basic"),
        (mine(), ["private_key_jwt"], True, "jwt"),
    ],
)  # fmt: skip
def test_client_proves_who_it_is(world, client, supported, signs, way):
    world.publish(token_endpoint_auth_methods_supported=supported)
    world.options |= {"client_info": client, "signs_assertions": signs}
    assert world.challenge()
    [form] = world.forms()
    header = world.sent_to(TOKEN)[0].headers.get("Authorization")
    assert form["client_id"] == "m e"
    assert form.get("client_secret") == (SECRET if way == "post" else None)
    assert (header is not None) == (way == "basic")
    if header is not None:
        # RFC 6749, section 2.3.1: each is encoded before they are joined.
        assert base64.b64decode(header.removeprefix("Basic ")) == b"m%20e:s3cret%2F%2B%20%C3%A4"
    assert form.get("client_assertion") == (
        "assertion-for-https://as.example" if way == "jwt" else None
    )
    assert form.get("client_assertion_type") == (
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" if way == "jwt" else None
    )


def test_assertion_is_asked_for_with_all_that_may_be_its_audience(world):
    world.options |= {"client_info": mine(), "signs_assertions": True}
    assert world.challenge()
    assert [step for step in world.steps if isinstance(step, AssertionStep)] == [
        AssertionStep(
            kind="client_assertion",
            audience="https://as.example",
            token_endpoint=TOKEN,
            client_id="m e",
        )
    ]


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (mine(token_endpoint_auth_method="tls_client_auth"), "authentication 'tls_client_auth'"),
        (mine(token_endpoint_auth_method="client_secret_jwt"), "authentication 'client_secret_jwt'"),
        (mine(token_endpoint_auth_method="client_secret_basic"), "has no secret"),
        (mine(token_endpoint_auth_method="private_key_jwt"), "has no key to sign by"),
    ],
)  # fmt: skip
def test_authentication_that_cannot_be_is_told(world, client, message):
    world.options["client_info"] = client
    with pytest.raises(OAuthFlowError, match=f"The client 'm e' has to use .*{message}|{message}"):
        world.challenge()
    assert world.forms() == []


# The answer


@pytest.mark.parametrize("status", [200, 201])
@pytest.mark.parametrize(
    ("written", "read"),
    [
        (3600, 3600), ("3600", 3600), (" 60 ", 60), (60.0, 60), (0, 0), (-5, 0), (None, None), ("", None),
        ("soon", None), (True, None), ([], None), ("²", None), ("9" * 5000, 999_999_999_999),
        pytest.param(10**400, 999_999_999_999, id="10**400"), pytest.param(-(10**400), 0, id="-10**400"), (1e300, 999_999_999_999),
    ],
)  # fmt: skip
def test_time_that_a_token_lasts_is_read_from_what_servers_write(
    world, answer, status, written, read
):
    world.routes[TOKEN] = answer(status, {"access_token": "a", "expires_in": written})
    assert world.challenge()
    tokens = world.memory.tokens
    assert tokens.expires_in == read
    # None at all is no time that anybody could mean.
    assert world.memory.expires_at == (1_000_000 + read if read else None)
    assert tokens.extra.get("expires_at") == world.memory.expires_at


def test_number_that_is_too_big_is_an_error_as_in_any_json(world):
    world.routes[TOKEN] = HttpAnswer(200, {}, b'{"access_token": "a", "expires_in": 1e999}')
    with pytest.raises(OAuthTokenError, match="answered no JSON"):
        world.challenge()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "answered no JSON"),
        (b"<html>the-code</html>", "answered no JSON"),
        (b"access_token=a&token_type=bearer", "answered no JSON"),
        (b"[]", "answered JSON that is no object"),
        ({}, "json.access_token: expected a string, got nothing"),
        ({"access_token": None}, "json.access_token"),
        ({"access_token": 5}, "json.access_token"),
        ({"access_token": ""}, "json.access_token"),
        ({"access_token": "a\r\nX: y"}, "that no header can carry"),
        ({"access_token": "ä"}, "that no header can carry"),
        ({"access_token": "a b"}, "that no header can carry"),
        ({"access_token": "a", "token_type": "mac"}, "of the type 'mac', expected 'Bearer'"),
        ({"access_token": "a", "token_type": "DPoP"}, "of the type 'DPoP', expected 'Bearer'"),
        ({"access_token": "a", "token_type": "N_A"}, "of the type 'N_A', expected 'Bearer'"),
        ({"access_token": "a", "scope": 5}, "json.scope"),
        ({"access_token": "a", "refresh_token": [5]}, "json.refresh_token"),
    ],
)
def test_answer_without_a_token_is_an_error(world, answer, body, message):
    world.routes[TOKEN] = answer(200, body)
    with pytest.raises(OAuthTokenError, match=message) as caught:
        world.challenge()
    assert "the-code" not in str(caught.value)
    assert world.memory.tokens is None
    assert world.stored.tokens is None


@pytest.mark.parametrize("written", ["bearer", "BEARER", "Bearer", None])
def test_kind_of_the_token_has_one_spelling(world, answer, written):
    world.token_extra = {"token_type": written}
    assert world.challenge()
    assert world.memory.tokens.token_type == "Bearer"


@pytest.mark.parametrize(
    ("status", "body", "code", "message"),
    [
        (400, {"error": "invalid_grant", "error_description": "Code expired"}, "invalid_grant", r"answered 400: invalid_grant \(Code expired\)"),
        (401, {"error": "invalid_client"}, "invalid_client", "answered 401: invalid_client"),
        (400, {"error": 5, "error_description": []}, None, "answered 400"),
        (400, b"<html>", None, "answered 400"),
        (404, b"", None, "answered 404"),
        (302, b"", None, "answered 302"),
        (503, b"", None, "answered 503"),
        (204, b"", None, "answered 204"),
    ],
)  # fmt: skip
def test_refusal_is_told(world, answer, status, body, code, message):
    world.routes[TOKEN] = answer(status, body)
    with pytest.raises(OAuthTokenError, match=message) as caught:
        world.challenge()
    assert caught.value.error_code == code
    assert TOKEN in str(caught.value)


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_refusal_that_quotes_secrets_does_not_show_them(world, method):
    world.options["client_info"] = mine(
        client_secret="s3cret-word", token_endpoint_auth_method=method
    )

    def refuse(step):
        body = {"error": "bad s3cret-word", "error_description": step.content.decode()}
        return HttpAnswer(400, {}, json.dumps(body).encode())

    world.routes[TOKEN] = refuse
    with pytest.raises(OAuthTokenError) as caught:
        world.challenge()
    for secret in ("s3cret-word", "the-code", world.last_verifier()):
        assert secret not in str(caught.value)


def test_scope_that_is_not_said_is_what_was_asked_for(world):
    assert world.challenge(header='Bearer scope="a b"')
    assert world.stored.tokens.scope == "a b"
    world.memory.drop_tokens()
    world.token_extra = {"scope": "a"}
    assert world.challenge()
    assert world.stored.tokens.scope == "a"


def test_what_is_kept_beside_a_token_does_not_come_from_the_server(world):
    world.token_extra = {
        "expires_at": 5,
        "issuer": "https://evil.example",
        "jkt": "x",
        "id_token": "i",
    }
    assert world.challenge()
    assert world.stored.tokens.extra == {
        "expires_at": 1_003_600,
        "issuer": "https://as.example",
        "id_token": "i",
    }


# The store


def stored(world, *, issuer="https://as.example", expires_at=None, refresh_token="old"):
    extra = {"issuer": issuer, "expires_at": expires_at}
    return Stored(
        tokens=OAuthToken(
            access_token="kept",
            refresh_token=refresh_token,
            extra={key: value for key, value in extra.items() if value is not None},
        ),
        client_info=OAuthClientInformationFull(client_id="mine", issuer="https://as.example"),
    )


@pytest.mark.parametrize("expires_at", [None, 1_000_011])
def test_token_in_the_store_is_used(world, answer, expires_at):
    world.stored = stored(world, expires_at=expires_at)
    seen = []
    world.call(lambda headers: seen.append(headers) or answer(200))
    assert seen == [{"Authorization": "Bearer kept"}]


@pytest.mark.parametrize("lasts", [1, 5, 60])
def test_token_that_lasts_shortly_is_used(world, answer, lasts):
    world.token_extra = {"expires_in": lasts}
    assert world.call(lambda headers: answer(200 if headers else 401)).status == 200
    assert world.call(lambda headers: answer(200 if headers else 401)).status == 200
    assert len(world.forms()) == 1
    world.now += lasts
    assert world.call(lambda headers: answer(200 if headers else 401)).status == 200
    assert len(world.forms()) == 2


def test_token_that_has_expired_on_its_way_is_tried(world, answer):
    def slow(step):
        found = world.give_token(step)
        world.now += 100
        return found

    world.token_extra = {"expires_in": 60}
    world.routes[TOKEN] = slow
    assert world.call(lambda headers: answer(200 if headers else 401)).status == 200


@pytest.mark.req("R-499")
@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("expires_at", [5, 1_000_010])
def test_token_in_the_store_that_has_expired_is_renewed_first(world, answer, expires_at, is_open):
    # A server that serves anybody would not ask for it, and show less.
    world.stored = stored(world, expires_at=expires_at)
    seen = []
    world.call(lambda headers: seen.append(headers) or answer(200 if headers or is_open else 401))
    assert seen == [{"Authorization": "Bearer access-1"}]
    assert [form["grant_type"] for form in world.forms()] == ["refresh_token"]
    assert world.registered == 0


@pytest.mark.parametrize(
    ("why", "asked"),
    [
        ("no refresh token", 0),
        ("nobody knows whose it is", 0),
        ("another authorization server", 2),
        ("no metadata that can be used", 1),
        ("the refresh is refused", 3),
    ],
)
def test_what_cannot_be_renewed_is_looked_for_once_and_not_sent(world, answer, why, asked):
    world.stored = stored(
        world,
        expires_at=5,
        refresh_token=None if why == "no refresh token" else "old",
        issuer=None if why == "nobody knows whose it is" else "https://as.example",
    )
    if why == "another authorization server":
        world.publish("https://b.example")
    elif why == "no metadata that can be used":
        world.publish(resource="https://elsewhere.example/mcp")
    elif why == "the refresh is refused":
        world.routes[TOKEN] = answer(400, {"error": "invalid_grant"})
    if why == "nobody knows whose it is":
        world.stored = Stored(tokens=world.stored.tokens)
    seen = []
    for _ in range(2):
        world.call(lambda headers: seen.append(headers) or answer(200))
    assert seen == [{}, {}]
    assert len(world.requested) == asked


def test_a_failure_of_the_network_is_told_and_the_token_stays(world, answer):
    world.stored = stored(world, expires_at=5)
    where = "https://h.example/.well-known/oauth-protected-resource/mcp"
    found = world.routes[where]
    world.routes[where] = OSError("unreachable")
    with pytest.raises(OSError, match="unreachable"):
        world.call(lambda headers: answer(200))
    world.routes[where] = found
    seen = []
    world.call(lambda headers: seen.append(headers) or answer(200))
    assert seen == [{"Authorization": "Bearer access-1"}]


def test_a_program_gets_another_token_for_the_same_scopes(world, answer):
    world.options |= {
        "grant": ClientCredentialsGrant(),
        "client_info": OAuthClientInformationFull(client_id="mine", client_secret="s"),
    }
    world.stored = stored(world, expires_at=5)
    tokens = world.stored.tokens.evolve(scope="read", refresh_token=None)
    world.stored = Stored(tokens=tokens)
    seen = []
    world.call(lambda headers: seen.append(headers) or answer(200))
    assert seen == [{"Authorization": "Bearer access-1"}]
    [form] = world.forms()
    assert (form["grant_type"], form["scope"]) == ("client_credentials", "read")


def test_a_token_for_one_second_can_be_used(world, answer):
    world.now += 0.95
    world.token_extra = {"expires_in": 1}
    for _ in range(3):
        assert world.call(lambda headers: answer(200 if headers else 401)).status == 200
    assert len(world.forms()) == 1
    world.restart()
    assert world.call(lambda headers: answer(200 if headers else 401)).status == 200
    assert world.forms() == []


def test_token_of_another_issuer_than_the_one_given_is_not_used(world, answer):
    world.options["issuer"] = "https://as.example"
    world.stored = stored(world, issuer="https://b.example")
    seen = []
    world.call(lambda headers: seen.append(headers) or answer(200))
    assert seen == [{}]


@pytest.mark.parametrize("stamp", [5, [], None])
def test_store_with_odd_marks_is_read(world, answer, stamp):
    world.stored = Stored(
        tokens=OAuthToken(
            access_token="kept",
            refresh_token="old",
            extra={"issuer": stamp, "expires_at": "never"},
        )
    )
    world.call(
        lambda headers: answer(200 if headers.get("Authorization") != "Bearer kept" else 401)
    )
    # Whose refresh token it is nobody knows, so nobody gets it.
    assert [form["grant_type"] for form in world.forms()] == ["authorization_code"]


def test_store_is_read_once(world, answer):
    world.call(lambda headers: answer(200))
    world.call(lambda headers: answer(200))
    assert len(world.steps) == 1


def test_failure_of_the_store_leaves_the_token_in_use(world, answer):
    real, failing = world.carry_out, True

    def carry_out(step):
        if failing and isinstance(step, SaveTokensStep):
            raise OSError("disk full")
        return real(step)

    world.carry_out = carry_out
    with pytest.raises(OSError, match="disk full"):
        world.challenge()
    with pytest.raises(OSError, match="disk full"):
        world.call(lambda headers: answer(200))
    failing = False
    assert world.call(lambda headers: answer(200 if headers else 401)).status == 200
    assert world.stored.tokens.access_token == "access-1"
    assert (
        len([step for step in world.steps if isinstance(step, HttpStep) and step.url == TOKEN])
        == 1
    )
