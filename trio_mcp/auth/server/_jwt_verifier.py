"""Tokens that say themselves what they are, signed by who issued them (RFC 9068)."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, final

import trio

from trio_mcp._checks import check_items, check_number, check_text, check_word
from trio_mcp.auth._algorithms import ASYMMETRIC
from trio_mcp.auth._jwt import (
    DEFAULT_LEEWAY,
    InvalidJwt,
    UnknownKey,
    check_claims,
    import_key,
    import_key_set,
    unverified_claims,
    verify_jwt,
)
from trio_mcp.types._base import is_object

from ._access import AccessToken
from ._jwks import RemoteKeys
from ._verifier import client_in, scopes_in, text_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from trio_mcp.auth._jwt import Key, VerifiedJwt
    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.auth")

_TYPES: Final = frozenset({"at+jwt", "jwt"})
# RFC 9068, section 4, and RFC 7519, section 5.1.


@final
class JWTVerifier:
    """Verifies tokens by the signature of their issuer.

    ::

        JWTVerifier(issuer="https://as.example", jwks_uri="https://as.example/jwks.json")

    Keys at a URL are fetched with the first token, and again every hour, or when a token names a
    key that is not among them, but then not more often than every 30 seconds. While they cannot be
    fetched, those that are there hold for a day. A token whose key is not among them is bad only
    when they have been fetched since it came. Until then nobody can say (503), of this token
    alone: whoever makes up names of keys delays a new one by 30 seconds at most.

    Args:
      issuer: Who has to have issued them, byte for byte; several may.
      audience: For whom they have to be, or for one of whom. If it is not given, the server checks
        that they are for its own URL (`AuthSettings`), and may not be told to leave that out.
      jwks_uri: Where the keys are. Several issuers are names of one then: each key is believed for
        each of them.
      keys: The keys themselves, in place of that: PEM, a JWK, a list of such, or a JWK Set. Public
        ones do. Several issuers that have several keys need a dict of these by issuer, so that
        none signs for another.
      algorithms: Those that tokens may be signed by; asymmetric ones alone.
      typ: The kinds of token that will do, such as ``"at+jwt"``; when None it, ``"JWT"`` and those
        that do not say: what is signed for another purpose (a logout, a proof) is none.
      leeway: Seconds by which clocks may differ. So much later than it says a token expires here.
      http_client: An ``httpx.AsyncClient`` to fetch the keys by; one of this package's own if it
        is not given.
      clock: The time in seconds since 1970.

    Raises:
      TypeError, ValueError: if one of these is something else; holds nothing of a key.

    """

    def __init__(
        self,
        *,
        issuer: str | Sequence[str],
        audience: str | Sequence[str] | None = None,
        jwks_uri: str | None = None,
        keys: str
        | bytes
        | Mapping[str, Any]
        | Iterable[str | bytes | Mapping[str, Any]]
        | None = None,
        algorithms: Sequence[str] = ASYMMETRIC,
        typ: str | Sequence[str] | None = None,
        leeway: float = DEFAULT_LEEWAY,
        http_client: Any = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if (jwks_uri is None) == (keys is None):
            raise ValueError("JWTVerifier needs either jwks_uri= or keys=")
        self._issuers = _texts("issuer", issuer)
        self._audiences = None if audience is None else _texts("audience", audience)
        check_items("algorithms", algorithms, str, "a list of strings")
        for each in algorithms:
            check_word("algorithms", each, ASYMMETRIC)
        check_number("leeway", leeway, least=0)
        self._algorithms = tuple(algorithms)
        self._typ = None if typ is None else _texts("typ", typ)
        self._leeway = leeway
        self._clock = clock
        self._keys: Mapping[str, Sequence[Key]] = (
            {} if keys is None else _keys_by_issuer(keys, self._issuers)
        )
        self._remote = None if jwks_uri is None else RemoteKeys(jwks_uri, http_client)

    @property
    def checks_audience(self) -> bool:
        """Whether it was told for whom tokens have to be."""
        return self._audiences is not None

    async def verify_token(self, token: str) -> AccessToken | None:
        """See `TokenVerifier.verify_token`.

        Raises:
          VerifierUnavailable: if the keys cannot be had.

        """
        await trio.lowlevel.checkpoint()
        try:
            # Before anything is fetched: what is nothing, or of a stranger, costs nothing.
            issuer = unverified_claims(token).get("iss")
            if not isinstance(issuer, str) or issuer not in self._issuers:
                raise InvalidJwt("the token has another issuer")
            read = await self._read(token, issuer)
            self._check(read)
            return _access_token(token, read.claims, self._leeway)
        except InvalidJwt as exc:
            logger.info("A token was refused: %s", exc)
            return None

    async def _read(self, token: str, issuer: str) -> VerifiedJwt:
        remote = self._remote
        if remote is None:
            return self._verify(token, self._keys[issuer])
        since = remote.now()
        keys = await remote.get()
        with suppress(UnknownKey):
            return self._verify(token, keys)
        await remote.renew(token, since)
        return self._verify(token, await remote.get())

    def _verify(self, token: str, keys: Sequence[Key]) -> VerifiedJwt:
        return verify_jwt(token, keys, algorithms=self._algorithms, typ=self._typ)

    def _check(self, read: VerifiedJwt) -> None:
        if self._typ is None and _plain_type(read.header.get("typ", "JWT")) not in _TYPES:
            raise InvalidJwt("the token is of another kind: its typ is no access token's")
        check_claims(
            read.claims,
            issuer=self._issuers,
            audience=self._audiences,
            now=self._clock(),
            leeway=self._leeway,
        )


def _plain_type(typ: object) -> str:
    return typ.lower().removeprefix("application/") if isinstance(typ, str) else ""


def _access_token(token: str, claims: JsonObject, leeway: float) -> AccessToken:
    client = client_in(claims)
    if client is None:
        # Nothing would tell whose sessions are whose.
        raise InvalidJwt("the token says neither its client nor its user")
    return AccessToken(
        token=token,
        client_id=client,
        scopes=scopes_in(claims),
        # Whoever looks at that again does so by his clock, and knows of no leeway.
        expires_at=int(claims["exp"] + leeway),
        subject=text_in(claims, "sub"),
        claims=claims,
    )


def _keys_by_issuer(given: Any, issuers: Sequence[str]) -> Mapping[str, Sequence[Key]]:
    if is_object(given) and "keys" not in given and "kty" not in given:
        if set(given) != set(issuers):
            raise ValueError("keys: expected a JWK, a JWK Set, or a dict of keys for each issuer")
        return {issuer: _read_keys(given[issuer]) for issuer in issuers}
    found = _read_keys(given)
    if len(issuers) > 1 and len(found) > 1:
        raise ValueError(
            "keys: several issuers have several keys: keys={issuer: …} says which are whose, so "
            "that none signs for another"
        )
    return dict.fromkeys(issuers, found)


def _read_keys(given: Any) -> Sequence[Key]:
    if is_object(given):
        found = import_key_set(given) if "keys" in given else [import_key(given)]
    elif isinstance(given, (str, bytes)):
        found = [import_key(given)]
    else:
        found = [import_key(each) for each in given]
    if not found:
        raise ValueError("keys: there is none that can be used")
    return found


def _texts(name: str, given: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    check_items(name, given, str, "a string, or a list of strings")
    if not given:
        raise ValueError(f"{name} is empty")
    for each in given:
        check_text(name, each)
    return tuple(given)
