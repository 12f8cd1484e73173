"""What a client accepts of tasks that servers want of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp._checks import check_callable, check_number, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable


@attrs.frozen(kw_only=True)
class AcceptedTasks:
    """What servers of 2025-11-25 may have of a client in tasks; each server as much.

    Args:
      max_tasks: How many tasks are kept at the same time, over or not. What has been over for
        longest makes room for more; they are refused where nothing is over.
      max_running: How many of them are answered at the same time. More are refused.
      ttl: Seconds for which a task is kept at most, from its creation. A callback that has not
        answered by then is cancelled.
      poll_interval: Seconds after which the server is told to ask again.
      clock: The time, in seconds since 1970.

    Raises:
      TypeError, ValueError: if one is of another kind, or out of its bounds.

    """

    max_tasks: int = 1_000
    max_running: int = 100
    ttl: float = 600.0
    poll_interval: float = 1.0
    clock: Callable[[], float] = time.time

    def __attrs_post_init__(self) -> None:
        check_whole("max_tasks", self.max_tasks, least=1)
        check_whole("max_running", self.max_running, least=1)
        for name, seconds in (("ttl", self.ttl), ("poll_interval", self.poll_interval)):
            check_number(name, seconds, above=0)
            if seconds == float("inf"):
                raise ValueError(f"{name}: expected a finite number of seconds, got {seconds!r}")
        check_callable("clock", self.clock)


AS_USUAL: Final = AcceptedTasks()
"""What a client accepts that says nothing else."""
