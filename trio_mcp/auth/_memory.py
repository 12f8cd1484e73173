"""What a client of one protected server has been told to do, and what it has found out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from trio_mcp.errors import OAuthTokenError

from ._models import OAuthClientInformationFull, OAuthClientMetadata

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._dpop_proof import DPoPKey
    from ._models import OAuthMetadata, OAuthToken, ProtectedResourceMetadata

ID_TOKEN_TYPE: Final = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105

EXPIRY_MARGIN: Final = 10.0
"""Seconds before its end at which a token counts as expired: it still has to travel.

Of a token that lasts less than 100 seconds it is the last tenth.
"""


@attrs.frozen
class CodeGrant:
    """A person logs in with a browser; `AuthorizeStep`."""


@attrs.frozen
class ClientCredentialsGrant:
    """The program acts for itself, with credentials that it was given (``client_info``)."""


@attrs.frozen(kw_only=True)
class IdentityProvider:
    """Where a company's identity provider exchanges tokens (RFC 8693).

    Attributes:
      issuer: Of the identity provider; the audience of the subject token.
      token_endpoint: https, or http on this machine.
      client: How this client is registered there.
      subject_token_type: What kind of token the person has.

    """

    issuer: str
    token_endpoint: str
    client: OAuthClientInformationFull
    subject_token_type: str = ID_TOKEN_TYPE


@attrs.frozen(kw_only=True)
class IdentityAssertionGrant:
    """A company's identity provider vouches for the person (enterprise-managed authorization).

    Attributes:
      identity_provider: Where to exchange a subject token for the assertion. None where the
        driver gets the assertion itself, for `AssertionStep` with ``"id_jag"``.

    """

    identity_provider: IdentityProvider | None = None


@attrs.frozen
class WorkloadGrant:
    """The platform vouches for the program: `AssertionStep` with ``"workload"``; no client id."""


Grant: TypeAlias = CodeGrant | ClientCredentialsGrant | IdentityAssertionGrant | WorkloadGrant


@attrs.frozen(kw_only=True)
class FlowConfig:
    """What the application says.

    Attributes:
      server_url: Of the MCP server. Tokens go to its origin alone.
      client_metadata: What is registered, the first redirect URI is used; its ``scope`` is what
        to ask for where the server's challenge names none.
      grant: How tokens are got.
      client_info: A client that was registered beforehand. Its ``issuer``, if it has one, says
        where; with another authorization server it is an error.
      client_metadata_url: The client id where client id metadata documents are taken.
      issuer: The only authorization server to deal with, whatever the server names.
      signs_assertions: Whether the driver has an answer to `AssertionStep` with
        ``"client_assertion"``, so that ``private_key_jwt`` can be used.
      checks_resource: Whether the driver answers `CheckResourceStep`, in place of the own check.
      choose_issuer: Which of several; None for the first for which there are credentials, or else
        the first.
      allow_unlisted_pkce: Deal with authorization servers that do not say that they support PKCE.
        It is used all the same.
      dpop: The key that tokens are bound to; None for bearer tokens.
      now: The time, in seconds since 1970.

    """

    server_url: str
    client_metadata: OAuthClientMetadata = attrs.field(factory=OAuthClientMetadata)
    grant: Grant = attrs.field(factory=CodeGrant)
    client_info: OAuthClientInformationFull | None = None
    client_metadata_url: str | None = None
    issuer: str | None = None
    signs_assertions: bool = False
    checks_resource: bool = False
    choose_issuer: Callable[[Sequence[str]], str] | None = None
    allow_unlisted_pkce: bool = False
    dpop: DPoPKey | None = None
    now: Callable[[], float] = time.time


@attrs.frozen
class Refusal:
    """A token endpoint gave no token.

    Attributes:
      error: What it answered, such as ``"invalid_grant"``.
      message: One sentence.
      is_passing: Whether it says nothing but that it did not work this time.

    """

    error: str | None
    message: str
    is_passing: bool

    def as_error(self) -> OAuthTokenError:
        return OAuthTokenError(self.message, error=self.error)


@attrs.define
class StepUps:
    """How often more scopes were asked for, for the sake of one operation."""

    count: int
    asked: frozenset[str]
    at: float


@attrs.define(eq=False)
class Memory:
    """What is known of one protected server. Only flows and `sign` change it.

    One flow at a time works on it.

    Attributes:
      loaded: Whether the store was read.
      prm: The server's metadata; None for a server that publishes none.
      issuer: The authorization server, as it was validated.
      asm: Its metadata; None for one that publishes none, as some of 2025-03-26.
      resource: What the server is called in requests; None to leave that out.
      clients: Registrations by issuer.
      stored_client: The registration in the store, if that does not say whose it is.
      bound_issuer: The authorization server that such a client was first used with.
      stored_ids: The client ids of registrations that come from the store.
      forgotten: The client ids of those that are of no use any more, and may still be there.
      unsaved_client: A registration that is not in the store yet.
      found_nothing: Whether nobody was found to renew tokens of the store, before a challenge.
      tokens: Those in use.
      token_issuer: Who issued them; None if nobody knows.
      expires_at: When they expire, in seconds since 1970; None if nobody knows.
      tokens_unsaved: Whether they are not in the store yet, so that older ones may be there.
      asked: The scopes that were asked for last.
      nonces: The newest DPoP nonce of each origin.
      step_ups: By resource and operation.
      refused_assertion: A digest of the assertion that was refused last, and why.

    """

    loaded: bool = False
    prm: ProtectedResourceMetadata | None = None
    issuer: str | None = None
    asm: OAuthMetadata | None = None
    resource: str | None = None
    clients: dict[str, OAuthClientInformationFull] = attrs.field(
        factory=dict[str, OAuthClientInformationFull]
    )
    stored_client: OAuthClientInformationFull | None = None
    bound_issuer: str | None = None
    stored_ids: set[str] = attrs.field(factory=set[str])
    forgotten: set[str] = attrs.field(factory=set[str])
    unsaved_client: OAuthClientInformationFull | None = None
    found_nothing: bool = False
    tokens: OAuthToken | None = None
    token_issuer: str | None = None
    expires_at: float | None = None
    tokens_unsaved: bool = False
    asked: str | None = None
    nonces: dict[str, str] = attrs.field(factory=dict[str, str], repr=False)
    step_ups: dict[tuple[str, str], StepUps] = attrs.field(factory=dict[tuple[str, str], StepUps])
    refused_assertion: tuple[bytes, Refusal] | None = attrs.field(default=None, repr=False)

    def drop_tokens(self) -> None:
        self.tokens = self.token_issuer = self.expires_at = None
        self.tokens_unsaved = False

    def has_expired(self, now: float) -> bool:
        if self.tokens is None or self.expires_at is None:
            return False
        lasts = self.tokens.expires_in
        margin = EXPIRY_MARGIN if lasts is None else min(EXPIRY_MARGIN, lasts / 10)
        return now >= self.expires_at - margin


@attrs.define(eq=False)
class Attempt:
    """One request to the server, from its first sending to its last: the driver makes one of each.

    Attributes:
      method: Of HTTP.
      url: Where it goes.
      content: Its body.
      operation: What it is for, where the driver knows better, such as ``"tools/call add"``:
        asking for more scopes is limited for each operation.
      protocol_version: The revision that the server has agreed to, if it has.
      token: The access token that it was last sent with.
      refreshed: Whether the token was refreshed since the server did not take it.
      logins: How many flows were made for it.
      step_ups: How often more scopes were asked for.
      nonces: How often it was sent again with another nonce.
      resent: How often it was sent again since another request had got a new token.

    """

    method: str
    url: str
    content: bytes | None = attrs.field(default=None, repr=False)
    operation: str = ""
    protocol_version: str | None = None
    token: str | None = attrs.field(default=None, repr=False)
    refreshed: bool = False
    logins: int = 0
    step_ups: int = 0
    nonces: int = 0
    resent: int = 0
