"""Clients that show by a signature who they are (RFC 7523, section 2.2: ``private_key_jwt``)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from trio_mcp.auth._jwt import (
    DEFAULT_LEEWAY,
    InvalidJwt,
    check_claims,
    unverified_claims,
    verify_jwt,
)

from ._clients import refused_client
from ._replays import Replays

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from trio_mcp.auth._jwt import Key
    from trio_mcp.auth._models import OAuthClientInformationFull
    from trio_mcp.types._base import JsonObject

MAX_LIFETIME: Final = 3600.0
"""Seconds that an assertion may be good for: as long as that, it is remembered."""

MAX_EACH: Final = 10_000
"""How many of one client are remembered: clients register themselves, and all need room."""

_KINDS: Final = frozenset(("jwt", "client-authentication+jwt"))
# What is signed for another purpose (a proof, a grant) shows nothing here.


class ClientAssertions:
    """Checks the assertions of clients.

    Args:
      audiences: For whom they may be: the issuer, or what older texts say, the endpoint.
      keys_of: Finds the keys of a client.

    """

    def __init__(
        self,
        audiences: Collection[str],
        keys_of: Callable[[OAuthClientInformationFull], Awaitable[Sequence[Key]]],
    ) -> None:
        self._audiences = audiences
        self._keys_of = keys_of
        self._replays = Replays(most_each=MAX_EACH)

    async def check(self, client: OAuthClientInformationFull, assertion: str) -> None:
        """Check that a client signed an assertion, for this server, now, and once.

        Raises:
          RefusedRequest: if not.

        """
        keys = await self._keys_of(client)
        now = time.time()
        try:
            verified = verify_jwt(assertion, keys)
            self._check(client.client_id, verified.header, verified.claims, now)
        except InvalidJwt as exc:
            raise refused_client(f"The client_assertion is not taken: {exc}") from None

    def _check(self, client_id: str, header: JsonObject, claims: JsonObject, now: float) -> None:
        if str(header.get("typ", "JWT")).lower().removeprefix("application/") not in _KINDS:
            raise InvalidJwt("the token is of another kind")
        check_claims(
            claims,
            issuer=client_id,
            audience=self._audiences,
            now=now,
            required=("exp", "sub", "jti"),
        )
        if claims["sub"] != client_id:
            raise InvalidJwt("its sub is not the client")
        if claims["exp"] > now + MAX_LIFETIME + DEFAULT_LEEWAY:
            raise InvalidJwt(f"it is good for longer than {MAX_LIFETIME:g} s")
        jti = claims["jti"]
        if not isinstance(jti, str):
            raise InvalidJwt("its jti is no string")
        if not self._replays.is_first(client_id, jti, claims["exp"] + DEFAULT_LEEWAY, now):
            raise InvalidJwt("it came before")


def subject_of(assertion: str) -> str:
    """Read whom an assertion speaks of, which nobody has checked yet.

    Raises:
      RefusedRequest: if it is no JWT, or speaks of nobody.

    """
    try:
        subject = unverified_claims(assertion).get("sub")
    except InvalidJwt as exc:
        raise refused_client(f"The client_assertion is not taken: {exc}") from None
    if not isinstance(subject, str):
        raise refused_client("The client_assertion is not taken: it has no sub")
    return subject
