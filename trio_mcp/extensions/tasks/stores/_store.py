"""Where the tasks of a server are kept."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import attrs

from trio_mcp._checks import check_callable
from trio_mcp.errors import MCPError
from trio_mcp.types import SERVER_BUSY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._stored import StoredTask

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")

STORE_SECONDS: Final = 1.0
"""Seconds that a store has to take what is written down of a task under cancellation."""

_RETRY_SECONDS: Final = 5.0

_LONGEST_POSITION: Final = 16
"""Digits of microseconds since 1970, by which tasks are ordered here; Redis is exact to there."""


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

    A run deletes the tasks that were made in it when their time is over, and has those fail that
    are not over at its end. A store that outlives runs has to forget what has expired by itself,
    and to say of a task that it has failed where the process that worked on it has died.
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


@attrs.frozen
class TaskPage:
    """Some of the tasks of one owner.

    Attributes:
      tasks: In the order in which they were made.
      position: Where to go on from; None if there is nothing more.

    """

    tasks: Sequence[StoredTask]
    position: str | None = None


@runtime_checkable
class ListingTaskStore(TaskStore, Protocol):
    """A `TaskStore` that can list tasks, too.

    A store need not be one: tasks are not listed then.
    """

    async def list_tasks(
        self, owner: str, *, position: str | None = None, limit: int = 100
    ) -> TaskPage:
        """Give tasks of one owner, in the order in which they were made.

        Whoever goes through all pages gets each task that is kept all the while, once, as it is
        when its page is made. Those that are made meanwhile come at the end, and those that are
        deleted meanwhile may be missing; what has expired may be among the others or not.

        Args:
          owner: Whose (`StoredTask.owner`).
          position: Of the page before; None for the first.
          limit: How many tasks to give at most. There may be fewer, even none, and more
            behind them: the page says so.

        Raises:
          ValueError: if the position is none that a page has. It need not be one of the same
            owner, or of tasks that are still there.

        """
        ...


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


def tell_forgotten(task_id: str) -> None:
    """Log that a task has made room for another before its time."""
    logger.info("The task %.6s… was over, and is forgotten for a new one", task_id)


def read_position(position: str | None) -> int:
    """Read the position of a page of tasks.

    Raises:
      ValueError: if it is none.

    """
    if position is None:
        return -1
    if not (position.isascii() and position.isdigit()) or len(position) > _LONGEST_POSITION:
        raise ValueError(f"position: expected that of a page of tasks, got {position!r:.40}")
    return int(position)
