"""The road inside one process: a request runs its handler in the caller's own task.

No JSON text, no queue and no second task for a request (but one for its progress, if the caller
wants to hear of that). What crosses is copied and checked to be
JSON, so neither side can reach into the other's objects, and a test in memory fails for what
would fail on a wire. What notifications ask of user code runs behind, as there, so that a callback
that lags holds up no call.
"""

from __future__ import annotations

import contextvars
import functools
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast

import trio

from trio_mcp._codec import check_notification, check_request, check_result, checked_copy, unshared
from trio_mcp._protocol._open_requests import OpenRequests
from trio_mcp._protocol._refusals import method_not_found
from trio_mcp._rpc._answer import error_for, without_failures
from trio_mcp._rpc._calls import read_progress, with_progress_token
from trio_mcp._rpc._exchange import NO_PARAMS, Exchange
from trio_mcp._rpc._link import NO_OPTIONS, CallOptions, Link
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp._rpc._pump import Pump
from trio_mcp._rpc._reports import Reports
from trio_mcp._rpc._time_limit import TimeLimit
from trio_mcp.errors import ConnectionLost, MCPError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
    from types import FrameType

    from trio_mcp._rpc._service import Connection, Serving
    from trio_mcp.types._base import JsonObject

T = TypeVar("T")

CLOSE_TIMEOUT: Final = 2.0
"""Seconds that closing waits for the clean-up of handlers that run in other tasks."""


class _Side(NamedTuple):
    """One who takes requests and notifications, and what runs the callbacks of the latter."""

    serving: Serving
    connection: Connection
    pump: Pump


class DirectLink(Link):
    """One direction of `open_direct`."""

    __slots__ = (
        "__weakref__",
        "_closed",
        "_ended",
        "_home",
        "_idle",
        "_open",
        "_reverse",
        "_target",
    )

    def __init__(self) -> None:
        self._open: OpenRequests[Exchange] = OpenRequests()
        self._idle = trio.lowlevel.ParkingLot()
        self._target: _Side | None = None
        self._home: _Side | None = None
        self._reverse: DirectLink | None = None
        self._closed = False
        self._ended = trio.Event()

    def join(
        self,
        reverse: DirectLink,
        target: _Side,
        home: _Side,
    ) -> None:
        """Set what this direction leads to, and where reports of its requests go."""
        self._reverse, self._target, self._home = reverse, target, home

    async def request(
        self, method: str, params: JsonObject | None, options: CallOptions = NO_OPTIONS
    ) -> JsonObject:
        """See `Link.request`. A cancelled caller waits for the handler's clean-up."""
        await trio.lowlevel.checkpoint_if_cancelled()
        serving, connection, pump = self._reach(self._target)
        if pump.is_fresh:
            await pump.let_begin()
        check_request(method, params)
        request_id = self._open.next_id()
        reports: Reports | None = None
        if options.on_progress is not None:
            params = with_progress_token(params, request_id)
            reports = Reports(options.on_progress, method, request_id)
        scope = trio.CancelScope()
        limit = TimeLimit(options, scope)
        exchange = Exchange(
            request_id,
            method,
            NO_PARAMS if params is None else params,
            connection,
            functools.partial(self._report, options, limit, reports),
            self._reverse,
            scope=scope,
        )
        self._open.open(request_id, exchange)
        if options.is_limited:
            limit.arm()
            limit.start()
        try:
            if not serving.accept(exchange):
                raise method_not_found(method)
            with scope:
                handling = _InOwnContext(serving.handle(exchange))
                result = await _reported(handling, exchange, reports)
                if not self._closed:
                    if not handling.has_waited:
                        await trio.lowlevel.cancel_shielded_checkpoint()
                    return _handed_over(result)
        except (Exception, BaseExceptionGroup) as exc:
            if serving.raise_exceptions and not isinstance(exc, MCPError):
                raise
            raise _for_the_caller(exc, exchange) from None
        finally:
            self._end(exchange)
        if self._closed:
            raise _closed()
        raise limit.passed(method)

    def _end(self, exchange: Exchange) -> None:
        exchange.close()
        self._open.close(exchange.id)
        if self._closed and not self._open:
            self._idle.unpark_all()

    @property
    def lost(self) -> bool:
        """See `Link.lost`."""
        return self._closed

    async def wait_lost(self) -> ConnectionLost:
        """See `Link.wait_lost`. Only the one who opened it ends it."""
        await self._ended.wait()
        return _closed()

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """See `Link.notify`."""
        await trio.lowlevel.checkpoint()
        target = self._reach(self._target)
        check_notification(method, params)
        _deliver(target, method, params)

    async def _report(
        self,
        options: CallOptions,
        limit: TimeLimit,
        reports: Reports | None,
        method: str,
        params: JsonObject | None,
    ) -> None:
        # What a handler says about its request goes to the one who made it.
        await trio.lowlevel.checkpoint()
        check_notification(method, params)
        if method == "notifications/progress" and reports is not None:
            report = None if params is None else read_progress(params)
            if report is not None:
                limit.progressed()
                reports.put(report)
                return
        if self._closed:
            # Meanwhile. As of any request that is over, nobody hears it; its handler is cancelled.
            return
        _deliver(self._reach(self._home), method, params, options.on_notification)

    async def close(self) -> None:
        """Cancel what still runs in other tasks, and wait for its clean-up, bounded."""
        self._closed = True
        self._ended.set()
        with finish_within(CLOSE_TIMEOUT):
            for exchange in self._open:
                exchange.cancel("the connection was closed")
            while self._open:
                await self._idle.park()
        self._reverse = self._target = self._home = None

    def _reach(self, side: _Side | None) -> _Side:
        if side is None or self._closed:
            raise _closed()
        return side


