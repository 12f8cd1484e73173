"""What clients and servers say they can do. All of these are open: others may be added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import JsonObject, WireModel, wire_field, wire_model

if TYPE_CHECKING:
    from ._task_capabilities import ClientTasksCapability, ServerTasksCapability

__all__ = [
    "ClientCapabilities",
    "CompletionsCapability",
    "ElicitationCapability",
    "FormElicitationCapability",
    "LoggingCapability",
    "PromptsCapability",
    "ResourcesCapability",
    "RootsCapability",
    "SamplingCapability",
    "SamplingContextCapability",
    "SamplingToolsCapability",
    "ServerCapabilities",
    "ToolsCapability",
    "UrlElicitationCapability",
]


@wire_model
class RootsCapability(WireModel):
    list_changed: bool | None = wire_field(default=None, until="2026-07-28")
    """The client tells when its roots change."""


@wire_model
class SamplingContextCapability(WireModel):
    """The client takes an ``includeContext`` other than "none"."""


@wire_model
class SamplingToolsCapability(WireModel):
    """The client takes ``tools`` and ``toolChoice``."""


@wire_model
class SamplingCapability(WireModel):
    context: SamplingContextCapability | None = wire_field(default=None, since="2025-11-25")
    tools: SamplingToolsCapability | None = wire_field(default=None, since="2025-11-25")


@wire_model
class FormElicitationCapability(WireModel):
    """The client shows forms."""


@wire_model
class UrlElicitationCapability(WireModel):
    """The client opens URLs."""


@wire_model
class ElicitationCapability(WireModel):
    """Neither of the two stands for forms alone."""

    form: FormElicitationCapability | None = wire_field(default=None, since="2025-11-25")
    url: UrlElicitationCapability | None = wire_field(default=None, since="2025-11-25")


@wire_model
class ClientCapabilities(WireModel):
    experimental: dict[str, JsonObject] | None = None
    sampling: SamplingCapability | None = None
    elicitation: ElicitationCapability | None = wire_field(default=None, since="2025-06-18")
    roots: RootsCapability | None = None

    # Of 2026-07-28, but the extension "apps" is agreed upon in older handshakes, too.
    extensions: dict[str, JsonObject] | None = None
    """Settings by the name of the extension."""

    tasks: ClientTasksCapability | None = wire_field(
        default=None, since="2025-11-25", until="2026-07-28"
    )


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
    extensions: dict[str, JsonObject] | None = None
    """Settings by the name of the extension."""

    tasks: ServerTasksCapability | None = wire_field(
        default=None, since="2025-11-25", until="2026-07-28"
    )
