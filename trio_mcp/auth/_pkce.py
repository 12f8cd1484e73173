"""PKCE (RFC 7636): who began a flow shows so when it is ended."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from typing import Final, Self

import attrs

_VERIFIER: Final = re.compile(r"[A-Za-z0-9\-._~]{43,128}")


def _check_form(_instance: object, attribute: attrs.Attribute[str], value: str) -> None:
    if _VERIFIER.fullmatch(value) is None:
        # The value is a secret, or would be if it were right.
        raise ValueError(f"{attribute.name} must be 43 to 128 characters of A-Z a-z 0-9 - . _ ~")


@attrs.frozen
class PKCEParameters:
    """A verifier, which the client keeps until it asks for the token, and its challenge.

    Attributes:
      code_verifier: The secret.
      code_challenge: What goes into the authorization request, with the method ``S256``.

    """

    code_verifier: str = attrs.field(validator=_check_form, repr=False)
    code_challenge: str = attrs.field(validator=_check_form)

    @classmethod
    def generate(cls) -> Self:
        """Make a fresh pair."""
        verifier = secrets.token_urlsafe(64)
        return cls(code_verifier=verifier, code_challenge=challenge_of(verifier))


def challenge_of(verifier: str) -> str:
    """Give the challenge for a verifier, by S256."""
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def matches(verifier: str, challenge: str) -> bool:
    """Tell, in constant time, whether the challenge is that of the verifier."""
    if _VERIFIER.fullmatch(verifier) is None:
        return False
    return hmac.compare_digest(challenge_of(verifier).encode(), challenge.encode())
