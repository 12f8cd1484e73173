"""What an authorization server publishes of itself (RFC 8414)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp.auth._algorithms import ASYMMETRIC
from trio_mcp.auth._models import ID_JAG_GRANT_PROFILE, JWT_BEARER_GRANT_TYPE, OAuthMetadata

from ._answers import json_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp.transports.http._asgi import HttpRequest

    from ._answers import Answer
    from ._settings import ClientRegistrationOptions, RevocationOptions

AUTHORIZATION_PATH: Final = "/authorize"
TOKEN_PATH: Final = "/token"  # noqa: S105
REGISTRATION_PATH: Final = "/register"
REVOCATION_PATH: Final = "/revoke"

_AUTH_METHODS: Final = ["client_secret_basic", "client_secret_post", "private_key_jwt"]

_MAX_AGE: Final = (("cache-control", "public, max-age=3600"),)


def build_metadata(
    issuer_url: str,
    service_documentation_url: str | None,
    client_registration_options: ClientRegistrationOptions,
    revocation_options: RevocationOptions,
    supports_identity_assertion: bool = False,
    *,
    sends_issuer: bool = False,
    dpop_algorithms: Sequence[str] | None = None,
    reads_client_documents: bool = False,
) -> OAuthMetadata:
    """Write the metadata of an authorization server.

    Args:
      issuer_url: Its identifier, which goes in byte for byte. The endpoints are below it.
      service_documentation_url: For people.
      client_registration_options: Whether there is a registration endpoint, and which scopes.
      revocation_options: Whether there is a revocation endpoint.
      supports_identity_assertion: Whether identity assertions are exchanged.
      sends_issuer: Whether each answer to a redirect URI has ``iss``.
      dpop_algorithms: By which clients prove to have the keys that tokens are bound to; None
        where none are.
      reads_client_documents: Whether client ids may be URLs of documents.

    """
    base = issuer_url.rstrip("/")
    registers, revokes = client_registration_options.enabled, revocation_options.enabled
    grants = ["authorization_code", "refresh_token"]
    return OAuthMetadata(
        issuer=issuer_url,
        authorization_endpoint=base + AUTHORIZATION_PATH,
        token_endpoint=base + TOKEN_PATH,
        registration_endpoint=base + REGISTRATION_PATH if registers else None,
        revocation_endpoint=base + REVOCATION_PATH if revokes else None,
        scopes_supported=client_registration_options.valid_scopes,
        response_modes_supported=["query"],
        grant_types_supported=[
            *grants,
            *([JWT_BEARER_GRANT_TYPE] if supports_identity_assertion else ()),
        ],
        authorization_grant_profiles_supported=(
            [ID_JAG_GRANT_PROFILE] if supports_identity_assertion else None
        ),
        token_endpoint_auth_methods_supported=["none", *_AUTH_METHODS],
        token_endpoint_auth_signing_alg_values_supported=list(ASYMMETRIC),
        revocation_endpoint_auth_methods_supported=["none", *_AUTH_METHODS] if revokes else None,
        revocation_endpoint_auth_signing_alg_values_supported=(
            list(ASYMMETRIC) if revokes else None
        ),
        service_documentation=service_documentation_url,
        code_challenge_methods_supported=["S256"],
        client_id_metadata_document_supported=True if reads_client_documents else None,
        authorization_response_iss_parameter_supported=True if sends_issuer else None,
        dpop_signing_alg_values_supported=None
        if dpop_algorithms is None
        else list(dpop_algorithms),
    )


def publish(metadata: OAuthMetadata) -> Callable[[HttpRequest], Awaitable[Answer]]:
    """Make what answers with a document."""
    answer = json_answer(metadata.to_json(), headers=_MAX_AGE)

    async def give(_request: HttpRequest) -> Answer:
        return answer

    return give
