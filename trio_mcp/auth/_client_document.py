"""What to publish at a client id that is a URL (OAuth Client ID Metadata Document)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._identifiers import check_redirect_uri, is_valid_client_metadata_url, told_url

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

    from ._models import OAuthClientMetadata

_METHODS: Final = ("none", "private_key_jwt")


def create_client_metadata_document(
    client_metadata_url: str, client_metadata: OAuthClientMetadata
) -> JsonObject:
    """Make the document that authorization servers fetch at a client id that is a URL.

    Write it out with ``json.dumps``, and serve it as ``application/json`` at exactly this URL.

    Args:
      client_metadata_url: https, with a path; becomes the ``client_id``.
      client_metadata: Of the client. A name and redirect URIs are required. Without a method of
        authentication it has none; a shared secret is impossible.

    Raises:
      ValueError: if one of these is missing, or cannot be published.

    """
    if not is_valid_client_metadata_url(client_metadata_url):
        raise ValueError(
            "A client id that is a URL must be https, with a path and without a fragment, "
            f"got {told_url(client_metadata_url)}"
        )
    if not client_metadata.client_name:
        raise ValueError("client_name must be given: people are shown it")
    if not client_metadata.redirect_uris:
        raise ValueError("redirect_uris must be given")
    for uri in client_metadata.redirect_uris:
        check_redirect_uri(uri)
    method = client_metadata.token_endpoint_auth_method or "none"
    if method not in _METHODS:
        raise ValueError(f"token_endpoint_auth_method must be one of {_METHODS}, got {method!r}")
    if method != "none" and client_metadata.jwks is None and client_metadata.jwks_uri is None:
        raise ValueError(f"{method} takes the public keys, as jwks or jwks_uri")
    return {
        "client_id": client_metadata_url,
        **client_metadata.to_json(),
        "token_endpoint_auth_method": method,
    }
