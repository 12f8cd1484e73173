"""The token endpoint: what a client gets for a code, a refresh token or an assertion."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp.auth._models import JWT_BEARER_GRANT_TYPE
from trio_mcp.auth._pkce import matches
from trio_mcp.auth._scopes import missing_scopes

from ._answers import Answer, RefusedRequest, json_answer
from ._asked_scopes import asked_scopes
from ._client_auth import method_of
from ._errors import TokenError
from ._parameters import read_form
from ._provider import IdentityAssertionParams
from ._resources import check_resource, check_same_resource

if TYPE_CHECKING:
    from trio_mcp.auth._dpop import Proof
    from trio_mcp.auth._models import OAuthClientInformationFull, OAuthToken
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._client_auth import ClientAuthenticator
    from ._key_proofs import KeyProofs
    from ._parameters import Parameters
    from ._provider import AnyProvider

GRANT_TYPES: Final = ("authorization_code", "refresh_token", JWT_BEARER_GRANT_TYPE)


@attrs.frozen
class TokenEndpoint:
    """Answers at the token endpoint.

    Attributes:
      provider: Issues the tokens.
      authenticator: Finds out who asks.
      takes_assertions: Whether assertions of identity providers are exchanged.
      proofs: Finds the key that a request proves to have; None where tokens are not bound.
      valid_scopes: The scopes that there are; None for whatever was allowed.

    """

    provider: AnyProvider
    authenticator: ClientAuthenticator
    takes_assertions: bool
    proofs: KeyProofs | None
    valid_scopes: list[str] | None = None

    async def answer(self, request: HttpRequest) -> Answer:
        """Issue a token.

        Raises:
          RefusedRequest: if none is issued.

        """
        form = await read_form(request)
        client = await self.authenticator.authenticate(request, form)
        grant_type = form.needed("grant_type")
        if grant_type not in GRANT_TYPES or (
            grant_type == JWT_BEARER_GRANT_TYPE and not self.takes_assertions
        ):
            raise RefusedRequest("unsupported_grant_type", "This grant_type is not offered here")
        if grant_type not in client.grant_types:
            raise RefusedRequest(
                "unauthorized_client", f"The client is not registered for {grant_type}"
            )
        proof = self._proof(request, client)
        try:
            token = await self._issue(grant_type, client, form, proof)
        except TokenError as refused:
            raise RefusedRequest(refused.error, refused.error_description) from None
        return json_answer(token.to_json())

    def _proof(self, request: HttpRequest, client: OAuthClientInformationFull) -> Proof | None:
        if self.proofs is None:
            return None
        proof = self.proofs.read(request)
        if proof is None and client.extra.get("dpop_bound_access_tokens") is True:
            raise RefusedRequest(
                "invalid_dpop_proof", "The client is registered for tokens that are bound to a key"
            )
        return proof

    def _use(self, proof: Proof | None) -> str | None:
        if proof is None or self.proofs is None:
            return None
        self.proofs.use(proof)
        return proof.thumbprint

    async def _issue(
        self,
        grant_type: str,
        client: OAuthClientInformationFull,
        form: Parameters,
        proof: Proof | None,
    ) -> OAuthToken:
        match grant_type:
            case "authorization_code":
                return await self._for_code(client, form, proof)
            case "refresh_token":
                return await self._for_refresh_token(client, form, proof)
            case _:
                return await self._for_assertion(client, form, proof)

    async def _for_code(
        self, client: OAuthClientInformationFull, form: Parameters, proof: Proof | None
    ) -> OAuthToken:
        verifier = form.needed("code_verifier")
        code = await self.provider.load_authorization_code(client, form.needed("code"))
        if code is None or code.client_id != client.client_id:
            raise _bad_grant("The code is not known, or was used")
        if code.expires_at <= time.time():
            raise _bad_grant("The code has expired")
        redirect_uri = form.get("redirect_uri")
        if redirect_uri != code.redirect_uri and (
            redirect_uri is not None or code.redirect_uri_provided_explicitly
        ):
            raise _bad_grant("The redirect_uri is not the one of the authorization request")
        if not matches(verifier, code.code_challenge):
            raise _bad_grant("The code_verifier is not the one of the code_challenge")
        check_same_resource(form.get("resource"), code.resource)
        if not _has_key(proof, code.dpop_jkt):
            raise _bad_grant("The code is bound to another key than the one that was proved")
        if (thumbprint := self._use(proof)) is not None:
            code = code.evolve(dpop_jkt=thumbprint)
        return await self.provider.exchange_authorization_code(client, code)

    async def _for_refresh_token(
        self, client: OAuthClientInformationFull, form: Parameters, proof: Proof | None
    ) -> OAuthToken:
        token = await self.provider.load_refresh_token(client, form.needed("refresh_token"))
        if token is None or token.client_id != client.client_id:
            raise _bad_grant("The refresh token is not known, was used, or was revoked")
        if token.expires_at is not None and token.expires_at <= time.time():
            raise _bad_grant("The refresh token has expired")
        if not _has_key(proof, token.dpop_jkt):
            raise _bad_grant("The refresh token is bound to another key than the one proved")
        scopes = self._scopes_of(form, token.scopes)
        check_same_resource(form.get("resource"), token.resource)
        if (thumbprint := self._use(proof)) is not None:
            token = token.evolve(dpop_jkt=thumbprint)
        return await self.provider.exchange_refresh_token(client, token, scopes)

    def _scopes_of(self, form: Parameters, granted: list[str]) -> list[str]:
        scopes = asked_scopes(form.get("scope"), self.valid_scopes)
        if missing_scopes(granted, scopes):
            raise RefusedRequest(
                "invalid_scope", "The refresh token is for fewer scopes than are asked for"
            )
        # Of what was allowed, some may be gone since: a provider keeps it for long.
        valid = granted if self.valid_scopes is None else self.valid_scopes
        left = scopes or [each for each in granted if each in valid]
        if granted and not left:
            raise RefusedRequest("invalid_scope", "There are no such scopes any more")
        return left

    async def _for_assertion(
        self, client: OAuthClientInformationFull, form: Parameters, proof: Proof | None
    ) -> OAuthToken:
        if method_of(client) == "none":
            # Whoever finds an assertion could come with the id of any public client.
            raise RefusedRequest(
                "unauthorized_client", "Assertions are taken from clients that authenticate"
            )
        scope, valid = form.get("scope"), self.valid_scopes
        scopes = valid if scope is None else asked_scopes(scope, None)
        if scopes is not None and valid is not None:
            # As with those that are not asserted: what is left is granted.
            scopes = [each for each in scopes if each in valid]
        return await self.provider.exchange_identity_assertion(
            client,
            IdentityAssertionParams(
                assertion=form.needed("assertion"),
                scopes=scopes,
                resource=check_resource(form.get("resource")),
                dpop_jkt=self._use(proof),
            ),
        )


def _has_key(proof: Proof | None, thumbprint: str | None) -> bool:
    return thumbprint is None or (proof is not None and proof.thumbprint == thumbprint)


def _bad_grant(reason: str) -> RefusedRequest:
    return RefusedRequest("invalid_grant", reason)
