"""How clients show who they are: each in the one way for which it is registered."""

from __future__ import annotations

import time
import uuid

import httpx
import pytest

from tests.auth.server._authorization_server import (
    BASIC,
    ISSUER,
    POST,
    PUBLIC,
    authorization_server,
    basic,
    error_of,
)
from trio_mcp.auth import ClientRegistrationOptions, InMemoryOAuthProvider
from trio_mcp.auth._jwt import generate_key, public_jwk, sign_jwt
from trio_mcp.auth.server._answers import RefusedRequest
from trio_mcp.auth.server._client_assertions import ClientAssertions
from trio_mcp.auth.server._client_keys import ClientKeys

JWT = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
KEY = generate_key("ES256")
SIGNING = PUBLIC.evolve(
    client_id="signing",
    token_endpoint_auth_method="private_key_jwt",
    jwks={"keys": [{**public_jwk(KEY), "kid": "k1"}]},
)
EITHER = POST.evolve(client_id="either", token_endpoint_auth_method=None)
NOTHING = PUBLIC.evolve(client_id="nothing", token_endpoint_auth_method=None)
BROKEN = POST.evolve(client_id="broken", client_secret=None)
EXPIRED = POST.evolve(client_id="expired", client_secret_expires_at=1)
LASTING = POST.evolve(client_id="lasting", client_secret_expires_at=int(time.time()) + 1000)
FOREVER = POST.evolve(client_id="forever", client_secret_expires_at=0)
CLIENTS = [PUBLIC, BASIC, POST, SIGNING, EITHER, NOTHING, BROKEN, EXPIRED, LASTING, FOREVER]
SECRET = POST.client_secret


