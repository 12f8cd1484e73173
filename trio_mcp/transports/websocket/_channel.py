"""A WebSocket connection as a channel: each message is one text frame."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, final

import trio
from trio_websocket import ConnectionClosed
from wsproto.utilities import LocalProtocolError

from trio_mcp._codec._envelope import dump_message, parse_frame
from trio_mcp._rpc._channel import Channel
from trio_mcp._rpc._exchange import NOBODY
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp.errors import ConnectionLost

from ._defaults import CLOSE_TIMEOUT, CUT_OFF, INTERNAL_ERROR, NOT_UTF8, PROTOCOL_ERROR
from ._frames import Close
from ._keeper import Keeper
from ._reader import Reader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_websocket import WebSocketConnection

    from trio_mcp._codec._envelope import Frame
    from trio_mcp._rpc._exchange import Caller
    from trio_mcp.types import JSONRPCMessage

    from ._reader import Handshake
    from ._stream import GuardedStream

_FOUND_BY_DECODER: Final = frozenset({PROTOCOL_ERROR, NOT_UTF8})


@asynccontextmanager
async def open_websocket_channel(
    stream: GuardedStream,
    handshake: Handshake,
    *,
    close: Close,
    ping_interval: float | None,
    ping_timeout: float,
) -> AsyncGenerator[WebSocketChannel, None]:
    """Carry out the opening handshake; the connection is closed at the end of the block.

    Args:
      stream: The connection.
      handshake: Carries out the handshake, in a nursery.
      close: What is said when this side closes.
      ping_interval: Seconds of silence before the peer is asked whether it is there; None not
          to ask.
      ping_timeout: Seconds in which something has to come then.

    Raises:
      NoHandshake: if there is no opening handshake; the caller has the connection to close then.

    Cancellation:
      Leaving takes `CLOSE_TIMEOUT` seconds at most.

    """
    reader = Reader(stream, handshake)
    async with open_background_nursery() as nursery:
        connection = await nursery.start(reader.run, name="WebSocket reader")
        channel = WebSocketChannel(stream, reader, connection, close)
        try:
            if ping_interval is not None:
                keeper = Keeper(connection, stream, ping_interval, ping_timeout)
                nursery.start_soon(keeper.run, name="WebSocket pings")
            yield channel
        finally:
            await channel.finish()  # noqa: ASYNC102 - it shields itself, bounded


@final
class WebSocketChannel(Channel):
    """A channel over one connection. Made by `open_websocket_channel`.

    A text frame that is no message is received as `Malformed`. What WebSockets themselves do
    not allow, or this package does not take, ends the connection with a code that says so.
    """

    __slots__ = (
        "_caller",
        "_close",
        "_closed",
        "_connection",
        "_done",
        "_reader",
        "_receiving",
        "_sending",
        "_stopped",
        "_stream",
    )

    def __init__(
        self,
        stream: GuardedStream,
        reader: Reader,
        connection: WebSocketConnection,
        close: Close,
    ) -> None:
        self._caller = NOBODY
        self._stream = stream
        self._reader = reader
        self._connection = connection
        self._close = close
        self._receiving: trio.CancelScope | None = None
        self._sending = False
        self._stopped = False
        self._closed = False
        self._done = trio.Event()

    @property
    def caller(self) -> Caller:
        """See `Channel.caller`. Set by the server, which has read the request."""
        return self._caller

    @caller.setter
    def caller(self, caller: Caller) -> None:
        self._caller = caller

    async def receive(self) -> list[Frame]:
        """Wait for the next message; see `Channel.receive`.

        Raises:
          trio.BusyResourceError: if another task is receiving.

        """
        if self._receiving is not None:
            raise trio.BusyResourceError("another task is receiving from this channel")
        if self._closed or self._stopped:
            await trio.lowlevel.checkpoint()
            raise self._end()
        try:
            with trio.CancelScope() as self._receiving, suppress(ConnectionClosed):
                return [parse_frame(await self._connection.get_message())]
        finally:
            self._receiving = None
        raise self._end()

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """Send messages, each as a frame, in one go; see `Channel.send`.

        Raises:
          trio.BusyResourceError: if another task is sending.
          TypeError, ValueError: if a message holds what JSON cannot say; nothing is sent.

        """
        if self._sending:
            raise trio.BusyResourceError("another task is sending to this channel")
        texts = [dump_message(message).decode() for message in messages]
        self._sending = True
        try:
            if self._closed:
                await trio.lowlevel.checkpoint()
            else:
                with suppress(ConnectionClosed, LocalProtocolError):
                    await self._write(texts)
                    if not self._stream.unwritable:
                        return
        finally:
            self._sending = False
        if self._closed:
            raise trio.ClosedResourceError("this channel was closed")
        raise trio.BrokenResourceError(f"{self._stream.peer} no longer reads") from self._known()

    async def _write(self, texts: list[str]) -> None:
        if len(texts) == 1:
            await self._connection.send_message(texts[0])
            return
        self._stream.cork()
        try:
            for text in texts:
                await self._connection.send_message(text)
        finally:
            await self._stream.uncork()  # noqa: ASYNC102 - can be cancelled

    @property
    def hung_up(self) -> bool:
        """See `Channel.hung_up`."""
        return self._stream.gate.close_seen or self._stream.ended

    def stop(self) -> None:
        """Take no more messages: `receive` says that the end has come."""
        self._stopped = True
        if self._receiving is not None:
            self._receiving.cancel(reason="no more messages are taken")

    async def aclose(self) -> None:
        """Close in good order, within `CLOSE_TIMEOUT` seconds, also when cancelled."""
        await self.finish()
        await trio.lowlevel.checkpoint()

    async def finish(self, close: Close | None = None) -> None:
        """Close as `aclose` does, without raising `trio.Cancelled`, for the end of a block.

        Args:
          close: What to say; where the peer did something wrong, that is said instead.

        """
        if self._closed:
            with finish_within(CLOSE_TIMEOUT):
                await self._done.wait()
            return
        self._closed = True
        if self._receiving is not None:
            self._receiving.cancel(reason="the channel was closed")
        try:
            with finish_within(CLOSE_TIMEOUT):
                await self._reader.stop()
                await self._stream.part(self._fault() or close or self._close)
        finally:
            self._stream.close()
            self._done.set()

    # Why it ended

    def _end(self) -> Exception:
        if self._closed:
            return trio.ClosedResourceError("this channel is closed")
        if self._stopped:
            return trio.EndOfChannel()
        lost = self._known() or ConnectionLost(
            f"Connection closed: {self._stream.peer} ended it without a closing handshake",
            close_code=CUT_OFF,
        )
        said_so = self._stream.gate.close_seen
        end = trio.EndOfChannel() if said_so else trio.BrokenResourceError(lost.message)
        end.__cause__ = lost
        return end

    @property
    def dropped(self) -> ConnectionLost | None:
        """Why this side gave up its peer; None if it has not, or where the reader has told it."""
        if self._reader.failure is None and (self._stream.lost or self._fault()):
            return self._known()
        return None

    def _known(self) -> ConnectionLost | None:
        stream, said = self._stream, self._connection.closed
        if stream.lost is not None:
            return stream.lost
        fault = self._fault()
        if fault is not None:
            cause = "" if self._reader.failure is None else f" ({self._reader.failure!r:.200})"
            return ConnectionLost(
                f"Connection closed: {stream.peer} sent {fault.reason}{cause}",
                close_code=fault.code,
            )
        if stream.gate.close_seen and said is not None:
            reason = f": {said.reason!r:.200}" if said.reason else ""
            code = int(said.code)
            return ConnectionLost(
                f"Connection closed: {stream.peer} closed it with code {code}{reason}",
                close_code=code,
            )
        return None

    def _fault(self) -> Close | None:
        """Say what the peer did wrong."""
        stream, found = self._stream, self._connection.closed
        if stream.gate.refusal is not None:
            return stream.gate.refusal
        if self._reader.failure is not None:
            return Close(INTERNAL_ERROR, "what cannot be dealt with")
        if found is None or found.code not in _FOUND_BY_DECODER:
            return None
        # The library answers a peer that closes, by such a code or another, and nothing else.
        if stream.gate.close_seen and stream.close_sent:
            return None
        return Close(int(found.code), f"frames that are none ({found.reason})")
