"""What a server says to whoever does not get in (RFC 6750, section 3; RFC 9728, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from trio_mcp.auth._challenges import write_challenge
from trio_mcp.transports.http._refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._settings import DPoPSettings

NONCE_HEADER = "dpop-nonce"


@attrs.frozen
class Challenges:
    """Writes the challenges of one server.

    Args:
      metadata_url: Where its metadata is.
      scopes: What every request takes.
      dpop: How bound tokens are taken.

    """

    metadata_url: str | None
    scopes: Sequence[str]
    dpop: DPoPSettings | None

    def headers(
        self,
        error: str | None = None,
        description: str | None = None,
        scopes: Sequence[str] | None = None,
        scheme: str | None = None,
    ) -> tuple[tuple[str, str], ...]:
        """Write the headers of a refusal: a challenge for each scheme that is taken.

        Args:
          error: The error code; None where nothing was wrong, since nothing came.
          description: For developers.
          scopes: What the operation takes; what every request takes when None.
          scheme: The one to which the error belongs; both when None.

        """
        wanted = self.scopes if scopes is None else scopes
        schemes = [each for each in ("Bearer", "DPoP") if self._takes(each)]
        return tuple(
            ("www-authenticate", self._challenge(each, error, description, wanted))
            if scheme in {None, each}
            else ("www-authenticate", self._challenge(each, None, None, wanted))
            for each in schemes
        )

    def _takes(self, scheme: str) -> bool:
        if scheme == "DPoP":
            return self.dpop is not None
        return self.dpop is None or not self.dpop.required

    def _challenge(
        self, scheme: str, error: str | None, description: str | None, scopes: Sequence[str]
    ) -> str:
        algorithms = " ".join(self.dpop.algorithms) if self.dpop and scheme == "DPoP" else None
        return write_challenge(
            scheme,
            error=error,
            error_description=description,
            resource_metadata=self.metadata_url,
            scope=" ".join(scopes) or None,
            algs=algorithms,
        )

    # Refusals

    def nothing_came(self) -> Refusal:
        """Refuse a request without a token."""
        return Refusal.of(401, "A token is needed", headers=self.headers())

    def invalid_token(self, why: str) -> Refusal:
        """Refuse a request with a token that is not good here."""
        return self._unauthorized("invalid_token", why)

    def invalid_proof(self, why: str) -> Refusal:
        """Refuse a request whose proof proves nothing."""
        return self._unauthorized("invalid_dpop_proof", why, scheme="DPoP")

    def nonce_needed(self, nonce: str) -> Refusal:
        """Ask for a proof with a nonce."""
        why = "The proof has to hold the nonce of the header DPoP-Nonce"
        refusal = self._unauthorized("use_dpop_nonce", why, scheme="DPoP")
        return attrs.evolve(refusal, headers=(*refusal.headers, (NONCE_HEADER, nonce)))

    def _unauthorized(self, error: str, why: str, scheme: str | None = None) -> Refusal:
        headers = self.headers(error, why, scheme=scheme)
        return Refusal.of(401, f"{error}: {why}", headers=headers)

    def malformed(self, why: str) -> Refusal:
        """Refuse a request that is not made as OAuth has it."""
        headers = self.headers("invalid_request", why)
        return Refusal.of(400, f"invalid_request: {why}", headers=headers)
