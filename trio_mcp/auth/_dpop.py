"""Check the proofs of DPoP (RFC 9449, section 4.3): that whoever sends a token holds its key."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp.types._base import is_object

from ._algorithms import ASYMMETRIC
from ._dpop_proof import DPOP_TYP, token_hash
from ._identifiers import is_same_origin, split_url
from ._jwt import InvalidJwt, import_key, thumbprint, verify_jwt
from ._times import numeric_date
from .server._replays import Replays

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from trio_mcp.types._base import JsonObject

    from ._jwt import Key

MAX_PROOF_AGE: Final = 300.0
"""Seconds for which a proof is good: it travels, and the clock of its client may be slow."""

MAX_AHEAD: Final = 60.0
"""Seconds by which the clock of its client may be fast. As long as that it is remembered, too."""

MAX_JTI_LENGTH: Final = 256

_SENDERS: Final = 5
# How many of them fill the memory of proofs.

_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


class InvalidProof(ValueError):
    """A proof that proves nothing; the text says why, and holds nothing of it."""


class TooManyProofs(InvalidProof):
    """A proof that may be good, and cannot be remembered, so that it could count twice."""


class NonceNeeded(InvalidProof):
    """A proof that may be good, and has to be made again with a nonce of this server."""


@attrs.frozen
class Proof:
    """What a proof says.

    Attributes:
      thumbprint: Of the key (RFC 7638).
      jti: Its own name.
      made_at: When it was made, in seconds since 1970.

    """

    thumbprint: str
    jti: str
    made_at: float


def check_proof(
    proof: str,
    *,
    method: str,
    urls: Collection[str],
    now: float,
    access_token: str | None = None,
    nonce: Callable[[str], bool] | None = None,
    algorithms: Collection[str] = ASYMMETRIC,
    max_age: float = MAX_PROOF_AGE,
) -> Proof:
    """Read a proof that is made for one request.

    Whether it comes for the first time, and is by the key of the token, is for the caller to see.

    Args:
      proof: The value of the only header ``DPoP``.
      method: Of the request.
      urls: By which the request may have been sent: what stands before a server may have
        other names for it.
      now: Seconds since 1970.
      access_token: What comes along; None at a token endpoint.
      nonce: Tells whether a nonce is one of ours that is still good; None to ask for none.
      algorithms: Those that a proof may be signed by.
      max_age: Seconds by which clocks and travel may make it older than now.

    Raises:
      NonceNeeded: if it has no nonce, or an old one.
      InvalidProof: if it is no proof for this request.

    """
    found: list[Key] = []

    def key_of(header: JsonObject) -> list[Key]:
        found.append(_key_in(header))
        return found

    try:
        read = verify_jwt(proof, key_of, algorithms=algorithms, typ=DPOP_TYP)
    except InvalidJwt as exc:
        raise InvalidProof(str(exc)) from None
    claims = read.claims
    jti = claims.get("jti")
    if not isinstance(jti, str) or not 0 < len(jti) <= MAX_JTI_LENGTH:
        raise InvalidProof(f"the jti has to be a text of at most {MAX_JTI_LENGTH} characters")
    if claims.get("htm") != method:
        raise InvalidProof("the proof is for another method: htm")
    if not any(_is_target(claims.get("htu"), each) for each in urls):
        raise InvalidProof("the proof is for another URL: htu")
    try:
        made_at = numeric_date(claims.get("iat"))
    except ValueError as exc:
        raise InvalidProof(f"the proof does not say when it was made: iat is {exc}") from None
    if not now - max_age <= made_at <= now + MAX_AHEAD:
        raise InvalidProof(f"the proof was not made within the last {max_age:g} s: iat")
    if access_token is not None and not _is_equal(claims.get("ath"), token_hash(access_token)):
        raise InvalidProof("the proof is for another token: ath")
    if nonce is not None:
        _check_nonce(claims.get("nonce"), nonce)
    return Proof(thumbprint(found[0]), jti, made_at)


class ProofMemory:
    """Lets each proof count once, as long as it would count.

    Args:
      most: How many are remembered. When there is no room, none counts; of one sender a fifth of
        them, so that nobody else is shut out by one alone.

    """

    def __init__(self, most: int) -> None:
        self._replays = Replays(most, most_each=max(1, most // _SENDERS))

    def check(
        self,
        proof: Proof,
        now: float,
        max_age: float = MAX_PROOF_AGE,
        *,
        sender: str | None = None,
    ) -> None:
        """Refuse a proof that has come before.

        Args:
          proof: What came.
          now: Seconds since 1970.
          max_age: Seconds for which a proof is good.
          sender: Whose share of the memory it takes; that of its key when None. Whoever has one
            may have many keys.

        Raises:
          TooManyProofs: if there is no room to remember it.
          InvalidProof: if it has.

        """
        until = proof.made_at + max_age
        whose = proof.thumbprint if sender is None else sender
        name = f"{proof.thumbprint} {proof.jti}"
        if self._replays.is_first(whose, name, until, now):
            return
        if self._replays.has_come(whose, name):
            raise InvalidProof("the proof has been used before: jti")
        raise TooManyProofs("too many proofs are still good: try again when some have expired")


def _key_in(header: JsonObject) -> Key:
    jwk: object = header.get("jwk")
    if not is_object(jwk) or _PRIVATE & set(jwk):
        raise InvalidProof("the proof holds no public key: jwk")
    try:
        return import_key(jwk)
    except ValueError as exc:
        raise InvalidProof(f"the proof holds no public key: {exc}") from None


def _check_nonce(found: Any, is_good: Callable[[str], bool]) -> None:
    if not isinstance(found, str) or not is_good(found):
        raise NonceNeeded("the proof has to hold the nonce of the header DPoP-Nonce")


def _is_target(htu: Any, url: str) -> bool:
    # RFC 9449, section 4.3: without query and fragment, after the normalization of URLs.
    if not isinstance(htu, str):
        return False
    meant, asked = split_url(htu), split_url(url)
    if meant is None or asked is None:
        return False
    return is_same_origin(htu, url) and (meant.path or "/") == (asked.path or "/")


def _is_equal(found: Any, expected: str) -> bool:
    return isinstance(found, str) and hmac.compare_digest(found.encode(), expected.encode())
