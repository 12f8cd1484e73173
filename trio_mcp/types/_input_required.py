"""What a server needs before it can answer, 2026-07-28."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._base import wire_field, wire_model
from ._common import Result

if TYPE_CHECKING:
    from ._input import InputRequests

__all__ = ["InputRequiredResult"]


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
