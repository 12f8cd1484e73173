"""A connection over a channel: both directions of JSON-RPC, multiplexed.

Three tasks in one nursery: a reader, which waits for nothing but the wire; a writer, which
alone touches the channel's sending end; and a pump for what notifications ask of user code.
Beside them one task for each request of the peer.
"""

from __future__ import annotations

from collections import deque
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._codec import Batch, Malformed, check_notification, excerpt
from trio_mcp._protocol._open_requests import OpenRequests
from trio_mcp._protocol._refusals import duplicate_id, server_busy
from trio_mcp._protocol._subscriptions import subscription_id_of
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from ._answer import answer, error_for
from ._bad_answers import fail_by_batch, fail_by_malformed, fail_by_mistyped
from ._calls import Call, logger, read_progress, with_progress_token
from ._channel import Undelivered
from ._exchange import NO_PARAMS, Exchange
from ._late_call import LateCall
from ._link import NO_OPTIONS, CallOptions, Link
from ._nursery import open_background_nursery
from ._outbox import Outbox
from ._pump import Pump
from ._reasons import reason_of
from ._repeats import Repeats
from ._time_limit import TimeLimit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from trio_mcp._codec import Frame
    from trio_mcp.types import RequestId
    from trio_mcp.types._base import JsonObject, JsonValue

    from ._channel import Channel
    from ._service import Connection, Serving

MAX_IN_FLIGHT: Final = 1_000
"""Requests of the peer that are handled at once; more wait. Streams of notifications, which may
last as long as the connection, do not count once they have begun: their handler bounds them."""

MAX_BACKLOG: Final = 1_000
"""Requests of the peer that may wait for that; more are answered `SERVER_BUSY`."""

MAX_UNREAD: Final = 10_000
"""Answers that may wait for a peer that does not read, before we stop reading, too. What we ask
does not count: its answers come through the reader, and its memory is for its callers to bound."""

FRAMES_AT_ONCE: Final = 256
"""Messages, or what is none, that are taken without letting other tasks run. What is read at once
can be tens of thousands of lines."""

UNREAD_TIMEOUT: Final = 1.0
"""Seconds in which a peer that has said its last word has to read something, once so many wait:
as long as handlers get after the end of input."""

STANDSTILL_TIMEOUT: Final = 60.0
"""Seconds in which a peer has to read something, once so many wait and we wait for its answers:
each side may wait for the other to read, and no peer that is only slow takes so long."""

LOSS_REASON_TIMEOUT: Final = 1.5
"""Seconds between a failed write and giving up, in which the reader may learn why."""

END_OF_STREAM_PAUSE: Final = 0.1
"""Seconds between the result that ends a stream of notifications and the notice that says so,
too: clients that read both at once (`mcp` 2.3) take the stream for lost. Where the connection
ends with the stream, nobody is left to whom that matters."""


