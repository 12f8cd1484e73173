"""The body of a response, read as it comes and left without a trace."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._rpc._nursery import finish_within
from trio_mcp.errors import ConnectionLost, InvalidResponse

from ._http_errors import is_http_error, lost_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LEAVE_TIMEOUT: Final = 1.0
"""Seconds for closing a connection whose response is not wanted any more. It takes none."""

LAST_CHUNK_TIMEOUT: Final = 0.25
"""Seconds that are waited for the end of a stream behind its answer, so that the connection
can be used again."""

REFUSAL_TIMEOUT: Final = 10.0
"""Seconds for what a server has to say of its refusal: its status is known already."""

PIECES_AT_ONCE: Final = 32
"""Pieces of a body, or events in one of them, that are taken without letting other tasks run. A
client has thousands at once if a server makes them as small as can be."""

PIECE_SIZE: Final = 64 * 1024
"""Bytes of a request that have to be taken within the time limit. Smaller ones cost time: at
16 KiB a large request takes three times as long."""


class Body:
    """The bytes of a response, as they were sent.

    The iterator of an HTTP client that is not read to its end has to be cancelled in the
    middle of a read; left otherwise, its parts are closed in the wrong order, or never. So
    `leave` has to be called, whatever happens.

    Args:
      response: Of an HTTP client.
      what: The request, for errors.

    Raises:
      ConnectionLost: if somebody else has read it, and kept nothing.

    """

    __slots__ = ("_chunks", "_ended", "_given_away", "_response", "_taken", "what")

    def __init__(self, response: Any, what: str) -> None:
        self._response = response
        self._chunks = _chunks_of(response, what)
        self._ended = False
        self._given_away = False
        self._taken = 0
        self.what = what

    def give_away(self) -> Body:
        """Give the rest to another owner, who has to leave it in place of this one."""
        rest = copy.copy(self)
        self._ended = self._given_away = True
        return rest

    async def next(self) -> bytes | None:
        """Return the next bytes, or None at the end.

        Raises:
          ConnectionLost: if the body breaks off.

        """
        if self._ended:
            return None
        self._taken += 1
        if self._taken % PIECES_AT_ONCE == 0:
            # A cancellation is for the read below, as `leave` has it.
            await trio.lowlevel.cancel_shielded_checkpoint()
        try:
            return await self._chunks.__anext__()
        except StopAsyncIteration:
            self._ended = True
            return None
        except Exception as exc:
            self._ended = True
            if is_http_error(exc):
                raise lost_by(exc, self.what) from exc
            raise
        except BaseException:
            self._ended = True
            raise

    async def read(self, limit: int) -> bytes:
        """Read to the end.

        Raises:
          ConnectionLost: if the body breaks off.
          InvalidResponse: if it is larger than the limit.

        """
        parts: list[bytes] = []
        size = 0
        while (part := await self.next()) is not None:
            parts.append(part)
            size += len(part)
            if size > limit:
                raise InvalidResponse(f"{self.what}: an answer of more than {limit} bytes")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def read_begin(self, limit: int) -> bytes:
        """Read what a refusal says for itself: its begin, or what comes before it breaks off."""
        data = b""
        with trio.move_on_after(REFUSAL_TIMEOUT), suppress(ConnectionLost):
            while len(data) <= limit and (part := await self.next()) is not None:
                data += part
        return data[:limit]

    async def finish(self) -> None:
        """Wait for the end, for a moment, once all that matters has been read."""
        with trio.move_on_after(LAST_CHUNK_TIMEOUT), suppress(ConnectionLost):
            while await self.next() is not None:
                pass

    async def leave(self) -> None:
        """Close the response; one that was not read to its end closes its connection."""
        if self._given_away:
            return
        if not self._ended:
            with finish_within(LEAVE_TIMEOUT) as scope:
                scope.cancel(reason="the rest of the response is not wanted")
                with suppress(ConnectionLost):
                    # What has been received already comes without a wait to be cancelled.
                    while await self.next() is not None:
                        pass
        if not self._response.is_closed:
            with finish_within(LEAVE_TIMEOUT):
                await self._response.aclose()


async def give_turns(place: int) -> None:
    """Let other tasks run before one of many events, by its place among them, is taken."""
    if place % PIECES_AT_ONCE == PIECES_AT_ONCE - 1:
        await trio.lowlevel.checkpoint()


def _chunks_of(response: Any, what: str) -> AsyncIterator[bytes]:
    if getattr(response, "is_stream_consumed", False):
        # An `httpx.Auth` or a hook of the user has read it.
        try:
            return _Parts(response.content)
        except Exception as exc:
            if is_http_error(exc):
                raise lost_by(exc, what) from exc
            raise
    chunks: AsyncIterator[bytes] = response.aiter_raw().__aiter__()
    return chunks


def without_generator(stream: Any, content: bytes) -> Any:
    """Replace the body of a request, which a client reads by a generator.

    A request that is cancelled while it is being written would leave the generator as it is,
    and Trio would warn when it is thrown away.
    """
    kind: type[object] = stream.__class__
    if kind.__name__ != "ByteStream":
        return stream
    if kind not in _PLAIN:
        _PLAIN[kind] = _make_plain(kind)
    return _PLAIN[kind](content)


_PLAIN: Final[dict[type[object], Any]] = {}


def _make_plain(kind: type[object]) -> Any:
    # A client takes only streams of its own kind.
    def keep(stream: Any, content: bytes) -> None:
        stream.content = content

    def begin(stream: Any) -> AsyncIterator[bytes]:
        return _Parts(stream.content, PIECE_SIZE)

    return type("PlainStream", (kind,), {"__init__": keep, "__aiter__": begin})


class _Parts:
    """Bytes in pieces; in one by default."""

    def __init__(self, content: bytes, size: int | None = None) -> None:
        self._content = memoryview(content)
        self._size = size or len(content)
        self._sent = 0

    def __aiter__(self) -> _Parts:
        return self

    async def __anext__(self) -> bytes:
        if self._sent >= len(self._content):
            raise StopAsyncIteration
        start = self._sent
        self._sent += self._size
        return bytes(self._content[start : self._sent])
