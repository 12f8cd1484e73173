"""Tokens that only their issuer understands: it is asked what they are (RFC 7662)."""

from __future__ import annotations

import base64
import hashlib
import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

import attrs
import trio

from trio_mcp._checks import check_number, check_text
from trio_mcp._codec._json import JsonError, loads
from trio_mcp._rpc._flight import Flight
from trio_mcp.auth._identifiers import is_secure_url, told_url
from trio_mcp.auth._jwt import InvalidJwt, check_claims
from trio_mcp.auth._times import numeric_date
from trio_mcp.errors import ConnectionLost, OAuthFlowError
from trio_mcp.types._base import is_object

from ._access import AccessToken
from ._verifier import VerifierUnavailable, client_in, scopes_in, text_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.auth")

MAX_ANSWER_SIZE: Final = 64 * 1024
"""Bytes of an answer. What is told of one token is seldom a hundredth of that."""

MAX_CACHED: Final = 1_000
"""Tokens whose answers are kept, if any are."""

ASK_SECONDS: Final = 10.0

MAX_AT_ONCE: Final = 100
"""How many tokens are asked about at the same time. Who comes then is told to come back: anybody
can send one token after the other that nobody knows."""

_TOKEN_TYPES: Final = frozenset({"bearer", "dpop", "access_token"})
# Of RFC 6749 and 9449, and what some say in place of them.


@attrs.frozen
class _Answer:
    """What a token is; apart from nothing, which a flight has that was cancelled."""

    token: AccessToken | None


_flights: Final[
    trio.lowlevel.RunVar[
        WeakKeyDictionary[IntrospectionTokenVerifier, dict[bytes, Flight[_Answer]]] | None
    ]
] = trio.lowlevel.RunVar("trio_mcp_introspections", None)
# Who waits for which answer, in this run of Trio.


