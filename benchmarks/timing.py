"""Clocks, and what is made of their readings."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def time_each(call: Callable[[], Awaitable[Any]], count: int) -> list[float]:
    """Await a call again and again; the wall time of each in microseconds, ascending.

    A tenth as many calls are made before, unmeasured.
    """
    for _ in range(max(2, count // 10)):
        await call()
    gc.collect()
    clock = time.perf_counter_ns
    times: list[float] = []
    for _ in range(count):
        start = clock()
        await call()
        times.append((clock() - start) / 1000)
    times.sort()
    return times


def cpu_of_each(call: Callable[[], Any], count: int) -> float:
    """Call again and again; the processor time of this process for one, in microseconds."""
    call()
    gc.collect()
    start = time.process_time_ns()
    for _ in range(count):
        call()
    return (time.process_time_ns() - start) / count / 1000


def percentile(ascending: list[float], share: float) -> float:
    """Pick the value that this share of the values does not exceed."""
    return ascending[min(len(ascending) - 1, int(len(ascending) * share))]


def median(values: list[float]) -> float:
    ascending = sorted(values)
    middle = len(ascending) // 2
    if len(ascending) % 2:
        return ascending[middle]
    return (ascending[middle - 1] + ascending[middle]) / 2
