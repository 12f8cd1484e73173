"""The ready verifiers: what they believe, and whom they ask how often."""

from __future__ import annotations

import base64
import json
import logging
import time
from typing import Any
from urllib.parse import parse_qs

import attrs
import httpx
import pytest
import trio
import trio.testing

from trio_mcp.auth import (
    AccessToken,
    IntrospectionTokenVerifier,
    JWTVerifier,
    StaticTokenVerifier,
    VerifierUnavailable,
)
from trio_mcp.auth._jwt import generate_key, public_jwk, sign_jwt
from trio_mcp.auth.server import _introspection, _jwks
from trio_mcp.auth.server._guard import TokenGuard
from trio_mcp.transports.http._guard import Protection

from ._protected import ISSUER, URL, call, make_server, open_protected, settings

NOW = 1_000_000.0
KEY = generate_key("ES256")
NEXT = generate_key("ES256")
JWKS = f"{ISSUER}/jwks.json"
CLAIMS = {
    "iss": ISSUER,
    "aud": URL,
    "sub": "ada",
    "client_id": "app",
    "scope": "use files:read",
    "exp": NOW + 60,
    "iat": NOW,
}


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def signed(change: dict[str, Any] | None = None, key: Any = KEY, **header: Any) -> str:
    claims = {name: each for name, each in {**CLAIMS, **(change or {})}.items() if each is not ...}
    return sign_jwt(claims, key, header.pop("algorithm", "ES256"), **header)


def jwt_verifier(**changes: Any) -> JWTVerifier:
    given = {"issuer": ISSUER, "keys": public_jwk(KEY), "clock": lambda: NOW}
    return JWTVerifier(**{**given, **changes})


@attrs.define(eq=False)
class Party:
    """Answers requests, and counts them."""

    status: int = 200
    body: Any = None
    pause: float = 0
    error: Exception | None = None
    seen: list[httpx.Request] = attrs.Factory(list)

    async def answer(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        await trio.sleep(self.pause)
        if self.error is not None:
            raise self.error
        content = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return httpx.Response(self.status, content=content)

    @property
    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self.answer))


# Signed tokens


async def test_signed_token_says_what_it_is():
    token = signed({"cnf": {"jkt": "x"}}, typ="at+jwt")
    found = await jwt_verifier(audience=URL, typ="at+jwt").verify_token(token)
    assert found is not None
    assert (found.token, found.client_id, found.subject) == (token, "app", "ada")
    assert found.scopes == ["use", "files:read"]
    # With the 30 s by which clocks may differ.
    assert found.expires_at == NOW + 90
    assert found.claims is not None
    assert found.claims["iss"] == ISSUER


@pytest.mark.parametrize(
    ("change", "client_id", "scopes"),
    [
        ({"client_id": ..., "azp": "b"}, "b", ["use", "files:read"]),
        ({"client_id": ..., "cid": "c"}, "c", ["use", "files:read"]),
        ({"client_id": ...}, "ada", ["use", "files:read"]),
        ({"scope": ..., "scp": ["x", 1, "y"]}, "app", ["x", "y"]),
        ({"scope": ..., "scp": "x y"}, "app", ["x", "y"]),
        ({"scope": ...}, "app", []),
        ({"scope": 7}, "app", []),
    ],
)
async def test_servers_write_client_and_scopes_in_several_ways(change, client_id, scopes):
    found = await jwt_verifier().verify_token(signed(change))
    assert found is not None
    assert (found.client_id, found.scopes) == (client_id, scopes)


