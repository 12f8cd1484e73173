"""The endpoints of an authorization server, as routes beside that of the MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp.auth._identifiers import (
    ASM_SUFFIX,
    OPENID_SUFFIX,
    is_secure_url,
    split_url,
    told_url,
)
from trio_mcp.transports.http._routes import Route

from ._answers import ANY_ORIGIN, Endpoint
from ._authorize import AuthorizationEndpoint
from ._client_assertions import ClientAssertions
from ._client_auth import ClientAuthenticator
from ._client_keys import ClientKeys
from ._key_proofs import KeyProofs
from ._metadata import (
    AUTHORIZATION_PATH,
    REGISTRATION_PATH,
    REVOCATION_PATH,
    TOKEN_PATH,
    build_metadata,
    publish,
)
from ._provider import BringsRoutes
from ._register import RegistrationEndpoint
from ._revoke import RevocationEndpoint
from ._settings import ClientRegistrationOptions, RevocationOptions
from ._token import TokenEndpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from trio_mcp.transports.http._asgi import HttpRequest

    from ._answers import Answer
    from ._provider import OAuthAuthorizationServerProvider
    from ._settings import DPoPSettings


def validate_issuer_url(url: str) -> None:
    """Check that a URL can be that of an authorization server (RFC 8414, section 2).

    Raises:
      ValueError: if it is not https (or http on this machine), or has a query or a fragment.

    """
    parts = split_url(url)
    if parts is None or not is_secure_url(url):
        raise ValueError(
            f"The issuer URL must be https, or http on this machine, got {told_url(url)}"
        )
    if parts.query is not None or parts.fragment is not None:
        raise ValueError(f"The issuer URL must have no query and no fragment, got {url!r:.200}")


def create_auth_routes(
    provider: OAuthAuthorizationServerProvider[Any, Any, Any],
    issuer_url: str,
    service_documentation_url: str | None = None,
    client_registration_options: ClientRegistrationOptions | None = None,
    revocation_options: RevocationOptions | None = None,
    identity_assertion_enabled: bool = False,
    *,
    dpop: DPoPSettings | None = None,
) -> list[Route]:
    """Make the endpoints of an authorization server.

    An issuer may have a path, ``https://example.com/tenant``: the endpoints are found below it
    both where the application is mounted at that path, and where it is at the root.

    Args:
      provider: Keeps what is issued, and logs people in. What it can do beyond that is read
        from its attributes, see `OAuthAuthorizationServerProvider`.
      issuer_url: The server's identifier, byte for byte.
      service_documentation_url: For authors of clients; goes into the metadata.
      client_registration_options: Whether clients may register themselves, and how.
      revocation_options: Whether they may revoke tokens.
      identity_assertion_enabled: Whether assertions of identity providers are exchanged.
      dpop: How tokens are bound to keys that clients prove to have (RFC 9449); None to bind none.

    Raises:
      ValueError: if the issuer is no https URL, and none of this machine; or if tokens shall be
        bound, and the provider says that it does not (``binds_tokens``).

    """
    issuer_url = str(issuer_url)
    validate_issuer_url(issuer_url)
    registration = client_registration_options or ClientRegistrationOptions()
    revocation = revocation_options or RevocationOptions()
    if dpop is not None and not getattr(provider, "binds_tokens", False):
        raise ValueError(
            f"dpop: {type(provider).__name__} does not bind tokens: its binds_tokens is not True"
        )
    metadata = build_metadata(
        issuer_url,
        service_documentation_url,
        registration,
        revocation,
        identity_assertion_enabled,
        sends_issuer=getattr(provider, "sends_issuer", False),
        dpop_algorithms=None if dpop is None else dpop.algorithms,
        reads_client_documents=getattr(provider, "reads_client_documents", False),
    )
    audiences = {issuer_url, issuer_url.rstrip("/"), f"{issuer_url}/", metadata.token_endpoint}
    keys = ClientKeys(
        allow_private=registration.allow_private_addresses, http_client=registration.http_client
    )
    authenticator = ClientAuthenticator(provider, ClientAssertions(audiences, keys.of))
    authorization = AuthorizationEndpoint(
        provider,
        issuer_url,
        registration.valid_scopes,
        registration.default_scopes,
        takes_keys=dpop is not None,
    )
    proofs = None if dpop is None else KeyProofs(metadata.token_endpoint, dpop)
    token = TokenEndpoint(
        provider, authenticator, identity_assertion_enabled, proofs, registration.valid_scopes
    )
    prefix = _prefix(issuer_url)

    routes = [
        # A browser goes there, and no page reads what is answered; nothing is issued for a HEAD.
        *_at(prefix, AUTHORIZATION_PATH, authorization.answer, "GET", "POST", is_called=False),
        *_at(prefix, TOKEN_PATH, token.answer, "POST"),
    ]
    if registration.enabled:
        register = RegistrationEndpoint(provider, registration)
        routes += _at(prefix, REGISTRATION_PATH, register.answer, "POST")
    if revocation.enabled:
        revoke = RevocationEndpoint(provider, authenticator)
        routes += _at(prefix, REVOCATION_PATH, revoke.answer, "POST")
    for suffix in (ASM_SUFFIX, OPENID_SUFFIX):
        path = f"/.well-known/{suffix}"
        routes += _at(prefix, path, publish(metadata), "GET", "HEAD")
        if prefix:
            routes += _at("", path + prefix, publish(metadata), "GET", "HEAD")
    if isinstance(provider, BringsRoutes):
        routes += provider.create_routes(issuer_url)
    return routes


def _prefix(issuer_url: str) -> str:
    parts = split_url(issuer_url)
    assert parts is not None
    return parts.path.rstrip("/")


def _at(
    prefix: str,
    path: str,
    answer: Callable[[HttpRequest], Awaitable[Answer]],
    *methods: str,
    is_called: bool = True,
) -> list[Route]:
    endpoint = Endpoint(answer, methods, ANY_ORIGIN if is_called else ())
    allowed = (*methods, "OPTIONS") if is_called else methods
    paths = dict.fromkeys((path, prefix + path))
    return [
        Route(each, allowed, endpoint, takes_request=False, name=path.rpartition("/")[2])
        for each in paths
    ]
