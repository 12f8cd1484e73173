"""The keys of an authorization server, fetched when they are needed and kept while they hold."""

from __future__ import annotations

import hashlib
import logging
import time
from typing import TYPE_CHECKING, Any, Final, final
from weakref import WeakKeyDictionary

import trio

from trio_mcp._checks import check_text
from trio_mcp._codec._json import JsonError, loads
from trio_mcp._rpc._flight import Together
from trio_mcp.auth._identifiers import is_secure_url, told_url
from trio_mcp.auth._jwt import import_key_set
from trio_mcp.errors import ConnectionLost, OAuthFlowError
from trio_mcp.types._base import is_object

from ._verifier import VerifierUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp.auth._jwt import Key

logger: Final = logging.getLogger("trio_mcp.auth")

KEYS_FRESH: Final = 3600.0
"""Seconds after which keys are fetched again, so that those that were withdrawn go."""

KEYS_STALE: Final = 24 * 3600.0
"""Seconds that keys hold while they cannot be fetched again."""

RENEW_SECONDS: Final = 30.0
"""Seconds between two fetches for tokens with unknown keys: anybody can make such a token up. So
long it takes at most until a key is known that an issuer uses as soon as it is made."""

MAX_ASKED: Final = 10_000
"""How many tokens are remembered for which keys have not been fetched yet."""

RETRY_SECONDS: Final = 5.0
"""Seconds after a fetch that failed before another is tried."""

FETCH_SECONDS: Final = 10.0

MAX_KEYS: Final = 100

_flights: Final[trio.lowlevel.RunVar[WeakKeyDictionary[RemoteKeys, Together] | None]] = (
    trio.lowlevel.RunVar("trio_mcp_key_sets", None)
)
# Who waits for which fetch, in this run of Trio.


@final
class RemoteKeys:
    """A JWK Set at a URL (RFC 7517).

    However many requests want it at the same time, it is fetched once, and they wait for that. It
    may be used in several runs and threads.

    Args:
      uri: Where it is: https, or http on this machine.
      http_client: See `JWTVerifier`.
      clock: The time in seconds, from whenever on.

    Raises:
      ValueError: if that is no such URL.

    """

    def __init__(
        self, uri: str, http_client: Any = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        check_text("jwks_uri", uri)
        if not is_secure_url(uri):
            raise ValueError(f"jwks_uri: expected an https URL, got {told_url(uri)}")
        self._uri = uri
        self._http_client = http_client
        self._clock = clock
        self._keys: Sequence[Key] = ()
        self._fetched_at: float | None = None
        self._failed_at: float | None = None
        self._asked: dict[bytes, float] = {}

    async def get(self) -> Sequence[Key]:
        """Give the keys.

        Raises:
          VerifierUnavailable: if they cannot be had.

        """
        await self._fetch_once(KEYS_FRESH)
        return self._keys

    async def renew(self, token: str, since: float) -> None:
        """Fetch them again, as there may be a new one, unless that was done just now.

        Args:
          token: What may be by the new one.
          since: When it came, by `now`.

        Raises:
          VerifierUnavailable: if they are as old as before the token came first. Then nobody can
            say that it is bad: its issuer may have changed the key meanwhile.

        """
        # By the token: a name of a key could be guessed, and made old before it is used. By its
        # hash, so that no token lies about.
        name = hashlib.sha256(token.encode()).digest()
        first = self._asked.pop(name, since)
        self._asked[name] = first
        while len(self._asked) > MAX_ASKED:
            del self._asked[next(iter(self._asked))]
        await self._fetch_once(RENEW_SECONDS)
        if self._fetched_at is None or self._fetched_at < first:
            raise VerifierUnavailable(
                f"a token names a key that is not among those at {told_url(self._uri)}, which "
                "were fetched before it came"
            )
        self._asked.pop(name, None)

    def now(self) -> float:
        """Give the time by the clock of the keys."""
        return self._clock()

    async def _fetch_once(self, after: float) -> None:
        """Fetch them if they are older than this, or if there are none yet."""
        flights = _flights.get()
        if flights is None:
            flights = WeakKeyDictionary[RemoteKeys, Together]()
            _flights.set(flights)
        together = flights.setdefault(self, Together())
        await together.do(self._fetch, lambda: self._is_wanted(after))
        if self._fetched_at is None or self._age(self._fetched_at) > KEYS_STALE:
            raise VerifierUnavailable(f"the keys at {told_url(self._uri)} cannot be had")

    def _is_wanted(self, after: float) -> bool:
        if self._failed_at is not None and self._age(self._failed_at) < RETRY_SECONDS:
            return False
        return self._fetched_at is None or self._age(self._fetched_at) >= after

    def _age(self, since: float) -> float:
        return self._clock() - since

    async def _fetch(self) -> None:
        try:
            keys = await self._read()
        except (OAuthFlowError, ConnectionLost, ValueError) as exc:
            self._failed_at = self._clock()
            logger.warning("The keys at %s cannot be had: %s", told_url(self._uri), exc)
            return
        self._keys, self._fetched_at, self._failed_at = keys, self._clock(), None

    async def _read(self) -> Sequence[Key]:
        from trio_mcp.auth._fetch import fetch  # noqa: PLC0415 - loads on first use

        answer = await fetch(
            self._uri,
            headers={"accept": "application/jwk-set+json, application/json"},
            timeout=FETCH_SECONDS,
            # It was named by the author of the server, and may well be inside of a network.
            allow_private=True,
            http_client=self._http_client,
            what="JWK Set",
        )
        if answer.status != 200:
            raise ValueError(f"the answer has status {answer.status}")
        try:
            document: Any = loads(answer.content)
        except JsonError as exc:
            raise ValueError(f"the answer is no JSON: {exc}") from None
        if not is_object(document):
            raise ValueError("the answer is no JWK Set")
        keys = import_key_set(document, MAX_KEYS)
        if not keys:
            raise ValueError("there is no key in it that can be used")
        return keys
