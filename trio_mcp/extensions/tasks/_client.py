"""Tasks on the client's side."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from trio_mcp._rpc._nursery import finish_within
from trio_mcp.client import ResultClaim
from trio_mcp.errors import MCPError

from ._asked import AcceptedTasks
from ._handle import Task
from ._receiver import TaskReceiver
from ._wire import CreateTaskResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.client import ClaimContext
    from trio_mcp.types import CallToolResult

CANCEL_SECONDS: Final = 1.0
"""Seconds that a server has to take note that nobody waits for a task any longer."""


class TasksClientExtension(TaskReceiver):
    """Understands servers that answer the call of a tool with a task (SEP-2663).

    ::

        async with Client(url, extensions=[TasksClientExtension()]) as client:
            result = await client.call_tool("render", {"scene": "forest"})

    `Client.call_tool` then waits for the task: it asks the server how it is as often as that
    wants, has the client's callbacks answer what the task asks, and returns the tool's result, or
    raises the error that it would have been answered with, or `TaskCancelled`. Whoever cancels the
    call cancels the task; the server has a second to take note of that.

    With ``allow_claimed=True`` the call returns the `CreateTaskResult` as it came; `Task` is the
    handle for it.

    A server of 2025-11-25 may also ask the client something in a task: the callbacks for sampling
    and elicitation then answer while the session goes on, and the server comes for the answer.
    Such a task ends with its session, and when the server has gone.

    Args:
      accepts: What servers may have in that way; None for nothing, so that they are answered as
        by clients without the extension.

    """

    def __init__(self, *, accepts: AcceptedTasks | None = AcceptedTasks()) -> None:  # noqa: B008
        super().__init__(accepts)

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """See `ClientExtension.claims`."""
        return [ResultClaim(result_type="task", model=CreateTaskResult, resolve=_finish)]


async def _finish(created: CreateTaskResult, context: ClaimContext) -> CallToolResult:
    task = Task(context.session, created, read_timeout_seconds=context.read_timeout_seconds)
    try:
        return await task.wait()
    except BaseException:
        if not task.is_over:
            with finish_within(CANCEL_SECONDS), suppress(MCPError):
                await task.cancel()  # noqa: ASYNC102 - in finish_within
        raise
