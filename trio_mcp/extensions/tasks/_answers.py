"""Answers to what a server asks while a task goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp._codec._public import from_json
from trio_mcp.types import (
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

_REQUESTS: dict[str, Any] = {
    "elicitation/create": ElicitRequest,
    "roots/list": ListRootsRequest,
    "sampling/createMessage": CreateMessageRequest,
}


def read_question(question: JsonObject) -> InputRequest:
    """Read a question as it was stored."""
    request: InputRequest = from_json(_REQUESTS[question["method"]], question)
    return request


def read_answer(request: InputRequest, answer: JsonObject) -> InputResponse:
    """Read the answer to a question.

    Raises:
      ValueError: if it is none.

    """
    read: InputResponse = from_json(_answer_type(request), answer)
    if isinstance(read, ElicitResult) and getattr(request.params, "mode", None) == "url":
        # "Omitted for out-of-band mode responses" (schema of ElicitResult).
        return read.evolve(content=None)
    return read


def _answer_type(request: InputRequest) -> Any:
    if isinstance(request, ListRootsRequest):
        return ListRootsResult
    if isinstance(request, CreateMessageRequest):
        asked = request.params
        uses_tools = asked.tools is not None or asked.tool_choice is not None
        return CreateMessageResultWithTools if uses_tools else CreateMessageResult
    return ElicitResult
