"""What a token turned out to be, once somebody has verified it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from trio_mcp.auth._models import OAuthDocument
from trio_mcp.types._base import is_object, wire_model

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject


@wire_model
class AccessToken(OAuthDocument):
    """An access token, and what it is good for.

    Neither the token nor its claims are shown by ``repr``.

    Attributes:
      token: As it came in the header.
      client_id: The client that it was issued to.
      scopes: What it allows.
      expires_at: Until when it is taken, in seconds since 1970; None if it does not expire.
      resource: The server that it was issued for (RFC 8707), as its authorization server says it.
      subject: The user for whom the client acts; None where it acts for itself.
      claims: Whatever else it says, by the names of JWT: ``iss``, ``aud``, ``cnf`` among them.

    """

    secrets: ClassVar[frozenset[str]] = frozenset({"token", "claims"})

    token: str
    client_id: str
    scopes: list[str]
    expires_at: int | None = None
    resource: str | None = None
    subject: str | None = None
    claims: dict[str, Any] | None = None


def principal_components(token: AccessToken) -> tuple[str, str | None, str | None]:
    """Give what tells the bearers of tokens apart: the client, the issuer and the subject."""
    issuer = (token.claims or {}).get("iss")
    return token.client_id, None if issuer is None else str(issuer), token.subject


def is_bound(token: AccessToken) -> bool:
    """Tell whether a token is for who holds something, a key or a certificate (RFC 7800)."""
    return (token.claims or {}).get("cnf") is not None


def key_thumbprint(token: AccessToken) -> str | None:
    """Give the thumbprint of the key that a token is bound to (RFC 9449, section 6.1).

    None for a bearer token, and for one that is bound to something else, or to more.
    """
    confirmation: JsonObject | Any = (token.claims or {}).get("cnf")
    if not is_object(confirmation) or set(confirmation) != {"jkt"}:
        return None
    found = confirmation["jkt"]
    return found if isinstance(found, str) and found else None


class TokenVerifier(Protocol):
    """Tells whether a token is good, and what for: what a server's author brings along.

    `JWTVerifier`, `IntrospectionTokenVerifier` and `StaticTokenVerifier` are ready.
    """

    async def verify_token(self, token: str) -> AccessToken | None:
        """Verify a token.

        It is asked once for each request, in the task that answers it, before anything of that
        is looked at. What it raises is logged, and the client is told that the server failed:
        that nobody can say whether a token is good does not make it a bad one.

        Args:
          token: What came in the header: any text that a header may hold.

        Returns:
          What it is; None if it is good for nothing. Whether it has expired, and is for this
          server, is checked again by whoever asks.

        """
        ...
