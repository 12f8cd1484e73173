"""Answers that are none: the calls they were meant for are failed by them, lest they wait on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._codec import Malformed
from trio_mcp.errors import InvalidResponse
from trio_mcp.types import JSONRPCError, JSONRPCResponse

if TYPE_CHECKING:
    from trio_mcp._codec import Batch
    from trio_mcp._protocol._open_requests import OpenRequests
    from trio_mcp.types import RequestId

    from ._calls import Call


def fail_by_malformed(calls: OpenRequests[Call], malformed: Malformed) -> bool:
    """Fail the call that something malformed was meant to answer; False if there is none."""
    if malformed.answers is None:
        return False
    call = calls.close(malformed.answers)
    if call is None:
        return malformed.is_response and fail_by_mistyped(calls, malformed.answers)
    call.failed(InvalidResponse(f"{call.method}: {malformed.message}"))
    return True


def fail_by_mistyped(calls: OpenRequests[Call], request_id: RequestId) -> bool:
    """Fail the call whose id came back as a string; False if there is none.

    Basic protocol, responses: the same id, and ``"1"`` is not ``1``. But no other answer will
    come.
    """
    call = calls.close_mistyped(request_id)
    if call is None:
        return False
    what = f"the answer has the id {request_id!r}, the request had {call.id!r}"
    call.failed(InvalidResponse(f"{call.method}: {what}"))
    return True


def fail_by_batch(calls: OpenRequests[Call], batch: Batch, what: str) -> bool:
    """Fail the calls that are answered in a batch where there must be none.

    Returns:
      Whether the batch held nothing but answers, so that nothing may be sent back.

    """
    only_answers = True
    for frame in batch.messages:
        if isinstance(frame, Malformed):
            fail_by_malformed(calls, frame)
            only_answers = only_answers and frame.is_response
        elif isinstance(frame, (JSONRPCResponse, JSONRPCError)):
            call = None if frame.id is None else calls.close(frame.id)
            if call is not None:
                call.failed(InvalidResponse(f"{call.method}: {what}"))
        else:
            only_answers = False
    return only_answers
