"""Signals are handled here, and nowhere else in the package."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import trio

from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.cli._mistakes import interrupted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


def run_until_interrupted(action: Callable[[], Awaitable[int]]) -> int:
    """Run Trio until the action returns its status, or until Ctrl-C or SIGTERM.

    A signal cancels the action, which still closes what it opened, in the bounded time that
    this takes; further signals do not shorten it.

    Returns:
      The action's status, or 128 and the number of the signal.

    """
    return trio.run(_until_interrupted, action)


async def _until_interrupted(action: Callable[[], Awaitable[int]]) -> int:
    status = 0
    received: list[int] = []
    with trio.open_signal_receiver(*_signals()) as signals:
        async with open_background_nursery() as nursery:
            scope = trio.CancelScope()
            nursery.start_soon(_watch, signals, scope, received)
            with scope:
                status = await action()
    return 128 + received[0] if scope.cancelled_caught else status


def _signals() -> list[signal.Signals]:
    # A signal that whoever started us had ignored (nohup, `&` in a script) stays ignored.
    wanted = (signal.SIGINT, signal.SIGTERM)
    return [each for each in wanted if signal.getsignal(each) is not signal.SIG_IGN]


async def _watch(
    signals: AsyncIterator[int], scope: trio.CancelScope, received: list[int]
) -> None:
    async for number in signals:
        received.append(number)
        if not scope.cancel_called:
            # At once, since closing may take a while.
            interrupted()
            scope.cancel(reason=f"{signal.Signals(number).name} was received")
