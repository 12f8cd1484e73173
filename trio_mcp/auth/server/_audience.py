"""For whom a token is (RFC 8707)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp.auth._identifiers import is_same_origin, split_url
from trio_mcp.auth._jwt import audiences_of

if TYPE_CHECKING:
    from ._access import AccessToken


def audiences(token: AccessToken) -> set[str]:
    """Give the servers that a token is for: what its verifier says, or else its claims."""
    if token.resource is not None:
        return {token.resource}
    return audiences_of(token.claims or {})


def is_same_resource(one: str, other: str) -> bool:
    """Tell whether two identifiers are of one server.

    As strings; of web addresses neither the case of the host, nor the default port, nor one slash
    at the end tells two servers apart: people type all of these.
    """
    if one == other:
        return True
    first, second = split_url(one), split_url(other)
    return (
        first is not None
        and second is not None
        and is_same_origin(one, other)
        and first.path.removesuffix("/") == second.path.removesuffix("/")
        and (first.query, first.fragment) == (second.query, second.fragment)
        and not (first.has_userinfo or second.has_userinfo)
    )
