"""The body of a response, read as it comes and left without a trace."""

from __future__ import annotations

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


class Body:
    """The bytes of a response, as they were sent.

    The iterator of an HTTP client that is not read to its end has to be cancelled in the
    middle of a read; left otherwise, its parts are closed in the wrong order, or never. So
    `leave` has to be called, whatever happens.

    Args:
      response: Of an HTTP client.
      what: The request, for errors.

    """

    __slots__ = ("_chunks", "_ended", "_response", "what")

    def __init__(self, response: Any, what: str) -> None:
        self._response = response
        self._chunks: AsyncIterator[bytes] = response.aiter_raw().__aiter__()
        self._ended = False
        self.what = what

    async def next(self) -> bytes | None:
        """Return the next bytes, or None at the end.

        Raises:
          ConnectionLost: if the body breaks off.

        """
        if self._ended:
            return None
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

    async def finish(self) -> None:
        """Wait for the end, for a moment, once all that matters has been read."""
        with trio.move_on_after(LAST_CHUNK_TIMEOUT), suppress(ConnectionLost):
            while await self.next() is not None:
                pass

    async def leave(self) -> None:
        """Close the response; one that was not read to its end closes its connection."""
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
        return _OnePart(stream.content)

    return type("PlainStream", (kind,), {"__init__": keep, "__aiter__": begin})


class _OnePart:
    def __init__(self, content: bytes) -> None:
        self._parts = [content]

    def __aiter__(self) -> _OnePart:
        return self

    async def __anext__(self) -> bytes:
        if not self._parts:
            raise StopAsyncIteration
        return self._parts.pop()
