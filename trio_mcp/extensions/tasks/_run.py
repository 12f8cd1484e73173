"""The tasks of one run of a server."""

from __future__ import annotations

import logging
from contextlib import ExitStack, asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import trio

from trio_mcp._rpc._nursery import open_background_nursery

from ._expiry import Expiry
from ._places import Places
from .older._desks import Desks
from .stores._store import TooManyTasks
from .stores._stored import new_task

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.types import TaskStatus

    from ._work import Work
    from .stores._store import TaskStore
    from .stores._stored import StoredTask

T = TypeVar("T")

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 5.0
"""Seconds before a store is asked again that did not take a result, or did not give a task: twice
as many each time, up to the longest."""

CANCELLED: Final = "the client cancelled the task"
"""Why work is cancelled, in the words of ``ctx.cancel_reason``."""


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
      places: Where works go on.
      nursery: Cancelled when the run ends.
      expiry: Deletes them.
      desks: Where their questions can be asked at 2025-11-25.

    """

    store: TaskStore
    times: TaskTimes
    places: Places
    nursery: trio.Nursery
    expiry: Expiry
    desks: Desks = attrs.field(factory=Desks, init=False)
    _works: dict[str, Work] = attrs.field(factory=dict[str, Any], init=False)
    _watchers: dict[str, set[Callable[[], None]]] = attrs.field(factory=dict[str, Any], init=False)
    _changing: dict[str, trio.Lock] = attrs.field(factory=dict[str, trio.Lock], init=False)
    _token: trio.lowlevel.TrioToken = attrs.field(
        factory=trio.lowlevel.current_trio_token, init=False
    )

    # Work

    def begin(self, work: Callable[[], Awaitable[None]], owner: str | None, *, name: str) -> None:
        """Have a work go on in the nursery of the run.

        Raises:
          TooManyTasks: if as many as may are going on; this one has not begun.

        """
        if not self.places.has_one_for(owner):
            logger.info("A task was refused: %d are running", self.places.taken)
            raise TooManyTasks("Too many tasks are running; try again later")
        with ExitStack() as stack:
            stack.enter_context(self.places.taking(owner))
            self.nursery.start_soon(self._go_on, work, stack.pop_all(), name=name)

    async def _go_on(self, work: Callable[[], Awaitable[None]], place: ExitStack) -> None:
        with place:
            await work()

    def new_task(self, owner: str | None, ttl: float | None = None) -> StoredTask:
        """Make a task that has just begun.

        Args:
          owner: Whose it is; None for nobody's.
          ttl: Seconds for which its client wants it to be kept; the run's own if not given, and
            no more than those.

        """
        times = self.times
        return new_task(
            owner,
            now=times.clock(),
            ttl=times.ttl if ttl is None else min(ttl, times.ttl),
            poll_interval=times.poll_interval,
        )

    async def keep(self, task: StoredTask, work: Work) -> None:
        """Store a task whose work goes on here.

        Raises:
          TooManyTasks: if there is no room for it.

        """
        self._works[task.task_id] = work
        try:
            await self.store.create(task)
        except BaseException as exc:
            self._works.pop(task.task_id)
            if isinstance(exc, TooManyTasks):
                logger.info("A task of %s was refused: the store is full", _whose(task))
            else:
                # It may be there all the same, and nobody would ever hear of it.
                self.expiry.delete_soon(task.task_id)
            raise
        self.expiry.add(task.task_id, task.ttl)
        logger.info("The task %.6s… of %s has begun", task.task_id, _whose(task))

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
        async with self._alone_with(task_id):
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

    @asynccontextmanager
    async def _alone_with(self, task_id: str) -> AsyncGenerator[None]:
        # Of many changes at the same time only one can succeed at each attempt.
        lock = self._changing.setdefault(task_id, trio.Lock())
        async with lock:
            try:
                yield
            finally:
                if not lock.statistics().tasks_waiting:
                    self._changing.pop(task_id, None)

    async def drop_answers(self, task_id: str, keys: Collection[str]) -> None:
        """Keep answers no longer that the work of a task has taken.

        Where that does not work they stay until the next change of the task, or its end.
        """
        try:
            await self.change(task_id, lambda task, _now: task.without_answers(keys))
        except Exception as exc:
            logger.debug("Answers for the task %.6s… stay for now", task_id, exc_info=exc)

    async def end(  # noqa: ASYNC128 - another status than that of Trio
        self, task_id: str, status: TaskStatus, **changes: Any
    ) -> StoredTask | None:
        """Write down how a task ended, unless that has been decided otherwise.

        Returns:
          The task, if this has ended it; None if it was over, or is gone.

        """
        ended: list[StoredTask] = []

        def finish(task: StoredTask, now: float) -> StoredTask:
            ended[:] = [task.ended(now, status, **changes)]
            return ended[0]

        task = await self.change(task_id, finish)
        if task is None:
            logger.info("The task %.6s… is gone, and was to be %s", task_id, status)
        elif [task] == ended:
            by = f" by {_whose(task)}" if status == "cancelled" else ""
            logger.info("The task %.6s… is over: %s%s", task_id, status, by)
            return task
        return None

    async def cancel(self, task_id: str) -> StoredTask | None:
        """Write down that its client cancelled a task, and stop its work, if that is here.

        Returns:
          The task, if this has cancelled it; None if it was over, or is gone.

        """
        task = await self.end(task_id, "cancelled")
        work = None if task is None else self._works.get(task_id)
        if work is not None:
            # At once: nothing more is reported for what is over.
            work.stop(CANCELLED)
        return task

    async def end_at_last(  # noqa: ASYNC128 - another status than that of Trio
        self, task_id: str, status: TaskStatus, **changes: Any
    ) -> None:
        """The same for work that is done: again and again, while the store cannot take it."""
        what = "The end of the task %.6s… could not be stored; it is tried again"
        await self._at_last(what, task_id, partial(self.end, task_id, status, **changes))

    async def change_at_last(
        self, task_id: str, change: Callable[[StoredTask, float], StoredTask | None]
    ) -> StoredTask | None:
        """Change a task: again and again, while the store cannot take it."""
        what = "A change of the task %.6s… could not be stored; it is tried again"
        return await self._at_last(what, task_id, partial(self.change, task_id, change))

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


def _whose(task: StoredTask) -> str:
    # Who that is, is known to the logs of the requests.
    return (
        "a client that nobody authenticated" if task.owner is None else "an authenticated client"
    )


@asynccontextmanager
async def open_run(
    store: TaskStore, times: TaskTimes, *, max_running: int
) -> AsyncGenerator[TaskRun, None]:
    """Run tasks as long as the block lasts; at its end they are cancelled, and fail."""
    opens: Callable[[], AbstractAsyncContextManager[object]] | None = getattr(store, "open", None)
    async with (
        nullcontext() if opens is None else opens(),
        open_background_nursery() as nursery,
    ):
        expiry = Expiry(store, nursery)
        run = TaskRun(store, times, Places(max_running), nursery, expiry)
        unsubscribe = store.subscribe(run.told)
        try:
            nursery.start_soon(expiry.run, name="expiry of tasks")
            yield run
        finally:
            unsubscribe()
