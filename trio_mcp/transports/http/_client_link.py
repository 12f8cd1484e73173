"""The link of a client over Streamable HTTP: each request is a POST of its own.

The task that asks reads the answer, so leaving its scope closes the response. To a modern
server that *is* the cancellation; an older one is told by a notice, which the link's nursery
posts. That nursery also runs what an older server asks, and reads the stream on which such a
server speaks unasked.

The era of a request is in the request: a modern one names its revision. So one link serves
both, as finding out what a server speaks needs.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._codec import check_notification, check_request, dump_message
from trio_mcp._protocol._open_requests import OpenRequests
from trio_mcp._rpc._calls import with_progress_token
from trio_mcp._rpc._link import NO_OPTIONS, CallOptions, Link
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp._rpc._standing import say_again
from trio_mcp._rpc._time_limit import TimeLimit
from trio_mcp.errors import ConnectionLost, InvalidResponse
from trio_mcp.types import (
    PROTOCOL_VERSION_META_KEY,
    JSONRPCNotification,
    JSONRPCRequest,
)

from ._authorizing import Authorizer
from ._body import Body
from ._client_answer import media_type, read_response
from ._client_call import HttpCall
from ._client_headers import POST_HEADERS, modern_headers
from ._client_inbound import Inbound
from ._client_notices import CancelNotices
from ._client_retry import Position
from ._client_session import HttpSession
from ._endpoint import refused
from ._http_errors import shown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from trio_mcp._rpc._service import Serving
    from trio_mcp.types import JSONRPCMessage, RequestId
    from trio_mcp.types._base import JsonObject

    from ._endpoint import Endpoint

MAX_CALLS: Final = 256
"""Calls that wait for a response at once; more wait to be sent. One whose response is a stream
gives its place away, and what a server is answered takes none: on such a stream a call may be
waiting for that answer, or its progress callback for another call."""

CLOSE_TIMEOUT: Final = 2.0
"""Seconds for the last notices, and for ending a session."""


class HttpLink(Link):
    """Speaks JSON-RPC with a server by HTTP requests. Made by `open_http_link`."""

    __slots__ = (
        "__weakref__",
        "_calls",
        "_connection",
        "_endpoint",
        "_inbound",
        "_limiter",
        "_lost",
        "_lost_event",
        "_max_event_size",
        "_notices",
        "_scopes",
        "_serving",
        "_session",
        "_settled",
    )

    def __init__(
        self, endpoint: Endpoint, serving: Serving, max_event_size: int, *, terminates: bool
    ) -> None:
        self._endpoint = endpoint
        self._serving = serving
        self._max_event_size = max_event_size
        self._connection = serving.connect(self)
        self._calls: OpenRequests[HttpCall] = OpenRequests()
        self._scopes: dict[RequestId, trio.CancelScope] = {}
        self._inbound = Inbound(
            serving, self._connection, self, self.post, self._calls, self._fail_call
        )
        self._session = HttpSession(
            endpoint, self._inbound, self._initialize_again, max_event_size
        )
        self._session.terminates = terminates
        self._limiter = trio.CapacityLimiter(MAX_CALLS)
        self._settled = trio.lowlevel.ParkingLot()
        self._lost: ConnectionLost | None = None
        self._lost_event = trio.Event()
        self._notices = CancelNotices(self.post, self._lost_event)

    # What this side asks

    async def request(
        self, method: str, params: JsonObject | None, options: CallOptions = NO_OPTIONS
    ) -> JsonObject:
        """See `Link.request`."""
        if self._lost is not None:
            await trio.lowlevel.checkpoint()
            raise self._lost.again()
        request_id = self._calls.next_id()
        if options.on_progress is not None:
            params = with_progress_token(params, request_id)
        content = _write(JSONRPCRequest(id=request_id, method=method, params=params))
        scope = trio.CancelScope()
        limit = TimeLimit(options, scope)
        call = HttpCall(request_id, method, options, self._inbound, limit, self._max_event_size)
        with scope:
            limit.arm()
            self._calls.open(request_id, call)
            self._scopes[request_id] = scope
            try:
                return await self._carry_out(call, params or {}, content)
            finally:
                self._calls.close(request_id)
                del self._scopes[request_id]
                if self._lost is not None:
                    self._settled.unpark_all()
        if self._lost is not None:
            raise self._lost.again()
        if call.lost is not None:
            raise call.lost.again()
        raise limit.passed(method)

    async def _carry_out(self, call: HttpCall, params: JsonObject, content: bytes) -> JsonObject:
        meta: JsonObject = params.get("_meta") or {}
        version: str | None = meta.get(PROTOCOL_VERSION_META_KEY)
        await self._take_place(call)
        try:
            return await self._ask(call, params, content, version)
        finally:
            self._leave_place(call)

    async def _take_place(self, call: HttpCall) -> None:
        try:
            self._limiter.acquire_on_behalf_of_nowait(call)
        except trio.WouldBlock:
            await self._limiter.acquire_on_behalf_of(call)
        call.has_place = True

    def _leave_place(self, call: HttpCall) -> None:
        if call.has_place:
            call.has_place = False
            self._limiter.release_on_behalf_of(call)

    async def _ask(
        self, call: HttpCall, params: JsonObject, content: bytes, version: str | None
    ) -> JsonObject:
        if version is not None:
            return await self._ask_modern(call, params, content, version)
        try:
            return await self._ask_older(call, params, content)
        except BaseException as exc:
            is_given_up = call.sent and not call.is_answered and not isinstance(exc, Exception)
            if is_given_up and call.options.may_cancel:
                self._notices.send(call, exc)
            raise

    async def _ask_modern(
        self, call: HttpCall, params: JsonObject, content: bytes, version: str
    ) -> JsonObject:
        call.limit.start()
        headers = modern_headers(call, params, version)
        response = await self._post(call, headers, content)
        position = Position()
        await read_response(response, call, position)
        if not call.is_settled:
            raise self._cut(call)
        return call.outcome()

    async def _ask_older(self, call: HttpCall, params: JsonObject, content: bytes) -> JsonObject:
        session = self._session
        position = Position()
        # Once: opening another session in between is part of the time.
        call.limit.start()
        if call.method == "initialize":
            session.begin(params)
            response = await self._post(call, POST_HEADERS, content)
            if response.status_code == 200:
                session.take_id(response.headers.get("mcp-session-id"))
        else:
            response = await self._post_in_session(call, content)
        if response is not None:
            try:
                await read_response(response, call, position)
            except ConnectionLost:
                if position.last_event_id is None:
                    raise
        if not call.is_settled:
            if position.last_event_id is None:
                raise self._cut(call)
            await session.resume(call, position, self._connection.revision)
        return call.outcome()

    async def _post_in_session(self, call: HttpCall, content: bytes) -> Any:
        """Post a request; None if what came settles the call already."""
        session = self._session
        used = session.id
        headers = session.headers(self._connection.revision)
        response = await self._post(call, {**POST_HEADERS, **headers}, content)
        if response.status_code != 404 or used is None:
            return response
        # Sessions: the server has forgotten this one, and so has not looked at the request:
        # it can be sent again in another session.
        await read_response(response, call, Position(), session_lost=True)
        if call.is_settled:
            return None
        call.sent = False
        await session.renew(used)
        headers = session.headers(self._connection.revision)
        return await self._post(call, {**POST_HEADERS, **headers}, content)

    async def _post(self, call: HttpCall, headers: Mapping[str, str], content: bytes) -> Any:
        await self._inbound.settle()
        call.sent = True
        response = await self._endpoint.send("POST", headers, content, limit=call.limit)
        call.has_arrived = True
        if media_type(response) == "text/event-stream":
            self._leave_place(call)
        return response

    def _cut(self, call: HttpCall) -> ConnectionLost:
        return ConnectionLost(
            f"{call.method}: the stream of {shown(self._endpoint.url)} ended before the answer",
            status=200,
        )

    # What nobody waits for

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """See `Link.notify`."""
        await trio.lowlevel.checkpoint()
        if self._lost is not None:
            raise self._lost.again()
        check_notification(method, params)
        notification = JSONRPCNotification(method=method, params=params)
        used = self._session.id
        try:
            await self.post(notification)
        except ConnectionLost as exc:
            if exc.status != 404 or used is None or method == "notifications/initialized":
                raise
            # As with requests: the server has not looked at it.
            await self._session.renew(used)
            await self.post(notification)
        if method == "notifications/initialized":
            await self._session.listen(self._connection.revision)

    async def post(self, message: JSONRPCMessage) -> None:
        """Send a message that is not answered.

        Raises:
          ConnectionLost: if the server did not take it.

        """
        content = dump_message(message)
        revision = self._connection.revision
        headers = dict(POST_HEADERS)
        if revision is not None and revision.is_modern:
            headers["mcp-protocol-version"] = revision.version
            if isinstance(message, JSONRPCNotification):
                headers["mcp-method"] = message.method
        else:
            headers.update(self._session.headers(revision))
        # A notice of what was given up is sent on leaving.
        may_ask = getattr(message, "method", None) != "notifications/cancelled"
        response = await self._endpoint.send("POST", headers, content, may_ask=may_ask)
        what = f"POST {shown(self._endpoint.url)}"
        if response.status_code >= 300:
            raise await refused(response, what)
        body = Body(response, what)
        try:
            await body.finish()
        finally:
            await body.leave()  # noqa: ASYNC102 - it shields itself, bounded

    # The session of an older server

    async def _initialize_again(self, params: JsonObject) -> None:
        """Open another session with the same params, and say there what was said in the first."""
        result, session_id = await self._ask_alone("initialize", params, {})
        answered = result.get("protocolVersion")
        revision = self._connection.revision
        if revision is None or answered != revision.version:
            raise InvalidResponse(
                f"The server lost the session, and answered initialize with protocol version "
                f"{answered!r:.60}, after {revision}: connect anew"
            )
        self._session.take_id(session_id)
        await self.post(JSONRPCNotification(method="notifications/initialized", params=None))
        await self._session.listen(revision)
        await say_again(self._serving.standing_requests(self._connection), self._ask_anew)

    async def _ask_anew(self, method: str, params: JsonObject) -> None:
        await self._ask_alone(method, params, self._session.headers(self._connection.revision))

    async def _ask_alone(
        self, method: str, params: JsonObject, headers: Mapping[str, str]
    ) -> tuple[JsonObject, str | None]:
        """Ask for what a session needs; returns the result, and the id of the session."""
        request_id = self._calls.next_id()
        content = _write(JSONRPCRequest(id=request_id, method=method, params=params))
        limit = TimeLimit(NO_OPTIONS, trio.CancelScope())
        call = HttpCall(request_id, method, NO_OPTIONS, self._inbound, limit, self._max_event_size)
        response = await self._post(call, {**POST_HEADERS, **headers}, content)
        session_id = response.headers.get("mcp-session-id")
        await read_response(response, call, Position())
        if not call.is_settled:
            raise self._cut(call)
        return call.outcome(), session_id

    # Its life

    @property
    def mirrors_arguments(self) -> bool:
        """See `Link.mirrors_arguments`."""
        return True

    @property
    def authorizer(self) -> Any:
        """See `Link.authorizer`."""
        return self._endpoint.auth

    @property
    def extensions(self) -> Mapping[str, Mapping[str, Any]]:
        """See `Link.extensions`."""
        auth = self._endpoint.auth
        return auth.extensions if isinstance(auth, Authorizer) else {}

    @property
    def lost(self) -> bool:
        """Whether this side has closed it: a request that fails takes no other with it."""
        return self._lost is not None

    async def wait_lost(self) -> ConnectionLost:
        """Wait until this side has closed it."""
        await self._lost_event.wait()
        assert self._lost is not None
        return self._lost

    def _fail_call(self, call: HttpCall, why: ConnectionLost) -> None:
        scope = self._scopes.get(call.id)
        if scope is not None:
            call.lost = why
            scope.cancel(reason=why.message)

    def break_off(self, lost: ConnectionLost) -> None:
        """See `Link.break_off`."""
        self._lost = self._lost or lost
        self._lost_event.set()
        for scope in list(self._scopes.values()):
            scope.cancel(reason=lost.message)

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None, None]:
        """Have its tasks run for as long as the block lasts."""
        try:
            async with open_background_nursery() as nursery:
                self._inbound.nursery = self._session.nursery = self._notices.nursery = nursery
                nursery.start_soon(self._inbound.pump.run, name="MCP notifications")
                try:
                    yield
                finally:
                    await self._finish()  # noqa: ASYNC102 - it shields itself, bounded
        finally:
            self._inbound.close()
            self._session.forget()
            self._notices.forget()
            self._serving.disconnect(self._connection)

    async def _finish(self) -> None:
        self._inbound.begin_closing()
        self.break_off(ConnectionLost("The connection was closed on this side"))
        self._session.stop_listening()
        with finish_within(CLOSE_TIMEOUT):
            # Those who asked are being told, and may have to tell the server.
            while self._scopes:
                await self._settled.park()
            await self._notices.wait_sent()
            await self._session.end(self._connection.revision)


@asynccontextmanager
async def open_http_link(
    endpoint: Endpoint,
    serving: Serving,
    *,
    max_event_size: int,
    terminates: bool = True,
) -> AsyncGenerator[HttpLink, None]:
    """Speak with a server over Streamable HTTP for as long as the block lasts.

    Args:
      endpoint: Where it is; stays the caller's to close.
      serving: Handles what the server asks and tells.
      max_event_size: Of one event of a stream, in bytes.
      terminates: Whether to end the session of an older server.

    Cancellation:
      Leaving takes at most `CLOSE_TIMEOUT` seconds, in which the last notices are posted and
      the session of an older server is ended.

    """
    link = HttpLink(endpoint, serving, max_event_size, terminates=terminates)
    async with link.run():
        yield link


def _write(request: JSONRPCRequest) -> bytes:
    try:
        return dump_message(request)
    except (TypeError, ValueError):
        check_request(request.method, request.params)
        raise
