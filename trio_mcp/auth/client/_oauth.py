"""`OAuth`: an `OAuthClientProvider` with all that is needed filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp._checks import check_callable, check_flag, check_items, check_kind, check_text
from trio_mcp.auth._memory import FlowConfig
from trio_mcp.auth._models import OAuthClientInformationFull, OAuthClientMetadata

from ._authorizer import OAuthAuthorizer
from ._callbacks import AuthorizationCallback
from ._driver import Parties
from ._loopback import LoopbackCallback
from ._provider import OAuthClientProvider, checked_metadata_url, checked_private, key_of
from ._storage import InMemoryTokenStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp.auth._dpop_proof import DPoPKey

    from ._storage import TokenStorage

DEFAULT_CLIENT_NAME = "trio-mcp"


class OAuth(OAuthClientProvider):
    """Has a person log in with the browser: ``Client(url, auth=OAuth())``.

    What comes back is taken at a port of this machine, which is open while somebody logs in. The
    client registers itself, or is told by ``client_id`` or ``client_metadata_url`` who it is.

    Args:
      server_url: Of the server; None for the one that it is used with first. Each server needs
          an object of its own.
      scopes: What to ask for where the server names nothing.
      client_name: What people are shown.
      storage: Where tokens are kept: an `InMemoryTokenStorage` of its own if None; a
          `FileTokenStorage` keeps them for the next run.
      callback: How a person logs in: a `LoopbackCallback`, or for machines without a browser a
          `ConsoleCallback`.
      client_id: Of a client that was registered beforehand.
      client_secret: Its secret, if it has one.
      issuer: The authorization server to deal with, whatever the server names.
      client_metadata: What to register with, in place of ``client_name`` and ``scopes``. Its
          redirect URIs are replaced by that of the ``callback``.
      client_metadata_url: And its siblings: as of `OAuthClientProvider`.

    Raises:
      TypeError: if an argument is of the wrong kind.
      ValueError: if an argument cannot be used.

    """

    def __init__(
        self,
        server_url: str | None = None,
        *,
        scopes: Sequence[str] | None = None,
        client_name: str = DEFAULT_CLIENT_NAME,
        storage: TokenStorage | None = None,
        callback: AuthorizationCallback | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        issuer: str | None = None,
        client_metadata: OAuthClientMetadata | None = None,
        client_metadata_url: str | None = None,
        http_client: Any = None,
        dpop: bool | DPoPKey = False,
        allow_private_addresses: bool | None = None,
        choose_issuer: Callable[[Sequence[str]], str] | None = None,
        allow_unlisted_pkce: bool = False,
    ) -> None:
        if server_url is not None:
            check_text("server_url", server_url)
        check_text("client_name", client_name)
        if scopes is not None:
            check_items("scopes", scopes, str, "a list of scopes")
        if callback is not None:
            check_kind("callback", callback, AuthorizationCallback)
        if client_metadata is not None:
            check_kind("client_metadata", client_metadata, OAuthClientMetadata)
        if choose_issuer is not None:
            check_callable("choose_issuer", choose_issuer)
        check_flag("allow_unlisted_pkce", allow_unlisted_pkce)
        config = FlowConfig(
            server_url=server_url or "",
            client_metadata=client_metadata or _metadata(client_name, scopes),
            client_info=_client(client_id, client_secret, issuer),
            client_metadata_url=checked_metadata_url(client_metadata_url),
            issuer=issuer,
            choose_issuer=choose_issuer,
            allow_unlisted_pkce=allow_unlisted_pkce,
            dpop=key_of(dpop),
        )
        store = InMemoryTokenStorage() if storage is None else storage
        parties = Parties(
            store,
            callback=callback or LoopbackCallback(),
            http_client=http_client,
            allow_private=checked_private(allow_private_addresses),
        )
        OAuthAuthorizer.__init__(self, config, parties, store)


def _metadata(client_name: str, scopes: Sequence[str] | None) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name=client_name, scope=" ".join(scopes or ()) or None)


def _client(
    client_id: str | None, client_secret: str | None, issuer: str | None
) -> OAuthClientInformationFull | None:
    if issuer is not None:
        check_text("issuer", issuer)
    if client_secret is not None:
        check_text("client_secret", client_secret)
    if client_id is None:
        if client_secret is not None:
            raise ValueError("client_secret: it is that of a client_id, which is missing")
        return None
    check_text("client_id", client_id)
    return OAuthClientInformationFull(
        client_id=client_id, client_secret=client_secret, issuer=issuer
    )
