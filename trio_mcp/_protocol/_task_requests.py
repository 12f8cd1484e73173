"""Requests that ask for a task (tasks, 2025-11-25)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

_AUGMENTABLE: Final = frozenset({"tools/call", "sampling/createMessage", "elicitation/create"})


def asks_for_task(method: str, params: JsonObject | None, revision: Revision) -> bool:
    """Whether a request asks for a task, which ``tasks/cancel`` alone cancels (cancellation)."""
    return (
        params is not None
        and "task" in params
        and revision.has_tasks
        and method in _AUGMENTABLE
        and params["task"] is not None
    )
