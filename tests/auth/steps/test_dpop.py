"""Tokens that are bound to a key."""

from __future__ import annotations

import base64
import json

import pytest

from trio_mcp.auth import DPoPKey, OAuthToken
from trio_mcp.auth._dpop_proof import token_hash
from trio_mcp.auth._step_types import HttpAnswer, Stored
from trio_mcp.errors import OAuthFlowError, OAuthTokenError

TOKEN = "https://as.example/token"


@pytest.fixture(scope="module")
def key():
    return DPoPKey.generate()


@pytest.fixture
def bound(world, key):
    world.options["dpop"] = key
    world.token_extra = {"token_type": "DPoP"}
    world.publish(dpop_signing_alg_values_supported=["ES256"])
    return world


def claims_of(proof):
    return json.loads(base64.urlsafe_b64decode(proof.split(".")[1] + "=="))


@pytest.mark.req("R-725")
def test_each_request_has_a_proof_of_its_own(bound, answer, key):
    seen = []

    def serve(headers):
        seen.append(headers)
        return answer(200 if headers else 401, WWW_Authenticate="DPoP algs=ES256")

    bound.call(serve)
    bound.call(serve)
    at_token = claims_of(bound.sent_to(TOKEN)[0].headers["DPoP"])
    assert (at_token["htm"], at_token["htu"], "ath" in at_token) == ("POST", TOKEN, False)
    assert [headers["Authorization"] for headers in seen[1:]] == ["DPoP access-1"] * 2
    proofs = [claims_of(headers["DPoP"]) for headers in seen[1:]]
    assert {proof["ath"] for proof in proofs} == {token_hash("access-1")}
    assert {proof["htu"] for proof in proofs} == {"https://h.example/mcp"}
    assert len({proof["jti"] for proof in [at_token, *proofs]}) == 3
    assert bound.queries[0]["dpop_jkt"] == key.thumbprint
    assert bound.registrations[0]["dpop_bound_access_tokens"] is True


@pytest.mark.req("R-726")
def test_nonce_of_the_authorization_server_is_used(bound, answer):
    bound.routes[TOKEN] = [
        answer(400, {"error": "use_dpop_nonce"}, DPoP_Nonce="one"),
        bound.give_token,
    ]
    assert bound.challenge()
    assert [claims_of(step.headers["DPoP"]).get("nonce") for step in bound.sent_to(TOKEN)] == [
        None, "one",
    ]  # fmt: skip
    assert [form["code"] for form in bound.forms()] == ["the-code"] * 2
    assert len(bound.queries) == 1


@pytest.mark.req("R-726")
def test_newest_nonce_of_each_server_is_kept(bound, answer):
    issued = iter("abc")

    def give(step):
        found = bound.give_token(step)
        return HttpAnswer(200, {"DPoP-Nonce": f"as-{next(issued)}"}, found.content)

    bound.routes[TOKEN] = give
    seen = []

    def serve(headers):
        seen.append(headers)
        return answer(200 if headers else 401, DPoP_Nonce=f"rs-{len(seen)}")

    bound.call(serve)
    bound.call(serve)
    bound.now += 4000
    bound.call(serve)
    assert [claims_of(headers["DPoP"])["nonce"] for headers in seen[1:]] == [
        "rs-1",
        "rs-2",
        "rs-3",
    ]
    assert claims_of(bound.sent_to(TOKEN)[1].headers["DPoP"])["nonce"] == "as-a"


@pytest.mark.req("R-726")
@pytest.mark.parametrize(
    "challenge",
    [
        'Bearer, DPoP error="use_dpop_nonce"',
        'Bearer error="invalid_token", DPoP error="use_dpop_nonce", algs="ES256"',
        'DPoP error="use_dpop_nonce", Bearer error="invalid_token"',
        'DPoP error="invalid_token", DPoP error="use_dpop_nonce"',
    ],
)
def test_nonce_of_the_server_is_used(bound, answer, challenge):
    seen = []

    def serve(headers):
        seen.append(headers)
        if not headers:
            return answer(401, WWW_Authenticate="DPoP")
        if claims_of(headers["DPoP"]).get("nonce") == "n":
            return answer(200)
        return answer(401, WWW_Authenticate=challenge, DPoP_Nonce="n")

    assert bound.call(serve).status == 200
    assert len(seen) == 3
    assert len(bound.forms()) == 1


