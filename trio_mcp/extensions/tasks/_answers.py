"""Answers to what a server asks while a task goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from trio_mcp._codec._public import from_json
from trio_mcp.types import (
    LATEST_MODERN_VERSION,
    CreateMessageRequest,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitResult,
    ListRootsRequest,
    ListRootsResult,
)

if TYPE_CHECKING:
    from trio_mcp.types import InputRequest, InputResponse, JsonObject

AnswerT = TypeVar("AnswerT")

_REQUESTS: dict[str, Any] = {
    "elicitation/create": ElicitRequest,
    "roots/list": ListRootsRequest,
    "sampling/createMessage": CreateMessageRequest,
}


def read_question(
    question: JsonObject, protocol_version: str = LATEST_MODERN_VERSION
) -> InputRequest:
    """Read a question as it was stored.

    Raises:
      ValueError: if it is none at this revision.

    """
    kind = _REQUESTS[question["method"]]
    request: InputRequest = from_json(kind, question, protocol_version)
    return request


def read_answer(request: InputRequest, answer: JsonObject) -> InputResponse:
    """Read the answer to a question.

    Raises:
      ValueError: if it is none.

    """
    read: InputResponse = from_json(answer_type(request), answer)
    return without_content(request, read)


def without_content(request: InputRequest, answer: AnswerT) -> AnswerT:
    """Leave out of an answer what one to a visit of a URL has not."""
    if isinstance(answer, ElicitResult) and getattr(request.params, "mode", None) == "url":
        # "Omitted for out-of-band mode responses" (schema of ElicitResult).
        return answer.evolve(content=None)
    return answer


def answer_type(request: InputRequest) -> Any:
    """Name the type of a question's answer."""
    if isinstance(request, ListRootsRequest):
        return ListRootsResult
    if isinstance(request, CreateMessageRequest):
        asked = request.params
        uses_tools = asked.tools is not None or asked.tool_choice is not None
        return CreateMessageResultWithTools if uses_tools else CreateMessageResult
    return ElicitResult
