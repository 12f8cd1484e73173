"""Providers for people whom a company's identity provider vouches for (SEP-990)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from trio_mcp._checks import check_callable, check_text, check_word
from trio_mcp.auth._memory import ID_TOKEN_TYPE, IdentityAssertionGrant, IdentityProvider

from ._programs import (
    SECRET_METHODS,
    OwnCredentialsProvider,
    ProviderOptions,
    by_audience,
    registered,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.auth._step_types import AssertionStep

    from ._storage import TokenStorage


class IdentityAssertionOAuthProvider(OwnCredentialsProvider):
    """Gets tokens by an identity assertion (ID-JAG) that a function of yours gets.

    `EnterpriseOAuthProvider` gets the assertion, too.

    Args:
      server_url: Of the server.
      storage: Where tokens are kept.
      client_id: As it is registered with the authorization server of the MCP server.
      client_secret: Its secret there.
      issuer: That authorization server. It is not found out: a server must not say whom an
          assertion goes to.
      assertion_provider: Is called with the audience, the issuer, and with what the server is
          called in requests, and returns a fresh assertion.
      scope: What to ask for where the server names nothing.
      token_endpoint_auth_method: Whether the secret goes into the body or into a header.
      options: ``http_client``, ``dpop`` and ``allow_private_addresses``, as of
          `OAuthClientProvider`.

    """

    def __init__(
        self,
        server_url: str,
        storage: TokenStorage,
        client_id: str,
        client_secret: str,
        issuer: str,
        assertion_provider: Callable[[str, str], Awaitable[str]],
        scope: str | None = None,
        token_endpoint_auth_method: Literal[
            "client_secret_basic", "client_secret_post"
        ] = "client_secret_post",  # noqa: S107 - the name of a method
        **options: Unpack[ProviderOptions],
    ) -> None:
        check_text("client_secret", client_secret)
        check_text("issuer", issuer)
        check_callable("assertion_provider", assertion_provider)
        check_word("token_endpoint_auth_method", token_endpoint_auth_method, SECRET_METHODS)

        async def assertion(step: AssertionStep) -> str:
            return await assertion_provider(step.audience, step.resource or server_url)

        self._begin(
            server_url,
            storage,
            IdentityAssertionGrant(),
            client=registered(client_id, client_secret, token_endpoint_auth_method, issuer),
            scope=scope,
            issuer=issuer,
            assertions={"id_jag": assertion},
            options=options,
        )


class EnterpriseOAuthProvider(OwnCredentialsProvider):
    """Gets tokens for a person who is logged in at a company's identity provider.

    Both exchanges: what the identity provider has given becomes an identity assertion there
    (RFC 8693), and that a token at the authorization server of the MCP server. Nobody is sent to
    that one, and no assertion is written anywhere.

    Args:
      server_url: Of the server.
      storage: Where tokens are kept.
      client_id: As it is registered with the authorization server of the MCP server.
      client_secret: Its secret there; None for a client without one.
      issuer: That authorization server.
      subject_token_provider: Is called with the issuer of the identity provider, and returns what
          the person has from there: the ID token of the login.
      idp_issuer: The identity provider.
      idp_token_endpoint: Where it exchanges tokens.
      idp_client_id: As this client is registered there.
      idp_client_secret: Its secret there, if it has one.
      subject_token_type: What the person has, by its name in RFC 8693.
      scope: What to ask for where the server names nothing.
      token_endpoint_auth_method: How the secret goes to the authorization server.
      options: As of `IdentityAssertionOAuthProvider`.

    """

    def __init__(
        self,
        server_url: str,
        storage: TokenStorage,
        client_id: str,
        client_secret: str | None,
        issuer: str,
        subject_token_provider: Callable[[str], Awaitable[str]],
        *,
        idp_issuer: str,
        idp_token_endpoint: str,
        idp_client_id: str,
        idp_client_secret: str | None = None,
        subject_token_type: str = ID_TOKEN_TYPE,
        scope: str | None = None,
        token_endpoint_auth_method: Literal[
            "client_secret_basic", "client_secret_post"
        ] = "client_secret_basic",  # noqa: S107 - the name of a method
        **options: Unpack[ProviderOptions],
    ) -> None:
        for name, value in (
            ("issuer", issuer),
            ("idp_issuer", idp_issuer),
            ("idp_token_endpoint", idp_token_endpoint),
            ("idp_client_id", idp_client_id),
            ("subject_token_type", subject_token_type),
        ):
            check_text(name, value)
        check_callable("subject_token_provider", subject_token_provider)
        check_word("token_endpoint_auth_method", token_endpoint_auth_method, SECRET_METHODS)
        identity_provider = IdentityProvider(
            issuer=idp_issuer,
            token_endpoint=idp_token_endpoint,
            client=registered(idp_client_id, idp_client_secret, None, idp_issuer),
            subject_token_type=subject_token_type,
        )
        method = "none" if client_secret is None else token_endpoint_auth_method
        self._begin(
            server_url,
            storage,
            IdentityAssertionGrant(identity_provider=identity_provider),
            client=registered(client_id, client_secret, method, issuer),
            scope=scope,
            issuer=issuer,
            assertions={"subject_token": by_audience(subject_token_provider)},
            options=options,
        )
