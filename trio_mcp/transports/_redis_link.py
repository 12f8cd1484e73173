"""A connection to Redis that is made anew whenever it is lost."""

from __future__ import annotations

import logging
import math
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import trio

from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._trouble import Trouble

from ._redis import RedisLost, RedisRefused, connect_redis

if TYPE_CHECKING:
    from collections.abc import Generator

    from ._redis import RedisAddress, RedisConnection

logger: Final = logging.getLogger("trio_mcp.redis")

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 5.0
"""Seconds between two attempts to connect: twice as many each time, up to the longest."""

PING_INTERVAL: Final = 10.0
"""Seconds between two questions whether Redis is still there: a connection that was cut says
nothing by itself."""

MAX_REFUSALS: Final = 5
"""How many reasons for which Redis refuses a connection are told until one works again."""

PATIENCE: Final = 1.0
"""Seconds for which a command waits for a connection that was lost just now."""


class Conversation(Protocol):
    """What one user of a link does with each of its connections."""

    async def begin(self, connection: RedisConnection, *, again: bool) -> None:
        """Prepare a connection, before the link counts as connected."""
        ...

    async def go_on(self, connection: RedisConnection) -> None:
        """Use a connection, until it ends; may return before."""
        ...


class RedisLink:
    """Stays connected to Redis, as long as it runs.

    Args:
      address: Where that is.
      conversation: What is done with each connection; None to do no more than `ask`.

    """

    def __init__(self, address: RedisAddress, conversation: Conversation | None = None) -> None:
        self._address = address
        self._conversation = conversation
        self._connection: RedisConnection | None = None
        self._changed = trio.lowlevel.ParkingLot()
        self._lost_at = -math.inf
        self._trouble = Trouble()
        self._refusals: set[str] = set()
        self._why = "it has not been connected yet"

    async def run(  # noqa: ASYNC114 - started by two of this package alone
        self,
        *,
        must_begin: bool = True,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Be connected until cancelled, again and again. Reports the first connection.

        Args:
          must_begin: Whether it has to work at the beginning.
          task_status: Reports it.

        Raises:
          RedisLost: if Redis cannot be reached at the beginning.
          RedisRefused: if it does not let this in then, or not do what it has to.

        """
        has_begun = not must_begin
        delay = FIRST_DELAY
        while True:
            since = math.inf
            try:
                async with connect_redis(self._address) as connection:
                    if self._conversation is not None:
                        await self._conversation.begin(connection, again=has_begun)
                    self._tell_reached()
                    if not has_begun:
                        has_begun = True
                        task_status.started()
                    since = trio.current_time()
                    self._connection = connection
                    self._changed.unpark_all()
                    await self._use(connection)
            except (RedisLost, RedisRefused) as exc:
                if not has_begun:
                    raise
                self._tell_lost(exc)
            finally:
                self._connection = None
            if trio.current_time() - since > LONGEST_DELAY:
                delay = FIRST_DELAY
            # Not all servers at the same time.
            await trio.sleep(delay * random.uniform(0.5, 1))  # noqa: S311 - no secret
            delay = min(2 * delay, LONGEST_DELAY)

    def _tell_reached(self) -> None:
        if self._trouble.works():
            self._refusals.clear()
            logger.info("Redis at %s is reached again", self._address)

    def _tell_lost(self, exc: ConnectionError) -> None:
        self._why = str(exc)
        is_another = isinstance(exc, RedisRefused) and self._is_another_reason(self._why)
        if self._connection is not None:
            self._lost_at = trio.current_time()
            self._changed.unpark_all()
        if self._trouble.fails():
            more = ", and comes and goes" if self._trouble.comes_and_goes else ""
            logger.warning("%s; it is tried again until it works%s", exc, more)
        elif is_another:
            # This does not pass by itself.
            logger.warning("%s", exc)
        else:
            logger.debug("%s", exc)

    def _is_another_reason(self, refusal: str) -> bool:
        if refusal in self._refusals or len(self._refusals) == MAX_REFUSALS:
            return False
        self._refusals.add(refusal)
        return True

    async def _use(self, connection: RedisConnection) -> None:
        async with open_background_nursery() as nursery:
            nursery.start_soon(self._ping, connection, name="Redis ping")
            if self._conversation is not None:
                await self._conversation.go_on(connection)
            await trio.sleep_forever()

    async def _ping(self, connection: RedisConnection) -> None:
        while True:
            await trio.sleep(PING_INTERVAL)
            try:
                await connection.ask(b"PING")
            except (RedisLost, RedisRefused) as exc:
                logger.debug("%s", exc)
                connection.drop("Redis does not answer")
                return
            self._tell_reached()

    async def ask(self, command: bytes, *args: bytes | str | int) -> Any:
        """Send a command, and wait for its answer, for a few seconds at most.

        Raises:
          RedisLost: if there is no connection, or no answer.
          RedisRefused: if Redis answers with an error.

        Cancellation:
          The command may be carried out.

        """
        connection = self._connection
        if connection is None or not connection.is_usable:
            # What is broken and not put away yet has been lost just now.
            since = self._lost_at if connection is None else trio.current_time()
            with trio.move_on_at(since + PATIENCE):
                while not self._is_connected:
                    await self._changed.park()
            connection = self._connection
            if connection is None:
                await trio.lowlevel.checkpoint()
                raise RedisLost(self._why)
        return await connection.ask(command, *args)

    @property
    def _is_connected(self) -> bool:
        return self._connection is not None and self._connection.is_usable


class RedisLinks:
    """The links of a store, one for each block in which it is open.

    Args:
      what: The store, as an error calls it.

    """

    def __init__(self, what: str) -> None:
        self._what = what
        # Of each run of Trio, since a connection belongs to one.
        self._links: dict[trio.lowlevel.TrioToken, list[RedisLink]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._links.values()))

    @contextmanager
    def added(self, link: RedisLink) -> Generator[None, None, None]:
        """Have one more as long as the block lasts."""
        run = trio.lowlevel.current_trio_token()
        links = self._links.setdefault(run, [])
        links.append(link)
        try:
            yield
        finally:
            links.remove(link)
            if not links:
                del self._links[run]

    def here(self) -> RedisLink:
        """Give one of this run of Trio.

        Raises:
          RuntimeError: if the store is not open here.

        """
        links = self._links.get(trio.lowlevel.current_trio_token())
        if not links:
            raise RuntimeError(f"This {self._what} is not open: `async with store.open():`")
        return links[0]
