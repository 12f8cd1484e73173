"""The algorithms of signatures that are taken."""

from __future__ import annotations

from typing import Final

ASYMMETRIC: Final = (
    "ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
    "EdDSA", "Ed25519",
)  # fmt: skip
"""Those with a public and a private key (RFC 7518, RFC 8037, RFC 9864): the only ones used.

Never ``none``, and never one with a shared secret: whoever knows a public key could sign by
it as if it were that secret.
"""
