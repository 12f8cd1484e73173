"""The tasks of one run of a server."""

from __future__ import annotations

import logging
import secrets
from collections import deque
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import trio

from trio_mcp._rpc._nursery import finish_within, open_background_nursery

from ._stored import StoredTask

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.types import TaskStatus

    from ._store import TaskStore
    from ._work import Work

T = TypeVar("T")

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")

STORE_SECONDS: Final = 1.0
"""Seconds that a store has to write down how a task ended which was cancelled."""

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 5.0
"""Seconds before a store is asked again that did not take a result, or did not give a task: twice
as many each time, up to the longest."""

_ID_BYTES: Final = 24


@attrs.frozen(kw_only=True)
class TaskTimes:
    """What is said of each new task.

    Attributes:
      ttl: Seconds for which it is kept, from its creation.
      poll_interval: Seconds after which to ask again.
      patience: Seconds that a request waits for its result before it becomes a task.
      clock: The time, in seconds since 1970.

    """

    ttl: float
    poll_interval: float
    patience: float
    clock: Callable[[], float]


@attrs.define(eq=False)
class TaskRun:
    """What tasks need while the server runs: its nursery holds them all.

    Attributes:
      store: Where they are kept.
      times: Of new ones.
      nursery: Cancelled when the run ends.

    """

    store: TaskStore
    times: TaskTimes
    nursery: trio.Nursery
    _works: dict[str, Work] = attrs.field(factory=dict[str, Any], init=False)
    _watchers: dict[str, set[Callable[[], None]]] = attrs.field(factory=dict[str, Any], init=False)
    # In the order in which they expire, since all are kept equally long.
    _expiring: deque[tuple[float, str]] = attrs.field(factory=deque[Any], init=False)
    _has_more: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot, init=False)
    _token: trio.lowlevel.TrioToken = attrs.field(
        factory=trio.lowlevel.current_trio_token, init=False
    )

    # Work

    def new_task(self, owner: str | None) -> StoredTask:
        """Make a task that has just begun."""
        now = self.times.clock()
        return StoredTask(
            # Whoever knows it may use it, where nobody says who asks.
            task_id=secrets.token_urlsafe(_ID_BYTES),
            owner=owner,
            created_at=now,
            updated_at=now,
            ttl=self.times.ttl,
            poll_interval=self.times.poll_interval,
        )

    async def keep(self, task: StoredTask, work: Work) -> None:
        """Store a task whose work goes on here.

        Raises:
          TooManyTasks: if there is no room for it.

        """
        self._works[task.task_id] = work
        try:
            await self.store.create(task)
        except BaseException:
            self._works.pop(task.task_id)
            # It may be there all the same, and nobody would ever hear of it.
            with finish_within(STORE_SECONDS):
                await self._delete(task.task_id)  # noqa: ASYNC102 - in finish_within
            raise
        self._expiring.append((trio.current_time() + task.ttl, task.task_id))
        self._has_more.unpark_all()
        logger.info("The task %.6s… has begun", task.task_id)

    def forget(self, task_id: str) -> None:
        """The work of a task is over."""
        self._works.pop(task_id, None)

    async def change(
        self, task_id: str, change: Callable[[StoredTask, float], StoredTask | None]
    ) -> StoredTask | None:
        """Replace a task by its next version, whoever else changes it meanwhile.

        Args:
          task_id: Of the task.
          change: Makes the next version of one that is not over, at a time; None to leave it.

        Returns:
          The task as it is now; None if there is none.

        """
        while True:
            task = await self.store.get(task_id)
            now = self.times.clock()
            if task is None or task.is_over:
                return task
            changed = change(task, now)
            if changed is None:
                return task
            if await self.store.replace(changed):
                return changed

    async def withdraw(self, task_id: str, key: str) -> None:
        """Ask a question of a task no longer."""
        try:
            await self.change(task_id, lambda task, now: task.not_asking(now, key))
        except Exception:
            logger.exception("A question of the task %.6s… could not be withdrawn", task_id)

    async def end(  # noqa: ASYNC128 - another status than that of Trio
        self, task_id: str, status: TaskStatus, **changes: Any
    ) -> None:
        """Write down how a task ended, unless that has been decided otherwise."""
        task = await self.change(task_id, lambda task, now: task.ended(now, status, **changes))
        found = "gone" if task is None else task.status
        logger.info("The task %.6s… is over: %s", task_id, found)

    async def end_at_last(  # noqa: ASYNC128 - another status than that of Trio
        self, task_id: str, status: TaskStatus, **changes: Any
    ) -> None:
        """The same for work that is done: again and again, while the store cannot take it."""
        what = "The end of the task %.6s… could not be stored; it is tried again"
        await self._at_last(what, task_id, partial(self.end, task_id, status, **changes))

    async def read_at_last(self, task_id: str) -> StoredTask | None:
        """Read a task that has changed: again and again, while the store cannot give it."""
        what = "The task %.6s… could not be read; it is tried again"
        return await self._at_last(what, task_id, partial(self.store.get, task_id))

    async def _at_last(self, what: str, task_id: str, attempt: Callable[[], Awaitable[T]]) -> T:
        delay = FIRST_DELAY
        while True:
            try:
                return await attempt()
            except Exception as exc:
                level = logging.ERROR if delay == FIRST_DELAY else logging.DEBUG
                logger.log(level, what, task_id, exc_info=exc)
            await trio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    # What happens to tasks, here or elsewhere

    def told(self, task_id: str | None) -> None:
        """Hear that a task was changed, or any of them; from any thread."""
        try:
            here = trio.lowlevel.current_trio_token()
        except RuntimeError:
            here = None
        if here is self._token:
            self._wake(task_id)
            return
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._wake, task_id)

    def _wake(self, task_id: str | None) -> None:
        if task_id is None:
            for each in {*self._works, *self._watchers}:
                self._wake(each)
            return
        work = self._works.get(task_id)
        if work is not None:
            work.wake()
        for watcher in [*self._watchers.get(task_id, ())]:
            watcher()

    def watch(self, task_id: str, watcher: Callable[[], None]) -> Callable[[], None]:
        """Have a function called when a task may have changed.

        Returns:
          What takes it back.

        """
        self._watchers.setdefault(task_id, set()).add(watcher)

        def unwatch() -> None:
            watchers = self._watchers.get(task_id, set())
            watchers.discard(watcher)
            if not watchers:
                self._watchers.pop(task_id, None)

        return unwatch

    async def expire(self) -> None:
        """Delete tasks when their time is over."""
        while True:
            if not self._expiring:
                await self._has_more.park()
                continue
            deadline, task_id = self._expiring[0]
            await trio.sleep_until(deadline)
            self._expiring.popleft()
            await self._delete(task_id)

    async def _delete(self, task_id: str) -> None:
        try:
            await self.store.delete(task_id)
        except Exception:
            logger.exception("The task %.6s… could not be deleted", task_id)


@asynccontextmanager
async def open_run(store: TaskStore, times: TaskTimes) -> AsyncGenerator[TaskRun, None]:
    """Run tasks as long as the block lasts; at its end they are cancelled, and fail."""
    opens: Callable[[], AbstractAsyncContextManager[object]] | None = getattr(store, "open", None)
    async with (
        nullcontext() if opens is None else opens(),
        open_background_nursery() as nursery,
    ):
        run = TaskRun(store, times, nursery)
        unsubscribe = store.subscribe(run.told)
        try:
            nursery.start_soon(run.expire, name="expiry of tasks")
            yield run
        finally:
            unsubscribe()