def _for_the_caller(
    exc: Exception | BaseExceptionGroup[BaseException], exchange: Exchange
) -> BaseException:
    if isinstance(exc, Exception):
        return MCPError.from_error_data(error_for(exc, exchange))
    return without_failures(exc, exchange)


@asynccontextmanager
@trio.lowlevel.enable_ki_protection
async def open_direct(server: Serving, client: Serving) -> AsyncGenerator[DirectLink, None]:
    """Join a server and a client of this process; yields the client's link.

    Args:
      server: Handles what the client asks.
      client: Handles what the server asks and tells.

    """
    forward = DirectLink()
    backward = DirectLink()
    served = _Side(server, server.connect(backward), Pump())
    asking = _Side(client, client.connect(forward), Pump())
    forward.join(backward, served, asking)
    backward.join(forward, asking, served)
    async with open_background_nursery() as nursery:
        for side in (served, asking):
            nursery.start_soon(side.pump.run, name="MCP notifications")
        try:
            yield forward
        finally:
            # Before the links are closed: a callback that calls is cancelled, and sees no error.
            nursery.cancel_scope.cancel(reason="the connection was closed")
            server.ending(served.connection)
            await forward.close()  # noqa: ASYNC102 - it shields itself, bounded
            await backward.close()  # noqa: ASYNC102 - as above
            server.disconnect(served.connection)
            client.disconnect(asking.connection)


def _deliver(
    side: _Side,
    method: str,
    params: JsonObject | None,
    also: Callable[[str, JsonObject], None] | None = None,
) -> None:
    copied = _copy(params)
    callback = side.serving.notified(side.connection, method, copied)
    if also is not None:
        also(method, copied)
    if callback is not None:
        side.pump.put(callback)


def _reported(
    handling: Awaitable[JsonObject], exchange: Exchange, reports: Reports | None
) -> Awaitable[JsonObject]:
    return handling if reports is None else reports.beside(_until_closed(handling, exchange))


async def _until_closed(handling: Awaitable[JsonObject], exchange: Exchange) -> JsonObject:
    try:
        return await handling
    finally:
        # The call waits for what has been reported, and for nothing that comes later.
        exchange.close()


def _handed_over(result: JsonObject) -> JsonObject:
    """Give a result to the caller, if a wire would carry it.

    Raises:
      ValueError: with the path of what JSON cannot say.

    """
    whole = unshared(result)
    if whole is result:
        check_result(result)
    else:
        # What was shared has just been through the encoder.
        check_result({name: each for name, each in result.items() if each is whole[name]})
    return whole


def _copy(params: JsonObject | None) -> JsonObject:
    return NO_PARAMS if params is None else cast("JsonObject", checked_copy(params, "params"))


def _closed() -> ConnectionLost:
    return ConnectionLost("The connection was closed on this side")


class _InOwnContext(Generic[T]):
    """Awaits a handler's coroutine in the task that awaits this, in a context of its own.

    Each step is made in a copy of the context: what the handler sets of context variables is its
    own, as in a task of its own. Trio sees through it (`Task.iter_await_frames`), as it does
    through a coroutine: what draws a task, or asks whether it waits for a thread, relies on that.

    Attributes:
      has_waited: Whether it has let other tasks run, as a checkpoint does.

    """

    __slots__ = ("_handler", "_run", "has_waited")

    def __init__(self, handler: Coroutine[Any, Any, T]) -> None:
        self._handler = handler
        self.has_waited = False
        self._run = contextvars.copy_context().run

    def __await__(self) -> Generator[Any, Any, T]:
        return self  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    def __next__(self) -> Any:
        return self._run(self._handler.send, None)

    # What Trio sends in may hold an exception. In a variable of this frame, which its traceback
    # refers to, it would keep itself and all that the caller has.

    def send(self, value: Any) -> Any:
        self.has_waited = True
        try:
            return self._run(self._handler.send, value)
        finally:
            del value

    def throw(self, *exc: Any) -> Any:
        try:
            return self._run(self._handler.throw, *exc)
        finally:
            del exc

    def close(self) -> None:
        self._run(self._handler.close)

    @property
    def cr_frame(self) -> FrameType | None:
        frame: FrameType | None = getattr(self._handler, "cr_frame", None)
        return frame

    @property
    def cr_await(self) -> Any:
        return getattr(self._handler, "cr_await", None)
