"""``read_timeout_seconds``: a limit that progress may push forward, up to a hard maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import trio

if TYPE_CHECKING:
    from ._link import CallOptions

MAX_TIMEOUT_FACTOR: Final = 10
"""How many times its timeout a call may last when progress keeps pushing the limit forward and
no ``max_total_timeout`` is given."""


@attrs.define(eq=False)
class TimeLimit:
    """The time limit of one request (utilities, timeouts), kept as its scope's deadline."""

    _options: CallOptions
    _scope: trio.CancelScope
    _latest: float = 0.0

    def start(self) -> None:
        """The request is on its way: its time runs from now."""
        timeout = self._options.timeout
        if timeout is None:
            return
        now = trio.current_time()
        longest = self._options.max_total_timeout
        self._latest = now + (timeout * MAX_TIMEOUT_FACTOR if longest is None else longest)
        self._scope.deadline = min(now + timeout, self._latest)

    def progressed(self) -> None:
        """A report came: start anew, if the caller wants that, but never past the maximum."""
        timeout = self._options.timeout
        if timeout is not None and self._options.reset_timeout_on_progress and self._latest:
            self._scope.deadline = min(trio.current_time() + timeout, self._latest)
