"""Sampling: a server asks the client's model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from ._base import JsonObject, WireModel, wire_field, wire_model
from ._common import RequestParams, Result
from ._content import AudioContent, ImageContent, TextContent
from ._messages import Request

if TYPE_CHECKING:
    from ._content_block import ContentBlock
    from ._literals import IncludeContext, Role, StopReason
    from ._tasks import TaskMetadata
    from ._tools import Tool

__all__ = [
    "CreateMessageRequest",
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "CreateMessageResultWithTools",
    "ModelHint",
    "ModelPreferences",
    "SamplingContent",
    "SamplingMessage",
    "SamplingMessageContentBlock",
    "ToolChoice",
    "ToolResultContent",
    "ToolUseContent",
]


@wire_model(since="2025-11-25")
class ToolUseContent(WireModel):
    """The model wants a tool called."""

    type: Literal["tool_use"] = wire_field(default="tool_use", always=True)
    name: str
    id: str
    input: JsonObject
    meta: JsonObject | None = wire_field(default=None, wire="_meta")


@wire_model(since="2025-11-25")
class ToolResultContent(WireModel):
    """What the tool said, told to the model."""

    type: Literal["tool_result"] = wire_field(default="tool_result", always=True)
    tool_use_id: str
    content: list[ContentBlock] = wire_field(factory=list, always=True)
    structured_content: Any = wire_field(default=None)
    """As in `CallToolResult`."""
    is_error: bool | None = None
    meta: JsonObject | None = wire_field(default=None, wire="_meta")


SamplingContent: TypeAlias = TextContent | ImageContent | AudioContent
"""One block, without tools."""

SamplingMessageContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
)
"""One block of a conversation with a model."""


@wire_model
class SamplingMessage(WireModel):
    """One turn. Before 2025-11-25 each block of a list is sent as a message of its own."""

    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-11-25")

    @property
    def content_as_list(self) -> list[SamplingMessageContentBlock]:
        """The blocks, also when there is just one."""
        return self.content if isinstance(self.content, list) else [self.content]


@wire_model
class ModelHint(WireModel):
    name: str | None = None
    """A part of a model's name."""


@wire_model
class ModelPreferences(WireModel):
    """Which model to take. Priorities go from 0, does not matter, to 1, matters most."""

    hints: list[ModelHint] | None = None
    """The first that fits."""
    cost_priority: float | None = wire_field(default=None, bounds=(0, 1))
    speed_priority: float | None = wire_field(default=None, bounds=(0, 1))
    intelligence_priority: float | None = wire_field(default=None, bounds=(0, 1))


@wire_model
class ToolChoice(WireModel):
    mode: Literal["auto", "required", "none"] | None = None
    """Absent, it is "auto"."""


@wire_model
class CreateMessageRequestParams(RequestParams):
    messages: list[SamplingMessage]
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: IncludeContext | None = None
    temperature: float | None = None
    max_tokens: int
    stop_sequences: list[str] | None = None
    metadata: JsonObject | None = None
    """For the provider of the model."""
    tools: list[Tool] | None = wire_field(default=None, since="2025-11-25")
    tool_choice: ToolChoice | None = wire_field(default=None, since="2025-11-25")
    task: TaskMetadata | None = wire_field(default=None, since="2025-11-25", until="2026-07-28")


@wire_model
class CreateMessageRequest(Request[CreateMessageRequestParams, Literal["sampling/createMessage"]]):
    method: Literal["sampling/createMessage"] = wire_field(
        default="sampling/createMessage", always=True
    )
    params: CreateMessageRequestParams


@wire_model
class CreateMessageResult(Result):
    """What the model said, in one block without tools."""

    is_input_response: ClassVar[bool] = True

    role: Role
    content: SamplingContent
    model: str
    stop_reason: StopReason | None = None


@wire_model
class CreateMessageResultWithTools(Result):
    """What the model said, in any number of blocks."""

    is_input_response: ClassVar[bool] = True

    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]
    model: str
    stop_reason: StopReason | None = None

    @property
    def content_as_list(self) -> list[SamplingMessageContentBlock]:
        """The blocks, also when there is just one."""
        return self.content if isinstance(self.content, list) else [self.content]
