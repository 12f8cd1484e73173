"""From an HTTP response to the answer of a call, by its status and content type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trio_mcp._codec import parse_frame
from trio_mcp.errors import InvalidResponse
from trio_mcp.types import METHOD_NOT_FOUND, JSONRPCError

from ._body import Body
from ._endpoint import MAX_ERROR_BODY
from ._http_errors import refused_with, shown

if TYPE_CHECKING:
    from ._client_call import HttpCall
    from ._client_retry import Position


NOT_READ: Final = frozenset({401, 403})
"""What these statuses say is no answer to the request, even where it is a JSON-RPC error: it
came no further than the guard of the server."""


async def read_response(
    response: Any, call: HttpCall, position: Position, *, session_lost: bool = False
) -> None:
    """Read a response, and settle the call by it.

    A stream that ends in good order without an answer leaves the call unsettled.

    Args:
      response: Of an HTTP client; it is closed in any case.
      call: The request that it answers.
      position: Of the stream, if it is one; kept up to date.
      session_lost: Whether its status says that the session is unknown, unless the body
          says that the method is.

    Raises:
      ConnectionLost: if it is none of the protocol, or breaks off.
      InvalidResponse: if it is, and no answer.

    """
    body = Body(response, f"{call.method}: {response.request.method} {_where(response)}")
    try:
        status = response.status_code
        kind = media_type(response)
        if status == 200 and _encoding(response) != "identity":
            raise InvalidResponse(
                f"{call.method}: the answer is compressed ({_encoding(response)}), which was "
                "not asked for"
            )
        if status == 200 and kind == "text/event-stream":
            await call.read_events(body, position)
        elif status == 200 and kind == "application/json":
            await call.read_json(body)
        elif status in {202, 204}:
            raise InvalidResponse(
                f"{call.method}: the server took the request as a notification (status {status})"
            )
        else:
            await _read_refusal(response, body, call, session_lost=session_lost)
    finally:
        await body.leave()  # noqa: ASYNC102 - it shields itself, bounded


async def _read_refusal(response: Any, body: Body, call: HttpCall, *, session_lost: bool) -> None:
    status = response.status_code
    data = await body.read_begin(MAX_ERROR_BODY) if status < 300 or status >= 400 else b""
    frame = parse_frame(data) if media_type(response) == "application/json" else None
    if isinstance(frame, JSONRPCError) and _answers(frame, status, call, session_lost):
        call.refused(frame.error, refused_with(response, body.what, data))
    elif not session_lost:
        raise refused_with(response, body.what, data)


def _answers(error: JSONRPCError, status: int, call: HttpCall, session_lost: bool) -> bool:
    if status in NOT_READ:
        return False
    if session_lost:
        # 404 stands for that (sessions), and for this; servers put the id into either.
        return error.id == call.id and error.error.code == METHOD_NOT_FOUND
    if error.id is None:
        # Streamable HTTP, responses: attribute it to what was posted.
        return 400 <= status < 500
    return error.id == call.id


def media_type(response: Any) -> str:
    """Give the content type of a response without its parameters."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _encoding(response: Any) -> str:
    encoding: str = response.headers.get("content-encoding", "")
    return encoding.strip().lower() or "identity"


def _where(response: Any) -> str:
    return shown(str(response.request.url))
