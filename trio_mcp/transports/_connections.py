"""What servers of many connections share: how many there can be, and that none ends the others."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import logging
    from collections.abc import Generator

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
