"""What a protected server is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._checks import (
    check_callable,
    check_flag,
    check_items,
    check_kind,
    check_scope_names,
    check_text,
    check_whole,
    check_word,
)
from trio_mcp.auth._algorithms import ASYMMETRIC
from trio_mcp.auth._identifiers import is_secure_url, split_url, told_url
from trio_mcp.auth._scopes import OFFLINE_ACCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MIN_NONCE_KEY_BYTES: Final = 32


@attrs.frozen(kw_only=True)
class ClientRegistrationOptions:
    """Whether clients may register themselves at an authorization server (RFC 7591).

    Attributes:
      enabled: Whether they may.
      client_secret_expiry_seconds: How long a client's secret is good for; None for ever.
      valid_scopes: The scopes that there are: no client gets others, however it is known. None
        for whatever clients register for.
      default_scopes: What a client is registered for that asks for nothing.
      allow_private_addresses: Whether the keys of clients that sign (``jwks_uri``) may be fetched
        from this machine and private networks.
      http_client: An ``httpx.AsyncClient`` that fetches them, in place of one made here.

    """

    enabled: bool = False
    client_secret_expiry_seconds: int | None = None
    valid_scopes: list[str] | None = None
    default_scopes: list[str] | None = None
    allow_private_addresses: bool = False
    http_client: Any = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        check_flag("enabled", self.enabled)
        check_flag("allow_private_addresses", self.allow_private_addresses)
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
class DPoPSettings:
    """How tokens are taken, and issued, that are bound to a key (RFC 9449).

    What comes with such a token proves each time that its sender holds the key: a token that was
    stolen is worth nothing. A proof counts for one request, within five minutes, and once in this
    process.

    Attributes:
      required: Whether tokens that are bound to no key are refused; none are issued then.
      algorithms: Those that proofs may be signed by; asymmetric ones alone.
      nonces: Whether proofs have to hold a nonce of this server's, so that none can be made long
        before it is used.
      nonce_key: What nonces are made with: at least 32 bytes, the same in all processes that share
        their clients. A key of this process alone if it is not given.

    """

    required: bool = False
    algorithms: Sequence[str] = ASYMMETRIC
    nonces: bool = False
    nonce_key: bytes | None = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        check_flag("required", self.required)
        check_flag("nonces", self.nonces)
        check_items("algorithms", self.algorithms, str, "a list of strings")
        for each in self.algorithms:
            check_word("algorithms", each, ASYMMETRIC)
        if self.nonce_key is not None:
            check_kind("nonce_key", self.nonce_key, bytes)
            if len(self.nonce_key) < MIN_NONCE_KEY_BYTES:
                raise ValueError(f"nonce_key: expected at least {MIN_NONCE_KEY_BYTES} bytes")


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
      required_scopes: What every request takes.
      identity_assertion_enabled: Whether it takes identity assertions (ID-JAG), the same.
      resource_server_url: The URL of this server's endpoint, as clients call it, which is also
        the name by which tokens are issued for it. None for a server that has no such name: it
        publishes no metadata then, and cannot check for whom a token is.
      validate_token_resource: Whether a token has to be issued for ``resource_server_url``. It
        has to, unless this is False; say so only where the verifier checks the audience itself.
      authorization_servers: More issuers whose tokens the verifier takes.
      scopes_supported: What is published for clients to ask for; ``required_scopes`` if it is not
        given.
      resource_name: What people are shown as the name of this server.
      resource_documentation: Where they read about it.
      scope_covers: ``scope_covers(granted, needed)`` tells whether a scope that was granted stands
        for one that is needed, too, as ``files`` may for ``files:read``. A scope stands for itself
        in any case.
      dpop: How tokens are taken that are bound to a key; None to take none.

    Raises:
      TypeError: if one is of the wrong kind; says which, what was expected and what came.
      ValueError: if one has a value that it cannot have.

    """

    issuer_url: str = attrs.field(converter=_url_text)
    service_documentation_url: str | None = attrs.field(default=None, converter=_url_text)
    client_registration_options: ClientRegistrationOptions | None = None
    revocation_options: RevocationOptions | None = None
    required_scopes: list[str] | None = None
    identity_assertion_enabled: bool = False
    resource_server_url: str | None = attrs.field(converter=_url_text)
    validate_token_resource: bool | None = None
    authorization_servers: Sequence[str] = ()
    scopes_supported: list[str] | None = None
    resource_name: str | None = None
    resource_documentation: str | None = attrs.field(default=None, converter=_url_text)
    scope_covers: Callable[[str, str], bool] | None = None
    dpop: DPoPSettings | None = None

    def __attrs_post_init__(self) -> None:
        self._check_urls()
        for name, kind in (
            ("client_registration_options", ClientRegistrationOptions),
            ("revocation_options", RevocationOptions),
            ("dpop", DPoPSettings),
        ):
            if getattr(self, name) is not None:
                check_kind(name, getattr(self, name), kind)
        check_flag("identity_assertion_enabled", self.identity_assertion_enabled)
        for name in ("required_scopes", "scopes_supported"):
            _check_scopes(name, getattr(self, name), for_clients=True)
        if self.resource_name is not None:
            check_text("resource_name", self.resource_name)
        if self.scope_covers is not None:
            check_callable("scope_covers", self.scope_covers)
        self._check_audience()

    def _check_urls(self) -> None:
        check_items("authorization_servers", self.authorization_servers, str, "a list of strings")
        _check_url("issuer_url", self.issuer_url)
        for each in self.authorization_servers:
            _check_url("authorization_servers", each)
        for name in ("service_documentation_url", "resource_documentation"):
            if getattr(self, name) is not None:
                check_text(name, getattr(self, name))
        if self.resource_server_url is not None:
            _check_url("resource_server_url", self.resource_server_url)

    def _check_audience(self) -> None:
        name = "validate_token_resource"
        if self.validate_token_resource is not None:
            check_flag(name, self.validate_token_resource)
        if self.resource_server_url is None and self.validate_token_resource is not False:
            raise ValueError(
                "resource_server_url is None, so nobody can tell which tokens are for it: "
                f"give its URL, or {name}=False if the verifier checks the audience itself"
            )

    @property
    def issuers(self) -> list[str]:
        """All whose tokens are taken, each once."""
        return list(dict.fromkeys((self.issuer_url, *self.authorization_servers)))


def _check_url(name: str, url: str) -> None:
    check_text(name, url)
    parts = split_url(url)
    if parts is None or parts.fragment is not None or not is_secure_url(url):
        expected = "an https URL (or http on this machine) without a fragment"
        raise ValueError(f"{name}: expected {expected}, got {told_url(url)}")


def _check_scopes(name: str, scopes: Sequence[str] | None, *, for_clients: bool = False) -> None:
    if scopes is None:
        return
    check_scope_names(name, scopes)
    if for_clients and OFFLINE_ACCESS in scopes:
        # Refresh tokens: no server needs it; a client asks for it by itself.
        raise ValueError(f"{name}: {OFFLINE_ACCESS} is for clients to ask for, and no server's")
