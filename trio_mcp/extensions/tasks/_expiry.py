"""The end of the time for which tasks are kept."""

from __future__ import annotations

import heapq
import logging
from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._rpc._nursery import finish_begun

from .stores._store import STORE_SECONDS

if TYPE_CHECKING:
    from .stores._store import TaskStore

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")

DELETE_SECONDS: Final = 10.0
"""Seconds that a store has to delete a task."""

FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 600.0
"""Seconds before a store is asked again that did not delete a task: twice as many each time, up to
the longest."""

MAX_ATTEMPTS: Final = 20
"""How often it is asked, which is for two hours. What has not worked by then takes a person, and
what is remembered of it has to have an end, too."""


ROOM: Final = 1_000
"""How many times are remembered before it is looked which of their tasks are there at all."""


@attrs.frozen(order=True)
class _Due:
    when: float
    task_id: str
    why: str = attrs.field(default="has expired", order=False)
    attempts: int = attrs.field(default=0, order=False)
    delay: float = attrs.field(default=FIRST_DELAY, order=False)


@attrs.define(eq=False)
class Expiry:
    """Deletes tasks from a store when their time is over.

    Each is deleted by itself, so that a store which is slow with one holds up no other.
    """

    _store: TaskStore
    _nursery: trio.Nursery
    # A heap, since not all tasks are kept equally long.
    _due: list[_Due] = attrs.field(factory=list[_Due], init=False)
    _has_more: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot, init=False)
    _is_clearing: bool = attrs.field(default=False, init=False)
    _room: int = attrs.field(default=ROOM, init=False)

    def add(self, task_id: str, seconds: float) -> None:
        """Delete a task in so many seconds, if it is there then."""
        self._push(_Due(trio.current_time() + seconds, task_id))
        if len(self._due) > self._room and not self._is_clearing:
            self._is_clearing = True
            self._nursery.start_soon(self._clear, name="times of tasks")

    def delete_soon(self, task_id: str) -> None:
        """Delete a task that was given up, if it is there at all."""
        due = _Due(trio.current_time(), task_id, "was not begun")
        self._nursery.start_soon(self._delete, due, name="deletion of a task")

    def _push(self, due: _Due) -> None:
        heapq.heappush(self._due, due)
        self._has_more.unpark_all()

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            when = self._due[0].when if self._due else float("inf")
            with trio.move_on_at(when):
                await self._has_more.park()  # what comes may be due before
            while self._due and self._due[0].when <= trio.current_time():
                due = heapq.heappop(self._due)
                self._nursery.start_soon(self._delete, due, name="deletion of a task")

    async def _clear(self) -> None:
        """Forget the times of tasks that are gone: stores forget some before their time."""
        gone: set[str] = set()
        try:
            for due in [*self._due]:
                if await self._store.get(due.task_id) is None:
                    gone.add(due.task_id)
        except Exception as exc:
            logger.debug("It could not be looked which tasks are there", exc_info=exc)
        self._due = [each for each in self._due if each.task_id not in gone]
        heapq.heapify(self._due)
        # So each task is looked for once or twice, however many there are.
        self._room = max(ROOM, 2 * len(self._due))
        self._is_clearing = False

    async def _delete(self, due: _Due) -> None:
        try:
            with trio.fail_after(DELETE_SECONDS):
                async with finish_begun(STORE_SECONDS):
                    await self._store.delete(due.task_id)
        except Exception as exc:  # noqa: BLE001 - logged there
            self._try_again(due, exc)
        else:
            logger.info("The task %.6s… %s, and is deleted", due.task_id, due.why)

    def _try_again(self, due: _Due, exc: Exception) -> None:
        if due.attempts + 1 == MAX_ATTEMPTS:
            logger.error(
                "The task %.6s… could not be deleted, and stays", due.task_id, exc_info=exc
            )
            return
        level = logging.DEBUG if due.attempts else logging.ERROR
        what = "The task %.6s… could not be deleted; it is tried again"
        logger.log(level, what, due.task_id, exc_info=exc)
        self._push(
            attrs.evolve(
                due,
                when=trio.current_time() + due.delay,
                attempts=due.attempts + 1,
                delay=min(2 * due.delay, LONGEST_DELAY),
            )
        )
