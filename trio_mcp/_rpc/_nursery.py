"""The one way this package opens a background nursery, and the one way it shields.

Everything that runs beside the user's code runs in a nursery opened here, so the rules for
what leaves it are written once:

* the body's own exception leaves as it is, never in a group, a cancellation no less;
* a helper that fails is a defect of ours (expected failures are state that wakes waiting
  calls): its error leaves as it is when it is alone, beside the body's as a group otherwise;
* leaving the body cancels the helpers.
"""

from __future__ import annotations

import math
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, NoReturn, cast

import trio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator


@asynccontextmanager
@trio.lowlevel.enable_ki_protection
async def open_background_nursery() -> AsyncGenerator[trio.Nursery, None]:
    """Open a nursery for helpers of the body; leaving the body cancels them.

    Raises:
      The body's own exception, unwrapped; a helper's, unwrapped if it is the only one.

    """
    body_error: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as exc:
                body_error = exc
                raise
            finally:
                nursery.cancel_scope.cancel(reason="the block was left")
    except BaseExceptionGroup as group:
        # In no variable of this frame, which the traceback of what leaves refers to.
        leaving = [_what_leaves(body_error, group)]
        body_error = None
        _raise_as_is(leaving.pop())
    finally:
        # The nursery may have taken what the body was left by.
        body_error = None


@contextmanager
def one_cancellation() -> Generator[None, None, None]:
    """Let a nursery of ours whose tasks were all cancelled end by one `trio.Cancelled`.

    For nurseries whose tasks raise no exceptions of their own. Trio puts the cancellations of
    several tasks in a group, which ``except trio.Cancelled`` does not see.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        others = group.split(trio.Cancelled)[1]
        _raise_as_is(next(_leaves(group)) if others is None else sole_exception(others))


@contextmanager
def finish_within(seconds: float) -> Generator[trio.CancelScope, None, None]:
    """Let clean-up go on under cancellation, for at most this many seconds.

    Every shield of this package comes from here, so none is without a deadline.
    """
    with trio.move_on_after(seconds, shield=True) as scope:
        yield scope


@asynccontextmanager
@trio.lowlevel.enable_ki_protection
async def finish_begun(seconds: float) -> AsyncGenerator[None, None]:
    """Let what the block has begun go on for at most this many seconds after a cancellation.

    For what cannot be taken up again where it was given up. It costs a task, so it is for what
    may take time.

    Cancellation:
      One that comes before the block does not keep it from beginning; one that comes within is
      raised at its end, if it was in time, and in it otherwise.

    """
    async with open_background_nursery() as nursery:
        with finish_within(math.inf) as scope:
            nursery.start_soon(_limit_from_cancellation, scope, seconds, name="limit of time")
            yield


async def _limit_from_cancellation(scope: trio.CancelScope, seconds: float) -> None:
    try:
        await trio.sleep_forever()
    finally:
        scope.deadline = trio.current_time() + seconds


def _what_leaves(
    body_error: BaseException | None, escaped: BaseExceptionGroup[BaseException]
) -> BaseException:
    own_error, defects = _own_error(body_error, escaped), _defects(escaped, body_error)
    if own_error is not None and defects is not None:
        both = "the block and a task behind it both failed"
        return BaseExceptionGroup(both, [own_error, defects])
    if defects is not None:
        return sole_exception(defects)
    if own_error is not None:
        return own_error
    # All of it was cancelled, from outside.
    return next(_leaves(escaped)) if body_error is None else body_error


def _own_error(
    body_error: BaseException | None, escaped: BaseExceptionGroup[BaseException]
) -> BaseException | None:
    """Give what is the body's own: all it raised, unless the nursery took the cancellation."""
    if isinstance(body_error, trio.Cancelled):
        return None
    if isinstance(body_error, BaseExceptionGroup):
        # isinstance() cannot say what the group holds.
        group = cast("BaseExceptionGroup[BaseException]", body_error)
        if group.subgroup(trio.Cancelled) is not None and not escaped.subgroup(trio.Cancelled):
            return group.split(trio.Cancelled)[1]
        return group
    return body_error


def _defects(
    escaped: BaseExceptionGroup[BaseException], body_error: BaseException | None
) -> BaseExceptionGroup[BaseException] | None:
    """Give what tasks behind the body raised.

    Nurseries take groups apart and make new ones; only what is in them stays the same.
    """
    own = {id(exc) for exc in _leaves(body_error)}
    return escaped.split(lambda exc: id(exc) in own or isinstance(exc, trio.Cancelled))[1]


def _leaves(exc: BaseException | None) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", exc).exceptions:
            yield from _leaves(inner)
    elif exc is not None:
        yield exc


def sole_exception(exc: BaseException) -> BaseException:
    """Give the one exception in nested groups of one, as nurseries raise them.

    A group of several is given as it is, out of the groups that hold it alone.
    """
    if isinstance(exc, BaseExceptionGroup):
        # isinstance() cannot say what the group holds.
        inner = cast("BaseExceptionGroup[BaseException]", exc).exceptions
        return sole_exception(inner[0]) if len(inner) == 1 else cast("BaseException", exc)
    return exc


def _raise_as_is(exc: BaseException) -> NoReturn:
    # The group that carried it must not become its context, and the frame must not keep it
    # alive: both would tie the traceback into a cycle.
    context = exc.__context__
    try:
        raise exc
    finally:
        exc.__context__ = context
        del exc, context
