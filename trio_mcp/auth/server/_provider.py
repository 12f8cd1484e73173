"""What an authorization server has to know: its clients, its codes, its tokens.

The endpoints check what OAuth lets them check; a provider keeps what was issued, and knows the
people who log in.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

import trio

from trio_mcp.auth._models import OAuthDocument
from trio_mcp.types._base import wire_model

from ._access import AccessToken, TokenVerifier
from ._errors import TokenError

if TYPE_CHECKING:
    from trio_mcp.auth._models import OAuthClientInformationFull, OAuthToken
    from trio_mcp.transports.http._routes import Route


@wire_model
class AuthorizationParams(OAuthDocument):
    """What a client asks a person for, checked as far as that needs no provider.

    Attributes:
      state: Goes back as it came, whatever the answer is.
      scopes: What the client wants; None if it named none, and there is no default.
      code_challenge: Whoever brings the code has to know what this was made of (S256).
      redirect_uri: Where the answer goes: one of those registered.
      redirect_uri_provided_explicitly: Whether the client named it.
      resource: The server that the token is for (RFC 8707).
      issuer: Goes into the answer as ``iss`` (RFC 9207), where a provider says `sends_issuer`.
      dpop_jkt: The key that the client will prove to have (RFC 9449, section 10).

    """

    state: str | None
    scopes: list[str] | None
    code_challenge: str
    redirect_uri: str
    redirect_uri_provided_explicitly: bool
    resource: str | None = None
    issuer: str | None = None
    dpop_jkt: str | None = None


@wire_model
class IdentityAssertionParams(OAuthDocument):
    """A request for a token in exchange for what an identity provider signed.

    Attributes:
      assertion: The ID-JAG. Nobody has checked it yet: `IdentityAssertionVerifier` does.
      scopes: What the client wants; None for whatever the assertion says.
      resource: The server that the client wants the token for.
      dpop_jkt: The key that the client proved to have, if it did.

    """

    secrets: ClassVar[frozenset[str]] = frozenset({"assertion"})

    assertion: str
    scopes: list[str] | None = None
    resource: str | None = None
    dpop_jkt: str | None = None


@wire_model
class AuthorizationCode(OAuthDocument):
    """A code that was issued, with what it was issued for.

    Attributes:
      code: The code itself.
      scopes: What the person consented to.
      expires_at: Seconds since the epoch.
      client_id: Whom it was issued to.
      code_challenge: As it was asked for with.
      redirect_uri: Where it was sent.
      redirect_uri_provided_explicitly: Whether the client named that.
      resource: The server that the token will be for.
      subject: Who consented.
      dpop_jkt: The key that the token will be bound to. What a provider gets in
        `exchange_authorization_code` says here which one the client proved to have.

    """

    secrets: ClassVar[frozenset[str]] = frozenset({"code"})

    code: str
    scopes: list[str]
    expires_at: float
    client_id: str
    code_challenge: str
    redirect_uri: str
    redirect_uri_provided_explicitly: bool
    resource: str | None = None
    subject: str | None = None
    dpop_jkt: str | None = None


@wire_model
class RefreshToken(OAuthDocument):
    """A refresh token that was issued.

    Attributes:
      token: The token itself.
      client_id: Whom it was issued to.
      scopes: The most that it may be exchanged for.
      expires_at: Seconds since the epoch; None for never.
      resource: The server that its access tokens are for.
      subject: In whose name.
      dpop_jkt: The key that it is bound to; only those of public clients are. What a provider
        gets in `exchange_refresh_token` says here which one the client proved to have.

    """

    secrets: ClassVar[frozenset[str]] = frozenset({"token"})

    token: str
    client_id: str
    scopes: list[str]
    expires_at: int | None = None
    resource: str | None = None
    subject: str | None = None
    dpop_jkt: str | None = None


AuthorizationCodeT = TypeVar("AuthorizationCodeT", bound=AuthorizationCode)
RefreshTokenT = TypeVar("RefreshTokenT", bound=RefreshToken)
AccessTokenT = TypeVar("AccessTokenT", bound=AccessToken)


class OAuthAuthorizationServerProvider(
    Protocol, Generic[AuthorizationCodeT, RefreshTokenT, AccessTokenT]
):
    """What is behind the endpoints of an authorization server.

    What it raises beside the errors told here is logged, and answered with ``server_error``.

    Three attributes say what it can do more than it has to, and one what it cannot.

    Attributes:
      sends_issuer: Whether each answer to a client's redirect URI has ``iss`` (RFC 9207), which
        is `AuthorizationParams.issuer`. That is advertised, and clients refuse others then.
      binds_tokens: Whether tokens are bound to the key in ``dpop_jkt`` (RFC 9449), and
        their claims say so in ``cnf``.
      reads_client_documents: Whether `get_client` also takes URLs of client id metadata
        documents, as `ClientMetadataDocuments` reads them.
      keeps_in_process: Whether what it has issued is known in this process alone: a program of
        several workers refuses it then.

    """

    sends_issuer: bool = False
    binds_tokens: bool = False
    reads_client_documents: bool = False
    keeps_in_process: bool = False

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Find a client; None if there is none, which `NotImplementedError` says, too."""
        ...

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a new client, whose id and secret were just made.

        Raises:
          RegistrationError: if it is not to be one.

        """
        ...

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        """Give the URL that the person's browser goes to next.

        That is a page of yours or of another identity provider, which comes back to a page of
        yours; in the end the browser goes to ``params.redirect_uri`` with a code or an error,
        which `construct_redirect_uri` writes. A code has 128 bits of chance or more.

        Raises:
          AuthorizeError: to send the browser back with that.

        """
        ...

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCodeT | None:
        """Find a code that can still be exchanged.

        One that was exchanged already has leaked: what was issued for it is revoked here.
        """
        ...

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCodeT
    ) -> OAuthToken:
        """Issue tokens for a code, once.

        The client, the redirect URI, the verifier and the expiry have been checked.

        Raises:
          TokenError: if it has been exchanged meanwhile.

        """
        ...

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshTokenT | None:
        """Find a refresh token that can still be exchanged.

        One that was exchanged already has leaked: all that came of its login is revoked here.
        """
        ...

    async def exchange_refresh_token(
        self,
        client: OAuthClientInformationFull,
        refresh_token: RefreshTokenT,
        scopes: list[str],
    ) -> OAuthToken:
        """Issue tokens for a refresh token, and another one in its place.

        Raises:
          TokenError: if it has been exchanged meanwhile.

        """
        ...

    async def load_access_token(self, token: str) -> AccessTokenT | None:
        """Find an access token that is still good."""
        ...

    async def revoke_token(self, token: AccessTokenT | RefreshTokenT) -> None:
        """Revoke a token, and the other kind that came with it. One revoked already may come."""
        ...

    async def exchange_identity_assertion(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002 - for those who offer it
        params: IdentityAssertionParams,  # noqa: ARG002 - the same
    ) -> OAuthToken:
        """Issue an access token for the assertion of an identity provider (SEP-990).

        The client has proved who it is. Nobody has checked the assertion: have
        `IdentityAssertionVerifier` do it, and issue what that says. No refresh token belongs
        into the answer, since the identity provider decides how long a person may stay.

        Raises:
          TokenError: ``invalid_grant`` for a bad assertion, ``invalid_target`` for a resource
            that is not yours.

        """
        await trio.lowlevel.checkpoint()
        raise TokenError("unsupported_grant_type", "This server takes no assertions")


# Before the first alias of it is made, which keeps the name of the module.
OAuthAuthorizationServerProvider.__module__ = "trio_mcp.auth"

AnyProvider: TypeAlias = OAuthAuthorizationServerProvider[Any, Any, Any]


@runtime_checkable
class BringsRoutes(Protocol):
    """A provider with pages of its own, where people log in."""

    def create_routes(self, issuer_url: str) -> list[Route]:
        """Make them, for paths within the application."""
        ...


class ProviderTokenVerifier(TokenVerifier):
    """Checks tokens by asking the provider that issued them, in the same process.

    Args:
      provider: Issued them.

    """

    def __init__(
        self,
        provider: OAuthAuthorizationServerProvider[Any, Any, Any],
    ) -> None:
        self.provider: Final = provider

    async def verify_token(self, token: str) -> AccessToken | None:
        """Tell what a token says; None if it is good for nothing."""
        found: AccessToken | None = await self.provider.load_access_token(token)
        return found
