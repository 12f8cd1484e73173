"""JSON documents that others publish: fetched with care, and kept as long as HTTP says."""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._codec._json import JsonError, loads
from trio_mcp._rpc._flight import Flight
from trio_mcp.auth._identifiers import split_url
from trio_mcp.errors import MCPError
from trio_mcp.types._base import is_object

from ._expiring import Expiring

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.auth._step_types import HttpAnswer
    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.auth")

LEAST_AGE: Final = 60.0
"""Seconds that a document is kept in any case, so that nobody has it fetched again and again."""

DEFAULT_AGE: Final = 3600.0
"""Seconds where its server does not say how long."""

MOST_AGE: Final = 86_400.0
"""Seconds after which it is fetched again, whatever its server says."""

FAILURE_AGE: Final = 15.0
"""Seconds in which one that could not be had is not asked for again."""

FETCH_SECONDS: Final = 10.0
"""How long one may take: a person waits for it."""

MAX_AT_ONCE: Final = 100
"""How many are fetched at the same time."""

MAX_OF_SITE: Final = 4
"""How many of one site: whoever answers slowly takes no room of others."""

_MAX_AGE: Final = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_NEVER: Final = re.compile(r"(?:^|[,\s])no-(?:store|cache)\b", re.IGNORECASE)
_JSON: Final = re.compile(r"application/(?:[a-z0-9.!#$&^_+-]+\+)?json", re.IGNORECASE)


class Unavailable(Exception):
    """A document that cannot be had; the text says why."""


class Documents:
    """Documents by their URLs. Failures are kept for a short time, and no more of them.

    Args:
      what: What they are, for errors.
      limit: Bytes that one may have.
      most: How many are kept.
      allow_private: Whether addresses of private networks and this machine may be asked.
      use_proxy: Whether a proxy of the environment is used. It looks up names itself, and would
        reach what is refused here: not for what strangers name.
      http_client: Asks, in place of a client made here.
      now: The time, in seconds since the epoch.

    """

    def __init__(
        self,
        what: str,
        *,
        limit: int,
        most: int = 1000,
        allow_private: bool = False,
        use_proxy: bool = False,
        http_client: Any = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._what = what
        self._limit = limit
        self._most = most
        self._allow_private = allow_private
        self._use_proxy = use_proxy
        self._http_client = http_client
        self._now = now
        # As text: read, a small one may take twenty times as much.
        self._kept: dict[str, tuple[float, float, bytes]] = {}
        self._failures = Expiring[tuple[float, str]](most, now)
        self._flights: dict[str, Flight[JsonObject]] = {}

    async def get(self, url: str, *, older_than: float | None = None) -> JsonObject:
        """Give a document, as it is or as it was a while ago.

        Args:
          url: Where it is.
          older_than: Seconds: one that was fetched that long ago is fetched again.

        Raises:
          Unavailable: if it cannot be had.

        """
        while True:
            kept = self._fresh(url, older_than)
            if kept is not None:
                await trio.lowlevel.checkpoint()
                return kept
            flight = self._flights.get(url)
            if flight is None:
                await self._check_failed(url)
                return await self._fly(url)
            outcome = await flight.wait()
            if outcome is not None:
                return outcome

    def _fresh(self, url: str, older_than: float | None) -> JsonObject | None:
        fetched_at, until, content = self._kept.get(url, (0.0, 0.0, b""))
        now = self._now()
        # A clock that was set back must not keep a document for longer.
        if not fetched_at <= now < until:
            return None
        if older_than is not None and now - fetched_at >= older_than:
            return None
        document: JsonObject = loads(content)
        return document

    async def _check_failed(self, url: str) -> None:
        failed_at, why = self._failures.get(url) or (0.0, "")
        if why and failed_at <= self._now():
            await trio.lowlevel.checkpoint()
            raise Unavailable(why)

    async def _fly(self, url: str) -> JsonObject:
        site = _site_of(url)
        of_site = sum(_site_of(each) == site for each in self._flights)
        if len(self._flights) >= MAX_AT_ONCE or of_site >= MAX_OF_SITE:
            raise Unavailable(f"Too many {self._what}s are being fetched")
        try:
            with Flight["JsonObject"]() as flight:
                self._flights[url] = flight
                flight.outcome = document = await self._fetch(url)
        except Unavailable as exc:
            now = self._now()
            self._failures.put(url, (now, str(exc)), now + FAILURE_AGE)
            raise
        finally:
            del self._flights[url]
        return document

    async def _fetch(self, url: str) -> JsonObject:
        from trio_mcp.auth._fetch import fetch  # noqa: PLC0415 - loads on first use

        try:
            answer = await fetch(
                url,
                headers={"accept": "application/json"},
                limit=self._limit,
                timeout=FETCH_SECONDS,
                allow_private=self._allow_private,
                # Where a document is says whose it is.
                follow_redirects=False,
                use_proxy=self._use_proxy,
                http_client=self._http_client,
                what=self._what,
            )
        except MCPError as exc:
            # Whoever names a URL is not told what this network knows of its host.
            logger.info("%s", exc.message)
            raise Unavailable(f"The {self._what} at {url!r:.200} cannot be had") from exc
        document = self._read(url, answer)
        now = self._now()
        self._kept.pop(url, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[url] = (now, now + _age(answer), answer.content)
        return document

    def _read(self, url: str, answer: HttpAnswer) -> JsonObject:
        where = f"The {self._what} at {url!r:.200}"
        if answer.status != 200:
            raise Unavailable(f"{where} cannot be had: its server answers {answer.status}")
        media_type = (answer.headers.get("content-type") or "").partition(";")[0].strip()
        if _JSON.fullmatch(media_type) is None:
            raise Unavailable(f"{where} is no JSON, but {media_type or 'of no type':.80}")
        try:
            document: Any = loads(answer.content)
        except JsonError:
            raise Unavailable(f"{where} is no JSON") from None
        if not is_object(document):
            raise Unavailable(f"{where} is no object")
        return document


def _site_of(url: str) -> str:
    """Name whose server a URL is of, as far as that can be told: anybody has many hosts."""
    parts = split_url(url)
    host = "" if parts is None else parts.host
    labels = host.rstrip(".").split(".")
    is_address = ":" in host or labels[-1].isdigit()
    return host if is_address else ".".join(labels[-2:])


def _age(answer: HttpAnswer) -> float:
    control = answer.headers.get("cache-control") or ""
    if _NEVER.search(control):
        return LEAST_AGE
    said = _MAX_AGE.search(control)
    return DEFAULT_AGE if said is None else min(max(float(said[1]), LEAST_AGE), MOST_AGE)
