"""What a server asks and tells over HTTP, on whichever stream it comes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._codec import Batch, Malformed, excerpt, parse_frame
from trio_mcp._codec._sse import EventTooLong
from trio_mcp._protocol._open_requests import OpenRequests
from trio_mcp._protocol._refusals import duplicate_id, server_busy
from trio_mcp._rpc._answer import INTERNAL_ERROR_TEXT, answer, error_for
from trio_mcp._rpc._calls import logger, read_progress, run_progress_callback
from trio_mcp._rpc._exchange import NO_PARAMS, Exchange
from trio_mcp._rpc._pump import Pump, run_logged
from trio_mcp._rpc._repeats import Repeats
from trio_mcp.errors import ConnectionLost
from trio_mcp.types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from ._body import LAST_CHUNK_TIMEOUT, give_turns
from ._http_errors import is_for_want_of_connections

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp._codec import Frame
    from trio_mcp._codec._sse import EventSplitter
    from trio_mcp._rpc._link import Link
    from trio_mcp._rpc._service import Connection, Serving
    from trio_mcp.types import JSONRPCMessage, RequestId
    from trio_mcp.types._base import JsonObject

    from ._body import Body
    from ._client_call import HttpCall

MAX_IN_FLIGHT: Final = 1_000
"""Requests of the server that are handled at once; more are answered `SERVER_BUSY`."""

SETTLE_TIMEOUT: Final = 0.02
"""Seconds that a request waits for the connection of an answer whose stream is about to end. A
server whose streams do not end costs that once."""


class Inbound:
    """Hands what a server asks and tells to the client, and sends the answers.

    Args:
      serving: Handles it.
      connection: What it keeps of the connection.
      link: To ask the server while it is being answered.
      post: Sends a message that nobody waits for.
      calls: The requests of this side that are open.
      fail: Fails a call whose server has asked something that cannot be answered, since the
          HTTP client has no connection for that: it would wait for ever.

    """

    def __init__(
        self,
        serving: Serving,
        connection: Connection,
        link: Link,
        post: Callable[[JSONRPCMessage], Awaitable[None]],
        calls: OpenRequests[HttpCall],
        fail: Callable[[HttpCall, ConnectionLost], None],
    ) -> None:
        self._serving = serving
        self._connection = connection
        self._link: Link | None = link
        self._post: Callable[[JSONRPCMessage], Awaitable[None]] | None = post
        self._calls = calls
        self._fail: Callable[[HttpCall, ConnectionLost], None] | None = fail
        self._open: OpenRequests[Exchange] = OpenRequests()
        # Streams whose answer is known, and whether they have been seen not to end.
        self._ending = 0
        self._ended = trio.lowlevel.ParkingLot()
        self._lingers = False
        self._repeats = Repeats()
        self.pump = Pump()
        self.nursery: trio.Nursery | None = None
        self._is_closing = False

    @property
    def has_batching(self) -> bool:
        """Whether several messages may come in an array."""
        revision = self._connection.revision
        return revision is not None and revision.has_batching

    def begin_closing(self) -> None:
        """Leave what comes behind answers from now on."""
        self._is_closing = True

    def close(self) -> None:
        """Cancel what is being answered, and let go of the link, so that it is freed at once."""
        for exchange in self._open.drain():
            exchange.cancel("the connection was closed")
        self._link = self._post = self._fail = self.nursery = None

    def hear_out(self, body: Body, splitter: EventSplitter) -> None:
        """Read what comes behind an answer, for a moment, while the caller goes on."""
        if self.nursery is None or self._is_closing:
            return
        self._ending += 1
        self.nursery.start_soon(
            self._hear_out, body.give_away(), splitter, name="end of an HTTP stream"
        )

    async def settle(self) -> None:
        """Wait a moment for a connection to come free, if one is about to. No checkpoint."""
        if not self._ending or self._lingers:
            return
        with trio.move_on_after(SETTLE_TIMEOUT) as scope:
            await self._ended.park()
        self._lingers = scope.cancelled_caught

    async def _hear_out(self, body: Body, splitter: EventSplitter) -> None:
        try:
            with trio.move_on_after(LAST_CHUNK_TIMEOUT) as scope:
                while (chunk := await body.next()) is not None:
                    for place, event in enumerate(splitter.feed(chunk)):
                        await give_turns(place)
                        if event.data and event.event == "message":
                            self._take_late(parse_frame(event.data))
            self._lingers = scope.cancelled_caught
        except (ConnectionLost, EventTooLong) as exc:
            logger.debug("Behind an answer: %s", exc)
        finally:
            await body.leave()  # noqa: ASYNC102 - it shields itself, bounded
            self._ending -= 1
            self._ended.unpark_all()

    def _take_late(self, frame: Frame) -> None:
        if isinstance(frame, JSONRPCNotification):
            self._take_notification(frame)
        elif not isinstance(frame, Batch):
            self.stray_answer(frame.id)

    def stray_answer(self, request_id: RequestId | None) -> None:
        """Drop an answer that came where it does not belong."""
        logger.debug("An answer to no open request was dropped: id %r", request_id)

    async def take(self, frame: Frame, call: HttpCall | None = None) -> None:
        """Take anything but the answer that its stream is for.

        Args:
          frame: What came.
          call: What the stream is for; None for that of the session.

        """
        if isinstance(frame, JSONRPCRequest):
            await self._take_request(frame, call)
        elif isinstance(frame, JSONRPCNotification):
            self._take_notification(frame)
        elif isinstance(frame, Malformed):
            await self._take_malformed(frame)
        elif isinstance(frame, Batch):
            for each in frame.messages if self.has_batching else ():
                await self.take(each, call)
        elif isinstance(frame, JSONRPCResponse) or frame.id is not None:
            self.stray_answer(frame.id)
        else:
            self._repeats.warn(
                logger, "The server reported an error: %s", excerpt(frame.error.message)
            )

    async def hear(
        self,
        method: str,
        params: JsonObject,
        on_notification: Callable[[str, JsonObject], None] | None,
    ) -> None:
        """Take a notification that came with a call; what it asks of user code is done then.

        So what a server tells of a call, log messages too, has been told when the call returns.
        """
        if self._take_known(method, params):
            return
        callback = self._serving.notified(self._connection, method, params)
        if on_notification is not None:
            on_notification(method, params)
        if callback is not None:
            await run_logged(callback)

    def _take_notification(self, notification: JSONRPCNotification) -> None:
        params = NO_PARAMS if notification.params is None else notification.params
        if self._take_known(notification.method, params):
            return
        callback = self._serving.notified(self._connection, notification.method, params)
        if callback is not None:
            self.pump.put(callback)

    def _take_known(self, method: str, params: JsonObject) -> bool:
        if method == "notifications/cancelled":
            exchange = self._open.get(params.get("requestId"))
            if exchange is None:
                return False
            given = params.get("reason")
            exchange.cancel(given if isinstance(given, str) and given else "cancelled by the peer")
            return True
        if method == "notifications/progress":
            # Of another call than the one whose stream it came on.
            call = self._calls.get(params.get("progressToken"))
            report = read_progress(params)
            if call is None or report is None:
                return False
            call.limit.progressed()
            self.pump.put(
                functools.partial(run_progress_callback, call.options.on_progress, report)
            )
            return True
        return False

    async def _take_malformed(self, malformed: Malformed) -> None:
        error, callback = self._serving.malformed(self._connection, malformed)
        if error is not None:
            self._start(self._send, JSONRPCError(id=malformed.id, error=error))
        if callback is not None:
            self.pump.put(callback)
        await trio.lowlevel.checkpoint()

    async def _take_request(self, request: JSONRPCRequest, call: HttpCall | None) -> None:
        assert self._link is not None
        exchange = Exchange(
            request.id,
            request.method,
            NO_PARAMS if request.params is None else request.params,
            self._connection,
            self._link.notify,
            self._link,
        )
        if len(self._open) >= MAX_IN_FLIGHT:
            self._refuse(request.id, server_busy().error)
        elif not self._open.open(request.id, exchange):
            self._refuse(request.id, duplicate_id(request.id).error)
        else:
            self._accept(exchange, call)
        await trio.lowlevel.checkpoint()

    def _accept(self, exchange: Exchange, call: HttpCall | None) -> None:
        try:
            accepted = self._serving.accept(exchange)
        except Exception as exc:  # noqa: BLE001 - the border that answers for it
            self._open.close(exchange.id)
            self._refuse(exchange.id, error_for(exc, exchange))
            return
        if accepted:
            self._start(self._serve, exchange, call)
        else:
            self._open.close(exchange.id)

    def _refuse(self, request_id: RequestId, error: ErrorData) -> None:
        self._start(self._send, JSONRPCError(id=request_id, error=error))

    def _start(
        self, job: Callable[..., Awaitable[None]], subject: object, call: HttpCall | None = None
    ) -> None:
        assert self.nursery is not None
        name = getattr(subject, "method", "answer")
        name = f"{name} #{getattr(subject, 'id', None)}"
        self.nursery.start_soon(job, subject, call, name=name)

    async def _serve(self, exchange: Exchange, call: HttpCall | None) -> None:
        message: JSONRPCResponse | JSONRPCError | None = None
        try:
            with exchange.scope:
                message = await answer(self._serving, exchange)
        except Exception as exc:  # noqa: BLE001 - it fails while being cancelled: nobody waits
            error_for(exc, exchange)
        self._open.close(exchange.id)
        if message is not None and not exchange.closed:
            exchange.close()
            await self._send(message, call)

    async def _send(self, message: JSONRPCMessage, call: HttpCall | None = None) -> None:
        assert self._post is not None
        try:
            await self._post(message)
        except ConnectionLost as exc:
            self._repeats.warn(logger, "An answer did not reach the server: %s", exc)
            if call is not None and self._fail is not None and is_for_want_of_connections(exc):
                self._fail(call, exc.again())
        except (TypeError, ValueError) as exc:
            logger.error("An answer could not be written: %s", exc)
            assert isinstance(message, JSONRPCResponse)
            error = ErrorData(code=INTERNAL_ERROR, message=INTERNAL_ERROR_TEXT)
            await self._send(JSONRPCError(id=message.id, error=error), call)
        except Exception:  # noqa: BLE001 - such as of an `httpx.Auth`; it ends nothing else
            logger.exception("An answer did not reach the server")
