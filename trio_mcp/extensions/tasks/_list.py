"""The tasks that a server of 2025-11-25 lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._checks import check_kind, check_number
from trio_mcp.client import Client, ClientSession, Pages
from trio_mcp.types import ListTasksRequest, ListTasksResult, PaginatedRequestParams

from ._handle import tasks_of
from ._task_errors import TasksNotSupported
from .older._requests import detailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._wire import DetailedTask


def list_tasks(
    client: Client | ClientSession, *, read_timeout_seconds: float | None = None
) -> Pages[DetailedTask]:
    """Go through the tasks that are this client's own.

    ::

        async for task in list_tasks(client):
            print(task.task_id, task.status)

    Servers of 2025-11-25 list them, if they know who asks. `Task` makes a handle of the id of one.

    Args:
      client: Asks the server.
      read_timeout_seconds: How long each page may take, in seconds; as the client does when None.

    Returns:
      The tasks, as `Task.get` gives each. Going on raises `TasksNotSupported` where the server did
      not declare that it lists tasks, and since 2026-07-28, which has no such request.

    Raises:
      TypeError, ValueError: if an argument is of the wrong kind, or the time none.

    """
    check_kind("client", client, (Client, ClientSession))
    if read_timeout_seconds is not None:
        check_number("read_timeout_seconds", read_timeout_seconds, least=0)
    session = client.session if isinstance(client, Client) else client

    async def fetch(cursor: str | None) -> tuple[Sequence[DetailedTask], str | None]:
        tasks = tasks_of(session)
        if tasks is None or tasks.list is None:
            raise TasksNotSupported("tasks/list: the server did not declare tasks.list")
        request = ListTasksRequest(params=PaginatedRequestParams(cursor=cursor))
        page = await session.send_request(request, ListTasksResult, read_timeout_seconds)
        return [detailed(each) for each in page.tasks], page.next_cursor

    return Pages("tasks/list", fetch)
