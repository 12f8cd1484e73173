from __future__ import annotations

import pytest

from trio_mcp.auth import DPoPKey
from trio_mcp.auth._dpop_proof import target_uri, token_hash
from trio_mcp.auth._jwt import generate_key, import_key, public_jwk, thumbprint, verify_jwt


def read(proof):
    """Check the signature by the key that came along."""
    import base64
    import json

    head = proof.split(".")[0]
    jwk = json.loads(base64.urlsafe_b64decode(head + "=="))["jwk"]
    return verify_jwt(proof, [import_key(jwk)], typ="dpop+jwt")


@pytest.mark.req("R-725", "R-728")
@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "EdDSA", "RS256", "PS256"])
def test_proof_says_what_is_requested_and_by_whom(algorithm):
    key = DPoPKey.generate(algorithm)
    found = read(key.proof("POST", "HTTPS://u:p@H:8/mcp?a=b#c", now=1000.9))
    assert found.header["alg"] == algorithm
    assert found.header["jwk"].keys() & {"d", "p", "q"} == set()
    assert thumbprint(found.header["jwk"]) == key.thumbprint
    jti = found.claims.pop("jti")
    assert found.claims == {"htm": "POST", "htu": "https://h:8/mcp", "iat": 1000}
    assert jti != read(key.proof("POST", "https://h", now=1)).claims["jti"]


@pytest.mark.req("R-725", "R-726")
def test_token_and_nonce_are_bound_to_the_proof():
    proof = DPoPKey.generate().proof("GET", "https://h", now=1, nonce="n", access_token="t")
    claims = read(proof).claims
    assert (claims["ath"], claims["nonce"]) == (token_hash("t"), "n")


def test_token_hash_is_that_of_the_rfc():
    # RFC 9449, section 7.1.
    token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
    assert token_hash(token) == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("https://h", "https://h/"),
        ("https://h/", "https://h/"),
        ("https://h/a/?b", "https://h/a/"),
        ("http://[::1]:8/x#y", "http://[::1]:8/x"),
    ],
)
def test_query_does_not_count(url, uri):
    assert target_uri(url) == uri


def test_what_is_no_url_has_no_proof():
    with pytest.raises(ValueError, match="Expected a URL"):
        target_uri("")


@pytest.mark.req("R-728")
def test_key_is_a_private_one_of_two_halves():
    with pytest.raises(ValueError, match="must be a private one"):
        DPoPKey(public_jwk(generate_key("ES256")))
    with pytest.raises(ValueError, match="kty"):
        DPoPKey({"kty": "oct", "k": "AAAA"})
    for algorithm in ("none", "HS256", "RS256"):
        with pytest.raises(ValueError, match=algorithm):
            DPoPKey(private_jwk(), algorithm)
    with pytest.raises(ValueError, match="HS256"):
        DPoPKey.generate("HS256")


def private_jwk():
    return generate_key("ES256").as_dict(private=True)


def test_key_can_be_kept_by_the_application():
    jwk = private_jwk()
    assert DPoPKey(jwk).thumbprint == DPoPKey(jwk, "ES256").thumbprint
    assert jwk["d"] not in repr(DPoPKey(jwk))


def test_digest_of_the_body_is_put_in_where_that_is_wanted():
    plain = DPoPKey.generate()
    assert (
        "content_digest" not in read(plain.proof("POST", "https://h", now=1, content=b"")).claims
    )
    key = DPoPKey.generate(content_digest=True)
    assert "content_digest" not in read(key.proof("GET", "https://h", now=1)).claims
    # RFC 9530, appendix B.
    assert (
        read(key.proof("POST", "https://h", now=1, content=b'{"hello": "world"}\n')).claims[
            "content_digest"
        ]
        == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    )
    given = DPoPKey(private_jwk(), content_digest=True)
    assert "content_digest" in read(given.proof("POST", "https://h", now=1, content=b"")).claims
