"""Telling the session that made a task of 2025-11-25 how it is, without being asked.

Nobody relies on it: a client that hears something polls a little sooner.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NoReturn

import trio

from trio_mcp.errors import NoBackChannelError
from trio_mcp.types import TaskStatusNotification, TaskStatusNotificationParams

from ._words import members

if TYPE_CHECKING:
    from trio_mcp.extensions.tasks._run import TaskRun
    from trio_mcp.extensions.tasks.stores._stored import StoredTask
    from trio_mcp.server import ServerRequestContext
    from trio_mcp.types import InputRequest


TELL_SECONDS: Final = 5.0
"""Seconds that a client has to take what it is told."""


async def tell_status(run: TaskRun, ctx: ServerRequestContext[Any, Any], task: StoredTask) -> None:
    """Tell each status that a task comes to, until it is over, or its time is.

    Of changes in one go the last is told, and none that a client does not read in time: what
    waits for it would be more than the tasks that there are.

    Args:
      run: Of the server.
      ctx: Of the request that made the task.
      task: As its client knows it.

    """
    # The first look is for what has come about since.
    woken = trio.Event()
    woken.set()

    def wake() -> None:
        woken.set()

    with trio.move_on_after(task.ttl) as scope, ExitStack() as stack:
        stack.callback(run.watch(task.task_id, wake))
        # The params name the task, so that the metadata need not (task notifications).
        session = ctx.detach(scope, _ask, meta={}).session
        told = task.to_task()
        while not task.is_over:
            await woken.wait()
            woken = trio.Event()
            found = await run.read_at_last(task.task_id)
            if found is None:
                return
            task, now = found, found.to_task()
            if (now.status, now.status_message) != (told.status, told.status_message):
                told = now
                params = TaskStatusNotificationParams(**members(now))
                with trio.move_on_after(TELL_SECONDS):
                    await session.send_notification(TaskStatusNotification(params=params))


async def _ask(request: InputRequest) -> NoReturn:
    await trio.lowlevel.checkpoint()
    raise NoBackChannelError(request.method)
