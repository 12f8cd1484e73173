"""Requests of the older era: with sessions, or each for itself."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp._codec import Batch, Malformed
from trio_mcp._protocol._refusals import invalid_request
from trio_mcp._rpc._answer import answer, error_for
from trio_mcp._rpc._bad_answers import fail_by_malformed
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.errors import InsufficientScopeError
from trio_mcp.types import (
    DEFAULT_NEGOTIATED_VERSION,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
)
from trio_mcp.types._revisions import LATEST_HANDSHAKE, revision_for

from ._event_store import SharedEventStore
from ._following import Follower
from ._guard import Open, end_in_time, refuse_scopes
from ._left_alone import LeftAlone
from ._older_frames import (
    cancelled,
    check_batch,
    id_of_last,
    refuse_faults,
    take_unanswered,
)
from ._outage import Outage
from ._outgoing import EVENT_STREAM_HEADERS, Outgoing
from ._refusal import Refusal
from ._rules import (
    EVENT_STREAM,
    LAST_EVENT_HEADER,
    SESSION_HEADER,
    VERSION_HEADER,
    check_accept,
    check_method,
    names_modern_revision,
    refuse_malformed,
)
from ._session_table import Sessions
from ._sessions import Session
from ._written import dump_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import trio

    from trio_mcp._codec import Frame
    from trio_mcp._rpc._service import Serving
    from trio_mcp.types import JSONRPCMessage, RequestId
    from trio_mcp.types._revisions import Revision

    from ._asgi import HttpRequest, HttpResponse
    from ._guard import Guard
    from ._heart import Heart
    from ._options import HttpOptions
    from ._session_streams import SessionStream

RETRY_AFTER: Final = (("retry-after", "60"),)
RETRY_SOON: Final = (("retry-after", "1"),)

CANNOT_RESUME: Final = "A stream cannot be resumed now: %s"


@attrs.define(eq=False)
class OlderEra:
    """Serves the clients of the older era in one run.

    Args:
      serving: Answers their requests.
      nursery: For what outlives an HTTP request.
      heart: Of the run.
      options: Of the endpoint.
      guard: Of the endpoint.

    """

    _serving: Serving
    _nursery: trio.Nursery
    _heart: Heart
    _options: HttpOptions
    _guard: Guard = attrs.Factory(Open)
    sessions: Sessions = attrs.field(init=False)
    _left: LeftAlone = attrs.Factory(LeftAlone)
    _outage: Outage = attrs.Factory(Outage)
    # By their names, streams of other processes, and what carries them.
    _followed: dict[str, Outgoing] = attrs.Factory(dict[str, Outgoing])

    def __attrs_post_init__(self) -> None:
        self.sessions = Sessions(self._options.session_idle_timeout, self._options.max_sessions)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of HTTP that there are."""
        return ("POST",) if self._options.stateless_http else ("GET", "POST", "DELETE")

    def ignores_version(self, request: HttpRequest) -> bool:
        """Tell whether a request is of a session where the header of the version says nothing.

        Who names a revision of the modern era in it has left that session.
        """
        if names_modern_revision(request.headers):
            return False
        session = self._find(request)
        return (
            isinstance(session, Session)
            and session.revision is not None
            and not session.revision.has_version_header
        )

    # POST

    async def post(
        self, request: HttpRequest, response: HttpResponse, frame: Frame
    ) -> Refusal | None:
        """Answer a POST, or say why not."""
        if self._options.stateless_http:
            return await self._post_alone(request, response, frame)
        is_handshake = isinstance(frame, JSONRPCRequest) and frame.method == "initialize"
        if is_handshake and SESSION_HEADER not in request.headers:
            assert isinstance(frame, JSONRPCRequest)
            return await self._initialize(request, response, frame)
        session = self._find(request)
        if isinstance(session, Refusal):
            # What is no message at all says more of what went wrong.
            return refuse_malformed(frame) if isinstance(frame, Malformed) else session
        with self.sessions.using(session):
            return await self._post_in(session, request, response, frame)

    def _find(self, request: HttpRequest) -> Session | Refusal:
        session_id = request.headers.get(SESSION_HEADER)
        if session_id is None:
            return Refusal.of(400, f"{SESSION_HEADER} is missing, and this is no initialize")
        session = self.sessions.find(session_id, request.principal)
        return _no_session() if session is None else session

    async def _initialize(
        self, request: HttpRequest, response: HttpResponse, frame: JSONRPCRequest
    ) -> Refusal | None:
        if not self.sessions.may_have_room:
            return self._full()
        session = Session(
            self._serving, self._nursery, self._options, request.principal, self._outage
        )
        is_open = False
        try:
            message, data = dump_answer(await self._shake_hands(session, request, frame))
            if isinstance(message, JSONRPCResponse):
                self.sessions.make_room()
                if self.sessions.are_full:
                    return self._full()
                is_open = True
                session.begin()
                self.sessions.add(session)
            headers = [(SESSION_HEADER.lower(), session.id)] if is_open else []
            await response.send_whole(200, data, headers)
        finally:
            # A session is there after a handshake that went well, and not before.
            if not is_open:
                session.end("it was not initialized")
        return None

    async def _shake_hands(
        self, session: Session, request: HttpRequest, frame: JSONRPCRequest
    ) -> JSONRPCResponse | JSONRPCError:
        exchange = session.make_exchange(frame, request, session.standalone)
        try:
            self._serving.accept(exchange)
        except Exception as exc:  # noqa: BLE001 - the border that answers for it
            return JSONRPCError(id=frame.id, error=error_for(exc, exchange))
        try:
            return await answer(self._serving, exchange)
        finally:
            exchange.close()

    def _full(self) -> Refusal:
        limit = self._options.max_sessions
        return Refusal.of(
            503, f"{limit} sessions are open, the most there may be", headers=RETRY_AFTER
        )

    async def _post_in(
        self, session: Session, request: HttpRequest, response: HttpResponse, frame: Frame
    ) -> Refusal | None:
        if isinstance(frame, Malformed):
            fail_by_malformed(session.calls, frame)
            return refuse_malformed(frame)
        if isinstance(frame, Batch):
            refusal = check_batch(session, frame)
            if refusal is not None:
                return refusal
            return await self._take(session, request, response, frame.messages, is_batch=True)
        return await self._take(session, request, response, [frame], is_batch=False)

    async def _take(
        self,
        session: Session,
        request: HttpRequest,
        response: HttpResponse,
        frames: Sequence[JSONRPCMessage | Malformed],
        *,
        is_batch: bool,
    ) -> Refusal | None:
        requests = [each for each in frames if isinstance(each, JSONRPCRequest)]
        faults = refuse_faults(session, frames)
        if not requests and not faults:
            for each in frames:
                take_unanswered(session, each)
            await response.send_whole(202)
            return None
        stream = session.open_stream(requests)
        outgoing = Outgoing()
        try:
            await stream.carry(outgoing)
            if session.lost is not None:
                return _no_session()
            for fault in faults:
                outgoing.put_answer(fault)
            # In their order: what a batch cancels has begun before.
            for each in frames:
                if isinstance(each, JSONRPCRequest):
                    await _start(session, each, request, stream, is_batch=is_batch)
                else:
                    take_unanswered(session, each)
            if not requests:
                stream.end()
            await self._respond(
                request, response, outgoing, is_batch=is_batch, last_id=id_of_last(requests)
            )
        finally:
            stream.let_go(outgoing)
            session.forget_if_ended(stream)
        return None

    async def _respond(
        self,
        request: HttpRequest,
        response: HttpResponse,
        outgoing: Outgoing,
        *,
        is_batch: bool = False,
        last_id: RequestId | None = None,
    ) -> None:
        keep_alive = self._options.keep_alive_interval
        json_only = self._options.json_response and not outgoing.is_stream
        async with open_background_nursery() as nursery:
            request.watch(nursery, outgoing.give_up)
            if request.method == "GET":
                end_in_time(nursery, request.principal, outgoing.end)
            with nullcontext() if json_only else self._heart.beating(outgoing):
                await outgoing.wait_decided()
            if outgoing.is_stream:
                await outgoing.write(response, keep_alive)
            elif not outgoing.gone:
                answers = outgoing.answers
                if json_only and not answers:
                    answers = [cancelled(last_id)]
                await _send_json(response, answers, is_batch=is_batch)

    # Each request for itself

    async def _post_alone(
        self, request: HttpRequest, response: HttpResponse, frame: Frame
    ) -> Refusal | None:
        if isinstance(frame, Malformed):
            return refuse_malformed(frame)
        session = Session(
            self._serving,
            self._nursery,
            self._options,
            request.principal,
            self._outage,
            is_stateless=True,
        )
        goes_on = False
        try:
            if not isinstance(frame, JSONRPCRequest) or frame.method != "initialize":
                session.assume(_revision_of(request))
            refusal = check_batch(session, frame) if isinstance(frame, Batch) else None
            if refusal is not None:
                return refusal
            is_batch = isinstance(frame, Batch)
            frames = frame.messages if isinstance(frame, Batch) else (frame,)
            refusal = await self._take(session, request, response, frames, is_batch=is_batch)
            goes_on = not session.is_done
        finally:
            if not goes_on:
                session.end("the request was answered")
        if goes_on:
            self._left.finish(session, self._nursery)
        return refusal

    async def wait_done(self) -> None:
        """Wait until all is done that clients asked for, whether they are connected or not."""
        for session in self.sessions.all:
            await session.wait_done()
        await self._left.wait_idle()

    # GET and DELETE

    async def get(self, request: HttpRequest, response: HttpResponse) -> Refusal | None:
        """Open a stream for what belongs to no request, or carry on one that broke off."""
        refusal = check_accept(request.headers, (EVENT_STREAM,))
        if refusal is not None:
            return refusal
        try:
            return await self._get(request, response)
        except InsufficientScopeError as exc:
            # Answers are for who might ask for them.
            needed = dict.fromkeys([*self._guard.required_scopes, *exc.scopes])
            return refuse_scopes(self._guard, InsufficientScopeError(needed).error)

    async def _get(self, request: HttpRequest, response: HttpResponse) -> Refusal | None:
        session = self._find(request)
        last_event_id = request.headers.get(LAST_EVENT_HEADER)
        if isinstance(session, Refusal):
            found = last_event_id is not None and await self._follow(
                request, response, last_event_id
            )
            return None if found else session
        with self.sessions.using(session):
            if last_event_id is None or self._options.event_store is None:
                await self._listen(session.standalone, request, response)
                return None
            return await self._resume(session, last_event_id, request, response)

    async def _listen(
        self, stream: SessionStream, request: HttpRequest, response: HttpResponse
    ) -> None:
        outgoing = Outgoing()
        outgoing.become_stream()
        await stream.carry(outgoing)
        try:
            await self._respond(request, response, outgoing)
        finally:
            stream.let_go(outgoing)

    async def _resume(
        self, session: Session, last_event_id: str, request: HttpRequest, response: HttpResponse
    ) -> Refusal | None:
        outgoing = Outgoing()
        try:
            replay = await session.resume(last_event_id, outgoing, request.principal)
            self._outage.is_over("read")
        except (ConnectionError, TimeoutError) as exc:
            self._outage.tell("read", CANNOT_RESUME, exc)
            return Refusal.of(503, "What was sent cannot be read now", headers=RETRY_SOON)
        if replay is None:
            return Refusal.of(400, f"{LAST_EVENT_HEADER} names no event that is still kept")
        try:
            async with open_background_nursery() as nursery:
                if not replay.is_done:
                    nursery.start_soon(replay.go_on, self._outage, name="HTTP replay")
                await self._respond(request, response, outgoing)
        finally:
            session.let_go(replay.stream, outgoing)
        return None

    async def _follow(
        self, request: HttpRequest, response: HttpResponse, last_event_id: str
    ) -> bool:
        """Carry on a stream of a session of another process; False if there is none."""
        store = self._options.event_store
        session_id = request.headers.get(SESSION_HEADER)
        if session_id is None or not isinstance(store, SharedEventStore):
            return False
        outgoing = Outgoing()
        timeout = self._options.session_idle_timeout
        follower = Follower(
            store, session_id, request.principal, last_event_id, timeout, self._outage
        )
        try:
            if not await follower.begin(outgoing):
                return False
            self._outage.is_over("read")
        except (ConnectionError, TimeoutError) as exc:
            self._outage.tell("read", CANNOT_RESUME, exc)
            return False
        assert follower.stream_id is not None
        before = self._followed.get(follower.stream_id)
        if before is not None:
            before.hand_over()
        self._followed[follower.stream_id] = outgoing
        try:
            async with open_background_nursery() as nursery:
                nursery.start_soon(follower.go_on, outgoing, name="HTTP stream of another process")
                await self._respond(request, response, outgoing)
        finally:
            if self._followed.get(follower.stream_id) is outgoing:
                del self._followed[follower.stream_id]
        return True

    def close_streams(self) -> None:
        """Let streams end that wait for what may come, and not for answers of this run."""
        self.sessions.close_streams()
        for outgoing in self._followed.values():
            outgoing.end()

    async def delete(self, request: HttpRequest, response: HttpResponse) -> Refusal | None:
        """End a session."""
        session = self._find(request)
        if isinstance(session, Refusal):
            return session
        self.sessions.end(session, "its client has ended it")
        await response.send_whole(200)
        return None

    async def serve(self, request: HttpRequest, response: HttpResponse) -> Refusal | None:
        """Answer a request without a body, or say why not."""
        refusal = check_method(request.method, self.methods)
        if refusal is not None:
            return refusal
        if request.method == "GET":
            return await self.get(request, response)
        return await self.delete(request, response)


def _no_session() -> Refusal:
    return Refusal.of(404, "There is no such session (any more): initialize a new one")


def _revision_of(request: HttpRequest) -> Revision:
    # Protocol version header: without one, and without a session to know it by, it is this.
    named = request.headers.get(VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
    return revision_for(named) or LATEST_HANDSHAKE


async def _start(
    session: Session,
    frame: JSONRPCRequest,
    request: HttpRequest,
    stream: SessionStream,
    *,
    is_batch: bool,
) -> None:
    if is_batch and frame.method == "initialize":
        error = invalid_request("initialize must not be part of a batch").error
        await stream.answer(*dump_answer(JSONRPCError(id=frame.id, error=error)))
        return
    await session.start(frame, request, stream)


async def _send_json(response: HttpResponse, answers: list[bytes], *, is_batch: bool) -> None:
    if answers:
        body = b"[%b]" % b",".join(answers) if is_batch else answers[0]
        await response.send_whole(200, body)
    else:
        # Cancellation: a request that was cancelled is not answered, so nothing is streamed.
        await response.start(200, EVENT_STREAM_HEADERS)
        await response.send_part(b"", more=False)