@pytest.mark.req("R-446", "R-447", "R-728")
@pytest.mark.parametrize(
    "token",
    [
        pytest.param(signed(key=NEXT), id="wrong key"),
        pytest.param(signed({"exp": NOW - 31}), id="expired"),
        pytest.param(signed({"exp": ...}), id="for ever"),
        pytest.param(signed({"exp": 10**400}), id="exp of 400 digits"),
        pytest.param(signed({"nbf": -(10**400)}), id="nbf of 400 digits"),
        pytest.param(signed({"iat": 10**400}), id="iat of 400 digits"),
        pytest.param(signed({"exp": NOW * 1_000_000}), id="exp in microseconds"),
        pytest.param(signed({"nbf": NOW + 31}), id="not yet valid"),
        pytest.param(signed({"iat": NOW + 31}), id="of the future"),
        pytest.param(signed({"iss": "https://evil.example"}), id="foreign issuer"),
        pytest.param(signed({"iss": ISSUER + "/"}), id="issuer with a slash"),
        pytest.param(signed({"iss": [ISSUER]}), id="issuers"),
        pytest.param(signed({"aud": "https://other.example"}), id="foreign audience"),
        pytest.param(signed({"aud": ...}), id="no audience"),
        pytest.param(signed({"sub": ..., "client_id": ...}), id="nobody's"),
        pytest.param(signed(typ="JWT"), id="another kind"),
        pytest.param("", id="nothing"),
        pytest.param("opaque", id="no JWT"),
        pytest.param("a.b.c", id="no Base64"),
        pytest.param("x" * 20_000, id="huge"),
        pytest.param(signed() + ".x.y", id="five parts"),
    ],
)
async def test_what_was_not_issued_for_this_is_good_for_nothing(token, caplog):
    caplog.set_level(logging.DEBUG)
    verifier = jwt_verifier(audience=URL, typ="at+jwt")
    assert await verifier.verify_token(signed(typ="at+jwt")) is not None
    assert await verifier.verify_token(token) is None
    assert "A token was refused" in caplog.text
    assert not token or token not in caplog.text


async def test_several_issuers_and_audiences_may_be_named():
    verifier = jwt_verifier(issuer=[ISSUER, "https://b.example"], audience=["urn:x", URL])
    assert await verifier.verify_token(signed({"iss": "https://b.example"})) is not None
    assert await verifier.verify_token(signed({"aud": ["urn:x"]})) is not None
    assert await verifier.verify_token(signed({"aud": "urn:y"})) is None


@pytest.mark.parametrize(("late", "status"), [(-1, 200), (59, 200), (60, 401)])
async def test_token_expires_as_much_later_as_clocks_may_differ(late, status):
    now = time.time()
    verifier = jwt_verifier(leeway=60, clock=lambda: now)
    mcp = make_server()
    guard = TokenGuard(settings(), verifier, None, lambda: now)
    mcp.lowlevel_server._protection = Protection(guard)
    async with open_protected(mcp) as client:
        token = signed({"exp": int(now) - late, "iat": now - 100})
        assert (await call(client, "whoami", token)).status == status


OTHER_ISSUER = "https://b.example"


@pytest.mark.req("R-446", "R-447")
async def test_no_issuer_signs_for_another():
    verifier = jwt_verifier(
        issuer=[ISSUER, OTHER_ISSUER],
        keys={ISSUER: [public_jwk(KEY)], OTHER_ISSUER: {"keys": [public_jwk(NEXT)]}},
    )
    assert await verifier.verify_token(signed()) is not None
    assert await verifier.verify_token(signed({"iss": OTHER_ISSUER}, key=NEXT)) is not None
    assert await verifier.verify_token(signed(key=NEXT)) is None
    assert await verifier.verify_token(signed({"iss": OTHER_ISSUER})) is None


@pytest.mark.parametrize(
    "keys",
    [
        [public_jwk(KEY), public_jwk(NEXT)],
        {"keys": [public_jwk(KEY), public_jwk(NEXT)]},
        {ISSUER: public_jwk(KEY)},
        {ISSUER: public_jwk(KEY), OTHER_ISSUER: public_jwk(NEXT), "x": public_jwk(KEY)},
    ],
)
def test_keys_of_several_issuers_are_told_apart(keys):
    with pytest.raises(ValueError, match="keys: "):
        jwt_verifier(issuer=[ISSUER, OTHER_ISSUER], keys=keys)


@pytest.mark.parametrize(
    ("typ", "is_taken"),
    [
        ("at+jwt", True),
        ("application/AT+JWT", True),
        ("JWT", True),
        (None, True),
        ("logout+jwt", False),
        ("dpop+jwt", False),
        ("secevent+jwt", False),
        ("", False),
        (7, False),
        ([], False),
    ],
)
async def test_token_of_another_kind_is_no_access_token(typ, is_taken):
    assert (await jwt_verifier().verify_token(signed(typ=typ)) is not None) == is_taken


async def test_kind_of_an_issuer_s_own_can_be_named():
    verifier = jwt_verifier(typ="acme-at+jwt")
    assert await verifier.verify_token(signed(typ="acme-at+jwt")) is not None
    assert await verifier.verify_token(signed(typ="at+jwt")) is None


