"""Checks whose failure names the promise that was broken, and what happened instead."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import trio
import trio.testing

from trio_mcp._rpc._nursery import sole_exception

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

LIMIT: Final = 10.0
"""Seconds after which something is taken never to happen. Killing a process takes seven."""


@contextmanager
def promise(sentence: str) -> Generator[None, None, None]:
    """Name what is promised when the block hangs or raises anything.

    Raises:
      AssertionError: if it does.

    """
    __tracebackhide__ = True
    try:
        with trio.fail_after(LIMIT):
            yield
    except trio.TooSlowError:
        raise AssertionError(f"{sentence}. It took more than {LIMIT:g} s") from None
    except Exception as group:  # noqa: BLE001 - the border that words it
        exc = sole_exception(group)
        what = exc if isinstance(exc, AssertionError) else f"there was {exc!r}"
        raise AssertionError(f"{sentence}. But {what}") from exc


@contextmanager
def must_checkpoint(call: str) -> Generator[None, None, None]:
    """Hold a successful call to being a checkpoint.

    Raises:
      AssertionError: if it is none.

    """
    __tracebackhide__ = True
    with promise(f"every {call} is a checkpoint"), trio.testing.assert_checkpoints():
        yield


async def must_raise(kind: type[Exception], call: Callable[[], Awaitable[object]]) -> None:
    """Call something that has to raise.

    Raises:
      AssertionError: if it returns, or raises something else.

    """
    __tracebackhide__ = True
    try:
        got = await call()
    except kind:
        return
    except Exception as exc:
        raise AssertionError(f"it raised {exc!r}") from exc
    raise AssertionError(f"it returned {got!r:.200}")


async def in_nursery(*calls: Callable[[], Awaitable[Any]]) -> None:
    """Call several at once, and wait for all of them."""
    async with trio.open_nursery() as nursery:
        for call in calls:
            nursery.start_soon(call)
