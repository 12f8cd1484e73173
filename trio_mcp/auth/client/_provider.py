"""`OAuthClientProvider`: a person logs in with a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp._checks import check_callable, check_flag, check_kind, check_text
from trio_mcp.auth._dpop_proof import DPoPKey
from trio_mcp.auth._identifiers import (
    check_redirect_uri,
    is_valid_client_metadata_url,
    told_url,
)
from trio_mcp.auth._memory import FlowConfig
from trio_mcp.auth._models import OAuthClientMetadata

from ._authorizer import OAuthAuthorizer
from ._callbacks import HandlersCallback
from ._driver import Parties

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ._callbacks import CallbackHandler, RedirectHandler
    from ._storage import TokenStorage


class OAuthClientProvider(OAuthAuthorizer):
    """Gets and renews the tokens for one server, with a person who logs in.

    ::

        provider = OAuthClientProvider(
            "https://example.com/mcp",
            OAuthClientMetadata(client_name="My agent", redirect_uris=[redirect_uri]),
            InMemoryTokenStorage(),
            redirect_handler=open_browser,
            callback_handler=wait_for_redirect,
        )
        async with Client("https://example.com/mcp", auth=provider) as client:
            ...

    `OAuth` is the same with a browser, a port of this machine and a store filled in. It is an
    ``httpx.Auth``, too, for an ``httpx.AsyncClient`` that runs in Trio.

    Any number of requests may be made at once. While a token is got or renewed the others wait,
    and use it; if that fails, all are told. Tokens go to the server's origin alone.

    Args:
      server_url: Of the server.
      client_metadata: What the client is registered with, where it has to register. Its first
          redirect URI is used, and its ``scope`` where the server names none.
      storage: Where tokens and the registration are kept. A client that was registered
          beforehand is put there.
      redirect_handler: Is called with the URL at which a person has to log in.
      callback_handler: Waits for the redirect, and returns what it brought.
      client_metadata_url: The client id where the authorization server takes URLs of documents:
          https, with a path.
      validate_resource_url: Is called with the URL of the server and what the server calls itself,
          and raises to refuse; in place of the check that they have the origin in common, and one
          path is above the other.
      http_client: What sends the requests of OAuth, in place of a client of this package: an
          ``httpx.AsyncClient``, or what looks like one.
      dpop: Bind tokens to a key (RFC 9449): to this one, or to a fresh one if true.
      allow_private_addresses: Whether what the server names may lead to a private network or to
          this machine. None for a server that is there itself.
      choose_issuer: Chooses one of several authorization servers.
      allow_unlisted_pkce: Deal with authorization servers that do not say that they know PKCE.

    Raises:
      TypeError: if an argument is of the wrong kind.
      ValueError: if the URL is none, or a redirect URI is not one of this machine, or https.

    Cancellation:
      A request that is cancelled leaves nothing locked and nothing half written. What an
      authorization server acts on once is seen through for five seconds.

    """

    def __init__(
        self,
        server_url: str,
        client_metadata: OAuthClientMetadata,
        storage: TokenStorage,
        redirect_handler: RedirectHandler | None = None,
        callback_handler: CallbackHandler | None = None,
        client_metadata_url: str | None = None,
        validate_resource_url: Callable[[str, str | None], Awaitable[None]] | None = None,
        *,
        http_client: Any = None,
        dpop: bool | DPoPKey = False,
        allow_private_addresses: bool | None = None,
        choose_issuer: Callable[[Sequence[str]], str] | None = None,
        allow_unlisted_pkce: bool = False,
    ) -> None:
        check_text("server_url", server_url)
        check_kind("client_metadata", client_metadata, OAuthClientMetadata)
        for name, value in (
            ("redirect_handler", redirect_handler),
            ("callback_handler", callback_handler),
            ("validate_resource_url", validate_resource_url),
            ("choose_issuer", choose_issuer),
        ):
            if value is not None:
                check_callable(name, value)
        check_flag("allow_unlisted_pkce", allow_unlisted_pkce)
        for uri in client_metadata.redirect_uris or []:
            check_redirect_uri(uri)
        config = FlowConfig(
            server_url=server_url,
            client_metadata=client_metadata,
            client_metadata_url=checked_metadata_url(client_metadata_url),
            checks_resource=validate_resource_url is not None,
            choose_issuer=choose_issuer,
            allow_unlisted_pkce=allow_unlisted_pkce,
            dpop=key_of(dpop),
        )
        uri = (client_metadata.redirect_uris or [""])[0]
        parties = Parties(
            storage,
            callback=HandlersCallback(redirect_handler, callback_handler, uri) if uri else None,
            check_resource=validate_resource_url,
            http_client=http_client,
            allow_private=checked_private(allow_private_addresses),
        )
        super().__init__(config, parties, storage)


def checked_metadata_url(url: str | None) -> str | None:
    """Check the URL of a client id metadata document.

    Raises:
      ValueError: if it cannot be a client id.

    """
    if url is not None and not is_valid_client_metadata_url(url):
        raise ValueError(
            "client_metadata_url: expected https://host/path without a fragment, "
            f"got {told_url(url)}"
        )
    return url


def checked_private(allowed: bool | None) -> bool | None:
    """Check ``allow_private_addresses``."""
    if allowed is not None:
        check_flag("allow_private_addresses", allowed)
    return allowed


def key_of(dpop: bool | DPoPKey) -> DPoPKey | None:
    """Give the key that tokens are bound to, if they are."""
    if isinstance(dpop, DPoPKey):
        return dpop
    check_flag("dpop", dpop)
    return DPoPKey.generate() if dpop else None


def with_scope(scope: str | None) -> OAuthClientMetadata:
    """Make the metadata of a client that registers nowhere, and asks for these scopes."""
    if scope is not None:
        check_text("scope", scope)
    return OAuthClientMetadata(scope=scope)
