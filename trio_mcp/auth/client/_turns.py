"""One at a time, among all that use one store, port or console in this process.

Nothing is held but a place in a queue, which ends with the block, so a cancellation leaves nothing
behind. What other threads do, under a run of Trio of their own, is none of it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable

_queues: Final[dict[tuple[object, Hashable], _Queue]] = {}


class _Queue:
    def __init__(self) -> None:
        self.lock = trio.Lock()
        self.users = 0


@asynccontextmanager
async def turn(of_what: Hashable) -> AsyncGenerator[bool, None]:
    """Have the block to oneself; gives whether somebody else had it meanwhile.

    Args:
      of_what: What the turns are about. What is known by its ``id`` has to be kept in the block.

    Cancellation:
      While it waits it may be cancelled, and loses its place.

    """
    key = trio.lowlevel.current_trio_token(), of_what
    queue = _queues.setdefault(key, _Queue())
    queue.users += 1
    try:
        has_waited = queue.lock.locked()
        async with queue.lock:
            yield has_waited
    finally:
        queue.users -= 1
        if not queue.users:
            del _queues[key]
