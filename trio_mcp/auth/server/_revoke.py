"""The revocation endpoint: a client says that it needs a token no more (RFC 7009)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ._answers import NO_STORE, Answer
from ._parameters import read_form

if TYPE_CHECKING:
    from trio_mcp.auth._models import OAuthClientInformationFull
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._access import AccessToken
    from ._client_auth import ClientAuthenticator
    from ._provider import AnyProvider, RefreshToken


@attrs.frozen
class RevocationEndpoint:
    """Answers at the revocation endpoint."""

    provider: AnyProvider
    authenticator: ClientAuthenticator

    async def answer(self, request: HttpRequest) -> Answer:
        """Revoke a token of the client's own. Any other is answered alike (section 2.2)."""
        form = await read_form(request)
        client = await self.authenticator.authenticate(request, form)
        text = form.needed("token")
        found = await self._find(client, text, form.get("token_type_hint"))
        if found is not None and found.client_id == client.client_id:
            await self.provider.revoke_token(found)
        return Answer(200, headers=NO_STORE)

    async def _find(
        self, client: OAuthClientInformationFull, text: str, hint: str | None
    ) -> AccessToken | RefreshToken | None:
        found: AccessToken | RefreshToken | None = None
        for kind in ("refresh", "access") if hint == "refresh_token" else ("access", "refresh"):
            if kind == "access":
                found = await self.provider.load_access_token(text)
            else:
                found = await self.provider.load_refresh_token(client, text)
            if found is not None:
                break
        return found
