"""Several jobs at the same time, and one error when they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

K = TypeVar("K")
V = TypeVar("V")


async def run_all(jobs: Mapping[K, Callable[[], Awaitable[V]]]) -> dict[K, V]:
    """Run jobs side by side and return their results by their keys, in the order of the jobs.

    Raises:
      The exception of the first job that fails, as it is; the others are cancelled then.

    """
    if len(jobs) == 1:
        ((key, job),) = jobs.items()
        return {key: await job()}
    results: dict[K, V] = {}
    failures: list[Exception] = []

    async def run(key: K, job: Callable[[], Awaitable[V]]) -> None:
        try:
            results[key] = await job()
        except Exception as exc:  # noqa: BLE001 - raised again below, alone
            failures.append(exc)
            nursery.cancel_scope.cancel(reason="another of the jobs failed")

    async with trio.open_nursery() as nursery:
        for key, job in jobs.items():
            nursery.start_soon(run, key, job, name=f"job {key}")
    if failures:
        try:
            raise failures[0]
        finally:
            failures.clear()
    return {key: results[key] for key in jobs}
