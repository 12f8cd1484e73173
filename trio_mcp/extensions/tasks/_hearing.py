"""What a server tells of a task without being asked: a reason to ask it sooner, and no more.

Nobody has to tell anything, and what is told may get lost; so how a task is, is always asked.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from trio_mcp.errors import MCPError
from trio_mcp.types import SubscriptionFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from trio_mcp.client import ClientSession
    from trio_mcp.types import JsonObject

logger: Final = logging.getLogger("trio_mcp.extensions.tasks")


@contextmanager
def hearing(session: ClientSession, task_id: str, hurry: Callable[[], None]) -> Generator[None]:
    """Hear what a server of 2025-11-25 tells, which it does by itself."""
    remove = session.on_notification(_listener("notifications/tasks/status", task_id, hurry))
    try:
        yield
    finally:
        remove()


async def listen(session: ClientSession, task_id: str, hurry: Callable[[], None]) -> None:
    """Have a server of 2026-07-28 tell, on a stream, for as long as it likes."""
    wanted = SubscriptionFilter(extra={"taskIds": [task_id]})
    take_change = _listener("notifications/tasks", task_id, hurry)

    def is_told(acknowledged: JsonObject) -> bool:
        # Whoever reads the wire calls this: what it makes no sense of must not matter.
        honored: Any = acknowledged.get("notifications")
        ids: Any = (
            cast("JsonObject", honored).get("taskIds") if isinstance(honored, dict) else None
        )
        return isinstance(ids, list) and task_id in ids

    def take(method: str, params: JsonObject) -> None:
        if method == "notifications/subscriptions/acknowledged" and is_told(params):
            # Of what has happened before nothing is.
            hurry()
        take_change(method, params)

    try:
        await session.send_listen(wanted, take)
    except MCPError as exc:
        logger.debug("The server does not tell how the task %.6s… is: %s", task_id, exc)


def _listener(
    method: str, task_id: str, hurry: Callable[[], None]
) -> Callable[[str, JsonObject], None]:
    def take(told: str, params: JsonObject) -> None:
        if told == method and params.get("taskId") == task_id:
            hurry()

    return take
