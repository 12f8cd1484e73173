"""The one place where what a handler did becomes an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._codec import checked_copy, excerpt, printable
from trio_mcp.errors import ConnectionLost, LocalError, MCPError
from trio_mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCResponse

from ._calls import logger

if TYPE_CHECKING:
    from ._exchange import Exchange
    from ._service import Serving

INTERNAL_ERROR_TEXT = "Internal server error"


async def answer(serving: Serving, exchange: Exchange) -> JSONRPCResponse | JSONRPCError:
    """Carry out an accepted request and make its answer.

    Whatever the handler raises is answered.

    Cancellation:
      What the handler raises beside it is logged, since nobody waits for an answer.

    """
    try:
        result = await serving.handle(exchange)
    except Exception as exc:
        if serving.raise_exceptions and not isinstance(exc, MCPError):
            raise
        return JSONRPCError(id=exchange.id, error=error_for(exc, exchange))
    except BaseExceptionGroup as group:
        if serving.raise_exceptions:
            raise
        raise without_failures(group, exchange) from None
    return JSONRPCResponse(id=exchange.id, result=result)


def without_failures(
    group: BaseExceptionGroup[BaseException], exchange: Exchange
) -> BaseException:
    """Give what ends a handler, mostly a cancellation, without what failed in it meanwhile.

    That is a defect of the handler, as in `error_for`, and must end nothing else.
    """
    failures, rest = group.split(Exception)
    if failures is not None:
        error_for(failures, exchange)
    return group if rest is None else rest


def error_for(exc: Exception, exchange: Exchange) -> ErrorData:
    """Turn an exception into the error to answer.

    An `MCPError` is answered as it is. Anything else, and a failure local to this process,
    is a defect: it is logged with its traceback, and the peer hears only that there was one.
    """
    if isinstance(exc, MCPError) and not isinstance(exc, LocalError):
        message = printable(str(exc.message))
        try:
            checked_copy(exc.data, "error.data")
        except (TypeError, ValueError):
            _log(exc, exchange)
            return ErrorData(code=exc.code, message=message)
        if message != exc.message:
            return ErrorData(code=exc.code, message=message, data=exc.data)
        return exc.error
    if is_left(exc, exchange):
        shown = excerpt(exchange.method), excerpt(exchange.id)
        logger.debug("%s #%r ended: %s", *shown, exc)
    else:
        _log(exc, exchange)
    return ErrorData(code=INTERNAL_ERROR, message=INTERNAL_ERROR_TEXT)


def is_left(exc: BaseException | None, exchange: Exchange) -> bool:
    """Tell whether a handler failed since its client has gone while it asked that something.

    That is nobody's defect: it comes with every client that goes or cancels.
    """
    return (
        isinstance(exc, ConnectionLost) and exchange.link is not None and not exchange.link.can_ask
    )


def _log(exc: Exception, exchange: Exchange) -> None:
    method, request_id = excerpt(exchange.method), excerpt(exchange.id)
    logger.error(
        "%s #%r failed",
        method,
        request_id,
        exc_info=exc,
        extra={"mcp_method": method, "mcp_request_id": request_id},
    )
