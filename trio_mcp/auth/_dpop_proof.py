"""Make the proofs of DPoP (RFC 9449): a token is of use only to who holds the key."""

from __future__ import annotations

import hashlib
import secrets
from base64 import b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any, Final, Self, final

from ._identifiers import split_url, told_url
from ._jwt import default_algorithm, generate_key, import_key, public_jwk, sign_jwt, thumbprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._jwt import Key

DPOP_TYP: Final = "dpop+jwt"

USE_DPOP_NONCE: Final = "use_dpop_nonce"
"""The error that asks for the nonce of the header ``DPoP-Nonce`` (RFC 9449, sections 8 and 9)."""


@final
class DPoPKey:
    """A key that tokens are bound to. No store keeps it; whoever wants it again does.

    Args:
      key: A private key: PEM, or a JWK.
      algorithm: None for the usual one of the key.
      content_digest: Put a digest of the body into the proofs for the MCP server, as one of two
        drafts of the extension wants it. The other one, and RFC 9449, know no such claim.

    Raises:
      ValueError: if it is no private key that this algorithm fits.

    """

    def __init__(
        self,
        key: str | bytes | Mapping[str, Any],
        algorithm: str | None = None,
        *,
        content_digest: bool = False,
    ) -> None:
        self._adopt(import_key(key), algorithm, content_digest=content_digest)

    @classmethod
    def generate(cls, algorithm: str = "ES256", *, content_digest: bool = False) -> Self:
        """Make a fresh one, which tokens of an earlier run of the program are not bound to.

        Args:
          algorithm: By which it signs.
          content_digest: As with the class.

        Raises:
          ValueError: if there is no such algorithm.

        """
        made = cls.__new__(cls)
        key = generate_key(algorithm)
        made._adopt(key, algorithm, content_digest=content_digest)  # noqa: SLF001 - it is our own
        return made

    def _adopt(self, key: Key, algorithm: str | None, *, content_digest: bool) -> None:
        if not key.is_private:
            raise ValueError("A key for DPoP must be a private one")
        self._key = key
        self._content_digest = content_digest
        self.algorithm: str = algorithm or default_algorithm(key)
        # What does not fit is told here, and not in the middle of a request.
        sign_jwt({}, key, self.algorithm)
        self._jwk = public_jwk(key)
        self.thumbprint: str = thumbprint(key)

    def __repr__(self) -> str:
        return f"<DPoPKey {self.algorithm} {self.thumbprint}>"

    def proof(
        self,
        method: str,
        url: str,
        *,
        now: float,
        nonce: str | None = None,
        access_token: str | None = None,
        content: bytes | None = None,
    ) -> str:
        """Make the value of one ``DPoP`` header; no two are the same.

        Args:
          method: Of the request.
          url: Of the request; its query does not count.
          now: Seconds since 1970.
          nonce: The newest that the server has given.
          access_token: The token that goes along; None for requests to a token endpoint.
          content: The body, which counts only with ``content_digest``.

        """
        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(24),
            "htm": method,
            "htu": target_uri(url),
            "iat": int(now),
        }
        if access_token is not None:
            claims["ath"] = token_hash(access_token)
        if nonce is not None:
            claims["nonce"] = nonce
        if self._content_digest and content is not None:
            digest = b64encode(hashlib.sha256(content).digest()).decode()
            claims["content_digest"] = f"sha-256=:{digest}:"
        return sign_jwt(claims, self._key, self.algorithm, typ=DPOP_TYP, jwk=self._jwk)


def token_hash(access_token: str) -> str:
    """Give the claim ``ath`` for a token."""
    digest = hashlib.sha256(access_token.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def target_uri(url: str) -> str:
    """Give the claim ``htu`` for a URL: without query, fragment and password.

    Raises:
      ValueError: if it is no URL.

    """
    if (parts := split_url(url)) is None:
        raise ValueError(f"Expected a URL, got {told_url(url)}")
    authority = parts.authority.rpartition("@")[2]
    return f"{parts.scheme.lower()}://{authority.lower()}{parts.path or '/'}"
