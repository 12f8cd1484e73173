"""Stores of tasks, and tasks to put into them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from trio_mcp.extensions import InMemoryTaskStore, RedisTaskStore, StoredTask

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

in_each_store = pytest.mark.parametrize("kind", ["memory", "redis"])


def stored(task_id: str, **more: Any) -> StoredTask:
    """Make a task of nobody, if nothing else is said."""
    fields = {"owner": None, "created_at": 0.0, "updated_at": 0.0, "ttl": 60.0}
    return StoredTask(task_id=task_id, poll_interval=1.0, **{**fields, **more})


@asynccontextmanager
async def open_store(
    kind: str, request: pytest.FixtureRequest, **options: Any
) -> AsyncGenerator[Any, None]:
    """Open one of a kind."""
    if kind == "memory":
        yield InMemoryTaskStore(**options)
        return
    store = RedisTaskStore(request.getfixturevalue("redis_server").url, **options)
    async with store.open():
        yield store
