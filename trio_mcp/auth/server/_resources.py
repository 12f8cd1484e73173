"""The servers that tokens are for (RFC 8707)."""

from __future__ import annotations

from typing import Final

from trio_mcp.auth._identifiers import split_url

from ._answers import RefusedRequest

MAX_RESOURCE: Final = 2048
"""Characters: it is kept with each token."""


def check_resource(resource: str | None) -> str | None:
    """Check that a resource is named as such; it stays as it is.

    Raises:
      RefusedRequest: if it is not.

    """
    if resource is None:
        return None
    parts = split_url(resource) if len(resource) <= MAX_RESOURCE else None
    if parts is None or parts.fragment is not None:
        raise RefusedRequest(
            "invalid_target", "The resource has to be an absolute URI without a fragment"
        )
    return resource


def check_same_resource(asked: str | None, granted: str | None) -> None:
    """Check that what a token is asked for is what a person consented to.

    Raises:
      RefusedRequest: if it is another server.

    """
    if asked is not None and asked != granted:
        raise RefusedRequest(
            "invalid_target", "The resource is not the one of the authorization request"
        )
