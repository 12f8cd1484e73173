"""What the work of a task asks of its client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import trio

from trio_mcp._codec._public import from_json
from trio_mcp._rpc._flight import Together
from trio_mcp._rpc._nursery import finish_within
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.types import ErrorData

from ._answers import read_answer
from ._run import logger
from .stores._store import STORE_SECONDS

if TYPE_CHECKING:
    from trio_mcp.types import InputRequest, InputResponse, JsonObject

    from ._run import TaskRun
    from .stores._stored import StoredTask


class AskedTooLate(Exception):
    """A task asks nothing, since it is over, or gone.

    Attributes:
      task: As it is now.

    """

    def __init__(self, task: StoredTask | None) -> None:
        super().__init__("The task is over")
        self.task = task


@attrs.define(eq=False)
class _Question:
    request: InputRequest
    answered: trio.Event = attrs.field(factory=trio.Event)  # or too late
    answer: JsonObject | None = None
    error: JsonObject | None = None

    @property
    def is_answered(self) -> bool:
        """Whether something came in answer to it."""
        return self.answer is not None or self.error is not None

    def look(self, task: StoredTask, key: str) -> None:
        """Take what came in answer to it, if something did."""
        if self.is_answered:
            return
        self.answer = task.input_responses.get(key)
        self.error = task.input_errors.get(key)
        if self.is_answered:
            self.answered.set()

    def read(self) -> InputResponse:
        """Give the answer.

        Raises:
          MCPError: the error that came instead.
          InvalidResponse: if it is none to this question.

        """
        if self.error is not None:
            raise MCPError.from_error_data(from_json(ErrorData, self.error))
        try:
            return read_answer(self.request, self.answer or {})
        except ValueError as exc:
            raise InvalidResponse(
                f"{self.request.method}: the client's answer is invalid: {exc}"
            ) from exc


@attrs.define(eq=False)
class Questions:
    """Those of one task, by their keys.

    What comes up while others are being stored is stored by one change after it, and so is what
    is given up: a tool may ask many at the same time, and no longer wait for any of them.
    """

    _run: TaskRun
    _open: dict[str, _Question] = attrs.field(factory=dict[str, _Question], init=False)
    _new: dict[str, Any] = attrs.field(factory=dict[str, Any], init=False)
    _given_up: set[str] = attrs.field(factory=set[str], init=False)
    _together: Together = attrs.field(factory=Together, init=False)
    _count: int = attrs.field(default=0, init=False)
    _is_too_late: bool = attrs.field(default=False, init=False)
    _last: StoredTask | None = attrs.field(default=None, init=False)

    async def ask(self, task_id: str, request: InputRequest, written: JsonObject) -> InputResponse:
        """Have the task ask something, and wait for the answer.

        Args:
          task_id: Of the task.
          request: The question.
          written: The same as JSON.

        Raises:
          AskedTooLate: if the task is over.
          MCPError: the error that came instead of an answer.
          InvalidResponse: if the answer is none.

        Cancellation:
          The task asks it no longer: nobody has to think about it.

        """
        self._count += 1
        key = f"input-{self._count}"
        question = self._open[key] = _Question(request)
        self._new[key] = written
        try:
            await self._together.do(
                lambda: self._store(task_id, set()),
                lambda: key in self._new and not self._is_too_late,
            )
            if not self._is_too_late:
                await question.answered.wait()
        finally:
            del self._open[key]
            self._new.pop(key, None)
            if not (question.answered.is_set() or self._is_too_late):
                self._given_up.add(key)
                with finish_within(STORE_SECONDS):
                    await self._together.do(  # noqa: ASYNC102 - in finish_within
                        lambda: self._withdraw(task_id), lambda: key in self._given_up
                    )
        if not question.is_answered:
            raise AskedTooLate(self._last)
        return question.read()

    def end(self, task: StoredTask | None) -> None:
        """Have nobody wait any more, nor ask: a tool may do so in a shield."""
        self._is_too_late, self._last = True, task
        for question in self._open.values():
            question.answered.set()

    def look(self, task: StoredTask) -> None:
        """Take the answers that came. Each question is known here before it is stored."""
        for key, question in self._open.items():
            question.look(task, key)

    async def _store(self, task_id: str, left: set[str]) -> None:
        """Have the task ask what has come up, and nothing that was given up.

        Args:
          task_id: Of the task.
          left: Gets the keys of what was given up by then.

        """
        asked: set[str] = set()

        def settle(task: StoredTask, now: float) -> StoredTask | None:
            asked.update(self._new)
            left.update(self._given_up)
            return task.asking(now, self._new, without=self._given_up)

        task = await self._run.change(task_id, settle)
        if task is None or task.is_over:
            self.end(task)
        for key in asked:
            self._new.pop(key, None)
        self._given_up -= left

    async def _withdraw(self, task_id: str) -> None:
        tried: set[str] = set()
        try:
            await self._store(task_id, tried)
        except Exception:  # noqa: BLE001 - logged
            logger.exception("A question of the task %.6s… could not be withdrawn", task_id)
        finally:
            # What comes of it or not: there is no more time than this.
            self._given_up -= tried
