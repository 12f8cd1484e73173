"""Whatever comes in place of a token or a key is one kind of error, and nothing else."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp.auth import InvalidJwt
from trio_mcp.auth._algorithms import ASYMMETRIC
from trio_mcp.auth._dpop import InvalidProof, check_proof
from trio_mcp.auth._jwt import (
    check_claims,
    generate_key,
    import_key,
    import_key_set,
    public_jwk,
    verify_jwt,
)
from trio_mcp.auth.server._bearer import MalformedCredentials, read_credentials
from trio_mcp.transports.http._headers import Headers

KEYS = [generate_key(each) for each in ("ES256", "ES512", "RS256", "Ed25519")]
JWKS = [public_jwk(each) for each in KEYS]

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from([10**400, -(10**400), 2**63, 1e300, 253_402_300_800])
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "alg": st.sampled_from([*ASYMMETRIC, "none", "HS256"]) | JSON,
        "typ": st.sampled_from(["dpop+jwt", "at+jwt"]) | JSON,
        "kid": JSON,
        "jwk": st.sampled_from(JWKS) | JSON,
        "crit": JSON,
    },
)
CLAIMS = st.dictionaries(
    st.sampled_from(["iss", "aud", "exp", "nbf", "iat", "jti", "htm", "htu", "ath"]), JSON
)


def encoded(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@given(TEXTS | st.binary().map(encoded))
def test_text_that_is_no_token(text):
    for token in (text, f"{text}.{text}.{text}", f"{encoded({'alg': 'ES256'})}.{text}.{text}"):
        with pytest.raises(InvalidJwt):
            verify_jwt(token, KEYS)


@given(HEADERS, CLAIMS, st.binary(max_size=140))
def test_token_that_nobody_has_signed(header, claims, signature):
    token = f"{encoded(header)}.{encoded(claims)}.{encoded(signature)}"
    with pytest.raises(InvalidJwt):
        verify_jwt(token, KEYS)
    with pytest.raises(InvalidProof):
        check_proof(token, method="POST", urls=["https://h/"], now=0)


@given(CLAIMS)
def test_claims_of_all_kinds(claims):
    try:
        check_claims(claims, issuer="a", audience="b", now=0)
    except InvalidJwt:
        return
    assert claims["iss"] == "a"


@given(
    st.sampled_from(JWKS),
    st.dictionaries(
        st.sampled_from(["kty", "crv", "x", "y", "n", "e", "d", "use", "key_ops", "alg", "kid"]),
        st.sampled_from(["P-256", "P-521", "Ed25519", "X25519", "secp256k1", "sig", "AQAB", ""])
        | JSON,
    ),
)
def test_key_that_is_none(jwk, changes):
    for candidate in (changes, {**jwk, **changes}):
        with suppress(ValueError):
            import_key(candidate)
    assert len(import_key_set({"keys": [changes, {**jwk, **changes}]})) <= 2


@given(st.lists(st.binary(max_size=60), max_size=3))
def test_header_that_says_nothing(values):
    try:
        found = read_credentials(Headers((b"authorization", each) for each in values))
    except MalformedCredentials:
        return
    assert found is None or found.token.encode() in values[0]
