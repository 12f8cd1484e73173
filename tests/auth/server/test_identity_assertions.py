"""Assertions of identity providers: which are believed, for whom, what for, and how often."""

from __future__ import annotations

import logging
import time
import uuid

import httpx
import pytest

from tests.auth.server._authorization_server import (
    BASIC,
    ISSUER,
    POST,
    PUBLIC,
    RESOURCE,
    Clock,
    answer_in,
    authorization_server,
    error_of,
)
from trio_mcp.auth import (
    JWT_BEARER_GRANT_TYPE,
    ClientRegistrationOptions,
    IdentityAssertionParams,
    IdentityAssertionVerifier,
    IdentityProvider,
    InMemoryOAuthProvider,
    OAuthAuthorizationServerProvider,
    TokenError,
)
from trio_mcp.auth._jwt import generate_key, public_jwk, sign_jwt

IDP = "https://idp.example.com"
TYP = "oauth-id-jag+jwt"
KEY = generate_key("ES256")
OTHER_KEY = generate_key("ES256")
RSA_KEY = generate_key("RS256")
KEYS = {"keys": [{**public_jwk(KEY), "kid": "k1"}]}
GRANTS = ["authorization_code", JWT_BEARER_GRANT_TYPE]
CLIENT = BASIC.evolve(grant_types=GRANTS)
OTHER_CLIENT = POST.evolve(grant_types=GRANTS)
OPEN_CLIENT = PUBLIC.evolve(grant_types=GRANTS)
PLAIN_CLIENT = BASIC.evolve(client_id="plain")
SECOND = "https://second.example.com/mcp"


def claims(**changes):
    now = int(time.time())
    found = {
        "iss": IDP,
        "sub": "U123",
        "aud": ISSUER,
        "client_id": CLIENT.client_id,
        "jti": str(uuid.uuid4()),
        "exp": now + 300,
        "iat": now,
        "resource": RESOURCE,
        "scope": "read write",
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


def signed(key=KEY, algorithm="ES256", typ=TYP, kid="k1", **changes):
    return sign_jwt(claims(**changes), key, algorithm, typ=typ, kid=kid)


def verifier(jwks=KEYS, algorithms=("ES256",), resources=(RESOURCE,), **options):
    provider = IdentityProvider(issuer=IDP, jwks=jwks, algorithms=algorithms)
    return IdentityAssertionVerifier([provider], issuer=ISSUER, resources=resources, **options)


def server_for(made=None, **options):
    provider = InMemoryOAuthProvider(
        auto_approve="alice",
        clients=[CLIENT, OTHER_CLIENT, OPEN_CLIENT, PLAIN_CLIENT],
        identity_assertions=made or verifier(),
    )
    return authorization_server(provider, **{"identity_assertion_enabled": True, **options})


async def exchange(server, assertion, client=CLIENT, **changes):
    form = {"grant_type": JWT_BEARER_GRANT_TYPE, "assertion": assertion, **changes}
    return await server.token(form, client)


@pytest.mark.req("R-723", "R-722")
async def test_assertion_is_exchanged_for_a_token_and_nothing_more():
    async with server_for() as server:
        response = await exchange(server, signed())
        assert response.status_code == 200
        token = response.json()
        assert token["scope"] == "read write"
        assert "refresh_token" not in token
        found = await server.provider.load_access_token(token["access_token"])
        assert (found.client_id, found.resource) == (CLIENT.client_id, RESOURCE)
        # Nobody there is taken for somebody here.
        assert found.subject == f"{IDP}#U123"


@pytest.mark.req("R-723")
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"key": OTHER_KEY}, "signature"),
        ({"key": OTHER_KEY, "kid": "k2"}, "no key is known"),
        ({"key": RSA_KEY, "algorithm": "RS256"}, "not signed by an algorithm"),
        ({"typ": None}, "another kind"),
        ({"typ": "JWT"}, "another kind"),
        ({"typ": "at+jwt"}, "another kind"),
        ({"typ": "dpop+jwt"}, "another kind"),
        ({"iss": "https://evil.example"}, "not trusted"),
        ({"iss": f"{IDP}/"}, "not trusted"),
        ({"iss": None}, "not trusted"),
        ({"iss": [IDP]}, "not trusted"),
        ({"aud": f"{ISSUER}/"}, "somebody else"),
        ({"aud": f"{ISSUER}/token"}, "somebody else"),
        ({"aud": RESOURCE}, "somebody else"),
        ({"aud": None}, "somebody else"),
        ({"aud": [ISSUER, "https://other.example"]}, "for others, too"),
        ({"client_id": "post"}, "another client"),
        ({"client_id": None}, "no client_id"),
        ({"sub": None}, "no sub"),
        ({"sub": ""}, "sub is no string"),
        ({"sub": 5}, "sub is no string"),
        ({"jti": None}, "no jti"),
        ({"jti": ""}, "jti is no string"),
        ({"jti": 5}, "jti is no string"),
        ({"exp": None}, "no exp"),
        ({"exp": int(time.time()) - 60}, "expired"),
        ({"exp": int(time.time()) + 100_000}, "longer than"),
        ({"exp": "later"}, "no number"),
        ({"iat": None}, "no iat"),
        ({"iat": int(time.time()) + 1000}, "future"),
        ({"nbf": int(time.time()) + 1000}, "not valid yet"),
        ({"resource": "https://other.example"}, "none of those"),
        ({"resource": f"{RESOURCE}/"}, "none of those"),
        ({"resource": ["https://other.example"]}, "none of those"),
        ({"resource": []}, "none of those"),
        ({"resource": 5}, "none of those"),
    ],
)
async def test_assertion_for_something_else_is_an_invalid_grant(changes, says):
    async with server_for() as server:
        assertion = signed(**changes)
        response = await exchange(server, assertion)
        assert response.status_code == 400
        assert error_of(response) == "invalid_grant"
        assert says in response.json()["error_description"]
        assert assertion not in response.text


