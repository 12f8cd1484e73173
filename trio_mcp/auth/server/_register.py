"""The registration endpoint: a client makes itself known (RFC 7591)."""

from __future__ import annotations

import secrets
import time
import uuid
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp.auth._identifiers import check_redirect_uri, is_loopback_url, split_url
from trio_mcp.auth._models import (
    JWT_BEARER_GRANT_TYPE,
    OAuthClientInformationFull,
    OAuthClientMetadata,
)

from ._answers import Answer, RefusedRequest, json_answer
from ._asked_scopes import asked_scopes
from ._client_keys import check_client_keys
from ._errors import RegistrationError
from ._parameters import read_text

if TYPE_CHECKING:
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._provider import AnyProvider
    from ._settings import ClientRegistrationOptions

MAX_REDIRECT_URIS: Final = 20
"""How many a client may have. Programs have one or two, services one for each environment."""

MAX_REDIRECT_URI: Final = 2048
"""Characters of one."""

MAX_METADATA: Final = 16 * 1024
"""Bytes of all that a client says: as long as it is registered, it is kept."""

MAX_HOST: Final = 253
"""Characters of its host: names are not longer."""


@attrs.frozen
class RegistrationEndpoint:
    """Answers at the registration endpoint."""

    provider: AnyProvider
    options: ClientRegistrationOptions

    async def answer(self, request: HttpRequest) -> Answer:
        """Register a client.

        Raises:
          RefusedRequest: if it is not registered.

        """
        try:
            body = await read_text(request, "application/json")
            if len(body) > MAX_METADATA:
                raise _bad_metadata(f"The metadata have more than {MAX_METADATA} bytes")
            metadata = OAuthClientMetadata.from_json(body)
        except RefusedRequest as refused:
            raise RefusedRequest(
                "invalid_client_metadata",
                refused.description,
                status=refused.status,
                headers=refused.headers,
            ) from None
        except ValueError as exc:
            raise _bad_metadata(str(exc)) from None
        check_client_metadata(metadata)
        client = self._registered(metadata)
        try:
            await self.provider.register_client(client)
        except RegistrationError as refused:
            raise RefusedRequest(refused.error, refused.error_description) from None
        return json_answer(client.to_json(), 201)

    def _registered(self, metadata: OAuthClientMetadata) -> OAuthClientInformationFull:
        now = int(time.time())
        # Unless the client says otherwise, it has a secret (section 2).
        method = metadata.token_endpoint_auth_method or "client_secret_basic"
        secret = expires_at = None
        if method.startswith("client_secret"):
            secret = secrets.token_hex(32)
            lifetime = self.options.client_secret_expiry_seconds
            expires_at = 0 if lifetime is None else now + lifetime
        # What a client calls these is nothing: they are made here.
        own = ("client_id", "client_secret", "client_id_issued_at", "client_secret_expires_at")
        said = {name: value for name, value in metadata.to_json().items() if name not in own}
        document = {
            **said,
            "token_endpoint_auth_method": method,
            "client_id": str(uuid.uuid4()),
            "client_id_issued_at": now,
            "client_secret": secret,
        }
        document.pop("issuer", None)
        client = OAuthClientInformationFull.from_json(document)
        return client.evolve(
            client_secret_expires_at=expires_at, scope=self._scope(metadata.scope)
        )

    def _scope(self, asked: str | None) -> str | None:
        valid = self.options.valid_scopes
        try:
            scopes = asked_scopes(asked, valid)
        except RefusedRequest as refused:
            raise _bad_metadata(refused.description or refused.error) from None
        if valid is None:
            return " ".join(scopes or self.options.default_scopes or ()) or None
        return " ".join(valid) or None


def check_client_metadata(metadata: OAuthClientMetadata) -> None:
    """Check what a client says of itself.

    Raises:
      RefusedRequest: if it is no client that could use this server.

    """
    if "authorization_code" not in metadata.grant_types:
        raise _bad_metadata("The grant_types have to include authorization_code")
    if JWT_BEARER_GRANT_TYPE in metadata.grant_types:
        # Whom an enterprise lets in, it knows beforehand.
        raise _bad_metadata(f"No client registers itself for {JWT_BEARER_GRANT_TYPE}")
    if "code" not in metadata.response_types:
        raise _bad_metadata("The response_types have to include code")
    check_redirect_uris(metadata.redirect_uris, is_web=metadata.application_type == "web")
    check_client_keys(
        metadata.token_endpoint_auth_method, metadata.jwks, metadata.jwks_uri, _bad_metadata
    )


def check_redirect_uris(redirect_uris: list[str] | None, *, is_web: bool) -> None:
    """Check where a client wants its answers.

    Raises:
      RefusedRequest: if there is nowhere, or a place that a code must not go to.

    """
    if not redirect_uris:
        raise RefusedRequest("invalid_redirect_uri", "The redirect_uris are missing")
    if len(redirect_uris) > MAX_REDIRECT_URIS:
        raise RefusedRequest(
            "invalid_redirect_uri", f"There are more than {MAX_REDIRECT_URIS} redirect_uris"
        )
    for uri in redirect_uris:
        if len(uri) > MAX_REDIRECT_URI:
            raise RefusedRequest(
                "invalid_redirect_uri",
                f"A redirect URI is longer than {MAX_REDIRECT_URI} characters",
            )
        try:
            check_redirect_uri(uri)
        except ValueError as exc:
            raise RefusedRequest("invalid_redirect_uri", str(exc)) from None
        _check_host(uri)
        if is_web and is_loopback_url(uri):
            # OpenID Connect Dynamic Client Registration, section 2.
            raise RefusedRequest(
                "invalid_redirect_uri",
                "A client on a person's own machine has the application_type native, not web",
            )


def _check_host(uri: str) -> None:
    # People are shown it, to see whose the client is.
    parts = split_url(uri)
    if parts is not None and len(parts.host) > MAX_HOST:
        raise RefusedRequest(
            "invalid_redirect_uri",
            f"The host of a redirect URI is longer than {MAX_HOST} characters",
        )


def _bad_metadata(reason: str) -> RefusedRequest:
    return RefusedRequest("invalid_client_metadata", reason)
