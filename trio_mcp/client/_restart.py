"""Supervised restart: a link that opens its carrier again when the server has died."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._checks import check_number, check_whole
from trio_mcp._rpc._link import NO_OPTIONS, CallOptions, Link
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp.errors import ConnectionLost, RequestTimeout

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._rpc._service import Serving
    from trio_mcp.types._base import JsonObject

    from ._session_life import OpenLink

logger: Final = logging.getLogger("trio_mcp.client")

CLOSE_TIMEOUT: Final = 10.0
"""Seconds that the last server has to be closed in, before it is cancelled."""

# What agrees on a revision goes through while everything else waits for that.
_NEGOTIATING: Final = frozenset({"server/discover", "initialize", "notifications/initialized"})


def _at_least(low: float) -> Callable[[Any, attrs.Attribute[Any], Any], None]:
    def check(policy: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        del policy
        check_number(attribute.name, value, least=low)

    return check


def _whole_from_one(policy: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    del policy
    check_whole(attribute.name, value, least=1)


@attrs.frozen(kw_only=True)
class RestartPolicy:
    """When and how often a server that died is started again.

    Calls that wait when it dies fail with `ConnectionLost`: whether they were carried out,
    nobody knows. Later ones wait for the new server. `listen` blocks go on: the subscription is
    sent again, and whatever it covers is reported as changed, since it may have been meanwhile.
    A server of the older era is told again from which level on it should tell log messages, and
    which resources were subscribed to, before calls go on. It has 5 seconds for all of that, and
    no more than half of ``read_timeout_seconds``; what it does not answer is logged, and calls go
    on without.

    Attributes:
      max_restarts: In a row, without the server having been stable in between. After that every
          call fails with the `ConnectionLost` that tells why the last one ended.
      initial_delay: Seconds before the first restart.
      backoff: What the delay is multiplied by for each further one.
      max_delay: The longest delay.
      stable_after: Seconds of life after which earlier restarts no longer count.
      connect_timeout: Seconds that a restarted server has to answer the negotiation.

    """

    max_restarts: int = attrs.field(default=5, validator=_whole_from_one)
    initial_delay: float = attrs.field(default=0.5, validator=_at_least(0))
    backoff: float = attrs.field(default=2.0, validator=_at_least(1))
    max_delay: float = attrs.field(default=30.0, validator=_at_least(0))
    stable_after: float = attrs.field(default=30.0, validator=_at_least(0))
    connect_timeout: float = attrs.field(default=30.0, validator=_at_least(0))

    def delay_before(self, restart: int) -> float:
        """Return the seconds to wait before a restart; the first in a row is number 1."""
        try:
            return min(self.max_delay, self.initial_delay * self.backoff ** (restart - 1))
        except OverflowError:
            return self.max_delay


class MendingRoad:
    """Opens links that come back: `road_to` with a policy.

    Args:
      open_link: Opens the carrier; called again for each restart.
      policy: When to do so.
      renegotiate: Agrees with the new server on a revision.

    """

    def __init__(
        self,
        open_link: OpenLink,
        policy: RestartPolicy,
        renegotiate: Callable[[], Awaitable[None]],
    ) -> None:
        self._open_link = open_link
        self._policy = policy
        self._renegotiate = renegotiate
        self._link: MendingLink | None = None

    def __call__(self, serving: Serving) -> AbstractAsyncContextManager[Link]:
        self._link = MendingLink(self._open_link, self._policy, self._renegotiate, serving)
        return _open(self._link)

    def establish(self) -> None:
        """The first negotiation is done. What fails before that is never tried again."""
        assert self._link is not None
        self._link.establish()


class MendingLink(Link):
    """Hands everything to the link of the moment, and waits where there is none."""

    __slots__ = (
        "__weakref__",
        "_attempt",
        "_changed",
        "_closing",
        "_ended",
        "_established",
        "_link",
        "_lost",
        "_lost_event",
        "_open_link",
        "_policy",
        "_ready_since",
        "_renegotiate",
        "_scope",
        "_serving",
    )

    def __init__(
        self,
        open_link: OpenLink,
        policy: RestartPolicy,
        renegotiate: Callable[[], Awaitable[None]],
        serving: Serving,
    ) -> None:
        self._open_link = open_link
        self._policy = policy
        self._renegotiate = renegotiate
        self._serving = serving
        self._link: Link | None = None
        self._ready_since: float | None = None
        self._established = False
        self._lost: ConnectionLost | None = None
        self._lost_event = trio.Event()
        self._changed = trio.lowlevel.ParkingLot()
        # Of whatever it waits for; cancelled to close.
        self._scope = trio.CancelScope()
        # Of the restart under way, until the new server has agreed.
        self._attempt = trio.CancelScope()
        self._closing = False
        self._ended = trio.Event()

    # What a link does

    async def request(
        self, method: str, params: JsonObject | None, options: CallOptions = NO_OPTIONS
    ) -> JsonObject:
        """See `Link.request`. Where there is no server at the moment, it waits for the next."""
        link = self._link if options.negotiates else None
        link = link or self._usable(method) or await self._wait_usable(method, options.first_limit)
        return await link.request(method, params, options)

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """See `Link.notify`, and `request`."""
        link = self._usable(method) or await self._wait_usable(method, None)
        await link.notify(method, params)
        if method == "notifications/initialized":
            # What is said to an older server now has a limit of its own, and fails no restart.
            self._attempt.deadline = float("inf")

    @property
    def lost(self) -> bool:
        """Whether it has given up."""
        return self._lost is not None

    @property
    def mends(self) -> bool:
        """Whether it has not."""
        return self._lost is None

    async def wait_usable(self, method: str, seconds: float | None) -> None:
        """See `Link.wait_usable`."""
        if self._usable(method) is None:
            await self._wait_usable(method, seconds)

    async def wait_lost(self) -> ConnectionLost:
        """Wait until it gives up."""
        await self._lost_event.wait()
        assert self._lost is not None
        return self._lost

    def break_off(self, lost: ConnectionLost) -> None:
        """Give up the connection of the moment."""
        if self._link is not None:
            self._link.break_off(lost)

    def _usable(self, method: str) -> Link | None:
        link = self._link
        if method in _NEGOTIATING:
            # Even a lost one: it knows best why.
            return link
        return None if link is None or link.lost or self._ready_since is None else link

    async def _wait_usable(self, method: str, seconds: float | None) -> Link:
        with trio.move_on_after(float("inf") if seconds is None else seconds):
            while True:
                if self._lost is not None:
                    await trio.lowlevel.checkpoint()
                    raise self._lost.again()
                link = self._usable(method)
                if link is not None:
                    return link
                await self._changed.park()
        raise RequestTimeout(f"{method}: the server was not back within {seconds:g} s")

    # What keeps it up

    def establish(self) -> None:
        """Let everything through, and restart from now on."""
        self._established = True
        self._ready_since = trio.current_time()
        self._changed.unpark_all()

    async def run(  # noqa: ASYNC114, ASYNC128 - `_first` reports that it has started
        self, task_status: trio.TaskStatus[None]
    ) -> None:
        """Look after the server, whichever it is, until `close`."""
        try:
            lost = await self._first(task_status)
            restarts = 0
            while lost is not None and not self._closing:
                if self._was_stable():
                    restarts = 0
                self._ready_since = None
                if not self._established:
                    self._lose(lost)
                    return
                if restarts == self._policy.max_restarts:
                    self._lose(_given_up(restarts, lost))
                    return
                restarts += 1
                logger.warning("%s. Restart %d follows", lost.message, restarts)
                lost = await self._restart(self._policy.delay_before(restarts))
        finally:
            self._link = None
            self._ended.set()

    def _was_stable(self) -> bool:
        since = self._ready_since
        return since is not None and trio.current_time() - since >= self._policy.stable_after

    async def _first(  # noqa: ASYNC114 - only `run` calls it
        self, task_status: trio.TaskStatus[None]
    ) -> ConnectionLost | None:
        async def begin() -> None:
            await trio.lowlevel.checkpoint()
            task_status.started()

        return await self._live(begin)

    async def _restart(self, delay: float) -> ConnectionLost | None:
        await self._pause(delay)
        if self._closing:
            return None
        seconds = self._policy.connect_timeout

        async def begin() -> None:
            await self._renegotiate()
            attempt.deadline = float("inf")
            self.establish()

        try:
            with trio.move_on_after(seconds) as attempt:
                self._scope = self._attempt = attempt
                return await self._live(begin)
        except Exception as exc:
            if self._closing:
                raise
            return _as_loss(exc)
        return ConnectionLost(f"The restarted server was not ready within {seconds:g} s")

    async def _live(self, begin: Callable[[], Awaitable[None]]) -> ConnectionLost | None:
        """Open a server and wait for its end; None when this side ends it."""
        lost: ConnectionLost | None = None
        try:
            async with self._open_link(self._serving) as link:
                self._link = link
                await begin()
                lost = await self._watch(link)
        except Exception:
            if lost is None or self._closing:
                raise
            # How it died says more than how clearing away what is left of it failed.
            logger.exception("Closing the connection to a dead server failed")
        return lost

    async def _watch(self, link: Link) -> ConnectionLost | None:
        if self._closing:
            return None
        with trio.CancelScope() as self._scope:
            return await link.wait_lost()
        return None

    async def _pause(self, seconds: float) -> None:
        with trio.CancelScope() as self._scope:
            await trio.sleep(seconds)

    async def close(self) -> None:
        """End the server of the moment, in good order and bounded time."""
        self._closing = True
        self._lose(ConnectionLost("The connection was closed on this side"))
        self._scope.cancel(reason="the connection is being closed")
        with finish_within(CLOSE_TIMEOUT):
            await self._ended.wait()

    def _lose(self, lost: ConnectionLost) -> None:
        self._lost = self._lost or lost
        self._lost_event.set()
        self._changed.unpark_all()


@asynccontextmanager
async def _open(link: MendingLink) -> AsyncGenerator[Link, None]:
    async with open_background_nursery() as nursery:
        await nursery.start(link.run, name="MCP restarts")
        try:
            yield link
        finally:
            await link.close()  # noqa: ASYNC102 - it shields itself, bounded


def _given_up(restarts: int, last: ConnectionLost) -> ConnectionLost:
    lost = ConnectionLost(
        f"The server does not stay up, and was given up after {restarts} "
        f"restart{'s' if restarts > 1 else ''}; at last: {last.message}",
        last.data,
        exit_status=last.exit_status,
        stderr=last.stderr,
    )
    lost.__cause__ = last.__cause__
    return lost


def _as_loss(exc: Exception) -> ConnectionLost:
    if isinstance(exc, ConnectionLost):
        return exc.again()
    lost = ConnectionLost(f"The server could not be started again: {exc}")
    lost.__cause__ = exc.with_traceback(None)
    return lost
