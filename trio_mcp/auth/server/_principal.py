"""Who asks, as a token says, and how handlers learn it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from trio_mcp._codec import dumps
from trio_mcp._rpc._exchange import Principal, current_principal

from ._access import AccessToken, principal_components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@attrs.frozen
class TokenPrincipal(Principal):
    """The bearer of a token.

    Attributes:
      covers: Tells whether a scope that was granted stands for another one.

    """

    covers: Callable[[str, str], bool] | None = attrs.field(
        default=None, kw_only=True, repr=False, eq=False
    )

    def lacks(self, scopes: Iterable[str]) -> list[str]:
        """See `Principal.lacks`."""
        missing = super().lacks(scopes)
        covers = self.covers
        if covers is None or not missing:
            return missing
        return [
            needed
            for needed in missing
            if not any(covers(granted, needed) for granted in self.scopes)
        ]


def principal_of(
    token: AccessToken, covers: Callable[[str, str], bool] | None = None
) -> TokenPrincipal:
    """Make a principal of a token that was verified.

    Its name is that of the user, or of the client that acts for itself. Its key tells apart the
    same user at two clients, and two users of one name at two issuers: neither may go on with a
    session of the other.
    """
    client_id, issuer, subject = principal_components(token)
    return TokenPrincipal(
        client_id if subject is None else subject,
        token,
        scopes=tuple(token.scopes),
        expires_at=token.expires_at,
        key=dumps([client_id, issuer, subject]).decode(),
        covers=covers,
    )


def get_access_token() -> AccessToken | None:
    """Give the token of whoever asked what this code works for.

    In handlers, middleware, and the threads of sync functions. None where nobody needs a token: in
    memory, over stdio, and in tasks that are no handler's.

    The token was issued for this server. It is not for others: whoever asks another server takes
    a token of its own (security, token passthrough).
    """
    principal = current_principal.get()
    details = None if principal is None else principal.details
    return details if isinstance(details, AccessToken) else None
