"""The session of an older server over HTTP: its id, its own stream, its loss and its end."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._codec import parse_frame
from trio_mcp._codec._sse import EventSplitter, EventTooLong
from trio_mcp._rpc._calls import logger
from trio_mcp._rpc._flight import Together
from trio_mcp._rpc._repeats import Repeats
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError

from ._body import Body, give_turns
from ._client_answer import media_type
from ._client_retry import LASTING_SECONDS, MAX_FAILURES, Patience, Position, is_final
from ._endpoint import refused
from ._http_errors import shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._client_call import HttpCall
    from ._client_inbound import Inbound
    from ._endpoint import Endpoint

OPEN_SECONDS: Final = 0.25
"""How long a server may take to open the stream on which it speaks unasked, before it is asked
something itself: once for each session. Some send nothing before they have something to say."""

_ID: Final = re.compile(r"[!-~]+")  # sessions: visible ASCII


class HttpSession:
    """What is kept of an older server's session.

    Args:
      endpoint: Where the server is.
      inbound: Takes what it says unasked.
      initialize: Does the handshake with the params of the first one, and all that follows.

    Attributes:
      id: What the server calls the session; None where it has none.
      terminates: Whether leaving ends the session on the server, too.
      nursery: Runs the task that listens.

    """

    def __init__(
        self,
        endpoint: Endpoint,
        inbound: Inbound,
        initialize: Callable[[JsonObject], Awaitable[None]],
        max_event_size: int,
    ) -> None:
        self._endpoint = endpoint
        self._inbound = inbound
        self._initialize: Callable[[JsonObject], Awaitable[None]] | None = initialize
        self._max_event_size = max_event_size
        self._params: JsonObject = {}
        self._renewal = Together()
        self._listening = trio.CancelScope()
        self._warn = partial(Repeats().warn, logger)
        self.id: str | None = None
        self.terminates = True
        self.nursery: trio.Nursery | None = None

    def headers(self, revision: Revision | None) -> dict[str, str]:
        """Give the headers of a request within the session."""
        headers: dict[str, str] = {}
        if self.id is not None:
            headers["mcp-session-id"] = self.id
        if revision is not None and revision.has_version_header:
            headers["mcp-protocol-version"] = revision.version
        return headers

    def begin(self, params: JsonObject) -> None:
        """Remember how the session is opened: ``initialize`` is being sent."""
        self._params = params
        self.id = None

    def take_id(self, session_id: str | None) -> None:
        """Take the id that came with the answer.

        Raises:
          InvalidResponse: if it cannot be one.

        """
        if session_id is not None and not _ID.fullmatch(session_id):
            raise InvalidResponse("initialize: the id of the session is no visible ASCII")
        self.id = session_id

    # When the server has forgotten it

    async def renew(self, lost_id: str) -> None:
        """Have another session in place of a lost one; whoever comes first opens it for all.

        Raises:
          MCPError: if that fails; all who wait for the attempt are told.

        """
        # While one is under way, there is another id before that may be used.
        await self._renewal.do(
            partial(self._open_another, lost_id),
            lambda: self._renewal.is_under_way or self.id == lost_id,
        )

    async def _open_another(self, lost_id: str) -> None:
        assert self._initialize is not None
        self._warn("%s has lost the session: another one is opened", self._shown)
        self.stop_listening()
        try:
            await self._initialize(self._params)
        except BaseException:
            # If it was cancelled, another task takes over.
            self.id = lost_id
            raise

    # The stream on which the server speaks unasked

    async def listen(self, revision: Revision | None) -> None:
        """Begin to listen; a server that has no such stream says so, and that is all.

        Returns when the stream is open, or a moment later where it is not: what a server without
        an event store has to ask before that is lost.
        """
        await trio.lowlevel.checkpoint()
        if self.nursery is None or revision is None:
            return
        self._listening = trio.CancelScope()
        opened = trio.Event()
        self.nursery.start_soon(
            self._listen, self._listening, revision, opened, name="MCP GET stream"
        )
        with trio.move_on_after(OPEN_SECONDS):
            await opened.wait()

    def stop_listening(self) -> None:
        """Close that stream."""
        self._listening.cancel(reason="the session is over")

    async def _listen(
        self, scope: trio.CancelScope, revision: Revision, opened: trio.Event
    ) -> None:
        session_id = self.id
        is_lost = False
        try:
            with scope:
                is_lost = await self._keep_listening(revision, opened)
            if is_lost and session_id is not None:
                await self._replace(session_id)
        except Exception:  # noqa: BLE001 - such as of an `httpx.Auth`; it ends nothing else
            logger.exception("%s is not listened to any more", self._shown)
        finally:
            opened.set()

    async def _keep_listening(self, revision: Revision, opened: trio.Event) -> bool:
        """Listen for as long as the server lets us; returns whether it has lost the session."""
        position = Position()
        patience = Patience(position)
        was_open = False
        while True:
            try:
                body = await self._open_stream(position, revision)
            except ConnectionLost as exc:
                logger.debug("The stream for what the server says unasked: %s", exc)
                if exc.status == 404 and was_open:
                    return True
                if exc.status == 400 and position.last_event_id is not None:
                    # What the event was is forgotten there: what comes from now on is left.
                    position.last_event_id = None
                elif is_final(exc):
                    if was_open:
                        self._warn("%s is not listened to any more: %s", self._shown, exc)
                    return False
                patience.failed()
                opened.set()
            else:
                was_open = True
                opened.set()
                await self._hear(body, position, patience)
            if patience.failures == MAX_FAILURES:
                self._warn("%s does not keep its stream of messages open", self._shown)
            await patience.wait()

    async def _hear(self, body: Body, position: Position, patience: Patience) -> None:
        """Read the stream to its end."""
        splitter = EventSplitter(self._max_event_size)
        began = trio.current_time()
        bytes_came = messages_came = False
        try:
            while (chunk := await body.next()) is not None:
                bytes_came = True
                events = splitter.feed(chunk)
                position.moved(splitter)
                for place, event in enumerate(events):
                    await give_turns(place)
                    if event.data and event.event == "message":
                        messages_came = True
                        await self._inbound.take(parse_frame(event.data))
        except ConnectionLost as exc:
            logger.debug("The stream for what the server says unasked: %s", exc)
        except EventTooLong as exc:
            self._warn("%s: %s (max_sse_event_size), which is lost", body.what, exc)
            # There it would come again.
            position.last_event_id = None
        finally:
            await body.leave()  # noqa: ASYNC102 - it shields itself, bounded
        if messages_came or trio.current_time() - began >= LASTING_SECONDS:
            patience.succeeded()
        elif bytes_came:
            patience.polled()
        else:
            patience.failed()

    async def _replace(self, lost_id: str) -> None:
        """Have another session in place of a lost one, which nobody asks for but the listener."""
        patience = Patience(Position())
        while self.id == lost_id:
            try:
                await self.renew(lost_id)
                return
            except MCPError as exc:
                if not isinstance(exc, ConnectionLost) or is_final(exc):
                    # Whoever calls next tries again, and is told.
                    self._warn("The session could not be opened again: %s", exc)
                    return
                patience.failed()
                await patience.wait()

    async def resume(self, call: HttpCall, position: Position, revision: Revision | None) -> None:
        """Take up the stream of a call again, where it has got to, until the answer has come.

        Raises:
          ConnectionLost: if that is not to be had.

        """
        patience = Patience(position)
        while not call.is_settled:
            if position.last_event_id is None:
                raise ConnectionLost(
                    f"{call.method}: the stream ended before the answer, and the server has "
                    "taken back where it can be taken up again"
                )
            await patience.wait()
            try:
                body = await self._open_stream(position, revision)
            except ConnectionLost as exc:
                patience.failed()
                if is_final(exc) or patience.failures == MAX_FAILURES:
                    raise ConnectionLost(
                        f"{call.method}: the stream ended before the answer, and could not be "
                        f"taken up again: {exc}",
                        status=exc.status,
                    ) from exc
                continue
            # A server may close it on purpose, each time until there is something to say.
            may_poll = revision is not None and revision.has_sse_polling
            await self._read_on(call, body, position, patience, may_poll=may_poll)
            if patience.failures == MAX_FAILURES:
                raise ConnectionLost(
                    f"{call.method}: the stream ends again and again before the answer"
                )

    async def _read_on(
        self, call: HttpCall, body: Body, position: Position, patience: Patience, *, may_poll: bool
    ) -> None:
        before = position.last_event_id, call.taken
        began = trio.current_time()
        try:
            await call.read_events(body, position)
        except ConnectionLost as exc:
            logger.debug("%s: %s", call.method, exc)
            may_poll = False
        finally:
            await body.leave()  # noqa: ASYNC102 - it shields itself, bounded
        if call.taken != before[1] or trio.current_time() - began >= LASTING_SECONDS:
            patience.succeeded()
        elif may_poll or position.last_event_id != before[0]:
            patience.polled()
        else:
            patience.failed()

    async def _open_stream(self, position: Position, revision: Revision | None) -> Body:
        headers: dict[str, str | bytes] = {
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            **self.headers(revision),
        }
        if position.last_event_id is not None:
            headers["last-event-id"] = position.last_event_id
        response = await self._endpoint.send("GET", headers)
        what = f"GET {self._shown}"
        if response.status_code != 200 or media_type(response) != "text/event-stream":
            position.put_off(response.headers.get("retry-after", ""))
            raise await refused(response, what)
        return Body(response, what)

    # The end

    async def end(self, revision: Revision | None) -> None:
        """Tell the server that the session is over; it may not care.

        Cancellation:
          The server may not have been told.

        """
        if self.id is None or not self.terminates:
            return
        try:
            response = await self._endpoint.send("DELETE", self.headers(revision))
            await Body(response, "DELETE").leave()
        except ConnectionLost as exc:
            logger.debug("The server was not told that the session is over: %s", exc)
        except Exception:  # noqa: BLE001 - such as of an `httpx.Auth`; it ends nothing else
            logger.exception("The server was not told that the session is over")
        self.id = None

    def forget(self) -> None:
        """Let go of the link, so that it is freed at once."""
        self._initialize = self.nursery = None

    @property
    def _shown(self) -> str:
        return shown(self._endpoint.url)
