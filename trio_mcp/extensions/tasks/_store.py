"""Where the tasks of a server are kept."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final, Protocol

import trio

from trio_mcp._checks import check_callable, check_kind, check_whole
from trio_mcp.errors import MCPError
from trio_mcp.types import SERVER_BUSY

from ._stored import StoredTask

if TYPE_CHECKING:
    from collections.abc import Callable

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")

_RETRY_SECONDS: Final = 5.0


class TooManyTasks(MCPError):
    """A store takes no more tasks for now; the client is told to try again later."""

    __module__ = "trio_mcp.extensions"

    def __init__(self, message: str) -> None:
        super().__init__(SERVER_BUSY, message, {"retryAfter": _RETRY_SECONDS})
        self.args = (message,)


class TaskStore(Protocol):
    """Keeps tasks, perhaps for several processes.

    A task is made once, and then replaced by its next version, again and again. Whoever runs it,
    and whoever asks for it, may be in different processes: they meet here alone. A store that
    needs something to run meanwhile has a method ``open`` without arguments, which returns an
    asynchronous context manager: each run of a server enters it.
    """

    async def create(self, task: StoredTask) -> None:
        """Keep a new task, so that `get` finds it as soon as this has returned.

        What has expired by the time at which the task was made need not be kept any longer.

        Raises:
          TooManyTasks: if there is no room for it.

        """
        ...

    async def get(self, task_id: str) -> StoredTask | None:
        """Find a task; None if there is none, or no longer."""
        ...

    async def replace(self, task: StoredTask) -> bool:
        """Put the next version in the place of the one before, if that is still there.

        Returns:
          Whether it was: False if ``task.version`` does not follow on what is kept.

        """
        ...

    async def delete(self, task_id: str) -> None:
        """Forget a task, if there is one."""
        ...

    def subscribe(self, listener: Callable[[str | None], None]) -> Callable[[], None]:
        """Have a function called with the id of each task that was made, replaced or deleted.

        None stands for all of them, where a store may have missed changes. The listeners of this
        package do not raise, return at once and may be called from any thread. One call may stand
        for several changes.

        Returns:
          What takes it back; it may be called more than once.

        """
        ...


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
        self._listeners = Listeners()
        self._lock = threading.Lock()

    async def create(self, task: StoredTask) -> None:
        """See `TaskStore.create`."""
        check_kind("task", task, StoredTask)
        await trio.lowlevel.checkpoint()
        with self._lock:
            if self._is_full(task):
                self._tasks = {
                    name: each
                    for name, each in self._tasks.items()
                    if each.expires_at > task.created_at
                }
                if self._is_full(task):
                    raise TooManyTasks("Too many tasks are kept; try again later")
            self._tasks[task.task_id] = task
        self._listeners.tell(task.task_id)

    def _is_full(self, task: StoredTask) -> bool:
        if len(self._tasks) >= self._max_tasks:
            return True
        if task.owner is None:
            return False
        own = sum(each.owner == task.owner for each in self._tasks.values())
        return own >= self._max_tasks_per_owner

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
            known = self._tasks.pop(task_id, None) is not None
        if known:
            self._listeners.tell(task_id)

    def subscribe(self, listener: Callable[[str | None], None]) -> Callable[[], None]:
        """See `TaskStore.subscribe`."""
        return self._listeners.add(listener)


class Listeners:
    """Who wants to hear of changes of tasks; of any thread."""

    def __init__(self) -> None:
        # A function may be there more than once, so each subscription is an object of its own.
        self._listeners: dict[object, Callable[[str | None], None]] = {}

    def add(self, listener: Callable[[str | None], None]) -> Callable[[], None]:
        """See `TaskStore.subscribe`."""
        check_callable("listener", listener)
        subscription = object()
        self._listeners[subscription] = listener

        def unsubscribe() -> None:
            self._listeners.pop(subscription, None)

        return unsubscribe

    def tell(self, task_id: str | None) -> None:
        """Call them all; one that raises is logged, and the next one called."""
        for listener in list(self._listeners.values()):
            try:
                listener(task_id)
            except Exception:
                logger.exception("A listener of a task store failed")