def claims(**changes):
    now = int(time.time())
    found = {
        "iss": "signing",
        "sub": "signing",
        "aud": ISSUER,
        "exp": now + 60,
        "iat": now,
        "jti": str(uuid.uuid4()),
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


def asserted(assertion, **changes):
    form = {"client_assertion_type": JWT, "client_assertion": assertion, **changes}
    return {name: value for name, value in form.items() if value is not None}


async def answer_to(form, headers=None, **options):
    """Ask for a token with a code that nobody has: `invalid_grant` is for who is known."""
    form = {
        "grant_type": "authorization_code",
        "code": "unknown",
        "code_verifier": "v" * 43,
        **form,
    }
    async with authorization_server(clients=CLIENTS, **options) as server:
        response = await server.http.post("/token", data=form, headers=headers or {})
        return response.status_code, error_of(response), response


@pytest.mark.req("R-415")
@pytest.mark.parametrize(
    ("form", "authorization"),
    [
        ({"client_id": "public"}, None),
        ({"client_id": "nothing"}, None),
        ({"client_id": "post", "client_secret": SECRET}, None),
        ({"client_id": "either", "client_secret": SECRET}, None),
        ({"client_id": "lasting", "client_secret": SECRET}, None),
        ({"client_id": "forever", "client_secret": SECRET}, None),
        ({}, basic("either", SECRET)),
        ({}, basic("basic", SECRET)),
        ({"client_id": "basic"}, basic("basic", SECRET)),
        ({"client_id": "basic"}, basic("basic", SECRET).replace("Basic", "bAsIc")),
    ],
)
async def test_client_is_known_by_what_it_is_registered_for(form, authorization):
    headers = {} if authorization is None else {"authorization": authorization}
    status, error, _ = await answer_to(form, headers)
    assert (status, error) == (400, "invalid_grant")


@pytest.mark.parametrize(
    ("form", "authorization", "status", "error"),
    [
        ({}, None, 400, "invalid_request"),
        ({"client_id": "nobody"}, None, 401, "invalid_client"),
        ({"client_id": "nobody", "client_secret": SECRET}, None, 401, "invalid_client"),
        ({"client_id": "post"}, None, 401, "invalid_client"),
        ({"client_id": "post", "client_secret": ""}, None, 401, "invalid_client"),
        ({"client_id": "post", "client_secret": "wrong"}, None, 401, "invalid_client"),
        ({"client_id": "post", "client_secret": SECRET + "x"}, None, 401, "invalid_client"),
        ({"client_id": "post", "client_secret": "ü"}, None, 401, "invalid_client"),
        ({"client_id": "basic", "client_secret": SECRET}, None, 401, "invalid_client"),
        ({"client_id": "public", "client_secret": "x"}, None, 401, "invalid_client"),
        ({"client_id": "signing", "client_secret": "x"}, None, 401, "invalid_client"),
        ({"client_id": "signing"}, None, 401, "invalid_client"),
        ({"client_id": "either"}, None, 401, "invalid_client"),
        ({"client_id": "nothing", "client_secret": "x"}, None, 401, "invalid_client"),
        ({"client_id": "broken"}, None, 401, "invalid_client"),
        ({"client_id": "broken", "client_secret": "None"}, None, 401, "invalid_client"),
        ({"client_id": "expired", "client_secret": SECRET}, None, 401, "invalid_client"),
        ({}, basic("post", SECRET), 401, "invalid_client"),
        ({}, basic("basic", "wrong"), 401, "invalid_client"),
        ({}, basic("basic", ""), 401, "invalid_client"),
        ({}, basic("public", ""), 401, "invalid_client"),
        ({}, basic("nobody", SECRET), 401, "invalid_client"),
        ({"client_id": "post"}, basic("basic", SECRET), 401, "invalid_client"),
        ({}, "Basic !!!", 401, "invalid_client"),
        ({}, "Basic", 401, "invalid_client"),
        ({}, "Basic YmFzaWM=", 401, "invalid_client"),
        ({}, "Basic /w==", 401, "invalid_client"),
        ({}, "Bearer abc", 401, "invalid_client"),
        ({"client_secret": SECRET}, basic("basic", SECRET), 400, "invalid_request"),
        (
            {"client_id": "post", "client_secret": SECRET, "client_assertion": "x"},
            None,
            400,
            "invalid_request",
        ),
    ],
)
async def test_client_is_not_known_by_anything_else(form, authorization, status, error):
    headers = {} if authorization is None else {"authorization": authorization}
    found_status, found, response = await answer_to(form, headers)
    assert (found_status, found) == (status, error)
    # RFC 6749, section 5.2: a challenge for the scheme, if one was used.
    challenged = "www-authenticate" in response.headers
    assert challenged == (authorization is not None and status == 401)
    assert SECRET not in response.text


# Signatures


@pytest.mark.parametrize("audience", [ISSUER, f"{ISSUER}/", f"{ISSUER}/token", [ISSUER]])
@pytest.mark.parametrize("client_id", ["signing", None])
async def test_client_is_known_by_its_signature(audience, client_id):
    assertion = sign_jwt(claims(aud=audience), KEY, "ES256", kid="k1")
    status, error, _ = await answer_to(asserted(assertion, client_id=client_id))
    assert (status, error) == (400, "invalid_grant")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"iss": "public"}, "issuer"),
        ({"iss": None}, "issuer"),
        ({"sub": "public"}, "registered for none"),
        ({"sub": None}, "no sub"),
        ({"sub": 1}, "no sub"),
        ({"aud": "https://other.example"}, "somebody else"),
        ({"aud": None}, "somebody else"),
        ({"exp": None}, "no exp"),
        ({"exp": 1}, "expired"),
        ({"exp": time.time() + 100_000}, "longer than"),
        ({"exp": "soon"}, "no number"),
        ({"nbf": time.time() + 1000}, "not valid yet"),
        ({"iat": time.time() + 1000}, "future"),
        ({"jti": None}, "no jti"),
        ({"jti": 7}, "jti is no string"),
    ],
)
async def test_assertion_for_something_else_is_refused(changes, says):
    assertion = sign_jwt(claims(**changes), KEY, "ES256")
    status, error, response = await answer_to(asserted(assertion))
    assert (status, error) == (401, "invalid_client")
    assert says in response.json()["error_description"]
    assert assertion not in response.text


@pytest.mark.req("R-728")
@pytest.mark.parametrize("kind", ["other key", "none", "type", "garbage", "mismatch", "no type"])
async def test_assertion_that_the_client_did_not_sign_is_refused(kind):
    assertion = sign_jwt(claims(), KEY, "ES256")
    _, payload, _ = assertion.split(".")
    form = {
        "other key": asserted(sign_jwt(claims(), generate_key("ES256"), "ES256")),
        "none": asserted(f"eyJhbGciOiJub25lIn0.{payload}."),
        "type": asserted(sign_jwt(claims(), KEY, "ES256", typ="oauth-id-jag+jwt")),
        "garbage": asserted("not.a.jwt"),
        "mismatch": asserted(assertion, client_id="public"),
        "no type": asserted(assertion, client_assertion_type="urn:other"),
    }[kind]
    status, error, _ = await answer_to(form)
    assert (status, error) == (401, "invalid_client")


async def test_assertion_without_its_type_or_the_other_way_round_is_refused():
    for form in (asserted(None), asserted("x", client_assertion_type=None)):
        status, error, _ = await answer_to(form)
        assert (status, error) == (400, "invalid_request")


async def test_assertion_is_good_once():
    form = {
        "grant_type": "refresh_token",
        "refresh_token": "unknown",
        **asserted(sign_jwt(claims(), KEY, "ES256")),
    }
    async with authorization_server(clients=CLIENTS) as server:
        first = await server.http.post("/token", data=form)
        again = await server.http.post("/token", data=form)
        assert (first.status_code, again.status_code) == (400, 401)
        assert "came before" in again.json()["error_description"]