@pytest.mark.req("R-723", "R-728")
@pytest.mark.parametrize("kind", ["none", "HS256", "garbage", "two parts", "long", "crit"])
async def test_what_nobody_signed_is_an_invalid_grant(kind):
    header, payload, signature = signed().split(".")
    assertion = {
        "none": f"eyJhbGciOiJub25lIiwidHlwIjoib2F1dGgtaWQtamFnK2p3dCJ9.{payload}.",
        "HS256": f"eyJhbGciOiJIUzI1NiIsInR5cCI6Im9hdXRoLWlkLWphZytqd3QifQ.{payload}.{signature}",
        "garbage": "x",
        "two parts": f"{header}.{payload}",
        "long": f"{header}.{payload}{'A' * 20_000}.{signature}",
        "crit": f"eyJhbGciOiJFUzI1NiIsImNyaXQiOlsiYiJdfQ.{payload}.{signature}",
    }[kind]
    async with server_for() as server:
        assert error_of(await exchange(server, assertion)) == "invalid_grant"


@pytest.mark.req("R-723")
async def test_assertion_is_good_once():
    async with server_for() as server:
        assertion = signed()
        assert (await exchange(server, assertion)).status_code == 200
        again = await exchange(server, assertion)
        assert error_of(again) == "invalid_grant"
        assert "came before" in again.json()["error_description"]
        # Signed anew it is still the same one.
        same = signed(jti="one"), signed(jti="one", scope="read")
        assert [(await exchange(server, each)).status_code for each in same] == [200, 400]


async def test_assertion_that_was_refused_is_not_used_up():
    async with server_for() as server:
        assertion = signed()
        assert error_of(await exchange(server, assertion, OTHER_CLIENT)) == "invalid_grant"
        wrong = await exchange(server, assertion, resource="https://other.example")
        assert error_of(wrong) == "invalid_target"
        assert (await exchange(server, assertion)).status_code == 200


@pytest.mark.req("R-723")
async def test_what_came_is_remembered_until_it_has_expired_and_no_more_than_fits():
    clock = Clock(time.time())
    made = verifier(max_remembered=2, now=clock)
    params = [IdentityAssertionParams(assertion=signed(jti=str(number))) for number in range(3)]
    await made.verify(CLIENT, params[0])
    await made.verify(CLIENT, params[1])
    # There is no room, so it is refused: forgetting the first would let that come again.
    with pytest.raises(TokenError):
        await made.verify(CLIENT, params[2])
    clock.now += 400
    later = signed(jti="later", exp=int(clock.now) + 60)
    await made.verify(CLIENT, IdentityAssertionParams(assertion=later))
    assert len(made._replays) == 1


