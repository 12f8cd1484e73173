"""What servers of many connections share: how many there can be, and that none ends the others."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Generic, TypeVar, final

import trio

from trio_mcp._rpc._repeats import Repeats

if TYPE_CHECKING:
    import logging
    from collections.abc import Generator, Iterator

C = TypeVar("C")

MAX_CONNECTIONS: Final = 10_000

DESCRIPTORS_FOR_OTHERS: Final = 100
"""What the process keeps of its file descriptors for other things than connections."""


def max_connections() -> int:
    """Give `MAX_CONNECTIONS`, or what the limit for file descriptors leaves of that."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return MAX_CONNECTIONS
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, allowed - DESCRIPTORS_FOR_OTHERS))


@contextmanager
def isolated(logger: logging.Logger) -> Generator[None]:
    """Let a failure end one connection alone: it is logged, and goes no further."""
    try:
        yield
    except Exception:
        logger.exception("A connection failed")
    except BaseExceptionGroup as group:
        failures, rest = group.split(Exception)
        if failures is not None:
            logger.exception("A connection failed", exc_info=failures)
        if rest is not None:
            raise rest from None


def tell_unbegun(logger: logging.Logger, exc: Exception) -> None:
    """Tell of a connection that ended before anything was asked on it."""
    cause = exc.__cause__
    if isinstance(exc, trio.TooSlowError):
        logger.info("A connection was refused: the handshake of TLS took too long")
    elif isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
        reason = cause.reason or type(cause).__name__
        logger.info("A connection was refused: TLS: %s", reason)
    else:
        # Whoever only looks whether somebody listens leaves without a word.
        logger.debug("A connection ended before it had begun: %r", exc)


@final
class OpenConnections(Generic[C]):
    """The connections of one run of a server. Those that are too many are closed as they come.

    Args:
      limit: How many there may be; None for `max_connections`.
      tls: What they speak below everything else, if anything.
      logger: Is told when there are too many, and of connections that fail.

    """

    def __init__(
        self, limit: int | None, tls: ssl.SSLContext | None, logger: logging.Logger
    ) -> None:
        self._limit = limit or max_connections()
        self._tls = tls
        self._logger = logger
        self._open: set[C] = set()
        self._is_full = False
        self._repeats = Repeats()

    def __iter__(self) -> Iterator[C]:
        return iter(list(self._open))

    async def admit(
        self, socket_stream: trio.SocketStream
    ) -> trio.SocketStream | trio.SSLStream[trio.SocketStream] | None:
        """Give the stream to speak on; None if the connection was closed."""
        if len(self._open) >= self._limit:
            if not self._is_full:
                self._repeats.warn(
                    self._logger, "%d connections are open: more are refused", self._limit
                )
            self._is_full = True
            await trio.aclose_forcefully(socket_stream)
            return None
        self._is_full = False
        if self._tls is None:
            return socket_stream
        return trio.SSLStream(socket_stream, self._tls, server_side=True, https_compatible=True)

    @contextmanager
    def holding(self, connection: C) -> Generator[None]:
        """Count a connection while it is served; its failure ends it alone."""
        self._open.add(connection)
        try:
            with isolated(self._logger):
                yield
        finally:
            self._open.discard(connection)

    def let_go(self, connection: C) -> None:
        """Count a connection no more, although its end takes a moment still."""
        self._open.discard(connection)
