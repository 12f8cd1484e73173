"""Lets those in who bring a good token, and tells others what they lack.

All of this happens before anything of a request is done (security, token validation), and in this
order: whether there is a token at all and it is one; whether whoever knows its issuer calls it
good; whether it has expired; whether it is for this server; whether its sender holds the key that
it is bound to. What it allows is looked at with what is asked for.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final, final

from trio_mcp._rpc._repeats import Repeats
from trio_mcp.auth._dpop import InvalidProof, NonceNeeded, ProofMemory, TooManyProofs, check_proof
from trio_mcp.auth._identifiers import origin_of
from trio_mcp.auth._times import numeric_date
from trio_mcp.transports.http._guard import Guard
from trio_mcp.transports.http._refusal import Refusal

from ._access import AccessToken, is_bound, key_thumbprint
from ._audience import audiences, is_same_resource
from ._bearer import MalformedCredentials, read_credentials
from ._challenge import Challenges
from ._nonces import Nonces
from ._principal import principal_of
from ._verifier import VerifierUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp._rpc._exchange import Principal
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._access import TokenVerifier
    from ._bearer import Credentials
    from ._settings import AuthSettings, DPoPSettings

logger: Final = logging.getLogger("trio_mcp.auth")

MAX_TOKEN_LENGTH: Final = 16 * 1024
"""Characters of a token that is looked at."""

MAX_PROOFS: Final = 200_000
"""Proofs that are remembered: some 40 MB, for 600 requests a second."""

FAILED: Final = "The token verifier failed"
RETRY_AFTER: Final = (("retry-after", "5"),)


@final
class TokenGuard(Guard):
    """Admits requests by their tokens.

    Args:
      settings: What the server is told.
      verifier: Tells whether a token is good.
      metadata_url: Where the server's metadata is; None if nowhere.
      clock: The time in seconds since 1970.

    """

    def __init__(
        self,
        settings: AuthSettings,
        verifier: TokenVerifier,
        metadata_url: str | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.required_scopes: Sequence[str] = tuple(settings.required_scopes or ())
        self._settings = settings
        self._verifier: Any = verifier  # the author's, whatever its hints say
        self._clock = clock
        self._challenges = Challenges(metadata_url, self.required_scopes, settings.dpop)
        self._proofs = ProofMemory(MAX_PROOFS)
        self._repeats = Repeats()
        self._nonces = Nonces(settings.dpop.nonce_key if settings.dpop else None)

    async def check(self, request: HttpRequest) -> Principal | Refusal:
        """See `Guard.check`."""
        try:
            credentials = read_credentials(request.headers)
        except MalformedCredentials as exc:
            return self._challenges.malformed(str(exc))
        if credentials is None or (credentials.scheme == "DPoP" and self._settings.dpop is None):
            return self._challenges.nothing_came()
        token = await self._verify(credentials.token)
        if isinstance(token, Refusal):
            return token
        refusal = self._refuse_token(token) or self._refuse_sender(request, credentials, token)
        return refusal or principal_of(token, self._settings.scope_covers)

    def challenge(self, scopes: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """See `Guard.challenge`."""
        return self._challenges.headers(
            "insufficient_scope", "This takes more than the token allows", scopes
        )

    async def _verify(self, token: str) -> AccessToken | Refusal:
        if len(token) > MAX_TOKEN_LENGTH:
            return self._challenges.invalid_token("The token is too long")
        try:
            found: object = await self._verifier.verify_token(token)
        except VerifierUnavailable as exc:
            # That nobody can say so now does not make a token bad: with a 401 its client would
            # throw it away, and ask a person to log in again.
            self._repeats.warn(logger, "Tokens cannot be verified now: %s", exc)
            return Refusal.of(503, "Tokens cannot be verified now", headers=RETRY_AFTER)
        except Exception:
            logger.exception("The token verifier failed")
            return Refusal.of(500, FAILED)
        if found is None:
            return self._challenges.invalid_token("The token is not good here")
        if not isinstance(found, AccessToken):
            logger.error("verify_token: expected an AccessToken or None, got %s", type(found))
            return Refusal.of(500, FAILED)
        if found.expires_at is not None:
            try:
                numeric_date(found.expires_at)
            except ValueError as exc:
                logger.error("verify_token: the expires_at of the token is %s", exc)  # noqa: TRY400
                return Refusal.of(500, FAILED)
        return found

    def _refuse_token(self, token: AccessToken) -> Refusal | None:
        if token.expires_at is not None and token.expires_at <= self._clock():
            return self._challenges.invalid_token("The token has expired")
        settings = self._settings
        own = settings.resource_server_url
        if settings.validate_token_resource is False or own is None:
            return None
        named = audiences(token)
        if any(is_same_resource(each, own) for each in named):
            return None
        logger.info(
            "A token is for %s, and not for %r: resource_server_url and the audience that the "
            "authorization server writes have to agree; a verifier that checks the audience "
            "itself goes with validate_token_resource=False",
            ", ".join(f"{each!r:.200}" for each in sorted(named)[:3]) or "nobody",
            own,
        )
        return self._challenges.invalid_token("The token was issued for another server")

    # Whether whoever sends a token may use it

    def _refuse_sender(
        self, request: HttpRequest, credentials: Credentials, token: AccessToken
    ) -> Refusal | None:
        dpop = self._settings.dpop
        if credentials.scheme == "DPoP":
            assert dpop is not None
            return self._refuse_proof(request, credentials.token, token, dpop)
        if is_bound(token):
            # RFC 9449, section 7.2: or whoever steals it would leave the proof out. To whatever
            # it is bound: what is not understood is not checked.
            return self._challenges.invalid_token("The token is bound to a key, and no bearer's")
        if dpop is not None and dpop.required:
            return self._challenges.invalid_token("A token that is bound to a key is needed")
        return None

    def _refuse_proof(
        self, request: HttpRequest, text: str, token: AccessToken, dpop: DPoPSettings
    ) -> Refusal | None:
        thumbprint = key_thumbprint(token)
        if thumbprint is None:
            bound = "something that is not checked here" if is_bound(token) else "no key"
            return self._challenges.invalid_token(f"The token is bound to {bound}")
        proofs = request.headers.all("dpop")
        if len(proofs) != 1:
            return self._challenges.invalid_proof("One header DPoP is needed")
        now = self._clock()
        try:
            proof = check_proof(
                proofs[0],
                method=request.method,
                urls=self._urls_of(request),
                now=now,
                access_token=text,
                nonce=(lambda nonce: self._nonces.is_good(nonce, now)) if dpop.nonces else None,
                algorithms=dpop.algorithms,
            )
            if proof.thumbprint != thumbprint:
                return self._challenges.invalid_token("The token is bound to another key")
            # The share is that of a user: for each of his keys he gets a token.
            self._proofs.check(proof, now, sender=principal_of(token).key)
        except NonceNeeded:
            return self._challenges.nonce_needed(self._nonces.make(now))
        except TooManyProofs as exc:
            return Refusal.of(429, f"The proof is not taken: {exc}", headers=RETRY_AFTER)
        except InvalidProof as exc:
            return self._challenges.invalid_proof(str(exc))
        return None

    def _urls_of(self, request: HttpRequest) -> list[str]:
        """Give the URLs by which a request may have been sent.

        By the server's own name, since a proxy may have changed what the request says of that.
        """
        own = self._settings.resource_server_url
        scope = request.scope
        if own is None:
            base = f"{scope.get('scheme', 'http')}://{request.headers.get('host', '')}"
            return [f"{base}{scope['path']}"]
        return [own, f"{origin_of(own)}{scope['path']}"]