@pytest.mark.req("R-723")
@pytest.mark.parametrize(
    ("asserted", "asked", "granted"),
    [
        ("read write", None, ["read", "write"]),
        ("read write", "write", ["write"]),
        ("read", "read write admin", ["read"]),
        ("read", "admin", []),
        (None, None, []),
        (None, "read", []),
        (["read"], None, []),
    ],
)
async def test_scopes_are_those_that_were_asked_for_and_asserted(asserted, asked, granted):
    async with server_for() as server:
        changes = {} if asked is None else {"scope": asked}
        response = await exchange(server, signed(scope=asserted), **changes)
        token = response.json()
        assert token.get("scope", "").split() == granted
        found = await server.provider.load_access_token(token["access_token"])
        assert found.scopes == granted


@pytest.mark.req("R-723")
@pytest.mark.parametrize(
    ("resources", "asserted", "asked", "expected"),
    [
        ([RESOURCE], RESOURCE, None, RESOURCE),
        ([RESOURCE], RESOURCE, RESOURCE, RESOURCE),
        ([RESOURCE, SECOND], RESOURCE, SECOND, "invalid_target"),
        ([RESOURCE, SECOND], [RESOURCE, SECOND], SECOND, SECOND),
        ([RESOURCE, SECOND], [RESOURCE, SECOND], None, "invalid_target"),
        ([RESOURCE], [RESOURCE, SECOND], None, RESOURCE),
        ([RESOURCE], None, None, RESOURCE),
        ([RESOURCE], None, RESOURCE, RESOURCE),
        ([RESOURCE], None, SECOND, "invalid_target"),
        ([RESOURCE, SECOND], None, None, "invalid_target"),
        ([RESOURCE], RESOURCE, "no URI", "invalid_target"),
    ],
)
async def test_token_is_for_the_resource_of_the_assertion(resources, asserted, asked, expected):
    async with server_for(verifier(resources=resources)) as server:
        changes = {} if asked is None else {"resource": asked}
        response = await exchange(server, signed(resource=asserted), **changes)
        if expected == "invalid_target":
            assert error_of(response) == expected
            return
        found = await server.provider.load_access_token(response.json()["access_token"])
        assert found.resource == expected


@pytest.mark.parametrize(
    ("client", "options", "error"),
    [
        (OPEN_CLIENT, {}, "unauthorized_client"),
        (PLAIN_CLIENT, {}, "unauthorized_client"),
        (CLIENT.evolve(client_secret="wrong"), {}, "invalid_client"),
        (CLIENT, {"identity_assertion_enabled": False}, "unsupported_grant_type"),
    ],
)
async def test_who_may_bring_assertions(client, options, error):
    async with server_for(**options) as server:
        assertion = signed(client_id=client.client_id)
        assert error_of(await exchange(server, assertion, client)) == error


@pytest.mark.parametrize(
    ("asked", "granted"),
    [(None, "read"), ("read", "read"), ("read write", "read"), ("write", None)],
)
async def test_assertion_grants_no_scope_that_there_is_not(asked, granted):
    options = ClientRegistrationOptions(valid_scopes=["read"])
    changes = {} if asked is None else {"scope": asked}
    async with server_for(registration=options) as server:
        answer = (await exchange(server, signed(), **changes)).json()
    assert "error" not in answer
    assert answer.get("scope") == granted


async def test_where_only_identity_providers_let_people_in_nobody_logs_in():
    provider = InMemoryOAuthProvider(clients=[CLIENT], identity_assertions=verifier())
    async with authorization_server(provider, identity_assertion_enabled=True) as server:
        assert (await exchange(server, signed())).status_code == 200
        assert answer_in(await server.authorize(CLIENT))["error"] == "access_denied"
        assert (await server.http.get("/login")).status_code == 404


async def test_assertion_has_to_be_there():
    async with server_for() as server:
        assert error_of(await exchange(server, None)) == "invalid_request"


async def test_provider_that_takes_none_says_so():
    provider = InMemoryOAuthProvider(auto_approve="alice", clients=[CLIENT])
    async with authorization_server(provider, identity_assertion_enabled=True) as server:
        assert error_of(await exchange(server, signed())) == "unsupported_grant_type"

    class Minimal(OAuthAuthorizationServerProvider):
        pass

    params = IdentityAssertionParams(assertion="x")
    with pytest.raises(TokenError):
        await Minimal().exchange_identity_assertion(CLIENT, params)


