"""One connection: reads and writes for hypercorn's protocol objects, in a task of our own.

Hypercorn's own driver lets one connection end the whole server, waits without end (and behind
a shield) for clients that do not read, and has a task wait for each idle connection. Here

* whatever goes wrong ends this connection, and no other;
* a write has a time limit, and cancelling is never shielded from;
* the head of a request, its body and the pause between two have time limits, which cost
  nothing while a request runs;
* an answer whose parts are ready is one write.

The task that reads belongs to the connection, and beside it runs one for each request. A
client that leaves ends the reading alone: the applications are told, and end by themselves.
"""

from __future__ import annotations

import logging
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio
from hypercorn.events import Closed, RawData, Updated
from hypercorn.typing import ConnectionState

from trio_mcp.transports._connections import tell_unbegun

from ._asgi_request import AsgiRequest
from ._asgi_scope import address_of, put_below_root
from ._protocols import Http1, Http2, UnwantedProtocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hypercorn.events import Event
    from hypercorn.trio.worker_context import WorkerContext
    from hypercorn.typing import ASGIReceiveEvent, ASGISendEvent

    from ._asgi_request import AsgiApp
    from ._protocols import HttpConfig

    Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]

logger: Final = logging.getLogger("trio_mcp.http")

READ_SIZE: Final = 64 * 1024

WRITE_SIZE: Final = 64 * 1024
"""Bytes of TLS that a client has to take within the limit of time."""

MAX_READ_AHEAD: Final = 64 * 1024
"""Bytes that may come behind a running request. With more, the connection ends after it: not to
read on would be not to notice when the client goes."""

MAX_UNSENT: Final = 64 * 1024
"""Bytes of HTTP/2 that may wait to be written before those who send wait, too."""

LINGER_TIMEOUT: Final = 1.0
"""Seconds in which a client that is still sending its request may read the answer. Closing at
once would have the system discard the answer along with what was not read."""

CLOSE_TIMEOUT: Final = 1.0
"""Seconds for the last bytes of TLS."""


@attrs.frozen
class Limits:
    """How long a client may take for what; in seconds."""

    head: float
    body: float
    write: float
    keep_alive: float


