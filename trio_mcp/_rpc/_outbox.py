"""The one writer of a channel, and what waits for it."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._codec import why_unwritable
from trio_mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCResponse

from ._nursery import finish_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types import JSONRPCMessage

    from ._channel import Channel

logger: Final = logging.getLogger("trio_mcp")

NOTICE_TIMEOUT: Final = 0.5
"""Seconds that leaving a connection waits for notices (of cancellation) to be written."""

MAX_QUEUED: Final = 256
"""Messages that may wait for the wire before whoever notifies has to wait, too. Requests do not
count: each has a caller who waits anyway."""


@attrs.define(eq=False)
class Outgoing:
    """A message on its way. The writer takes it once and lets go of it."""

    message: JSONRPCMessage | None
    on_written: Callable[[], None] | None = None
    on_failed: Callable[[TypeError | ValueError], None] | None = None

    def withdraw(self) -> bool:
        """Take the message back; False when the writer has it already."""
        queued = self.message is not None
        self.message = None
        return queued


@attrs.define(eq=False)
class Outbox:
    """Queues whole messages for one writer task, which takes along all that has queued up.

    Since only that task writes, a caller that is cancelled never leaves half a frame; what
    is still queued can be withdrawn.
    """

    _channel: Channel
    unsent_answers: int = attrs.field(default=0, init=False)
    """How many answers are queued."""
    _queue: deque[Outgoing] = attrs.Factory(deque[Outgoing])
    _writer: trio.lowlevel.Task | None = None
    _running: bool = False
    # True while a frame may be half written: if the writer is cancelled then, nothing may
    # follow on this channel.
    _mid_frame: bool = False
    _room: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    def put(
        self,
        message: JSONRPCMessage,
        on_written: Callable[[], None] | None = None,
        on_failed: Callable[[TypeError | ValueError], None] | None = None,
    ) -> Outgoing:
        """Queue a message behind those that wait already.

        Args:
          message: To be written.
          on_written: Called when that was done; must not raise.
          on_failed: Called instead, with the reason, if the message cannot be written as
              JSON; must not raise.

        """
        outgoing = Outgoing(message, on_written, on_failed)
        self._queue.append(outgoing)
        if self._writer is not None:
            writer, self._writer = self._writer, None
            trio.lowlevel.reschedule(writer)
        return outgoing

    def put_answer(
        self,
        message: JSONRPCResponse | JSONRPCError,
        on_written: Callable[[], None] | None = None,
    ) -> None:
        """Queue what answers a message of the peer; otherwise as `put`."""
        self.unsent_answers += 1
        self.put(message, on_written)

    async def wait_room(self) -> None:
        """Wait while `MAX_QUEUED` messages wait for the wire. Not a checkpoint."""
        while len(self._queue) >= MAX_QUEUED and self._running:
            await self._room.park()

    async def wait_answers_taken(self, limit: int) -> None:
        """Wait while more answers than the limit wait for the wire. Not a checkpoint."""
        while self.unsent_answers > limit and self._running:
            await self._room.park()

    async def run(self) -> None:
        """Write until cancelled.

        Raises:
          trio.BrokenResourceError: if the channel no longer takes messages.
          trio.ClosedResourceError: if it was closed.

        """
        self._running = True
        try:
            while True:
                if not self._queue:
                    await self._wait_for_work()
                await self._send_queued()
        finally:
            self._running = False
            self._room.unpark_all()

    async def finish(self) -> None:
        """Write what was put, for at most `NOTICE_TIMEOUT` seconds, also when cancelled."""
        with finish_within(NOTICE_TIMEOUT):
            await self.wait_flushed()
            if self._queue and not self._mid_frame:
                # It fails when nobody is left to read it.
                with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    await self._send_queued()

    async def wait_flushed(self) -> None:
        """Wait until nothing is queued and nothing is being written, or the writer ended."""
        while (self._queue or self._mid_frame) and self._running:
            await self._room.park()

    async def _wait_for_work(self) -> None:
        def abort(_: object) -> trio.lowlevel.Abort:
            self._writer = None
            return trio.lowlevel.Abort.SUCCEEDED

        self._writer = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(abort)

    async def _send_queued(self) -> None:
        # A writer that is cancelled by now leaves all to `finish`.
        await trio.lowlevel.checkpoint_if_cancelled()
        taken = [each for each in self._queue if each.message is not None]
        self._queue.clear()
        self.unsent_answers = 0
        messages: list[JSONRPCMessage] = []
        for outgoing in taken:
            assert outgoing.message is not None
            messages.append(outgoing.message)
            outgoing.message = None
        if messages:
            self._mid_frame = True
            try:
                await self._channel.send(messages)
            except (TypeError, ValueError) as exc:
                # One of them is no JSON, so none was sent. It must not harm the others.
                writable = _without_unwritable(taken, messages)
                if writable is None:
                    raise
                logger.debug("Messages were held up by one that is no JSON: %s", exc)
                if writable:
                    await self._channel.send(writable)
            self._mid_frame = False
        for outgoing in taken:
            if outgoing.on_written is not None:
                outgoing.on_written()
        if self._room:
            self._room.unpark_all()


def _without_unwritable(
    taken: list[Outgoing], messages: list[JSONRPCMessage]
) -> list[JSONRPCMessage] | None:
    """Tell those whose messages cannot be written; return the rest, None if that is all."""
    writable: list[JSONRPCMessage] = []
    failed = False
    for outgoing, message in zip(taken, messages, strict=True):
        why = why_unwritable(message)
        if why is None:
            writable.append(message)
            continue
        failed = True
        substitute = _settle(outgoing, message, why)
        if substitute is not None:
            writable.append(substitute)
    return writable if failed else None


def _settle(
    outgoing: Outgoing, message: JSONRPCMessage, why: TypeError | ValueError
) -> JSONRPCMessage | None:
    """Say that a message cannot be written, and return what is written in its place."""
    if outgoing.on_failed is not None:
        # It never went out, so it can still be withdrawn: nothing has to be cancelled.
        outgoing.message = message
        outgoing.on_written = None
        outgoing.on_failed(why)
        return None
    logger.error("A message cannot be written as JSON: %s", why)
    if isinstance(message, (JSONRPCResponse, JSONRPCError)):
        # Whoever waits for an answer gets one.
        error = ErrorData(code=INTERNAL_ERROR, message="Internal server error")
        return JSONRPCError(id=message.id, error=error)
    return None
