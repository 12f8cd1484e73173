"""What both sides say about tasks at revision 2025-11-25, whichever of them has the task."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from trio_mcp._checks import check_number
from trio_mcp._codec import excerpt
from trio_mcp._codec._public import from_json
from trio_mcp.errors import MCPError
from trio_mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RELATED_TASK_META_KEY,
    ErrorData,
    TaskMetadata,
)
from trio_mcp.types._revisions import KNOWN_REVISIONS

if TYPE_CHECKING:
    from trio_mcp.extensions.tasks.stores._stored import StoredTask
    from trio_mcp.types import JsonObject, Task

REVISION: Final = next(each for each in KNOWN_REVISIONS if each.has_tasks)
"""The one whose core has tasks: there is no other."""

VERSIONS: Final = frozenset((REVISION.version,))
"""Its name, as those are given of which there may be several."""

PAGE: Final = 100
"""Tasks that are listed at a time."""

_LONGEST_MS: Final = 10**15


def related_to(task_id: str) -> JsonObject:
    """Make what ``_meta`` says of messages that belong to a task."""
    return {RELATED_TASK_META_KEY: {"taskId": task_id}}


def wanted_for(ttl: float | None) -> TaskMetadata:
    """Make what a request says that asks for a task.

    Args:
      ttl: For how many seconds it is to be kept; None leaves that to the other side.

    Raises:
      TypeError, ValueError: if it is no time, or has no end.

    """
    if ttl is None:
        return TaskMetadata()
    check_number("ttl", ttl, above=0)
    if math.isinf(ttl):
        raise ValueError(f"ttl: expected a finite number of seconds, got {ttl!r}")
    return TaskMetadata(ttl=max(1, round(min(ttl * 1000, _LONGEST_MS))))


def seconds_wanted(wanted: TaskMetadata) -> float | None:
    """Say for how long a task is to be kept; None where that is left to this side.

    Raises:
      MCPError: -32602 if it is no time.

    """
    milliseconds = wanted.ttl
    if milliseconds is None:
        return None
    if milliseconds <= 0:
        raise MCPError(
            INVALID_PARAMS,
            "Invalid params: params.task.ttl: expected a positive number of milliseconds, got "
            f"{excerpt(milliseconds)}",
        )
    # Not more than what floats can hold.
    return min(milliseconds, _LONGEST_MS) / 1000


def outcome_of(task: StoredTask) -> JsonObject:
    """Give what the request of a task that is over would have been answered.

    Raises:
      MCPError: the error that it would have been answered with; -32603 if it was cancelled.

    """
    if task.error is not None:
        raise MCPError.from_error_data(from_json(ErrorData, task.error))
    if task.result is None:
        raise MCPError(INTERNAL_ERROR, "The task was cancelled")
    said: JsonObject = task.result.get("_meta") or {}
    return {**task.result, "_meta": {**said, **related_to(task.task_id)}}


def members(task: Task) -> dict[str, Any]:
    """Give the members of a task, for results that have them for their own."""
    return {
        "task_id": task.task_id,
        "status": task.status,
        "status_message": task.status_message,
        "created_at": task.created_at,
        "last_updated_at": task.last_updated_at,
        "ttl": task.ttl,
        "poll_interval": task.poll_interval,
    }


# What is answered to requests that are not right


def unknown(task_id: str) -> MCPError:
    """Make the error for a task that is not there, or not for who asks."""
    return MCPError(INVALID_PARAMS, f"Unknown task: {excerpt(task_id)}")


def over_already(task: StoredTask) -> MCPError:
    """Make the error for a task that can no longer be cancelled."""
    status = task.to_task().status
    return MCPError(INVALID_PARAMS, f"The task cannot be cancelled: it is {status} already")


def no_cursor(cursor: str | None) -> MCPError:
    """Make the error for a cursor that no page has."""
    return MCPError(INVALID_PARAMS, "Invalid cursor", {"cursor": excerpt(cursor)})
