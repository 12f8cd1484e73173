"""What a server may ask a client, and what the client answers."""

from __future__ import annotations

from typing import TypeAlias

from ._elicitation import ElicitRequest, ElicitResult
from ._roots import ListRootsRequest, ListRootsResult
from ._sampling import CreateMessageRequest, CreateMessageResult, CreateMessageResultWithTools

__all__ = ["InputRequest", "InputRequests", "InputResponse", "InputResponses"]

InputRequest: TypeAlias = CreateMessageRequest | ListRootsRequest | ElicitRequest
"""One question, told apart by `method`."""

InputRequests: TypeAlias = dict[str, InputRequest]
"""Questions by keys of the server's choice."""

InputResponse: TypeAlias = (
    CreateMessageResult | CreateMessageResultWithTools | ListRootsResult | ElicitResult
)
"""The answer to one question."""

InputResponses: TypeAlias = dict[str, InputResponse]
"""Answers by the keys of their questions."""
