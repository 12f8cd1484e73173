"""What a protected server is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp._checks import check_flag, check_items, check_kind, check_text, check_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCOPES = "a list of strings"


@attrs.frozen(kw_only=True)
class ClientRegistrationOptions:
    """Whether clients may register themselves at an authorization server (RFC 7591).

    Attributes:
      enabled: Whether they may.
      client_secret_expiry_seconds: How long a client's secret is good for; None for ever.
      valid_scopes: What a client may register for; None for anything.
      default_scopes: What a client is registered for that asks for nothing.

    """

    enabled: bool = False
    client_secret_expiry_seconds: int | None = None
    valid_scopes: list[str] | None = None
    default_scopes: list[str] | None = None

    def __attrs_post_init__(self) -> None:
        check_flag("enabled", self.enabled)
        if self.client_secret_expiry_seconds is not None:
            name = "client_secret_expiry_seconds"
            check_whole(name, self.client_secret_expiry_seconds, least=1)
        _check_scopes("valid_scopes", self.valid_scopes)
        _check_scopes("default_scopes", self.default_scopes)


@attrs.frozen(kw_only=True)
class RevocationOptions:
    """Whether clients may revoke their tokens at an authorization server (RFC 7009).

    Attributes:
      enabled: Whether they may.

    """

    enabled: bool = False

    def __attrs_post_init__(self) -> None:
        check_flag("enabled", self.enabled)


def _url_text(value: Any) -> Any:
    # Programs that come from mcp hand over objects of pydantic here.
    return str(value) if hasattr(value, "unicode_string") else value


@attrs.frozen(kw_only=True)
class AuthSettings:
    """How a server is protected.

    URLs are kept as text, byte for byte: identifiers of OAuth are compared as strings, so a slash
    at the end makes another one.

    Attributes:
      issuer_url: The authorization server whose tokens are taken, by its issuer identifier.
      service_documentation_url: Where authors of clients read about it, if it is this server.
      client_registration_options: Of the authorization server, if it is this server.
      revocation_options: The same.
      required_scopes: What every request needs.
      identity_assertion_enabled: Whether it takes identity assertions (ID-JAG), the same.
      resource_server_url: The URL of this server's endpoint, as clients call it, which is also
        the name by which tokens are issued for it.
      validate_token_resource: Whether a token has to be issued for ``resource_server_url``. It
        has to, unless this is False; say so only where the verifier checks the audience itself.

    """

    issuer_url: str = attrs.field(converter=_url_text)
    service_documentation_url: str | None = attrs.field(default=None, converter=_url_text)
    client_registration_options: ClientRegistrationOptions | None = None
    revocation_options: RevocationOptions | None = None
    required_scopes: list[str] | None = None
    identity_assertion_enabled: bool = False
    resource_server_url: str | None = attrs.field(converter=_url_text)
    validate_token_resource: bool | None = None

    def __attrs_post_init__(self) -> None:
        check_text("issuer_url", self.issuer_url)
        for name in ("service_documentation_url", "resource_server_url"):
            if getattr(self, name) is not None:
                check_text(name, getattr(self, name))
        for name, kind in (
            ("client_registration_options", ClientRegistrationOptions),
            ("revocation_options", RevocationOptions),
        ):
            if getattr(self, name) is not None:
                check_kind(name, getattr(self, name), kind)
        _check_scopes("required_scopes", self.required_scopes)
        check_flag("identity_assertion_enabled", self.identity_assertion_enabled)
        if self.validate_token_resource is not None:
            check_flag("validate_token_resource", self.validate_token_resource)


def _check_scopes(name: str, scopes: Sequence[str] | None) -> None:
    if scopes is not None:
        check_items(name, scopes, str, _SCOPES)
