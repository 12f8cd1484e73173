"""Leaving no task at a peer that nobody waits for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from trio_mcp._rpc._nursery import finish_begun, finish_within
from trio_mcp.errors import MCPError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

CANCEL_SECONDS: Final = 1.0
"""Seconds that a peer has to take note that nobody waits for a task any longer."""


class CancellableTask(Protocol):
    """The handle of a task, on either side."""

    async def cancel(self) -> None:
        """Have the peer stop it."""
        ...


def until_named() -> AbstractAsyncContextManager[None]:
    """Have a request for a task answered also when it is cancelled, if the peer is quick.

    Cancellation: that of a task is ``tasks/cancel``, and that needs the id.
    """
    return finish_begun(CANCEL_SECONDS)


async def give_up(task: CancellableTask) -> None:
    """Have a task cancelled for somebody who leaves, whatever the peer says to that."""
    with finish_within(CANCEL_SECONDS), suppress(MCPError):
        await task.cancel()
