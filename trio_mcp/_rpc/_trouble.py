"""When to tell that something fails, and that it works again, which may be many times a second."""

from __future__ import annotations

import math
from typing import Final, final

import attrs
import trio

CALM_SECONDS: Final = 60.0
"""Seconds without a failure after which the next one is another trouble."""


@final
@attrs.define(eq=False)
class Trouble:
    """One thing that may fail: its first failure is told, and that it works again.

    What fails again soon after that comes and goes: that is told once, and then nothing until it
    has worked for `CALM_SECONDS`. So nobody fills a log with both in turn.

    Attributes:
      comes_and_goes: Whether it does.

    """

    comes_and_goes: bool = attrs.field(default=False, init=False)
    _failed_at: float | None = attrs.field(default=None, init=False)
    _over_at: float = attrs.field(default=-math.inf, init=False)

    def fails(self) -> bool:
        """Note a failure; returns whether it is to be told."""
        now = trio.current_time()
        begins = self._failed_at is None
        self._failed_at = now
        if begins:
            self.comes_and_goes = now - self._over_at < CALM_SECONDS
        return begins

    def works(self) -> bool:
        """Note that it works; returns whether that is to be told."""
        if self._failed_at is None:
            return False
        now = trio.current_time()
        if self.comes_and_goes and now - self._failed_at < CALM_SECONDS:
            return False
        self._failed_at, self._over_at = None, now
        return True
