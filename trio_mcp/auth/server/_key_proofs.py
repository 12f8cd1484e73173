"""Which key a request for a token proves to have (RFC 9449, section 5)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from trio_mcp.auth._dpop import InvalidProof, NonceNeeded, ProofMemory, check_proof

from ._answers import RefusedRequest
from ._challenge import NONCE_HEADER
from ._nonces import Nonces
from ._replays import MAX_REMEMBERED

if TYPE_CHECKING:
    from trio_mcp.auth._dpop import Proof
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._settings import DPoPSettings


class KeyProofs:
    """Checks the proofs that come to one endpoint.

    Args:
      url: Of the endpoint.
      settings: Which proofs are taken.

    """

    def __init__(self, url: str, settings: DPoPSettings) -> None:
        self._url = url
        self._settings = settings
        self._nonces = Nonces(settings.nonce_key)
        self._memory = ProofMemory(MAX_REMEMBERED)

    def read(self, request: HttpRequest) -> Proof | None:
        """Read the proof that comes with a request; None if there is none, and none is needed.

        Raises:
          RefusedRequest: if it proves nothing, or has to hold a nonce.

        """
        proofs = request.headers.all("dpop")
        if not proofs:
            if self._settings.required:
                raise RefusedRequest("invalid_dpop_proof", "Tokens are bound to keys alone here")
            return None
        first, *others = proofs
        now = time.time()
        try:
            if others:
                raise InvalidProof("there is more than one header DPoP")
            return check_proof(
                first,
                method="POST",
                urls=(self._url,),
                now=now,
                nonce=self._is_good_nonce if self._settings.nonces else None,
                algorithms=self._settings.algorithms,
            )
        except NonceNeeded as exc:
            header = ((NONCE_HEADER, self._nonces.make(now)),)
            raise RefusedRequest("use_dpop_nonce", str(exc), headers=header) from None
        except InvalidProof as exc:
            raise _refused(exc) from None

    def _is_good_nonce(self, nonce: str) -> bool:
        return self._nonces.is_good(nonce, time.time())

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
