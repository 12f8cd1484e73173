"""Tools: what they are, listing and calling them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._base import JsonObject, WireModel, wire_field, wire_model
from ._common import (
    BaseMetadata,
    CacheableResult,
    InputResponseRequestParams,
    PaginatedResult,
    Result,
)

if TYPE_CHECKING:
    from ._content_block import ContentBlock
    from ._icons import Icon
    from ._literals import ResultType
    from ._tasks import TaskMetadata

__all__ = [
    "CallToolRequestParams",
    "CallToolResult",
    "ListToolsResult",
    "Tool",
    "ToolAnnotations",
    "ToolExecution",
]


@wire_model
class ToolAnnotations(WireModel):
    """Hints on what a tool does. They come from the server and prove nothing."""

    title: str | None = None

    read_only_hint: bool | None = None
    """It changes nothing; False when absent."""

    destructive_hint: bool | None = None
    """It may destroy; True when absent. Of no meaning for one that only reads."""

    idempotent_hint: bool | None = None
    """A second call changes no more; False when absent. Of no meaning for one that only
    reads."""

    open_world_hint: bool | None = None
    """It deals with the world outside; True when absent."""


@wire_model
class ToolExecution(WireModel):
    """Whether a tool runs as a task of 2025-11-25."""

    task_support: Literal["forbidden", "optional", "required"] | None = None


@wire_model
class Tool(BaseMetadata):
    """Something the server can do."""

    description: str | None = None

    input_schema: JsonObject
    """A JSON Schema whose root is an object."""

    execution: ToolExecution | None = wire_field(
        default=None, since="2025-11-25", until="2026-07-28"
    )
    output_schema: JsonObject | None = wire_field(default=None, since="2025-06-18")
    """A JSON Schema of the structured content. Before 2026-07-28 only one whose root is an
    object is written."""

    icons: list[Icon] | None = wire_field(default=None, since="2025-11-25")
    annotations: ToolAnnotations | None = wire_field(default=None, since="2025-03-26")
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")


@wire_model
class ListToolsResult(PaginatedResult, CacheableResult):
    tools: list[Tool]
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class CallToolRequestParams(InputResponseRequestParams):
    name: str
    arguments: JsonObject | None = None
    task: TaskMetadata | None = wire_field(default=None, since="2025-11-25", until="2026-07-28")
    """Run it as a task of 2025-11-25."""


@wire_model
class CallToolResult(Result):
    """What a tool returned, or, with `is_error`, why it could not."""

    content: list[ContentBlock]

    structured_content: Any = wire_field(default=None, since="2025-06-18")
    """Any JSON value; None for none. Before 2026-07-28 it can only be an object: another is
    left out, and its JSON becomes the text if there is no content. An explicit ``null`` stands
    in `extra`, as ``{"structuredContent": None}``."""

    is_error: bool = False
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )
