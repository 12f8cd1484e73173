"""The task in which the WebSocket library reads, and what becomes of its errors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, final

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_websocket import WebSocketConnection

    from ._stream import GuardedStream

    Handshake = Callable[[trio.Nursery, GuardedStream], Awaitable[WebSocketConnection]]

logger: Final = logging.getLogger("trio_mcp.websocket")


class NoHandshake(Exception):
    """There was no opening handshake. Its cause is what the library raised, if anything."""


@final
class Reader:
    """Runs the library's task for one connection, in a nursery that its errors do not leave.

    A peer can make it raise anything: text that is not ASCII in a head, a ping while the
    connection is being closed.

    Args:
      stream: The connection.
      handshake: Carries out the opening handshake, in a nursery.

    Attributes:
      failure: What it raised.

    """

    def __init__(self, stream: GuardedStream, handshake: Handshake) -> None:
        self._stream = stream
        self._handshake = handshake
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self.failure: Exception | None = None

    @trio.lowlevel.enable_ki_protection
    async def run(  # noqa: ASYNC114 - only `open_websocket_channel` starts it
        self,
        *,
        task_status: trio.TaskStatus[WebSocketConnection] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Read until the connection ends, from the opening handshake on.

        Raises:
          NoHandshake: before it has reported the connection, if there will be none.

        """
        started = False
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    connection = await self._open(nursery)
                    started = True
                    self._stream.open()
                    task_status.started(connection)
        except BaseExceptionGroup as group:
            failures, rest = group.split(Exception)
            if rest is not None:
                raise rest from None
            assert failures is not None
            self._failed(failures, started=started)
        finally:
            self._ended.set()
        if not started:
            raise NoHandshake from self.failure

    async def _open(self, nursery: trio.Nursery) -> WebSocketConnection:
        # Where the library's task has come to its end, what waits for it is not told.
        try:
            with trio.CancelScope() as waiting:
                self._stream.on_end = lambda: waiting.cancel(reason="the connection ended")
                return await self._handshake(nursery, self._stream)
        finally:
            self._stream.on_end = None
        raise NoHandshake

    def _failed(self, failures: BaseExceptionGroup[Exception], *, started: bool) -> None:
        _, failures_of_library = failures.split(NoHandshake)
        if failures_of_library is None:
            return
        exc: BaseException = failures_of_library
        while isinstance(exc, BaseExceptionGroup):
            exc = exc.exceptions[0]
        assert isinstance(exc, Exception)
        # Without its traceback, which would keep alive all that it ran through.
        self.failure = exc.with_traceback(None)
        # A client raises it; and before there is a connection, somebody else tells.
        level = logging.WARNING if started and not self._stream.is_client else logging.DEBUG
        logger.log(level, "A connection was dropped: %s: %s", type(exc).__name__, exc)

    async def stop(self) -> None:
        """End it, and wait until it has."""
        self._scope.cancel(reason="the connection is closed")
        await self._ended.wait()