class Peer(Link):
    """Speaks JSON-RPC with the other side of a channel. Made by `open_peer`."""

    __slots__ = (
        "__weakref__",
        "_backlog",
        "_busy",
        "_calls",
        "_channel",
        "_connection",
        "_drain_seconds",
        "_ended",
        "_ended_streams",
        "_idle",
        "_inbound",
        "_interrupt_cancelled",
        "_lost",
        "_lost_event",
        "_mute",
        "_nursery",
        "_outbox",
        "_pump",
        "_reading",
        "_repeats",
        "_serving",
        "_slots",
    )

    def __init__(
        self,
        channel: Channel,
        serving: Serving,
        *,
        drain_seconds: float = 0.0,
        interrupt_cancelled: bool = True,
    ) -> None:
        self._channel = channel
        self._serving = serving
        self._connection: Connection = serving.connect(self)
        self._drain_seconds = drain_seconds
        self._interrupt_cancelled = interrupt_cancelled
        self._outbox = Outbox(channel)
        self._pump = Pump()
        self._calls: OpenRequests[Call] = OpenRequests()
        self._inbound: OpenRequests[Exchange] = OpenRequests()
        self._backlog: deque[Exchange] = deque()
        # Ids of streams of notifications that have ended, which has still to be said once more.
        self._ended_streams: list[RequestId] = []
        # Requests that are handled; and those of them that others wait for.
        self._busy = 0
        self._slots = 0
        self._idle = trio.lowlevel.ParkingLot()
        # No answer can come any more; later also: nothing can be sent any more. Between the
        # two lies the time in which a client that has said its last word still listens.
        self._lost: ConnectionLost | None = None
        self._lost_event = trio.Event()
        self._mute: ConnectionLost | None = None
        self._reading = trio.CancelScope()
        self._repeats = Repeats()
        self._ended = trio.Event()
        self._nursery: trio.Nursery | None = None

    # What this side asks

    async def request(
        self, method: str, params: JsonObject | None, options: CallOptions = NO_OPTIONS
    ) -> JsonObject:
        """See `Link.request`."""
        if self._lost is not None:
            # Whoever is cancelled as well, with all that was open, is told that instead.
            await trio.lowlevel.checkpoint()
            raise self._lost.again()
        call = Call(self._calls.next_id(), method, options)
        if options.on_progress is not None:
            params = with_progress_token(params, call.id)
        self._calls.open(call.id, call)
        request = JSONRPCRequest(id=call.id, method=method, params=params)
        if not options.is_limited:
            call.outgoing = self._outbox.put(request, None, call.not_written)
            return await self._wait(call)
        scope = trio.CancelScope()
        call.limit = limit = TimeLimit(options, scope)
        with scope:
            limit.arm()
            call.outgoing = self._outbox.put(request, limit.start, call.not_written)
            return await self._wait(call)
        if options.on_late_result is not None:
            self._calls.open(call.id, LateCall(call.id, method, options))
        raise limit.passed(method)

    async def _wait(self, call: Call) -> JsonObject:
        try:
            return await call.wait()
        except BaseException as exc:
            if self._calls.close(call.id) is not None:
                self._abandon(call, exc)
            raise
        finally:
            # They refer to each other, and the call to what its caller gave.
            call.outgoing = None

    def _abandon(self, call: Call, exc: BaseException) -> None:
        if call.outgoing is not None and call.outgoing.withdraw():
            return
        if not call.options.may_cancel or self._lost is not None:
            return
        self._outbox.put(
            JSONRPCNotification(
                method="notifications/cancelled",
                params={"requestId": call.id, "reason": reason_of(exc)},
            )
        )

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """See `Link.notify`."""
        await trio.lowlevel.checkpoint()
        if self._mute is None:
            await self._outbox.wait_room()
        if self._mute is not None:
            raise self._mute.again()
        check_notification(method, params)
        self._outbox.put(JSONRPCNotification(method=method, params=params))

    async def _report(self, method: str, params: JsonObject | None) -> None:
        # What a handler says of its request. A client that has gone is an everyday event:
        # the handler is cancelled soon, and need not learn it here.
        with suppress(ConnectionLost):
            await self.notify(method, params)

    @property
    def lost(self) -> bool:
        """See `Link.lost`."""
        return self._lost is not None

    async def wait_lost(self) -> ConnectionLost:
        """See `Link.wait_lost`."""
        await self._lost_event.wait()
        assert self._lost is not None
        return self._lost

    def break_off(self, lost: ConnectionLost) -> None:
        """See `Link.break_off`."""
        self._mute = self._mute or lost
        self._lose(lost)
        self._reading.cancel(reason=lost.message)

    # The tasks behind it

    @trio.lowlevel.enable_ki_protection
    async def run(self) -> None:
        """Serve the connection until the peer ends it, then finish what it asked for."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._write, name="MCP writer")
            nursery.start_soon(self._pump.run, name="MCP notifications")
            with self._reading:
                self._lose(await self._read())
                await self._drain()
            self._mute = self._mute or self._lost
            self._ended.set()
            for exchange in self._inbound:
                exchange.cancel("the connection ended")
            nursery.cancel_scope.cancel(reason="the connection ended")

    async def wait_ended(self) -> ConnectionLost:
        """Wait until the peer has ended the connection and its requests are over."""
        await self._ended.wait()
        assert self._lost is not None
        return self._lost

    async def finish(self) -> None:
        """Write the last notices, in bounded time; then all that still wait are told."""
        if self._mute is None:
            self._end_streams()
            await self._outbox.finish()
        self._lose(ConnectionLost("The connection was closed on this side"))
        self._mute = self._mute or self._lost
        self._serving.disconnect(self._connection)

    def forget(self) -> None:
        """Let go of requests whose handlers ended with the connection, and that refer to it."""
        for exchange in self._inbound.drain():
            exchange.close()

    async def _read(self) -> ConnectionLost:
        try:
            while True:
                goes_first = False
                for place, frame in enumerate(await self._channel.receive()):
                    is_turn = place % FRAMES_AT_ONCE == FRAMES_AT_ONCE - 1
                    if is_turn or (goes_first and not _goes_first(frame)):
                        await trio.lowlevel.checkpoint()
                        goes_first = False
                    if self._pump.is_fresh and isinstance(frame, (JSONRPCRequest, Batch)):
                        await self._pump.let_begin()
                    self._dispatch(frame)
                    goes_first = goes_first or _goes_first(frame)
                if self._outbox.unsent_answers > MAX_UNREAD:
                    await self._wait_until_read()
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError) as exc:
            return _loss(exc)

    async def _wait_until_read(self) -> None:
        standstill = 0.0
        while True:
            with trio.move_on_after(UNREAD_TIMEOUT) as waiting:
                await self._outbox.wait_answers_taken(MAX_UNREAD)
            if not waiting.cancelled_caught:
                return
            if self._channel.hung_up:
                # The end of what the peer says cannot be seen behind what was not received.
                raise trio.EndOfChannel
            # Where nobody here waits for the peer, it may take its time, for ever.
            standstill = standstill + UNREAD_TIMEOUT if self._calls else 0.0
            if standstill >= STANDSTILL_TIMEOUT:
                raise trio.BrokenResourceError from ConnectionLost(
                    f"Connection closed: the peer asks, and in {STANDSTILL_TIMEOUT:g} s "
                    f"it has read none of more than {MAX_UNREAD} answers"
                )

    async def _write(self) -> None:
        try:
            await self._outbox.run()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as exc:
            # The reader may be about to learn more: a process that died closes both pipes.
            self._mute = _loss(exc)
            with trio.move_on_after(LOSS_REASON_TIMEOUT):
                await self._ended.wait()
            self.break_off(self._mute)

    async def _drain(self) -> None:
        """Let running handlers answer, for the agreed time, once no more can be asked."""
        self._serving.ending(self._connection)
        with trio.move_on_after(self._drain_seconds):
            while self._busy:
                await self._idle.park()
            await self._pump.wait_idle()
            await self._outbox.wait_flushed()

    def _lose(self, lost: ConnectionLost) -> None:
        if self._lost is not None:
            return
        self._lost = lost
        self._lost_event.set()
        for call in self._calls.drain():
            call.failed(lost.again())

    # What the peer sends

    def _dispatch(self, frame: Frame) -> None:
        if isinstance(frame, JSONRPCResponse):
            call = self._calls.close(frame.id)
            if call is not None:
                call.answered(frame.result)
            elif not fail_by_mistyped(self._calls, frame.id):
                logger.debug("An answer to no open request was dropped: id %r", excerpt(frame.id))
        elif isinstance(frame, JSONRPCRequest):
            self._receive_request(frame)
        elif isinstance(frame, JSONRPCNotification):
            self._receive_notification(frame)
        elif isinstance(frame, JSONRPCError):
            self._receive_error(frame)
        elif isinstance(frame, Malformed):
            self._receive_malformed(frame)
        else:
            self._receive_batch(frame)

    def _receive_error(self, frame: JSONRPCError) -> None:
        call = None if frame.id is None else self._calls.close(frame.id)
        if call is not None:
            if isinstance(frame, Undelivered):
                call.failed(frame.why)
            else:
                call.failed(MCPError.from_error_data(frame.error))
        elif frame.id is None or not fail_by_mistyped(self._calls, frame.id):
            self._repeats.warn(
                logger,
                "The peer reported an error for no open request: %d %s",
                frame.error.code,
                excerpt(frame.error.message),
            )

    def _receive_malformed(self, frame: Malformed) -> None:
        if fail_by_malformed(self._calls, frame):
            return
        error, callback = self._serving.malformed(self._connection, frame)
        if error is not None:
            self._outbox.put_answer(JSONRPCError(id=frame.id, error=error))
        if callback is not None:
            self._pump.put(callback)

    def _receive_batch(self, batch: Batch) -> None:
        revision = self._connection.revision
        if revision is None or not revision.has_batching:
            what = "Batches are not part of this protocol version"
            if not fail_by_batch(self._calls, batch, what):
                error = ErrorData(code=INVALID_REQUEST, message=what)
                self._outbox.put_answer(JSONRPCError(id=None, error=error))
            return
        for frame in batch.messages:
            if isinstance(frame, JSONRPCRequest) and frame.method == "initialize":
                error = ErrorData(
                    code=INVALID_REQUEST, message="initialize must not be part of a batch"
                )
                self._outbox.put_answer(JSONRPCError(id=frame.id, error=error))
            else:
                self._dispatch(frame)

    def _receive_request(self, request: JSONRPCRequest) -> None:
        caller = self._channel.caller
        exchange = Exchange(
            request.id,
            request.method,
            NO_PARAMS if request.params is None else request.params,
            self._connection,
            self._report,
            self,
            caller.headers,
            caller.principal,
            caller.http,
        )
        if not self._inbound.open(request.id, exchange):
            self._refuse(request.id, duplicate_id(request.id).error)
            return
        try:
            if not self._serving.accept(exchange):
                self._inbound.close(request.id)
                return
        except Exception as exc:  # noqa: BLE001 - the border that answers for it
            self._inbound.close(request.id)
            self._refuse(request.id, error_for(exc, exchange))
            return
        if self._slots < MAX_IN_FLIGHT:
            self._start(exchange)
        elif len(self._backlog) < MAX_BACKLOG:
            self._backlog.append(exchange)
        else:
            self._inbound.close(request.id)
            self._refuse(request.id, server_busy().error)

    def _refuse(self, request_id: RequestId, error: ErrorData) -> None:
        self._outbox.put_answer(JSONRPCError(id=request_id, error=error))

    def _receive_notification(self, notification: JSONRPCNotification) -> None:
        method = notification.method
        params = NO_PARAMS if notification.params is None else notification.params
        if method == "notifications/cancelled" and self._receive_cancel(params):
            return
        if method == "notifications/progress" and self._receive_progress(params):
            return
        callback = self._serving.notified(self._connection, method, params)
        stream = self._calls.get(subscription_id_of(params))
        if stream is not None and stream.options.on_notification is not None:
            stream.options.on_notification(method, params)
        if callback is not None:
            self._pump.put(callback)

    def _receive_progress(self, params: JsonObject) -> bool:
        call = self._calls.get(params.get("progressToken"))
        report = read_progress(params)
        if call is None or report is None:
            return False
        call.reported(report)
        return True

    def _receive_cancel(self, params: JsonObject) -> bool:
        request_id = params.get("requestId")
        exchange = self._inbound.get(request_id)
        if exchange is None:
            return self._receive_end_of_stream(request_id)
        if exchange.method == "initialize":
            return True
        given = params.get("reason")
        reason = given if isinstance(given, str) and given else "cancelled by the peer"
        shown = excerpt(exchange.method), excerpt(exchange.id), excerpt(reason)
        logger.debug("%s #%r was cancelled: %s", *shown)
        if self._interrupt_cancelled:
            exchange.cancel(reason)
        else:
            exchange.give_up(reason)
        return True

    def _receive_end_of_stream(self, request_id: JsonValue) -> bool:
        # Cancellation: a server says so to end a stream of notifications, after its result or
        # in place of it.
        call = self._calls.get(request_id)
        if call is None or call.options.on_notification is None:
            return False
        self._calls.close(call.id)
        call.answered({})
        return True

    # Handling a request

    def _start(self, exchange: Exchange) -> None:
        assert self._nursery is not None
        self._busy += 1
        self._slots += 1
        exchange.on_stream = self._free_slot
        self._nursery.start_soon(self._serve, exchange, name=f"{exchange.method} #{exchange.id}")

    async def _serve(self, exchange: Exchange) -> None:
        message: JSONRPCResponse | JSONRPCError | None = None
        with exchange.scope:
            message = await answer(self._serving, exchange)
        self._inbound.close(exchange.id)
        if message is None or exchange.closed:
            self._release() if exchange.end_of_stream is None else self._over()
            return
        exchange.close()
        # The slot is free only when the answer is written, so a peer that does not read
        # cannot make answers pile up.
        if exchange.end_of_stream is None:
            self._outbox.put_answer(message, self._release)
            return
        self._outbox.put_answer(message)
        self._ended_streams.append(exchange.id)
        if self._lost is None:
            await trio.sleep(END_OF_STREAM_PAUSE)
        self._tell_end_of_stream(exchange.id, self._over)

    def _end_streams(self) -> None:
        # This side closes the connection: streams of notifications end in good order, and
        # their handlers, which are cancelled by now, need do nothing for it.
        for exchange in self._inbound:
            if exchange.end_of_stream is not None and not exchange.closed:
                exchange.close()
                result = exchange.end_of_stream
                self._outbox.put_answer(JSONRPCResponse(id=exchange.id, result=result))
                self._ended_streams.append(exchange.id)
                self._inbound.close(exchange.id)
        for request_id in list(self._ended_streams):
            self._tell_end_of_stream(request_id)

    def _tell_end_of_stream(
        self, request_id: RequestId, on_written: Callable[[], None] | None = None
    ) -> None:
        # Cancellation, stdio: a server that ends a subscription sends this. The page on
        # subscriptions asks for the result, so both go out; the second one is ignorable,
        # unless its id is in use again.
        self._ended_streams.remove(request_id)
        if self._inbound.get(request_id) is not None:
            if on_written is not None:
                on_written()
            return
        params: JsonObject = {"requestId": request_id, "reason": "the server ended the stream"}
        notice = JSONRPCNotification(method="notifications/cancelled", params=params)
        self._outbox.put(notice, on_written)

    def _release(self) -> None:
        self._free_slot()
        self._over()

    def _free_slot(self) -> None:
        self._slots -= 1
        while self._backlog and self._slots < MAX_IN_FLIGHT:
            exchange = self._backlog.popleft()
            if exchange.closed:
                self._inbound.close(exchange.id)
            else:
                self._start(exchange)

    def _over(self) -> None:
        self._busy -= 1
        if not self._busy:
            self._idle.unpark_all()


@asynccontextmanager
@trio.lowlevel.enable_ki_protection
async def open_peer(
    channel: Channel,
    serving: Serving,
    *,
    drain_seconds: float = 0.0,
    interrupt_cancelled: bool = True,
) -> AsyncGenerator[Peer, None]:
    """Speak JSON-RPC over a channel for as long as the block lasts.

    Args:
      channel: Stays the caller's to close.
      serving: Handles what the peer asks and tells.
      drain_seconds: How long running handlers may still answer when the peer has said that
          no more comes.
      interrupt_cancelled: Whether a cancel of the peer interrupts the handler; otherwise
          only its answer is dropped.

    Cancellation:
      Leaving takes at most `NOTICE_TIMEOUT` seconds, in which the last notices are written.

    """
    peer = Peer(
        channel, serving, drain_seconds=drain_seconds, interrupt_cancelled=interrupt_cancelled
    )
    try:
        async with open_background_nursery() as nursery:
            nursery.start_soon(peer.run, name="MCP connection")
            try:
                yield peer
            finally:
                await peer.finish()  # noqa: ASYNC102 - it shields itself, bounded
    finally:
        peer.forget()


def _goes_first(frame: Frame) -> bool:
    """Tell whether a message has its effect before the next one that arrived with it.

    A handler that was cancelled stops before what was asked after that begins, so whoever asks
    what still runs is not told of it. Nothing of a connection begins before `initialize`.
    """
    if isinstance(frame, JSONRPCNotification):
        return frame.method == "notifications/cancelled"
    return isinstance(frame, JSONRPCRequest) and frame.method == "initialize"


def _loss(exc: BaseException) -> ConnectionLost:
    if isinstance(exc.__cause__, ConnectionLost):
        return exc.__cause__
    if isinstance(exc, trio.EndOfChannel):
        lost = ConnectionLost("Connection closed: the peer ended it")
    elif isinstance(exc, trio.ClosedResourceError):
        lost = ConnectionLost("The connection was closed on this side")
    else:
        lost = ConnectionLost(f"Connection closed: {exc or 'it broke'}")
    # Without its traceback, which refers to the reader, and so would keep it and all it serves.
    lost.__cause__ = exc.with_traceback(None)
    return lost