@pytest.mark.req("R-447", "R-515")
def test_somebody_has_to_look_at_whom_a_token_is_for():
    auth = settings(validate_token_resource=False)
    with pytest.raises(ValueError, match=r"JWTVerifier\(audience="):
        make_server(jwt_verifier(), auth)
    make_server(jwt_verifier(audience="urn:files"), auth)
    make_server(jwt_verifier())


@pytest.mark.parametrize(
    "keys",
    [
        KEY.as_pem(),
        KEY.as_pem().decode(),
        [NEXT.as_pem(), public_jwk(KEY)],
        {"keys": [{"kty": "oct", "k": "x"}, public_jwk(KEY)]},
    ],
)
async def test_keys_are_given_as_pem_or_as_jwk(keys):
    assert await jwt_verifier(keys=keys).verify_token(signed()) is not None


@pytest.mark.req("R-447", "R-515")
async def test_audience_is_checked_by_the_server_where_the_verifier_does_not():
    mcp = make_server(jwt_verifier())
    async with open_protected(mcp) as client:
        # By the clock of the server it has expired for long.
        assert (await call(client, "whoami", signed())).status == 401
        later = signed({"exp": 4e9})
        assert (await call(client, "whoami", later)).status == 200
        assert (await call(client, "whoami", signed({"exp": 4e9, "aud": "urn:x"}))).status == 401
        both = signed({"exp": 4e9, "aud": ["urn:x", URL]})
        assert (await call(client, "whoami", both)).status == 200


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"keys": None}, ValueError, "either jwks_uri= or keys="),
        ({"jwks_uri": JWKS}, ValueError, "either jwks_uri= or keys="),
        ({"keys": None, "jwks_uri": "http://as.example/keys"}, ValueError, "https"),
        ({"keys": "secret"}, ValueError, "no PEM"),
        ({"keys": {"keys": []}}, ValueError, "keys: there is none"),
        ({"keys": []}, ValueError, "keys: there is none"),
        ({"issuer": []}, ValueError, "issuer is empty"),
        ({"issuer": None}, TypeError, "issuer"),
        ({"audience": [1]}, TypeError, "audience"),
        ({"algorithms": ["HS256"]}, ValueError, "algorithms"),
        ({"algorithms": ["none"]}, ValueError, "algorithms"),
        ({"algorithms": "ES256"}, TypeError, "algorithms"),
        ({"leeway": -1}, ValueError, "leeway"),
    ],
)
def test_wrong_option_is_refused_by_name(changes, error, told):
    with pytest.raises(error, match=told) as caught:
        jwt_verifier(**changes)
    assert "secret" not in str(caught.value)


# Keys at a URL


def remote(party: Party, now: list[float], **changes: Any) -> JWTVerifier:
    verifier = jwt_verifier(keys=None, jwks_uri=JWKS, http_client=party.client, **changes)
    assert verifier._remote is not None
    verifier._remote._clock = lambda: now[0]
    return verifier


def key_set(*keys: Any) -> dict[str, Any]:
    return {"keys": [{**public_jwk(each), "kid": str(at)} for at, each in enumerate(keys)]}


async def test_keys_are_fetched_once_for_all_that_wait_for_them():
    party, now = Party(body=key_set(KEY), pause=1), [0.0]
    verifier = remote(party, now)
    found: list[Any] = []

    async def verify() -> None:
        found.append(await verifier.verify_token(signed(kid="0")))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(verify)
    assert len(party.seen) == 1
    assert len(found) == 20
    assert None not in found
    now[0] = 3599
    await verify()
    assert len(party.seen) == 1
    now[0] = 3600
    await verify()
    assert len(party.seen) == 2


async def test_who_fetches_may_be_cancelled_and_another_takes_over():
    party = Party(body=key_set(KEY), pause=1)
    verifier = remote(party, [0.0])
    found: list[Any] = []

    async def verify() -> None:
        found.append(await verifier.verify_token(signed()))

    async def verify_for_a_while() -> None:
        with trio.move_on_after(0.5):
            await verify()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(verify_for_a_while)
        nursery.start_soon(verify)
    assert len(found) == 1
    assert found[0] is not None


async def test_new_key_is_fetched_when_a_token_names_it_but_not_for_every_stranger():
    party, now = Party(body=key_set(KEY)), [0.0]
    verifier = remote(party, now)
    assert await verifier.verify_token(signed(kid="0")) is not None
    party.body = key_set(KEY, NEXT)
    rotated = signed(key=NEXT, kid="1")
    now[0] = 29
    with pytest.raises(VerifierUnavailable, match="were fetched before it came"):
        await verifier.verify_token(rotated)
    now[0] = 30
    assert await verifier.verify_token(rotated) is not None
    for name in range(50):
        assert await verifier.verify_token(signed(key=NEXT, kid=f"made up {name}")) is None
    assert len(party.seen) == 2


