"""Clients that are known by a URL (draft-ietf-oauth-client-id-metadata-document).

The URL is the id, and what is published there says of the client what others register. So a
server keeps nothing, and cannot be filled with clients.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from trio_mcp._checks import check_flag, check_whole
from trio_mcp.auth._identifiers import is_valid_client_metadata_url
from trio_mcp.auth._models import OAuthClientInformationFull

from ._answers import RefusedRequest
from ._client_keys import check_client_keys
from ._documents import Documents, Unavailable
from ._register import check_redirect_uris

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

MAX_CLIENT_DOCUMENT: Final = 32 * 1024
"""Bytes of one: the draft recommends 5 KiB at most, which is little for one with keys."""

_METHODS: Final = ("none", "private_key_jwt")
_SECRETS: Final = ("client_secret", "client_secret_expires_at")


class ClientMetadataDocuments:
    """Finds clients by the documents that they publish, for `get_client` of a provider.

    Documents are fetched over https, from public addresses and without redirects, and
    kept as long as their servers say, for a minute at least and a day at most.

    Args:
      allow_private_addresses: Whether they may be on this machine or in a private network.
      max_clients: How many are kept.
      http_client: An ``httpx.AsyncClient`` that fetches them, in place of one made here. That uses
        no proxy of the environment, which would look up names itself, and reach what is refused
        here. A client with a proxy is for networks whose proxy refuses that.

    """

    def __init__(
        self,
        *,
        allow_private_addresses: bool = False,
        max_clients: int = 1000,
        http_client: Any = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        check_flag("allow_private_addresses", allow_private_addresses)
        check_whole("max_clients", max_clients, least=1)
        self._documents = Documents(
            "client id metadata document",
            limit=MAX_CLIENT_DOCUMENT,
            most=max_clients,
            allow_private=allow_private_addresses,
            http_client=http_client,
            now=now,
        )

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Find the client with this id.

        Returns:
          The client; None if the id is no such URL.

        Raises:
          Exception: one that the endpoints answer, if there is no document, or a bad one. Let it
            pass.

        """
        if not is_valid_client_metadata_url(client_id):
            return None
        try:
            document = await self._documents.get(client_id)
        except Unavailable as exc:
            _refuse(str(exc))
        try:
            return read_client_document(client_id, document)
        except RefusedRequest as refused:
            _refuse(f"The client id metadata document: {refused.description}")


def read_client_document(client_id: str, document: dict[str, Any]) -> OAuthClientInformationFull:
    """Read the document of a client.

    Raises:
      RefusedRequest: if it is none, or that of another client.

    """
    if document.get("client_id") != client_id:
        _refuse("its client_id is not the URL where it is")
    if any(document.get(name) for name in _SECRETS):
        _refuse("what is published holds no secret")
    said = {name: value for name, value in document.items() if name != "issuer"}
    try:
        client = OAuthClientInformationFull.from_json(said)
    except ValueError as exc:
        _refuse(str(exc))
    if client.client_name is None:
        _refuse("the client_name is missing")
    # Without a word about it, it would be a secret (RFC 7591), which nobody can have.
    method = client.token_endpoint_auth_method or "none"
    if method not in _METHODS:
        _refuse(f"the token_endpoint_auth_method has to be one of {', '.join(_METHODS)}")
    check_redirect_uris(client.redirect_uris, is_web=client.application_type == "web")
    check_client_keys(method, client.jwks, client.jwks_uri, _refused)
    return client.evolve(token_endpoint_auth_method=method)


def _refused(reason: str) -> RefusedRequest:
    return RefusedRequest("invalid_client", reason)


def _refuse(reason: str) -> NoReturn:
    raise _refused(reason)
