"""The one place where what an author's function raised becomes an answer.

What was raised on purpose (`ToolError`, `ResourceError`) shows its text; `MCPError` is answered
as it is. Anything else is a defect: its traceback is logged here, once, and the peer hears only
that there was one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp import types
from trio_mcp._codec import excerpt
from trio_mcp._protocol._refusals import about_resource
from trio_mcp._rpc._answer import is_left
from trio_mcp._rpc._nursery import sole_exception
from trio_mcp.errors import (
    LocalError,
    MCPError,
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedResourceError,
    UnexpectedToolError,
)
from trio_mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from ._registry import logger

if TYPE_CHECKING:
    from ._context import Context


def single_cause(exc: Exception) -> Exception:
    """Give the one exception in nested groups of one, as nurseries raise them."""
    sole = sole_exception(exc)
    # A group that is an Exception holds nothing else.
    assert isinstance(sole, Exception)
    return sole


def is_answer(exc: Exception) -> bool:
    """Tell whether an exception is the error to answer, word for word."""
    return isinstance(exc, MCPError) and not isinstance(exc, LocalError)


def unknown_resource(uri: str) -> ResourceNotFoundError:
    return ResourceNotFoundError(f"Unknown resource: {excerpt(uri)}")


def tool_failure(name: str, raised: Exception, context: Context) -> types.CallToolResult:
    """Make the result of a tool that failed.

    Raises:
      MCPError: if that is what the tool raised.

    """
    exc = single_cause(raised)
    if is_answer(exc):
        try:
            raise exc
        finally:
            # Its traceback holds this frame, which must not hold it in turn.
            del raised, exc
    if isinstance(exc, ToolError) and not isinstance(exc, UnexpectedToolError):
        # %r keeps text from the peer on one line.
        logger.info("Tool %r failed: %r", name, excerpt(str(exc)), extra=_extra(context))
        text = str(exc)
    else:
        _log_unexpected(exc, context, "Tool %r", name)
        text = str(exc) if isinstance(exc, UnexpectedToolError) else f"Error executing tool {name}"
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def resource_failure(uri: str, raised: Exception, context: Context) -> MCPError:
    """Make the error to answer when a resource could not be read."""
    exc = single_cause(raised)
    if isinstance(exc, MCPError) and is_answer(exc):
        return exc
    shown = excerpt(uri)
    if isinstance(exc, ResourceNotFoundError):
        logger.info("Resource %r was not found", shown, extra=_extra(context))
        return MCPError(INVALID_PARAMS, str(exc), about_resource(uri))
    if isinstance(exc, ResourceError) and not isinstance(exc, UnexpectedResourceError):
        logger.info("Resource %r failed: %r", shown, excerpt(str(exc)), extra=_extra(context))
        return MCPError(INTERNAL_ERROR, str(exc), about_resource(uri))
    _log_unexpected(exc, context, "Resource %r", shown)
    return MCPError(INTERNAL_ERROR, f"Error reading resource {shown}", about_resource(uri))


def prompt_failure(name: str, raised: Exception, context: Context) -> MCPError:
    """Make the error to answer when a prompt could not be rendered."""
    exc = single_cause(raised)
    if isinstance(exc, MCPError) and is_answer(exc):
        return exc
    _log_unexpected(exc, context, "Prompt %r", name)
    return MCPError(INTERNAL_ERROR, f"Error rendering prompt {excerpt(name)}")


def completion_failure(argument: str, raised: Exception, context: Context) -> MCPError:
    """Make the error to answer when an argument could not be completed."""
    exc = single_cause(raised)
    if isinstance(exc, MCPError) and is_answer(exc):
        return exc
    _log_unexpected(exc, context, "Completing the argument %r", excerpt(argument))
    return MCPError(INTERNAL_ERROR, f"Error completing argument {excerpt(argument)}")


def _log_unexpected(exc: Exception, context: Context, what: str, name: str) -> None:
    asked = context.current_request
    exchange = None if asked is None else asked.exchange
    # It is the cause of a resource's error, and of a tool's that another one called.
    is_outer = isinstance(exc, (UnexpectedToolError, UnexpectedResourceError))
    cause = exc.__cause__ if is_outer else exc
    if exchange is not None and is_left(cause, exchange):
        logger.debug(what + " ended: %s", name, cause, extra=_extra(context))
        return
    what += " raised an unexpected exception"
    logger.error(what, name, exc_info=exc, extra=_extra(context))


def _extra(context: Context) -> dict[str, object]:
    asked = context.current_request
    if asked is None:
        return {}
    return {"mcp_method": asked.method, "mcp_request_id": excerpt(asked.request_id)}