async def test_token_by_an_unknown_key_is_bad_when_keys_were_fetched_since_it_came():
    party, now = Party(body=key_set(KEY)), [0.0]
    verifier = remote(party, now)
    assert await verifier.verify_token(signed(kid="0")) is not None
    made_up, guessed = signed(key=NEXT, kid="x"), signed({"sub": "eve"}, key=NEXT, kid="1")
    now[0] = 10
    for token in (made_up, made_up, guessed):
        with pytest.raises(VerifierUnavailable):
            await verifier.verify_token(token)
        # Nobody else is told that.
        assert await verifier.verify_token(signed(kid="0")) is not None
    now[0] = 40
    assert await verifier.verify_token(made_up) is None
    now[0] = 41
    assert await verifier.verify_token(guessed) is None
    # Who has guessed the name of the next key has made no token by it bad.
    party.body = key_set(KEY, NEXT)
    with pytest.raises(VerifierUnavailable):
        await verifier.verify_token(signed(key=NEXT, kid="1"))
    now[0] = 70
    assert await verifier.verify_token(signed(key=NEXT, kid="1")) is not None
    assert len(party.seen) == 3


@pytest.mark.parametrize("kid", ["1", None])
async def test_new_key_makes_no_token_bad_while_keys_cannot_be_fetched(kid):
    party, now = Party(body={"keys": [public_jwk(KEY)]}), [0.0]
    verifier = remote(party, now)
    assert await verifier.verify_token(signed()) is not None
    now[0], party.status = 100, 503
    rotated = signed(key=NEXT, kid=kid)
    for _ in range(2):
        with pytest.raises(VerifierUnavailable):
            await verifier.verify_token(rotated)
        assert await verifier.verify_token(signed()) is not None
    now[0], party.status, party.body = 105, 200, {"keys": [public_jwk(NEXT)]}
    assert await verifier.verify_token(rotated) is not None


async def test_tokens_that_strangers_make_up_are_remembered_in_bounds(monkeypatch):
    monkeypatch.setattr(_jwks, "MAX_ASKED", 3)
    party, now = Party(body=key_set(KEY)), [0.0]
    verifier = remote(party, now)
    assert await verifier.verify_token(signed()) is not None
    now[0] = 1
    for name in range(9):
        with pytest.raises(VerifierUnavailable):
            await verifier.verify_token(signed(key=NEXT, kid=str(name + 1)))
    assert verifier._remote is not None
    assert len(verifier._remote._asked) == 3


async def test_key_that_was_withdrawn_goes():
    party, now = Party(body=key_set(KEY)), [0.0]
    verifier = remote(party, now)
    assert await verifier.verify_token(signed()) is not None
    party.body, now[0] = key_set(NEXT), 3600
    assert await verifier.verify_token(signed()) is None
    assert len(party.seen) == 2


async def test_what_is_no_token_of_the_issuer_costs_no_request():
    party = Party(body=key_set(KEY))
    verifier = remote(party, [0.0])
    for token in ("opaque", "a.b.c", signed({"iss": "https://evil.example"})):
        assert await verifier.verify_token(token) is None
    assert party.seen == []


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 404},
        {"body": b"<html>"},
        {"body": [1]},
        {"body": {"keys": {}}},
        {"body": {"keys": []}},
        {"body": {"keys": [{"kty": "oct", "k": "x"}]}},
        {"body": b"x" * 2_000_000},
        {"error": httpx.ConnectError("refused")},
        {"pause": 1000},
    ],
)
async def test_keys_that_cannot_be_had_make_no_token_bad(fault, caplog):
    party, now = Party(**{"body": key_set(KEY), **fault}), [0.0]
    verifier = remote(party, now)
    for _ in range(3):
        with pytest.raises(VerifierUnavailable, match="cannot be had"):
            await verifier.verify_token(signed())
    assert len(party.seen) == 1  # it is not asked again and again
    assert len(caplog.records) == 1
    party.status, party.body, party.error, party.pause = 200, key_set(KEY), None, 0
    now[0] = 5
    assert await verifier.verify_token(signed()) is not None


