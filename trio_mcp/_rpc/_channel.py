"""What a carrier is to the rest of the package: a channel of lists of messages."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import trio

from trio_mcp._checks import check_kind
from trio_mcp.types import CONNECTION_CLOSED, ErrorData, JSONRPCError

from ._exchange import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._codec import Frame
    from trio_mcp.types import JSONRPCMessage, RequestId

    from ._exchange import Caller
    from ._link import Link
    from ._service import Serving


class Undelivered(JSONRPCError):
    """What a channel receives in place of an answer: a request of this side was not delivered.

    For carriers on which each message travels by itself, so that one that is lost harms no
    other. Whoever takes it for what it is to others, the error that answers, does well, too.

    Args:
      request_id: Of the request.
      why: What the caller is told.

    """

    __slots__ = ("why",)
    why: Exception

    def __init__(self, request_id: RequestId, why: Exception) -> None:
        error = ErrorData(code=CONNECTION_CLOSED, message=str(why))
        super().__init__(id=request_id, error=error)
        object.__setattr__(self, "why", why)


class Channel(trio.abc.AsyncResource):
    """A carrier of JSON-RPC messages in both directions.

    Messages travel in lists, so that a burst costs one system call and one checkpoint each
    way. One task may receive and one may send at a time.

    A channel unpacks into the two ends that `ClientSession` takes:
    ``read, write = channel``. Both are the channel itself.
    """

    __slots__ = ()

    @abstractmethod
    async def receive(self) -> list[Frame]:
        """Wait for the next messages: never an empty list.

        What arrives and is no JSON-RPC message comes as `Malformed`, so that it can be
        answered or reported and the session goes on.

        Raises:
          trio.EndOfChannel: if the peer said that no more comes. Where the carrier knows why
              (a process that died), the `ConnectionLost` to tell callers is its ``__cause__``.
          trio.ClosedResourceError: if this side closed the channel.
          trio.BrokenResourceError: if the connection broke; ``__cause__`` as above.

        """

    @abstractmethod
    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """Send messages, in order.

        Raises:
          trio.ClosedResourceError: if this side closed the channel.
          trio.BrokenResourceError: if the peer can no longer receive.

        Cancellation:
          Some of the bytes may have gone out; the channel must then be closed. Only the one
          writer task of a connection calls this, and it is cancelled only when the
          connection ends.

        """

    @property
    def hung_up(self) -> bool:
        """Whether it is sure that the peer has closed its side.

        Messages may still wait to be received. False where the carrier cannot tell.
        """
        return False

    @property
    def caller(self) -> Caller:
        """Who is at the other end, where an HTTP request said so.

        Where messages travel by requests of their own, who has sent those received last.
        """
        return NOBODY

    @abstractmethod
    async def aclose(self) -> None:
        """Close the channel, in bounded time, also when cancelled. May be called twice."""

    def __iter__(self) -> Iterator[Channel]:
        return iter((self, self))


class LinkedEnds(Channel):
    """The two ends of a carrier that has a link of its own, and no stream of messages.

    Over HTTP each request travels by itself. Its transports yield these ends all the same, for
    ``ClientSession(read, write)`` and `Client`, which open the link by them.
    """

    __slots__ = ()

    @abstractmethod
    def open_link(self, serving: Serving) -> AbstractAsyncContextManager[Link]:
        """Open the link; ``serving`` handles what the other side asks and tells."""

    async def receive(self) -> list[Frame]:
        """Raise a `RuntimeError`: messages come as answers to requests."""
        raise self._no_stream()

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """Raise a `RuntimeError`: messages go out as requests."""
        del messages
        raise self._no_stream()

    async def aclose(self) -> None:
        """Do nothing: the block of the transport closes what it has opened."""
        await trio.lowlevel.checkpoint()

    def _no_stream(self) -> RuntimeError:
        return RuntimeError(
            f"{type(self).__name__} is no stream of messages: pass both ends to ClientSession, or "
            "the transport to Client"
        )


class SplitChannel(Channel):
    """A channel whose two ends were given apart, as ``ClientSession(read, write)`` takes them."""

    __slots__ = ("_receiving", "_sending")

    def __init__(self, receiving: Channel, sending: Channel) -> None:
        self._receiving = receiving
        self._sending = sending

    async def receive(self) -> list[Frame]:
        """See `Channel.receive`."""
        return await self._receiving.receive()

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """See `Channel.send`."""
        await self._sending.send(messages)

    @property
    def hung_up(self) -> bool:
        """See `Channel.hung_up`."""
        return self._receiving.hung_up

    @property
    def caller(self) -> Caller:
        """See `Channel.caller`."""
        return self._receiving.caller

    async def aclose(self) -> None:
        """Close both ends."""
        try:
            await self._sending.aclose()
        finally:
            await self._receiving.aclose()


def join_ends(read: Channel, write: Channel | None) -> Channel:
    """Make one channel of what a transport yielded, however it was unpacked.

    Raises:
      TypeError: if it was not unpacked, or comes from something else.

    """
    _check_end("read_stream", read)
    if write is not None:
        _check_end("write_stream", write)
    if write is None or write is read:
        return read
    return SplitChannel(read, write)


def _check_end(argument: str, end: object) -> None:
    if isinstance(end, tuple):
        raise TypeError(f"{argument}: expected a Channel, got a tuple: unpack it (read, write)")
    check_kind(argument, end, Channel)
