"""HTTP with SSE, the carrier of 2024-11-05: a stream for one direction, POSTs for the other.

The stream is the session: it begins with where to post, and what it carries ends with it.
"""

from __future__ import annotations

import math
import secrets
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, final
from urllib.parse import parse_qs

import attrs
import trio

from trio_mcp._codec import Malformed, parse_frame
from trio_mcp._codec._sse import dump_event
from trio_mcp._rpc._channel import Channel
from trio_mcp._rpc._exchange import Caller, HttpDetails, is_same
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp._rpc._peer import open_peer

from . import _cors as cors
from ._answering import ActiveRequests, answer_request, cut_off, not_running
from ._asgi import HttpRequest, HttpResponse, read_body
from ._guard import Protection, admit, check_scopes, protection_of, seconds_left
from ._outgoing import Outgoing
from ._refusal import Refusal
from ._rules import EVENT_STREAM, check_accept, check_media_type, check_method, refuse_malformed
from ._security import check_caller
from ._written import dump_with_id

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp._codec import Frame
    from trio_mcp._rpc._exchange import Principal
    from trio_mcp._rpc._service import Service, Serving
    from trio_mcp.types import JSONRPCMessage

    from ._asgi import Receive, Scope, Send
    from ._options import HttpOptions

MAX_ARRIVED: Final = 256
"""Messages of one client that may wait to be looked at; more are refused with 503."""

STOP_SECONDS: Final = 1.0
"""Seconds that running handlers have when their client has gone, and when a run ends. A server
that is told to stop gives them its own time before that."""


@final
class SseChannel(Channel):
    """What one client posts, and the stream that it reads."""

    __slots__ = ("_arrived", "_caller", "_changed", "_ended", "_lasting", "_outgoing")

    def __init__(self, outgoing: Outgoing, request: HttpRequest) -> None:
        self._caller = _caller_of(request)
        self._lasting = request.principal
        self._outgoing = outgoing
        self._arrived: deque[tuple[Frame, Caller]] = deque()
        self._changed = trio.lowlevel.ParkingLot()
        self._ended = False

    @property
    def caller(self) -> Caller:
        """See `Channel.caller`: who has posted what was received last, with its own token."""
        return self._caller

    def belongs_to(self, principal: Principal | None) -> bool:
        """Tell whether a request of this principal may use it."""
        return is_same(self._caller.principal, principal)

    @property
    def seconds_left(self) -> float:
        """How long the token holds that lasts longest of all that its client has come with."""
        return seconds_left(self._lasting)

    def arrive(self, frame: Frame, request: HttpRequest) -> bool:
        """Take what the client has posted; False if too much waits already, or it has ended."""
        if self._ended or len(self._arrived) >= MAX_ARRIVED:
            return False
        if seconds_left(request.principal) > seconds_left(self._lasting):
            self._lasting = request.principal
        self._arrived.append((frame, _caller_of(request)))
        self._changed.unpark_all()
        return True

    @property
    def is_ended(self) -> bool:
        """Whether nothing is taken any more."""
        return self._ended

    def end(self) -> None:
        """The client posts no more."""
        self._ended = True
        self._changed.unpark_all()

    async def receive(self) -> list[Frame]:
        """See `Channel.receive`."""
        await trio.lowlevel.checkpoint()
        while not self._arrived:
            if self._ended:
                raise trio.EndOfChannel
            await self._changed.park()
        # One, since each has come by a request of its own, and with what that one is allowed.
        frame, self._caller = self._arrived.popleft()
        return [frame]

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """See `Channel.send`."""
        await trio.lowlevel.checkpoint()
        written = [dump_with_id(each) for each in messages]
        await self._outgoing.wait_room()
        if self._outgoing.gone:
            raise trio.BrokenResourceError("the client has left its stream")
        for data in written:
            self._outgoing.put(data)

    async def aclose(self) -> None:
        """See `Channel.aclose`."""
        self.end()
        self._outgoing.end()
        await trio.lowlevel.checkpoint()


@attrs.define(eq=False)
class _Run:
    serving: Serving
    channels: dict[str, SseChannel] = attrs.Factory(dict[str, SseChannel])
    active: ActiveRequests = attrs.Factory(ActiveRequests)
    stopping: bool = False

    def stop(self) -> None:
        self.stopping = True
        for channel in self.channels.values():
            channel.end()


