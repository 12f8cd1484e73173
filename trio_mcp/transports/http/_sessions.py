"""The sessions of the older era: what lies between one HTTP request of a client and the next."""

from __future__ import annotations

import logging
import secrets
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._codec import excerpt
from trio_mcp._protocol._open_requests import OpenRequests
from trio_mcp._protocol._refusals import duplicate_id, server_busy
from trio_mcp._rpc._answer import answer, error_for
from trio_mcp._rpc._bad_answers import fail_by_mistyped
from trio_mcp._rpc._calls import read_progress
from trio_mcp._rpc._exchange import NO_PARAMS, Exchange, HttpDetails, is_same
from trio_mcp._rpc._pump import Pump
from trio_mcp._rpc._repeats import Repeats
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from ._following import belongs_to, name_stream
from ._keeping import NOT_RESUMABLE, STORE_SECONDS, StreamOptions
from ._replaying import Replay
from ._session_link import StreamLink
from ._session_streams import SessionStream
from ._written import dump_answer, dump_notification

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trio_mcp._rpc._calls import Call
    from trio_mcp._rpc._exchange import Principal
    from trio_mcp._rpc._service import Connection, Serving
    from trio_mcp.types import ErrorData, JSONRPCMessage
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._asgi import HttpRequest
    from ._event_store import EventStore
    from ._options import HttpOptions
    from ._outage import Outage
    from ._outgoing import Outgoing

logger: Final = logging.getLogger("trio_mcp.http")

MAX_IN_FLIGHT: Final = 1_000
"""Requests of one session that are handled at once; more are answered `SERVER_BUSY`."""

_POLLING: Final = frozenset({"tasks/get"})
"""What is answered at once, and by no stream of events (tasks, 2025-11-25): its client polls."""

MAX_LOST: Final = 1_000
"""Streams of one session of which is remembered that not all of them was kept."""


