"""The limits of a call: one that progress may push forward, and one for all of it."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import trio

from trio_mcp.errors import RequestTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from ._link import CallOptions

T = TypeVar("T")

MAX_TIMEOUT_FACTOR: Final = 10
"""How many times its timeout a call may last when progress keeps pushing the limit forward and
no ``max_total_timeout`` is given."""


@attrs.define(eq=False)
class TimeLimit:
    """The time limit of one request (utilities, timeouts), kept as its scope's deadline."""

    _options: CallOptions
    _scope: trio.CancelScope
    _longest: float = math.inf
    _latest: float = math.inf

    def arm(self) -> None:
        """The call begins: from now it may take the longest time, sent or not.

        A peer that does not read keeps a request from being sent for ever.
        """
        longest = self._options.max_total_timeout
        if longest is None:
            if self._options.timeout is None:
                return
            longest = self._options.timeout * MAX_TIMEOUT_FACTOR
        self._longest = longest
        self._scope.deadline = self._latest = trio.current_time() + longest

    def start(self) -> None:
        """The request is on its way: its time runs from now."""
        timeout = self._options.timeout
        if timeout is not None:
            self._scope.deadline = min(trio.current_time() + timeout, self._latest)

    def progressed(self) -> None:
        """A report came: start anew, if the caller wants that, but never past the maximum."""
        if self._options.reset_timeout_on_progress:
            self.start()

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Let no time pass: what happens here is none of the server's, such as a login.

        At the end it goes on where it stood; whoever sends the request again calls `start`. The
        maximum that a caller has given goes on meanwhile: it is for all of the call.
        """
        began = trio.current_time()
        stood_at = self._scope.deadline
        is_given = self._options.max_total_timeout is not None
        self._scope.deadline = self._latest if is_given else math.inf
        try:
            yield
        finally:
            passed = trio.current_time() - began
            if not is_given:
                self._latest += passed
            self._scope.deadline = min(stood_at + passed, self._latest)

    def passed(self, method: str) -> RequestTimeout:
        """Say which of the limits it was that passed."""
        timeout = self._options.timeout
        if timeout is None or self._scope.deadline >= self._latest:
            return out_of_time(method, self._longest)
        return RequestTimeout(f"{method}: no answer within {timeout:g} s")


def out_of_time(method: str, seconds: float) -> RequestTimeout:
    """Say that the time for all of a call has passed."""
    return RequestTimeout(f"{method}: no answer within {seconds:g} s in all")


def within(
    seconds: float | None, method: str, call: Callable[[], Coroutine[Any, Any, T]]
) -> Coroutine[Any, Any, T]:
    """Make a call of several requests, in a time for all of them; None for no limit.

    Raises:
      RequestTimeout: if the time passed.

    """
    return call() if seconds is None else _limited(seconds, method, call)


async def _limited(seconds: float, method: str, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with trio.move_on_after(seconds):
        return await call()
    raise out_of_time(method, seconds)
