"""Which key a request for a token proves to have (RFC 9449, section 5)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from trio_mcp.auth._dpop import InvalidProof, ProofMemory, check_proof

from ._answers import RefusedRequest
from ._replays import MAX_REMEMBERED

if TYPE_CHECKING:
    from trio_mcp.transports.http._asgi import HttpRequest


class KeyProofs:
    """Checks the proofs that come to one endpoint.

    Args:
      url: Of the endpoint.

    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._memory = ProofMemory(MAX_REMEMBERED)

    def thumbprint(self, request: HttpRequest) -> str | None:
        """Name the key that a request proves to have; None if it says nothing of one.

        Raises:
          RefusedRequest: if it says something, and does not prove it.

        """
        proofs = request.headers.all("dpop")
        if not proofs:
            return None
        now = time.time()
        first, *others = proofs
        try:
            if others:
                raise InvalidProof("there is more than one header DPoP")
            proof = check_proof(first, method="POST", urls=(self._url,), now=now)
            self._memory.check(proof, now)
        except InvalidProof as exc:
            raise RefusedRequest("invalid_dpop_proof", f"The proof is not taken: {exc}") from None
        return proof.thumbprint
