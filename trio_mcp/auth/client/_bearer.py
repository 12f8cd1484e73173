"""A token that somebody else has got."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, final

import httpx
import trio

from trio_mcp._checks import check_text
from trio_mcp.transports.http._authorizing import Authorizer, SignedRequest

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
# RFC 6750, section 2.1.


@final
class BearerAuth(httpx.Auth, Authorizer):
    """Signs each request by a token that you have: ``Client(url, auth=BearerAuth(token))``.

    It is not renewed, and what the server says of it is the answer of the call.

    Args:
      token: The token, without the word ``Bearer``.

    Raises:
      ValueError: if it cannot be one. It is not told: it may be one with a blank too many.

    """

    def __init__(self, token: str) -> None:
        check_text("token", token)
        if not _TOKEN.fullmatch(token):
            raise ValueError(
                "token: expected a token alone, of letters, digits and -._~+/, without 'Bearer'"
            )
        self._token = token
        self._principal = hashlib.sha256(token.encode()).hexdigest()[:32]

    def __repr__(self) -> str:
        return "BearerAuth(…)"

    async def sign(self, request: SignedRequest) -> Mapping[str, str]:
        """See `Authorizer.sign`."""
        del request
        await trio.lowlevel.checkpoint()
        return {"Authorization": f"Bearer {self._token}"}

    async def answered(
        self, request: SignedRequest, sent: Mapping[str, str], status: int, headers: Any
    ) -> bool:
        """See `Authorizer.answered`."""
        del request, sent, status, headers
        await trio.lowlevel.checkpoint()
        return False

    @property
    def principal(self) -> str:
        """See `Authorizer.principal`."""
        return self._principal

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Sign a request of a client of httpx."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request
