"""One request of a client on its way over HTTP, and the reading of its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from trio_mcp._codec import Batch, Malformed, parse_frame
from trio_mcp._codec._lines import MAX_LINE_SIZE
from trio_mcp._codec._sse import EventSplitter, EventTooLong
from trio_mcp._rpc._calls import read_progress, run_progress_callback
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCResponse

from ._body import give_turns

if TYPE_CHECKING:
    from trio_mcp._codec import Frame
    from trio_mcp._rpc._link import CallOptions
    from trio_mcp._rpc._time_limit import TimeLimit
    from trio_mcp.errors import ConnectionLost
    from trio_mcp.types import ErrorData, RequestId
    from trio_mcp.types._base import JsonObject

    from ._body import Body
    from ._client_inbound import Inbound
    from ._client_retry import Position


@attrs.define(eq=False)
class HttpCall:
    """A request whose answer is being read, by the task that asked.

    Attributes:
      id: Of the request.
      method: Of the request.
      options: What the caller knows of it.
      limit: Of its time.
      max_event_size: Of an event that may answer it, in bytes.
      sent: Whether the server may know of it.
      has_arrived: Whether the server has begun to answer.
      has_place: Whether it counts as one of those that wait for a response.
      lost: Why its scope was cancelled, if it was by the link.

    """

    id: RequestId
    method: str
    options: CallOptions
    inbound: Inbound
    limit: TimeLimit
    max_event_size: int
    sent: bool = False
    has_arrived: bool = False
    has_place: bool = False
    lost: ConnectionLost | None = None
    _result: JsonObject | None = None
    _error: Exception | None = None
    _was_refused: bool = False
    _taken: int = 0

    @property
    def taken(self) -> int:
        """How many messages have come for it."""
        return self._taken

    @property
    def is_settled(self) -> bool:
        """Whether the answer has come."""
        return self._result is not None or self._error is not None

    @property
    def is_answered(self) -> bool:
        """Whether the server has nothing more to do for it."""
        return self._result is not None or self._was_refused

    def refused(self, error: ErrorData, response: ConnectionLost | None = None) -> None:
        """Take an error that answers it.

        Args:
          error: What was answered.
          response: What the response with it is by its status, if that is none of a success.

        """
        self._was_refused = True
        self._error = MCPError.from_error_data(error)
        if self.method == "initialize":
            # Where the server is found to be one of HTTP+SSE, that is by the status.
            self._error.__cause__ = response

    def outcome(self) -> JsonObject:
        """Return the result.

        Raises:
          MCPError: the error that answered.
          InvalidResponse: if what came was no answer.

        """
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback refers to this frame
        assert self._result is not None
        return self._result

    async def read_json(self, body: Body) -> None:
        """Take an answer that came as one JSON text."""
        await self._take_frame(parse_frame(await body.read(MAX_LINE_SIZE)))
        if not self.is_settled:
            self._error = InvalidResponse(f"{self.method}: the server sent JSON, but no answer")

    async def read_events(self, body: Body, position: Position) -> None:
        """Take events until the answer has come, or the stream ends without it.

        Args:
          body: Of the response.
          position: Where the stream has got to; kept up to date.

        Raises:
          ConnectionLost: if the stream breaks off.
          InvalidResponse: if an event is too long.

        """
        splitter = EventSplitter(self.max_event_size)
        while (chunk := await body.next()) is not None:
            await self._take_events(splitter, chunk)
            position.moved(splitter)
            if self.is_settled:
                # What the server has to add does not change the answer, but may be meant for
                # others; and at its end the connection can be used again.
                self.inbound.hear_out(body, splitter)
                return

    async def _take_events(self, splitter: EventSplitter, chunk: bytes) -> None:
        try:
            events = splitter.feed(chunk)
        except EventTooLong as exc:
            if not self.is_settled:
                raise InvalidResponse(f"{self.method}: {exc} (max_sse_event_size)") from exc
            return
        for place, event in enumerate(events):
            await give_turns(place)
            if event.data and event.event == "message":
                await self._take_frame(parse_frame(event.data))

    async def _take_frame(self, frame: Frame) -> None:
        self._taken += 1
        if self.is_settled:
            await self._take_late(frame)
            return
        if not isinstance(frame, Batch):
            await self._take(frame)
        elif not self.inbound.has_batching:
            self._error = InvalidResponse(
                f"{self.method}: the server sent a batch, which is not part of this protocol "
                "version"
            )
        else:
            for each in frame.messages:
                await self._take(each)

    async def _take_late(self, frame: Frame) -> None:
        """Take what comes behind the answer, unless it has to do with the call."""
        if isinstance(frame, JSONRPCNotification):
            await self._hear(frame)
        elif not isinstance(frame, Batch):
            self.inbound.stray_answer(frame.id)

    async def _take(self, frame: Frame) -> None:
        if isinstance(frame, JSONRPCResponse):
            if self._is_mine(frame.id):
                self._result = frame.result
        elif isinstance(frame, JSONRPCError):
            # Streamable HTTP, responses: without an id, it is about what was posted.
            if frame.id is None or self._is_mine(frame.id):
                self.refused(frame.error)
        elif isinstance(frame, JSONRPCNotification):
            await self._hear(frame)
        elif isinstance(frame, Malformed) and (frame.is_response or frame.answers == self.id):
            self._error = InvalidResponse(f"{self.method}: {frame.message}")
        else:
            await self.inbound.take(frame, self)

    def _is_mine(self, answered: RequestId) -> bool:
        if answered == self.id and answered.__class__ is self.id.__class__:
            return True
        if str(answered) == str(self.id):
            # Basic protocol, responses: the same id, and "1" is not 1. But no other will come.
            self._error = InvalidResponse(
                f"{self.method}: the answer has the id {answered!r}, the request had {self.id!r}"
            )
        else:
            self.inbound.stray_answer(answered)
        return False

    async def _hear(self, notification: JSONRPCNotification) -> None:
        params = notification.params or {}
        if (
            notification.method == "notifications/progress"
            and params.get("progressToken") == self.id
            and self.options.on_progress is not None
        ):
            report = read_progress(params)
            if report is not None:
                self.limit.progressed()
                await run_progress_callback(self.options.on_progress, report)
                return
        await self.inbound.hear(notification.method, params, self.options.on_notification)