class Session:
    """A session: its state, its open requests in both directions, and its streams.

    Its handlers are tasks of the run, since they outlive the HTTP requests that brought them: a
    client that goes has not cancelled anything (2025-03-26 and later, sending messages).

    Args:
      serving: Answers its requests.
      nursery: Of the run.
      options: Of the endpoint.
      principal: Whose it is: nobody else gets at it.
      outage: Of the event store, for all sessions.
      is_stateless: It lasts for one HTTP request, and its client cannot be asked.

    Attributes:
      id: Unguessable. Whoever knows it, and is the same principal, is in the session.
      calls: What the client was asked.
      lost: Why it has ended, once it has.

    """

    def __init__(
        self,
        serving: Serving,
        nursery: trio.Nursery,
        options: HttpOptions,
        principal: Principal | None,
        outage: Outage,
        *,
        is_stateless: bool = False,
    ) -> None:
        self.id = secrets.token_hex(16)
        self.principal = principal
        self.calls: OpenRequests[Call] = OpenRequests()
        self.lost: ConnectionLost | None = None
        self.open_requests = 0
        self._serving = serving
        self._nursery = nursery
        self._options = options
        self._outage = outage
        self._can_ask = not (is_stateless or options.json_response)
        self._inbound: OpenRequests[Exchange] = OpenRequests()
        self._repeats = Repeats()
        self._streams: dict[str, SessionStream] = {}
        # Those that have ended, and are being resumed; and the names of those that cannot be.
        self._replayed: dict[str, SessionStream] = {}
        self._lost_streams: dict[str, None] = {}
        self._last_stream = 0
        self._order = trio.Lock()
        self._pump: Pump | None = None
        self._pumping = trio.CancelScope()
        self._lost_event = trio.Event()
        self._stream_options = NOT_RESUMABLE
        self._standalone = self._new_stream(keeps_backlog=True)
        link = None if is_stateless else StreamLink(self, self._standalone)
        self.connection: Connection = serving.connect(link)
        if not is_stateless:
            serving.assume(self.connection, session_id=self.id)

    @property
    def revision(self) -> Revision | None:
        """What ``initialize`` agreed on."""
        return self.connection.revision

    def assume(self, revision: Revision) -> None:
        """Be without a handshake: the client speaks this revision."""
        self._serving.assume(self.connection, revision=revision)

    def begin(self) -> None:
        """The handshake is done: streams can be resumed from now on."""
        revision = self.revision
        assert revision is not None
        self._stream_options = StreamOptions(
            self._options.event_store,
            revision.has_sse_polling,
            self._options.retry_interval,
            outage=self._outage,
        )
        # What was sent during the handshake waits for the same stream.
        self._standalone.use(self._stream_options)

    def belongs_to(self, principal: Principal | None) -> bool:
        """Tell whether a request of this principal may use it."""
        return is_same(self.principal, principal)

    # Streams

    def _new_stream(
        self, scopes: Iterable[str] = (), *, keeps_backlog: bool = False
    ) -> SessionStream:
        self._last_stream += 1
        name = name_stream(self.id, self.principal, self._last_stream, scopes)
        return SessionStream(name, self._stream_options, self._order, keeps_backlog)

    @property
    def standalone(self) -> SessionStream:
        """The stream of what belongs to no request."""
        return self._standalone

    def open_stream(self, requests: list[JSONRPCRequest]) -> SessionStream:
        """Open the stream that answers a POST of these requests."""
        scopes = [
            scope
            for each in requests
            for scope in self._serving.required_scopes(each.method, each.params or NO_PARAMS)
        ]
        stream = self._new_stream(scopes)
        if self._options.json_response or all(each.method in _POLLING for each in requests):
            # It is never a stream of events, so nobody gets an id to resume it by.
            stream.use(NOT_RESUMABLE)
        stream.expect(len(requests))
        self._streams[stream.id] = stream
        return stream

    def forget_if_ended(self, stream: SessionStream) -> None:
        """Let go of a stream whose requests have all been answered."""
        if not stream.ended:
            return
        self._streams.pop(stream.id, None)
        if stream.has_gap:
            self._lost_streams[stream.id] = None
            if len(self._lost_streams) > MAX_LOST:
                del self._lost_streams[next(iter(self._lost_streams))]

    def send_nowait(
        self, stream: SessionStream, message: JSONRPCMessage, *, is_sent: bool = True
    ) -> None:
        """Send a message for which nobody waits; or have it for who resumes the stream alone."""
        if stream.send_nowait(message, is_sent=is_sent):
            self._nursery.start_soon(stream.keep_waiting, name="HTTP notice")

    # What the client sends

    def take(self, frame: JSONRPCNotification | JSONRPCResponse | JSONRPCError) -> None:
        """Take what is answered by no message."""
        if isinstance(frame, JSONRPCNotification):
            self._take_notification(frame)
        elif isinstance(frame, JSONRPCResponse):
            call = self.calls.close(frame.id)
            if call is not None:
                call.answered(frame.result)
            elif not fail_by_mistyped(self.calls, frame.id):
                logger.debug("An answer to no open request was dropped: id %r", excerpt(frame.id))
        else:
            self._take_error(frame)

    def _take_error(self, frame: JSONRPCError) -> None:
        call = None if frame.id is None else self.calls.close(frame.id)
        if call is not None:
            call.failed(MCPError.from_error_data(frame.error))
        elif frame.id is None or not fail_by_mistyped(self.calls, frame.id):
            self._repeats.warn(
                logger,
                "A client reported an error for no open request: %d %s",
                frame.error.code,
                excerpt(frame.error.message),
            )

    def _take_notification(self, frame: JSONRPCNotification) -> None:
        params = NO_PARAMS if frame.params is None else frame.params
        if frame.method == "notifications/cancelled":
            exchange = self._inbound.get(params.get("requestId"))
            if exchange is not None:
                given = params.get("reason")
                exchange.cancel(given if isinstance(given, str) and given else "cancelled")
                return
        if frame.method == "notifications/progress":
            call = self.calls.get(params.get("progressToken"))
            report = read_progress(params)
            if call is not None and report is not None:
                call.reported(report)
                return
        callback = self._serving.notified(self.connection, frame.method, params)
        if callback is not None:
            self._pump_of_session().put(callback)

    def _pump_of_session(self) -> Pump:
        if self._pump is None:
            self._pump = Pump()
            self._nursery.start_soon(self._run_pump, self._pump, name="HTTP notifications")
        return self._pump

    async def _run_pump(self, pump: Pump) -> None:
        with self._pumping:
            await pump.run()

    # What the client asks

    def make_exchange(
        self, frame: JSONRPCRequest, request: HttpRequest, stream: SessionStream
    ) -> Exchange:
        """Make the exchange of a request, whose reports and questions go out on a stream."""

        async def report(method: str, params: JsonObject | None) -> None:
            await trio.lowlevel.checkpoint()
            message, data = dump_notification(method, params)
            if not self._options.json_response or stream is self._standalone:
                await stream.send(message, data)

        return Exchange(
            frame.id,
            frame.method,
            NO_PARAMS if frame.params is None else frame.params,
            self.connection,
            report,
            StreamLink(self, stream) if self._can_ask else None,
            request.headers,
            request.principal,
            HttpDetails(
                request,
                stream.close_for_now if stream.is_primed else None,
                self._standalone.close_for_now if self._standalone.is_primed else None,
            ),
        )

    async def start(
        self, frame: JSONRPCRequest, request: HttpRequest, stream: SessionStream
    ) -> None:
        """Begin to handle a request; its answer goes out on the stream."""
        if self.lost is not None:
            return
        exchange = self.make_exchange(frame, request, stream)
        refused = self._accept(exchange)
        if refused is not None:
            await stream.answer(*dump_answer(JSONRPCError(id=frame.id, error=refused)))
            return
        name = f"{exchange.method} #{exchange.id}"
        if self._pump is not None and self._pump.is_fresh:
            await self._pump.let_begin()
        if self.lost is None:
            self._nursery.start_soon(self._handle, exchange, stream, name=name)

    def _accept(self, exchange: Exchange) -> ErrorData | None:
        if len(self._inbound) >= MAX_IN_FLIGHT:
            return server_busy().error
        if not self._inbound.open(exchange.id, exchange):
            return duplicate_id(exchange.id).error
        try:
            self._serving.accept(exchange)
        except Exception as exc:  # noqa: BLE001 - the border that answers for it
            self._inbound.close(exchange.id)
            return error_for(exc, exchange)
        return None

    async def _handle(self, exchange: Exchange, stream: SessionStream) -> None:
        message: JSONRPCResponse | JSONRPCError | None = None
        with exchange.scope:
            message = await answer(self._serving, exchange)
        self._inbound.close(exchange.id)
        if message is None or exchange.closed:
            # Cancellation: a request that was cancelled is not answered.
            shown = excerpt(exchange.method), excerpt(exchange.id)
            logger.debug("%s #%r ended: %s", *shown, excerpt(exchange.cancel_reason or ""))
            stream.drop()
        else:
            exchange.close()
            await stream.answer(*dump_answer(message))
        self.forget_if_ended(stream)

    @property
    def is_done(self) -> bool:
        """Whether all requests have their answers, and all notifications were handled."""
        return not self._streams and (self._pump is None or self._pump.is_idle)

    async def wait_done(self) -> None:
        """Wait until that is so. Not a checkpoint."""
        for stream in list(self._streams.values()):
            await stream.wait_ended()
        if self._pump is not None:
            await self._pump.wait_idle()

    # The end

    def end(self, reason: str, *, may_be_resumed: bool = False) -> None:
        """End the session: its handlers are cancelled, and its streams end.

        Args:
          reason: Why.
          may_be_resumed: Its client may have what is kept of its streams by another process.

        """
        if self.lost is not None:
            return
        self.lost = ConnectionLost(f"The session has ended: {reason}")
        self._lost_event.set()
        for exchange in self._inbound:
            exchange.cancel(reason)
        for call in self.calls.drain():
            call.failed(self.lost.again())
        for stream in (self._standalone, *self._streams.values()):
            stream.end()
        self._streams.clear()
        self._pumping.cancel(reason=reason)
        self._serving.disconnect(self.connection)
        store = self._stream_options.store
        if store is not None and not may_be_resumed:
            self._nursery.start_soon(self._end_in, store, name="HTTP session's end")

    async def _end_in(self, store: EventStore) -> None:
        # What is being kept comes before, or it would be there again.
        async with self._order:
            try:
                with trio.move_on_after(STORE_SECONDS):
                    await store.end_session(self.id)
                    self._outage.is_over("end")
            except Exception as exc:  # noqa: BLE001 - it expires, or is pushed out
                what = "An event store could not be told of a session's end: %s"
                self._outage.tell("end", what, exc)

    async def wait_lost(self) -> ConnectionLost:
        """Wait until the session has ended."""
        await self._lost_event.wait()
        assert self.lost is not None
        return self.lost

    # Resuming

    async def resume(
        self, last_event_id: str, outgoing: Outgoing, principal: Principal | None
    ) -> Replay | None:
        """Have an HTTP answer carry on the stream of an event, after what came since.

        Args:
          last_event_id: The event.
          outgoing: The answer.
          principal: Who asks, with the token that he has now.

        Returns:
          How it does; None if there is no stream of this session of which all is still kept
          that came after that event.

        Raises:
          InsufficientScopeError: if the stream answers what takes more than the principal has.
          ConnectionError, TimeoutError: if the store is away, or takes too long.

        """
        store = self._stream_options.store
        assert store is not None
        find = partial(self._stream_of, principal=principal)
        replay = Replay(store, self._order, find, last_event_id, outgoing)
        return replay if await replay.begin() else None

    def _stream_of(self, stream_id: str, *, principal: Principal | None) -> SessionStream | None:
        if stream_id == self._standalone.id:
            return self._standalone
        if not belongs_to(stream_id, self.id, principal) or stream_id in self._lost_streams:
            return None
        stream = self._streams.get(stream_id) or self._replayed.get(stream_id)
        if stream is None:
            # All was answered: what is kept of it is all there is.
            stream = SessionStream(stream_id, self._stream_options, self._order)
            stream.end()
            self._replayed[stream_id] = stream
        return stream

    def let_go(self, stream: SessionStream, outgoing: Outgoing) -> None:
        """An HTTP answer is over that carried a stream on."""
        stream.let_go(outgoing)
        if not stream.is_carried:
            self._replayed.pop(stream.id, None)
