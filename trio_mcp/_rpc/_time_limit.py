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

    def arm(self) -> None:
        """The call begins: from now it may take the longest time, sent or not.

        A peer that does not read keeps a request from being sent for ever.
        """
        timeout = self._options.timeout
        if timeout is None:
            return
        longest = self._options.max_total_timeout
        if longest is None:
            longest = timeout * MAX_TIMEOUT_FACTOR
        self._scope.deadline = self._latest = trio.current_time() + longest

    def start(self) -> None:
        """The request is on its way: its time runs from now."""
        timeout = self._options.timeout
        if timeout is not None:
            self._scope.deadline = min(trio.current_time() + timeout, self._latest)

    def progressed(self) -> None:
        """A report came: start anew, if the caller wants that, but never past the maximum."""
        timeout = self._options.timeout
        if timeout is not None and self._options.reset_timeout_on_progress and self._latest:
            self._scope.deadline = min(trio.current_time() + timeout, self._latest)
