"""Clients that show by a signature who they are (RFC 7523, section 2.2: ``private_key_jwt``)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol

from trio_mcp.auth._jwt import (
    DEFAULT_LEEWAY,
    InvalidJwt,
    UnknownKey,
    check_claims,
    unverified_claims,
    verify_jwt,
)

from ._clients import refused_client
from ._documents import LEAST_AGE
from ._replays import Replays, why_not_first

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from trio_mcp.auth._jwt import Key, VerifiedJwt
    from trio_mcp.auth._models import OAuthClientInformationFull
    from trio_mcp.types._base import JsonObject

MAX_LIFETIME: Final = 3600.0
"""Seconds that an assertion may be good for: as long as that, it is remembered."""

MAX_EACH: Final = 10_000
"""How many of one client are remembered: clients register themselves, and all need room."""

_KINDS: Final = frozenset(("jwt", "client-authentication+jwt"))
# What is signed for another purpose (a proof, a grant) shows nothing here.


class FindKeys(Protocol):
    """Finds the keys of a client; see `ClientKeys.of`."""

    async def __call__(
        self, client: OAuthClientInformationFull, /, *, older_than: float | None = None
    ) -> Sequence[Key]: ...


class ClientAssertions:
    """Checks the assertions of clients.

    Args:
      audiences: For whom they may be: the issuer, or what older texts say, the endpoint.
      keys_of: Finds the keys of a client.

    """

    def __init__(
        self,
        audiences: Collection[str],
        keys_of: FindKeys,
    ) -> None:
        self._audiences = audiences
        self._keys_of = keys_of
        self._replays = Replays(most_each=MAX_EACH)

    async def check(self, client: OAuthClientInformationFull, assertion: str) -> None:
        """Check that a client signed an assertion, for this server, now, and once.

        Raises:
          RefusedRequest: if not.

        """
        try:
            verified = await self._verified(client, assertion)
            self._check(client.client_id, verified.header, verified.claims, time.time())
        except InvalidJwt as exc:
            raise refused_client(f"The client_assertion is not taken: {exc}") from None

    async def _verified(self, client: OAuthClientInformationFull, assertion: str) -> VerifiedJwt:
        keys = await self._keys_of(client)
        try:
            return verify_jwt(assertion, keys)
        except UnknownKey:
            if client.jwks_uri is None:
                raise
        # Clients change their keys, and do not tell. Anybody can make up an assertion by a key
        # that is not known, so nobody's server is asked more often than once a minute.
        return verify_jwt(assertion, await self._keys_of(client, older_than=LEAST_AGE))

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
            raise InvalidJwt(why_not_first(self._replays, client_id, jti))


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
