"""Several jobs at the same time, and one error when they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import trio

from ._nursery import one_cancellation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

K = TypeVar("K")
V = TypeVar("V")

TIE_SECONDS: Final = 0.1
"""How much later than another a job may fail and count as failing at the same time.

Which of two tasks or threads is quicker is chance, and an error should not be. It is shorter than
what a person notices, since an earlier job may be waiting for one.
"""


async def run_all(jobs: Mapping[K, Callable[[], Awaitable[V]]]) -> dict[K, V]:
    """Run jobs side by side and return their results by their keys, in the order of the jobs.

    Raises:
      The exception of the job that fails first, as it is. The others are cancelled then: those
      after it in the order at once, those before it after `TIE_SECONDS`, in which each of them
      may still fail and take its place. So of jobs that fail at the same time the first in the
      order is told.

    Cancellation:
      One `trio.Cancelled` leaves, however many jobs there were.

    """
    if len(jobs) == 1:
        ((key, job),) = jobs.items()
        return {key: await job()}
    results: dict[K, V] = {}
    failures: dict[int, Exception] = {}
    scopes = [trio.CancelScope() for _ in jobs]

    async def run(index: int, key: K, job: Callable[[], Awaitable[V]]) -> None:
        with scopes[index] as scope:
            try:
                results[key] = await job()
            except Exception as exc:  # noqa: BLE001 - raised again below, alone
                # What fails because it was cancelled says less than why it was.
                if not scope.cancel_called:
                    failures[index] = exc
                    _stop_others(scopes, index)

    with one_cancellation():
        async with trio.open_nursery() as nursery:
            for index, (key, job) in enumerate(jobs.items()):
                nursery.start_soon(run, index, key, job, name=f"job {key}")
    if failures:
        try:
            raise failures[min(failures)]
        finally:
            failures.clear()
    return {key: results[key] for key in jobs}


def _stop_others(scopes: list[trio.CancelScope], failed: int) -> None:
    deadline = trio.current_time() + TIE_SECONDS
    for scope in scopes[:failed]:
        scope.deadline = min(scope.deadline, deadline)
    for scope in scopes[failed + 1 :]:
        scope.cancel(reason="another of the jobs failed")
