"""A proof counts for one request, one token and one key, once."""

from __future__ import annotations

from typing import Any

import pytest

from trio_mcp.auth._dpop import (
    InvalidProof,
    NonceNeeded,
    ProofMemory,
    TooManyProofs,
    check_proof,
)
from trio_mcp.auth._dpop_proof import DPoPKey, token_hash
from trio_mcp.auth._jwt import generate_key, public_jwk, sign_jwt, thumbprint

URL = "https://mcp.example/mcp"
NOW = 1_000_000.0
TOKEN = "the-token"
KEY = generate_key("ES256")
GOOD = {"jti": "1", "htm": "POST", "htu": URL, "iat": NOW, "ath": token_hash(TOKEN)}


def proof(change: dict[str, Any] | None = None, *, key=KEY, algorithm="ES256", **header) -> str:
    claims = {
        name: value for name, value in {**GOOD, **(change or {})}.items() if value is not ...
    }
    given = {"typ": "dpop+jwt", "jwk": public_jwk(key), **header}
    return sign_jwt(claims, key, algorithm, **given)


def check(text: str, **options: Any) -> Any:
    wanted = {"method": "POST", "urls": [URL], "now": NOW, "access_token": TOKEN}
    return check_proof(text, **{**wanted, **options})


def test_proof_names_its_key():
    key = DPoPKey.generate()
    made = key.proof("POST", f"{URL}?query#part", now=NOW, access_token=TOKEN)
    assert check(made).thumbprint == key.thumbprint
    assert check(proof()).thumbprint == thumbprint(KEY)


@pytest.mark.parametrize(
    ("htu", "url"),
    [
        (URL, f"{URL}?session=1"),
        ("HTTPS://MCP.example:443/mcp", URL),
        ("https://mcp.example", "https://mcp.example/"),
        ("https://mcp.example:8443/mcp", "https://MCP.EXAMPLE:8443/mcp"),
    ],
)
def test_urls_are_compared_as_urls(htu, url):
    assert check(proof({"htu": htu}), urls=["https://other.example/", url])


@pytest.mark.req("R-727", "R-728")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no JWT"),
        ("a.b.c", "Base64"),
        (proof({"jti": ...}), "jti"),
        (proof({"jti": ""}), "jti"),
        (proof({"jti": 7}), "jti"),
        (proof({"jti": "x" * 257}), "jti"),
        (proof({"htm": "GET"}), "htm"),
        (proof({"htm": ...}), "htm"),
        (proof({"htm": "post"}), "htm"),
        (proof({"htu": "https://mcp.example/other"}), "htu"),
        (proof({"htu": "https://mcp.example/mcp/"}), "htu"),
        (proof({"htu": "http://mcp.example/mcp"}), "htu"),
        (proof({"htu": "https://evil.example/mcp"}), "htu"),
        (proof({"htu": ["https://mcp.example/mcp"]}), "htu"),
        (proof({"htu": "https://mcp.example\\mcp"}), "htu"),
        (proof({"htu": ...}), "htu"),
        (proof({"iat": NOW - 301}), "iat"),
        (proof({"iat": NOW + 61}), "iat"),
        (proof({"iat": 10**400}), "iat is no number of seconds"),
        (proof({"iat": -(10**400)}), "iat is no number of seconds"),
        (proof({"iat": 1e300}), "iat is no number of seconds"),
        (proof({"iat": str(NOW)}), "iat"),
        (proof({"iat": True}), "iat"),
        (proof({"iat": ...}), "iat"),
        (proof({"ath": ...}), "ath"),
        (proof({"ath": token_hash("another")}), "ath"),
        (proof({"ath": "é"}), "ath"),
        (proof(typ="jwt"), "kind"),
        (proof(typ=None), "kind"),
        (proof(jwk=None), "jwk"),
        (proof(jwk=public_jwk(generate_key("ES256"))), "signature"),
        (proof(jwk=KEY.as_dict(private=True)), "no public key"),
        (proof(jwk={"kty": "oct", "k": "c2VjcmV0"}), "no public key"),
        (proof(jwk={"kty": "EC", "crv": "P-256"}), "no public key"),
        (proof(jwk=public_jwk(generate_key("RS256"))), "no key is known"),
    ],
)
def test_proof_of_something_else_is_refused(text, told):
    with pytest.raises(InvalidProof, match=told) as caught:
        check(text)
    assert "eyJ" not in str(caught.value)


@pytest.mark.req("R-728")
def test_algorithm_is_one_of_those_allowed():
    with pytest.raises(InvalidProof, match="algorithm"):
        check(proof(), algorithms=["RS256"])
    key = generate_key("PS256")
    assert check(proof(key=key, algorithm="PS256"), algorithms=["PS256"])


def test_token_endpoint_sees_no_token():
    assert check(proof({"ath": ...}), access_token=None)


def test_nonce_is_asked_for_where_one_is_wanted():
    def is_good(nonce: str) -> bool:
        return nonce == "fresh"

    assert check(proof({"nonce": "fresh"}), nonce=is_good)
    for text in (proof(), proof({"nonce": "old"}), proof({"nonce": 7})):
        with pytest.raises(NonceNeeded, match="DPoP-Nonce"):
            check(text, nonce=is_good)


@pytest.mark.req("R-727")
def test_proof_counts_once_for_as_long_as_it_would_count():
    memory = ProofMemory(10)
    first, other = check(proof()), check(proof({"jti": "2"}))
    memory.check(first, NOW)
    memory.check(other, NOW)
    memory.check(check(proof(key=generate_key("ES256"))), NOW)  # a jti is its key's own
    for now in (NOW, NOW + 299):
        with pytest.raises(InvalidProof, match="used before"):
            memory.check(first, now)
    memory.check(first, NOW + 300)  # by its time it would be refused by then


def test_where_no_room_is_left_nothing_counts():
    memory = ProofMemory(1)
    memory.check(check(proof()), NOW)
    with pytest.raises(TooManyProofs, match="too many"):
        memory.check(check(proof({"jti": "2"})), NOW)
    memory.check(check(proof({"jti": "2"})), NOW + 301)


@pytest.mark.req("R-727")
def test_one_sender_shuts_out_nobody_else():
    memory = ProofMemory(10)
    other = generate_key("ES256")
    for number in range(2):
        memory.check(check(proof({"jti": f"{number}"})), NOW)
    with pytest.raises(TooManyProofs):
        memory.check(check(proof({"jti": "3"})), NOW)
    with pytest.raises(InvalidProof, match="used before"):
        memory.check(check(proof({"jti": "0"})), NOW)
    memory.check(check(proof(key=other)), NOW)
    # Several keys are of one sender, where he is known; each has names of its own.
    memory.check(check(proof({"jti": "a"})), NOW, sender="ada")
    memory.check(check(proof({"jti": "a"}, key=other)), NOW, sender="ada")
    with pytest.raises(TooManyProofs):
        memory.check(check(proof(key=generate_key("ES256"))), NOW, sender="ada")