class HttpConnection:
    """One connection, from its first byte to its last.

    Args:
      app: Handles the requests.
      config: Of hypercorn's protocol objects.
      context: Theirs, too: whether the server is about to stop.
      limits: Of time.
      state: What the lifespan of the application gave its requests.
      stream: The connection; closed when `run` returns.

    """

    __slots__ = (
        "_ahead",
        "_app",
        "_broken",
        "_config",
        "_context",
        "_idle",
        "_in_head",
        "_limits",
        "_lock",
        "_nursery",
        "_out",
        "_protocol",
        "_reading",
        "_room",
        "_socket",
        "_state",
        "_stream",
        "_unsent",
        "_work",
    )

    def __init__(
        self,
        app: AsgiApp,
        config: HttpConfig,
        context: WorkerContext,
        limits: Limits,
        state: dict[str, Any],
        stream: Stream,
    ) -> None:
        self._app = app
        self._config = config
        self._context = context
        self._limits = limits
        self._state = state
        self._stream = stream
        plain = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
        self._socket = plain.socket
        self._nursery: trio.Nursery | None = None
        self._protocol: Http1 | Http2 | None = None
        # Its deadline is that of the pause or the head that is being waited for.
        self._reading = trio.CancelScope()
        self._idle = True
        self._in_head = False
        self._ahead = bytearray()
        self._out: list[bytes] = []
        self._lock = trio.Lock()
        self._broken = False
        # Of HTTP/2, where several requests write: its one writer.
        self._unsent = 0
        self._work: trio.Event | None = None
        self._room = trio.lowlevel.ParkingLot()

    async def run(self, on_closed: Callable[[], None]) -> None:
        """Serve the connection until either side ends it, and its applications have ended.

        Args:
          on_closed: Called when the connection itself is closed.

        """
        try:
            try:
                protocol = await self._begin()
            except (OSError, trio.BrokenResourceError, trio.TooSlowError) as exc:
                # It went before it had said anything, or cannot do TLS.
                tell_unbegun(logger, exc)
                return
            async with trio.open_nursery() as self._nursery:
                try:
                    await self._converse(protocol)
                finally:
                    # Without a checkpoint, which might hide what is being raised.
                    self._close()
                    on_closed()
        finally:
            self._protocol = None
            self._close()
            on_closed()

    def stop(self) -> None:
        """Take no more requests; a connection without one is closed now."""
        self._begin_pause()

    # Reading

    async def _begin(self) -> Http1 | Http2:
        alpn = None
        stream = self._stream
        if isinstance(stream, trio.SSLStream):
            with trio.fail_after(self._limits.head):
                await stream.do_handshake()
            alpn = stream.selected_alpn_protocol()
        socket = self._socket
        args = (
            self._app,
            self._config,
            self._context,
            self,
            ConnectionState(self._state),
            isinstance(stream, trio.SSLStream),
            address_of(socket.getpeername()),
            address_of(socket.getsockname()),
            self._take,
        )
        now = trio.current_time()
        if alpn == "h2":
            self._reading.deadline = now + self._limits.keep_alive
            self._work = trio.Event()
            self._protocol = Http2(self._limits.write, *args)
        else:
            self._reading.deadline = now + self._limits.head
            self._protocol = Http1(self._wait_reading_ahead, *args)
        return self._protocol

    async def _converse(self, protocol: Http1 | Http2) -> None:
        assert self._nursery is not None
        with self._reading:
            if self._work is not None:
                self._nursery.start_soon(self._write_on, self._work, name="HTTP/2 writer")
            await protocol.initiate()
            try:
                await self._read(protocol)
            except UnwantedProtocol as exc:
                logger.info("A connection was refused: it speaks %s", exc)
            except Exception as exc:
                # A client can make hypercorn raise anything.
                logger.warning("A connection was dropped: %s: %s", type(exc).__name__, exc)
                logger.debug("It was dropped here:", exc_info=exc)
        if self._in_head and self._reading.deadline <= trio.current_time():
            assert isinstance(protocol, Http1)
            logger.info("The head of a request did not come in time")
            await protocol.refuse(408)
        with suppress(Exception):
            await protocol.handle(Closed())
        await self._flush()
        await self._wait_written()
        await self._leave(protocol)

    async def _read(self, protocol: Http1 | Http2) -> None:
        while True:
            data = await self._receive()
            await protocol.handle(RawData(data))
            await self._flush()
            if not data:
                return
            if not self._in_head and isinstance(protocol, Http1) and protocol.is_in_head:
                self._in_head = True
                deadline = trio.current_time() + self._limits.head
                self._reading.deadline = min(self._reading.deadline, deadline)

    async def _receive(self) -> bytes:
        if self._ahead:
            data = bytes(self._ahead)
            self._ahead.clear()
            return data
        try:
            return bytes(await self._stream.receive_some(READ_SIZE))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    async def _wait_reading_ahead(self, wait: Callable[[], Awaitable[None]]) -> None:
        # A request has come behind the one that runs.
        await self._flush()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read_ahead, name="HTTP read-ahead")
            await wait()
            nursery.cancel_scope.cancel(reason="the request before this one is answered")

    async def _read_ahead(self) -> None:
        while True:
            try:
                data = await self._stream.receive_some(READ_SIZE)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                self._reading.cancel(reason="the client has gone")
                return
            if len(self._ahead) < MAX_READ_AHEAD:
                self._ahead += data
            elif isinstance(self._protocol, Http1):
                self._protocol.is_last = True

    # What hypercorn asks for: it takes this object for its task group

    async def spawn_app(
        self,
        app: AsgiApp,
        config: HttpConfig,
        scope: Any,
        send: Callable[[ASGISendEvent | None], Awaitable[None]],
    ) -> Callable[[ASGIReceiveEvent], Awaitable[None]]:
        """Start the application for a request."""
        del config
        assert self._nursery is not None
        assert self._protocol is not None
        put_below_root(scope)
        want = self._protocol.body_of_newest()
        request = AsgiRequest(scope, send, self._flush, want, self._limits.body)
        name = f"{scope['method']} {scope['path']:.100}"
        self._nursery.start_soon(request.run, app, name=name)
        return request.put

    def spawn(self, func: Callable[..., Awaitable[None]], *args: Any) -> None:
        """Start a task of the protocol."""
        assert self._nursery is not None
        self._nursery.start_soon(func, *args, name="HTTP/2 sender")

    async def _take(self, event: Event) -> None:
        if isinstance(event, RawData):
            if self._broken:
                await trio.lowlevel.checkpoint()
            elif event.data:
                self._out.append(event.data)
                if self._work is not None:
                    await self._wait_room(len(event.data))
        elif isinstance(event, Updated):
            self._idle = event.idle
            self._in_head = False
            self._reading.deadline = math.inf
            self._begin_pause()
        elif isinstance(event, Closed):
            await self._flush()
            self._reading.cancel(reason="the connection is at its end")
            if self._protocol is not None:
                await self._protocol.handle(Closed())

    def _begin_pause(self) -> None:
        """Limit the pause before a request, which begins when the last answer is written."""
        if not self._idle or self._is_writing:
            return
        if self._context.terminated.is_set():
            self._reading.cancel(reason="the server stops")
        elif self._reading.deadline == math.inf:
            self._reading.deadline = trio.current_time() + self._limits.keep_alive

    # Writing

    @property
    def _is_writing(self) -> bool:
        return bool(self._out or self._unsent) or self._lock.locked()

    async def _flush(self) -> None:
        if self._work is not None or not self._out:
            return
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()
        try:
            if self._out:
                data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
                self._out.clear()
                await self._write(data)
        finally:
            self._lock.release()
        self._begin_pause()

    async def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest and not self._broken:
                with trio.move_on_after(self._limits.write) as limit:
                    rest = rest[await self._write_some(rest) :]
                if limit.cancelled_caught:
                    logger.info("A client does not read: its connection was cut")
                    break
            else:
                return
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        except BaseException:
            # Some of it may have gone out, so nothing can follow.
            self._break_off()
            raise
        self._break_off()

    async def _write_some(self, data: memoryview) -> int:
        # The limit of time is for each: who reads slowly and steadily is not cut off.
        if isinstance(self._stream, trio.SSLStream):
            await self._stream.send_all(data[:WRITE_SIZE])
            return min(len(data), WRITE_SIZE)
        return await self._socket.send(data)

    def _break_off(self) -> None:
        self._close()
        self._out.clear()
        self._reading.cancel(reason="the connection is broken")

    async def _wait_room(self, size: int) -> None:
        assert self._work is not None
        self._unsent += size
        self._work.set()
        while self._unsent > MAX_UNSENT and not self._broken:
            await self._room.park()

    async def _write_on(self, work: trio.Event) -> None:
        """Write what HTTP/2 has to say: no request that is cancelled cuts a frame in two."""
        while not self._broken:
            await work.wait()
            while self._out:
                data = b"".join(self._out)
                self._out.clear()
                await self._write(data)
                self._unsent -= len(data)
                self._room.unpark_all()
            self._begin_pause()
            work = self._work = trio.Event()

    # The end

    async def _wait_written(self) -> None:
        """Let another task write an answer that is complete, which a slow client may hold up."""
        if self._idle:
            async with self._lock:
                while self._unsent and not self._broken:
                    await self._room.park()

    async def _leave(self, protocol: Http1 | Http2) -> None:
        if self._is_cut_short(protocol):
            await self._linger()
        elif isinstance(self._stream, trio.SSLStream) and not self._broken:
            with trio.move_on_after(CLOSE_TIMEOUT):
                while self._unsent and not self._broken:
                    await self._room.park()
                await self._stream.aclose()

    def _is_cut_short(self, protocol: Http1 | Http2) -> bool:
        """Whether the client is perhaps still sending what nobody will read."""
        if self._broken or isinstance(protocol, Http2):
            return False
        return self._in_head or protocol.is_unread

    async def _linger(self) -> None:
        with trio.move_on_after(LINGER_TIMEOUT), suppress(trio.BrokenResourceError):
            if isinstance(self._stream, trio.SocketStream):
                await self._stream.send_eof()
            while await self._stream.receive_some(READ_SIZE):
                pass

    def _close(self) -> None:
        self._broken = True
        self._socket.close()
        self._room.unpark_all()
        if self._work is not None:
            self._work.set()
