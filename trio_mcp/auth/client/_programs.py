"""Providers for programs that act for themselves: nobody logs in."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, Unpack

import attrs

from trio_mcp._checks import check_callable, check_mapping, check_text, check_whole, check_word
from trio_mcp.auth._jwt import import_key, sign_jwt
from trio_mcp.auth._memory import ClientCredentialsGrant, FlowConfig, WorkloadGrant
from trio_mcp.auth._models import OAuthClientInformationFull

from ._authorizer import OAuthAuthorizer
from ._driver import Parties
from ._provider import OAuthClientProvider, checked_private, key_of, with_scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.auth._dpop_proof import DPoPKey
    from trio_mcp.auth._memory import Grant
    from trio_mcp.auth._step_types import AssertionKind, AssertionStep

    from ._storage import TokenStorage

SECRET_METHODS: Final = ("client_secret_basic", "client_secret_post")


class ProviderOptions(TypedDict, total=False):
    """What all providers take besides; see `OAuthClientProvider`."""

    http_client: Any
    dpop: bool | DPoPKey
    allow_private_addresses: bool | None


class OwnCredentialsProvider(OAuthClientProvider):
    """A provider whose client was registered beforehand."""

    def _begin(
        self,
        server_url: str,
        storage: TokenStorage,
        grant: Grant,
        *,
        client: OAuthClientInformationFull | None,
        scope: str | None,
        issuer: str | None,
        assertions: dict[AssertionKind, Callable[[AssertionStep], Awaitable[str]]],
        options: ProviderOptions,
    ) -> None:
        check_text("server_url", server_url)
        if issuer is not None:
            check_text("issuer", issuer)
        unknown = set(options) - ProviderOptions.__optional_keys__
        if unknown:
            raise TypeError(f"{type(self).__name__} has no argument {min(unknown)!r}")
        config = FlowConfig(
            server_url=server_url,
            client_metadata=with_scope(scope),
            grant=grant,
            client_info=client,
            issuer=issuer,
            signs_assertions="client_assertion" in assertions,
            dpop=key_of(options.get("dpop", False)),
        )
        parties = Parties(
            storage,
            assertions=assertions,
            http_client=options.get("http_client"),
            allow_private=checked_private(options.get("allow_private_addresses")),
        )
        OAuthAuthorizer.__init__(self, config, parties, storage)


def registered(
    client_id: str, client_secret: str | None, method: str | None, issuer: str | None
) -> OAuthClientInformationFull:
    """Describe a client that was registered beforehand."""
    check_text("client_id", client_id)
    if client_secret is not None:
        check_text("client_secret", client_secret)
    return OAuthClientInformationFull(
        client_id=client_id,
        client_secret=client_secret,
        token_endpoint_auth_method=method,
        issuer=issuer,
    )


class ClientCredentialsOAuthProvider(OwnCredentialsProvider):
    """Gets tokens for a program by its own id and secret (``client_credentials``).

    Args:
      server_url: Of the server.
      storage: Where tokens are kept.
      client_id: As it is registered with the authorization server.
      client_secret: Its secret.
      token_endpoint_auth_method: Whether the secret goes into a header or into the body.
      scope: What to ask for where the server names nothing.
      issuer: The authorization server that the client is registered with. Without it, the
          credentials go to whichever the server names.
      options: ``http_client``, ``dpop`` and ``allow_private_addresses``, as of
          `OAuthClientProvider`.

    """

    def __init__(
        self,
        server_url: str,
        storage: TokenStorage,
        client_id: str,
        client_secret: str,
        token_endpoint_auth_method: Literal[
            "client_secret_basic", "client_secret_post"
        ] = "client_secret_basic",  # noqa: S107 - the name of a method
        scope: str | None = None,
        issuer: str | None = None,
        **options: Unpack[ProviderOptions],
    ) -> None:
        check_word("token_endpoint_auth_method", token_endpoint_auth_method, SECRET_METHODS)
        check_text("client_secret", client_secret)
        client = registered(client_id, client_secret, token_endpoint_auth_method, issuer)
        self._begin(
            server_url,
            storage,
            ClientCredentialsGrant(),
            client=client,
            scope=scope,
            issuer=issuer,
            assertions={},
            options=options,
        )


class PrivateKeyJWTOAuthProvider(OwnCredentialsProvider):
    """Gets tokens for a program that proves who it is by a signed assertion (RFC 7523).

    Args:
      server_url: Of the server.
      storage: Where tokens are kept.
      client_id: As it is registered with the authorization server.
      assertion_provider: Is called with the audience, the issuer, and returns a fresh assertion:
          `SignedJWTParameters` makes one.
      scope: What to ask for where the server names nothing.
      issuer: The authorization server that the client is registered with.
      options: As of `ClientCredentialsOAuthProvider`.

    """

    def __init__(
        self,
        server_url: str,
        storage: TokenStorage,
        client_id: str,
        assertion_provider: Callable[[str], Awaitable[str]],
        scope: str | None = None,
        issuer: str | None = None,
        **options: Unpack[ProviderOptions],
    ) -> None:
        check_callable("assertion_provider", assertion_provider)
        self._begin(
            server_url,
            storage,
            ClientCredentialsGrant(),
            client=registered(client_id, None, "private_key_jwt", issuer),
            scope=scope,
            issuer=issuer,
            assertions={"client_assertion": by_audience(assertion_provider)},
            options=options,
        )


class WorkloadIdentityOAuthProvider(OwnCredentialsProvider):
    """Gets tokens for a program by what its platform says of it (``jwt-bearer``, RFC 7523).

    The platform (Kubernetes, a cloud) gives a signed token, which the authorization server trusts;
    there is no registration. An assertion that was refused is not sent again.

    Args:
      server_url: Of the server.
      storage: Where tokens are kept.
      assertion_provider: Is called with the audience, the issuer, and returns the platform's
          token.
      scope: What to ask for where the server names nothing.
      issuer: The authorization server that trusts the platform.
      options: As of `ClientCredentialsOAuthProvider`.

    """

    def __init__(
        self,
        server_url: str,
        storage: TokenStorage,
        assertion_provider: Callable[[str], Awaitable[str]],
        scope: str | None = None,
        issuer: str | None = None,
        **options: Unpack[ProviderOptions],
    ) -> None:
        check_callable("assertion_provider", assertion_provider)
        self._begin(
            server_url,
            storage,
            WorkloadGrant(),
            client=None,
            scope=scope,
            issuer=issuer,
            assertions={"workload": by_audience(assertion_provider)},
            options=options,
        )


def by_audience(
    provider: Callable[[str], Awaitable[str]],
) -> Callable[[AssertionStep], Awaitable[str]]:
    """Make the source of assertions of a function that wants to know their audience."""

    async def assertion(step: AssertionStep) -> str:
        return await provider(step.audience)

    return assertion


def static_assertion_provider(token: str) -> Callable[[str], Awaitable[str]]:
    """Give the same assertion each time: one that somebody else has signed.

    Args:
      token: The assertion.

    """
    check_text("token", token)

    async def assertion(audience: str) -> str:
        del audience
        return token

    return assertion


@attrs.frozen(kw_only=True)
class SignedJWTParameters:
    """Signs assertions for `PrivateKeyJWTOAuthProvider`.

    Attributes:
      issuer: The client id, as a rule.
      subject: The client id, as a rule.
      signing_key: A private key in PEM.
      signing_algorithm: An asymmetric one: of the families RS, PS, ES, or EdDSA.
      lifetime_seconds: Of an assertion.
      additional_claims: Put into each.

    """

    issuer: str
    subject: str
    signing_key: str = attrs.field(repr=False)
    signing_algorithm: str = "RS256"
    lifetime_seconds: int = 300
    additional_claims: dict[str, Any] | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("issuer", "subject", "signing_key", "signing_algorithm"):
            check_text(name, getattr(self, name))
        check_whole("lifetime_seconds", self.lifetime_seconds, least=1)
        if self.additional_claims is not None:
            check_mapping("additional_claims", self.additional_claims)

    def create_assertion_provider(self) -> Callable[[str], Awaitable[str]]:
        """Make the function that signs an assertion for an audience.

        Raises:
          ValueError: if the key is none, or none for the algorithm.

        """
        key = import_key(self.signing_key)
        # What does not fit is told here, and not in the middle of a flow.
        sign_jwt({}, key, self.signing_algorithm)

        async def assertion(audience: str) -> str:
            now = int(time.time())
            claims: dict[str, Any] = {
                "iss": self.issuer,
                "sub": self.subject,
                "aud": audience,
                "iat": now,
                "exp": now + self.lifetime_seconds,
                "jti": secrets.token_urlsafe(24),
                **(self.additional_claims or {}),
            }
            return sign_jwt(claims, key, self.signing_algorithm)

        return assertion
