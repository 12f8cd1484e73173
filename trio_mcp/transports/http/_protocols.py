"""Hypercorn's protocol objects, without what nobody asked for and what can bring them down.

They turn bytes into ASGI and back; reading, writing and time are `_driver`'s. They are not a
public interface of hypercorn, which is why its minor version is pinned.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, Final
from wsgiref.handlers import format_date_time

import h2.events
import h2.exceptions
import h11
import trio
from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings
from hypercorn.config import Config
from hypercorn.events import Closed, RawData
from hypercorn.protocol.events import Body, EndBody, Request, Response, StreamClosed
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.trio.worker_context import EventWrapper, WorkerContext
from priority.priority import MissingStreamError

from ._http1 import ServerConnection, what_is_wrong
from ._request_heads import name_of, refusal_of, resolved

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hypercorn.events import Event
    from hypercorn.protocol.events import Event as StreamEvent
    from hypercorn.typing import H11SendableEvent

    Want = Callable[[int], Awaitable[None]]
    Wait = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]

logger: Final = logging.getLogger("trio_mcp.http")

MAX_HEAD_SIZE: Final = 64 * 1024
"""Bytes of the head of a request: arguments of tools may travel in headers."""

MAX_REQUESTS: Final = 1_000_000_000
"""Requests that one connection may carry. Clients that are told to leave after a thousand, as
is hypercorn's habit, lose the request that they were just sending."""


FRAMES_AT_ONCE: Final = 4 * 1024
"""Bytes of HTTP/2 that are taken without letting other tasks run. A record of TLS can hold two
thousand frames without content, each of which takes some 70 µs."""

_UNFINISHED: Final = frozenset({h11.SEND_BODY, h11.ERROR})


class HttpConfig(Config):
    """Hypercorn's configuration, as far as its protocol objects ask for it.

    Args:
      root_path: Where the application is mounted, without a slash at its end.
      context: Knows whether the server is about to stop.

    """

    h11_max_incomplete_size = MAX_HEAD_SIZE
    h2_max_header_list_size = MAX_HEAD_SIZE
    keep_alive_max_requests = MAX_REQUESTS

    def __init__(self, root_path: str, context: WorkerContext) -> None:
        self.root_path = root_path
        self._context = context
        self._date = b""
        self._date_of = 0

    def response_headers(self, protocol: str) -> list[tuple[bytes, bytes]]:
        """Return the headers that every answer has."""
        now = int(time())
        if now != self._date_of:
            self._date_of = now
            self._date = format_date_time(now).encode()
        headers = [(b"date", self._date)]
        if protocol == "h11" and self._context.terminated.is_set():
            headers.append((b"connection", b"close"))
        return headers


class Http1(H11Protocol):
    """HTTP/1.1 without upgrades.

    Args:
      wait: Waits by what it is given, and reads on meanwhile, so that a client that goes is
          noticed also while more than the running request has come from it.
      args: Those of hypercorn.

    """

    def __init__(self, wait: Wait, *args: Any) -> None:
        super().__init__(*args)
        self.connection = self._heard = ServerConnection(MAX_HEAD_SIZE)
        self.can_read = _WatchedEvent(wait)
        self.is_last = False
        """Whether no other request is served on the connection."""
        self._asked = ""
        self._refused_with: int | None = None

    @property
    def is_in_head(self) -> bool:
        """Whether the client has begun a request, and its head is not complete."""
        return self._heard.is_in_head

    @property
    def is_unread(self) -> bool:
        """Whether the client sent, or is about to send, what nobody will read."""
        heard = self._heard
        return self.is_last or heard.has_more or heard.their_state in _UNFINISHED

    async def _handle_events(self) -> None:
        try:
            await super()._handle_events()
        finally:
            if self._heard.fault:
                self._tell_fault()

    def _tell_fault(self) -> None:
        heard = self._heard
        # That a client goes in the middle of a request is its own affair.
        level = logging.DEBUG if heard.trailing_data[1] else logging.INFO
        name = self._asked or "A request"
        if self._refused_with is None:
            logger.log(level, "The connection of %s was ended: %s", name, heard.fault)
        else:
            logger.log(level, "%s was refused with %d: %s", name, self._refused_with, heard.fault)
        heard.fault = ""

    async def _send_error_response(self, status_code: int) -> None:
        self._refused_with = status_code
        await super()._send_error_response(status_code)

    async def _check_protocol(self, event: h11.Request) -> None:
        # A server may ignore an Upgrade (RFC 9110, 7.8), so that is no error. The preface of
        # HTTP/2 is no request.
        if event.http_version not in {b"1.0", b"1.1"}:
            await self.refuse(505)
            raise UnwantedProtocol(f"HTTP/{event.http_version.decode()}")

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        # Hypercorn would let every body come. An application may refuse before it reads one.
        is_continue = isinstance(event, h11.InformationalResponse) and event.status_code == 100
        if not is_continue:
            await super()._send_h11_event(event)

    def body_of_newest(self) -> Want:
        """Give what is to be called when the application reads the body of its request."""
        return self._want_body

    async def _want_body(self, taken: int) -> None:
        del taken
        if self.connection.they_are_waiting_for_100_continue:
            headers = self.config.response_headers("")
            event = h11.InformationalResponse(status_code=100, headers=headers)
            await super()._send_h11_event(event)

    async def _create_stream(self, request: h11.Request) -> None:
        # As hypercorn's, but that it would make a WebSocket of an Upgrade that asks for one.
        target, headers = resolved(request)
        self._asked = name_of(request.method, target)
        if _is_framed_twice(headers):
            self.is_last = True
            headers = [each for each in headers if each[0] != b"content-length"]
        self.stream = stream = HTTPStream(
            self.app,
            self.config,
            self.context,
            self.task_group,
            self.ssl,
            self.client,
            self.server,
            self.stream_send,
            STREAM_ID,
        )
        await stream.handle(
            Request(
                stream_id=STREAM_ID,
                headers=headers,
                http_version=request.http_version.decode(),
                method=request.method.decode("ascii").upper(),
                raw_path=target,
                state=self.connection_state,
            )
        )
        self.keep_alive_requests += 1

    async def stream_send(self, event: StreamEvent) -> None:
        """Send what the application sent."""
        # An answer to a request that is not read to its end: the connection can carry no other
        # one, and a client that was not told (RFC 9112, 9.6) would lose its next.
        is_last = self.connection.their_state is h11.SEND_BODY or self.is_last
        if isinstance(event, Response) and is_last and not _says_connection(event):
            event.headers.append((b"connection", b"close"))
        await super().stream_send(event)

    async def _maybe_recycle(self) -> None:
        self._asked = ""
        if not self.is_last:
            await super()._maybe_recycle()
            return
        await self._close_stream()
        await self.can_read.set()
        await self.send(Closed())

    async def refuse(self, status: int) -> None:
        """Answer what is no request, or not yet one."""
        await self._send_error_response(status)


