"""Extensions of the protocol, for servers and clients; each is off unless it is given.

They stand on public names alone, as one of yours would. Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp.extensions.tasks._client import TasksClientExtension as TasksClientExtension
    from trio_mcp.extensions.tasks._handle import Task as Task
    from trio_mcp.extensions.tasks._handle import TaskCancelled as TaskCancelled
    from trio_mcp.extensions.tasks._server import TasksExtension as TasksExtension
    from trio_mcp.extensions.tasks._server import TaskSupport as TaskSupport
    from trio_mcp.extensions.tasks._store import InMemoryTaskStore as InMemoryTaskStore
    from trio_mcp.extensions.tasks._store import TaskStore as TaskStore
    from trio_mcp.extensions.tasks._store import TooManyTasks as TooManyTasks
    from trio_mcp.extensions.tasks._stored import StoredTask as StoredTask
    from trio_mcp.extensions.tasks._wire import CreateTaskResult as CreateTaskResult
    from trio_mcp.extensions.tasks._wire import DetailedTask as DetailedTask
    from trio_mcp.extensions.tasks._wire import TaskError as TaskError

__all__ = [
    "CreateTaskResult",
    "DetailedTask",
    "InMemoryTaskStore",
    "StoredTask",
    "Task",
    "TaskCancelled",
    "TaskError",
    "TaskStore",
    "TaskSupport",
    "TasksClientExtension",
    "TasksExtension",
    "TooManyTasks",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "CreateTaskResult": ".tasks._wire",
            "DetailedTask": ".tasks._wire",
            "InMemoryTaskStore": ".tasks._store",
            "StoredTask": ".tasks._stored",
            "Task": ".tasks._handle",
            "TaskCancelled": ".tasks._handle",
            "TaskError": ".tasks._wire",
            "TaskStore": ".tasks._store",
            "TaskSupport": ".tasks._server",
            "TasksClientExtension": ".tasks._client",
            "TasksExtension": ".tasks._server",
            "TooManyTasks": ".tasks._store",
        },
    )
