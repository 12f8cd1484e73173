"""Signed tokens (RFC 7515, RFC 7519): made, and believed only when the signature says so.

The keys and the mathematics are joserfc's, loaded on first use. Which algorithm may be used is
never up to the token: a list says so, and the key has to be of its kind.

What a signature does not say (whose token it is, for whom, until when) is for `check_claims`, or
for whoever knows better. No error here holds the token or a part of its signature.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import attrs

from trio_mcp._codec._json import JsonError, dumps, loads
from trio_mcp.types._base import is_object

from ._algorithms import ASYMMETRIC
from ._times import numeric_date

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from joserfc._rfc7515.model import JWSAlgModel
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    from trio_mcp.types._base import JsonObject

    Key: TypeAlias = RSAKey | ECKey | OKPKey
    """A public or private key."""

    Keys: TypeAlias = Sequence[Key] | Callable[[JsonObject], Sequence[Key]]
    """Keys, or what finds those for a header."""

MAX_JWT_LENGTH: Final = 16 * 1024
"""Characters of a token that is looked at.

Heads of HTTP requests end at some 16 to 64 KiB in most servers, so no working token is longer.
"""

MIN_RSA_BITS: Final = 2048
"""RFC 7518, section 3.3: a key of 2048 bits or more."""

MAX_RSA_BITS: Final = 8192
"""Checking a signature by a key of 16,384 bits takes a millisecond; nobody needs one."""

MAX_RSA_EXPONENT: Final = 2**32
"""Checking a signature takes time by the length of this number; nearly all keys have 65537."""

DEFAULT_LEEWAY: Final = 30.0
"""Seconds by which the clocks of two machines may differ."""

_MAX_KEYS_TRIED: Final = 8
# Where a token does not say which key is its own.


class InvalidJwt(ValueError):
    """A token that is not to be believed; the text says why, and holds nothing of it."""

    __module__ = "trio_mcp.auth"


class UnknownKey(InvalidJwt):
    """A token may be by a key that is not known: no key has the name that it says, if it does."""


@attrs.frozen
class VerifiedJwt:
    """What a token says whose signature is right."""

    header: JsonObject
    claims: JsonObject


def sign_jwt(
    claims: Mapping[str, Any],
    key: Key,
    algorithm: str,
    *,
    typ: str | None = None,
    kid: str | None = None,
    jwk: Mapping[str, Any] | None = None,
) -> str:
    """Make a token.

    Args:
      claims: What it says.
      key: A private key.
      algorithm: One of `ASYMMETRIC` that fits the key.
      typ: What kind of token it is.
      kid: The name of the key.
      jwk: The public key, where it goes along.

    Raises:
      ValueError: if the key does not fit the algorithm, or is a public one.

    """
    header: dict[str, Any] = {"alg": algorithm}
    header |= {
        name: value
        for name, value in (("typ", typ), ("kid", kid), ("jwk", jwk and dict(jwk)))
        if value is not None
    }
    model = _model_for(key, algorithm, "sign")
    if model is None:
        raise ValueError(f"The key cannot sign by {algorithm}: {_describe(key)}")
    signed = f"{_encode(dumps(header))}.{_encode(dumps(dict(claims)))}"
    return f"{signed}.{_encode(model.sign(signed.encode(), key))}"


def verify_jwt(
    token: str,
    keys: Keys,
    *,
    algorithms: Collection[str] = ASYMMETRIC,
    typ: str | Collection[str] | None = None,
) -> VerifiedJwt:
    """Read a token whose signature is right; what it claims is not checked.

    Args:
      token: What came.
      keys: Those that may have signed it, or a function that finds them by its header.
      algorithms: Those that may have been used; others than `ASYMMETRIC` never are.
      typ: The kinds of token that will do (with or without ``application/`` before them); None
        for any.

    Raises:
      UnknownKey: if none of the keys has the name or the kind that the token speaks of; or, where
        it names none, none of them has signed it.
      InvalidJwt: if it is no signed token, or was not signed by any of the keys.

    """
    if len(token) > MAX_JWT_LENGTH:
        raise InvalidJwt(f"the token is longer than {MAX_JWT_LENGTH} characters")
    parts = token.split(".")
    if len(parts) != 3:
        raise InvalidJwt("the token is no JWT: expected three parts with dots between them")
    header = _object("header", parts[0])
    algorithm = _algorithm_of(header, algorithms)
    _check_header(header, typ)
    signature = _decode("signature", parts[2])
    signed = token[: -len(parts[2]) - 1].encode()
    candidates = keys(header) if callable(keys) else keys
    _check_signature(signed, signature, algorithm, header, candidates)
    return VerifiedJwt(header, _object("payload", parts[1]))


def unverified_claims(token: str) -> JsonObject:
    """Read what a token says, to find the keys of whoever it says has made it.

    Nothing in there is to be believed before `verify_jwt` has said so.

    Raises:
      InvalidJwt: if it is no signed token.

    """
    parts = token.split(".") if len(token) <= MAX_JWT_LENGTH else []
    if len(parts) != 3:
        raise InvalidJwt("the token is no JWT: expected three parts with dots between them")
    return _object("payload", parts[1])


def check_claims(
    claims: JsonObject,
    *,
    issuer: str | Collection[str] | None,
    audience: str | Collection[str] | None,
    now: float,
    leeway: float = DEFAULT_LEEWAY,
    required: Collection[str] = ("exp",),
) -> None:
    """Check whose token it is, for whom, and when (RFC 7519, section 4.1).

    Args:
      claims: What a token says.
      issuer: Who may have made it, byte for byte; None for anybody.
      audience: One of whom it has to be for; None for anybody.
      now: Seconds since 1970.
      leeway: Seconds by which clocks may differ.
      required: What has to be there; ``iss`` and ``aud`` are whenever they are checked.

    Raises:
      InvalidJwt: if one is missing, or is not as it has to be.

    """
    for name in required:
        if claims.get(name) is None:
            raise InvalidJwt(f"the token has no {name}")
    expires, begins, made = (_time(claims, name) for name in ("exp", "nbf", "iat"))
    if expires is not None and now >= expires + leeway:
        raise InvalidJwt("the token has expired")
    if begins is not None and now < begins - leeway:
        raise InvalidJwt("the token is not valid yet")
    if made is not None and now < made - leeway:
        raise InvalidJwt("the token was made in the future")
    maker = claims.get("iss")
    if issuer is not None and not (isinstance(maker, str) and maker in _several(issuer)):
        raise InvalidJwt("the token has another issuer")
    if audience is not None and not audiences_of(claims) & set(_several(audience)):
        raise InvalidJwt("the token is for somebody else")


def audiences_of(claims: JsonObject) -> set[str]:
    """Give those for whom a token is; none if it does not say so in strings."""
    found = claims.get("aud")
    listed = cast("list[object]", found if isinstance(found, list) else [found])
    return {each for each in listed if isinstance(each, str)}


# Keys


def generate_key(algorithm: str) -> Key:
    """Make a private key for an algorithm.

    Raises:
      ValueError: if there is none of this name.

    """
    from joserfc.jwk import ECKey, OKPKey, RSAKey  # noqa: PLC0415 - loads on first use

    if algorithm not in ASYMMETRIC:
        raise ValueError(f"algorithm: expected one of {', '.join(ASYMMETRIC)}, got {algorithm!r}")
    if algorithm.startswith("ES"):
        return ECKey.generate_key({"ES256": "P-256", "ES384": "P-384"}.get(algorithm, "P-521"))
    if algorithm.startswith("Ed"):
        return OKPKey.generate_key("Ed25519")
    return RSAKey.generate_key(MIN_RSA_BITS)


def import_key(source: str | bytes | Mapping[str, Any]) -> Key:
    """Read a public or private key: PEM (a certificate, too), or a JWK.

    Raises:
      ValueError: if it is none, or one that nothing here signs by: a shared secret, a curve that
        only encrypts, or RSA with too few or too many bits. Holds nothing of the key.

    """
    key = _key_from_pem(source) if isinstance(source, (str, bytes)) else _key_from_jwk(source)
    _check_strength(key)
    return key


def import_key_set(document: JsonObject, most: int = 100) -> list[Key]:
    """Read the keys of a JWK Set (RFC 7517, section 5); those that are of no use are left out.

    Args:
      document: The object.
      most: How many are read.

    Raises:
      ValueError: if it is no JWK Set.

    """
    listed: Any = document.get("keys")
    if not isinstance(listed, list):
        raise ValueError("A JWK Set is an object with an array of keys")  # noqa: TRY004 - of a peer
    found: list[Key] = []
    for each in cast("list[object]", listed)[:most]:
        if is_object(each) and each.get("use", "sig") == "sig":
            try:
                found.append(import_key(each))
            except ValueError:
                continue  # RFC 7517: what is not understood is ignored
    return found


def public_jwk(key: Key) -> dict[str, str]:
    """Write the public half of a key, and nothing else, in the one spelling there is."""
    members = key.binding.convert_raw_key_to_dict(key.public_key, private=False)
    return {"kty": key.key_type, **cast("dict[str, str]", members)}


def thumbprint(key: Key | Mapping[str, Any]) -> str:
    """Name a key by its hash (RFC 7638, SHA-256).

    Raises:
      ValueError: if a JWK was given that is none.

    """
    # Of the key itself: a JWK that somebody sends may spell its numbers in more than one way.
    members = public_jwk(import_key(cast("Any", key)) if is_object(key) else cast("Key", key))
    text = dumps({name: members[name] for name in sorted(members)})
    return _encode(hashlib.sha256(text).digest())


def default_algorithm(key: Key) -> str:
    """Choose the first of `ASYMMETRIC` by which a private key signs."""
    return next(each for each in ASYMMETRIC if _model_for(key, each, "sign") is not None)


# Parts


def _check_signature(
    signed: bytes, signature: bytes, algorithm: str, header: JsonObject, keys: Sequence[Key]
) -> None:
    fitting = [(key, model) for key in keys if (model := _model_for(key, algorithm)) is not None]
    kid = header.get("kid")
    if kid is not None:
        named = [each for each in fitting if each[0].kid == kid]
        fitting = named or [each for each in fitting if each[0].kid is None]
    if not fitting:
        raise UnknownKey("no key is known by which the token could have been signed")
    if any(model.verify(signed, signature, key) for key, model in fitting[:_MAX_KEYS_TRIED]):
        return
    if kid is not None and fitting[0][0].kid == kid:
        raise InvalidJwt("the signature of the token is wrong")
    raise UnknownKey("the signature of the token is wrong, or by a key that is not known")


def _model_for(key: Key, algorithm: str, operation: str = "verify") -> JWSAlgModel | None:
    from joserfc.errors import JoseError  # noqa: PLC0415 - loads on first use
    from joserfc.jws import JWSRegistry  # noqa: PLC0415 - loads on first use

    if algorithm not in ASYMMETRIC:
        return None
    model = JWSRegistry.algorithms[algorithm]
    try:
        model.check_key(key)
        key.check_key_op(operation)
    except JoseError:
        return None
    return model


def _algorithm_of(header: JsonObject, algorithms: Collection[str]) -> str:
    algorithm = header.get("alg")
    if isinstance(algorithm, str) and algorithm in algorithms and algorithm in ASYMMETRIC:
        return algorithm
    raise InvalidJwt("the token is not signed by an algorithm that is allowed")


def _check_header(header: JsonObject, typ: str | Collection[str] | None) -> None:
    if "crit" in header or "b64" in header:
        # RFC 7515, section 4.1.11: what is critical has to be understood, and none of it is.
        raise InvalidJwt("the header of the token has extensions that are not known")
    if not isinstance(header.get("kid", ""), str):
        raise InvalidJwt("the kid of the token is no string")
    if typ is None:
        return
    found = header.get("typ")
    if not isinstance(found, str) or _plain_type(found) not in map(_plain_type, _several(typ)):
        raise InvalidJwt("the token is of another kind: its typ is not the one expected")


def _plain_type(typ: str) -> str:
    return typ.lower().removeprefix("application/")


def _object(part: str, text: str) -> JsonObject:
    try:
        found = loads(_decode(part, text))
    except JsonError:
        raise InvalidJwt(f"the {part} of the token is no JSON") from None
    if not is_object(found):
        raise InvalidJwt(f"the {part} of the token is no object")
    return found


def _decode(part: str, text: str) -> bytes:
    try:
        raw = base64.b64decode(
            text.encode("ascii") + b"=" * (-len(text) % 4), b"-_", validate=True
        )
    except (binascii.Error, ValueError):
        raw = None
    # One spelling for the same bytes: another one would be another token to whoever compares.
    if raw is None or _encode(raw) != text:
        raise InvalidJwt(f"the {part} of the token is no Base64")
    return raw


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _time(claims: JsonObject, name: str) -> float | None:
    found = claims.get(name)
    if found is None:
        return None
    try:
        return numeric_date(found)
    except ValueError as exc:
        raise InvalidJwt(f"the {name} of the token is {exc}") from None


def _several(value: str | Collection[str]) -> Collection[str]:
    return (value,) if isinstance(value, str) else value


def _key_from_jwk(jwk: Mapping[str, Any]) -> Key:
    from joserfc.errors import JoseError  # noqa: PLC0415 - loads on first use
    from joserfc.jwk import ECKey, OKPKey, RSAKey  # noqa: PLC0415 - loads on first use

    kind = jwk.get("kty")
    classes: dict[Any, type[Key]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
    if not isinstance(kind, str) or kind not in classes:
        raise ValueError("The key is of no known kind: expected the kty RSA, EC or OKP")
    _check_size_of(jwk)
    try:
        return classes[kind].import_key(dict(jwk))
    except (JoseError, ValueError, TypeError, LookupError, AttributeError):
        raise ValueError(f"The JWK is no {kind} key") from None


def _key_from_pem(source: str | bytes) -> Key:
    from cryptography.hazmat.primitives.asymmetric import (  # noqa: PLC0415 - loads on first use
        ec,
        ed448,
        ed25519,
        rsa,
    )
    from joserfc.jwk import ECKey, OKPKey, RSAKey  # noqa: PLC0415 - loads on first use

    native = _native_from_pem(source.encode() if isinstance(source, str) else source)
    match native:
        case rsa.RSAPrivateKey() | rsa.RSAPublicKey():
            return RSAKey(native, native)
        case ec.EllipticCurvePrivateKey() | ec.EllipticCurvePublicKey():
            if native.curve.name not in _CURVES:
                raise ValueError("The key cannot be used: its curve is not known")
            return ECKey(native, native)
        case ed25519.Ed25519PrivateKey() | ed25519.Ed25519PublicKey():
            return OKPKey(native, native)
        case ed448.Ed448PrivateKey() | ed448.Ed448PublicKey():
            return OKPKey(native, native)
        case _:
            raise ValueError("The key is of no known kind: expected RSA, EC, Ed25519 or Ed448")


def _native_from_pem(pem: bytes) -> object:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - loads on first use
    from cryptography.x509 import load_pem_x509_certificate  # noqa: PLC0415 - loads on first use

    try:
        if b"CERTIFICATE-----" in pem:
            return load_pem_x509_certificate(pem).public_key()
        if b"PRIVATE KEY-----" in pem:
            return serialization.load_pem_private_key(pem, password=None)
        return serialization.load_pem_public_key(pem)
    except Exception:  # noqa: BLE001 - of many kinds, and some quote what they were given
        raise ValueError("The key is no PEM of a key, or is encrypted") from None


_CURVES: Final = ("secp256r1", "secp384r1", "secp521r1")

_MAX_EXPONENT_TEXT: Final = 8
# Characters in Base64, with one to spare.

_NUMBERS: Final = frozenset({"n", "e", "d", "p", "q", "dp", "dq", "qi", "x", "y"})


def _check_size_of(jwk: Mapping[str, Any]) -> None:
    # Before the numbers are made, which takes time that grows with them.
    most = MAX_RSA_BITS // 6 + 1
    if any(len(str(jwk[name])) > most for name in _NUMBERS & set(jwk)):
        raise ValueError(f"The key has more than {MAX_RSA_BITS} bits")
    if jwk["kty"] == "RSA" and len(str(jwk.get("n"))) < MIN_RSA_BITS // 6:
        raise ValueError(f"The key has fewer than {MIN_RSA_BITS} bits")
    if jwk["kty"] == "RSA" and len(str(jwk.get("e"))) > _MAX_EXPONENT_TEXT:
        raise _bad_exponent()


def _check_strength(key: Key) -> None:
    native: Any = key.public_key
    bits = native.key_size if key.key_type == "RSA" else MIN_RSA_BITS
    if not MIN_RSA_BITS <= bits <= MAX_RSA_BITS:
        raise ValueError(
            f"An RSA key has {MIN_RSA_BITS} to {MAX_RSA_BITS} bits, and this one has {bits}"
        )
    if key.key_type == "RSA" and native.public_numbers().e > MAX_RSA_EXPONENT:
        raise _bad_exponent()
    if key.key_type == "OKP" and not hasattr(native, "verify"):
        raise ValueError("The key cannot sign: its curve is one for encryption")
    operation = "sign" if key.is_private else "verify"
    if not any(_model_for(key, each, operation) is not None for each in ASYMMETRIC):
        raise ValueError("The key is not meant for signatures, or its curve is not known")


def _bad_exponent() -> ValueError:
    return ValueError("The public exponent of an RSA key is 65537, or a number of at most 32 bits")


def _describe(key: Key) -> str:
    kind = "private" if key.is_private else "public"
    return f"a {kind} {key.key_type} key" + ("" if key.alg is None else f" for {key.alg}")
