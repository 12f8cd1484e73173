"""Two channels joined in memory: what one side sends, the other receives."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias, final

import trio

from trio_mcp._checks import wrong_kind
from trio_mcp._codec._envelope import dump_message, parse_frame
from trio_mcp._codec._json import checked_copy
from trio_mcp._rpc._channel import Channel
from trio_mcp.types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp._codec._envelope import Frame
    from trio_mcp.types import JSONRPCMessage
    from trio_mcp.types._base import JsonObject

MAX_BUFFERED: Final = 100
"""How many messages may wait for their reader.

Enough for a burst to cost one task switch; a sender that outruns its reader still waits.
"""


def open_memory_channel_pair(
    *, max_buffered: int = MAX_BUFFERED, as_text: bool = False
) -> tuple[Channel, Channel]:
    """Make two channels, each the other's peer.

    What one side sends is a copy for the other, checked to be JSON: neither can change the
    other's data.

    Args:
      max_buffered: `Channel.send` waits while this many messages wait for the peer. A list
          that is sent whole may exceed it.
      as_text: Pass every message through JSON text, so that the peer gets exactly what it
          would get over a pipe.

    Raises:
      ValueError: if `max_buffered` is not positive.

    """
    if max_buffered < 1:
        raise ValueError(f"max_buffered is at least 1, not {max_buffered}")
    here, there = _Lane(max_buffered), _Lane(max_buffered)
    return MemoryChannel(here, there, as_text), MemoryChannel(there, here, as_text)


_Ends: TypeAlias = tuple[Channel, Channel]


@asynccontextmanager
async def create_client_server_memory_streams() -> AsyncGenerator[tuple[_Ends, _Ends], None]:
    """Open a joined pair; yield the client's (read, write) and the server's.

    Both ends of a side are its channel itself. Leaving the block closes all four and does
    not wait for anything.
    """
    client, server = open_memory_channel_pair()
    try:
        yield (client, client), (server, server)
    finally:
        # aclose() would do the same and then checkpoint, hiding the error in flight.
        for channel in (client, server):
            assert isinstance(channel, MemoryChannel)
            channel.close()


class _Lane:
    """One direction."""

    def __init__(self, max_buffered: int) -> None:
        self.max_buffered = max_buffered
        self.waiting: list[Frame] = []
        self.sender_closed = False
        self.receiver_closed = False
        self.filled: trio.Event | None = None  # the receiver waits for it
        self.drained: trio.Event | None = None  # the sender waits for it

    def wake(self) -> None:
        for event in (self.filled, self.drained):
            if event is not None:
                event.set()


@final
class MemoryChannel(Channel):
    """One side of a pair; see `open_memory_channel_pair`."""

    __slots__ = ("_as_text", "_inbound", "_outbound")

    def __init__(self, inbound: _Lane, outbound: _Lane, as_text: bool) -> None:
        self._inbound = inbound
        self._outbound = outbound
        self._as_text = as_text

    async def receive(self) -> list[Frame]:
        """Wait for the next messages, and take all that wait.

        Raises:
          trio.EndOfChannel: if the peer closed its side and everything it sent was received.
          trio.ClosedResourceError: if this side is closed.
          trio.BusyResourceError: if another task is receiving.

        """
        lane = self._inbound
        if lane.filled is not None:
            raise trio.BusyResourceError("another task is receiving from this channel")
        await trio.lowlevel.checkpoint()
        while not lane.waiting or lane.receiver_closed:
            if lane.receiver_closed:
                raise trio.ClosedResourceError("this channel is closed")
            if lane.sender_closed:
                raise trio.EndOfChannel
            lane.filled = trio.Event()
            try:
                await lane.filled.wait()
            finally:
                lane.filled = None
        messages, lane.waiting = lane.waiting, []
        if lane.drained is not None:
            lane.drained.set()
        return messages

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """Hand all of the messages to the peer, or none.

        Raises:
          trio.BrokenResourceError: if the peer closed its side.
          trio.ClosedResourceError: if this side is closed.
          trio.BusyResourceError: if another task is sending.
          TypeError, ValueError: if a message holds what JSON cannot say.

        Cancellation:
          If it raises Cancelled, nothing was sent.

        """
        lane = self._outbound
        if lane.drained is not None:
            raise trio.BusyResourceError("another task is sending to this channel")
        # Copied before the wait: what the caller changes meanwhile is the caller's.
        copies = [self._copy(message) for message in messages]
        await trio.lowlevel.checkpoint()
        while True:
            if lane.sender_closed:
                raise trio.ClosedResourceError("this channel is closed")
            if lane.receiver_closed:
                raise trio.BrokenResourceError("the peer closed its side")
            if len(lane.waiting) < lane.max_buffered:
                break
            lane.drained = trio.Event()
            try:
                await lane.drained.wait()
            finally:
                lane.drained = None
        lane.waiting += copies
        if lane.filled is not None:
            lane.filled.set()

    def close(self) -> None:
        """Close both directions; waiting tasks of either side learn it."""
        self._inbound.receiver_closed = True
        self._inbound.waiting.clear()
        self._outbound.sender_closed = True
        self._inbound.wake()
        self._outbound.wake()

    async def aclose(self) -> None:
        """Close both directions; waiting tasks of either side learn it. Does not wait."""
        self.close()
        await trio.lowlevel.checkpoint()

    def _copy(self, message: JSONRPCMessage) -> Frame:
        if self._as_text:
            return parse_frame(dump_message(message))
        if isinstance(message, JSONRPCResponse):
            return JSONRPCResponse(id=message.id, result=_copy_member(result=message.result))
        if isinstance(message, JSONRPCError):
            checked_copy(message.error.message, "message.error.message")
            data = _copy_member(error={"data": message.error.data})["data"]
            error = ErrorData(code=message.error.code, message=message.error.message, data=data)
            return JSONRPCError(id=message.id, error=error)
        checked_copy(message.method, "message.method")
        if message.params is None:
            return message
        params = _copy_member(params=message.params)
        if isinstance(message, JSONRPCRequest):
            return JSONRPCRequest(id=message.id, method=message.method, params=params)
        return JSONRPCNotification(method=message.method, params=params)


def _copy_member(**member: JsonObject) -> JsonObject:
    # Inside of its message, so that the depth counts as it does in a text.
    (copied,) = checked_copy(member, "message").values()
    if not is_object(copied):
        (name,) = member
        raise wrong_kind(f"message.{name}", "a JSON object", copied)
    return copied
