"""Blocks are left where they were entered: a check that speaks before Trio's state is touched.

A connection is an ``async with`` block with a nursery inside. Code that leaves it from another
task, or while a block that was entered later is still open (exit stacks and fixtures do both),
would corrupt Trio's own bookkeeping, and what is then reported names neither the block nor the
mistake. So who may leave is asked first.
"""

from __future__ import annotations

import functools
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar, final
from weakref import WeakKeyDictionary

import trio

from ._open_blocks import ADVICE, entering_task, keep, let_go

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

T = TypeVar("T")
P = ParamSpec("P")


@final
class GuardedBlock(AbstractAsyncContextManager[T], Generic[T]):
    """Wraps a block that holds a nursery: leaving it wrongly is one clear error.

    A wrong task, or a nursery that was opened inside and is still open, is told without
    touching anything: the block stays open, and can still be left properly. If what is still
    open is such a block too, leaving that one leaves this one as well. For a cancel scope that
    is still open inside Trio has no question to ask: there the block is left, the scope is
    without effect from then on, and the error is raised after that.

    What is open is never garbage collected: see `_open_blocks`.

    Args:
      what: The name of the block, for the error.
      inner: The block.

    """

    __slots__ = (
        "_inner",
        "_innermost",
        "_is_abandoned",
        "_is_overdue",
        "_nurseries",
        "_task",
        "what",
    )

    def __init__(self, what: str, inner: AbstractAsyncContextManager[T]) -> None:
        self.what = what
        self._inner = inner
        self._task: trio.lowlevel.Task | None = None
        self._nurseries: list[trio.Nursery] = []
        # Opened last and closed first: Trio itself tells when it is not the innermost one.
        self._innermost = trio.CancelScope()
        self._is_overdue = False
        self._is_abandoned = False

    @property
    def is_open(self) -> bool:
        """Whether it was entered, and not left."""
        return self._task is not None

    async def __aenter__(self) -> T:
        """Enter the block.

        Raises:
          RuntimeError: if this is no task of Trio's.

        """
        task = entering_task(self.what)
        value = await self._inner.__aenter__()
        keep(task, self)
        self._task, self._nurseries = task, list(task.child_nurseries)
        self._innermost.__enter__()
        return value

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        """Leave the block.

        Raises:
          RuntimeError: if it is left in a wrong task or order.

        """
        if self._task is None and self._is_overdue:
            await trio.lowlevel.checkpoint()  # noqa: ASYNC102 - there is nothing left to do
            return None
        if self._is_abandoned and self.is_open:
            return await self.leave(exc_type, exc_val, exc_tb)  # noqa: ASYNC102 - as below
        task = self._check()
        suppressed = await self.leave(  # noqa: ASYNC102 - the block inside bounds its own leaving
            exc_type, exc_val, exc_tb
        )
        while (overdue := _next_overdue(task)) is not None:
            await overdue.leave(None, None, None)  # noqa: ASYNC102 - as above
        return suppressed

    async def leave(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        """Leave the block, which is the innermost one of this task."""
        assert self._task is not None
        let_go(self._task, self)
        self._task, self._nurseries = None, []
        misnested = self._leave_innermost()
        suppressed = await self._inner.__aexit__(exc_type, exc_val, exc_tb)
        if misnested is not None:
            raise RuntimeError(
                f"{self.what} was left while a cancel scope that was entered later is still "
                f"open. {ADVICE}"
            ) from misnested
        return suppressed

    def abandon(self) -> None:
        """See `OpenBlock.abandon`."""
        self._is_abandoned = True

    async def finish(self) -> None:
        """See `OpenBlock.finish`."""
        await self.leave(None, None, None)

    def _check(self) -> trio.lowlevel.Task:
        if self._task is None:
            raise RuntimeError(f"{self.what} is not open")
        task = trio.lowlevel.current_task()
        if task is not self._task:
            raise RuntimeError(
                f"{self.what} was entered in task {self._task.name!r} and cannot be left in "
                f"task {task.name!r}. {ADVICE}"
            )
        if not self.is_innermost_in(task):
            self._is_overdue = True
            _OVERDUE.setdefault(task, []).append(self)
            raise RuntimeError(
                f"{self.what} cannot be left while a block that was entered later is still "
                f"open. {ADVICE}"
            )
        return task

    def is_innermost_in(self, task: trio.lowlevel.Task) -> bool:
        """Whether no other nursery of the task was opened later."""
        return list(task.child_nurseries) == self._nurseries

    def _leave_innermost(self) -> RuntimeError | None:
        if self._is_abandoned:
            return None
        try:
            self._innermost.__exit__(None, None, None)
        except RuntimeError as exc:
            return exc.with_traceback(None)
        return None


# Blocks whose leaving failed since others were open inside them.
_OVERDUE: Final[WeakKeyDictionary[trio.lowlevel.Task, list[GuardedBlock[Any]]]] = (
    WeakKeyDictionary()
)


def _next_overdue(task: trio.lowlevel.Task) -> GuardedBlock[Any] | None:
    waiting = _OVERDUE.get(task, [])
    for block in waiting:
        if not block.is_open:
            waiting.remove(block)
            return _next_overdue(task)
        if block.is_innermost_in(task):
            waiting.remove(block)
            return block
    return None


def guarded_block(
    what: str,
) -> Callable[
    [Callable[P, AbstractAsyncContextManager[T]]], Callable[P, AbstractAsyncContextManager[T]]
]:
    """Guard the blocks that a function makes.

    Args:
      what: The name of the block, for the error.

    """

    def decorate(
        function: Callable[P, AbstractAsyncContextManager[T]],
    ) -> Callable[P, AbstractAsyncContextManager[T]]:
        @functools.wraps(function)
        def open_guarded(*args: P.args, **kwargs: P.kwargs) -> AbstractAsyncContextManager[T]:
            return GuardedBlock(what, function(*args, **kwargs))

        return open_guarded

    return decorate