async def test_one_client_does_not_take_the_room_of_all(monkeypatch):
    monkeypatch.setattr("trio_mcp.auth.server._client_assertions.MAX_EACH", 2)
    other = SIGNING.evolve(client_id="other")
    assertions = ClientAssertions({ISSUER}, ClientKeys().of)
    for _ in range(2):
        await assertions.check(SIGNING, sign_jwt(claims(), KEY, "ES256"))
    with pytest.raises(RefusedRequest):
        await assertions.check(SIGNING, sign_jwt(claims(), KEY, "ES256"))
    signed = sign_jwt(claims(iss="other", sub="other"), KEY, "ES256")
    await assertions.check(other, signed)


async def test_assertion_of_one_about_another_is_refused():
    assertions = ClientAssertions({ISSUER}, ClientKeys().of)
    with pytest.raises(RefusedRequest):
        await assertions.check(SIGNING, sign_jwt(claims(sub="public"), KEY, "ES256"))


async def test_keys_may_be_published_by_the_client():
    client = SIGNING.evolve(jwks=None, jwks_uri="https://client.example.com/keys")
    asked = []

    def publish(request):
        asked.append(str(request.url))
        return httpx.Response(200, json={"keys": [public_jwk(KEY)]})

    async with httpx.AsyncClient(transport=httpx.MockTransport(publish)) as http:
        assertions = ClientAssertions({ISSUER}, ClientKeys(http_client=http).of)
        for _ in range(2):
            await assertions.check(client, sign_jwt(claims(), KEY, "ES256"))
    assert asked == ["https://client.example.com/keys"]


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_keys_may_be_in_a_private_network_where_that_is_allowed(is_allowed):
    client = SIGNING.evolve(jwks=None, jwks_uri="https://10.0.0.1/keys")
    made = InMemoryOAuthProvider(auto_approve="a", clients=[client])
    keys = {"keys": [public_jwk(KEY)]}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=keys))
    async with httpx.AsyncClient(transport=transport) as http:
        options = ClientRegistrationOptions(allow_private_addresses=is_allowed, http_client=http)
        async with authorization_server(made, registration=options) as server:
            form = {"grant_type": "refresh_token", "refresh_token": "x"}
            signed = asserted(sign_jwt(claims(), KEY, "ES256"))
            response = await server.http.post("/token", data={**form, **signed})
    assert error_of(response) == ("invalid_grant" if is_allowed else "invalid_client")


@pytest.mark.parametrize("names", [("1", "2"), (None, None)], ids=["named", "nameless"])
async def test_key_that_a_client_changes_is_fetched_but_not_for_every_stranger(names):
    client = SIGNING.evolve(jwks=None, jwks_uri="https://client.example.com/keys")
    next_key, now, asked = generate_key("ES256"), [1_000_000.0], []
    published = [public_jwk(KEY) | ({"kid": names[0]} if names[0] else {})]

    def publish(request):
        asked.append(str(request.url))
        return httpx.Response(200, json={"keys": published})

    def signed():
        return sign_jwt(claims(), next_key, "ES256", kid=names[1])

    async with httpx.AsyncClient(transport=httpx.MockTransport(publish)) as http:
        keys = ClientKeys(http_client=http)
        keys._documents._now = lambda: now[0]
        assertions = ClientAssertions({ISSUER}, keys.of)
        await assertions.check(client, sign_jwt(claims(), KEY, "ES256", kid=names[0]))
        published[:] = [public_jwk(next_key) | ({"kid": names[1]} if names[1] else {})]
        now[0] += 59
        for _ in range(5):
            with pytest.raises(RefusedRequest):
                await assertions.check(client, signed())
        assert len(asked) == 1
        now[0] += 1
        await assertions.check(client, signed())
        assert len(asked) == 2
        for _ in range(5):
            with pytest.raises(RefusedRequest):
                await assertions.check(client, sign_jwt(claims(), KEY, "ES256", kid="made up"))
        assert len(asked) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"jwks": None},
        {"jwks": None, "jwks_uri": "https://127.0.0.1/keys"},
        {"jwks": {"keys": "none"}},
    ],
)
async def test_client_whose_keys_cannot_be_had_is_not_known(changes):
    client = SIGNING.evolve(**changes)
    provider = InMemoryOAuthProvider(auto_approve="a", clients=[client])
    async with authorization_server(provider) as server:
        form = {"grant_type": "refresh_token", "refresh_token": "x"}
        signed = asserted(sign_jwt(claims(), KEY, "ES256"))
        response = await server.http.post("/token", data={**form, **signed})
        assert (response.status_code, error_of(response)) == (401, "invalid_client")
