"""What a report of progress may say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp._checks import check_text, wrong_kind
from trio_mcp._codec import check_notification

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject


def progress_params(progress: object, total: object, message: object) -> JsonObject:
    """Make the params of ``notifications/progress``, but for the token.

    Raises:
      TypeError: if a number is none, or the message is no text.
      ValueError: if JSON cannot say it: NaN, infinity, half a surrogate pair.

    """
    params: JsonObject = {"progress": _number("progress", progress)}
    if total is not None:
        params["total"] = _number("total", total)
    if message is not None:
        check_text("message", message)
        params["message"] = message
    check_notification("notifications/progress", params)
    return params


def _number(name: str, value: Any) -> Any:
    if value.__class__ is int or value.__class__ is float:
        return value
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong_kind(name, "a number", value)
    # Whoever reads it would take a subclass, such as numpy's, for no number.
    return int(value) if isinstance(value, int) else float(value)