async def test_keys_hold_for_a_day_while_they_cannot_be_fetched():
    party, now = Party(body=key_set(KEY)), [0.0]
    verifier = remote(party, now)
    assert await verifier.verify_token(signed()) is not None
    party.status = 503
    now[0] = _jwks.KEYS_STALE
    assert await verifier.verify_token(signed()) is not None
    now[0] = _jwks.KEYS_STALE + 1
    with pytest.raises(VerifierUnavailable):
        await verifier.verify_token(signed())


def test_one_verifier_serves_several_runs():
    party = Party(body=key_set(KEY))
    verifier = remote(party, [0.0])
    for _ in range(2):
        assert trio.run(verifier.verify_token, signed()) is not None
    assert len(party.seen) == 1


# Introspection

ENDPOINT = f"{ISSUER}/introspect"
ACTIVE = {"active": True, "client_id": "app", "scope": "use", "sub": "ada", "exp": NOW + 60}


async def test_issuer_is_asked_what_a_token_is():
    party = Party(body={**ACTIVE, "aud": URL})
    verifier = IntrospectionTokenVerifier(
        ENDPOINT, client_id="mcp server", client_secret="s:&", http_client=party.client
    )
    found = await verifier.verify_token("a token/+=")
    assert found is not None
    assert (found.client_id, found.subject, found.scopes) == ("app", "ada", ["use"])
    assert found.expires_at == NOW + 60
    (request,) = party.seen
    assert (request.method, str(request.url)) == ("POST", ENDPOINT)
    assert parse_qs(request.content.decode()) == {
        "token": ["a token/+="],
        "token_type_hint": ["access_token"],
    }
    scheme, _, pair = request.headers["authorization"].partition(" ")
    assert (scheme, base64.b64decode(pair)) == ("Basic", b"mcp%20server:s%3A%26")


async def test_server_may_authenticate_otherwise():
    party = Party(body=ACTIVE)
    headers = {"authorization": "Bearer own"}
    verifier = IntrospectionTokenVerifier(ENDPOINT, headers=headers, http_client=party.client)
    assert await verifier.verify_token("t") is not None
    assert party.seen[0].headers["authorization"] == "Bearer own"


@pytest.mark.parametrize(
    ("change", "is_good"),
    [
        ({"active": False}, False),
        ({"client_id": None, "sub": None}, False),
        ({"client_id": None}, True),
        ({"iss": "https://evil.example"}, False),
        ({"iss": ISSUER}, True),
        ({"exp": None}, True),
        ({"exp": NOW + 60.5}, True),
        ({"exp": "tomorrow"}, False),
        ({"exp": str(NOW + 60)}, False),
        ({"exp": [NOW + 60]}, False),
        ({"exp": True}, False),
        ({"exp": 10**400}, False),
        ({"iss": None}, True),
        ({"iss": [ISSUER]}, False),
        ({"iss": {}}, False),
        ({"nbf": NOW - 1}, True),
        ({"nbf": NOW + 60}, False),
        ({"nbf": "later"}, False),
        ({"iat": NOW + 60}, False),
        ({"token_type": "Bearer"}, True),
        ({"token_type": "DPoP"}, True),
        ({"token_type": "access_token"}, True),
        ({"token_type": None}, True),
        ({"token_type": "refresh_token"}, False),
        ({"token_type": ["Bearer"]}, False),
        ({"sub": None, "username": "ada"}, True),
    ],
)
async def test_answer_decides(change, is_good):
    party = Party(body={**ACTIVE, **change})
    verifier = IntrospectionTokenVerifier(
        ENDPOINT, issuer=ISSUER, http_client=party.client, clock=lambda: NOW
    )
    assert (await verifier.verify_token("t") is not None) == is_good


@pytest.mark.parametrize("cache_seconds", [0, 60])
async def test_issuer_is_asked_once_by_all_who_come_with_one_token(cache_seconds):
    party = Party(body=ACTIVE, pause=1)
    verifier = IntrospectionTokenVerifier(
        ENDPOINT, http_client=party.client, cache_seconds=cache_seconds
    )
    found: list[Any] = []

    async def verify(token: str) -> None:
        found.append(await verifier.verify_token(token))

    async def verify_for_a_while() -> None:
        with trio.move_on_after(0.5):
            await verify("t")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(verify_for_a_while)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(20):
            nursery.start_soon(verify, "t")
        nursery.start_soon(verify, "other")
    # One was asked for by who did not wait for the answer, and another took over.
    assert len(party.seen) == 3
    assert [each.client_id for each in found] == ["app"] * 21
    await verify("t")
    assert len(party.seen) == (3 if cache_seconds else 4)


