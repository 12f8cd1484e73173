"""Capabilities of the experimental tasks of 2025-11-25."""

from __future__ import annotations

from ._base import WireModel, wire_model

__all__ = [
    "ClientTasksCapability",
    "ClientTasksRequestsCapability",
    "ServerTasksCapability",
    "ServerTasksRequestsCapability",
    "TasksCallCapability",
    "TasksCancelCapability",
    "TasksCreateElicitationCapability",
    "TasksCreateMessageCapability",
    "TasksElicitationCapability",
    "TasksListCapability",
    "TasksSamplingCapability",
    "TasksToolsCapability",
]


@wire_model
class TasksListCapability(WireModel):
    """``tasks/list`` is served."""


@wire_model
class TasksCancelCapability(WireModel):
    """``tasks/cancel`` is served."""


@wire_model
class TasksCreateMessageCapability(WireModel):
    """``sampling/createMessage`` may run as a task."""


@wire_model
class TasksSamplingCapability(WireModel):
    create_message: TasksCreateMessageCapability | None = None


@wire_model
class TasksCreateElicitationCapability(WireModel):
    """``elicitation/create`` may run as a task."""


@wire_model
class TasksElicitationCapability(WireModel):
    create: TasksCreateElicitationCapability | None = None


@wire_model
class TasksCallCapability(WireModel):
    """``tools/call`` may run as a task."""


@wire_model
class TasksToolsCapability(WireModel):
    call: TasksCallCapability | None = None


@wire_model
class ClientTasksRequestsCapability(WireModel):
    sampling: TasksSamplingCapability | None = None
    elicitation: TasksElicitationCapability | None = None


@wire_model
class ClientTasksCapability(WireModel):
    list: TasksListCapability | None = None
    cancel: TasksCancelCapability | None = None
    requests: ClientTasksRequestsCapability | None = None


@wire_model
class ServerTasksRequestsCapability(WireModel):
    tools: TasksToolsCapability | None = None


@wire_model
class ServerTasksCapability(WireModel):
    list: TasksListCapability | None = None
    cancel: TasksCancelCapability | None = None
    requests: ServerTasksRequestsCapability | None = None
