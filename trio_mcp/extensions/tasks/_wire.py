"""What the tasks extension adds to the wire (SEP-2663)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

from trio_mcp.types import (
    Request,
    RequestParams,
    Result,
    WireModel,
    wire_field,
    wire_model,
)

if TYPE_CHECKING:
    from trio_mcp.types import InputRequests, JsonObject, JsonValue, TaskStatus

TASKS: Final = "io.modelcontextprotocol/tasks"
"""The identifier of the extension."""


@wire_model
class _TaskResult(Result):
    task_id: str
    status: TaskStatus
    status_message: str | None = None
    created_at: str
    """An ISO 8601 time."""
    last_updated_at: str
    ttl_ms: int | None = wire_field(always=True, bounds=(0, None))
    """For how many milliseconds from its creation it is kept; None, which is null, for ever."""
    poll_interval_ms: int | None = wire_field(default=None, bounds=(0, None))
    """After how many milliseconds to ask again."""


@wire_model
class CreateTaskResult(_TaskResult):
    """A task, in place of the result of a tool."""

    result_type: Literal["task"] = wire_field(default="task", always=True)


@wire_model
class TaskError(WireModel):
    """The error that a request would have been answered with."""

    code: int
    message: str
    data: JsonValue = None


@wire_model
class DetailedTask(_TaskResult):
    """A task as it is now."""

    result_type: Literal["complete"] = wire_field(default="complete", always=True)
    input_requests: InputRequests | None = None
    """What waits for an answer, where the status is ``input_required``."""
    result: JsonObject | None = None
    """What the request would have been answered, where the status is ``completed``."""
    error: TaskError | None = None
    """What the request would have failed with, where the status is ``failed``."""


@wire_model
class TaskRequestParams(RequestParams):
    """Params of ``tasks/get`` and ``tasks/cancel``."""

    task_id: str


@wire_model
class UpdateTaskRequestParams(RequestParams):
    """Params of ``tasks/update``.

    The answers are read by those who know the questions: one without is ignored.
    """

    task_id: str
    input_responses: dict[str, JsonObject]


@wire_model
class GetTaskRequest(Request[TaskRequestParams, Literal["tasks/get"]]):
    name_param: ClassVar[str | None] = "taskId"

    method: Literal["tasks/get"] = wire_field(default="tasks/get", always=True)
    params: TaskRequestParams


@wire_model
class UpdateTaskRequest(Request[UpdateTaskRequestParams, Literal["tasks/update"]]):
    name_param: ClassVar[str | None] = "taskId"

    method: Literal["tasks/update"] = wire_field(default="tasks/update", always=True)
    params: UpdateTaskRequestParams


@wire_model
class CancelTaskRequest(Request[TaskRequestParams, Literal["tasks/cancel"]]):
    name_param: ClassVar[str | None] = "taskId"

    method: Literal["tasks/cancel"] = wire_field(default="tasks/cancel", always=True)
    params: TaskRequestParams
