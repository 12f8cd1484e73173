"""Where the questions of tasks can be asked at 2025-11-25: by requests that wait for a result."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Generator

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
class Desks:
    """Those of one run. A question is asked at one of them at a time.

    That is the last one that was opened: the ones before may be of a client that has gone, without
    a word. When it closes, the one before takes over.
    """

    # By the id of the task, in the order in which they were opened.
    _open: dict[str, list[Desk]] = attrs.field(factory=dict[str, Any], init=False)

    @contextmanager
    def open(self, task_id: str, desk: Desk) -> Generator[None, None, None]:
        """Have a desk open as long as the block lasts."""
        self._open.setdefault(task_id, []).append(desk)
        self.wake(task_id)
        try:
            yield
        finally:
            left = self._open[task_id]
            left.remove(desk)
            if not left:
                del self._open[task_id]
            self.wake(task_id)

    def asks(self, task_id: str, key: str, question: JsonObject) -> Desk | None:
        """Find the one that asks a question; None if none can."""
        desks = reversed(self._open.get(task_id, ()))
        return next((each for each in desks if each.takes(key, question)), None)

    def wake(self, task_id: str) -> None:
        """Have those of a task look again who asks."""
        for desk in self._open.get(task_id, ()):
            desk.wake()