async def test_that_a_token_is_bad_is_shared_too():
    party = Party(body={"active": False}, pause=1)
    verifier = IntrospectionTokenVerifier(ENDPOINT, http_client=party.client)
    found: list[Any] = []

    async def verify() -> None:
        found.append(await verifier.verify_token("t"))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(verify)
    assert (found, len(party.seen)) == ([None] * 5, 1)


async def test_no_more_tokens_are_asked_about_at_once_than_a_hundred(monkeypatch):
    monkeypatch.setattr(_introspection, "MAX_AT_ONCE", 2)
    party = Party(body=ACTIVE, pause=1)
    verifier = IntrospectionTokenVerifier(ENDPOINT, http_client=party.client)
    async with trio.open_nursery() as nursery:
        for token in ("a", "b", "a"):
            nursery.start_soon(verifier.verify_token, token)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(VerifierUnavailable, match="being asked about already"):
            await verifier.verify_token("c")
    assert await verifier.verify_token("c") is not None
    assert len(party.seen) == 3


def test_one_introspection_serves_several_runs():
    verifier = IntrospectionTokenVerifier(ENDPOINT, http_client=Party(body=ACTIVE).client)
    for _ in range(2):
        assert trio.run(verifier.verify_token, "t") is not None


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 401},
        {"status": 500},
        {"status": 302},
        {"body": b"<html>"},
        {"body": []},
        {"body": {}},
        {"body": {"active": "true"}},
        {"body": b" " * 70_000},
        {"error": httpx.ConnectError("refused")},
        {"pause": 1000},
    ],
)
async def test_issuer_that_does_not_answer_makes_no_token_bad(fault):
    party = Party(**{"body": ACTIVE, **fault})
    verifier = IntrospectionTokenVerifier(ENDPOINT, http_client=party.client)
    with pytest.raises(VerifierUnavailable) as caught:
        await verifier.verify_token("the-secret-token")
    assert "the-secret-token" not in str(caught.value)


async def test_answers_are_kept_for_as_long_as_is_said():
    party, now = Party(body=ACTIVE), [NOW]
    verifier = IntrospectionTokenVerifier(
        ENDPOINT, cache_seconds=10, http_client=party.client, clock=lambda: now[0]
    )
    first = await verifier.verify_token("t")
    assert await verifier.verify_token("t") is first
    assert len(party.seen) == 1
    party.body = {"active": False}
    now[0] += 10
    assert await verifier.verify_token("t") is None
    assert len(party.seen) == 2
    for number in range(1_100):
        await verifier.verify_token(str(number))
    assert len(verifier._cache) == 1_000


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"endpoint": "http://as.example"}, ValueError, "endpoint"),
        ({"endpoint": None}, TypeError, "endpoint"),
        ({"client_id": "a"}, ValueError, "belong together"),
        ({"cache_seconds": -1}, ValueError, "cache_seconds"),
    ],
)
def test_wrong_option_of_introspection_is_refused_by_name(given, error, told):
    with pytest.raises(error, match=told):
        IntrospectionTokenVerifier(**{"endpoint": ENDPOINT, **given})


# Tokens that are known


async def test_known_tokens_are_given_as_objects_or_as_their_attributes():
    verifier = StaticTokenVerifier(
        {
            "a": {"client_id": "one", "scopes": ["use"]},
            "b": AccessToken(token="", client_id="two", scopes=[], resource="urn:own"),
        },
        resource=URL,
    )
    found = [await verifier.verify_token(each) for each in ("a", "b", "c", "é")]
    assert [each and (each.token, each.client_id, each.resource) for each in found] == [
        ("a", "one", URL),
        ("b", "two", "urn:own"),
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("tokens", "error"),
    [
        (["secret"], TypeError),
        ({"secret": "ada"}, TypeError),
        ({"secret": {}}, ValueError),
        ({"secret": {"client_id": 7}}, ValueError),
        ({"secret of ada": {"client_id": "a"}}, ValueError),
    ],
)
def test_what_is_no_token_is_refused_without_being_named(tokens, error):
    with pytest.raises(error) as caught:
        StaticTokenVerifier(tokens)
    assert "secret" not in str(caught.value)
