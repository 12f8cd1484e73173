"""Tasks in the memory of this process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import trio

from trio_mcp._checks import check_kind, check_whole

from ._store import Listeners, TaskPage, TooManyTasks, read_position, tell_forgotten
from ._stored import StoredTask

if TYPE_CHECKING:
    from collections.abc import Callable


class InMemoryTaskStore:
    """Keeps tasks in this process, for any number of runs and threads.

    Where there is no room for a new task, the one that has been over for longest is forgotten
    before its time: one of the same owner where that has too many, and otherwise one of nobody,
    or else of the same owner. Nobody makes a store forget tasks of another owner, or one that was
    over just now, whose client has not had the time to ask three times.

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
            dropped = self._make_room(task)
            self._add(task)
        for each in (*dropped, task.task_id):
            self._listeners.tell(each)

    def _make_room(self, task: StoredTask) -> list[str]:
        """Forget what has expired, or else what has been over for longest, if that has to be.

        Raises:
          TooManyTasks: if there is nothing to forget.

        """
        givers = self._may_give(task)
        if givers is None:
            return []
        dropped = [
            each.task_id for each in self._tasks.values() if each.expires_at <= task.created_at
        ]
        for each in dropped:
            self._drop(each)
        givers = self._may_give(task)
        if givers is None:
            return dropped
        for owner in givers:
            own = map(self._tasks.__getitem__, self._owned.get(owner, ()))
            first = min((each for each in own if each.is_over), key=_awaited_until, default=None)
            if first is not None and first.awaited_until <= task.created_at:
                self._drop(first.task_id)
                tell_forgotten(first.task_id)
                return [*dropped, first.task_id]
        raise TooManyTasks("Too many tasks are kept; try again later")

    def _may_give(self, task: StoredTask) -> tuple[str | None, ...] | None:
        """Say whose tasks may be forgotten for this one; None if there is room."""
        own = len(self._owned.get(task.owner, ()))
        if task.owner is not None and own >= self._max_tasks_per_owner:
            return (task.owner,)
        if len(self._tasks) >= self._max_tasks:
            return (None, task.owner)
        return None

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


def _awaited_until(task: StoredTask) -> float:
    return task.awaited_until
