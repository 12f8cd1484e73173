"""One request of a connection, as an ASGI application sees it: what it receives and sends."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from hypercorn.typing import ASGIReceiveEvent, ASGISendEvent

    Message = MutableMapping[str, Any]
    AsgiApp = Callable[
        [
            MutableMapping[str, Any],
            Callable[[], Awaitable[Message]],
            Callable[[Message], Awaitable[None]],
        ],
        Awaitable[None],
    ]

logger: Final = logging.getLogger("trio_mcp.http")

MAX_UNRECEIVED: Final = 256 * 1024
"""Bytes of a body that may wait for the application before the connection is not read on."""

SMALL: Final = 4 * 1024
"""Bytes up to which parts of a body are put together where they wait: each takes the memory of an
object, and a client may send them byte by byte."""

PARTS_AT_ONCE: Final = 32
"""Parts of a body that are taken without letting other tasks run. 64 KiB that are read at once can
hold ten thousand of them, each of which takes some 40 µs to read."""

EXTENSION: Final = "trio_mcp"
"""The key in a scope's ``extensions`` under which a request says what ASGI has no word for.

``scope["extensions"]["trio_mcp"]["disconnect"]`` is a plain function that takes another one,
without arguments, to be called when the client has gone before its answer was complete; at
once if that is so already. It must neither raise nor wait. So an application needs no task
that waits in ``receive()`` beside the one that works.
"""


class AsgiRequest:
    """The two ends that the application is called with, and the connection's side of them.

    Args:
      scope: Of the request.
      send: Hypercorn's: what the application sends, and None when it has ended.
      flush: Writes what was sent so far.
      want: Called when the application waits for the first bytes of the body, with 0, and when
          it has taken some and more is to come, with their number.
      body_seconds: How long the whole body may take.

    """

    __slots__ = (
        "_answered",
        "_changed",
        "_deadline",
        "_flush",
        "_gone",
        "_listeners",
        "_parts",
        "_puts",
        "_room",
        "_send",
        "_size",
        "_started",
        "_told_whole",
        "_want",
        "_wanted",
        "_whole",
        "scope",
    )

    def __init__(
        self,
        scope: Any,
        send: Callable[[ASGISendEvent | None], Awaitable[None]],
        flush: Callable[[], Awaitable[None]],
        want: Callable[[int], Awaitable[None]],
        body_seconds: float,
    ) -> None:
        self.scope: dict[str, Any] = scope
        self._send = send
        self._flush = flush
        self._want = want
        self._wanted = False
        self._deadline = trio.current_time() + body_seconds
        self._parts: deque[bytes | bytearray] = deque()
        self._puts = 0
        self._size = 0
        self._whole = False  # the body has come
        self._told_whole = False
        self._gone = False
        self._started = False
        self._answered = False
        self._changed = trio.lowlevel.ParkingLot()
        self._room = trio.lowlevel.ParkingLot()
        self._listeners: list[Callable[[], None]] = []
        extensions = self.scope.setdefault("extensions", {})
        extensions[EXTENSION] = {"disconnect": self.on_disconnect}

    # The connection's side

    async def put(self, event: ASGIReceiveEvent) -> None:
        """Take what hypercorn read; waits while too much of the body waits."""
        message: Any = event
        if message["type"] == "http.disconnect":
            self.disconnect()
            return
        self._puts += 1
        if self._puts % PARTS_AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
        while self._size > MAX_UNRECEIVED and not self._gone:
            await self._room.park()
        if self._gone:
            return
        body = message["body"]
        if body:
            self._keep(body)
        self._whole = not message["more_body"]
        self._changed.unpark_all()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        last = self._parts[-1] if self._parts else b""
        if not last or len(last) + len(part) > SMALL:
            self._parts.append(part)
            return
        if not isinstance(last, bytearray):
            last = self._parts[-1] = bytearray(last)
        last += part

    def disconnect(self) -> None:
        """The client has gone, or has its answer: nothing comes any more."""
        if self._gone:
            return
        self._gone = True
        if not self._answered:
            for listener in self._listeners:
                listener()
        self._listeners.clear()
        self._changed.unpark_all()
        self._room.unpark_all()

    async def run(self, app: AsgiApp) -> None:
        """Call the application. What it raises is logged, and answered with a bare 500.

        Cancellation:
          The answer stays as it is; the connection is about to end.

        """
        try:
            await app(self.scope, self._receive, self._send_message)
        except Exception:
            logger.exception("The application failed: %s", self._name)
        except BaseExceptionGroup as group:
            failures, rest = group.split(Exception)
            if failures is not None:
                logger.exception("The application failed: %s", self._name, exc_info=failures)
            if rest is not None:
                raise rest from None
        else:
            if not (self._answered or self._gone):
                logger.error("The application returned without an answer: %s", self._name)
        await self._send(None)
        await self._flush()

    @property
    def _name(self) -> str:
        return f"{self.scope['method']} {self.scope['path']!r:.200}"

    # The application's side

    def on_disconnect(self, listener: Callable[[], None]) -> None:
        """See `EXTENSION`."""
        if self._gone and not self._answered:
            listener()
        elif not self._answered:
            self._listeners.append(listener)

    async def _receive(self) -> Message:
        if not (self._has_body() or self._gone or self._whole or self._wanted):
            self._wanted = True
            await self._want(0)
            await self._flush()
        while not self._has_body() and not self._gone:
            # More than once, since a frame of HTTP/2 may hold nothing.
            await self._wait()
        if self._has_body():
            body = bytes(self._parts[0]) if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            self._room.unpark_all()
            self._told_whole = self._whole
            if not self._whole:
                self._wanted = True
                await self._want(len(body))
            return {"type": "http.request", "body": body, "more_body": not self._told_whole}
        await trio.lowlevel.checkpoint()
        return {"type": "http.disconnect"}

    def _has_body(self) -> bool:
        if self._whole:
            return not self._told_whole
        return bool(self._parts) and not self._gone

    async def _wait(self) -> None:
        if self._whole:
            await self._changed.park()
            return
        with trio.CancelScope(deadline=self._deadline) as limit:
            await self._changed.park()
        if limit.cancelled_caught and not self._gone:
            await self._give_up_waiting()

    async def _give_up_waiting(self) -> None:
        logger.info("The body did not come in time: %s", self._name)
        if not self._started:
            headers = [(b"content-length", b"0"), (b"connection", b"close")]
            if self.scope["http_version"] not in {"1.0", "1.1"}:
                headers.pop()  # HTTP/2 has no such field
            await self._send({"type": "http.response.start", "status": 408, "headers": headers})
            # As this ends the answer, hypercorn closes the connection: not all has been read.
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        self.disconnect()
        await self._flush()

    async def _send_message(self, message: Message) -> None:
        if self._gone:
            await trio.lowlevel.checkpoint()
            return
        kind = message["type"]
        if kind == "http.response.start":
            self._started = True
        elif kind == "http.response.body" and not message.get("more_body", False):
            self._answered = True
        await self._send(message)  # type: ignore[arg-type] # ASGI: applications know no TypedDicts
        # ASGI: an answer starts with the first part of its body. So head and body are one
        # write, and an application that fails in between can still be answered for.
        if kind != "http.response.start":
            await self._flush()
