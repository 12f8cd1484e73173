"""Where the questions of tasks can be asked at 2025-11-25: by requests that wait for a result."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Generator

    from trio_mcp.extensions.tasks.stores._stored import StoredTask
    from trio_mcp.types import JsonObject


class Desk(Protocol):
    """A request at which a client can be asked."""

    def takes(self, key: str, question: JsonObject) -> bool:
        """Tell whether its client can answer a question of the task, as it was stored."""
        ...

    def wake(self) -> None:
        """Who asks may have changed."""
        ...


@attrs.define(eq=False)
class _Counter:
    """The desks of one task.

    Attributes:
      desks: In the order in which they were opened.
      task: As somebody there has seen it last.

    """

    desks: dict[Desk, None] = attrs.field(factory=dict[Any, None])
    task: StoredTask | None = None


@attrs.define(eq=False)
class Desks:
    """Those of one run. A question is asked at one of them at a time.

    That is the last one that was opened: the ones before may be of a client that has gone, without
    a word. When it closes, the one before takes over. Nobody else looks again then, since many
    may wait for one task.
    """

    _counters: dict[str, _Counter] = attrs.field(factory=dict[str, _Counter], init=False)

    @contextmanager
    def open(self, task_id: str, desk: Desk) -> Generator[None, None, None]:
        """Have a desk open as long as the block lasts."""
        counter = self._counters.setdefault(task_id, _Counter())
        # Those that asked until now, since the new one comes before them.
        self._wake_who_asks(task_id)
        counter.desks[desk] = None
        try:
            yield
        finally:
            del counter.desks[desk]
            if not counter.desks:
                del self._counters[task_id]
            self._wake_who_asks(task_id)

    def know(self, task: StoredTask) -> None:
        """Take note of what a task asks."""
        counter = self._counters[task.task_id]
        # Several look at the same time, and who began first may end last.
        if counter.task is None or counter.task.version < task.version:
            counter.task = task

    def asks(self, task_id: str, key: str, question: JsonObject) -> Desk | None:
        """Find the one that asks a question; None if none can."""
        counter = self._counters.get(task_id)
        desks = () if counter is None else reversed(counter.desks)
        return next((each for each in desks if each.takes(key, question)), None)

    def wake(self, task_id: str, key: str, question: JsonObject) -> None:
        """Have the one look again that asks a question now."""
        desk = self.asks(task_id, key, question)
        if desk is not None:
            desk.wake()

    def _wake_who_asks(self, task_id: str) -> None:
        counter = self._counters.get(task_id)
        if counter is not None and counter.task is not None:
            for key, question in counter.task.input_requests.items():
                self.wake(task_id, key, question)
