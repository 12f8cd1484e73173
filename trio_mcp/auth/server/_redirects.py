"""The URL that a browser is sent back to a client with."""

from __future__ import annotations

from trio_mcp.auth._identifiers import add_query


def construct_redirect_uri(redirect_uri_base: str, **params: str | None) -> str:
    """Write an answer into a client's redirect URI.

    Args:
      redirect_uri_base: As it is registered; its own query stays as it is, byte for byte.
      params: What to add; None is left out.

    """
    added = [(name, value) for name, value in params.items() if value is not None]
    return add_query(redirect_uri_base, added) if added else redirect_uri_base
