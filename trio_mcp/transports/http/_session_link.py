"""How a server asks and tells the client of an older session, on one of its streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from trio_mcp._codec import check_request, dump_message
from trio_mcp._rpc._calls import Call, with_progress_token
from trio_mcp._rpc._link import NO_OPTIONS, CallOptions, Link
from trio_mcp._rpc._reasons import reason_of
from trio_mcp._rpc._time_limit import TimeLimit
from trio_mcp.errors import ConnectionLost, RequestTimeout
from trio_mcp.types import JSONRPCNotification, JSONRPCRequest

from ._written import dump_notification

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

    from ._session_streams import SessionStream
    from ._sessions import Session


class StreamLink(Link):
    """Questions go out on a stream of the session; another POST brings the answer."""

    __slots__ = ("_session", "_stream")

    def __init__(self, session: Session, stream: SessionStream) -> None:
        self._session = session
        self._stream = stream

    @property
    def lost(self) -> bool:
        """See `Link.lost`."""
        return self._session.lost is not None

    @property
    def can_ask(self) -> bool:
        """See `Link.can_ask`: also a client that is there may have left the stream."""
        return not self.lost and self._stream.can_ask

    async def wait_lost(self) -> ConnectionLost:
        """See `Link.wait_lost`."""
        return await self._session.wait_lost()

    async def request(
        self, method: str, params: JsonObject | None, options: CallOptions = NO_OPTIONS
    ) -> JsonObject:
        """See `Link.request`."""
        await trio.lowlevel.checkpoint_if_cancelled()
        self._check_open()
        calls = self._session.calls
        call = Call(calls.next_id(), method, options)
        if options.on_progress is not None:
            params = with_progress_token(params, call.id)
        request = JSONRPCRequest(id=call.id, method=method, params=params)
        check_request(method, params)
        data = dump_message(request)
        calls.open(call.id, call)
        sent = False
        try:
            with trio.CancelScope() as scope:
                call.limit = TimeLimit(options, scope)
                call.limit.arm()
                await self._stream.send(request, data)
                sent = True
                call.limit.start()
                return await call.wait()
            raise RequestTimeout(f"{method}: no answer within {options.timeout:g} s")
        except BaseException as exc:
            # What was being kept is not sent, but whoever resumes the stream may get it.
            is_known = sent or self._stream.may_have_kept(request)
            if calls.close(call.id) is not None and is_known and options.may_cancel:
                self._tell_cancelled(call, exc, is_sent=sent)
            raise

    def _check_open(self) -> None:
        if self._session.lost is not None:
            raise self._session.lost.again()
        if not self._stream.can_ask:
            raise ConnectionLost("The client has left the stream on which it could be asked")

    def _tell_cancelled(self, call: Call, exc: BaseException, *, is_sent: bool) -> None:
        params: JsonObject = {"requestId": call.id, "reason": reason_of(exc)}
        notice = JSONRPCNotification(method="notifications/cancelled", params=params)
        self._session.send_nowait(self._stream, notice, is_sent=is_sent)

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """See `Link.notify`."""
        await trio.lowlevel.checkpoint()
        if self._session.lost is not None:
            raise self._session.lost.again()
        await self._stream.send(*dump_notification(method, params))
