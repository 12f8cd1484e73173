"""The URL that a browser is sent back to a client with."""

from __future__ import annotations

from urllib.parse import urlencode


def construct_redirect_uri(redirect_uri_base: str, **params: str | None) -> str:
    """Write an answer into a client's redirect URI.

    Args:
      redirect_uri_base: As it is registered; its own query stays as it is, byte for byte.
      params: What to add; None is left out.

    """
    base, hash_sign, fragment = redirect_uri_base.partition("#")
    added = urlencode({name: value for name, value in params.items() if value is not None})
    if not added:
        return redirect_uri_base
    between = "&" if "?" in base else "?"
    if base.endswith(("?", "&")):
        between = ""
    return base + between + added + hash_sign + fragment
