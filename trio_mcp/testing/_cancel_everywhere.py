"""Cancel a call at each of its checkpoints in turn, and see that nothing is left of it."""

from __future__ import annotations

import inspect
import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar, final

import attrs
import trio

from trio_mcp._checks import check_callable, check_whole

from ._promise import in_nursery, promise

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")

MOST_CHECKPOINTS: Final = 10_000
"""A call with more of them never ends, or is too long to be tried at each."""


async def cancel_everywhere(
    open_subject: Callable[[], AbstractAsyncContextManager[T]],
    call: Callable[[T], Awaitable[object]],
    then: Callable[[T], Awaitable[object]] | None = None,
    *,
    most: int = MOST_CHECKPOINTS,
) -> int:
    """Cancel a call at each of its checkpoints, one after the other, and make another call then.

    ::

        @asynccontextmanager
        async def open_client():
            async with Client(make_server()) as client:
                yield client

        async def test_a_cancelled_call_leaves_nothing_behind():
            await cancel_everywhere(open_client, lambda client: client.call_tool("work"))

    For each checkpoint there is a subject of its own, so a call always begins from the start. A
    checkpoint is where the call waits, or could: in its own task and in tasks that it starts.

    Args:
      open_subject: Opens what is called, anew each time.
      call: Is cancelled.
      then: Has to succeed afterwards, in ten seconds; the same call if there is none. After the
        call that was not cancelled it is made, too.
      most: How many checkpoints there may be.

    Returns:
      The number of checkpoints at which the call was cancelled.

    Raises:
      AssertionError: if the call does not end in ten seconds when it is cancelled, raises
        something else, or there are too many checkpoints; or if what comes then fails. It says
        at which checkpoint, and where in the code that is.

    """
    check_callable("open_subject", open_subject)
    check_callable("call", call)
    if then is not None:
        check_callable("then", then)
    check_whole("most", most, least=1)
    for number in itertools.count(1):
        if number > most:
            raise AssertionError(f"the call has more than {most} checkpoints")
        async with open_subject() as subject:
            where = await _cancel_at(number, subject, call)
            when = "after a call that was not cancelled" if where is None else f"after {where}"
            with promise(f"{when}, the next call succeeds"):
                await (then or call)(subject)
        if where is None:
            return number - 1
    raise AssertionError  # there is no end of numbers


async def _cancel_at(
    number: int, subject: T, call: Callable[[T], Awaitable[object]]
) -> str | None:
    """Make a call and cancel it; returns where that was, None if it ended before."""
    canceller = _Canceller(number)

    async def call_it() -> None:
        with canceller.at_work():
            await call(subject)

    with promise("a call ends, also when it is cancelled"):
        # In a task of its own, so that those which it starts can be told from others.
        await in_nursery(call_it)
        # Whose shield has outlasted the limit is late, too.
        await trio.lowlevel.checkpoint()
    return canceller.where


@final
@attrs.define(eq=False)
class _Canceller(trio.abc.Instrument):
    """Cancels its scope when the task in it, or one that it has started, waits."""

    _number: int
    _task: trio.lowlevel.Task | None = None
    _scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    where: str | None = None
    _seen: int = 0

    @contextmanager
    def at_work(self) -> Generator[None, None, None]:
        self._task = trio.lowlevel.current_task()
        trio.lowlevel.add_instrument(self)
        try:
            with self._scope:
                yield
        finally:
            trio.lowlevel.remove_instrument(self)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count what the task does, and cancel it once it has got that far."""
        has_ended = inspect.getcoroutinestate(task.coro) == inspect.CORO_CLOSED
        if self.where is not None or has_ended or not self._is_of_call(task):
            return
        self._seen += 1
        if self._seen == self._number:
            self.where = f"a cancellation at checkpoint {self._number} ({_place(task)})"
            self._scope.cancel(reason=self.where)

    def _is_of_call(self, task: trio.lowlevel.Task) -> bool:
        above: trio.lowlevel.Task | None = task
        while above is not None:
            if above is self._task:
                return True
            nursery = above.parent_nursery
            above = None if nursery is None else nursery.parent_task
        return False


def _place(task: trio.lowlevel.Task) -> str:
    """Name the innermost line that is not of Trio itself."""
    place = task.name
    for frame, line in task.iter_await_frames():
        if not str(frame.f_globals.get("__name__")).startswith("trio."):
            place = f"{frame.f_code.co_qualname}, {frame.f_code.co_filename}:{line}"
    return place