@pytest.mark.parametrize(
    ("given", "message"), [(True, "another nonce of DPoP each time"), (False, "gives none")]
)
def test_server_that_is_never_content_with_a_nonce_is_given_up(bound, answer, given, message):
    count = 0

    def serve(headers):
        nonlocal count
        count += 1
        named = {"DPoP_Nonce": f"n{count}"} if given else {}
        return answer(401, WWW_Authenticate='DPoP error="use_dpop_nonce"', **named)

    with pytest.raises(OAuthFlowError, match=message):
        bound.call(serve)
    assert count == (3 if given else 1)


@pytest.mark.parametrize(
    "nonces", [["a", "b", "c", "d"], ["a", "a"], [None], ["a b"], ['a"b'], ["x" * 1025]]
)
def test_authorization_server_that_is_never_content_is_given_up(bound, answer, nonces):
    bound.routes[TOKEN] = [
        answer(400, {"error": "use_dpop_nonce"}, **({"DPoP_Nonce": nonce} if nonce else {}))
        for nonce in nonces
    ]
    with pytest.raises(OAuthTokenError, match="use_dpop_nonce"):
        bound.challenge()
    assert len(bound.forms()) == {4: 3, 2: 2, 1: 1}[len(nonces)]


def test_nonce_means_nothing_without_a_key(world, answer):
    world.routes[TOKEN] = answer(400, {"error": "use_dpop_nonce"}, DPoP_Nonce="n")
    with pytest.raises(OAuthTokenError, match="use_dpop_nonce"):
        world.challenge()
    assert len(world.forms()) == 1


@pytest.mark.req("R-728")
def test_algorithm_is_one_that_the_authorization_server_knows(bound):
    bound.publish(dpop_signing_alg_values_supported=["RS256", "EdDSA"])
    with pytest.raises(OAuthFlowError, match="signed by RS256, EdDSA, and the key signs by ES256"):
        bound.challenge()
    assert bound.queries == []


def test_token_that_is_not_bound_is_refused(bound):
    bound.token_extra = {"token_type": "Bearer"}
    with pytest.raises(OAuthTokenError, match="of the type 'Bearer', expected 'DPoP'"):
        bound.challenge()
    assert bound.memory.tokens is None


def test_server_that_wants_bound_tokens_is_told_of(world):
    world.publish(prm={"dpop_bound_access_tokens_required": True})
    with pytest.raises(OAuthFlowError, match="bound to a key"):
        world.challenge()
    assert world.queries == []


@pytest.mark.parametrize(
    ("token_type", "jkt", "is_used"),
    [("DPoP", "own", True), ("DPoP", "other", False), ("DPoP", None, False), ("Bearer", None, False)],
)  # fmt: skip
def test_only_tokens_of_this_key_are_taken_from_the_store(
    bound, answer, key, token_type, jkt, is_used
):
    jkt = key.thumbprint if jkt == "own" else jkt
    bound.stored = Stored(
        tokens=OAuthToken(
            access_token="kept", token_type=token_type, extra={"jkt": jkt} if jkt else {}
        )
    )
    seen = []
    bound.call(lambda headers: seen.append(headers) or answer(200))
    assert (seen != [{}]) == is_used


def test_bound_token_in_the_store_is_of_no_use_without_the_key(world, answer):
    world.stored = Stored(
        tokens=OAuthToken(access_token="kept", token_type="DPoP", extra={"jkt": "x"})
    )
    seen = []
    world.call(lambda headers: seen.append(headers) or answer(200))
    assert seen == [{}]


def test_refresh_is_proved_too(bound, answer):
    serve = lambda headers: answer(200 if headers else 401)  # noqa: E731
    bound.call(serve)
    bound.now += 4000
    bound.call(serve)
    assert all("DPoP" in step.headers for step in bound.sent_to(TOKEN))
    assert len(bound.forms()) == 2


def test_digest_of_the_body_is_that_of_the_request(bound):
    from trio_mcp.auth._memory import Attempt
    from trio_mcp.auth._steps import sign

    bound.options["dpop"] = DPoPKey.generate(content_digest=True)
    bound.challenge()
    attempt = Attempt("POST", bound.server_url, b"body")
    claims = claims_of(sign(bound.memory, bound.config, attempt)["DPoP"])
    assert claims["content_digest"].startswith("sha-256=:")
    assert "content_digest" not in claims_of(bound.sent_to(TOKEN)[0].headers["DPoP"])
