"""The blocks that tasks have entered and not left yet: kept alive, and told if left open.

A block that was entered by hand and let go (``await Client(...).__aenter__()``) would be
finished by the garbage collector, in a task of Trio's own: its nurseries and scopes would be
closed where they were never opened, and Trio's bookkeeping is broken from then on. So nothing
that is open is ever collected. A task that ends with a block open cannot be helped any more:
Trio cancels what is inside, and fails. But the block can be named, and what is inside can be
finished in order, before Trio would do so in none.
"""

from __future__ import annotations

import logging
from typing import Any, Final, Protocol

import trio

from ._nursery import finish_within

__all__ = ["ADVICE", "OpenBlock", "entering_task", "keep", "let_go"]

logger: Final = logging.getLogger("trio_mcp")

ADVICE: Final = (
    "Leave blocks in the task that entered them, the last one first; a client that is opened "
    "and closed in different tasks is what trio_mcp.client.connect() is for"
)


FINISHING_TIMEOUT: Final = 10
"""Seconds that what was abandoned may take; leaving any block of ours takes less."""

_POLLED_EVERY: Final = 0.01
# Seconds. Nothing tells when tasks of a nursery have ended that nobody waits for.


class OpenBlock(Protocol):
    """A block that has been entered."""

    @property
    def what(self) -> str:
        """The name that users know it by."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether it was not left yet."""
        ...

    def abandon(self) -> None:
        """Let any task leave it: its own has ended."""
        ...

    async def finish(self) -> None:
        """Leave it."""
        ...


class _OpenBlocks(trio.abc.Instrument):
    """The open blocks of one run, by their tasks."""

    def __init__(self) -> None:
        self.by_task: dict[trio.lowlevel.Task, list[OpenBlock]] = {}

    def task_exited(self, task: trio.lowlevel.Task) -> None:
        blocks = self.by_task.get(task)
        if not blocks:
            return
        # What is inside of another is in the list before it. The last one goes first.
        blocks = blocks[::-1]
        logger.error(
            "Task %r has ended without leaving what it entered: %s. %s",
            task.name,
            ", ".join(dict.fromkeys(each.what for each in blocks)),
            _ADVICE_TO_USE_WITH,
        )
        trio.lowlevel.spawn_system_task(_finish, task, blocks, name="leave abandoned MCP blocks")


async def _finish(task: trio.lowlevel.Task, blocks: list[OpenBlock]) -> None:
    for block in blocks:
        block.abandon()
    with finish_within(FINISHING_TIMEOUT):
        # Trio has cancelled them, and no longer waits for them when their nursery is left.
        while any(nursery.child_tasks for nursery in task.child_nurseries):  # noqa: ASYNC110 - as there
            await trio.sleep(_POLLED_EVERY)
        for block in blocks:
            # Leaving an outer one has left those inside.
            if not block.is_open:
                continue
            try:
                await block.finish()
            except (Exception, BaseExceptionGroup, trio.Cancelled) as exc:  # noqa: ASYNC103, BLE001 - told
                # Trio minds that scopes are closed in another task. It has been told already.
                logger.debug("Leaving %s, which was abandoned: %r", block.what, exc)


_ADVICE_TO_USE_WITH: Final = (
    "Use `async with`, or an exit stack that is closed; a client that is opened and closed in "
    "different tasks is what trio_mcp.client.connect() is for"
)

# Gone with the run.
_open_blocks: Final[trio.lowlevel.RunVar[_OpenBlocks]] = trio.lowlevel.RunVar("trio_mcp blocks")


def entering_task(what: str) -> trio.lowlevel.Task:
    """Return the task that enters a block.

    Raises:
      RuntimeError: if it is none of Trio's.

    """
    try:
        return trio.lowlevel.current_task()
    except RuntimeError:
        raise RuntimeError(
            f"{what} needs Trio, and is used outside of it: start the program with "
            "`trio.run(main)`, not with `asyncio.run(main())`"
        ) from None


def keep(task: trio.lowlevel.Task, block: OpenBlock) -> None:
    """Keep a block alive that this task has entered."""
    try:
        found = _open_blocks.get()
    except LookupError:
        found = _OpenBlocks()
        _open_blocks.set(found)
        trio.lowlevel.add_instrument(found)
    found.by_task.setdefault(task, []).append(block)


def let_go(task: trio.lowlevel.Task, block: OpenBlock) -> None:
    """Forget a block that is being left."""
    found: dict[trio.lowlevel.Task, list[Any]] = _open_blocks.get().by_task
    blocks = found[task]
    blocks.remove(block)
    if not blocks:
        del found[task]
