"""Completing an argument while it is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import WireModel, wire_field, wire_model
from ._common import RequestParams, Result

if TYPE_CHECKING:
    from ._literals import ResultType
    from ._prompts import PromptReference
    from ._resources import ResourceTemplateReference

__all__ = [
    "CompleteRequestParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
]


@wire_model
class CompletionArgument(WireModel):
    name: str
    value: str
    """What was typed so far."""


@wire_model
class CompletionContext(WireModel):
    arguments: dict[str, str] | None = None
    """The other arguments, where they are known."""


@wire_model
class CompleteRequestParams(RequestParams):
    ref: ResourceTemplateReference | PromptReference
    argument: CompletionArgument
    context: CompletionContext | None = wire_field(default=None, since="2025-06-18")


@wire_model
class Completion(WireModel):
    values: list[str]
    """At most 100."""

    total: int | None = None
    """How many there are in all, which may be more than are in `values`."""

    has_more: bool | None = None


@wire_model
class CompleteResult(Result):
    completion: Completion
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )
