"""Who a client is, by its id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._answers import RefusedRequest

if TYPE_CHECKING:
    from trio_mcp.auth._models import OAuthClientInformationFull

    from ._provider import AnyProvider

_MAX_CLIENT_ID: Final = 2048
# Characters: one may be a URL.


async def find_client(provider: AnyProvider, client_id: str) -> OAuthClientInformationFull | None:
    """Ask a provider for a client; None if there is no such."""
    if len(client_id) > _MAX_CLIENT_ID:
        return None
    try:
        client = await provider.get_client(client_id)
    except NotImplementedError:
        return None
    # A provider that looks ids up in a database may do so in any case.
    return client if client is not None and client.client_id == client_id else None


def refused_client(reason: str, headers: tuple[tuple[str, str], ...] = ()) -> RefusedRequest:
    """Make the error for a client that did not show who it is."""
    return RefusedRequest("invalid_client", reason, status=401, headers=headers)
