"""What a server says it can do. All of these are open: others may be added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base import JsonObject, WireModel, drop_no_settings, wire_field, wire_model

if TYPE_CHECKING:
    from ._task_capabilities import ServerTasksCapability

__all__ = [
    "CompletionsCapability",
    "LoggingCapability",
    "PromptsCapability",
    "ResourcesCapability",
    "ServerCapabilities",
    "ToolsCapability",
]


@wire_model
class LoggingCapability(WireModel):
    """The server sends log messages."""


@wire_model
class CompletionsCapability(WireModel):
    """The server completes arguments."""


@wire_model
class PromptsCapability(WireModel):
    list_changed: bool | None = None


@wire_model
class ResourcesCapability(WireModel):
    subscribe: bool | None = None
    list_changed: bool | None = None


@wire_model
class ToolsCapability(WireModel):
    list_changed: bool | None = None


@wire_model
class ServerCapabilities(WireModel):
    experimental: dict[str, JsonObject] | None = None
    logging: LoggingCapability | None = None
    prompts: PromptsCapability | None = None
    resources: ResourcesCapability | None = None
    tools: ToolsCapability | None = None
    completions: CompletionsCapability | None = wire_field(default=None, since="2025-03-26")

    # As for clients.
    extensions: dict[str, Any] | None = None
    """Settings by the name of the extension, each an object; others count as not declared."""

    tasks: ServerTasksCapability | None = wire_field(
        default=None, since="2025-11-25", until="2026-07-28"
    )

    def __attrs_post_init__(self) -> None:
        drop_no_settings(self)
