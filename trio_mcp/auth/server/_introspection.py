"""Tokens that only their issuer understands: it is asked what they are (RFC 7662)."""

from __future__ import annotations

import base64
import hashlib
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import quote, urlencode

import trio

from trio_mcp._checks import check_number, check_text
from trio_mcp._codec._json import JsonError, loads
from trio_mcp.auth._identifiers import is_secure_url
from trio_mcp.errors import ConnectionLost, OAuthFlowError
from trio_mcp.types._base import is_object

from ._access import AccessToken
from ._verifier import VerifierUnavailable, client_in, scopes_in, text_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trio_mcp.types._base import JsonObject

MAX_ANSWER_SIZE: Final = 64 * 1024
"""Bytes of an answer. What is told of one token is seldom a hundredth of that."""

MAX_CACHED: Final = 1_000
"""Tokens whose answers are kept, if any are."""

ASK_SECONDS: Final = 10.0


@final
class IntrospectionTokenVerifier:
    """Asks the authorization server what each token is.

    ::

        IntrospectionTokenVerifier(
            "https://as.example/introspect", client_id="mcp", client_secret=secret
        )

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
            raise ValueError(f"endpoint: expected an https URL, got {endpoint!r:.200}")
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
        if not self._cache_seconds:
            return await self._ask(token)
        # By its hash, so that no token lies about.
        key = hashlib.sha256(token.encode()).digest()
        kept = self._cache.get(key)
        if kept is not None and kept[0] > self._clock():
            return kept[1]
        found = await self._ask(token)
        self._cache[key] = (self._clock() + self._cache_seconds, found)
        self._cache.move_to_end(key)
        while len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)
        return found

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
        return self._access_token(token, claims)

    def _access_token(self, token: str, claims: JsonObject) -> AccessToken | None:
        expires, client = claims.get("exp"), client_in(claims)
        if not claims["active"] or client is None:
            return None
        if self._issuer is not None and claims.get("iss") not in {None, self._issuer}:
            return None
        is_time = isinstance(expires, (int, float)) and not isinstance(expires, bool)
        return AccessToken(
            token=token,
            client_id=client,
            scopes=scopes_in(claims),
            expires_at=int(expires) if is_time and expires is not None else None,
            subject=text_in(claims, "sub") or text_in(claims, "username"),
            claims=claims,
        )


def _basic(client_id: str, client_secret: str) -> str:
    # RFC 6749, section 2.3.1: as in a form, and then as in HTTP.
    pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
