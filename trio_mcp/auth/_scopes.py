"""What to ask for: the choice of scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._models import OAuthMetadata, ProtectedResourceMetadata

OFFLINE_ACCESS: Final = "offline_access"

MAX_SCOPE_SIZE: Final = 4096
"""Characters of what is asked for. It goes into a URL, and no server takes one of any length."""


def split_scopes(scope: str | None) -> list[str]:
    """Give the scopes of a parameter, each once, in their order."""
    return list(dict.fromkeys((scope or "").split()))


def union_scopes(previous_scope: str | None, new_scope: str | None) -> str | None:
    """Join two scope parameters, so that what was granted for one operation is not lost.

    Args:
      previous_scope: Comes first.
      new_scope: What is not yet there follows, in its order.

    Returns:
      The scopes, each once, parted by spaces; None if there are none.

    """
    return " ".join(split_scopes(f"{previous_scope or ''} {new_scope or ''}")) or None


def missing_scopes(granted: Iterable[str], required: Iterable[str]) -> list[str]:
    """Give those of ``required`` that are not in ``granted``, in their order."""
    held = set(granted)
    return [scope for scope in dict.fromkeys(required) if scope not in held]


def choose_scope(
    challenged: str | None,
    configured: str | None,
    prm: ProtectedResourceMetadata | None,
) -> str | None:
    """Choose what to ask for.

    What a challenge names is what the operation takes, whatever else is published. What is
    published is only the next best guess. The scopes that an authorization server lists are those
    of all the servers behind it, and no guess at all.
    """
    if split_scopes(challenged):
        return challenged
    if split_scopes(configured):
        return configured
    return " ".join(split_scopes(" ".join((prm and prm.scopes_supported) or ()))) or None


def with_offline_access(
    scope: str | None, asm: OAuthMetadata | None, grant_types: Iterable[str] | None
) -> str | None:
    """Add ``offline_access`` where it is what gets a refresh token.

    It is never the only scope: a request with no scopes means those that the server likes, and
    adding one would change what is asked for.
    """
    known = (asm and asm.scopes_supported) or ()
    if scope is None or OFFLINE_ACCESS not in known or "refresh_token" not in (grant_types or ()):
        return scope
    return union_scopes(scope, OFFLINE_ACCESS)


def get_client_metadata_scopes(
    www_authenticate_scope: str | None,
    protected_resource_metadata: ProtectedResourceMetadata | None,
    authorization_server_metadata: OAuthMetadata | None = None,
    client_grant_types: list[str] | None = None,
) -> str | None:
    """Choose the scopes of an authorization request.

    Args:
      www_authenticate_scope: What the challenge names; it is taken as it is.
      protected_resource_metadata: Else all of its ``scopes_supported``.
      authorization_server_metadata: Where this lists ``offline_access``, and the client can use
        refresh tokens, that is added. None of its other scopes is ever asked for.
      client_grant_types: What the client is registered for.

    Returns:
      The scopes, parted by spaces; None to leave the parameter out.

    """
    chosen = choose_scope(www_authenticate_scope, None, protected_resource_metadata)
    return with_offline_access(chosen, authorization_server_metadata, client_grant_types)
