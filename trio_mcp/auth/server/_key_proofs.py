"""Which key a request for a token proves to have (RFC 9449, section 5)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from trio_mcp.auth._dpop import InvalidProof, ProofMemory, check_proof

from ._answers import RefusedRequest
from ._replays import MAX_REMEMBERED

if TYPE_CHECKING:
    from trio_mcp.auth._dpop import Proof
    from trio_mcp.transports.http._asgi import HttpRequest


class KeyProofs:
    """Checks the proofs that come to one endpoint.

    Args:
      url: Of the endpoint.

    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._memory = ProofMemory(MAX_REMEMBERED)

    def read(self, request: HttpRequest) -> Proof | None:
        """Read the proof that comes with a request; None if there is none.

        Raises:
          RefusedRequest: if it proves nothing.

        """
        proofs = request.headers.all("dpop")
        if not proofs:
            return None
        first, *others = proofs
        try:
            if others:
                raise InvalidProof("there is more than one header DPoP")
            return check_proof(first, method="POST", urls=(self._url,), now=time.time())
        except InvalidProof as exc:
            raise _refused(exc) from None

    def use(self, proof: Proof) -> None:
        """Let a proof count, once.

        Only for who has shown something worth a token: strangers could fill the memory.

        Raises:
          RefusedRequest: if it has counted before.

        """
        try:
            self._memory.check(proof, time.time())
        except InvalidProof as exc:
            raise _refused(exc) from None


def _refused(exc: InvalidProof) -> RefusedRequest:
    return RefusedRequest("invalid_dpop_proof", f"The proof is not taken: {exc}")
