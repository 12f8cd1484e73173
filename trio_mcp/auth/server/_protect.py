"""Puts together what protects a server: its guard, and what it publishes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp._checks import check_kind, wrong_kind
from trio_mcp._codec import dumps

from ._settings import MIN_NONCE_KEY_BYTES, AuthSettings

if TYPE_CHECKING:
    from trio_mcp.transports.http._guard import Protection

    from ._access import TokenVerifier
    from ._provider import OAuthAuthorizationServerProvider


def check_protection(
    auth: AuthSettings | None,
    token_verifier: TokenVerifier | None,
    auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None,
) -> None:
    """Check that what was given is enough to protect a server, and not too much.

    Raises:
      TypeError: if one is of the wrong kind.
      ValueError: if settings come without anybody who knows tokens, or the other way round; if
        there are two who know them; or if nobody would look at whom tokens are for.

    """
    if auth is not None:
        check_kind("auth", auth, AuthSettings)
    _check_has("token_verifier", token_verifier, "verify_token")
    _check_has("auth_server_provider", auth_server_provider, "load_access_token")
    if token_verifier is not None and auth_server_provider is not None:
        raise ValueError(
            "token_verifier= and auth_server_provider= are both given: tokens are verified by the "
            "one, or by the other who issues them"
        )
    knows = token_verifier is not None or auth_server_provider is not None
    if auth is not None and not knows:
        raise ValueError(
            "auth= is given without token_verifier= or auth_server_provider=: nobody could tell "
            "which tokens are good"
        )
    if auth is not None and auth.validate_token_resource is False:
        _check_audience(token_verifier)
    if auth is None and knows:
        name = "auth_server_provider" if token_verifier is None else "token_verifier"
        raise ValueError(f"{name}= is given without auth=AuthSettings(…)")


def make_protection(
    auth: AuthSettings,
    token_verifier: TokenVerifier | None,
    auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None,
) -> Protection:
    """Make what protects a server, of what `check_protection` has seen."""
    from trio_mcp.transports.http._guard import Protection  # noqa: PLC0415 - loads on first use

    from ._guard import TokenGuard  # noqa: PLC0415 - as above
    from ._resource_metadata import (  # noqa: PLC0415 - as above
        build_resource_metadata_url,
        metadata_of,
        metadata_paths,
        metadata_routes,
    )

    if auth.dpop is not None and auth.dpop.nonce_key is None:
        # One key for both: clients keep one nonce for an origin, of whichever endpoint it came.
        dpop = attrs.evolve(auth.dpop, nonce_key=os.urandom(MIN_NONCE_KEY_BYTES))
        auth = attrs.evolve(auth, dpop=dpop)
    metadata = metadata_of(auth)
    routes = [] if metadata is None else metadata_routes(metadata)
    verifier = token_verifier
    if auth_server_provider is not None:
        from ._provider import ProviderTokenVerifier  # noqa: PLC0415 - as above
        from ._routes import create_auth_routes  # noqa: PLC0415 - as above

        verifier = ProviderTokenVerifier(auth_server_provider)
        routes += create_auth_routes(
            auth_server_provider,
            auth.issuer_url,
            auth.service_documentation_url,
            auth.client_registration_options,
            auth.revocation_options,
            auth.identity_assertion_enabled,
            dpop=auth.dpop,
        )
    assert verifier is not None
    url = None if metadata is None else build_resource_metadata_url(metadata.resource)
    guard = TokenGuard(auth, verifier, url)
    documents: dict[str, bytes] = {}
    if metadata is not None:
        body = dumps(metadata.to_json())
        documents = dict.fromkeys(metadata_paths(metadata.resource), body)
    return Protection(
        guard,
        routes,
        documents,
        own_issuer=None if auth_server_provider is None else auth.issuer_url,
        kept_in=(
            type(auth_server_provider).__name__
            if getattr(auth_server_provider, "keeps_in_process", False)
            else None
        ),
    )


def _check_audience(token_verifier: TokenVerifier | None) -> None:
    from ._jwt_verifier import JWTVerifier  # noqa: PLC0415 - loads on first use

    if isinstance(token_verifier, JWTVerifier) and not token_verifier.checks_audience:
        raise ValueError(
            "validate_token_resource=False goes with JWTVerifier(audience=…): else a token that "
            "was issued for any other server would be good here"
        )


def _check_has(argument: str, given: object, method: str) -> None:
    if given is not None and not callable(getattr(given, method, None)):
        raise wrong_kind(argument, f"an object with {method}()", given)