@final
class SseSessionManager:
    """Answers the requests of the two endpoints, and keeps the sessions.

    As `StreamableHTTPSessionManager`, it has to run while requests come in.

    Args:
      app: The server.
      options: How requests are answered.
      message_path: Where clients post, within the application.

    """

    def __init__(self, app: Service, options: HttpOptions, message_path: str) -> None:
        self.options = options
        self.protection: Protection = protection_of(app)
        self._server = app
        self._message_path = message_path
        self._run: _Run | None = None
        self._has_run = False

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Enter the server's lifespan, and answer requests until the block is left.

        Raises:
          RuntimeError: if it runs already.

        Cancellation:
          Leaving takes up to `STOP_SECONDS` seconds for answers, and as long for clean-up.

        """
        if self._run is not None:
            raise RuntimeError("This session manager runs already: enter its run() once")
        async with self._server.open() as serving:
            run = self._run = _Run(serving)
            try:
                yield
            finally:
                run.stop()
                try:
                    with trio.move_on_after(STOP_SECONDS):
                        await run.active.wait_idle()  # noqa: ASYNC102 - cancelled like the rest
                finally:
                    run.active.cancel("the server stopped")
                    with finish_within(STOP_SECONDS):
                        await run.active.wait_idle()  # noqa: ASYNC102 - in finish_within
                    self._run = None
                    self._has_run = True

    async def stop(self) -> None:
        """Take no more requests, have streams end in good order, and wait for what runs.

        A stream ends when what its client asked for is answered, or a second after that client
        has gone. How long, is for whoever serves the application to say: the end of `run` cancels
        what still runs a second later. A handler that waits for this waits for itself.

        Cancellation:
          No more requests are taken; nothing that runs is cancelled by this.

        """
        await trio.lowlevel.checkpoint()
        run = self._run
        if run is not None:
            run.stop()
            await run.active.wait_idle()

    async def handle_sse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for the stream."""
        await self._handle(scope, receive, send, is_stream=True)

    async def handle_post_message(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that brings a message."""
        await self._handle(scope, receive, send, is_stream=False)

    async def _handle(
        self, scope: Scope, receive: Receive, send: Send, *, is_stream: bool
    ) -> None:
        async def serve(request: HttpRequest, response: HttpResponse) -> Refusal | None:
            run = self._run
            if run is None or run.stopping:
                return not_running(
                    stopping=run is not None,
                    has_run=self._has_run,
                    manager="app.session_manager",
                )
            options, headers = self.options, request.headers
            refusal = check_caller(headers, options.transport_security, options.cors_origins)
            if refusal is not None:
                return refusal
            if cors.is_preflight(request.method, headers, options.cors_origins):
                told = cors.preflight_headers(headers, ("GET",) if is_stream else ("POST",))
                await response.send_whole(204, headers=told)
                return None
            refusal = await admit(self.protection.guard, request)
            if refusal is not None:
                return refusal
            with run.active.request():
                if is_stream:
                    return await self._stream(run, request, response)
                return await self._post(run, request, response)
            return cut_off(response)

        request = HttpRequest(scope, receive)
        response = HttpResponse(send, scope.get("http_version", "1.1"))
        response.headers += cors.answer_headers(request.headers, self.options.cors_origins)
        await answer_request(request, response, serve)

    async def _stream(
        self, run: _Run, request: HttpRequest, response: HttpResponse
    ) -> Refusal | None:
        refusal = (
            check_scopes(self.protection.guard, run.serving, request)
            or check_method(request.method, ("GET",))
            or check_accept(request.headers, (EVENT_STREAM,))
        )
        if refusal is not None:
            return refusal
        limit = self.options.max_sessions
        if limit is not None and len(run.channels) >= limit:
            return Refusal.of(503, f"{limit} sessions are open, the most there may be")
        session_id = secrets.token_hex(16)
        root = request.scope.get("root_path", "").rstrip("/")
        outgoing = Outgoing()
        endpoint = f"{root}{self._message_path}?session_id={session_id}"
        outgoing.put_raw(dump_event(endpoint.encode(), event="endpoint"))
        channel = run.channels[session_id] = SseChannel(outgoing, request)
        try:
            await self._converse(run.serving, request, response, channel, outgoing)
        finally:
            del run.channels[session_id]
        return None

    async def _converse(
        self,
        serving: Serving,
        request: HttpRequest,
        response: HttpResponse,
        channel: SseChannel,
        outgoing: Outgoing,
    ) -> None:
        written = trio.Event()
        waiting = trio.CancelScope()

        async def write() -> None:
            await outgoing.write(response, self.options.keep_alive_interval)
            on_gone()
            written.set()

        def on_gone() -> None:
            outgoing.give_up()
            channel.end()
            limit = trio.current_time() + STOP_SECONDS
            waiting.deadline = min(waiting.deadline, limit)

        async def expire() -> None:
            # Whoever posts may bring a newer token along, or still an older one.
            while (left := channel.seconds_left) > 0:  # noqa: ASYNC110 - by time
                await trio.sleep(left)
            channel.end()
            waiting.deadline = min(waiting.deadline, trio.current_time() + STOP_SECONDS)

        async with open_background_nursery() as nursery:
            request.watch(nursery, on_gone)
            nursery.start_soon(write, name="HTTP stream")
            # A token that holds for ever is never outlasted.
            if channel.seconds_left < math.inf:
                nursery.start_soon(expire, name="HTTP expiry")
            # A client that still listens is answered, however long whoever stops the run waits.
            async with open_peer(channel, serving, drain_seconds=math.inf) as peer:
                with waiting:
                    await peer.wait_ended()
            outgoing.end()
            await written.wait()

    async def _post(
        self, run: _Run, request: HttpRequest, response: HttpResponse
    ) -> Refusal | None:
        refusal = check_method(request.method, ("POST",)) or check_media_type(request.headers)
        if refusal is not None:
            return refusal
        query = parse_qs(request.scope.get("query_string", b"").decode("latin-1"))
        named = query.get("session_id", [])
        if len(named) != 1:
            return Refusal.of(400, "session_id is missing: the stream says where to post")
        channel = run.channels.get(named[0])
        if channel is None or channel.is_ended or not channel.belongs_to(request.principal):
            return _no_session()
        limit = self.options.max_request_body_size
        body = await read_body(request, limit, self.options.body_timeout)
        if not isinstance(body, bytes):
            return body
        frame = parse_frame(body)
        refusal = check_scopes(self.protection.guard, run.serving, request, frame)
        if refusal is not None:
            return refusal
        if isinstance(frame, Malformed) and not frame.is_response:
            return refuse_malformed(frame)
        if not channel.arrive(frame, request):
            if channel.is_ended:
                # It was there when the body began.
                return _no_session()
            return Refusal.of(503, "Too many messages wait: the client does not read its stream")
        await response.send_whole(202, b"Accepted", media_type="text/plain; charset=utf-8")
        return None


def _no_session() -> Refusal:
    return Refusal.of(404, "There is no such session (any more): open a new stream")


def _caller_of(request: HttpRequest) -> Caller:
    return Caller(request.headers, request.principal, HttpDetails(request))