def _is_framed_twice(headers: list[tuple[bytes, bytes]]) -> bool:
    # Another one on the way may have found another end of it: nothing may follow (RFC 9112, 6.3).
    names = {name for name, _ in headers}
    return b"content-length" in names and b"transfer-encoding" in names


def _says_connection(response: Response) -> bool:
    return any(name.lower() == b"connection" for name, _ in response.headers)


class UnwantedProtocol(Exception):
    """A client speaks something that is not served here."""


class _WatchedEvent(EventWrapper):
    def __init__(self, wait: Wait) -> None:
        super().__init__()
        self._watched_wait = wait

    async def wait(self) -> None:
        await self._watched_wait(super().wait)


class Http2(H2Protocol):
    """HTTP/2 that survives what clients send, without WebSockets and priorities.

    Args:
      write_seconds: How long a client may leave a part of an answer unread.
      args: Those of hypercorn.

    """

    def __init__(self, write_seconds: float, *args: Any) -> None:
        super().__init__(*args)
        self._write_seconds = write_seconds
        self._newest: h2.events.RequestReceived | None = None
        # Of what applications send: how long it may still take, by stream.
        self._sending: dict[int, trio.CancelScope] = {}
        # Hypercorn's own, but that these offer to connect WebSockets.
        self.connection.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: self.config.h2_max_concurrent_streams,
                SettingCodes.MAX_HEADER_LIST_SIZE: self.config.h2_max_header_list_size,
            },
        )

    async def handle(self, event: Event) -> None:
        """Take what has come from the client, or that nothing comes any more."""
        if not isinstance(event, RawData):
            await super().handle(event)
            # Behind that, so that applications which are woken know that the client has gone.
            for stream_id in list(self.stream_buffers):
                await self._drop_unsent(stream_id)
            return
        data = event.data
        for start in range(0, len(data), FRAMES_AT_ONCE):
            if start:
                await trio.lowlevel.checkpoint()
            await self._take_frames(data[start : start + FRAMES_AT_ONCE])

    async def _take_frames(self, data: bytes) -> None:
        try:
            events = self.connection.receive_data(data)
        except h2.exceptions.ProtocolError as exc:
            if not self.closed:
                logger.info("A connection was ended: HTTP/2: %s", what_is_wrong(exc))
            await self._flush()
            await self.send(Closed())
        else:
            await self._handle_events(events)

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                refusal = refusal_of(event)
                if refusal is not None:
                    self._refuse(event, *refusal)
                    continue
                self._newest = event
            elif isinstance(event, h2.events.DataReceived):
                if event.stream_id in self.streams:
                    await self._take_data(event)
                else:
                    self._discard(event)
                continue
            elif isinstance(event, h2.events.PriorityUpdated):
                # RFC 9113, 5.3.2: nobody needs them; a thousand end hypercorn's connection.
                continue
            await super()._handle_events([event])
            if isinstance(event, h2.events.StreamReset):
                await self._drop_unsent(event.stream_id)
        await self._flush()

    def _refuse(self, request: h2.events.RequestReceived, status: int, reason: str) -> None:
        fields = dict(request.headers)
        name = name_of(fields.get(b":method", b""), fields.get(b":path", b""))
        logger.info("%s was refused with %d: %s", name, status, reason)
        with suppress(h2.exceptions.ProtocolError):
            self.connection.send_headers(
                request.stream_id, [(b":status", b"%d" % status)], end_stream=True
            )

    def body_of_newest(self) -> Want:
        """Give what is to be called when the application reads the body of its request."""
        request, self._newest = self._newest, None
        assert request is not None
        expects = (b"expect", b"100-continue") in request.headers
        return partial(self._want_body, request.stream_id, expects)

    async def _take_data(self, event: h2.events.DataReceived) -> None:
        # A body that nobody reads fills the window of its own stream, and not that of all.
        assert event.flow_controlled_length is not None
        self._open_window(event.flow_controlled_length)
        self._open_window(event.flow_controlled_length - len(event.data), event.stream_id)
        await self.streams[event.stream_id].handle(
            Body(stream_id=event.stream_id, data=event.data)
        )

    async def _want_body(self, stream_id: int, expects: bool, taken: int) -> None:
        if expects and not taken:
            with suppress(h2.exceptions.ProtocolError):
                self.connection.send_headers(stream_id, [(b":status", b"100")])
        self._open_window(taken, stream_id)
        await self._flush()

    def _open_window(self, size: int, stream_id: int | None = None) -> None:
        if size:
            # The stream may be no more, and then h2 perhaps knows nothing of it.
            with suppress(h2.exceptions.ProtocolError, KeyError):
                self.connection.increment_flow_control_window(size, stream_id)

    def _discard(self, event: h2.events.DataReceived) -> None:
        # An answer may be complete before its request is.
        with suppress(h2.exceptions.ProtocolError):
            self.connection.acknowledge_received_data(
                event.flow_controlled_length, event.stream_id
            )
        with suppress(h2.exceptions.ProtocolError):
            self.connection.reset_stream(event.stream_id, ErrorCodes.NO_ERROR)

    async def stream_send(self, event: StreamEvent) -> None:
        """Send what the application sent; a stream that nobody reads is given up."""
        if isinstance(event, StreamClosed):
            await self._reset_unfinished(event.stream_id)
        if not isinstance(event, (Body, EndBody)):
            await super().stream_send(event)
            return
        with trio.move_on_after(self._write_seconds) as limit:
            self._sending[event.stream_id] = limit
            try:
                await super().stream_send(event)
            finally:
                del self._sending[event.stream_id]
        if limit.cancelled_caught:
            await self._reset(event.stream_id, ErrorCodes.CANCEL)
            await self._close_stream(event.stream_id)

    async def _reset_unfinished(self, stream_id: int) -> None:
        buffer = self.stream_buffers.get(stream_id)
        if buffer is not None and not buffer._complete:  # noqa: SLF001 - it has no other name
            await self._reset(stream_id, ErrorCodes.INTERNAL_ERROR)

    async def _reset(self, stream_id: int, code: ErrorCodes) -> None:
        with suppress(h2.exceptions.ProtocolError):
            self.connection.reset_stream(stream_id, code)
        await self._drop_unsent(stream_id)
        await self._flush()

    async def _drop_unsent(self, stream_id: int) -> None:
        """Forget what a stream that is at its end should still have sent, and wake who waits.

        Hypercorn keeps it as long as the stream is blocked, and who waits with it.
        """
        buffer = self.stream_buffers.get(stream_id)
        if buffer is not None:
            await buffer.close()
            with suppress(MissingStreamError):
                self.priority.unblock(stream_id)
            await self.has_data.set()

    async def _send_data(self, stream_id: int) -> None:
        if self._is_held_back(stream_id):
            # Hypercorn would take nothing out of the buffer, and let the application go on
            # filling it.
            self.priority.block(stream_id)
            return
        before = self._waiting(stream_id)
        try:
            await super()._send_data(stream_id)
        except KeyError:
            # Its stream was closed before it was written.
            with suppress(MissingStreamError):
                self.priority.remove_stream(stream_id)
        limit = self._sending.get(stream_id)
        if limit is not None and self._waiting(stream_id) < before:
            limit.deadline = trio.current_time() + self._write_seconds

    def _waiting(self, stream_id: int) -> int:
        buffer = self.stream_buffers.get(stream_id)
        return 0 if buffer is None else len(buffer.buffer)

    def _is_held_back(self, stream_id: int) -> bool:
        buffer = self.stream_buffers.get(stream_id)
        try:
            window = self.connection.local_flow_control_window(stream_id)
        except h2.exceptions.ProtocolError:
            return False
        return buffer is not None and bool(buffer.buffer) and window <= 0
