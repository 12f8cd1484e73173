"""The scopes that a request names: not more than a person can read, and none that there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp.auth._scopes import missing_scopes, split_scopes

from ._answers import RefusedRequest

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_SCOPES: Final = 100
"""How many a request may name: people read them, and they are kept with each login."""

MAX_SCOPE: Final = 4096
"""Characters of them together."""


def asked_scopes(scope: str | None, valid: Collection[str] | None) -> list[str]:
    """Read the scopes of a parameter, each once, in their order.

    Args:
      scope: As it came.
      valid: Those that there are; None if nobody has said so.

    Raises:
      RefusedRequest: if they are too many, or there is no such.

    """
    if scope is not None and len(scope) > MAX_SCOPE:
        raise _refused(f"The scopes have more than {MAX_SCOPE} characters together")
    scopes = split_scopes(scope)
    if len(scopes) > MAX_SCOPES:
        raise _refused(f"There are more than {MAX_SCOPES} scopes")
    unknown = [] if valid is None else missing_scopes(valid, scopes)
    if unknown:
        raise _refused(f"There is no scope {unknown[0]:.80}")
    return scopes


def _refused(reason: str) -> RefusedRequest:
    return RefusedRequest("invalid_scope", reason)
