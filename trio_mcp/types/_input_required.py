"""What a server needs before it can answer, 2026-07-28."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ._base import wire_field, wire_model
from ._common import Result
from ._elicitation import ElicitRequest, ElicitResult
from ._roots import ListRootsRequest, ListRootsResult
from ._sampling import CreateMessageRequest, CreateMessageResult, CreateMessageResultWithTools

__all__ = [
    "InputRequest",
    "InputRequests",
    "InputRequiredResult",
    "InputResponse",
    "InputResponses",
]

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


@wire_model(since="2026-07-28")
class InputRequiredResult(Result):
    """Not an answer yet: the client asks again, with what is asked for here.

    Raises:
      ValueError: if neither questions nor a state are given.

    """

    result_type: Literal["input_required"] = wire_field(
        default="input_required", since="2026-07-28", always=True
    )
    input_requests: InputRequests | None = None
    request_state: str | None = None
    """Opaque to the client, which sends it back as it is."""

    def __attrs_post_init__(self) -> None:
        if not self.input_requests and self.request_state is None:
            msg = "InputRequiredResult needs input_requests, request_state or both"
            raise ValueError(msg)
