"""What the ready verifiers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trio_mcp.types._base import JsonObject


class VerifierUnavailable(Exception):
    """Nobody can say now whether a token is good, as whoever would know does not answer.

    A verifier raises it. The client is told to come back (503), and keeps its token. The text is
    for the log, and holds no token.
    """

    __module__ = "trio_mcp.auth"


CLIENT_CLAIMS: Final = ("client_id", "azp", "cid", "appid")
"""Where authorization servers say which client a token was issued to (RFC 9068, and before)."""

SCOPE_CLAIMS: Final = ("scope", "scp")


def scopes_in(claims: JsonObject, names: Iterable[str] = SCOPE_CLAIMS) -> list[str]:
    """Read what a token allows: a text with blanks between, or an array."""
    for name in names:
        found: Any = claims.get(name)
        if isinstance(found, str):
            return found.split()
        if isinstance(found, list):
            return [each for each in cast("list[object]", found) if isinstance(each, str)]
    return []


def client_in(claims: JsonObject) -> str | None:
    """Read which client a token was issued to; its user where nothing else is said."""
    for name in (*CLIENT_CLAIMS, "sub"):
        found = claims.get(name)
        if isinstance(found, str) and found:
            return found
    return None


def text_in(claims: JsonObject, name: str) -> str | None:
    """Read a text, or nothing."""
    found = claims.get(name)
    return found if isinstance(found, str) and found else None
