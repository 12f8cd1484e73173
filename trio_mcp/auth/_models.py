"""The documents of OAuth: what clients register, what servers publish, and tokens.

They are read as text is: URLs stay what they are, byte for byte. Identifiers are compared as
strings, and a class that rewrote one would make a server refuse it, or a client log in for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeAlias

from trio_mcp._codec._json import JsonError, loads
from trio_mcp._codec._public import from_json, to_json
from trio_mcp.types._base import WireModel, is_object, wire_field, wire_model

from ._identifiers import is_loopback_url, is_secure_url

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

JWT_BEARER_GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
"""RFC 7523: a token for a signed assertion."""

TOKEN_EXCHANGE_GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"  # noqa: S105
"""RFC 8693: a token for another token."""

ID_JAG_GRANT_PROFILE: Final = "urn:ietf:params:oauth:grant-profile:id-jag"
"""What an authorization server lists that takes identity assertions of an identity provider."""

DEFAULT_GRANT_TYPES: Final = ["authorization_code", "refresh_token"]
"""What a client registers that says nothing else (RFC 7591, section 2)."""

TokenEndpointAuthMethod: TypeAlias = Literal[
    "none", "client_secret_post", "client_secret_basic", "private_key_jwt"
]


class InvalidScopeError(Exception):
    """A client asks for a scope that it is not registered for."""

    __module__ = "trio_mcp.auth"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidRedirectUriError(Exception):
    """A client names a redirect URI that it is not registered with."""

    __module__ = "trio_mcp.auth"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@wire_model
class OAuthDocument(WireModel):
    """Base of them. Members that are not known are kept in ``extra``, and written back."""

    wire_is_snake_case: ClassVar[bool] = True
    secrets: ClassVar[frozenset[str]] = frozenset()
    """Attributes that ``repr`` does not show. Where there are any, it shows no value of ``extra``,
    either: an ID token is there, say."""

    @classmethod
    def from_json(cls, json: JsonObject | str | bytes) -> Self:
        """Read one.

        A member that is null or an empty string is taken for absent: servers write such
        placeholders for what they do not say.

        Args:
          json: The object, or its text.

        Raises:
          ValueError: if the text is no JSON, or does not fit; says where, what was expected and
            what came.

        """
        try:
            found: Any = loads(json) if isinstance(json, (str, bytes)) else json
        except JsonError as exc:
            raise ValueError(f"json: {exc}") from None
        if is_object(found):
            found = {
                key: value for key, value in found.items() if value is not None and value != ""
            }
        return from_json(cls, found)

    def to_json(self) -> JsonObject:
        """Write it as objects that ``json.dumps`` takes."""
        return to_json(self)

    def __repr__(self) -> str:
        hidden: dict[str, Any] = {
            name: "…" for name in self.secrets if getattr(self, name) is not None
        }
        if self.secrets and self.extra:
            hidden["extra"] = dict.fromkeys(self.extra, "…")
        return WireModel.__repr__(self.evolve(**hidden) if hidden else self)


@wire_model
class OAuthToken(OAuthDocument):
    """What a token endpoint answers (RFC 6749, section 5.1).

    Attributes:
      access_token: Goes with each request.
      token_type: ``"Bearer"`` or ``"DPoP"``, however the server wrote it.
      expires_in: Seconds from when it was issued; None where nobody knows.
      scope: What it is good for, parted by spaces; None for what was asked for.
      refresh_token: Gets another one, if there is one.

    """

    secrets: ClassVar[frozenset[str]] = frozenset({"access_token", "refresh_token"})

    access_token: str
    token_type: str = wire_field(default="Bearer", always=True)
    expires_in: int | None = None
    scope: str | None = None
    refresh_token: str | None = None

    def __attrs_post_init__(self) -> None:
        known = {"bearer": "Bearer", "dpop": "DPoP"}.get(self.token_type.lower())
        if known is not None and known != self.token_type:
            object.__setattr__(self, "token_type", known)


@wire_model
class AuthorizationCodeResult(OAuthDocument):
    """What an authorization server's redirect brought back.

    Attributes:
      code: To be exchanged for a token.
      state: As it was sent along.
      iss: The issuer that answers (RFC 9207).

    """

    secrets: ClassVar[frozenset[str]] = frozenset({"code", "state"})

    code: str
    state: str | None = None
    iss: str | None = None


@wire_model
class OAuthClientMetadataBase(OAuthDocument):
    """What a client says of itself, and a server keeps of it (RFC 7591, section 2)."""

    response_types: list[str] = wire_field(factory=lambda: ["code"], always=True)
    scope: str | None = None
    client_name: str | None = None
    client_uri: str | None = None
    logo_uri: str | None = None
    contacts: list[str] | None = None
    tos_uri: str | None = None
    policy_uri: str | None = None
    jwks_uri: str | None = None
    jwks: Any = None
    software_id: str | None = None
    software_version: str | None = None


class _NotSaid(str):
    """The default of a type of application, which looks like what it is as a rule."""

    __slots__ = ()


_NOT_SAID: Final[Any] = _NotSaid("native")


@wire_model
class OAuthClientMetadata(OAuthClientMetadataBase):
    """What a client sends to register (RFC 7591, section 3.1).

    Attributes:
      redirect_uris: Where the authorization server may send people back to: loopback or https.
      token_endpoint_auth_method: How the client proves who it is; None for what the server likes.
      grant_types: What it will ask the token endpoint for.
      application_type: ``"native"`` for programs on a person's machine, ``"web"`` for servers.
        Where it is not given, a client whose redirect URIs are all https, and lead to no
        person's machine, is registered as ``"web"``.

    """

    redirect_uris: list[str] | None = None
    token_endpoint_auth_method: TokenEndpointAuthMethod | None = None
    grant_types: list[str] = wire_field(factory=lambda: list(DEFAULT_GRANT_TYPES), always=True)
    application_type: Literal["web", "native"] = wire_field(default=_NOT_SAID, always=True)

    def to_json(self) -> JsonObject:
        """Write it as objects that ``json.dumps`` takes."""
        kind: str = self.application_type
        if isinstance(kind, _NotSaid):
            is_web = bool(self.redirect_uris) and all(map(_is_elsewhere, self.redirect_uris or ()))
            kind = "web" if is_web else "native"
        return {**OAuthDocument.to_json(self), "application_type": kind}


def _is_elsewhere(uri: str) -> bool:
    return is_secure_url(uri) and not is_loopback_url(uri)


@wire_model
class OAuthClientInformationFull(OAuthClientMetadataBase):
    """What an authorization server has registered (RFC 7591, section 3.2.1).

    Attributes:
      issuer: Whose registration it is: kept by the client, and not sent by servers.

    """

    secrets: ClassVar[frozenset[str]] = frozenset({"client_secret"})

    redirect_uris: list[str] | None = None
    token_endpoint_auth_method: str | None = None
    grant_types: list[str] = wire_field(factory=lambda: list(DEFAULT_GRANT_TYPES), always=True)
    application_type: str | None = None
    client_id: str
    client_secret: str | None = None
    client_id_issued_at: int | None = None
    client_secret_expires_at: int | None = None
    issuer: str | None = None

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """Give the scopes that were asked for, if the client may have them.

        Raises:
          InvalidScopeError: if it is not registered for one.

        """
        if requested_scope is None:
            return None
        allowed = (self.scope or "").split()
        for scope in (requested := requested_scope.split()):
            if scope not in allowed:
                raise InvalidScopeError(
                    f"The client is not registered for the scope {scope!r:.80}"
                )
        return requested

    def validate_redirect_uri(self, redirect_uri: str | None) -> str:
        """Give the redirect URI that was asked for, or the only one if none was.

        They are compared as strings.

        Raises:
          InvalidRedirectUriError: if it is not registered, or has to be said.

        """
        registered = self.redirect_uris or []
        if redirect_uri is not None:
            if redirect_uri not in registered:
                raise InvalidRedirectUriError(
                    f"The redirect URI {redirect_uri!r:.200} is not registered for the client"
                )
            return redirect_uri
        if len(registered) != 1:
            raise InvalidRedirectUriError(
                "redirect_uri has to be given, unless the client has registered exactly one"
            )
        return registered[0]


@wire_model
class OAuthMetadata(OAuthDocument):
    """What an authorization server publishes of itself (RFC 8414, section 2; OpenID Discovery)."""

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str
    registration_endpoint: str | None = None
    scopes_supported: list[str] | None = None
    response_types_supported: list[str] = wire_field(factory=lambda: ["code"], always=True)
    response_modes_supported: list[str] | None = None
    grant_types_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    token_endpoint_auth_signing_alg_values_supported: list[str] | None = None
    service_documentation: str | None = None
    ui_locales_supported: list[str] | None = None
    op_policy_uri: str | None = None
    op_tos_uri: str | None = None
    revocation_endpoint: str | None = None
    revocation_endpoint_auth_methods_supported: list[str] | None = None
    revocation_endpoint_auth_signing_alg_values_supported: list[str] | None = None
    introspection_endpoint: str | None = None
    introspection_endpoint_auth_methods_supported: list[str] | None = None
    introspection_endpoint_auth_signing_alg_values_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    authorization_grant_profiles_supported: list[str] | None = None
    dpop_signing_alg_values_supported: list[str] | None = None
    jwks_uri: str | None = None


@wire_model
class ProtectedResourceMetadata(OAuthDocument):
    """What a server that wants tokens publishes of itself (RFC 9728, section 2).

    Attributes:
      resource: The identifier of the server, as tokens name it.
      authorization_servers: The issuers whose tokens it takes; at least one.
      scopes_supported: The least that is of use.

    """

    resource: str
    authorization_servers: list[str]
    jwks_uri: str | None = None
    scopes_supported: list[str] | None = None
    bearer_methods_supported: list[str] | None = wire_field(
        factory=lambda: ["header"], always=True
    )
    resource_signing_alg_values_supported: list[str] | None = None
    resource_name: str | None = None
    resource_documentation: str | None = None
    resource_policy_uri: str | None = None
    resource_tos_uri: str | None = None
    tls_client_certificate_bound_access_tokens: bool | None = None
    authorization_details_types_supported: list[str] | None = None
    dpop_signing_alg_values_supported: list[str] | None = None
    dpop_bound_access_tokens_required: bool | None = None