@pytest.mark.req("R-724")
async def test_assertions_are_neither_logged_nor_shown(caplog):
    caplog.set_level(logging.DEBUG, "trio_mcp.auth")
    assertion = signed()
    async with server_for() as server:
        await exchange(server, assertion, resource="https://other.example")
        await exchange(server, assertion)
        await exchange(server, assertion)
    assert "came before" in caplog.text
    assert assertion not in caplog.text
    assert assertion not in repr(IdentityAssertionParams(assertion=assertion))


# Keys


class Keys:
    """An identity provider that publishes its keys."""

    def __init__(self):
        self.document = KEYS
        self.status = 200
        self.asked = 0

    def answer(self, _request):
        self.asked += 1
        return httpx.Response(self.status, json=self.document)

    def verifier(self, **options):
        provider = IdentityProvider(issuer=IDP, jwks_uri=f"{IDP}/keys")
        http = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))
        return IdentityAssertionVerifier(
            [provider], issuer=ISSUER, resources=[RESOURCE], http_client=http, **options
        )


async def verify(made, assertion):
    return await made.verify(CLIENT, IdentityAssertionParams(assertion=assertion))


@pytest.mark.req("R-723")
async def test_new_keys_are_found_and_old_ones_believed_no_more():
    clock, keys = Clock(time.time()), Keys()
    made = keys.verifier(now=clock)
    await verify(made, signed())
    await verify(made, signed())
    assert keys.asked == 1
    keys.document = {"keys": [{**public_jwk(OTHER_KEY), "kid": "k2"}]}
    with pytest.raises(TokenError):
        await verify(made, signed(OTHER_KEY, kid="k2"))
    # Not more often than that, whatever comes.
    assert keys.asked == 1
    clock.now += 30
    checked = await verify(made, signed(OTHER_KEY, kid="k2"))
    assert (checked.issuer, checked.subject, checked.resource) == (IDP, "U123", RESOURCE)
    assert keys.asked == 2
    with pytest.raises(TokenError):
        await verify(made, signed())


@pytest.mark.parametrize(("status", "document"), [(500, {}), (200, []), (200, {"keys": 5})])
async def test_keys_that_cannot_be_had_make_no_assertion_good(status, document):
    keys = Keys()
    keys.status, keys.document = status, document
    with pytest.raises(TokenError) as caught:
        await verify(keys.verifier(), signed())
    assert caught.value.error == "invalid_grant"
    keys.status, keys.document = 200, KEYS


async def test_key_of_one_identity_provider_signs_for_no_other():
    other = IdentityProvider(
        issuer="https://other.example", jwks={"keys": [public_jwk(OTHER_KEY)]}
    )
    made = IdentityAssertionVerifier(
        [IdentityProvider(issuer=IDP, jwks=KEYS), other], issuer=ISSUER, resources=[RESOURCE]
    )
    await verify(made, signed(OTHER_KEY, iss="https://other.example", kid=None))
    with pytest.raises(TokenError):
        await verify(made, signed(OTHER_KEY, kid=None))


@pytest.mark.req("R-728")
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, ValueError),
        ({"jwks": KEYS, "jwks_uri": f"{IDP}/keys"}, ValueError),
        ({"jwks_uri": "http://idp.example.com/keys"}, ValueError),
        ({"jwks": KEYS, "algorithms": ["none"]}, ValueError),
        ({"jwks": KEYS, "algorithms": ["HS256"]}, ValueError),
        ({"jwks": KEYS, "algorithms": []}, ValueError),
        ({"jwks": KEYS, "algorithms": "ES256"}, TypeError),
        ({"jwks": KEYS, "issuer": 5}, TypeError),
    ],
)
def test_identity_provider_has_keys_and_algorithms_that_can_be_trusted(options, error):
    with pytest.raises(error):
        IdentityProvider(**{"issuer": IDP, **options})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"issuer": 5}, TypeError),
        ({"resources": RESOURCE}, TypeError),
        ({"max_lifetime": 0}, ValueError),
        ({"max_remembered": 0}, ValueError),
    ],
)
def test_wrong_arguments_are_told_at_once(options, error):
    with pytest.raises(error):
        IdentityAssertionVerifier([], **{"issuer": ISSUER, "resources": [RESOURCE], **options})
