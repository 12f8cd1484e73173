"""The experimental tasks of 2025-11-25; those of 2026-07-28 are an extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._base import WireModel, wire_field, wire_model
from ._common import NotificationParams, PaginatedResult, RequestParams, Result
from ._messages import Notification, PaginatedRequest, Request

if TYPE_CHECKING:
    from ._literals import TaskStatus

__all__ = [
    "CancelTaskRequest",
    "CancelTaskRequestParams",
    "CancelTaskResult",
    "CreateTaskResult",
    "GetTaskPayloadRequest",
    "GetTaskPayloadRequestParams",
    "GetTaskPayloadResult",
    "GetTaskRequest",
    "GetTaskRequestParams",
    "GetTaskResult",
    "ListTasksRequest",
    "ListTasksResult",
    "RelatedTaskMetadata",
    "Task",
    "TaskMetadata",
    "TaskStatusNotification",
    "TaskStatusNotificationParams",
]


@wire_model
class TaskMetadata(WireModel):
    """Asks for a task."""

    ttl: int | None = None
    """For how many milliseconds to keep it."""


@wire_model
class RelatedTaskMetadata(WireModel):
    """In ``_meta``: the task that a message belongs to."""

    task_id: str


@wire_model
class Task(WireModel):
    task_id: str
    status: TaskStatus
    status_message: str | None = None
    created_at: str
    """An ISO 8601 time."""
    last_updated_at: str
    ttl: int | None = wire_field(always=True)
    """For how many milliseconds it is kept; None, which is written as null, for ever."""
    poll_interval: int | None = None
    """After how many milliseconds to ask again."""


@wire_model
class CreateTaskResult(Result):
    task: Task


@wire_model
class GetTaskRequestParams(RequestParams):
    task_id: str


@wire_model
class GetTaskRequest(Request[GetTaskRequestParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = wire_field(default="tasks/get", always=True)
    params: GetTaskRequestParams


@wire_model
class GetTaskResult(Result, Task):
    """The task itself."""


@wire_model
class GetTaskPayloadRequestParams(RequestParams):
    task_id: str


@wire_model
class GetTaskPayloadRequest(Request[GetTaskPayloadRequestParams, Literal["tasks/result"]]):
    method: Literal["tasks/result"] = wire_field(default="tasks/result", always=True)
    params: GetTaskPayloadRequestParams


@wire_model
class GetTaskPayloadResult(Result):
    """The result of the request that became a task; its members are in `extra`."""


@wire_model
class CancelTaskRequestParams(RequestParams):
    task_id: str


@wire_model
class CancelTaskRequest(Request[CancelTaskRequestParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = wire_field(default="tasks/cancel", always=True)
    params: CancelTaskRequestParams


@wire_model
class CancelTaskResult(Result, Task):
    """The task, cancelled."""


@wire_model
class ListTasksRequest(PaginatedRequest[Literal["tasks/list"]]):
    method: Literal["tasks/list"] = wire_field(default="tasks/list", always=True)


@wire_model
class ListTasksResult(PaginatedResult):
    tasks: list[Task]


@wire_model
class TaskStatusNotificationParams(NotificationParams, Task):
    """The task as it is now."""


@wire_model
class TaskStatusNotification(
    Notification[TaskStatusNotificationParams, Literal["notifications/tasks/status"]]
):
    method: Literal["notifications/tasks/status"] = wire_field(
        default="notifications/tasks/status", always=True
    )
    params: TaskStatusNotificationParams
