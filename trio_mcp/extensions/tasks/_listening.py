"""Telling clients that listen how their tasks are."""

from __future__ import annotations

from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._rpc._nursery import open_background_nursery

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from trio_mcp.server import TellFnT

    from ._run import TaskRun

CHANGED: Final = "notifications/tasks"


@asynccontextmanager
async def telling(run: TaskRun, task_ids: Sequence[str], tell: TellFnT) -> AsyncGenerator[None]:
    """Tell what becomes of some tasks, as long as the block lasts.

    Of changes in one go the last is told.
    """
    changed: dict[str, None] = {}
    has_changed = trio.lowlevel.ParkingLot()

    def note(task_id: str) -> None:
        changed[task_id] = None
        has_changed.unpark_all()

    async def tell_changes() -> None:
        told: dict[str, tuple[object, ...]] = {}
        while True:
            while not changed:
                await has_changed.park()
            # The one that waits for longest: another may change all the time.
            task_id = next(iter(changed))
            del changed[task_id]
            task = await run.read_at_last(task_id)
            if task is None:
                continue
            # Not each version is another for its client, who does not see what was answered.
            seen = (task.status, task.status_message, task.updated_at, *task.input_requests)
            if told.get(task_id) != seen:
                told[task_id] = seen
                params = task.to_detailed()
                del params["resultType"]
                tell(CHANGED, params)

    with ExitStack() as stack:
        for task_id in task_ids:
            stack.callback(run.watch(task_id, partial(note, task_id)))
        async with open_background_nursery() as nursery:
            nursery.start_soon(tell_changes, name="changes of tasks")
            yield
