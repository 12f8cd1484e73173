"""Which processes work on the tasks in a Redis.

Each has a mark there, a key that it renews and that expires without it. A task says whose mark it
depends on: where that is gone, nobody works on the task any more. A mark may be gone for other
reasons: Redis was away for longer than it lasts, or has forgotten it. Its process sets it again
as soon as it can then, so a process counts as gone only if its mark was missing for a while
during which Redis could be reached all along, from here.
"""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._rpc._nursery import finish_within
from trio_mcp.transports._redis import RedisRefused

from ._store import STORE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from trio_mcp.transports._redis import RedisConnection
    from trio_mcp.transports._redis_link import RedisLink

MARK_SECONDS: Final = 300.0
"""Seconds for which a mark lasts: a process that is busy with something else for so long, or cut
off from Redis, is not taken for dead."""

RENEWAL_SECONDS: Final = 30.0
"""Seconds after which it is renewed, and those of others are looked at."""

MISSING_SECONDS: Final = 90.0
"""Seconds for which a mark has to be missing until its process counts as gone. Whoever has lost
the connection is back in less, a few attempts to connect included."""

MAX_PROCESSES: Final = 1_000
"""How many others are remembered, those that are gone included."""


@attrs.define
class _Seen:
    """What is known of another process.

    Attributes:
      missing_since: When its mark was first found missing; None if it was there.
      is_told: Whether those who wait for its tasks were told.

    """

    missing_since: float | None = None
    is_told: bool = False


class Presence:
    """The mark of a store in this process, and what it knows of those of others.

    Args:
      prefix: Of the names of marks.
      tell_all: Called when a process was found to be gone whose task somebody here knows.

    """

    def __init__(self, prefix: str, tell_all: Callable[[], None]) -> None:
        self._prefix = prefix
        self._tell_all = tell_all
        self._blocks = 0
        self._mark = ""
        self._others: dict[str, _Seen] = {}
        # The store may be used in several threads.
        self._lock = threading.Lock()

    @property
    def mark(self) -> str:
        """The name of the mark of this process."""
        return self._mark

    @contextmanager
    def entered(self) -> Generator[None, None, None]:
        """Be present as long as the block lasts, or another one."""
        with self._lock:
            if not self._blocks:
                # Not before, since this may be a fork of the process in which the store was made.
                self._mark = f"{self._prefix}:{secrets.token_hex(8)}"
            self._blocks += 1
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1

    async def set(self, connection: RedisConnection) -> None:
        """Set the mark on a new connection.

        Raises:
          RedisLost: if that broke.

        """
        self._others.clear()
        # A Redis that is full takes no tasks either.
        with suppress(RedisRefused):
            await self._renew(connection)

    async def keep(self, connection: RedisConnection) -> None:
        """Renew the mark, and look at those of others, until cancelled."""
        while True:
            await trio.sleep(RENEWAL_SECONDS)
            # What was lost is set anew with the next connection.
            with suppress(ConnectionError):
                await self._renew(connection)
                await self._look(connection)

    async def _renew(self, connection: RedisConnection) -> None:
        # A Redis that is full lets a key last longer, but takes none that is new.
        lasts = _milliseconds(MARK_SECONDS)
        if not await connection.ask(b"PEXPIRE", self._mark, lasts):
            await connection.ask(b"SET", self._mark, "", b"PX", lasts)

    async def _look(self, connection: RedisConnection) -> None:
        is_news = False
        for mark, seen in [*self._others.items()]:
            if seen.is_told:
                continue
            self.note(mark, is_there=bool(await connection.ask(b"EXISTS", mark)))
            if self.is_gone(mark):
                seen.is_told = is_news = True
        if is_news:
            self._tell_all()

    async def remove(self, link: RedisLink) -> None:
        """Take the mark away, if this block is the last: what is not over now never will be."""
        if self._blocks == 1:
            with finish_within(STORE_SECONDS), suppress(ConnectionError):
                await link.ask(b"DEL", self._mark)

    def note(self, mark: str, *, is_there: bool) -> None:
        """Take note of whether a mark was there just now."""
        if mark == self._mark:
            return
        seen = self._others.setdefault(mark, _Seen())
        if is_there:
            # Who was taken for gone may be back.
            seen.missing_since, seen.is_told = None, False
        elif seen.missing_since is None:
            seen.missing_since = time.monotonic()
        while len(self._others) > MAX_PROCESSES:
            # Not those that were heard of just now.
            self._others.pop(next(iter(self._others)), None)

    def is_gone(self, mark: str) -> bool:
        """Whether a process is gone whose mark it is."""
        seen = self._others.get(mark)
        if seen is None or seen.missing_since is None:
            return False
        return time.monotonic() - seen.missing_since >= MISSING_SECONDS


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
