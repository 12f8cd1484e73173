"""Signed tokens are believed when the signature, the kind of key and the list of algorithms agree."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa, x25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID
from joserfc.jws import serialize_compact

from trio_mcp.auth import InvalidJwt
from trio_mcp.auth._algorithms import ASYMMETRIC
from trio_mcp.auth._jwt import (
    MAX_JWT_LENGTH,
    UnknownKey,
    audiences_of,
    check_claims,
    default_algorithm,
    generate_key,
    import_key,
    import_key_set,
    public_jwk,
    sign_jwt,
    thumbprint,
    verify_jwt,
)

KEY = generate_key("ES256")
OTHER = generate_key("ES256")
RSA = generate_key("RS256")
CLAIMS = {"iss": "https://as.example", "sub": "ada", "aud": "https://mcp.example", "exp": 1000}


def b64(raw: bytes | dict[str, Any]) -> str:
    data = json.dumps(raw).encode() if isinstance(raw, dict) else raw
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forged(header: dict[str, Any], signature: bytes = b"") -> str:
    return f"{b64(header)}.{b64(CLAIMS)}.{b64(signature)}"


def signed_by_secret(algorithm: str, secret: bytes) -> str:
    text = f"{b64({'alg': algorithm})}.{b64(CLAIMS)}"
    return f"{text}.{b64(hmac.digest(secret, text.encode(), hashlib.sha256))}"


@pytest.mark.parametrize("algorithm", ASYMMETRIC)
def test_token_is_read_by_the_public_half_of_its_key(algorithm):
    key = generate_key(algorithm)
    token = sign_jwt(CLAIMS, key, algorithm, typ="at+jwt", kid="1")
    read = verify_jwt(token, [import_key(public_jwk(key))], typ="at+jwt")
    assert read.claims == CLAIMS
    assert read.header == {"alg": algorithm, "typ": "at+jwt", "kid": "1"}


@pytest.mark.req("R-728", "R-446")
@pytest.mark.parametrize(
    "token",
    [
        pytest.param(forged({"alg": "none"}), id="none"),
        pytest.param(forged({"alg": "None"}), id="None"),
        pytest.param(forged({}), id="no algorithm"),
        pytest.param(forged({"alg": ["ES256"]}), id="algorithms"),
        pytest.param(signed_by_secret("HS256", KEY.as_pem()), id="HS256 with the public key"),
        pytest.param(sign_jwt(CLAIMS, OTHER, "ES256"), id="another key"),
        pytest.param(sign_jwt(CLAIMS, KEY, "ES256")[:-4] + "AAAA", id="signature changed"),
        pytest.param(sign_jwt(CLAIMS, KEY, "ES256") + "=", id="padding"),
        pytest.param(sign_jwt(CLAIMS, KEY, "ES256").rpartition(".")[0] + ".", id="no signature"),
        pytest.param(forged({"alg": "ES256", "crit": ["exp"], "exp": 1}), id="crit"),
        pytest.param(forged({"alg": "ES256", "b64": False}), id="b64"),
        pytest.param(forged({"alg": "ES256", "kid": 1}), id="kid is a number"),
        pytest.param(f"{b64(b'[]')}.{b64(CLAIMS)}.", id="header is an array"),
        pytest.param(f"{b64(b'{')}.{b64(CLAIMS)}.", id="header is no JSON"),
        pytest.param("é.é.é", id="no ASCII"),
        pytest.param("", id="empty"),
        pytest.param("opaque", id="no dots"),
        pytest.param("a.b.c.d.e", id="encrypted"),
        pytest.param("." * MAX_JWT_LENGTH + "..", id="huge"),
    ],
)
def test_whatever_is_not_signed_by_the_key_is_refused_in_words_without_the_token(token):
    with pytest.raises(InvalidJwt) as caught:
        verify_jwt(token, [KEY])
    parts = [each for each in token.split(".") if len(each) > 10]
    assert not any(each in str(caught.value) for each in parts)


def test_payload_that_was_changed_is_not_read():
    header, _, signature = sign_jwt(CLAIMS, KEY, "ES256").split(".")
    with pytest.raises(InvalidJwt, match="signature"):
        verify_jwt(f"{header}.{b64({**CLAIMS, 'sub': 'eve'})}.{signature}", [KEY])


def test_payload_that_is_no_object_is_refused():
    token = serialize_compact({"alg": "ES256"}, b"[1]", KEY)
    with pytest.raises(InvalidJwt, match="no object"):
        verify_jwt(token, [KEY])


def test_algorithm_has_to_be_one_of_those_allowed():
    token = sign_jwt(CLAIMS, RSA, "PS256")
    assert verify_jwt(token, [RSA], algorithms=["PS256"]).claims == CLAIMS
    with pytest.raises(InvalidJwt, match="algorithm"):
        verify_jwt(token, [RSA], algorithms=["RS256"])
    with pytest.raises(InvalidJwt, match="algorithm"):
        verify_jwt(signed_by_secret("HS256", b"x" * 32), [RSA], algorithms=["HS256", "none"])


def test_key_is_used_for_its_own_algorithm_alone():
    key = import_key({**public_jwk(RSA), "alg": "PS256"})
    with pytest.raises(UnknownKey):
        verify_jwt(sign_jwt(CLAIMS, RSA, "RS256"), [key])
    assert verify_jwt(sign_jwt(CLAIMS, RSA, "PS256"), [key]).claims == CLAIMS


def test_key_is_found_by_its_name():
    first = import_key({**public_jwk(KEY), "kid": "1"})
    second = import_key({**public_jwk(OTHER), "kid": "2"})
    token = sign_jwt(CLAIMS, OTHER, "ES256", kid="2")
    assert verify_jwt(token, [first, second]).claims == CLAIMS
    assert verify_jwt(token, lambda header: [second] if header["kid"] == "2" else []).claims
    # Not by trying the others, which would make the name worth nothing.
    with pytest.raises(UnknownKey):
        verify_jwt(token, [first])
    with pytest.raises(UnknownKey):
        verify_jwt(token, [])


def test_key_without_a_name_is_tried():
    token = sign_jwt(CLAIMS, OTHER, "ES256", kid="2")
    assert verify_jwt(token, [KEY, OTHER]).claims == CLAIMS
    assert verify_jwt(sign_jwt(CLAIMS, OTHER, "ES256"), [KEY, RSA, OTHER]).claims == CLAIMS


@pytest.mark.parametrize(
    ("expected", "found", "fits"),
    [
        ("at+jwt", "at+jwt", True),
        ("at+jwt", "application/AT+JWT", True),
        (("at+jwt", "jwt"), "JWT", True),
        ("at+jwt", "JWT", False),
        ("at+jwt", None, False),
        (None, "whatever", True),
    ],
)
def test_kind_of_token_is_compared_as_a_media_type(expected, found, fits):
    token = sign_jwt(CLAIMS, KEY, "ES256", typ=found)
    if fits:
        assert verify_jwt(token, [KEY], typ=expected).claims == CLAIMS
        return
    with pytest.raises(InvalidJwt, match="kind"):
        verify_jwt(token, [KEY], typ=expected)


# Claims


def check(claims: dict[str, Any], **rules: Any) -> None:
    wanted = {"issuer": "https://as.example", "audience": "https://mcp.example", "now": 990.0}
    check_claims(claims, **{**wanted, "leeway": 0, **rules})


@pytest.mark.req("R-446", "R-447")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"exp": 990}, "has expired"),
        ({"exp": None}, "no exp"),
        ({"exp": "1000"}, "exp of the token is no number"),
        ({"exp": True}, "exp of the token is no number"),
        ({"nbf": 991}, "not valid yet"),
        ({"iat": 991}, "made in the future"),
        ({"iss": "https://as.example/"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"iss": ["https://as.example"]}, "another issuer"),
        ({"aud": "https://mcp.example/"}, "somebody else"),
        ({"aud": None}, "somebody else"),
        ({"aud": []}, "somebody else"),
        ({"aud": [["https://mcp.example"]]}, "somebody else"),
    ],
)
def test_claim_that_does_not_fit_is_refused(change, told):
    with pytest.raises(InvalidJwt, match=told):
        check({**CLAIMS, **change})


def test_claims_that_fit_are_taken():
    check(CLAIMS)
    check({**CLAIMS, "nbf": 990, "iat": 990.5}, now=990.5)
    check({**CLAIMS, "aud": ["https://other", "https://mcp.example"]})
    check(CLAIMS, audience=["https://mcp.example", "urn:mcp"])
    check({"exp": 1000}, issuer=None, audience=None)
    check(CLAIMS, now=1029, leeway=30)
    check({}, issuer=None, audience=None, required=())
    assert audiences_of({"aud": ["a", 1]}) == {"a"}


# Keys


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "Ed25519"])
def test_key_is_read_from_pem_and_from_a_jwk(algorithm):
    key = generate_key(algorithm)
    for source in (key.as_pem(private=True), key.as_dict(private=True)):
        assert import_key(source).is_private
    for source in (key.as_pem(), key.as_pem().decode(), key.as_dict(private=False)):
        read = import_key(source)
        assert not read.is_private
        assert thumbprint(read) == thumbprint(key)


@pytest.mark.parametrize(
    "source",
    [
        "no key",
        b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n",
        {},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": ["EC"]},
        {"kty": "EC", "crv": "P-256", "x": "c2VjcmV0", "y": "c2VjcmV0"},
        {"kty": "EC", "crv": "secp256k1", "x": "c2VjcmV0", "y": "c2VjcmV0"},
        {"kty": "EC", "crv": "P-256"},
        {"kty": "OKP", "crv": "X25519", "x": b64(b"\t" + bytes(31))},
        {"kty": "OKP", "crv": "Ed25519", "x": "c2VjcmV0"},
        {"kty": "RSA", "n": "c2VjcmV0", "e": "AQAB"},
        {"kty": "RSA", "n": "c2Vj" * 1000, "e": "AQAB"},
        {"kty": "RSA", "n": 7, "e": "AQAB"},
        {**public_jwk(KEY), "use": "enc"},
        {**public_jwk(KEY), "alg": "ECDH-ES"},
        {**public_jwk(KEY), "key_ops": ["deriveKey"]},
    ],
)
def test_key_that_signs_nothing_is_refused_in_words_without_it(source):
    with pytest.raises(ValueError, match=r"key|JWK") as caught:
        import_key(source)
    assert "c2V" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def pem_of(key: Any) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    ("pem", "told"),
    [
        (pem_of(rsa.generate_private_key(65537, 1024)), "2048 to 8192 bits"),
        (pem_of(x25519.X25519PrivateKey.generate()), "no known kind"),
        (pem_of(ec.generate_private_key(ec.SECP224R1())), "curve is not known"),
    ],
)
def test_pem_of_a_key_that_will_not_do_is_refused(pem, told):
    with pytest.raises(ValueError, match=told):
        import_key(pem)


@pytest.mark.parametrize(
    ("exponent", "is_taken"),
    [(3, True), (65537, True), (2**32 - 1, True), (2**32 + 1, False), (2**2047 + 1, False)],
)
def test_rsa_key_whose_exponent_takes_long_is_refused(exponent, is_taken):
    modulus = rsa.generate_private_key(65537, 2048).public_key().public_numbers().n
    pem = (
        rsa.RSAPublicNumbers(exponent, modulus)
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    size = (exponent.bit_length() + 7) // 8
    encoded = base64.urlsafe_b64encode(exponent.to_bytes(size, "big")).rstrip(b"=").decode()
    n = base64.urlsafe_b64encode(modulus.to_bytes(256, "big")).rstrip(b"=").decode()
    jwk = {"kty": "RSA", "n": n, "e": encoded}
    for source in (pem, jwk):
        if is_taken:
            import_key(source)
            continue
        with pytest.raises(ValueError, match="public exponent"):
            import_key(source)
    assert len(import_key_set({"keys": [jwk]})) == is_taken


def test_key_is_read_from_a_certificate():
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "as.example")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=1))
        .sign(private, SHA256())
    )
    read = import_key(certificate.public_bytes(Encoding.PEM))
    assert thumbprint(read) == thumbprint(import_key(pem_of(private)))


def test_both_curves_of_eddsa_are_known():
    key = import_key(pem_of(ed448.Ed448PrivateKey.generate()))
    assert verify_jwt(sign_jwt(CLAIMS, key, "EdDSA"), [key]).claims == CLAIMS


def test_keys_of_a_set_that_are_of_no_use_are_left_out():
    document = {"keys": [1, {"kty": "oct", "k": "c2VjcmV0"}, {**public_jwk(KEY), "use": "enc"}]}
    document["keys"] += [public_jwk(RSA)] * 3
    assert [each.key_type for each in import_key_set(document)] == ["RSA"] * 3
    assert len(import_key_set(document, most=4)) == 1
    with pytest.raises(ValueError, match="array of keys"):
        import_key_set({"keys": {}})


def test_thumbprint_is_that_of_the_standard():
    # RFC 7638, section 3.1; its n is 2048 bits.
    jwk = {
        "kty": "RSA",
        "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_"
        "BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2Qv"
        "zqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0"
        "fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
        "e": "AQAB",
        "alg": "RS256",
        "kid": "2011-04-29",
    }
    assert thumbprint(jwk) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


def test_public_half_holds_nothing_of_the_private_one():
    assert set(public_jwk(KEY)) == {"kty", "crv", "x", "y"}
    assert set(public_jwk(RSA)) == {"kty", "n", "e"}


@pytest.mark.parametrize(
    ("key", "algorithm", "told"),
    [
        (KEY, "RS256", "a private EC key"),
        (KEY, "HS256", "a private EC key"),
        (KEY, "none", "a private EC key"),
        (import_key(public_jwk(KEY)), "ES256", "a public EC key"),
        (import_key({**RSA.as_dict(private=True), "alg": "PS256"}), "RS256", "for PS256"),
    ],
)
def test_key_that_cannot_sign_is_refused(key, algorithm, told):
    with pytest.raises(ValueError, match=told):
        sign_jwt(CLAIMS, key, algorithm)


def test_key_says_by_what_it_signs():
    assert default_algorithm(KEY) == "ES256"
    assert default_algorithm(import_key({**RSA.as_dict(private=True), "alg": "PS256"})) == "PS256"
    assert default_algorithm(import_key({**KEY.as_dict(private=True), "key_ops": ["sign"]}))
    with pytest.raises(ValueError, match="expected one of ES256"):
        generate_key("HS256")
