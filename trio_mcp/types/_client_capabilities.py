"""What a client says it can do. All of these are open: others may be added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base import JsonObject, WireModel, drop_no_settings, wire_field, wire_model

if TYPE_CHECKING:
    from ._task_capabilities import ClientTasksCapability

__all__ = [
    "ClientCapabilities",
    "ElicitationCapability",
    "FormElicitationCapability",
    "RootsCapability",
    "SamplingCapability",
    "SamplingContextCapability",
    "SamplingToolsCapability",
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

    # Of 2026-07-28, but the extension "apps" is agreed upon in older handshakes, too. Values of
    # any kind can be read, so that a mistake in one of them costs nothing else.
    extensions: dict[str, Any] | None = None
    """Settings by the name of the extension, each an object; others count as not declared."""

    tasks: ClientTasksCapability | None = wire_field(
        default=None, since="2025-11-25", until="2026-07-28"
    )

    def __attrs_post_init__(self) -> None:
        drop_no_settings(self)