@final
class IntrospectionTokenVerifier:
    """Asks the authorization server what each token is.

    ::

        IntrospectionTokenVerifier(
            "https://as.example/introspect", client_id="mcp", client_secret=secret
        )

    All who come with one token while it is asked about share the answer. When a hundred tokens are
    being asked about, others have to come back (503).

    Args:
      endpoint: Of the authorization server: https, or http on this machine.
      client_id: As which this server is registered there.
      client_secret: The secret that goes with it (``client_secret_basic``).
      headers: What authenticates this server otherwise: a token of its own, for example.
      issuer: Who has to have issued tokens, where the answers say so.
      cache_seconds: How long an answer is kept, and a token that was revoked meanwhile is good; 0
        to ask each time.
      http_client: An ``httpx.AsyncClient`` to ask by; one of this package's own if none is given.
      clock: The time in seconds since 1970.

    Raises:
      TypeError, ValueError: if one of these is something else.

    """

    def __init__(
        self,
        endpoint: str,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        headers: Mapping[str, str] | None = None,
        issuer: str | None = None,
        cache_seconds: float = 0,
        http_client: Any = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_text("endpoint", endpoint)
        if not is_secure_url(endpoint):
            raise ValueError(f"endpoint: expected an https URL, got {told_url(endpoint)}")
        if (client_id is None) != (client_secret is None):
            raise ValueError("client_id= and client_secret= belong together")
        check_number("cache_seconds", cache_seconds, least=0)
        self._endpoint = endpoint
        self._headers = {"accept": "application/json", **(headers or {})}
        if client_id is not None and client_secret is not None:
            self._headers["authorization"] = _basic(client_id, client_secret)
        self._issuer = issuer
        self._cache_seconds = cache_seconds
        self._http_client = http_client
        self._clock = clock
        self._cache: OrderedDict[bytes, tuple[float, AccessToken | None]] = OrderedDict()

    async def verify_token(self, token: str) -> AccessToken | None:
        """See `TokenVerifier.verify_token`.

        Raises:
          VerifierUnavailable: if the authorization server does not answer, or not as it should.

        """
        await trio.lowlevel.checkpoint()
        # By its hash, so that no token lies about.
        key = hashlib.sha256(token.encode()).digest()
        kept = self._cache.get(key)
        if kept is not None and kept[0] > self._clock():
            return kept[1]
        return (await self._ask_once(key, token)).token

    async def _ask_once(self, key: bytes, token: str) -> _Answer:
        flights = self._flights()
        while True:
            flight = flights.get(key)
            if flight is None:
                break
            # Whoever comes while it is asked is told the same. That was so a moment ago.
            outcome = await flight.wait()
            if outcome is not None:
                return outcome
        if len(flights) >= MAX_AT_ONCE:
            raise VerifierUnavailable(
                f"introspection: {MAX_AT_ONCE} tokens are being asked about already"
            )
        try:
            with Flight[_Answer]() as flight:
                flights[key] = flight
                flight.outcome = answer = _Answer(await self._ask(token))
        finally:
            del flights[key]
        if self._cache_seconds:
            self._keep(key, answer.token)
        return answer

    def _flights(self) -> dict[bytes, Flight[_Answer]]:
        known = _flights.get()
        if known is None:
            known = WeakKeyDictionary[IntrospectionTokenVerifier, dict[bytes, Flight[_Answer]]]()
            _flights.set(known)
        return known.setdefault(self, {})

    def _keep(self, key: bytes, found: AccessToken | None) -> None:
        self._cache[key] = (self._clock() + self._cache_seconds, found)
        self._cache.move_to_end(key)
        while len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)

    async def _ask(self, token: str) -> AccessToken | None:
        from trio_mcp.auth._fetch import fetch  # noqa: PLC0415 - loads on first use

        form = urlencode({"token": token, "token_type_hint": "access_token"})
        try:
            answer = await fetch(
                self._endpoint,
                method="POST",
                headers={**self._headers, "content-type": "application/x-www-form-urlencoded"},
                content=form.encode(),
                limit=MAX_ANSWER_SIZE,
                timeout=ASK_SECONDS,
                # It was named by the author of the server, and may well be inside of a network.
                allow_private=True,
                http_client=self._http_client,
                what="introspection",
            )
        except (OAuthFlowError, ConnectionLost) as exc:
            raise VerifierUnavailable(str(exc)) from exc
        if answer.status != 200:
            # Also a 401, which is about this server and not about the token.
            raise VerifierUnavailable(f"introspection: the answer has status {answer.status}")
        try:
            claims: Any = loads(answer.content)
        except JsonError:
            claims = None
        if not is_object(claims) or not isinstance(claims.get("active"), bool):
            raise VerifierUnavailable("introspection: the answer does not say what it should")
        if not claims["active"]:
            return None
        try:
            self._check(claims)
            return _access_token(token, claims)
        except InvalidJwt as exc:
            logger.info("A token was refused: %s", exc)
            return None

    def _check(self, claims: JsonObject) -> None:
        """Check what an answer says of a token that is active, by the rules for signed ones.

        That it has not expired its issuer has said already, and whoever asks looks at it again.
        """
        # What an answer leaves out it does not deny.
        said = {name: each for name, each in claims.items() if each is not None and name != "exp"}
        if not isinstance(said.get("iss", ""), str):
            raise InvalidJwt("the iss of the token is no string")
        check_claims(
            said,
            issuer=self._issuer if "iss" in said else None,
            audience=None,
            now=self._clock(),
            required=(),
        )
        # RFC 7662 has here the kind that RFC 6749 has: nothing else is for a server of resources.
        kind = said.get("token_type", "Bearer")
        if not isinstance(kind, str) or kind.lower() not in _TOKEN_TYPES:
            raise InvalidJwt("the token is of another kind: its token_type is no access token's")


def _access_token(token: str, claims: JsonObject) -> AccessToken:
    expires, client = claims.get("exp"), client_in(claims)
    if expires is not None:
        try:
            expires = int(numeric_date(expires))
        except ValueError as exc:
            raise InvalidJwt(f"the exp of the token is {exc}") from None
    if client is None:
        # Nothing would tell whose sessions are whose.
        raise InvalidJwt("the answer says neither the client nor the user of the token")
    return AccessToken(
        token=token,
        client_id=client,
        scopes=scopes_in(claims),
        expires_at=expires,
        subject=text_in(claims, "sub") or text_in(claims, "username"),
        claims=claims,
    )


def _basic(client_id: str, client_secret: str) -> str:
    # RFC 6749, section 2.3.1: as in a form, and then as in HTTP.
    pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
