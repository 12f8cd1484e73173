"""Prompts: what they are, listing and getting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

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
    from ._literals import ResultType, Role

__all__ = [
    "GetPromptRequestParams",
    "GetPromptResult",
    "ListPromptsResult",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "PromptReference",
]


@wire_model
class PromptArgument(BaseMetadata):
    description: str | None = None
    required: bool | None = None


@wire_model
class Prompt(BaseMetadata):
    """A text with gaps that the server fills in."""

    description: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Icon] | None = wire_field(default=None, since="2025-11-25")
    meta: JsonObject | None = wire_field(default=None, wire="_meta", since="2025-06-18")


@wire_model
class PromptMessage(WireModel):
    role: Role
    content: ContentBlock


@wire_model
class PromptReference(WireModel):
    """What is completed: an argument of this prompt."""

    type: Literal["ref/prompt"] = wire_field(default="ref/prompt", always=True)
    name: str
    title: str | None = wire_field(default=None, since="2025-06-18")


@wire_model
class ListPromptsResult(PaginatedResult, CacheableResult):
    prompts: list[Prompt]
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class GetPromptRequestParams(InputResponseRequestParams):
    name: str
    arguments: dict[str, str] | None = None


@wire_model
class GetPromptResult(Result):
    description: str | None = None
    messages: list[PromptMessage]
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )
