"""Tasks in the memory of this process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import trio

from trio_mcp._checks import check_kind, check_whole

from ._store import Listeners, TaskPage, TooManyTasks, read_position
from ._stored import StoredTask

if TYPE_CHECKING:
    from collections.abc import Callable


class InMemoryTaskStore:
    """Keeps tasks in this process, for any number of runs and threads.

    Args:
      max_tasks: How many there may be at the same time, those included that are over and not
        yet expired.
      max_tasks_per_owner: How many of them one principal may have. Where nobody says who asks
        there is nobody to count for.

    Raises:
      TypeError, ValueError: if a number is none.

    """

    def __init__(self, *, max_tasks: int = 1_000, max_tasks_per_owner: int = 100) -> None:
        for name, count in (
            ("max_tasks", max_tasks),
            ("max_tasks_per_owner", max_tasks_per_owner),
        ):
            check_whole(name, count, least=1)
        self._max_tasks = max_tasks
        self._max_tasks_per_owner = max_tasks_per_owner
        self._tasks: dict[str, StoredTask] = {}
        # {owner: {task id: place}}, in the order in which they were made.
        self._owned: dict[str | None, dict[str, int]] = {}
        self._last_place = 0
        self._listeners = Listeners()
        self._lock = threading.Lock()

    async def create(self, task: StoredTask) -> None:
        """See `TaskStore.create`."""
        check_kind("task", task, StoredTask)
        await trio.lowlevel.checkpoint()
        with self._lock:
            if self._is_full(task):
                self._drop_expired(task.created_at)
                if self._is_full(task):
                    raise TooManyTasks("Too many tasks are kept; try again later")
            self._add(task)
        self._listeners.tell(task.task_id)

    def _is_full(self, task: StoredTask) -> bool:
        if len(self._tasks) >= self._max_tasks:
            return True
        if task.owner is None:
            return False
        return len(self._owned.get(task.owner, ())) >= self._max_tasks_per_owner

    def _drop_expired(self, now: float) -> None:
        for each in [*self._tasks.values()]:
            if each.expires_at <= now:
                self._drop(each.task_id)

    def _add(self, task: StoredTask) -> None:
        self._drop(task.task_id)
        # By the time, so that a position outlives the process; never the same twice.
        self._last_place = max(self._last_place + 1, int(task.created_at * 1_000_000))
        self._tasks[task.task_id] = task
        self._owned.setdefault(task.owner, {})[task.task_id] = self._last_place

    def _drop(self, task_id: str) -> bool:
        task = self._tasks.pop(task_id, None)
        if task is None:
            return False
        own = self._owned[task.owner]
        del own[task_id]
        if not own:
            del self._owned[task.owner]
        return True

    async def get(self, task_id: str) -> StoredTask | None:
        """See `TaskStore.get`."""
        await trio.lowlevel.checkpoint()
        return self._tasks.get(task_id)

    async def replace(self, task: StoredTask) -> bool:
        """See `TaskStore.replace`."""
        check_kind("task", task, StoredTask)
        await trio.lowlevel.checkpoint()
        with self._lock:
            kept = self._tasks.get(task.task_id)
            if kept is None or kept.version != task.version - 1:
                return False
            self._tasks[task.task_id] = task
        self._listeners.tell(task.task_id)
        return True

    async def delete(self, task_id: str) -> None:
        """See `TaskStore.delete`."""
        await trio.lowlevel.checkpoint()
        with self._lock:
            known = self._drop(task_id)
        if known:
            self._listeners.tell(task_id)

    async def list_tasks(
        self, owner: str, *, position: str | None = None, limit: int = 100
    ) -> TaskPage:
        """See `ListingTaskStore.list_tasks`."""
        check_whole("limit", limit, least=1)
        after = read_position(position)
        await trio.lowlevel.checkpoint()
        with self._lock:
            own = self._owned.get(owner, {})
            found = [(name, place) for name, place in own.items() if place > after]
            tasks = [self._tasks[name] for name, _ in found[:limit]]
        more = str(found[limit - 1][1]) if len(found) > limit else None
        return TaskPage(tasks, more)

    def subscribe(self, listener: Callable[[str | None], None]) -> Callable[[], None]:
        """See `TaskStore.subscribe`."""
        return self._listeners.add(listener)
