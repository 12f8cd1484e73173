"""Extensions of the protocol, for servers and clients; each is off unless it is given.

Of servers and clients they use the public names alone, as one of yours would. What lies below
those, as the codec of JSON and the keeping of nurseries, they share with the rest of the package.
Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp.extensions.apps._host import AppDocument as AppDocument
    from trio_mcp.extensions.apps._host import AppsClientExtension as AppsClientExtension
    from trio_mcp.extensions.apps._host import ToolUI as ToolUI
    from trio_mcp.extensions.apps._host import content_security_policy as content_security_policy
    from trio_mcp.extensions.apps._host import is_callable_by_app as is_callable_by_app
    from trio_mcp.extensions.apps._host import read_app as read_app
    from trio_mcp.extensions.apps._host import tools_for_model as tools_for_model
    from trio_mcp.extensions.apps._server import Apps as Apps
    from trio_mcp.extensions.apps._server import client_supports_apps as client_supports_apps
    from trio_mcp.extensions.apps._wire import APP_MIME_TYPE as APP_MIME_TYPE
    from trio_mcp.extensions.apps._wire import ResourceCsp as ResourceCsp
    from trio_mcp.extensions.apps._wire import ResourcePermissions as ResourcePermissions
    from trio_mcp.extensions.apps._wire import ResourceUI as ResourceUI
    from trio_mcp.extensions.apps._wire import Visibility as Visibility
    from trio_mcp.extensions.skills._client import SkillsClient as SkillsClient
    from trio_mcp.extensions.skills._client import SkillsClientExtension as SkillsClientExtension
    from trio_mcp.extensions.skills._client import VerifiedFile as VerifiedFile
    from trio_mcp.extensions.skills._errors import InvalidSkillEntry as InvalidSkillEntry
    from trio_mcp.extensions.skills._errors import SkillDigestMismatch as SkillDigestMismatch
    from trio_mcp.extensions.skills._errors import (
        SkillFrontmatterMismatch as SkillFrontmatterMismatch,
    )
    from trio_mcp.extensions.skills._errors import SkillSizeMismatch as SkillSizeMismatch
    from trio_mcp.extensions.skills._errors import SkillsNotSupported as SkillsNotSupported
    from trio_mcp.extensions.skills._errors import SkillVerificationError as SkillVerificationError
    from trio_mcp.extensions.skills._errors import UnlistedSkillFile as UnlistedSkillFile
    from trio_mcp.extensions.skills._files import InvalidSkill as InvalidSkill
    from trio_mcp.extensions.skills._held import HeldSkill as HeldSkill
    from trio_mcp.extensions.skills._held import SkillApproval as SkillApproval
    from trio_mcp.extensions.skills._server import SkillsExtension as SkillsExtension
    from trio_mcp.extensions.skills._wire import SkillResource as SkillResource
    from trio_mcp.extensions.tasks._client import TasksClientExtension as TasksClientExtension
    from trio_mcp.extensions.tasks._handle import Task as Task
    from trio_mcp.extensions.tasks._list import list_tasks as list_tasks
    from trio_mcp.extensions.tasks._server import TasksExtension as TasksExtension
    from trio_mcp.extensions.tasks._server import TaskSupport as TaskSupport
    from trio_mcp.extensions.tasks._task_errors import TaskCancelled as TaskCancelled
    from trio_mcp.extensions.tasks._task_errors import TasksNotSupported as TasksNotSupported
    from trio_mcp.extensions.tasks._wire import CreateTaskResult as CreateTaskResult
    from trio_mcp.extensions.tasks._wire import DetailedTask as DetailedTask
    from trio_mcp.extensions.tasks._wire import TaskError as TaskError
    from trio_mcp.extensions.tasks.older._accepted import AcceptedTasks as AcceptedTasks
    from trio_mcp.extensions.tasks.older._client_task import ClientTask as ClientTask
    from trio_mcp.extensions.tasks.older._client_task import ask_in_task as ask_in_task
    from trio_mcp.extensions.tasks.stores._memory_store import (
        InMemoryTaskStore as InMemoryTaskStore,
    )
    from trio_mcp.extensions.tasks.stores._redis_store import RedisTaskStore as RedisTaskStore
    from trio_mcp.extensions.tasks.stores._store import ListingTaskStore as ListingTaskStore
    from trio_mcp.extensions.tasks.stores._store import TaskPage as TaskPage
    from trio_mcp.extensions.tasks.stores._store import TaskStore as TaskStore
    from trio_mcp.extensions.tasks.stores._store import TooManyTasks as TooManyTasks
    from trio_mcp.extensions.tasks.stores._stored import StoredTask as StoredTask

__all__ = [
    "APP_MIME_TYPE",
    "AcceptedTasks",
    "AppDocument",
    "Apps",
    "AppsClientExtension",
    "ClientTask",
    "CreateTaskResult",
    "DetailedTask",
    "HeldSkill",
    "InMemoryTaskStore",
    "InvalidSkill",
    "InvalidSkillEntry",
    "ListingTaskStore",
    "RedisTaskStore",
    "ResourceCsp",
    "ResourcePermissions",
    "ResourceUI",
    "SkillApproval",
    "SkillDigestMismatch",
    "SkillFrontmatterMismatch",
    "SkillResource",
    "SkillSizeMismatch",
    "SkillVerificationError",
    "SkillsClient",
    "SkillsClientExtension",
    "SkillsExtension",
    "SkillsNotSupported",
    "StoredTask",
    "Task",
    "TaskCancelled",
    "TaskError",
    "TaskPage",
    "TaskStore",
    "TaskSupport",
    "TasksClientExtension",
    "TasksExtension",
    "TasksNotSupported",
    "TooManyTasks",
    "ToolUI",
    "UnlistedSkillFile",
    "VerifiedFile",
    "Visibility",
    "ask_in_task",
    "client_supports_apps",
    "content_security_policy",
    "is_callable_by_app",
    "list_tasks",
    "read_app",
    "tools_for_model",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "APP_MIME_TYPE": ".apps._wire",
            "AcceptedTasks": ".tasks.older._accepted",
            "AppDocument": ".apps._host",
            "Apps": ".apps._server",
            "AppsClientExtension": ".apps._host",
            "ClientTask": ".tasks.older._client_task",
            "CreateTaskResult": ".tasks._wire",
            "DetailedTask": ".tasks._wire",
            "HeldSkill": ".skills._held",
            "InMemoryTaskStore": ".tasks.stores._memory_store",
            "InvalidSkill": ".skills._files",
            "InvalidSkillEntry": ".skills._errors",
            "ListingTaskStore": ".tasks.stores._store",
            "RedisTaskStore": ".tasks.stores._redis_store",
            "ResourceCsp": ".apps._wire",
            "ResourcePermissions": ".apps._wire",
            "ResourceUI": ".apps._wire",
            "SkillApproval": ".skills._held",
            "SkillDigestMismatch": ".skills._errors",
            "SkillFrontmatterMismatch": ".skills._errors",
            "SkillResource": ".skills._wire",
            "SkillSizeMismatch": ".skills._errors",
            "SkillVerificationError": ".skills._errors",
            "SkillsClient": ".skills._client",
            "SkillsClientExtension": ".skills._client",
            "SkillsExtension": ".skills._server",
            "SkillsNotSupported": ".skills._errors",
            "StoredTask": ".tasks.stores._stored",
            "Task": ".tasks._handle",
            "TaskCancelled": ".tasks._task_errors",
            "TaskError": ".tasks._wire",
            "TaskPage": ".tasks.stores._store",
            "TaskStore": ".tasks.stores._store",
            "TaskSupport": ".tasks._server",
            "TasksClientExtension": ".tasks._client",
            "TasksExtension": ".tasks._server",
            "TasksNotSupported": ".tasks._task_errors",
            "TooManyTasks": ".tasks.stores._store",
            "ToolUI": ".apps._host",
            "UnlistedSkillFile": ".skills._errors",
            "VerifiedFile": ".skills._client",
            "Visibility": ".apps._wire",
            "ask_in_task": ".tasks.older._client_task",
            "client_supports_apps": ".apps._server",
            "content_security_policy": ".apps._host",
            "is_callable_by_app": ".apps._host",
            "list_tasks": ".tasks._list",
            "read_app": ".apps._host",
            "tools_for_model": ".apps._host",
        },
    )
