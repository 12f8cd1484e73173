"""What one POST of the older era holds, where it may be a batch: what needs no handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp._codec import Malformed
from trio_mcp._protocol._refusals import invalid_request
from trio_mcp._rpc._bad_answers import fail_by_batch, fail_by_malformed
from trio_mcp.types import ErrorData, JSONRPCError, JSONRPCRequest

from ._refusal import Refusal
from ._written import dump_with_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp._codec import Batch
    from trio_mcp.types import JSONRPCMessage, RequestId

    from ._sessions import Session

REQUEST_CANCELLED: Final = -32800
"""Answered in JSON mode to a request that was cancelled, where there has to be some answer."""


def check_batch(session: Session, batch: Batch) -> Refusal | None:
    """Refuse a batch in a session whose revision has none."""
    if session.revision is not None and session.revision.has_batching:
        return None
    what = "Batches are not part of this protocol version"
    fail_by_batch(session.calls, batch, what)
    return Refusal.for_error(invalid_request(what))


def refuse_faults(session: Session, frames: Sequence[JSONRPCMessage | Malformed]) -> list[bytes]:
    """Answer what is no message, unless it is a bad answer, which its question hears of."""
    faults: list[bytes] = []
    for each in frames:
        if not isinstance(each, Malformed) or fail_by_malformed(session.calls, each):
            continue
        if not each.is_response:
            error = ErrorData(code=each.code, message=each.message)
            faults.append(dump_with_id(JSONRPCError(id=each.id, error=error)))
    return faults


def take_unanswered(session: Session, frame: JSONRPCMessage | Malformed) -> None:
    """Take a notification or an answer."""
    if not isinstance(frame, (JSONRPCRequest, Malformed)):
        session.take(frame)


def id_of_last(requests: list[JSONRPCRequest]) -> RequestId | None:
    """Give the id of the last request, if there is one."""
    return requests[-1].id if requests else None


def cancelled(request_id: RequestId | None) -> bytes:
    """Answer a request that was cancelled."""
    error = ErrorData(code=REQUEST_CANCELLED, message="The request was cancelled")
    return dump_with_id(JSONRPCError(id=request_id, error=error))
