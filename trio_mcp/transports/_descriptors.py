"""How many connections a process can have open."""

from __future__ import annotations

from typing import Final

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
